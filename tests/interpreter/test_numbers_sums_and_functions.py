"""Functions against higher precision, sums and products against Python's integers."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from girih.facts.accumulators import accumulator as accumulator_of
from girih.interpreter.machine import functions, numbers
from girih.ir.types import BF16, C32, C64, F16, F32, F64, I8, I16, I32, I64, INDEX, NUMBERS, Number
from tests.exact import FUNCTIONS, complex_root, complex_tangent, fused_multiply_add, needs_more_than_f64
from tests.turns import turned

Array = npt.NDArray[Any]

INTEGERS = [I8, I16, I32, I64, INDEX]
FLOATS = [BF16, F16, F32, F64]
SIGNIFICAND_BITS = {BF16: 8, F16: 11, F32: 24, F64: 53}
LARGEST_EXPONENT = {BF16: 127, F16: 15, F32: 127, F64: 1023}


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Functions are called as the interpreter calls them; a warning in there fails the test."""
    with warnings.catch_warnings(), numbers.quiet():
        warnings.simplefilter("error")
        yield


def wrapped(value: int, type: Number) -> int:
    """`value` in two's complement."""
    half = 1 << 8 * type.size - 1
    return (value + half) % (2 * half) - half


def array(values: Any, type: Number) -> Array:
    return np.array(values, numbers.dtype(type))


def units_in_last_place(result: Array, exact: Array, type: Number) -> float:
    """The largest error of `result` in units in the last place of `exact`."""
    _, exponent = np.frexp(exact)
    least = 1 - LARGEST_EXPONENT[type]
    unit = np.ldexp(np.ones_like(exact), np.maximum(exponent - 1, least) - SIGNIFICAND_BITS[type] + 1)
    error: Array = np.abs(result.astype(exact.dtype) - exact) / unit
    return float(error.max())


# Functions.

NATIVE = {"cos": 4, "sin": 4, "exp": 3, "exp2": 3, "log": 3, "log2": 3}
"""The OpenCL full-profile bounds of functions that have a native twin, in units in the last place; 2 in f16."""

BOUNDS = {**NATIVE, "sqrt": 0.501, "rsqrt": 2, "tanh": 3, "erf": 3}
"""The bounds of all functions; what is judged by may be off by 2^-11 units itself."""


def arguments(name: str, type: Number) -> Array:
    random = np.random.default_rng(3)
    if name in ("exp", "exp2"):
        reach = math.log(2) if name == "exp" else 1
        values = random.uniform(-reach * LARGEST_EXPONENT[type], reach * LARGEST_EXPONENT[type], 4000)
    else:
        magnitude = random.uniform(1 - LARGEST_EXPONENT[type], LARGEST_EXPONENT[type], 4000)
        values = np.exp2(np.where(np.arange(4000) % 2 == 0, magnitude, random.uniform(-10, 10, 4000)))
    small = random.uniform(0.5, 2, 1000)
    return numbers.cast(np.concatenate([values, small]), F64, type)


@needs_more_than_f64
@pytest.mark.parametrize("type", FLOATS, ids=str)
@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_within_their_bounds(name: str, type: Number) -> None:
    values = arguments(name, type)
    exact = FUNCTIONS[name](values.astype(np.longdouble))
    result = functions.MATH[name](values, type)
    assert result.dtype == numbers.dtype(type)
    fits = np.abs(exact) < np.ldexp(np.longdouble(1), LARGEST_EXPONENT[type])
    assert units_in_last_place(result[fits], exact[fits], type) <= (BOUNDS[name] if type is F64 else 0.51)


def test_native_functions_are_the_accurate_ones() -> None:
    assert {name for name in functions.MATH if name.startswith("native_")} == {f"native_{name}" for name in NATIVE}
    assert all(functions.MATH[f"native_{name}"] is functions.MATH[name] for name in NATIVE)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_functions_without_finite_result(type: Number) -> None:
    def value(name: str, argument: float) -> float:
        return float(functions.MATH[name](array([argument], type), type).astype(np.float64).item())

    assert (value("exp", math.inf), value("exp2", -math.inf)) == (math.inf, 0.0)
    assert (value("log", 0.0), value("log2", 0.0)) == (-math.inf, -math.inf)
    assert value("exp2", float(LARGEST_EXPONENT[type] + 1)) == math.inf
    assert all(math.isnan(value(*call)) for call in [("log", -1.0), ("log2", -1.0), ("sin", math.inf)])


