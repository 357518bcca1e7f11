"""The results of instructions with constant operands, or with an operand that alone decides the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from girih.back.llvm.emit.text import Val, bits, constant_vector, integer, lanes, scalar, wide

FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
COMMUTES = frozenset({"add", "mul", "and", "or", "xor", "fadd", "fmul"})
COMPARES: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


def folded(opcode: str, a: Val, b: Val) -> Val | None:
    """The result of an instruction that constant operands decide; None for any other, as without any constant."""
    fold = FOLDS.get(opcode)
    if fold is not None:
        x, y = a.literal, b.literal
        if x is not None and y is not None:
            return integer(fold(x, y), a.type)
        same = neutral(opcode, a, b, x, y)
        if same is not None:
            return same
    return combined(opcode, a, b)


def neutral(opcode: str, a: Val, b: Val, x: int | None, y: int | None) -> Val | None:
    """The result of an instruction of which one operand decides that it is the other, or itself; None otherwise."""
    zeros = (a.text == "zeroinitializer" or x == 0, b.text == "zeroinitializer" or y == 0)
    if opcode in ("add", "or", "xor") and zeros[0]:
        return b
    if opcode in ("add", "sub", "or", "xor") and zeros[1]:
        return a
    if opcode in ("mul", "and") and (zeros[0] or zeros[1]):
        return a if zeros[0] else b
    ones = (_ones(a, x, opcode), _ones(b, y, opcode))
    if opcode in ("mul", "and") and (ones[0] or ones[1]):
        return b if ones[0] else a
    return None


def _ones(a: Val, held: int | None, opcode: str) -> bool:
    if opcode == "mul":
        return held == 1 and bits(a.type) > 1
    return a.text == "splat (i1 true)" or (held == 1 and bits(a.type) == 1)


# --- constant vectors --------------------------------------------------------------------------


def lane_values(a: Val) -> tuple[int, ...] | None:
    """The elements of a constant vector of integers; None for any other value."""
    first = a.text[0]
    if first not in "<sz" or lanes(a.type) == 1 or scalar(a.type)[0] != "i":
        return None
    return _parsed(a.text, a.type)


@lru_cache(maxsize=1024)
def _parsed(text: str, type: str) -> tuple[int, ...] | None:
    if text == "zeroinitializer":
        return (0,) * lanes(type)
    if text.startswith("splat ("):
        return (_number(text[:-1]),) * lanes(type)
    return tuple(map(_number, text[1:-1].split(", "))) if text[0] == "<" else None


def _number(text: str) -> int:
    """The number at the end of a typed constant."""
    word = text.rsplit(" ", 1)[1]
    return int(word == "true") if word in ("true", "false") else int(word)


def vector(values: tuple[int, ...] | list[int], element: str) -> Val:
    """The constant vector of some integers; `element` is its element type."""
    if len(set(values)) == 1:
        return integer(values[0], wide(element, len(values)))
    return constant_vector(list(values), element)


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OF_VECTORS: dict[str, Callable[[int, int], int]] = {
    **FOLDS,
    "sdiv": _truncated,
    "srem": lambda a, b: a - _truncated(a, b) * b,
    "shl": lambda a, b: a << b,
    "ashr": lambda a, b: a >> b,
}


_OF_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "lshr": lambda a, b: a >> b,
    "udiv": lambda a, b: a // b,
    "urem": lambda a, b: a % b,
}
"""Instructions that take their operands as unsigned."""


def combined(opcode: str, a: Val, b: Val) -> Val | None:
    """The result of an instruction on constant vectors; None if an operand is not constant."""
    return _folded(opcode, lane_values(a), lane_values(b), a.type)


def combined_numbers(opcode: str, a: Val, b: Val) -> Val | None:
    """The result of an instruction on constant integers; None if an operand is not constant."""
    x, y = a.literal, b.literal
    return None if x is None or y is None else _folded(opcode, (x,), (y,), a.type)


def _folded(opcode: str, x: tuple[int, ...] | None, y: tuple[int, ...] | None, type: str) -> Val | None:
    unsigned = _OF_UNSIGNED.get(opcode)
    fold = unsigned or _OF_VECTORS.get(opcode)
    if fold is None or x is None or y is None:
        return None
    width = bits(type)
    if opcode in ("sdiv", "srem", "udiv", "urem") and 0 in y:
        return None
    if opcode in ("shl", "ashr", "lshr") and not all(0 <= n < width for n in y):
        return None
    if unsigned is not None:
        x, y = _unsigned(x, width), _unsigned(y, width)
    return vector([fold(p, q) for p, q in zip(x, y, strict=True)], scalar(type))


def _unsigned(values: tuple[int, ...], width: int) -> tuple[int, ...]:
    return tuple(n & (1 << width) - 1 for n in values)


def compared(predicate: str, a: Val, b: Val) -> Val | None:
    """The result of a comparison of constant vectors; None if an operand is not constant."""
    x, y = lane_values(a), lane_values(b)
    if x is None or y is None:
        return None
    if predicate in COMPARES:
        return vector([int(COMPARES[predicate](p, q)) for p, q in zip(x, y, strict=True)], "i1")
    mask = (1 << bits(a.type)) - 1
    signed = COMPARES["s" + predicate[1:]]
    return vector([int(signed(p & mask, q & mask)) for p, q in zip(x, y, strict=True)], "i1")


def converted(opcode: str, a: Val, type: str) -> Val | None:
    """A constant vector of integers, converted to another integer type; None for any other value."""
    held = lane_values(a) if opcode in ("sext", "trunc", "zext") else None
    if held is None:
        return None
    return vector(_unsigned(held, bits(a.type)) if opcode == "zext" else held, scalar(type))
