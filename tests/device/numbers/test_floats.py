"""Whole numbers, exponents and conversions of floats, against NumPy and Python's fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from girih.diagnostics import KernelError
from girih.interpreter.machine.numbers import DTYPES
from girih.ir.floats import FORMATS
from girih.ir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, I8, I16, I32, I64, Number
from tests.cases import every_case
from tests.device.numbers.evaluating import TARGETS, Applied, Array, evaluate

FLOATS = (F16, BF16, F32, F64)


def same(found: Array, expected: Array) -> None:
    """The same numbers with the same signs, and NaN where NaN is expected."""
    assert found.dtype == expected.dtype
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    kept = ~np.isnan(expected)
    np.testing.assert_array_equal(found[kept], expected[kept])
    np.testing.assert_array_equal(np.signbit(found[kept]), np.signbit(expected[kept]))


def numbers_of(type: Number) -> Array:
    """Edges of a type, numbers next to whole ones and to halves, and random ones of all sizes."""
    near = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 1e3 + 0.5, 2.0**23 + 1, 2.0**52 + 1, 1e-40, 5e-324, math.inf]
    random = np.random.default_rng(7)
    wild = np.ldexp(random.uniform(0.5, 1, 60), random.integers(-150, 130, 60))
    exact = [FORMATS[type].largest, 2.0 ** FORMATS[type].least_exponent, math.nan]
    with np.errstate(all="ignore"):
        found = np.array([*near, *wild, *random.uniform(0, 300, 40), *exact]).astype(DTYPES[type])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("target", TARGETS)
def test_whole_numbers_and_exponents(target: str) -> None:
    functions = {"floor": np.floor, "ceil": np.ceil, "truncate": np.trunc, "round_even": np.rint}
    with every_case() as case:
        for type in FLOATS:
            a = numbers_of(type)
            powers = np.resize(np.array([0, 1, -1, 20, -20, 140, -140, 1100, -1100, 2200, -2200, 2**31 - 1]), len(a))
            powers = powers.astype(np.int32)
            wide = a.astype(np.float64)
            found = evaluate(
                target,
                *(Applied(name, (a,), (type,)) for name in functions),
                Applied("ldexp", (a, powers), (type,)),
                Applied("frexp", (a,), (type, I32)),
            )
            for (result,), (name, function) in zip(found, functions.items(), strict=False):
                with case(f"{name} {type}"):
                    same(result, function(wide).astype(a.dtype))
            with case(f"ldexp {type}"):
                same(found[-2][0], np.ldexp(wide, powers).astype(a.dtype))
            with case(f"frexp {type}"):
                significand, exponent = np.frexp(wide)
                same(found[-1][0], significand.astype(a.dtype))
                assert found[-1][1].tolist() == np.where(np.isfinite(wide), exponent, 0).tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_floats_become_integers_and_integers_floats(target: str) -> None:
    with every_case() as case:
        for type in FLOATS:
            for integer in (I8, I16, I32, I64):
                with case(f"{type} and {integer}"):
                    _between(target, type, integer)


def _between(target: str, type: Number, integer: Number) -> None:
    bits = 8 * integer.size
    random = np.random.default_rng(bits).uniform(-0.9, 0.9, 40)
    edges = [-1.0, -0.99, 0.0, 0.99, 1 - 2.0 ** -FORMATS[type].precision]
    limit = min(2.0 ** (bits - 1), 2.0 ** FORMATS[type].largest_exponent)
    signed = np.array([*(limit * random), *(x * limit for x in edges if x <= 0.9), -0.9, 0.9]).astype(DTYPES[type])
    unsigned = np.resize(np.abs(np.array([*(2 * limit * random), 0.9, -0.0])), len(signed)).astype(DTYPES[type])
    unsigned[:2] = [-0.9, 255 if bits > 8 else 7]
    whole = np.random.default_rng(bits + 1).integers(0, (1 << bits) - 1, len(signed), np.uint64, endpoint=True)
    whole = np.concatenate([whole >> np.uint64(k) for k in (0, bits // 2)])[: len(signed)].astype(f"u{integer.size}")
    whole[:4] = [(1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) + 1, 0]
    given = whole.view(DTYPES[integer]).copy()
    found = evaluate(
        target,
        Applied("float_to_signed", (signed,), (integer,)),
        Applied("float_to_unsigned", (unsigned,), (integer,)),
        Applied("unsigned_to_float", (given,), (type,)),
    )
    assert found[0][0].tolist() == [int(x) for x in signed.astype(np.float64)]
    assert found[1][0].view(whole.dtype).tolist() == [int(x) for x in unsigned.astype(np.float64)]
    expected = [nearest(Fraction(int(x)), type) for x in whole]
    assert found[2][0].astype(np.float64).tolist() == expected


def nearest(value: Fraction, type: Number, *, toward_zero: bool = False) -> float:
    """A positive number, or 0, rounded once to a type that has infinities."""
    if value == 0:
        return 0.0
    format = FORMATS[type]
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, format.least_exponent) - format.precision + 1)
    rounded = (value // unit if toward_zero else round(value / unit)) * unit
    if rounded > Fraction(format.largest):
        return format.largest if toward_zero else math.inf
    return float(rounded)


@pytest.mark.parametrize("target", TARGETS)
def test_casts_that_round_towards_zero_or_overflow(target: str) -> None:
    ways = [{"toward_zero": t, "saturated": s} for t in (False, True) for s in (False, True)]
    with every_case() as case:
        for source, types in ((F64, (F16, BF16, F32, F8E4M3, F8E5M2)), (F32, (F16, F8E4M3)), (F16, (F8E5M2,))):
            a = np.concatenate([numbers_of(source), *(edges_of(type, source) for type in types)])
            applied = [Applied("float_cast", (a,), (type,), way) for type in types for way in ways]
            for one, (found,) in zip(applied, evaluate(target, *applied), strict=True):
                with case(f"{source} to {one.results[0]} {one.fields}"):
                    same(found, expected_cast(a, one))


def edges_of(type: Number, source: Number) -> Array:
    """The largest number of a type, and around the middle to what would come next."""
    format = FORMATS[type]
    unit = 2.0 ** (format.largest_exponent - format.precision + 1)
    steps = (0.0, 0.25, 0.5, 0.75, 1.0, -0.25, -0.5, -1.5)
    found = np.array([format.largest + step * unit for step in steps]).astype(DTYPES[source])
    return np.concatenate([found, -found])


def expected_cast(a: Array, one: Applied) -> Array:
    (type,), toward_zero, saturated = one.results, one.fields["toward_zero"], one.fields["saturated"]
    assert isinstance(type, Number)
    small = type in (F8E4M3, F8E5M2)
    format = FORMATS[type]
    found = []
    for x in a.astype(np.float64).tolist():
        if math.isnan(x):
            found.append(x)
            continue
        size = math.inf if math.isinf(x) else nearest(Fraction(abs(x)), type, toward_zero=bool(toward_zero))
        if math.isinf(size) and small and saturated:
            size = format.largest
        if math.isinf(size) and not format.infinite:
            size = math.nan
        found.append(math.copysign(size, x))
    return np.array(found).astype(DTYPES[type])


FLOAT4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


@pytest.mark.parametrize("target", TARGETS)
def test_floats_of_four_bits(target: str) -> None:
    assert np.arange(8, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(float).tolist() == FLOAT4
    held = np.arange(-64, 64, dtype=np.int8)
    a = np.concatenate([np.linspace(-7, 7, 113), [0.0, -0.0, 5.0001, 1e30, math.inf, -math.inf]]).astype(np.float32)
    a = np.concatenate([a, np.full(len(held) - len(a), 0.2501, np.float32)])
    half = a.astype(np.float16)
    (wide,), (short,), (bits,), (from_half,) = evaluate(
        target,
        Applied("float4_decode", (held,), (F32,)),
        Applied("float4_decode", (held,), (F16,)),
        Applied("float4_encode", (a,), (I8,)),
        Applied("float4_encode", (half,), (I8,)),
    )
    known = np.array([*FLOAT4, *(-x for x in FLOAT4)], np.float32)
    same(wide, known[held & 15])
    same(short, known[held & 15].astype(np.float16))
    for found, given in ((bits, a), (from_half, half)):
        clipped = np.clip(given.astype(np.float32), -6, 6)
        assert found.tolist() == clipped.astype(ml_dtypes.float4_e2m1fn).view(np.int8).tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_that_are_no_integers_are_found(target: str) -> None:
    cases = [
        ("float_to_signed", 2.0**31, I32, "signed i32"),
        ("float_to_signed", -129.0, I8, "signed i8"),
        ("float_to_unsigned", -1.0, I32, "unsigned i32"),
        ("float_to_unsigned", 2.0**16, I16, "unsigned i16"),
        ("float_to_unsigned", math.nan, I64, "unsigned i64"),
    ]
    with every_case() as case:
        for mnemonic, value, type, words in cases:
            with case(f"{mnemonic} {value}"):
                with pytest.raises(KernelError) as error:
                    evaluate(target, Applied(mnemonic, (np.array([1, value], np.float32),), (type,)))
                (finding, *_) = error.value.findings
                assert finding.code == "run.undefined_operation"
                assert finding.message == f"`{mnemonic}` of a number outside the range of {words}, or of NaN"
