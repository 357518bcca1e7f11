"""Arithmetic and logic of integers (PTX ISA "Integer Arithmetic Instructions", "Logic and Shift Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Registers, Step
from tests.back.nvptx.ptx_machine.types import SIGNED, TYPES, UNSIGNED, Array, PtxType

INTEGERS = tuple(f"{kind}{bits}" for kind in "us" for bits in (16, 32, 64))
PAIRS = ("u16x2", "s16x2")
CARRIED = ("u32", "s32", "u64", "s64")
BITS = ("b16", "b32", "b64")
Operation = Callable[..., Array]


def of_bits(value: Array, type: PtxType) -> Array:
    return value.view(UNSIGNED[type.bits])


def simple(operation: Operation, count: int, *types: str) -> Callable[[Draft], Step]:
    """An instruction of so many operands of one type, which NumPy has."""

    def build(draft: Draft) -> Step:
        type = draft.type(*types)
        slot = draft.result(type)
        readers = [draft.value(type) for _ in range(count)]
        if count == 1:
            (one,) = readers
            return draft.pure(slot, lambda r: operation(one(r)).view(type.held))
        first, second = readers
        return draft.pure(slot, lambda r: operation(first(r), second(r)).view(type.held))

    return build


def added(draft: Draft) -> Step:
    """add and sub of integers, with `.sat` and `.cc`; addc and subc."""
    subtract, carried = draft.name.startswith("sub"), draft.name.endswith("c")
    saturates, out = bool(draft.taken("sat")), bool(draft.taken("cc"))
    type = draft.type(*(CARRIED if out or carried else (*INTEGERS, *PAIRS)))
    if saturates and type.name != "s32":
        raise draft.unknown(".sat is for .s32")
    slot = draft.result(type)
    a, b = draft.value(type), draft.value(type)
    operation: Operation = np.subtract if subtract else np.add
    if saturates:
        return draft.pure(slot, lambda r: _saturated(operation, a(r), b(r)))
    if out or carried:
        return _with_carry(draft, slot, type, a, b, out=out, carried=carried)
    operation = in_lanes(operation, type)
    return draft.pure(slot, lambda r: operation(a(r), b(r)).view(type.held))


def in_lanes(operation: Operation, type: PtxType) -> Operation:
    """An operation of two operands on each of the integers that lie in a register."""
    if type.lanes == 1:
        return operation
    each = SIGNED[16] if type.kind == "s" else UNSIGNED[16]

    def of(*operands: Array) -> Array:
        parts = [np.ascontiguousarray(one).view(each).reshape(-1, type.lanes) for one in operands]
        found: Array = operation(*parts)
        return found.reshape(-1).view(UNSIGNED[type.bits])

    return of


def _saturated(operation: Operation, a: Array, b: Array) -> Array:
    exact = operation(a.astype(np.int64), b.astype(np.int64))
    return np.clip(exact, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(np.uint32)


def _with_carry(draft: Draft, slot: int, type: PtxType, a: Reader, b: Reader, *, out: bool, carried: bool) -> Step:
    flag = draft.layout.flag()
    subtract = draft.name.startswith("sub")
    held = type.held.type

    def compute(r: Registers) -> tuple[Array, Array]:
        x, y = of_bits(a(r), type), of_bits(b(r), type)
        moved = r[flag].astype(type.held) if carried else held(0)
        if subtract:
            found = x - y - moved
            return found, (x < y) | ((x == y) & (moved != 0))
        found = x + y + moved
        return found, (found < x) | ((found == x) & (moved != 0) & (y != 0))

    return draft.several((slot, flag) if out else (slot,), compute)


def multiplied(draft: Draft) -> Step:
    """mul and mad of integers: `.lo`, `.hi`, `.wide`."""
    part = draft.expected("lo", "hi", "wide")
    saturates = draft.name == "mad" and bool(draft.taken("sat"))
    type = draft.type(*INTEGERS)
    if saturates and (part, type.name) != ("hi", "s32"):
        raise draft.unknown(".sat is for .hi.s32")
    result = type if part != "wide" else TYPES[f"{type.kind}{2 * type.bits}"] if type.bits < 64 else None
    if result is None:
        raise draft.unknown(".wide is for 16 and 32 bits")
    slot = draft.result(result)
    a, b = draft.value(type), draft.value(type)
    product: dict[str, Operation] = {
        "lo": np.multiply,
        "hi": high_part,
        "wide": lambda x, y: x.astype(result.array) * y.astype(result.array),
    }
    of = product[part]
    if draft.name == "mul":
        return draft.pure(slot, lambda r: of(a(r), b(r)).view(result.held))
    c = draft.value(result)
    if saturates:
        return draft.pure(slot, lambda r: _saturated(np.add, of(a(r), b(r)), c(r)))
    return draft.pure(slot, lambda r: (of(a(r), b(r)) + c(r)).view(result.held))


def high_part(a: Array, b: Array) -> Array:
    """The higher half of products."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return (a.astype(wide) * b.astype(wide) >> wide(bits)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    found = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        found = found - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    result: Array = found.view(a.dtype)
    return result


