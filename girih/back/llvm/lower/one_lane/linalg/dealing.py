"""How the elements that a collective instruction computes go to the threads of a work-group.

Neighbouring threads get neighbours along the first mode, whose elements lie closest to each other in memory, so that
what a subgroup reads and writes at once lies together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.one_lane.code import OneLaneCode

Body = Callable[[Sequence[Operand]], None]
"""What is done for a point, which has an index for each mode."""


def thread_count(code: OneLaneCode) -> int:
    """How many work-items execute the function."""
    return code.geometry.subgroups * code.geometry.subgroup_size


def deal(code: OneLaneCode, sizes: Sequence[Operand], body: Body, *, to_subgroups: bool = False) -> None:
    """Write a loop over the points of a box, one thread's after the other, that starts with the thread's number.

    Where points go `to_subgroups`, all work-items of a subgroup execute the body for the same points. A box without
    modes has one point.
    """
    w = code.w
    number = code.subgroup if to_subgroups else code.thread
    count = code.geometry.subgroups if to_subgroups else thread_count(code)
    total: Operand = 1
    for size in sizes:
        total = w.mul(total, size) if isinstance(total, Val) or isinstance(size, Val) else total * size
    if len(sizes) < 2:
        with w.loop(number, total, count, saturate=True) as loop:
            body([loop.index][: len(sizes)])
        return
    digits = _digits(w, number, count, sizes)
    steps = _digits(w, integer(count), count + 1, sizes)
    with w.loop(number, total, count, digits, saturate=True) as loop:
        body(loop.values)
        loop.following = _sum(w, loop.values, steps, sizes)


def _digits(w: Writer, number: Val, above: int, sizes: Sequence[Operand]) -> list[Val]:
    """A number below `above` as an index in a box, of which the last may be outside."""
    digits: list[Val] = []
    for size in sizes[:-1]:
        if isinstance(size, int) and size >= above:
            digits.append(number)
            number, above = integer(0), 1
            continue
        divisor = w.larger(size, 1)
        digits.append(_folded(w, "urem", number, divisor))
        number = _folded(w, "udiv", number, divisor)
        above = -(-above // max(1, size)) if isinstance(size, int) else above
    return [*digits, number]


def _folded(w: Writer, opcode: str, a: Val, b: Val) -> Val:
    x, y = a.literal, b.literal
    if x is None or y is None:
        return w.binary(opcode, a, b)
    return integer(x % y if opcode == "urem" else x // y)


def _sum(w: Writer, a: Sequence[Val], b: Sequence[Val], sizes: Sequence[Operand]) -> list[Val]:
    """The sum of two indices in a box, digit by digit with carries: cheaper than to divide anew for each point."""
    digits: list[Val] = []
    carry = integer(0)
    for x, y, size in zip(a, b, sizes[:-1], strict=False):
        if y.literal == 0 and carry.literal == 0:
            digits.append(x)
            continue
        held = w.add(w.add(x, y), carry)
        over = w.compare("sge", held, size)
        digits.append(w.select(over, w.sub(held, size), held))
        carry = w.convert("zext", over, "i64")
    return [*digits, w.add(w.add(a[-1], b[-1]), carry)]
