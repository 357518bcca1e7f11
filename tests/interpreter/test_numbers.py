"""Arithmetic, comparisons, casts and constants against Python's integers and fractions."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from girih.diagnostics import InternalError
from girih.interpreter.machine import numbers
from girih.ir.types import BF16, BOOL, C32, C64, F16, F32, F64, I8, I16, I32, I64, INDEX, NUMBERS, SCALARS, Number
from tests.cases import crossed, long

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


def rounded(value: Fraction, type: Number) -> float:
    """`value` rounded to nearest even, overflow to infinity included; exact, on fractions alone."""
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    smallest = 2 - LARGEST_EXPONENT[type] - 1
    quantum = Fraction(2) ** (max(exponent, smallest) - SIGNIFICAND_BITS[type] + 1)
    result = round(magnitude / quantum) * quantum
    infinite = result >= Fraction(2) ** (LARGEST_EXPONENT[type] + 1)
    return (math.inf if infinite else float(result)) * (1 if value > 0 else -1)


def array(values: Any, type: Number) -> Array:
    return np.array(values, numbers.dtype(type))


def every(type: Number) -> Array:
    """All values of a two-byte type."""
    return np.arange(1 << 16, dtype=np.uint16).view(numbers.dtype(type))


def finite(type: Number) -> Array:
    values = every(type)
    return values[np.isfinite(values.astype(np.float64))]


def same(a: Array, b: Array) -> bool:
    """Equal, of one type, and NaN where the other is."""
    return a.dtype == b.dtype and np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True)


def edge_integers(type: Number) -> Array:
    low, high = numbers.limits(type)
    random = np.random.default_rng(1).integers(int(low), int(high), 40, np.int64)
    return array([low, low + 1, -7, -2, -1, 0, 1, 2, 7, high - 1, high, *random.tolist()], type)


# Types.


def test_every_scalar_type_has_a_dtype_of_its_size() -> None:
    assert set(numbers.DTYPES) == set(SCALARS.values())
    for type in NUMBERS.values():
        assert numbers.dtype(type) is numbers.DTYPES[type]
        assert numbers.dtype(type).itemsize == type.size
    assert numbers.dtype(BOOL) == np.bool_


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_limits_of_integers_are_identities_of_max_and_min(type: Number) -> None:
    information = np.iinfo(numbers.dtype(type))
    assert numbers.limits(type) == (information.min, information.max)


def test_limits_of_floats_are_infinities_and_complex_numbers_have_none() -> None:
    assert [numbers.limits(type) for type in FLOATS] == [(-math.inf, math.inf)] * 4
    with pytest.raises(InternalError, match="c32"):
        numbers.limits(C32)


# Integer arithmetic.


def truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def remainder(a: int, b: int) -> int:
    return a - b * truncated_quotient(a, b) if b else 0


def shifted_left(a: int, b: int, bits: int) -> int:
    return a << b if 0 <= b < bits else 0


def shifted_right(a: int, b: int, bits: int) -> int:
    return a >> b if 0 <= b < bits else 0


INTEGER_MEANING: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "div": lambda a, b, bits: truncated_quotient(a, b),
    "rem": lambda a, b, bits: remainder(a, b),
    "max": lambda a, b, bits: max(a, b),
    "min": lambda a, b, bits: min(a, b),
    "shl": shifted_left,
    "shr": shifted_right,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
}


def test_integer_meaning_covers_all_binary_operations() -> None:
    assert set(INTEGER_MEANING) == set(numbers.BINARY)


@pytest.mark.parametrize("name", INTEGER_MEANING)
def test_binary_on_all_pairs_of_i8(name: str) -> None:
    values = np.arange(-128, 128).astype(np.int8)
    result = numbers.BINARY[name](values[:, None], values[None, :], I8)
    meaning = INTEGER_MEANING[name]
    expected = [[wrapped(meaning(a, b, 8), I8) for b in range(-128, 128)] for a in range(-128, 128)]
    assert result.dtype == np.int8
    assert result.tolist() == expected


@pytest.mark.parametrize("type", INTEGERS, ids=str)
@pytest.mark.parametrize("name", INTEGER_MEANING)
def test_binary_on_edges_of_all_integer_types(name: str, type: Number) -> None:
    values = edge_integers(type)
    widths = array([-1, 0, 1, 5, 8 * type.size - 1, 8 * type.size, 100], type)
    right = widths if name in ("shl", "shr") else values
    result = numbers.BINARY[name](values[:, None], right[None, :], type)
    meaning = INTEGER_MEANING[name]
    bits = 8 * type.size
    expected = [[wrapped(meaning(a, b, bits), type) for b in right.tolist()] for a in values.tolist()]
    assert result.dtype == numbers.dtype(type)
    assert result.tolist() == expected


def test_settled_rules_of_integers_by_example() -> None:
    low = array([[[-(2**31)]]], I32)
    minus_one = array([[[-1]]], I32)
    seven, minus_two = array([7, -7], I32), array([-2, 2], I32)
    assert numbers.BINARY["div"](low, minus_one, I32).item() == -(2**31)
    assert numbers.BINARY["rem"](low, minus_one, I32).item() == 0
    assert numbers.BINARY["div"](seven, minus_two, I32).tolist() == [-3, -3]
    assert numbers.BINARY["rem"](seven, minus_two, I32).tolist() == [1, -1]
    assert numbers.BINARY["shr"](array([-5], I32), array([1], I32), I32).tolist() == [-3]
    assert numbers.BINARY["div"](seven, array([0], I32), I32).tolist() == [0, 0]
    assert numbers.BINARY["shr"](array([-5, -5], I32), array([32, -1], I32), I32).tolist() == [0, 0]
    assert numbers.UNARY["abs"](low, I32).item() == -(2**31)
    assert numbers.UNARY["neg"](low, I32).item() == -(2**31)


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_unary_on_integers(type: Number) -> None:
    values = edge_integers(type)
    meanings: dict[str, Callable[[int], int]] = {"abs": abs, "neg": operator.neg, "not": operator.invert}
    for name, meaning in meanings.items():
        result = numbers.UNARY[name](values, type)
        assert result.dtype == values.dtype
        assert result.tolist() == [wrapped(meaning(value), type) for value in values.tolist()]


def test_logic_on_bool() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert numbers.BINARY["and"](a, b, BOOL).tolist() == [False, False, False, True]
    assert numbers.BINARY["or"](a, b, BOOL).tolist() == [False, True, True, True]
    assert numbers.BINARY["xor"](a, b, BOOL).tolist() == [False, True, True, False]
    negated = numbers.UNARY["not"](a, BOOL)
    assert negated.dtype == np.bool_
    assert negated.tolist() == [True, True, False, False]


def test_operands_are_left_as_they_were() -> None:
    a, b = array([-5, 9], I32), array([0, 40], I32)
    for operation in numbers.BINARY.values():
        operation(a, b, I32)
    floats = array([1.5, math.nan], F64)
    numbers.cast(floats, F64, I32)
    numbers.cast(floats, F64, BF16)
    assert (a.tolist(), b.tolist()) == ([-5, 9], [0, 40])
    assert floats[0] == 1.5
    assert np.isnan(floats[1])


# Floating arithmetic.

FLOAT_MEANING: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "rem": lambda a, b: a - b * int(a / b),
    "max": max,
    "min": min,
}


def edge_floats(type: Number) -> Array:
    """Random values of all magnitudes, subnormal ones included, without zero, infinities and NaN."""
    size = type.size
    bits = np.random.default_rng(2).integers(0, 1 << 63, 60, np.int64).astype(f"u{size}")
    values = np.concatenate([bits.view(numbers.dtype(type)), array([1, -1.5, 3, 0.1], type)])
    subnormal = np.array([1, 3, 0x55], f"u{size}").view(numbers.dtype(type))
    values = np.concatenate([values, subnormal])
    wide = values.astype(np.float64)
    usable: Array = values[np.isfinite(wide) & (wide != 0)]
    return usable


@pytest.mark.parametrize(("name", "type"), crossed(list(FLOAT_MEANING), FLOATS))
def test_floating_operations_round_once_after_every_operation(name: str, type: Number) -> None:
    values = edge_floats(type)
    result = numbers.BINARY[name](values[:, None], values[None, :], type)
    exact = [Fraction(value) for value in values.astype(np.float64).tolist()]
    expected = [[rounded(FLOAT_MEANING[name](a, b), type) for b in exact] for a in exact]
    assert result.dtype == numbers.dtype(type)
    assert np.array_equal(result.astype(np.float64), expected)


@pytest.mark.parametrize("type", [F16, BF16], ids=str)
def test_sums_do_not_keep_more_precision_between_operations(type: Number) -> None:
    one, small = array([1.0], type), array([2.0 ** -SIGNIFICAND_BITS[type]], type)
    add = numbers.BINARY["add"]
    assert add(add(one, small, type), small, type).astype(np.float64) == 1.0


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_floats_without_finite_result(type: Number) -> None:
    one, zero, nan = (array([value], type) for value in (1.0, 0.0, math.nan))
    binary = numbers.BINARY
    assert binary["div"](one, zero, type).astype(np.float64) == math.inf
    assert np.isnan(binary["div"](zero, zero, type).astype(np.float64))
    assert np.isnan(binary["rem"](one, zero, type).astype(np.float64))
    for name, a, b in itertools.product(("max", "min"), (one, nan), (one, nan)):
        result = binary[name](a, b, type).astype(np.float64)
        assert np.isnan(result) if a is nan and b is nan else result == 1.0


@pytest.mark.parametrize("type", [C32, C64], ids=str)
def test_complex_arithmetic(type: Number) -> None:
    a, b = array([3 + 4j, 1 - 1j], type), array([2 - 1j, 1j], type)
    results = {name: numbers.BINARY[name](a, b, type) for name in ("add", "sub", "mul", "div")}
    assert results["add"].tolist() == [5 + 3j, 1]
    assert results["sub"].tolist() == [1 + 5j, 1 - 2j]
    assert results["mul"].tolist() == [10 + 5j, 1 + 1j]
    assert np.allclose(results["div"], [0.4 + 2.2j, -1 - 1j], rtol=1e-6)
    assert {result.dtype for result in results.values()} == {numbers.dtype(type)}


@pytest.mark.parametrize("type", [C32, C64], ids=str)
def test_every_product_and_sum_of_a_complex_product_is_rounded(type: Number) -> None:
    a = array([0.1 + 0.7j, 0.3 - 1.1j, 0.9 + 0.2j], type)
    assert numbers.BINARY["mul"](np.conjugate(a), a, type).imag.tolist() == [0, 0, 0]
    matrix = np.stack([a, a[::-1], np.roll(a, 1)])
    assert np.diag(numbers.matmul(np.conjugate(matrix.T), matrix, type)).imag.tolist() == [0, 0, 0]
    large = array([1e20 + 1e20j if type == C32 else 1e200 + 1e200j], type)
    for square in (numbers.BINARY["mul"](large, large, type), numbers.matmul(large[None], large[:, None], type)):
        assert np.isnan(square.real).all()
        assert np.isposinf(square.imag).all()


@pytest.mark.parametrize("type", [C32, C64], ids=str)
def test_complex_absolute_values_are_right_to_the_last_place(type: Number) -> None:
    dtype = numbers.dtype(type)
    # Pythagorean triples and their multiples have exact lengths; scaled, their squares over- and underflow.
    triples = [(3, 4, 5), (20, 21, 29), (231, 520, 569), (0, 7, 7), (1_007, 507_024, 507_025)]
    for power in (0, 100, -120) if type == C32 else (0, 1000, -1040):
        for real, imaginary, length in triples:
            values = np.array([complex(math.ldexp(real, power), -math.ldexp(imaginary, power))], dtype)
            assert numbers.UNARY["abs"](values, type).item() == math.ldexp(length, power)
    odd = np.array([complex(math.inf, math.nan), complex(math.nan, -math.inf), 0, complex(math.nan, 1)], dtype)
    assert np.array_equal(numbers.UNARY["abs"](odd, type), [math.inf, math.inf, 0, math.nan], equal_nan=True)


@pytest.mark.parametrize(("type", "part"), [(C32, F32), (C64, F64)], ids=str)
def test_unary_on_complex(type: Number, part: Number) -> None:
    a = array([3 + 4j, -6 - 8j], type)
    real = {name: numbers.UNARY[name](a, type) for name in ("abs", "im", "re")}
    assert {result.dtype for result in real.values()} == {numbers.dtype(part)}
    assert [real[name].tolist() for name in real] == [[5, 10], [4, -8], [3, -6]]
    assert numbers.UNARY["neg"](a, type).tolist() == [-3 - 4j, 6 + 8j]
    assert numbers.UNARY["conj"](a, type).tolist() == [3 - 4j, -6 + 8j]
    assert numbers.UNARY["conj"](a, type).dtype == a.dtype
    real["im"][0] = 99
    assert a[0] == 3 + 4j


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_unary_on_floats_changes_the_sign_bit_only(type: Number) -> None:
    values = array([-1.5, 0.0, math.inf], type)
    absolute, negative = numbers.UNARY["abs"](values, type), numbers.UNARY["neg"](values, type)
    assert absolute.dtype == negative.dtype == values.dtype
    assert absolute.astype(np.float64).tolist() == [1.5, 0.0, math.inf]
    assert np.signbit(negative.astype(np.float64)).tolist() == [False, True, True]


@pytest.mark.parametrize("type", [*INTEGERS, *FLOATS], ids=str)
def test_comparisons_of_ordered_types(type: Number) -> None:
    a, b = array([1, 2, 2], type), array([2, 2, 1], type)
    expected = {
        "equal": [False, True, False],
        "not_equal": [True, False, True],
        "greater_than": [False, False, True],
        "greater_than_equal": [False, True, True],
        "less_than": [True, False, False],
        "less_than_equal": [True, True, False],
    }
    results = {name: compare(a, b) for name, compare in numbers.COMPARE.items()}
    assert {name: result.tolist() for name, result in results.items()} == expected
    assert {result.dtype for result in results.values()} == {np.dtype(np.bool_)}


@pytest.mark.parametrize("type", [*FLOATS, C32, C64], ids=str)
def test_nan_is_unequal_to_everything(type: Number) -> None:
    nan = array([math.nan], type)
    assert numbers.COMPARE["not_equal"](nan, nan).tolist() == [True]
    assert numbers.COMPARE["equal"](nan, nan).tolist() == [False]
    if type.family == "floating":
        ordered = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
        assert not any(numbers.COMPARE[name](nan, nan).item() for name in ordered)


# Casts.


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_integers_to_integers_wrap(source: Number, target: Number) -> None:
    values = edge_integers(source)
    result = numbers.cast(values, source, target)
    assert result.dtype == numbers.dtype(target)
    assert result.tolist() == [wrapped(value, target) for value in values.tolist()]


def saturated(value: float, type: Number) -> int:
    low, high = numbers.limits(type)
    if math.isnan(value):
        return 0
    return int(low) if value < low else int(high) if value > high else int(value)


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_floats_to_integers_truncate_and_saturate(source: Number, target: Number) -> None:
    low, high = (float(limit) for limit in numbers.limits(target))
    edges = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 127.5, -128.5, 1e30, math.inf, -math.inf, math.nan, low, high]
    edges += [math.nextafter(low, 0), math.nextafter(low, -math.inf), math.nextafter(high, 0), high - 0.5, high + 0.5]
    values = array(edges, F64).astype(numbers.dtype(source))
    result = numbers.cast(values, source, target)
    assert result.dtype == numbers.dtype(target)
    assert result.tolist() == [saturated(value, target) for value in values.astype(np.float64).tolist()]


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", [BF16, F16], ids=str)
def test_all_two_byte_floats_to_integers(source: Number, target: Number) -> None:
    values = every(source)
    expected = [saturated(value, target) for value in values.astype(np.float64).tolist()]
    assert numbers.cast(values, source, target).tolist() == expected


def test_large_floats_to_i64_by_example() -> None:
    values = array([2.0**63, math.nextafter(2.0**63, 0), -(2.0**63), -(2.0**64), math.nan], F64)
    expected = [2**63 - 1, 2**63 - 1024, -(2**63), -(2**63), 0]
    assert numbers.cast(values, F64, I64).tolist() == expected


def halfway_integers(type: Number) -> list[int]:
    """Integers at, just below and just above the middle of two bf16, f16, f32 or f64 numbers."""
    found = set(edge_integers(type).tolist())
    for bits, shift, step in itertools.product(SIGNIFICAND_BITS.values(), range(63), (-1024, -1, 0, 1, 1024)):
        for significand in (1 << bits, (1 << bits) + 2, (2 << bits) - 2):
            middle = (significand + 1 << shift) + step
            found |= {middle, -middle}
    low, high = numbers.limits(type)
    return [value for value in found if low <= value <= high]


@pytest.mark.parametrize(("source", "target"), crossed(INTEGERS, FLOATS))
def test_integers_to_floats_round_once(source: Number, target: Number) -> None:
    values = halfway_integers(source)
    result = numbers.cast(array(values, source), source, target)
    assert result.dtype == numbers.dtype(target)
    assert result.astype(np.float64).tolist() == [rounded(Fraction(value), target) for value in values]


def around_midpoints(type: Number, wide: Number) -> tuple[Array, Array]:
    """All finite values of `type` and the middles to their neighbours away from zero, exact and a step of `wide` to
    either side, in type `wide`; and what each rounds to in `type`."""
    values = finite(type)
    neighbours = (values.view(np.uint16) + 1).view(values.dtype)
    near, far = values.astype(np.float64), neighbours.astype(np.float64)
    # Beyond the largest number rounding goes on as if the next power of two were a number.
    bounded = np.where(np.isinf(far), np.copysign(2.0 ** (LARGEST_EXPONENT[type] + 1), far), far)
    middle = ((near + bounded) / 2).astype(numbers.dtype(wide))
    away = np.copysign(np.ones_like(middle) * np.inf, middle)
    even = np.where(values.view(np.uint16) % 2 == 0, near, far)
    steps = [near.astype(middle.dtype), middle, np.nextafter(middle, away), np.nextafter(middle, -away)]
    return np.concatenate(steps), np.concatenate([near, even, far, near])


@pytest.mark.parametrize("wide", [F32, F64], ids=str)
@pytest.mark.parametrize("type", [BF16, F16], ids=str)
def test_wide_floats_to_two_bytes_round_once_around_every_midpoint(type: Number, wide: Number) -> None:
    values, expected = around_midpoints(type, wide)
    result = numbers.cast(values, wide, type)
    assert result.dtype == numbers.dtype(type)
    assert np.array_equal(result.astype(np.float64), expected)


@pytest.mark.parametrize("wide", [F32, F64], ids=str)
@pytest.mark.parametrize("type", [BF16, F16, F32], ids=str)
def test_wide_floats_of_all_magnitudes_round_once(type: Number, wide: Number) -> None:
    values = edge_floats(wide)
    expected = [rounded(Fraction(value), type) for value in values.tolist()]
    assert numbers.cast(values, wide, type).astype(np.float64).tolist() == expected


def test_f64_to_bf16_does_not_round_to_f32_first() -> None:
    above, below = 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40
    result = numbers.cast(array([above, below, -above, -below], F64), F64, BF16).astype(np.float64)
    assert result.tolist() == [1 + 2.0**-7, 1 + 2.0**-7, -1 - 2.0**-7, -1 - 2.0**-7]


@pytest.mark.parametrize("step", [19, *long([1])])
def test_two_byte_floats_to_other_floats(step: int) -> None:
    for source, target in ((BF16, F16), (F16, BF16)):
        values = finite(source)[::step]
        result = numbers.cast(values, source, target)
        assert result.dtype == numbers.dtype(target)
        expected = [rounded(Fraction(value), target) for value in values.astype(np.float64).tolist()]
        assert result.astype(np.float64).tolist() == expected
    for source, target in itertools.product((BF16, F16), (F32, F64)):
        result = numbers.cast(every(source), source, target)
        assert result.dtype == numbers.dtype(target)
        assert np.array_equal(result.astype(np.float64), every(source).astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_infinities_and_nan_survive_between_floats(source: Number, target: Number) -> None:
    result = numbers.cast(array([math.inf, -math.inf, math.nan], source), source, target).astype(np.float64)
    assert np.array_equal(result, [math.inf, -math.inf, math.nan], equal_nan=True)


@pytest.mark.parametrize(("target", "part"), [(C32, F32), (C64, F64)], ids=str)
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS], ids=str)
def test_reals_to_complex_are_cast_to_the_part_with_imaginary_part_zero(
    source: Number, target: Number, part: Number
) -> None:
    values = edge_integers(source) if source.family == "integer" else edge_floats(source)
    result = numbers.cast(values, source, target)
    assert result.dtype == numbers.dtype(target)
    assert same(result.real, numbers.cast(values, source, part))
    assert not result.imag.any()


def test_complex_to_complex_rounds_both_parts() -> None:
    values = array([0.1 + 0.2j, 1e300 - 1j], C64)
    narrow = numbers.cast(values, C64, C32)
    assert narrow.dtype == np.complex64
    assert narrow.tolist() == [complex(np.float32(0.1), np.float32(0.2)), complex(math.inf, -1)]
    assert numbers.cast(narrow, C32, C64).tolist() == narrow.tolist()


@pytest.mark.parametrize("type", NUMBERS.values(), ids=str)
def test_cast_to_the_same_type_is_the_array_itself(type: Number) -> None:
    values = array([1], type)
    assert numbers.cast(values, type, type) is values


@pytest.mark.parametrize("target", [I32, F32], ids=str)
def test_complex_to_real_is_refused(target: Number) -> None:
    with pytest.raises(InternalError, match=f"c64 to {target}"):
        numbers.cast(array([1j], C64), C64, target)


# Constants.


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        (True, BOOL, True),
        (-128, I8, -128),
        (2**63 - 1, I64, 2**63 - 1),
        (0.1, F64, 0.1),
        (0.1, F32, float(np.float32(0.1))),
        (1 + 2.0**-8 + 2.0**-40, BF16, 1 + 2.0**-7),
        (65519.0, F16, 65504.0),
        (3, BF16, 3.0),
        (0.5, C32, 0.5),
        (0.1 + 1j, C32, complex(np.float32(0.1), 1)),
        (1j, C64, 1j),
    ],
)
def test_constants_are_rounded_once(value: complex, type: Any, expected: complex) -> None:
    result = numbers.constant(value, type)
    assert result.shape == (1, 1, 1)
    assert result.dtype == numbers.dtype(type)
    assert result.item() == expected


@pytest.mark.parametrize(
    ("value", "type"), [(128, I8), (-(2**31) - 1, I32), (1.0, I32), (1j, F32), (True, I8), (1, BOOL), (1.0, BOOL)]
)
def test_constants_of_the_wrong_kind_or_out_of_range_are_refused(value: complex, type: Any) -> None:
    with pytest.raises(InternalError, match=str(type)):
        numbers.constant(value, type)