def divided(draft: Draft) -> Step:
    """div and rem of integers. By 0, of which nothing is promised, the quotient has all bits set; the rest is all."""
    type = draft.type(*INTEGERS)
    slot = draft.result(type)
    a, b = draft.value(type), draft.value(type)
    rest = draft.name == "rem"

    def compute(r: Registers) -> Array:
        x, y = np.broadcast_arrays(a(r), b(r))
        none = y == 0
        safe = np.where(none, y.dtype.type(1), y)
        if type.kind == "s":
            size = [np.abs(one).view(type.held) for one in (x, safe)]
            whole = size[0] // size[1]
            found = np.where((x < 0) != (safe < 0), -whole.view(type.array), whole.view(type.array))
        else:
            found = x // safe
        result: Array = np.where(none, x if rest else ~y, x - found * safe if rest else found).view(type.held)
        return result

    return draft.pure(slot, compute)


def shifted(draft: Draft) -> Step:
    """shl and shr: amounts beyond the width are the width."""
    left = draft.name == "shl"
    type = draft.type(*(BITS if left else (*BITS, *INTEGERS)))
    slot = draft.result(type)
    a, by = draft.value(type), draft.value(TYPES["u32"])
    most = np.uint32(type.bits - 1)

    def compute(r: Registers) -> Array:
        value, amount = a(r), by(r)
        inside = np.minimum(amount, most).astype(type.array)
        found = value << inside if left else value >> inside
        if (amount > most).any():
            beyond = value >> type.array.type(most) if type.kind == "s" else np.zeros_like(value)
            found = np.where(amount > most, beyond, found)
        result: Array = found.view(type.held)
        return result

    return draft.pure(slot, compute)