@needs_more_than_f64
@pytest.mark.parametrize(("type", "part"), [(C32, F32), (C64, F64)], ids=str)
@pytest.mark.parametrize("name", ["exp", "exp2"])
def test_complex_exponentials(name: str, type: Number, part: Number) -> None:
    random = np.random.default_rng(4)
    values = array(random.uniform(-80, 80, 2000) + 1j * random.uniform(-300, 300, 2000), type)
    wide = values.astype(np.clongdouble)
    angle = wide.imag if name == "exp" else wide.imag * np.log(np.longdouble(2))
    scale = getattr(np, name)(wide.real)
    result = functions.MATH[name](values, type)
    assert result.dtype == values.dtype
    # Near the zeros of cosine and sine the angle in longdouble is not exact enough to judge f64.
    for found, turn in ((result.real, np.cos(angle)), (result.imag, np.sin(angle))):
        clear = np.abs(turn) > 0.25
        assert units_in_last_place(found[clear], (scale * turn)[clear], part) <= 3


@needs_more_than_f64
@pytest.mark.parametrize(("type", "part"), [(C32, F32), (C64, F64)], ids=str)
def test_complex_roots_and_hyperbolic_tangents(type: Number, part: Number) -> None:
    random = np.random.default_rng(5)
    scale = np.exp2(random.uniform(-40, 40, 2000))
    values = array((random.normal(size=2000) + 1j * random.normal(size=2000)) * scale, type)
    near = values[np.abs(values) < 4]
    for name, function, some, bound in (("sqrt", complex_root, values, 4), ("tanh", complex_tangent, near, 8)):
        result = functions.MATH[name](some, type)
        assert result.dtype == some.dtype
        exact = function(some.real.astype(np.longdouble), some.imag.astype(np.longdouble))
        for found, wanted in zip((result.real, result.imag), exact, strict=True):
            assert units_in_last_place(found, wanted, part) <= (bound if type is C64 else 0.51)
    assert functions.MATH["sqrt"](array([complex(-4.0, -0.0)], type), type).tolist() == [-2j]


@needs_more_than_f64
@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_powers(type: Number) -> None:
    random = np.random.default_rng(6)
    reach = LARGEST_EXPONENT[type]
    bases = array(np.exp2(random.uniform(-reach, reach, 4000)), type)
    with np.errstate(divide="ignore"):
        exponents = array(random.uniform(-reach, reach, 4000) / np.log2(bases.astype(np.float64)), type)
    exact = np.power(bases.astype(np.longdouble), exponents.astype(np.longdouble))
    fits = np.abs(exact) < np.ldexp(np.longdouble(1), reach)
    result = functions.power(bases, exponents, type)
    assert units_in_last_place(result[fits], exact[fits], type) <= (3 if type is F64 else 0.51)
    bases = array([-2.0, -2.0, 0.0, -math.inf, math.nan, 1.0], type)
    exponents = array([3.0, 0.5, -1.0, -3.0, 0.0, math.nan], type)
    assert np.array_equal(functions.power(bases, exponents, type).astype(np.float64),
                          [-8.0, math.nan, math.inf, 0.0, 1.0, 1.0], equal_nan=True)  # fmt: skip


def fused_operands(type: Number) -> list[Array]:
    """Random bits; products that a summand nearly cancels, or that end in the middle of two numbers."""
    random = np.random.default_rng(7)
    bits = [np.frombuffer(random.bytes(1000 * type.size), numbers.dtype(type)) for _ in range(3)]
    last = 2.0 ** (1 - SIGNIFICAND_BITS[type])
    near = [1 + random.integers(-4, 5, 1000) * last for _ in range(2)]
    halves = np.exp2(-random.integers(1, 2 * SIGNIFICAND_BITS[type] + 2, 1000)) * random.choice((-1, 1), 1000)
    third = np.where(random.random(1000) < 0.5, halves, -near[0] * near[1])
    least = 2.0 ** (2 - LARGEST_EXPONENT[type] - SIGNIFICAND_BITS[type])
    low = [random.integers(-9, 10, 1000) * scale for scale in (math.sqrt(least), math.sqrt(least), least)]
    ordinary = zip((*near, third), low, bits, strict=True)
    return [np.concatenate([array(x, type), array(y, type), z]) for x, y, z in ordinary]


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_multiplication_and_addition_round_once(type: Number) -> None:
    operands = fused_operands(type)
    a, b, c = operands
    result = functions.fused_multiply_add(a, b, c, type)
    assert result.dtype == numbers.dtype(type)
    wide = [one.astype(np.float64).tolist() for one in operands]
    for x, y, z, found in zip(*wide, result.astype(np.float64).tolist(), strict=True):
        if all(map(math.isfinite, (x, y, z))):
            wanted = fused_multiply_add(x, y, z, SIGNIFICAND_BITS[type], LARGEST_EXPONENT[type])
            assert (found, math.copysign(1, found)) == (wanted, math.copysign(1, wanted)), (x, y, z)
        elif math.isfinite(x) and math.isfinite(y):
            assert found == z or math.isnan(found) == math.isnan(z)


