"""Reductions of fragments (003 "Cooperative matrix reduce"), and combinations by a region (001 "coopMatReduceNV").

Each thread combines what it holds of a row or column, then threads combine theirs in pairs: of a group those that
differ in one bit of their number, for the other mode those of groups that do. The lower thread's is the first operand,
so that all have the same result. Of a mode that is dealt out to warps, each warp puts its combinations into shared
memory, and all combine those of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce as folded

from girih.back.llvm.emit.text import Val, floating, integer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix import regions as array_regions
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, Parts, matrix_type, together
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside, called
from girih.back.llvm.lower.one_lane.matrix.staging import SharedNumbers
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.exchange import through_arrays
from girih.back.llvm.nvptx.matrix.fragments import Fragments, fragments, in_registers, layout_of
from girih.back.llvm.nvptx.matrix.layout import GROUPS, THREADS, DealtMode
from girih.facts.accumulators import accumulator
from girih.ir.types import I32, CoopMatrix, Number
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixReduceAdd,
    CooperativeMatrixReduceMax,
    CooperativeMatrixReduceMin,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import Combined, CooperativeMatrixCombine, combined_columns

LOWERINGS = Lowerings[FragmentCode]()
"""The lowerings of this file."""

_OPERATORS: dict[type[Reduce], str] = {
    CooperativeMatrixReduceAdd: "add",
    CooperativeMatrixReduceMax: "max",
    CooperativeMatrixReduceMin: "min",
}

Pair = Callable[[Parts, Parts], Parts]


def combined(code: FragmentCode, mode: DealtMode, own: Sequence[Parts], pair: Pair, nothing: Parts | None) -> Parts:
    """The combination of all components of a line along a mode that a warp has, of which a thread has its `own`.

    What is padding counts as `nothing`.
    """
    w = code.w
    values = list(own)
    if nothing is not None:
        for number, parts in enumerate(values):
            exists = mode.exists(code, number)
            if exists is not None:
                values[number] = tuple(w.select(exists, a, b) for a, b in zip(parts, nothing, strict=True))
    while len(values) > 1:
        pairs = [pair(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = [*pairs, *values[2 * len(pairs) :]]
    (held,) = values
    if mode.shared:
        return held
    distance = 1 if mode.holders == THREADS else THREADS
    for _ in range(mode.holders.bit_length() - 1):
        theirs = tuple(code.across(part, distance) for part in held)
        upper = w.compare("ne", w.binary("and", code.lane, integer(distance, "i32")), integer(0, "i32"))
        low = tuple(w.select(upper, b, a) for a, b in zip(held, theirs, strict=True))
        high = tuple(w.select(upper, a, b) for a, b in zip(held, theirs, strict=True))
        held = pair(low, high)
        distance *= 2
    return held


def combined_of_warps(
    code: FragmentCode, mode: DealtMode, type: CoopMatrix, number: Number, lines: Sequence[Parts], pairs: Sequence[Pair]
) -> list[Parts]:
    """The combinations of lines, numbers of a type, along a mode of a matrix, from those that each warp has."""
    if mode.parts == 1:
        return list(lines)
    w, threads = code.w, GROUPS * THREADS * code.geometry.subgroups
    own = w.convert("trunc", code.thread, "i32")
    # The thread of the same lane in the warp that has the first part.
    distance = GROUPS * THREADS * mode.apart
    first_thread = w.sub(own, w.mul(mode.warp(code), integer(distance, "i32")))
    step = max(1, SharedNumbers.fitting(code, type, number) // threads)
    numbers = SharedNumbers(code, type, number, min(step, len(lines)) * threads)
    found: list[Parts] = []
    for first in range(0, len(lines), step):
        numbers.begin()
        some = range(first, min(len(lines), first + step))
        for line in some:
            numbers.put(w.add(own, integer((line - first) * threads, "i32")), lines[line])
        numbers.ready()
        for line in some:
            begin = w.add(first_thread, integer((line - first) * threads, "i32"))
            theirs = (numbers.get(w.add(begin, integer(part * distance, "i32"))) for part in range(mode.parts))
            found.append(folded(pairs[line], theirs))
        numbers.end()
    return found


def _lines(m: Fragments, code: FragmentCode, along_threads: bool) -> list[list[Parts]]:
    """The components of a thread, line by line along a mode."""
    parts, width = m.parts(code), m.layout.threads.count
    if along_threads:
        return [parts[first : first + width] for first in range(0, len(parts), width)]
    return [parts[first::width] for first in range(width)]


@LOWERINGS.of(*_OPERATORS)
def reduce(code: FragmentCode, op: Reduce) -> None:
    """The sum, maximum or minimum of each row or column; integers of less than 32 bits are added up in 32."""
    m, type = fragments(code, op.a), matrix_type(op.result)
    together(code, op, type)
    component, operator = type.component, _OPERATORS[op.__class__]
    total = accumulator(component) if operator == "add" else component
    if component.family == "integer" and component.size < I32.size:
        total = I32
    along_threads = op.along_row != m.layout.turned
    mode = m.layout.threads if along_threads else m.layout.groups

    def cast(parts: Parts, *, inwards: bool) -> Parts:
        source, target = (component, total) if inwards else (total, component)
        return casts.cast(code.w, code.features, source, target, parts)

    def pair(left: Parts, right: Parts) -> Parts:
        return arith.binary(code.w, code.features, operator, total, left, right)

    # Of a number and NaN, the number is the larger and the smaller one.
    nothing = arith.identity(operator, total, 1)
    if operator != "add" and total.family == "floating":
        nothing = floating(math.nan, nothing.type)
    held = []
    for line in _lines(m, code, along_threads):
        own = [cast(parts, inwards=True) for parts in line]
        held.append(combined(code, mode, own, pair, (nothing,)))
    found = combined_of_warps(code, mode, m.type, total, held, [pair] * len(held))
    code.set(op.result, in_registers(code, type, [cast(parts, inwards=False) for parts in found]))


@LOWERINGS.of(CooperativeMatrixCombine)
def combine(code: FragmentCode, op: CooperativeMatrixCombine) -> None:
    """Rows, columns or all of a matrix, combined by the region; blocks, and what is padded, go through arrays."""
    m, type = fragments(code, op.matrix), matrix_type(op.result)
    layout, wanted = m.layout, layout_of(code, type)
    padded = any(not mode.shared and mode.padded != mode.extent for mode in (layout.groups, layout.threads))
    along_threads = (op.along is Combined.ROW) != layout.turned
    kept = wanted.groups == layout.groups if along_threads else wanted.threads == layout.threads
    if padded or op.along is Combined.BLOCK or (op.along is not Combined.ALL and not kept):
        through_arrays(code, op, array_regions.combine)
        return
    together(code, op, type)
    columns = combined_columns(op.along, type)

    def pair_at(number: Val) -> Pair:
        def pair(left: Parts, right: Parts) -> Parts:
            held = uniform(type.component, *left), uniform(type.component, *right)
            return called(code, op.body, number, columns, zip((op.left, op.right), held, strict=True))

        return pair

    with agreed_outside(code, op, type):
        if op.along is Combined.ALL:
            pair = pair_at(integer(0, "i32"))
            rows = [combined(code, layout.threads, line, pair, None) for line in _lines(m, code, True)]
            rows = combined_of_warps(code, layout.threads, m.type, type.component, rows, [pair] * len(rows))
            one = [combined(code, layout.groups, rows, pair, None)]
            (held,) = combined_of_warps(code, layout.groups, m.type, type.component, one, [pair])
            code.set(op.result, EqualComponents(type, held))
            return
        mode = layout.threads if along_threads else layout.groups
        found, pairs = [], []
        for number, line in enumerate(_lines(m, code, along_threads)):
            at = layout.position(code, number * layout.threads.count if along_threads else number)
            pairs.append(pair_at(at.row if op.along is Combined.ROW else at.column))
            found.append(combined(code, mode, line, pairs[-1], None))
        found = combined_of_warps(code, mode, m.type, type.component, found, pairs)
    width = wanted.threads.count
    numbers = range(wanted.components)
    parts = [found[number // width if along_threads else number % width] for number in numbers]
    code.set(op.result, in_registers(code, type, parts))
