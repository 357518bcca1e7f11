"""Scalar arithmetic compiled for this processor, against the interpreter's meaning and against higher precision."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.emit.features import Features
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers import math as functions
from girih.back.llvm.numbers.rounding import round_to
from girih.interpreter.machine import numbers
from girih.ir.types import (
    BF16,
    BOOL,
    C32,
    C64,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    PARTS,
    Boolean,
    Number,
)
from tests.back.jit import HARDWARE, SOFTWARE, Compiled, Machine, Piece
from tests.cases import crossed
from tests.exact import FUNCTIONS, needs_more_than_f64
from tests.turns import turned

Array = NDArray[Any]
INTEGERS = (I8, I16, I32, I64, INDEX)
FLOATS = (BF16, F16, F32, F64)
COMPLEX = (C32, C64)
LANES = (1, 8, 16)
FEATURES = [pytest.param(HARDWARE, id="hardware"), pytest.param(SOFTWARE, id="software")]


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), numbers.quiet():
        yield


def assert_same(found: Array, expected: Array, *operands: Array, zeros: bool = True) -> None:
    """Equal in every bit, but that all NaN are equal, and without `zeros` both zeros."""
    assert found.dtype == expected.dtype
    if found.dtype.kind == "c":
        assert_same(found.real, expected.real, *operands, zeros=zeros)
        assert_same(found.imag, expected.imag, *operands, zeros=zeros)
        return
    same = (found == expected) | ((found != found) & (expected != expected))
    if zeros and found.dtype.kind not in "ib":
        same &= (np.signbit(found) == np.signbit(expected)) | (found != found)
    wrong = np.flatnonzero(~same)[:5]
    assert wrong.size == 0, [(*(o[k] for o in operands), found[k], expected[k]) for k in wrong]


def patterns(type: Number, count: int, seed: int = 0) -> Array:
    """Random bits, NaN and infinities among them."""
    dtype = numbers.dtype(type)
    return np.frombuffer(np.random.default_rng(seed).bytes(count * dtype.itemsize), dtype).copy()


def specials(type: Number) -> Array:
    """Values where arithmetic is easily wrong."""
    if type in INTEGERS:
        low, high = numbers.limits(type)
        values: list[Any] = [0, 1, -1, 2, -2, 3, 7, -7, 8, 15, 31, 63, 64, 100, low, low + 1, high, high - 1]
        return np.array(values, numbers.dtype(type))
    if type in COMPLEX:
        part = specials(PARTS[type])
        pairs = np.array(list(itertools.product(part[:10], part[:10])))
        return np.ascontiguousarray(pairs).view(numbers.dtype(type)).ravel()
    largest, tiny = {BF16: (127, 133), F16: (15, 24), F32: (127, 149), F64: (1023, 1074)}[type]
    top = math.ldexp(1.9, largest)
    some = [0.0, math.inf, math.nan, 1.0, 1.5, 3.0, top, math.ldexp(1.0, -tiny), math.ldexp(1.0, 1 - largest), 0.1]
    values = [sign * x for x in some for sign in (1, -1)]
    return numbers.cast(np.array(values), F64, type)


def pairs(type: Number, count: int = 2000) -> tuple[Array, Array]:
    """Operands: the special ones with each other, and random ones."""
    some = specials(type)
    a, b = np.repeat(some, len(some)), np.tile(some, len(some))
    first, second = patterns(type, count, 1), patterns(type, count, 2)
    # Numbers of alike size meet, too.
    near = np.roll(first, 1) if type in INTEGERS else first * numbers.cast(np.array([1.37]), F64, type)
    return np.concatenate([a, first, first]), np.concatenate([b, second, near.astype(first.dtype)])


def binary_piece(mnemonic: str, type: Number | Boolean, features: Features) -> Piece:
    return Piece(lambda w, o: arith.binary(w, features, mnemonic, type, o[0], o[1]), (type, type), type)


def unary_piece(mnemonic: str, type: Number | Boolean) -> Piece:
    part = PARTS.get(type, type) if isinstance(type, Number) and mnemonic in ("abs", "im", "re") else type
    return Piece(lambda w, o: arith.unary(w, HARDWARE, mnemonic, type, o[0]), (type,), part)


def compare_piece(mnemonic: str, type: Number | Boolean) -> Piece:
    return Piece(lambda w, o: (arith.compare(w, mnemonic, type, o[0], o[1]),), (type, type), BOOL)


def round_piece(type: Number, features: Features) -> Piece:
    return Piece(lambda w, o: (round_to(w, features, type, o[0][0]),), (F32,), F32)


# Rounding and memory.


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("features", FEATURES)
def test_rounding_to_two_bytes(features: Features, lanes: int) -> None:
    machine = Machine(features)
    pieces = {str(type): round_piece(type, features) for type in (BF16, F16)}
    compiled = machine.compile(pieces, lanes)
    for type in (BF16, F16):
        every = np.arange(65536, dtype=np.uint16).view(numbers.dtype(type)).astype(np.float32)
        bits = every.view(np.uint32)
        # Next to each number, and next to the middle of two of them.
        half = 1 << (15 if type == BF16 else 12)
        near = np.concatenate([bits + (half + step if step else 0) for step in (0, 1)] + [bits + half - 1, bits + half])
        values = np.concatenate([near.view(np.float32), patterns(F32, 40000), specials(F32)])
        wanted = values.astype(numbers.dtype(type)).astype(np.float32)
        assert_same(compiled[str(type)](values), wanted, values)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("type", [BF16, F16], ids=str)
def test_every_two_byte_float_from_memory_and_back(type: Number, features: Features, lanes: int) -> None:
    pieces = {
        "wide": Piece(lambda w, o: casts.cast(w, features, type, F32, o[0]), (type,), F32),
        "same": Piece(lambda w, o: o[0], (type,), type),
    }
    compiled = Machine(features).compile(pieces, lanes)
    every = np.arange(65536, dtype=np.uint16).view(numbers.dtype(type))
    assert_same(compiled["wide"](every), every.astype(np.float32), every)
    assert_same(compiled["same"](every), every, every)


# Arithmetic.

REAL_BINARY = ("add", "sub", "mul", "div", "rem", "max", "min")
BITWISE = ("and", "or", "xor")


@pytest.mark.parametrize(("type", "lanes"), crossed([*INTEGERS, *FLOATS], LANES), ids=str)
def test_binary_operations(type: Number, lanes: int) -> None:
    mnemonics = (*REAL_BINARY, "shl", "shr", *BITWISE) if type in INTEGERS else REAL_BINARY
    compiled = Machine().compile({name: binary_piece(name, type, HARDWARE) for name in mnemonics}, lanes)
    a, b = pairs(type)
    for name, function in compiled.items():
        second = b % 70 if name in ("shl", "shr") and lanes > 1 else b
        expected = numbers.BINARY[name](a, second, type)
        assert_same(function(a, second), expected, a, second, zeros=name not in ("max", "min"))


@pytest.mark.parametrize("type", [I8, I32, I64], ids=str)
def test_integer_operations_with_a_constant(type: Number) -> None:
    values = (-128, -1, 0, 1, 3, 7, 100)
    names = ("div", "rem", "shl", "shr")

    def piece(mnemonic: str, value: int) -> Piece:
        def emit(w: Any, o: Any) -> Any:
            second = tuple(w.splat(x, 8) for x in arith.constant(type, value))
            return arith.binary(w, HARDWARE, mnemonic, type, o[0], second)

        return Piece(emit, (type,), type)

    pieces = {f"{name}{k}": piece(name, value) for name in names for k, value in enumerate(values)}
    compiled = Machine().compile(pieces, 8)
    a = np.concatenate([specials(type), patterns(type, 500)])
    for name, (k, value) in itertools.product(names, enumerate(values)):
        b = np.full_like(a, value)
        assert_same(compiled[f"{name}{k}"](a), numbers.BINARY[name](a, b, type), a, b)


@pytest.mark.parametrize("lanes", LANES)
def test_operations_on_bool(lanes: int) -> None:
    pieces = {name: binary_piece(name, BOOL, HARDWARE) for name in BITWISE}
    pieces["not"] = unary_piece("not", BOOL)
    pieces |= {name: compare_piece(name, BOOL) for name in numbers.COMPARE}
    compiled = Machine().compile(pieces, lanes)
    a, b = np.repeat([False, True], 2), np.tile([False, True], 2)
    for name in BITWISE:
        assert_same(compiled[name](a, b), numbers.BINARY[name](a, b, BOOL), a, b)
    for name, function in numbers.COMPARE.items():
        assert_same(compiled[name](a, b), function(a, b), a, b)
    assert_same(compiled["not"](a), ~a, a)


@pytest.mark.parametrize(("type", "lanes"), crossed([*INTEGERS, *FLOATS], LANES), ids=str)
def test_unary_operations_and_comparisons(type: Number, lanes: int) -> None:
    names = ("abs", "neg", "not") if type in INTEGERS else ("abs", "neg")
    pieces = {name: unary_piece(name, type) for name in names}
    pieces |= {name: compare_piece(name, type) for name in numbers.COMPARE}
    compiled = Machine().compile(pieces, lanes)
    a, b = pairs(type)
    for name in names:
        assert_same(compiled[name](a), numbers.UNARY[name](a, type), a)
    for name, function in numbers.COMPARE.items():
        assert_same(compiled[name](a, b), function(a, b), a, b)


@pytest.mark.parametrize(("type", "lanes"), crossed(COMPLEX, LANES), ids=str)
def test_complex_operations(type: Number, lanes: int) -> None:
    binary, unary = ("add", "sub", "mul", "div"), ("abs", "neg", "conj", "im", "re")
    pieces = {name: binary_piece(name, type, HARDWARE) for name in binary}
    pieces |= {name: unary_piece(name, type) for name in unary}
    pieces |= {name: compare_piece(name, type) for name in ("equal", "not_equal")}
    compiled = Machine().compile(pieces, lanes)
    random = np.random.default_rng(5)
    near = (random.normal(size=6000) + 1j * random.normal(size=6000)).astype(numbers.dtype(type))
    special = specials(type)
    x = np.concatenate([np.repeat(special, len(special)), near[:3000], near[:3000], patterns(type, 5000, 1)])
    y = np.concatenate([np.tile(special, len(special)), near[3000:], near[:3000].conj(), patterns(type, 5000, 2)])
    for name in binary:
        assert_same(compiled[name](x, y), numbers.BINARY[name](x, y, type), x, y)
    for name in ("neg", "conj", "im", "re"):
        assert_same(compiled[name](special), numbers.UNARY[name](special, type), special)
    for name in ("equal", "not_equal"):
        assert_same(compiled[name](x, y), numbers.COMPARE[name](x, y), x, y)


@pytest.mark.parametrize(("type", "lanes"), crossed(COMPLEX, LANES), ids=str)
def test_complex_absolute_value(type: Number, lanes: int) -> None:
    compiled = Machine().compile({"abs": unary_piece("abs", type)}, lanes)["abs"]
    random = np.random.default_rng(6).uniform(0.25, 4, (2, 5000))
    near = (random[0] + 1j * random[1]).astype(numbers.dtype(type))
    a = np.concatenate([near, patterns(type, 20000), specials(type)])
    exact = np.hypot(a.real.astype(np.longdouble), a.imag.astype(np.longdouble))
    found = compiled(a)
    finite = np.isfinite(exact.astype(found.dtype)) & (exact > 0)
    assert ulps(found[finite], exact[finite], PARTS[type]) <= 1.0
    assert_same(found[~finite], exact[~finite].astype(found.dtype), a[~finite])
    assert_same(found, numbers.UNARY["abs"](a, type), a)


# Constants and casts.

CONSTANTS: dict[Number | Boolean, tuple[bool | int | float | complex, ...]] = {
    BOOL: (False, True),
    I8: (-128, 127),
    I64: (-(2**63), 2**63 - 1),
    INDEX: (0, 12),
    **dict.fromkeys(FLOATS, (0.1, -0.0, 1e-7, 1e300, -math.inf, 3, 2**63 - 1, 65519.9, 65520.0, 5e-324, 1.0009765625)),
    **dict.fromkeys(COMPLEX, (0.1 - 1e300j, 3, complex(-0.0, math.inf), 2**53 + 1)),
}


def constant_piece(type: Number | Boolean, value: bool | int | float | complex) -> Piece:
    return Piece(lambda w, o: arith.constant(type, value), (I8,), type)


@pytest.mark.parametrize("type", CONSTANTS, ids=str)
def test_constants_are_rounded_once(type: Number | Boolean) -> None:
    values = CONSTANTS[type]
    pieces = {f"c{k}": constant_piece(type, value) for k, value in enumerate(values)}
    compiled = Machine().compile(pieces, 1)
    one = np.zeros(1, np.int8)
    for function, value in zip(compiled.values(), values, strict=True):
        assert_same(function(one), numbers.constant(value, type).ravel())


def test_constants_of_the_wrong_kind() -> None:
    with pytest.raises(TypeError, match=r"a constant of i8 is an int, not 1\.5"):
        arith.constant(I8, 1.5)
    with pytest.raises(TypeError, match="a constant of f32 is real"):
        arith.constant(F32, 1j)
    with pytest.raises(TypeError, match="a cast from c32 to f32"):
        Machine().text({"wrong": cast_piece(C32, F32, HARDWARE)}, 1)


def cast_piece(source: Number, target: Number, features: Features) -> Piece:
    return Piece(lambda w, o: casts.cast(w, features, source, target, o[0]), (source,), target)


def cast_arguments(source: Number) -> Array:
    """Special values, random bits, and what lies around the middle of two bf16 or f16 numbers."""
    some = np.concatenate([specials(source), patterns(source, 3000)])
    if source in COMPLEX:
        return some
    random = np.random.default_rng(6)
    middle = np.ldexp(random.integers(2**7, 2**13, 4000) + 0.5, random.integers(-26, 50, 4000))
    if source in INTEGERS:
        low, high = numbers.limits(source)
        whole = np.clip(middle, low / 2, high / 2).astype(np.int64)
        close = np.concatenate([whole - 1, whole, whole + 1, -whole])
        return np.concatenate([some, close.astype(some.dtype)])
    sizes = random.uniform(-300, 300, 2000)
    wide = np.concatenate([middle, np.nextafter(middle, 0), np.nextafter(middle, 1e9), -middle, sizes, 2.0**31 * sizes])
    return np.concatenate([some, numbers.cast(wide, F64, source)])


@pytest.mark.parametrize(("source", "lanes"), crossed([*INTEGERS, *FLOATS, *COMPLEX], LANES), ids=str)
def test_casts(source: Number, lanes: int) -> None:
    targets = [t for t in (*INTEGERS, *FLOATS, *COMPLEX) if source.family != "complex" or t.family == "complex"]
    compiled = Machine().compile({str(t): cast_piece(source, t, HARDWARE) for t in targets}, lanes)
    values = cast_arguments(source)
    for target in targets:
        expected = numbers.cast(values, source, target)
        assert_same(compiled[str(target)](values), expected, values)


# Functions.

NATIVE = {"cos": 4.0, "sin": 4.0, "exp": 3.0, "exp2": 3.0, "log": 3.0, "log2": 3.0}
"""The OpenCL full-profile bounds of functions that have a native twin, in units in the last place; 2 in f16."""

BOUNDS = {**NATIVE, "sqrt": 0.501, "rsqrt": 2.0, "tanh": 3.0, "erf": 3.0}
"""The bounds of all functions; what is judged by may be off by 2^-11 units itself."""

FORMATS = {BF16: (7, -126), F16: (10, -14), F32: (23, -126), F64: (52, -1022)}
"""Bits of the fraction, and the least exponent."""


def ulps(found: Array, exact: Array, type: Number) -> float:
    """The largest error in units in the last place of the exact result."""
    fraction, least = FORMATS[type]
    _, exponent = np.frexp(exact)
    unit = np.ldexp(np.ones_like(exact), np.maximum(exponent - 1, least) - fraction)
    return float((np.abs(found.astype(exact.dtype) - exact) / unit).max())


def function_piece(mnemonic: str, type: Number, features: Features = HARDWARE) -> Piece:
    return Piece(lambda w, o: functions.function(w, features, mnemonic, type, o[0]), (type,), type)


@cache
def arguments(name: str, type: Number, count: int = 8000) -> Array:
    """Over the whole range, near 1 for logarithms, near zeros of sine and cosine, or every number of the type."""
    dtype = numbers.dtype(type)
    if type in (BF16, F16):
        return np.arange(65536, dtype=np.uint16).view(dtype)
    random = np.random.default_rng(7)
    reach = FORMATS[type][1] - FORMATS[type][0] - 4
    turns = random.integers(0, 2**16 if type == F32 else 2**29, count).astype(np.float64)
    particular = {
        "exp": random.uniform(reach, -reach, count) * math.log(2),
        "exp2": random.uniform(reach, -reach, count),
        "log": 1 + random.normal(size=count) * np.exp2(-random.uniform(0, 30, count)),
        "sin": turns * (math.pi / 2),
        "tanh": random.uniform(-1, 1, count),
        "sqrt": np.exp2(random.uniform(reach, -reach, count)),
    }
    alike = {"log2": "log", "cos": "sin", "erf": "tanh", "rsqrt": "sqrt"}
    chosen = particular[alike.get(name, name)]
    values = np.concatenate([chosen, random.uniform(-10, 10, count), 10.0 ** -random.uniform(0, 20, count)])
    return np.concatenate([values.astype(dtype), specials(type), patterns(type, count)])


def exact_values(name: str, values: Array) -> Array:
    return FUNCTIONS[name](values.astype(np.longdouble))


@cache
def compiled_functions(type: Number, lanes: int) -> dict[str, Compiled]:
    names = [*BOUNDS, *(f"native_{name}" for name in NATIVE)]
    return Machine().compile({name: function_piece(name, type) for name in names}, lanes)


@needs_more_than_f64
@pytest.mark.parametrize(("type", "lanes"), crossed(FLOATS, LANES, first=1), ids=str)
@pytest.mark.parametrize("name", BOUNDS)
def test_functions_are_within_their_bounds(name: str, type: Number, lanes: int) -> None:
    values = arguments(name, type)
    exact = exact_values(name, values)
    found = compiled_functions(type, lanes)[name](values)
    nearest = exact.astype(np.float32).astype(found.dtype) if type == BF16 else exact.astype(found.dtype)
    finite = np.isfinite(nearest.astype(np.float64)) & np.isfinite(found.astype(np.float64))
    bound = BOUNDS[name] if type in (F32, F64) else min(BOUNDS[name], 1.0)
    assert ulps(found[finite], exact[finite], type) <= bound
    assert_same(found[~finite], nearest[~finite], values[~finite])
    assert name not in ("tanh", "erf") or np.all(np.abs(found[finite]) <= 1)
    if name in ("sin", "tanh", "erf", "sqrt"):
        assert np.array_equal(np.signbit(found[values == 0]), np.signbit(values[values == 0]))


@needs_more_than_f64
@pytest.mark.parametrize(("type", "lanes"), crossed(FLOATS, LANES, first=1), ids=str)
@pytest.mark.parametrize("name", NATIVE)
def test_native_functions(name: str, type: Number, lanes: int) -> None:
    values = arguments(name, type)
    exact = exact_values(name, values)
    found = compiled_functions(type, lanes)[f"native_{name}"](values)
    nearest = exact.astype(np.float32).astype(found.dtype) if type == BF16 else exact.astype(found.dtype)
    finite = np.isfinite(nearest.astype(np.float64)) & np.isfinite(found.astype(np.float64)) & (exact != 0)
    smallest = 2.0 ** (FORMATS[type][1] - FORMATS[type][0])
    error = np.abs(found[finite].astype(np.longdouble) - exact[finite])
    bound = 2.0**-8 if type == BF16 else 2.0**-10
    assert np.all(error <= np.maximum(np.abs(exact[finite]) * bound, smallest))
    assert_same(found[~finite], nearest[~finite], values[~finite])


@pytest.mark.parametrize("name", ["exp", "native_exp", "exp2", "native_exp2"])
def test_exponentials_at_the_ends(name: str) -> None:
    function = compiled_functions(F32, 16)[name]
    found = function(np.array([-math.inf, -1e30, math.inf, 1e30, 0.0, -0.0, math.nan], np.float32)).tolist()
    assert found[:6] == [0.0, 0.0, math.inf, math.inf, 1.0, 1.0]
    assert math.copysign(1.0, found[0]) == 1.0
    assert math.isnan(found[6])


@needs_more_than_f64
@pytest.mark.parametrize(("type", "lanes"), crossed(COMPLEX, (1, 8)), ids=str)
@pytest.mark.parametrize("name", ["exp", "exp2", "native_exp", "native_exp2"])
def test_complex_exponentials(name: str, type: Number, lanes: int) -> None:
    compiled = Machine().compile({name: function_piece(name, type)}, lanes)[name]
    random = np.random.default_rng(8)
    values = (random.uniform(-80, 80, 3000) + 1j * random.uniform(-300, 300, 3000)).astype(numbers.dtype(type))
    wide = values.astype(np.clongdouble)
    plain = name.removeprefix("native_")
    angle = wide.imag if plain == "exp" else wide.imag * np.log(np.longdouble(2))
    scale = getattr(np, plain)(wide.real)
    found = compiled(values)
    for part, turn in ((found.real, np.cos(angle)), (found.imag, np.sin(angle))):
        # Near their zeros the angle of longdouble is not exact enough to judge f64.
        clear = np.abs(turn) > 0.25
        exact = (scale * turn)[clear]
        if plain == name:
            assert ulps(part[clear], exact, PARTS[type]) <= (0.51 if type == C32 else 6)
        else:
            assert float((np.abs(part[clear] - exact) / np.abs(exact)).max()) < 2.0**-10


@pytest.mark.parametrize(("type", "lanes"), crossed(COMPLEX, (1, 8)), ids=str)
def test_complex_exp2_of_any_imaginary_part(type: Number, lanes: int) -> None:
    part = numbers.dtype(PARTS[type])
    largest = float(np.finfo(part).max)
    sizes = [s * 10.0**e for e in range(31) for s in (1.0, -3.3)] + [2.0**17, 2.0**17 + 1, 2.0**26, 2.0**26 + 1]
    imaginary = np.array([*sizes, largest, -largest / 3, *sizes[:2]], part)[: 64 + 8 - 64 % 8]
    values = np.zeros(imaginary.shape, numbers.dtype(type))
    values.imag = imaginary
    exact = np.array([turned(y) for y in imaginary.tolist()])
    pieces = {name: function_piece(name, type) for name in ("exp2", "native_exp2")}
    compiled = Machine().compile(pieces, lanes)
    for found, wanted in ((compiled["exp2"](values), None), (compiled["native_exp2"](values), 2.0**-10)):
        for held, turn in ((found.real, exact.real), (found.imag, exact.imag)):
            if wanted is None:
                assert ulps(held, turn, PARTS[type]) <= (0.51 if type == C32 else 6)
            else:
                assert float((np.abs(held - turn) / np.abs(turn)).max()) < wanted


@pytest.mark.parametrize("type", COMPLEX, ids=str)
def test_special_complex_exponentials(type: Number) -> None:
    inf, nan = math.inf, math.nan
    part = numbers.dtype(PARTS[type])
    arguments = [(0.0, 0.0), (1.0, -0.0), (inf, 0.0), (-inf, 1.0), (-inf, inf), (-inf, nan), (nan, 0.0), (inf, 2.0)]
    values = np.array(arguments, part).view(numbers.dtype(type)).ravel()
    for name in ("exp", "native_exp"):
        found = Machine().compile({name: function_piece(name, type)}, 8)[name](values)
        expected = np.exp(values)
        special = np.arange(8) != 1
        assert_same(found[special], expected[special], values[special], zeros=False)
        assert found[1].imag == 0 and math.copysign(1, found[1].imag) == -1
    exp = Machine().compile({"exp": function_piece("exp", type)}, 1)["exp"]
    # The exponential of the real part alone is too large.
    edge = 89.0 if type == C32 else 710.0
    turned = exp(np.array([complex(edge, math.pi / 2 - 0.01)], numbers.dtype(type)))[0]
    assert np.isfinite(turned.real) and turned.imag == inf


# Other processors.


@pytest.mark.parametrize("lanes", [1, 8])
def test_the_plainest_processor_of_the_kind(lanes: int) -> None:
    machine = Machine(SOFTWARE, plain=True)
    pieces = {
        "cast": cast_piece(F64, F16, SOFTWARE),
        "saturate": cast_piece(F32, I8, SOFTWARE),
        "div": binary_piece("div", I16, SOFTWARE),
        "add": binary_piece("add", F16, SOFTWARE),
        "exp": function_piece("exp", F16, SOFTWARE),
        "log": function_piece("log", F64, SOFTWARE),
        "sin": function_piece("sin", F32, SOFTWARE),
    }
    compiled = machine.compile(pieces, lanes)
    doubles, singles = cast_arguments(F64), cast_arguments(F32)
    assert_same(compiled["cast"](doubles), numbers.cast(doubles, F64, F16), doubles)
    assert_same(compiled["saturate"](singles), numbers.cast(singles, F32, I8), singles)
    for name, type in (("div", I16), ("add", F16)):
        a, b = pairs(type)
        assert_same(compiled[name](a, b), numbers.BINARY[name](a, b, type), a, b)
    for name, type in (("exp", F16), ("log", F64), ("sin", F32)):
        values = arguments(name, type)
        fitting = compiled_functions(type, 8)[name](values)
        assert_same(compiled[name](values), fitting, values)


def test_a_single_f16_waits_for_no_other_register() -> None:
    """F16C converts vectors: where LLVM puts one number into a register as it is, that is a register of a sum."""
    text = """
    func @f(%A: memref<f16x?>, %B: memref<f16x?>) {
        %zero = constant 0 : index
        %n = size %A[0] : index
        %nothing = constant 0.0 : f16
        %sum = for %i = %zero, %n init (%s = %nothing) -> (f16) {
            %x = load %A[%i] : f16
            %next = add %s, %x : f16
            yield (%next)
        }
        store %sum, %B[%zero]
    }
    """
    for processor in ("haswell", "znver4"):
        assembly = girih.loads(text, target=f"cpu:{processor}")["f"].assembly
        assert "vcvtph2ps" in assembly and "vpinsrw" not in assembly