def test_the_largest_subnormal_number_is_rounded_once() -> None:
    # The sum lies next to the middle between it and the smallest normal number, on which f64 would round it first.
    a, b, c = 2.0**-511 * (1 - 5 * 2.0**-53), 2.0**-511 * (1 + 2.0**-52), 2.0**-1074
    for sign in (1, -1):
        result = functions.fused_multiply_add(array([sign * a], F64), array([b], F64), array([sign * c], F64), F64)
        (found,) = result.tolist()
        assert found == sign * (2.0**-1022 - 2.0**-1074) == sign * fused_multiply_add(a, b, c, 53, 1023)


@pytest.mark.parametrize(("type", "part"), [(C32, F32), (C64, F64)], ids=str)
def test_complex_exp2_of_any_imaginary_part(type: Number, part: Number) -> None:
    largest = 3e38 if type == C32 else 1.7e308
    sizes = [s * 10.0**e for e in range(31) for s in (1.0, -3.3)] + [2.0**40, 2.0**40 + 1, largest, -largest]
    values = array([complex(0.0, y) for y in sizes], type)
    exact = np.array([turned(y) for y in values.imag.tolist()])
    result = functions.MATH["exp2"](values, type)
    for found, turn in ((result.real, exact.real), (result.imag, exact.imag)):
        assert units_in_last_place(found, turn, part) <= 3


def test_complex_exp2_of_reals_and_at_the_edge_of_overflow() -> None:
    result = functions.MATH["exp2"](array([3.0, -2.0, math.inf, 1024.25 + 2j], C64), C64)
    assert result[:3].tolist() == [8, 0.25, complex(math.inf, 0)]
    turn = 2 * math.log(2)
    expected = 2.0**0.25 * complex(math.cos(turn), math.sin(turn))
    assert np.isclose(result[3].real / 2.0**1000 / 2.0**24, expected.real, rtol=1e-14, atol=0)
    # cos(2 ln 2) is small enough for the real part to fit, sin(2 ln 2) is not.
    assert result[3].imag == math.inf


# Sums and products.


def test_accumulators() -> None:
    wider = {F16: F32, BF16: F32}
    assert {type: accumulator_of(type) for type in NUMBERS.values()} == {
        type: wider.get(type, type) for type in NUMBERS.values()
    }


@pytest.mark.parametrize("type", [BF16, F16], ids=str)
def test_two_byte_floats_are_summed_in_f32(type: Number) -> None:
    ones = np.ones((3, 5000), numbers.dtype(type))
    sums = numbers.total(ones, 1, F32)
    running = numbers.cumulative(ones, 1, F32)
    assert sums.dtype == running.dtype == np.float32
    assert sums.tolist() == [5000.0] * 3
    assert running[1].tolist() == list(range(1, 5001))


def test_f32_is_summed_in_f32_not_in_more() -> None:
    values = array([2.0**24, 1.0, -(2.0**24)], F32)
    assert numbers.total(values, 0, F32).item() == 0.0
    assert numbers.cumulative(values, 0, F32).tolist() == [2.0**24, 2.0**24, 0.0]
    assert numbers.total(values.astype(np.float64), 0, F64).item() == 1.0


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integer_sums_wrap_around(type: Number) -> None:
    low, high = (int(limit) for limit in numbers.limits(type))
    values = array([[high, 1, 1], [low, low, 3]], type)
    sums, running = numbers.total(values, 1, type), numbers.cumulative(values, 1, type)
    assert sums.dtype == running.dtype == numbers.dtype(type)
    assert sums.tolist() == [low + 1, 3]
    assert running.tolist() == [[high, low, low + 1], [low, 0, 3]]


