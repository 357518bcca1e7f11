"""What instructions give whose operands are constants, or where one operand decides alone."""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.text import Val, bits

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


def neutral(opcode: str, a: Val, b: Val, x: int | None, y: int | None) -> Val | None:
    """The result where one operand makes the other, or itself, the result."""
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
