"""Intervals of integers: what the result of an operation may be, of what its operands may be.

An interval is the smallest and the largest number that an integer of its type, taken as signed, may be. A condition,
an i1, is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import bits
from girih.back.spirv.code.types import is_opaque

Interval = tuple[int, int]

CONDITION: Interval = (0, 1)
HALF_RANGE: Interval = (-65504, 65504)
"""What a finite f16 converts to."""

_LIMITS: dict[str, Interval] = {"i1": CONDITION}


def limits(type: str) -> Interval:
    """All numbers of a type; 0 alone for one that has none, such as a matrix."""
    known = _LIMITS.get(type)
    if known is None and is_opaque(type):
        known = _LIMITS[type] = (0, 0)
    if known is None:
        half = 1 << bits(type) - 1
        known = _LIMITS[type] = (-half, half - 1)
    return known


def within(inner: Interval, outer: Interval) -> bool:
    """Whether all of an interval lies in another."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def hull(a: Interval, b: Interval) -> Interval:
    """The smallest interval with all of two."""
    return min(a[0], b[0]), max(a[1], b[1])


def _corners(a: Interval, b: Interval, of: Callable[[int, int], int]) -> Interval:
    values = (of(a[0], b[0]), of(a[0], b[1]), of(a[1], b[0]), of(a[1], b[1]))
    return min(values), max(values)


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _signed_width(*numbers: int) -> int:
    """The bits beside the sign that hold some numbers."""
    return max((n if n >= 0 else ~n).bit_length() for n in numbers)


def _unsigned(a: Interval, width: int) -> Interval:
    """An interval of the numbers taken as unsigned."""
    if a[0] >= 0:
        return a
    return (a[0] + (1 << width), a[1] + (1 << width)) if a[1] < 0 else (0, (1 << width) - 1)


def _signed(a: Interval, width: int) -> Interval | None:
    """An interval of numbers taken as unsigned, as signed ones; None where they are all over the type."""
    half = 1 << width - 1
    if a[1] < half:
        return a
    return (a[0] - 2 * half, a[1] - 2 * half) if a[0] >= half else None


def _amounts(b: Interval, width: int) -> Interval:
    return min(max(b[0], 0), width - 1), max(min(b[1], width - 1), 0)


def _and(a: Interval, b: Interval, width: int) -> Interval | None:
    highest = [one[1] for one in (a, b) if one[0] >= 0]
    if highest:
        return 0, min(highest)
    held = _signed_width(*a, *b)
    return -(1 << held), (1 << held) - 1


def _or(a: Interval, b: Interval, width: int) -> Interval | None:
    held = _signed_width(*a, *b)
    if a[0] >= 0 and b[0] >= 0:
        return max(a[0], b[0]), (1 << held) - 1
    return -(1 << held), (1 << held) - 1


def _xor(a: Interval, b: Interval, width: int) -> Interval | None:
    held = _signed_width(*a, *b)
    return (0 if a[0] >= 0 and b[0] >= 0 else -(1 << held)), (1 << held) - 1


def _shl(a: Interval, b: Interval, width: int) -> Interval | None:
    return _corners(a, _amounts(b, width), lambda x, n: x << n)


def _ashr(a: Interval, b: Interval, width: int) -> Interval | None:
    return _corners(a, _amounts(b, width), lambda x, n: x >> n)


def _lshr(a: Interval, b: Interval, width: int) -> Interval | None:
    amount = _amounts(b, width)
    return _signed(_corners(_unsigned(a, width), amount, lambda x, n: x >> n), width)


def _divisors(b: Interval) -> list[int]:
    """The ends of the parts of an interval without 0."""
    ends = [n for n in b if n]
    return ends + [n for n in (-1, 1) if b[0] <= n <= b[1]]


def _sdiv(a: Interval, b: Interval, width: int) -> Interval | None:
    values = [_truncated(x, y) for x in a for y in _divisors(b)]
    return (min(values), max(values)) if values else None


