"""The innermost part of matrix products: a block of accumulators in registers, summed over the depth.

Nothing here knows where the factors come from: whoever calls says how to load a column of one and an element of the
other. Where many sums are kept, the loop over the depth has one step at a time: of several, LLVM would load the factors
first and spill the sums, and the processor loads ahead anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import Operand, Val, lanes, scalar, zero
from girih.back.llvm.emit.writer import Writer

Step = Callable[[Operand, int, Sequence[Val]], list[Val]]
"""What a step of the depth does: from its position, as a base and a distance, and the values, to the next values."""

_REST = 32
"""How many products may follow a loop: more are a loop of their own."""

_AT_ONCE = 16
"""How many products a round of the loop has, if a step has fewer."""

_LATENCY = 4
"""How many cycles a multiply-add takes: on the processors of the table of descriptions, four or nearly so."""

_STRAIGHT = 192
"""How many products may stand in a row without a loop."""


def most_accumulators(target: CpuTarget) -> int:
    """How many full vectors may be accumulated at once: the rest of the registers is for the factors."""
    return 24 if target.registers >= 32 else 12


def in_flight(target: CpuTarget) -> int:
    """How many products of full vectors a processor computes at the same time."""
    return _LATENCY * target.machine.multiply_adds


def multiply_add(w: Writer, a: Sequence[Val], b: Sequence[Val], values: Sequence[Val]) -> list[Val]:
    """values + a b, column by column; the elements of b multiply whole vectors of a."""
    found = []
    for j, factor in enumerate(b):
        for i, vector in enumerate(a):
            held = values[j * len(a) + i]
            found.append(fused(w, vector, w.splat(factor, lanes(vector.type)), held))
    return found


def fused(w: Writer, a: Val, b: Val, c: Val) -> Val:
    """a b + c, rounded once; integers wrap around."""
    if scalar(c.type)[0] == "i":
        return w.add(w.mul(a, b), c)
    return w.fma(a, b, c)


def accumulate(
    w: Writer, depth: Operand, initial: Sequence[Val], step: Step, weight: int = 1, *, together: int = 1
) -> list[Val]:
    """The values after `depth` steps of `weight` products each: in a loop, of a few at once if these are small.

    Values may be sums of several, which start at zero, so that up to `together` products do not wait for one another.
    """
    values = list(initial)
    unroll = 1 << max(_AT_ONCE // weight, 1).bit_length() - 1
    count = depth if isinstance(depth, int) else depth.literal
    if count is not None and count * weight <= _STRAIGHT:
        for position in range(count):
            values = step(0, position, values)
        return values
    whole = depth
    if unroll > 1:
        whole = w.binary("and", depth, -unroll) if count is None else count - count % unroll
    number = min(max(together // weight, 1), unroll)
    start = values + [zero(held.type) for _ in range(number - 1) for held in values]
    with w.loop(0, whole, unroll, start) as loop:
        following = _chains(loop.values, number)
        for distance in range(unroll):
            following[distance % number] = step(loop.index, distance, following[distance % number])
        loop.following = [held for chain in following for held in chain]
    values = [_sum(w, held) for held in zip(*_chains(loop.results, number), strict=True)]
    if unroll == 1:
        return values
    if count is not None and count % unroll * weight <= _REST:
        for position in range(count - count % unroll, count):
            values = step(0, position, values)
        return values
    with w.loop(whole, depth, 1, values) as rest:
        rest.following = step(rest.index, 0, rest.values)
    return list(rest.results)


def _chains(values: Sequence[Val], number: int) -> list[list[Val]]:
    """Values, chain by chain."""
    size = len(values) // number
    return [list(values[k * size : (k + 1) * size]) for k in range(number)]


def _sum(w: Writer, held: Sequence[Val]) -> Val:
    """The sum of a value's chains, in pairs."""
    if len(held) == 1:
        return held[0]
    half = len(held) // 2
    opcode = "add" if scalar(held[0].type)[0] == "i" else "fadd"
    return w.binary(opcode, _sum(w, held[:half]), _sum(w, held[half:]))
