"""The innermost part of matrix products: a block of accumulators in registers, summed over the depth.

Nothing here knows where the factors come from: whoever calls says how to load a column of one and an element of the
other. The loop over the depth is unrolled by a few steps and never fully where it is long: long straight code was
measured to run at a third of the speed and to take 60 times longer to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.target import CpuTarget
from girih.back.llvm.text import Operand, Val, lanes, scalar
from girih.back.llvm.writer import Writer

Block = list[list[Val]]
"""Accumulators by column, then by row vector."""

Step = Callable[[Operand, int, Sequence[Val]], list[Val]]
"""What a step of the depth does: from its position, as a base and a distance, and the values, to the next values."""

_REST = 32
"""How many products may follow a loop: more are a loop of their own."""

_STRAIGHT = 192
"""How many products may stand in a row without a loop."""


def most_accumulators(target: CpuTarget) -> int:
    """How many full vectors may be accumulated at once: the rest of the registers is for the factors."""
    return 24 if target.registers >= 32 else 12


def product_block(
    w: Writer,
    rows: int,
    columns: int,
    depth: Operand,
    load_a: Callable[[Operand], Sequence[Val]],
    load_b: Callable[[Operand, int], Val],
    initial: Sequence[Sequence[Val]],
    unroll: int = 4,
) -> Block:
    """initial[j][i] + the sum over k of load_a(k)[i] * load_b(k, j), by column j and row vector i.

    `load_a(k)` gives `rows` vectors, `load_b(k, j)` a scalar, which multiplies all of them, or a vector. Products are
    fused with the sums; integers wrap around. At most `most_accumulators` of rows * columns full vectors fit.
    """

    def step(base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
        k = w.add(base, distance)
        a = load_a(k)
        return multiply_add(w, a, [load_b(k, j) for j in range(columns)], values)

    flat = accumulate(w, depth, [one for column in initial for one in column], step, rows * columns, unroll)
    return [flat[j * rows : (j + 1) * rows] for j in range(columns)]


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
    w: Writer, depth: Operand, initial: Sequence[Val], step: Step, weight: int = 1, unroll: int = 4
) -> list[Val]:
    """The values after `depth` steps of `weight` products each: a loop of a few steps at once, and the rest."""
    values = list(initial)
    count = depth if isinstance(depth, int) else depth.literal
    if count is not None and (count <= unroll or count * weight <= _STRAIGHT):
        for position in range(count):
            values = step(0, position, values)
        return values
    whole: Operand = w.binary("and", depth, -unroll) if count is None else count - count % unroll
    with w.loop(0, whole, unroll, values) as loop:
        following: Sequence[Val] = loop.values
        for distance in range(unroll):
            following = step(loop.index, distance, following)
        loop.following = following
    values = list(loop.results)
    if count is not None and count % unroll * weight <= _REST:
        for position in range(count - count % unroll, count):
            values = step(0, position, values)
        return values
    with w.loop(whole, depth, 1, values) as rest:
        rest.following = step(rest.index, 0, rest.values)
    return list(rest.results)
