"""Prints on the CPU: records in memory, from which the launch makes lines when it has ended."""

from __future__ import annotations

from collections.abc import Sequence

from girih.analysis.prints import HEADER_WORDS, PrintSite, prints_of, shown
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.states import InMemory, MatrixPiece, operand, read_tile, turned
from girih.back.llvm.emit.text import Operand, Val, lanes
from girih.back.llvm.lower.launch.prints import printed_record, record_word, write_header
from girih.back.llvm.lower.lowerings import Lowerings
from girih.ir.core import Value
from girih.ir.types import Boolean, CoopMatrix
from girih.ops.tile.control import Print

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

Parts = tuple[Val, ...]


@LOWERINGS.of(Print)
def print_(code: CpuCode, op: Print) -> None:
    """Write a record for each line."""
    site = prints_of(code.function).sites[op]
    if site.matrices:
        _with_matrices(code, site)
    elif site.around is None:
        shared = [code.agreed(op, f"%{value.name}", code.scalar(value)) for value in op.values]
        _write(code, site, 0, 0, shared)
    else:
        _by_lanes(code, site)


def _with_matrices(code: CpuCode, site: PrintSite) -> None:
    """One record for the subgroup, or, of matrices that the work-group holds, for the first one."""
    op, w = site.op, code.w
    together(code, op)
    shared = [_parts_of(code, op, value) for value in (*site.point, *op.values)]
    if site.of_work_group:
        with w.when(w.compare("eq", code.place.subgroup, 0)):
            _write(code, site, 0, 0, shared)
    else:
        _write(code, site, code.place.subgroup, 0, shared)


def _parts_of(code: CpuCode, op: Print, value: Value) -> Parts:
    """The parts of a number that the subgroup shares, or those of the components of a matrix that are shown."""
    if not isinstance(value.type, CoopMatrix):
        return code.agreed(op, f"%{value.name}", code.scalar(value))
    tile = to_tile(code, operand(code, value))
    rows, columns = (shown(n) for n in tile.type.shape)
    return tuple(part for i in rows for j in columns for part in _component(code, tile, i, j))


def _component(code: CpuCode, tile: InMemory, row: int, column: int) -> Parts:
    line, start = (row, column) if turned(tile.type) else (column, row)
    return read_tile(code, tile, MatrixPiece(line, start, 1))


def _by_lanes(code: CpuCode, site: PrintSite) -> None:
    """A record for each active work-item, lane after lane."""
    w = code.w
    values = [_in_lanes(code, value) for value in (*site.point, *site.op.values)]
    with w.loop(0, code.lanes) as loop:

        def one() -> None:
            picked = [tuple(w.extract(p, loop.index) if lanes(p.type) > 1 else p for p in parts) for parts in values]
            _write(code, site, code.place.subgroup, loop.index, picked)

        if code.mask is None:
            one()
        else:
            with w.when(w.extract(code.mask, loop.index)):
                one()


def _in_lanes(code: CpuCode, value: Value) -> Parts:
    held = code.scalar(value)
    return held.parts if held.uniform else code.vector(held)


def _write(code: CpuCode, site: PrintSite, subgroup: Operand, lane: Operand, values: Sequence[Parts]) -> None:
    """Write a record, if there is room for one more."""
    w = code.w
    assert code.prints is not None
    assert code.print_step is not None
    with printed_record(w, code.prints, prints_of(code.function)) as place:
        step = w.load("i64", code.print_step, 8)
        write_header(w, place, site, (code.linear_group, step, w.value(subgroup), w.value(lane)))
        types = [value.type for value in (*site.point, *site.op.values)]
        words = [record_word(w, part, isinstance(type, Boolean))
                 for type, parts in zip(types, values, strict=True) for part in parts]  # fmt: skip
        for number, word in enumerate(words, HEADER_WORDS):
            w.store(word, w.at(place, 8 * number), 8)