def test_sums_along_several_axes_and_of_nothing() -> None:
    values = array(np.arange(24).reshape(2, 3, 4), F32)
    assert numbers.total(values, (0, 2), F32).tolist() == [60, 92, 124]
    assert numbers.total(values[:, :, :0], -1, F32).tolist() == [[0.0] * 3] * 2
    assert numbers.total(values[0], 0, C64).dtype == np.complex128


def exact_product(a: Array, b: Array, type: Number) -> list[list[int]]:
    columns = list(zip(*b.tolist(), strict=True))
    return [[wrapped(sum(map(operator.mul, row, column)), type) for column in columns] for row in a.tolist()]


@pytest.mark.parametrize("size", [3, 20], ids=["small", "large"])
@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integer_products_wrap_around(type: Number, size: int) -> None:
    low, high = numbers.limits(type)
    random = np.random.default_rng(5)
    a = random.integers(int(low), int(high), (size, size), np.int64).astype(numbers.dtype(type))
    b = random.integers(int(low), int(high), (size, size), np.int64).astype(numbers.dtype(type))
    a[0], b[:, 0] = low, low
    result = numbers.matmul(a, b, type)
    assert result.dtype == numbers.dtype(type)
    assert result.tolist() == exact_product(a, b, type)


@pytest.mark.parametrize("bits", [8, 20, 24, 25, 31])
def test_integer_products_are_exact_at_every_magnitude(bits: int) -> None:
    random = np.random.default_rng(6)
    a = random.integers((1 << bits) - 9, 1 << bits, (17, 16), np.int64)
    b = random.integers(-(1 << bits), -(1 << bits) + 9, (16, 19), np.int64)
    assert numbers.matmul(a, b, I64).tolist() == exact_product(a, b, I64)
    mixed = numbers.matmul(a, b.astype(np.int32), I64)
    assert mixed.tolist() == exact_product(a, b, I64)


def test_many_terms_of_i8_and_i16_are_exact() -> None:
    odd8, low16 = np.full((2, 5001), -127, np.int8), np.full((2, 5001), -(2**15), np.int16)
    assert numbers.matmul(odd8, odd8.T, I32).tolist() == [[5001 * 127**2] * 2] * 2
    assert numbers.matmul(low16, low16.T, I64).tolist() == [[5001 << 30] * 2] * 2


@pytest.mark.parametrize("type", [*FLOATS, C32, C64], ids=str)
def test_floating_products_are_of_the_accumulator_type(type: Number) -> None:
    accumulator = accumulator_of(type)
    a = array(np.arange(24).reshape(2, 3, 4), type)
    b = array(np.arange(8).reshape(4, 2), type)
    result = numbers.matmul(a, b, accumulator)
    assert result.dtype == numbers.dtype(accumulator)
    assert result.tolist() == np.matmul(np.arange(24).reshape(2, 3, 4), np.arange(8).reshape(4, 2)).tolist()
    assert not numbers.matmul(a[..., :0], b[:0], accumulator).any()
    assert numbers.matmul(a[..., :0], b[:0], accumulator).shape == (2, 3, 2)


def test_products_of_different_types_and_of_nothing() -> None:
    whole, half = array([[1, 2]], I8), array([[0.5], [1.5]], BF16)
    assert numbers.matmul(whole, half, F32).tolist() == [[3.5]]
    turned = numbers.matmul(half, array([[1j]], C64), C64)
    assert turned.dtype == np.complex128
    assert turned.tolist() == [[0.5j], [1.5j]]
    assert numbers.matmul(whole[:, :0], array(np.ones((0, 3)), I32), I32).tolist() == [[0, 0, 0]]
    assert numbers.matmul(whole[:0], array(np.ones((2, 3)), I32), I32).shape == (0, 3)


def test_products_of_two_byte_floats_are_not_rounded_to_two_bytes() -> None:
    terms = array([[2048.0, 1.0]], F16)
    assert numbers.matmul(terms, terms.T, F32).tolist() == [[2048.0**2 + 1]]


def test_products_of_views() -> None:
    base = array(np.arange(64).reshape(8, 8), F32)
    expected = base[::2, ::2].copy() @ base.T[::2, ::4].copy()
    assert numbers.matmul(base[::2, ::2], base.T[::2, ::4], F32).tolist() == expected.tolist()
    whole = base.astype(np.int32)
    assert numbers.matmul(whole[::2, ::2], whole.T[::2, ::4], I32).tolist() == expected.tolist()
