"""What shader code knows of numbers that are multiples: promises of parameters, and what follows from them."""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand, Val
from girih.back.spirv.code.recorder import Recorder

MOST = 2**20
"""No larger power of two is asked for."""

_DEPTH = 12
"""Operations that lie further behind a number are not looked at."""


def power_of_two_in(w: Recorder, number: Operand, depth: int = _DEPTH) -> int:
    """A power of two that divides an integer for certain, at most `MOST`; 1 where nothing is known."""
    literal = number if isinstance(number, int) else number.literal
    if literal is not None:
        return min(literal & -literal, MOST) if literal else MOST
    assert isinstance(number, Val)
    made = w.maker(number)
    if made is None or depth == 0:
        return 1
    known = [power_of_two_in(w, one, depth - 1) for one in made.operands if one.type != "i1"]
    match made.op:
        case "add" | "sub" | "or" | "select":
            return min(known)
        case "and":
            return max(known)
        case "mul":
            return min(known[0] * known[1], MOST)
        case "shl" if made.operands[1].literal is not None:
            return min(known[0] << made.operands[1].literal, MOST)
        case "sext" | "zext" | "trunc":
            return known[0]
        case _:
            return 1
