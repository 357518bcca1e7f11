"""The meaning of whole numbers, exponents and conversions of floats (`girih.ops.device.floats`)."""

from __future__ import annotations

import numpy as np

from girih.facts import findings
from girih.interpreter.device.numeric import find_undefined, number_type, signed, unsigned
from girih.interpreter.machine import numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.ir.floats import FORMATS
from girih.ir.types import EIGHT_BIT_FLOATS, F64, I64, Number
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.floats import (
    Float4Decode,
    Float4Encode,
    FloatCast,
    FloatToInteger,
    FractionExponent,
    LoadExponent,
    UnsignedToFloat,
    Whole,
)

_WHOLE = {"floor": np.floor, "ceil": np.ceil, "truncate": np.trunc, "round_even": np.rint}


@meaning(*DEVICE_LANGUAGE.family(Whole))
def whole(machine: Machine, op: Whole) -> None:
    """Round to a whole number."""
    a = machine.array(op.a)
    machine.set(op.result, _WHOLE[op.spec.mnemonic](a).astype(a.dtype, copy=False))


@meaning(*DEVICE_LANGUAGE.family(FloatToInteger))
def to_integer(machine: Machine, op: FloatToInteger) -> None:
    """Truncate to an integer, and find what is none of the type."""
    target = number_type(op.result)
    whole = np.trunc(machine.array(op.a).astype(np.float64))
    bits, unsigned_result = 8 * target.size, op.spec.mnemonic.endswith("unsigned")
    low, above = (0.0, 2.0**bits) if unsigned_result else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    outside = ~((whole >= low) & (whole < above))
    find_undefined(machine, op, findings.undefined_integer(op, target), outside, op.a)
    if not unsigned_result:
        machine.set(op.result, numbers.cast(whole, F64, target))
        return
    size = signed(np.zeros(1, numbers.dtype(target))).dtype
    inside = np.where(outside, 0.0, whole).astype(np.uint64)
    most = np.uint64((1 << bits) - 1)
    found = np.where(whole >= above, most, inside).astype(np.int64)
    machine.set(op.result, found.astype(size))


@meaning(UnsignedToFloat)
def unsigned_to_float(machine: Machine, op: UnsignedToFloat) -> None:
    """Convert unsigned integers, rounded once."""
    target = number_type(op.result)
    wide = unsigned(machine.array(op.a)).astype(np.uint64)
    upper = wide >= np.uint64(1 << 63)
    # Half of a number so large, with its last bits in one, rounds as the number does.
    halved = np.where(upper, (wide >> np.uint64(1)) | (wide & np.uint64(1)), wide).astype(np.int64)
    found = numbers.cast(halved, I64, target)
    machine.set(op.result, np.where(upper, found + found, found) if upper.any() else found)


@meaning(FloatCast)
def float_cast(machine: Machine, op: FloatCast) -> None:
    """Round to another type."""
    source, target = number_type(op.a), number_type(op.result)
    a = machine.array(op.a)
    machine.set(op.result, rounded(a, source, target, toward_zero=op.toward_zero, saturated=op.saturated))


def rounded(a: Array, source: Number, target: Number, *, toward_zero: bool, saturated: bool) -> Array:
    """The floats in another type, rounded once; see `FloatCast`."""
    found = numbers.cast(a, source, target)
    wide = numbers.cast(a, source, F64)
    if toward_zero:
        size = np.ascontiguousarray(found).view(signed(np.zeros(1, f"i{found.itemsize}")).dtype)
        away = np.absolute(numbers.cast(found, target, F64)) > np.absolute(wide)
        # One less in the bits of a float is the next number towards zero, also of an infinity.
        found = (size - (away & np.isfinite(wide))).astype(size.dtype).view(found.dtype)
    if target in EIGHT_BIT_FLOATS and not saturated:
        format = FORMATS[target]
        largest = format.largest
        step = 2.0 ** (np.floor(np.log2(largest)) - (format.precision - 1))
        # From halfway to the next number on, and at it: the fraction of the largest one decides what is even.
        odd = int(largest / step) % 2 == 1
        size = np.absolute(wide)
        beyond = size >= largest + step / 2 if odd else size > largest + step / 2
        beyond = np.isinf(wide) if toward_zero else beyond
        overflow = np.copysign(np.inf if format.infinite else np.nan, wide).astype(found.dtype)
        found = np.where(beyond, overflow, found)
    return found


_FLOAT4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_BETWEEN = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], np.float32)
"""The middles between neighbours; a number in the middle goes to the even one, below or above in turn."""


@meaning(Float4Decode)
def float4_decode(machine: Machine, op: Float4Decode) -> None:
    """Look four bits up."""
    a = machine.array(op.a)
    size = _FLOAT4[a & 7]
    machine.set(op.result, np.where(a & 8, -size, size).astype(numbers.dtype(number_type(op.result))))


@meaning(Float4Encode)
def float4_encode(machine: Machine, op: Float4Encode) -> None:
    """Count the middles that a number is beyond."""
    a = machine.array(op.a).astype(np.float32)
    size = np.absolute(a)[..., None]
    beyond = np.where(np.arange(7) % 2, size >= _BETWEEN, size > _BETWEEN) | np.isnan(size)
    machine.set(op.result, (np.count_nonzero(beyond, axis=-1) + 8 * np.signbit(a)).astype(np.int8))


@meaning(LoadExponent)
def load_exponent(machine: Machine, op: LoadExponent) -> None:
    """Multiply by a power of 2."""
    type = number_type(op.a)
    wide = numbers.cast(machine.array(op.a), type, F64)
    machine.set(op.result, numbers.cast(np.ldexp(wide, machine.array(op.exponent)), F64, type))


@meaning(FractionExponent)
def fraction_exponent(machine: Machine, op: FractionExponent) -> None:
    """Take a number apart."""
    type = number_type(op.a)
    found, exponent = np.frexp(numbers.cast(machine.array(op.a), type, F64))
    machine.set(op.significand, numbers.cast(found, F64, type))
    machine.set(op.exponent, np.where(np.isfinite(found), exponent, 0).astype(np.int32))