def funnel(draft: Draft) -> Step:
    """shf: 64 bits of two registers moved, of which 32 are kept."""
    left = draft.expected("l", "r") == "l"
    wraps = draft.expected("clamp", "wrap") == "wrap"
    type = draft.type("b32")
    slot = draft.result(type)
    low, high, by = draft.value(type), draft.value(type), draft.value(TYPES["u32"])

    def compute(r: Registers) -> Array:
        amount = by(r).astype(np.uint64)
        amount = amount & np.uint64(31) if wraps else np.minimum(amount, np.uint64(32))
        both = high(r).astype(np.uint64) << np.uint64(32) | low(r).astype(np.uint64)
        found = both << amount >> np.uint64(32) if left else both >> amount
        return (found & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return draft.pure(slot, compute)


def extracted(draft: Draft) -> Step:
    """bfe: bits from a place on, extended by the sign where there is one."""
    type = draft.type("u32", "s32", "u64", "s64")
    slot = draft.result(type)
    a, begin, count = draft.value(type), draft.value(TYPES["u32"]), draft.value(TYPES["u32"])
    wide, bits = type.held.type, type.bits

    def compute(r: Registers) -> Array:
        value = of_bits(a(r), type)
        first, length = (begin(r) & 0xFF).astype(np.int64), (count(r) & 0xFF).astype(np.int64)
        found = np.where(first < bits, value >> np.minimum(first, bits - 1).astype(type.held), wide(0))
        kept = _ones(np.minimum(length, bits), type)
        found = found & kept
        if type.kind == "s":
            last = np.minimum(first + length - 1, bits - 1).clip(0)
            sign = (value >> last.astype(type.held) & wide(1)) * (length > 0).astype(type.held)
            there = _ones(np.clip(np.minimum(length, bits - first), 0, bits), type)
            found = np.where(sign != 0, found | ~there, found)
        result: Array = found
        return result

    return draft.pure(slot, compute)


def _ones(count: Array, type: PtxType) -> Array:
    """So many ones in the lowest bits."""
    wide = type.held.type
    part = (wide(1) << np.minimum(count, type.bits - 1).astype(type.held)) - wide(1)
    result: Array = np.where(count >= type.bits, ~wide(0), part)
    return result


def inserted(draft: Draft) -> Step:
    """bfi: bits put in from a place on."""
    type = draft.type("b32", "b64")
    slot = draft.result(type)
    a, b = draft.value(type), draft.value(type)
    begin, count = draft.value(TYPES["u32"]), draft.value(TYPES["u32"])

    def compute(r: Registers) -> Array:
        first, length = (begin(r) & 0xFF).astype(np.int64), (count(r) & 0xFF).astype(np.int64)
        inside = np.minimum(first, type.bits - 1).astype(type.held)
        kept = np.where(first < type.bits, _ones(np.minimum(length, type.bits), type) << inside, type.held.type(0))
        result: Array = (b(r) & ~kept) | (a(r) << inside & kept)
        return result

    return draft.pure(slot, compute)


def counted(draft: Draft) -> Step:
    """popc, clz: a number of 32 bits."""
    type = draft.type("b32", "b64")
    slot = draft.result(TYPES["u32"])
    a = draft.value(type)
    if draft.name == "popc":
        return draft.pure(slot, lambda r: np.bitwise_count(a(r)).astype(np.uint32))
    return draft.pure(slot, lambda r: (type.bits - _length(a(r))).astype(np.uint32))


def _length(value: Array) -> Array:
    """The bits of integers without leading zeros."""
    found = np.zeros(value.shape, np.int64)
    rest = value.astype(np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        far = rest >> np.uint64(step) != 0
        found += np.where(far, step, 0)
        rest = np.where(far, rest >> np.uint64(step), rest)
    result: Array = found + (rest != 0)
    return result


def highest(draft: Draft) -> Step:
    """bfind: the place of the highest bit that is not the sign; all ones where there is none."""
    amount = bool(draft.taken("shiftamt"))
    type = draft.type("u32", "s32", "u64", "s64")
    slot = draft.result(TYPES["u32"])
    a = draft.value(type)

    def compute(r: Registers) -> Array:
        value = a(r)
        if type.kind == "s":
            value = np.where(value < 0, ~value, value)
        length = _length(of_bits(value, type))
        found = type.bits - length if amount else length - 1
        return np.where(length == 0, 0xFFFFFFFF, found).astype(np.uint32)

    return draft.pure(slot, compute)


def reversed_bits(draft: Draft) -> Step:
    """brev."""
    type = draft.type("b32", "b64")
    slot = draft.result(type)
    a = draft.value(type)

    def compute(r: Registers) -> Array:
        value = a(r).astype(np.uint64)
        found = np.zeros_like(value)
        for _ in range(type.bits):
            found = found << np.uint64(1) | value & np.uint64(1)
            value = value >> np.uint64(1)
        return found.astype(type.held)

    return draft.pure(slot, compute)


def permuted(draft: Draft) -> Step:
    """prmt: four bytes chosen out of eight, or their signs."""
    mode = draft.taken("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    if mode:
        raise draft.unknown(f"the mode .{mode} is not known")
    type = draft.type("b32")
    slot = draft.result(type)
    a, b, chosen = draft.value(type), draft.value(type), draft.value(type)

    def compute(r: Registers) -> Array:
        both = b(r).astype(np.uint64) << np.uint64(32) | a(r).astype(np.uint64)
        selector = chosen(r).astype(np.uint64)
        found: Array = np.zeros(1, np.uint64)
        for place in range(4):
            one = selector >> np.uint64(4 * place)
            byte = both >> (one & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
            sign = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            found = found | np.where(one & np.uint64(8), sign, byte) << np.uint64(8 * place)
        return found.astype(np.uint32)

    return draft.pure(slot, compute)


def by_table(draft: Draft) -> Step:
    """lop3: any function of three bits, which is given by its table."""
    type = draft.type("b32")
    slot = draft.result(type)
    a, b, c, table = (draft.value(type) for _ in range(4))

    def compute(r: Registers) -> Array:
        x, y, z, told = a(r), b(r), c(r), int(table(r)[0])
        found = np.zeros(np.broadcast_shapes(x.shape, y.shape, z.shape), np.uint32)
        for place in range(8):
            if told >> place & 1:
                found |= (x if place & 4 else ~x) & (y if place & 2 else ~y) & (z if place & 1 else ~z)
        return found

    return draft.pure(slot, compute)


def dot_of_bytes(draft: Draft) -> Step:
    """dp4a: products of four bytes added up."""
    left, right = draft.type("u32", "s32"), draft.type("u32", "s32")
    result = TYPES["s32" if "s" in (left.kind, right.kind) else "u32"]
    slot = draft.result(result)
    a, b, c = draft.value(left), draft.value(right), draft.value(result)

    def compute(r: Registers) -> Array:
        found = c(r).astype(np.int64)
        for place in range(4):
            found = found + _byte(a(r), place, left) * _byte(b(r), place, right)
        return (found & 0xFFFFFFFF).astype(np.uint32)

    return draft.pure(slot, compute)


def _byte(value: Array, place: int, type: PtxType) -> Array:
    byte = (of_bits(value, type) >> np.uint32(8 * place)).astype(np.uint8)
    return (byte.view(np.int8) if type.kind == "s" else byte).astype(np.int64)


def limited(draft: Draft) -> Step:
    """min and max of integers."""
    operation: Operation = np.minimum if draft.name == "min" else np.maximum
    relu = bool(draft.taken("relu"))
    type = draft.type(*(("s32",) if relu else (*INTEGERS, *PAIRS)))
    operation = in_lanes(operation, type)
    slot = draft.result(type)
    a, b = draft.value(type), draft.value(type)
    if relu:
        return draft.pure(slot, lambda r: np.maximum(operation(a(r), b(r)), np.int32(0)).view(np.uint32))
    return draft.pure(slot, lambda r: operation(a(r), b(r)).view(type.held))


SIGNED_TYPES = tuple(f"s{bits}" for bits in SIGNED if bits > 8)