def _udiv(a: Interval, b: Interval, width: int) -> Interval | None:
    a, b = _unsigned(a, width), _unsigned(b, width)
    return _signed((a[0] // max(b[1], 1), a[1] // max(b[0], 1)), width)


def _srem(a: Interval, b: Interval, width: int) -> Interval | None:
    most = max(abs(b[0]), abs(b[1]))
    if b[0] > 0 and max(-a[0], a[1]) < b[0]:
        return a
    low = max(a[0], 1 - most) if a[0] < 0 else 0
    high = min(a[1], most - 1) if a[1] > 0 else 0
    return min(low, 0), max(high, 0)


def _urem(a: Interval, b: Interval, width: int) -> Interval | None:
    a, b = _unsigned(a, width), _unsigned(b, width)
    return _signed(a if a[1] < b[0] else (0, max(min(a[1], b[1] - 1), 0)), width)


def _umin(a: Interval, b: Interval, width: int) -> Interval | None:
    a, b = _unsigned(a, width), _unsigned(b, width)
    return _signed((min(a[0], b[0]), min(a[1], b[1])), width)


def _umax(a: Interval, b: Interval, width: int) -> Interval | None:
    a, b = _unsigned(a, width), _unsigned(b, width)
    return _signed((max(a[0], b[0]), max(a[1], b[1])), width)


_BINARY: dict[str, Callable[[Interval, Interval, int], Interval | None]] = {
    "add": lambda a, b, _: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b, _: (a[0] - b[1], a[1] - b[0]),
    "mul": lambda a, b, _: _corners(a, b, lambda x, y: x * y),
    "and": _and,
    "or": _or,
    "xor": _xor,
    "shl": _shl,
    "lshr": _lshr,
    "ashr": _ashr,
    "sdiv": _sdiv,
    "udiv": _udiv,
    "srem": _srem,
    "urem": _urem,
    "smin": lambda a, b, _: (min(a[0], b[0]), min(a[1], b[1])),
    "smax": lambda a, b, _: (max(a[0], b[0]), max(a[1], b[1])),
    "umin": _umin,
    "umax": _umax,
}
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def unbounded(op: str, a: Interval, b: Interval, type: str) -> Interval | None:
    """The results of an operation with two operands of a type as mathematics has them, which may not fit the type.

    None where the operation is unknown, or nothing is known of its result.
    """
    if op in _BITWISE and a[0] == a[1] and b[0] == b[1]:
        exact = _BITWISE[op](a[0], b[0])
        return exact, exact
    of = _BINARY.get(op)
    return of(a, b, bits(type)) if of is not None else None


def binary(op: str, a: Interval, b: Interval, type: str) -> Interval:
    """The interval of the result of an operation with two operands of a type."""
    known, all_numbers = unbounded(op, a, b, type), limits(type)
    if known is None:
        return all_numbers
    if within(known, all_numbers):
        return known
    return wrapped(known, type)


def wrapped(a: Interval, type: str) -> Interval:
    """The numbers of a type that are left of numbers when higher bits are cut."""
    if type == "i1":
        return (a[0] & 1, a[0] & 1) if a[0] == a[1] else CONDITION
    width, (low, high) = bits(type), limits(type)
    moved = (a[0] - low >> width) << width
    return (a[0] - moved, a[1] - moved) if a[1] - moved <= high else (low, high)


def converted(op: str, a: Interval, source: str, type: str) -> Interval:
    """The interval of a converted integer: `trunc`, `zext` or `sext`."""
    match op:
        case "trunc":
            return wrapped(a, type)
        case "zext":
            return a if source == "i1" else _unsigned(a, bits(source))
        case _:
            return (-a[1], -a[0]) if source == "i1" else a


def counted(type: str) -> Interval:
    """The results of counting bits of a type."""
    return wrapped((0, bits(type)), type)


_OPPOSITE = {"eq": "ne", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt"}
_OPPOSITE |= {"ne": "eq", "ult": "uge", "uge": "ult", "ugt": "ule", "ule": "ugt"}
_TURNED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}


def compared(op: str, a: Interval, b: Interval, type: str) -> Interval:
    """What a comparison of integers may give."""
    if op in ("eq", "ne"):
        if a[1] < b[0] or b[1] < a[0]:
            return (0, 0) if op == "eq" else (1, 1)
        same = a == b and a[0] == a[1]
        return CONDITION if not same else ((1, 1) if op == "eq" else (0, 0))
    if op in _TURNED:
        op, a, b = _TURNED[op], b, a
    if op[0] == "u":
        a, b = _unsigned(a, bits(type)), _unsigned(b, bits(type))
    least = 1 if op.endswith("lt") else 0
    if a[1] + least <= b[0]:
        return 1, 1
    return (0, 0) if a[0] + least > b[1] else CONDITION


def refined(op: str, holds: bool, a: Interval, b: Interval) -> tuple[Interval, Interval]:
    """What two integers may be where a comparison of them is known to hold, or not to; empty if it cannot be so."""
    op = op if holds else _OPPOSITE[op]
    if op in _TURNED:
        second, first = refined(_TURNED[op], True, b, a)
        return first, second
    match op:
        case "eq":
            met = max(a[0], b[0]), min(a[1], b[1])
            return met, met
        case "ne":
            return _without(a, b), _without(b, a)
        case "slt" | "sle":
            least = 1 if op == "slt" else 0
            return (a[0], min(a[1], b[1] - least)), (max(b[0], a[0] + least), b[1])
        case _ if b[0] >= 0:
            least = 1 if op == "ult" else 0
            return (max(a[0], 0), min(a[1], b[1] - least)), (max(b[0], least), b[1])
        case _:
            return a, b


def _without(a: Interval, b: Interval) -> Interval:
    if b[0] != b[1]:
        return a
    return a[0] + (a[0] == b[0]), a[1] - (a[1] == b[0])
