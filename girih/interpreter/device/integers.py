"""The meaning of integers that are read as signed or unsigned (`girih.ops.device.integers`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from girih.facts import findings
from girih.interpreter.device.numeric import find_undefined, number_type, signed, unsigned
from girih.interpreter.machine import numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.ir.types import I64
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.integers import Division, IntegerBinary, UnsignedComparison, ZeroExtend


def _as_unsigned(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """An operation of the bits read as unsigned numbers."""

    def operation(a: Array, b: Array) -> Array:
        return signed(function(unsigned(a), unsigned(b)))

    return operation


def _multiplied_high(a: Array, b: Array) -> Array:
    """The upper half of a product of unsigned numbers."""
    width = 8 * a.itemsize
    if width < 64:
        wide = a.astype(np.uint64) * b.astype(np.uint64)
        return (wide >> np.uint64(width)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    first, second = a_low * b_high, a_high * b_low
    middle = (a_low * b_low >> half) + (first & low) + (second & low)
    result: Array = a_high * b_high + (first >> half) + (second >> half) + (middle >> half)
    return result


def _signed_multiplied_high(a: Array, b: Array) -> Array:
    high = signed(_multiplied_high(unsigned(a), unsigned(b)))
    # As a signed number, an operand with the top bit is less by a power of 2, and so is the product by the other one.
    result: Array = high - np.where(a < 0, b, 0).astype(a.dtype) - np.where(b < 0, a, 0).astype(a.dtype)
    return result


def _unsigned_saturated(a: Array, b: Array) -> Array:
    total = a + b
    return np.where(total < a, np.iinfo(total.dtype).max, total)


def _signed_saturated(a: Array, b: Array) -> Array:
    total = a + b
    least, most = (getattr(np.iinfo(total.dtype), end) for end in ("min", "max"))
    over = (a ^ total) & (b ^ total) < 0
    return np.where(over, np.where(a < 0, least, most).astype(total.dtype), total)


def _without_zero(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A division that gives 0 where the divisor is 0."""

    def operation(a: Array, b: Array) -> Array:
        result: Array = function(a, np.where(b == 0, b.dtype.type(1), b))
        return np.where(b == 0, b.dtype.type(0), result)

    return operation


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "unsigned_div": _as_unsigned(_without_zero(np.floor_divide)),
    "unsigned_rem": _as_unsigned(_without_zero(np.remainder)),
    "signed_div": lambda a, b: numbers.BINARY["div"](a, b, I64),
    "signed_rem": lambda a, b: numbers.BINARY["rem"](a, b, I64),
    "signed_mod": _without_zero(np.remainder),
    "unsigned_min": _as_unsigned(np.minimum),
    "unsigned_max": _as_unsigned(np.maximum),
    "unsigned_mul_high": _as_unsigned(_multiplied_high),
    "signed_mul_high": _signed_multiplied_high,
    "unsigned_add_saturated": _as_unsigned(_unsigned_saturated),
    "signed_add_saturated": _signed_saturated,
}
"""Mnemonic to function. What is divided by 0 is 0; the smallest number by -1 is itself, with remainder 0."""


@meaning(*DEVICE_LANGUAGE.family(IntegerBinary))
def binary(machine: Machine, op: IntegerBinary) -> None:
    """Compute an operation of two integers."""
    machine.set(op.result, BINARY[op.spec.mnemonic](machine.array(op.a), machine.array(op.b)))


@meaning(*DEVICE_LANGUAGE.family(Division))
def division(machine: Machine, op: Division) -> None:
    """Divide, and find what has no quotient."""
    a, b = machine.array(op.a), machine.array(op.b)
    find_undefined(machine, op, findings.undefined_quotient(op), b == 0, op.b)
    if op.spec.mnemonic.startswith("signed"):
        overflow = (b == -1) & (a == np.iinfo(a.dtype).min)
        find_undefined(machine, op, findings.overflowing_quotient(op), overflow, op.b)
    machine.set(op.result, BINARY[op.spec.mnemonic](a, b))


_COMPARE = {"unsigned_less_than": np.less, "unsigned_less_than_equal": np.less_equal}


@meaning(*DEVICE_LANGUAGE.family(UnsignedComparison))
def comparison(machine: Machine, op: UnsignedComparison) -> None:
    """Compare unsigned numbers."""
    machine.set(op.result, _COMPARE[op.spec.mnemonic](unsigned(machine.array(op.a)), unsigned(machine.array(op.b))))


@meaning(ZeroExtend)
def zero_extend(machine: Machine, op: ZeroExtend) -> None:
    """Widen unsigned numbers."""
    machine.set(op.result, unsigned(machine.array(op.a)).astype(numbers.dtype(number_type(op.result))))
