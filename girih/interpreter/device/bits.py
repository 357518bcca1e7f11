"""The meaning of shifts, bit fields and single bits (`girih.ops.device.bits`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from girih.facts import findings
from girih.interpreter.device.numeric import UNSIGNED, find_undefined, signed, unsigned
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array, Mask
from girih.ir import core
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.bits import BitFieldExtract, BitFieldInsert, BitUnary, Shift

_FAR = 255
"""What larger numbers of bits are taken for: no integer has so many."""


def _count(machine: Machine, value: core.Value) -> Array:
    """An unsigned number of bits in i64, where sums of two do not wrap around."""
    return np.minimum(unsigned(machine.array(value)), _FAR).astype(np.int64)


_SHIFTS: dict[str, Callable[[Array, Array], Array]] = {
    "shift_left": lambda a, amount: np.left_shift(a, amount),
    "signed_shift_right": lambda a, amount: np.right_shift(a, amount),
    "unsigned_shift_right": lambda a, amount: signed(np.right_shift(unsigned(a), unsigned(amount))),
}


@meaning(*DEVICE_LANGUAGE.family(Shift))
def shift(machine: Machine, op: Shift) -> None:
    """Shift, and find what goes too far."""
    a, amount = machine.array(op.a), _count(machine, op.amount)
    width = 8 * a.itemsize
    far = amount >= width
    find_undefined(machine, op, findings.undefined_shift(op, width), far, op.amount)
    shifted = _SHIFTS[op.spec.mnemonic](a, np.where(far, 0, amount).astype(a.dtype))
    machine.set(op.result, np.where(far, a.dtype.type(0), shifted))


def _set_bits(a: Array) -> Array:
    return np.bitwise_count(unsigned(a)).astype(a.dtype)


def _reversed(a: Array) -> Array:
    held, type = unsigned(a), UNSIGNED[a.itemsize].type
    step = 4 * a.itemsize
    while step:
        # Of each pair of groups of `step` bits the lower one: 0x0F0F..., 0x3333..., 0x5555...
        low = type(((1 << 8 * a.itemsize) - 1) // ((1 << step) + 1))
        held = ((held >> type(step)) & low) | ((held & low) << type(step))
        step //= 2
    return signed(held)


def _highest(a: Array) -> Array:
    held, type = unsigned(a), UNSIGNED[a.itemsize].type
    step = 1
    while step < 8 * a.itemsize:
        held = held | (held >> type(step))
        step *= 2
    result: Array = _set_bits(signed(held)) - a.dtype.type(1)
    return result


def _lowest(a: Array) -> Array:
    below = (a & -a) - a.dtype.type(1)
    return np.where(a == 0, a.dtype.type(-1), _set_bits(below))


_UNARY: dict[str, Callable[[Array], Array]] = {
    "bit_count": _set_bits,
    "bit_reverse": _reversed,
    "highest_bit": _highest,
    "lowest_bit": _lowest,
}


@meaning(*DEVICE_LANGUAGE.family(BitUnary))
def unary(machine: Machine, op: BitUnary) -> None:
    """Compute from the bits of one integer."""
    machine.set(op.result, _UNARY[op.spec.mnemonic](machine.array(op.a)))


def _field(machine: Machine, op: BitFieldExtract | BitFieldInsert, width: int) -> tuple[Array, Array, Mask]:
    """Offset and number of bits of a field, which lies inside but for where the mask says, and is empty there."""
    offset, count = _count(machine, op.offset), _count(machine, op.count)
    outside = offset + count > width
    find_undefined(machine, op, findings.undefined_field(op, width), outside, op.count)
    return np.where(outside, 0, offset), np.where(outside, 0, count), outside


@meaning(*DEVICE_LANGUAGE.family(BitFieldExtract))
def extract(machine: Machine, op: BitFieldExtract) -> None:
    """Take a field out: to the upper end, where what is above it is lost, and down again."""
    base = machine.array(op.base)
    width = 8 * base.itemsize
    offset, count, _ = _field(machine, op, width)
    empty = count == 0
    up = np.where(empty, 0, width - count - offset).astype(base.dtype)
    down = np.where(empty, 0, width - count).astype(base.dtype)
    raised = np.left_shift(base, up)
    if op.spec.mnemonic.startswith("signed"):
        field = np.right_shift(raised, down)
    else:
        field = signed(np.right_shift(unsigned(raised), unsigned(down)))
    machine.set(op.result, np.where(empty, base.dtype.type(0), field))


@meaning(BitFieldInsert)
def insert(machine: Machine, op: BitFieldInsert) -> None:
    """Put a field in."""
    base, inserted = unsigned(machine.array(op.base)), unsigned(machine.array(op.insert))
    width = 8 * base.itemsize
    offset, count, _ = _field(machine, op, width)
    type = base.dtype.type
    offset = np.where(count == 0, 0, offset).astype(base.dtype)
    ones = np.right_shift(type((1 << width) - 1), np.where(count == 0, 0, width - count).astype(base.dtype))
    mask = np.where(count == 0, type(0), np.left_shift(ones, offset))
    machine.set(op.result, signed((base & ~mask) | (np.left_shift(inserted, offset) & mask)))
