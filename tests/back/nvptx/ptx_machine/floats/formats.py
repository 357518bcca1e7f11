"""The formats of floats in PTX: their bits to `float64` and back, with every way of rounding.

A format of at most 32 bits is computed with in `float64`: its numbers are exact there, and a result that was rounded
to odd there (`exact.py`) is rounded once more here, as if it had been exact: 53 bits are 2 more than any of these has
(Boldo and Melquiond, "When double rounding is odd", 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.back.nvptx.ptx_machine.types import UNSIGNED, Array

NEAREST, ZERO, DOWN, UP, AWAY = "rn", "rz", "rm", "rp", "rna"


@dataclass(frozen=True, slots=True)
class Format:
    """A format of `bits` bits, the significands of which have `digits`, the hidden one included.

    `least` is the exponent of the smallest normal number, `most` the bits of the largest finite one, `infinity` those
    of infinity (None where there is none) and `nan` those of the NaN that operations give (PTX ISA "Floating Point
    Instructions"). The lowest `unused` bits are 0.
    """

    name: str
    bits: int
    digits: int
    least: int
    most: int
    infinity: int | None
    nan: int
    unused: int = 0


FORMATS = {
    one.name: one
    for one in (
        Format("f64", 64, 53, -1022, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000),
        Format("f32", 32, 24, -126, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF),
        Format("tf32", 32, 11, -126, 0x7F7FE000, 0x7F800000, 0x7FFFFFFF, 13),
        Format("f16", 16, 11, -14, 0x7BFF, 0x7C00, 0x7FFF),
        Format("bf16", 16, 8, -126, 0x7F7F, 0x7F80, 0x7FFF),
        Format("e4m3", 8, 4, -6, 0x7E, None, 0x7F),
        Format("e5m2", 8, 3, -14, 0x7B, 0x7C, 0x7F),
    )
}
"""The formats by their names in PTX."""


def decoded(bits: Array, form: Format) -> Array:
    """The numbers of bits, as `float64`."""
    if form.name == "f64":
        return bits.view(np.float64)
    if form.name in ("f32", "tf32"):
        return bits.view(np.float32).astype(np.float64)
    if form.name == "f16":
        return bits.view(np.float16).astype(np.float64)
    if form.name == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    fraction = form.digits - 1
    held = bits.astype(np.int64)
    sign = np.where(held >> form.bits - 1 & 1, -1.0, 1.0)
    magnitude = held & (1 << form.bits - 1) - 1
    exponent, mantissa = magnitude >> fraction, magnitude & (1 << fraction) - 1
    normal = exponent > 0
    whole = np.where(normal, mantissa + (1 << fraction), mantissa).astype(np.float64)
    value = np.ldexp(whole, np.where(normal, exponent - 1, 0) + form.least - fraction)
    value = np.where(magnitude > (form.most if form.infinity is None else form.infinity), np.nan, value)
    if form.infinity is not None:
        value = np.where(magnitude == form.infinity, np.inf, value)
    return sign * value


def encoded(values: Array, form: Format, rounding: str = NEAREST, *, finite: bool = False) -> Array:
    """The bits of numbers that are `float64`; with `finite`, what is too large becomes the largest one."""
    if form.name == "f64":
        found = values.view(np.uint64)
        return np.where(np.isnan(values), found, found)
    if form.name == "f32" and rounding == NEAREST and not finite:
        return canonical(values.astype(np.float32)).view(np.uint32)
    if form.name == "f16" and rounding == NEAREST and not finite:
        return np.where(np.isnan(values), np.uint16(form.nan), values.astype(np.float16).view(np.uint16))
    negative = np.signbit(values)
    magnitude = np.abs(values)
    endless, nan = np.isinf(magnitude), np.isnan(magnitude)
    magnitude = np.where(endless | nan, 1.0, magnitude)
    exponent: Array = np.maximum(np.frexp(magnitude)[1].astype(np.int64) - 1, form.least)
    exponent[magnitude == 0] = form.least
    steps = _rounded(np.ldexp(magnitude, form.digits - 1 - exponent), rounding, negative)
    held: Array = (exponent - form.least << form.digits - 1) + steps.astype(np.int64) << form.unused
    held = np.where(endless, np.int64(1) << form.bits, held)
    infinity = form.most if form.infinity is None or finite else form.infinity
    kept = (rounding == ZERO) | ((rounding == DOWN) & ~negative) | ((rounding == UP) & negative)
    over = np.where(kept & ~endless, form.most, infinity)
    held = np.where(held > form.most, over, held) | np.where(negative, 1 << form.bits - 1, 0)
    return np.where(nan, form.nan, held).astype(UNSIGNED[form.bits])


def _rounded(steps: Array, rounding: str, negative: Array) -> Array:
    """Positive numbers as integers."""
    if rounding == NEAREST:
        return np.rint(steps)
    if rounding == AWAY:
        return np.floor(steps + 0.5)
    if rounding == ZERO:
        return np.floor(steps)
    up = negative if rounding == DOWN else ~negative
    return np.where(up, np.ceil(steps), np.floor(steps))


def canonical(values: Array) -> Array:
    """Numbers that are `float32` with the NaN that operations give in place of every NaN."""
    nan = np.isnan(values)
    if not nan.any():
        return values
    return np.where(nan, np.uint32(0x7FFFFFFF), values.view(np.uint32)).view(np.float32)


def flushed(values: Array) -> Array:
    """Numbers that are `float32` with zeros of the same sign in place of subnormal ones, as `.ftz` has it."""
    return np.where(np.abs(values) < np.float32(2.0**-126), np.copysign(np.float32(0), values), values)
