"""Tiles of memrefs over bytes, whose shape says less than the memory behind them: every byte must be there."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.numbers.values import BytesHeld, index
from girih.ir.core import Op


def check_bytes(
    code: CpuCode, op: Op, memref: BytesHeld, start: Val, steps: Sequence[Operand], ranges: Sequence[tuple[Val, Val]]
) -> None:
    """Find elements of a tile outside of the memory, the first one row by row.

    Element (row, column) lies at `start` + row * steps[0] + column * steps[1] bytes of the memref; the rows and columns
    in `ranges`, each with its first and its end, are accessed.
    """
    w, size = code.w, memref.element.size
    if not code.checks:
        return
    low = high = w.add(memref.begin, start)
    for step, (first, end) in zip(steps, ranges, strict=True):
        near, far = w.mul(first, step), w.mul(w.sub(end, 1), step)
        low, high = w.add(low, w.smaller(near, far)), w.add(high, w.larger(near, far))
    behind = w.compare("sgt", high, w.sub(memref.extent, size))
    bad = w.binary("or", w.compare("slt", low, 0), behind)
    for first, end in ranges:
        bad = w.binary("and", bad, w.compare("slt", first, end))
    w.unlikely(bad, lambda: _report(code, op, memref, start, steps, ranges))


def _report(
    code: CpuCode, op: Op, memref: BytesHeld, start: Val, steps: Sequence[Operand], ranges: Sequence[tuple[Val, Val]]
) -> None:
    from girih.facts.memory import bytes_outside

    w, size = code.w, memref.element.size
    (row, last_row), (column, last_column) = ranges
    place = w.add(memref.begin, start)
    with w.loop(row, last_row, 1, [integer(0, "i1"), integer(0)]) as rows:
        with w.loop(column, last_column, 1, rows.values) as columns:
            known, byte = columns.values
            here = w.add(w.add(place, w.mul(rows.index, steps[0])), w.mul(columns.index, steps[1]))
            outside = w.binary("or", w.compare("slt", here, 0), w.compare("sgt", here, w.sub(memref.extent, size)))
            columns.following = [w.binary("or", known, outside), w.select(known, byte, w.select(outside, here, byte))]
        rows.following = columns.results
    words = bytes_outside(op, size, memref.name)
    code.check(op, integer(1, "i1"), words, argument=memref.name, index=(index(rows.results[1]),),
               shape=(index(memref.extent),), by_lane=False)  # fmt: skip
    w.unreachable()
