"""The floats of eight bits in the interpreter, against the tables of OFP8 and exact comparisons."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from girih.interpreter.machine import numbers
from girih.ir.floats import EIGHT_BIT_NAN, FORMATS, eight_bits, rounded
from girih.ir.types import BF16, C32, C64, F8E4M3, F8E5M2, F16, F32, F64, I8, I16, I32, I64, Number

Array = NDArray[Any]
EIGHT_BITS = (F8E4M3, F8E5M2)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), numbers.quiet():
        yield


def every(type: Number) -> Array:
    """All numbers of a type of one or two bytes, by their bits."""
    return np.arange(256**type.size, dtype=np.dtype(f"u{type.size}")).view(numbers.dtype(type))


def meaning(bits: int, type: Number) -> float:
    """The number that bits stand for, by the tables of OFP8."""
    fraction_bits, bias = (3, 7) if type == F8E4M3 else (2, 15)
    sign = -1.0 if bits & 0x80 else 1.0
    exponent, fraction = divmod(bits & 0x7F, 1 << fraction_bits)
    if type == F8E4M3 and bits & 0x7F == 0x7F:
        return math.copysign(math.nan, sign)
    if type == F8E5M2 and exponent == 31:
        return sign * math.inf if fraction == 0 else math.copysign(math.nan, sign)
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)


@cache
def magnitudes(type: Number) -> list[float]:
    """The finite numbers that are not negative, by their bits, which is also in order."""
    return [x for bits in range(128) if math.isfinite(x := meaning(bits, type))]


def middles(type: Number) -> list[float]:
    """Every finite number of a type, the middles between neighbours, and what lies beyond the largest."""
    known = magnitudes(type)
    step = known[-1] - known[-2]
    beyond = [known[-1] + step / 2, known[-1] + step, known[-1] * 1000]
    found = [*known, *((a + b) / 2 for a, b in pairwise(known)), *beyond]
    return [*found, *(-x for x in found)]


def nearest(value: float, type: Number) -> float:
    """The nearest finite number of a type; of two, the one whose last bit is 0. Nothing here rounds."""
    known, size = magnitudes(type), abs(value)
    above = bisect_right(known, size)
    if above == len(known):
        return math.copysign(known[-1], value)
    middle = (known[above - 1] + known[above]) / 2
    below = size < middle or (size == middle and above % 2 == 1)
    return math.copysign(known[above - 1 if below else above], value)


@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_all_values_are_exact_in_every_wider_type(type: Number) -> None:
    expected = np.array([meaning(bits, type) for bits in range(256)])
    for target in (BF16, F16, F32, F64, C32, C64):
        found = numbers.cast(every(type), type, target)
        assert found.dtype == numbers.dtype(target)
        assert np.array_equal(found.real.astype(np.float64), expected, equal_nan=True)
        assert np.array_equal(np.signbit(found.real), np.signbit(expected))
    for target in (I8, I16, I32, I64):
        low, high = numbers.limits(target)
        wanted = [0 if math.isnan(x) else int(min(max(x, low), high)) for x in expected]
        assert numbers.cast(every(type), type, target).tolist() == wanted


@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_the_other_type_is_reached_through_its_values(type: Number) -> None:
    (other,) = (t for t in EIGHT_BITS if t != type)
    found = numbers.cast(every(type), type, other).view(np.uint8).tolist()
    assert found == [eight_bits(meaning(bits, type), other) for bits in range(256)]


@pytest.mark.parametrize("source", (F32, F64), ids=str)
@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_floats_round_once_and_saturate(type: Number, source: Number) -> None:
    """Around every middle: a step of the wide type, which f32 as a step in between would lose, decides."""
    exact = np.array(middles(type)).astype(numbers.dtype(source))
    values = np.concatenate([exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])
    expected = [nearest(x, type) for x in values.tolist()]
    assert numbers.cast(values, source, type).astype(np.float64).tolist() == expected
    assert [meaning(eight_bits(x, type), type) for x in values.tolist()] == expected


@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_integers_round_once(type: Number) -> None:
    near = {int(x) + step for x in middles(type) for step in (-1, 0, 1)} | {2**40 + 1, 2**62 + 2**57, 2**60 - 1}
    for source in (I8, I16, I32, I64):
        low, high = numbers.limits(source)
        values = sorted(v for v in near | {low, high} if low <= v <= high)
        found = numbers.cast(np.array(values, numbers.dtype(source)), source, type)
        assert found.astype(np.float64).tolist() == [nearest(v, type) for v in values]


@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_every_number_of_two_bytes(type: Number) -> None:
    for source in (BF16, F16):
        wide = every(source).astype(np.float32)
        found = numbers.cast(every(source), source, type).view(np.uint8)
        kept = np.isfinite(wide)
        limit = FORMATS[type].largest
        clipped = np.clip(wide[kept], -limit, limit).astype(numbers.dtype(type)).view(np.uint8)
        assert np.array_equal(found[kept], clipped)


@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_infinities_saturate_and_nan_stays(type: Number) -> None:
    values = np.array([math.inf, -math.inf, math.nan, -math.nan, 0.0, -0.0, 1e-30, -1e-30])
    largest, nan = eight_bits(FORMATS[type].largest, type), EIGHT_BIT_NAN[type]
    expected = [largest, 0x80 | largest, nan, 0x80 | nan, 0, 0x80, 0, 0x80]
    for source in (F64, F32, BF16, F16):
        found = numbers.cast(values.astype(numbers.dtype(source)), source, type)
        assert found.view(np.uint8).tolist() == expected
    assert [eight_bits(x, type) for x in values] == expected
    assert not math.isfinite(rounded(1e6, type)) and FORMATS[type].infinite == (type == F8E5M2)
