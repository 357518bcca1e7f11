"""Prints on the CPU: records in memory, from which the launch makes lines when it has ended.

Memory for prints begins with a header of `PRINT_HEADER_BYTES`, whose first word counts the records that were asked for;
the first `MOST_LINES` of them follow, each of the bytes of the longest (`girih.analysis.prints`). Threads write in any
order: a record tells its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.analysis.prints import HEADER_WORDS, MOST_LINES, PrintSite, prints_of, shown
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.states import InMemory, MatrixPiece, operand, read_tile, turned
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, lanes
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch.slots import PRINT_HEADER_BYTES
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


# --- records -----------------------------------------------------------------------------------


def _write(code: CpuCode, site: PrintSite, subgroup: Operand, lane: Operand, values: Sequence[Parts]) -> None:
    """Write a record, if there is room for one more."""
    w = code.w
    assert code.prints is not None
    assert code.print_step is not None
    place = w.effect("ptr", f"call ptr @{_room(code.module, 8 * prints_of(code.function).record_words)}({code.prints})")
    with w.when(w.compare("ne", w.convert("ptrtoint", place, "i64"), 0)):
        step = w.load("i64", code.print_step, 8)
        header = (integer(site.number), code.linear_group, step, w.value(subgroup), w.value(lane))
        types = [value.type for value in (*site.point, *site.op.values)]
        words = [_word(w, part, isinstance(type, Boolean)) for type, parts in zip(types, values, strict=True)
                 for part in parts]  # fmt: skip
        assert len(header) == HEADER_WORDS
        for number, word in enumerate((*header, *words)):
            w.store(word, w.at(place, 8 * number), 8)


def _word(w: Writer, part: Val, unsigned: bool) -> Val:
    """A part of a number in 8 bytes: an integer extended by its sign, the bits of an f64, or of an f32 with zeros."""
    if part.type == "double":
        return w.convert("bitcast", part, "i64")
    if part.type == "float":
        return w.convert("zext", w.convert("bitcast", part, "i32"), "i64")
    return w.convert("zext" if unsigned else "sext", part, "i64")


def _room(module: ModuleText, record_bytes: int) -> str:
    """The name of the function that gives the address of a new record, null where there is no room."""
    name = "girih.print"
    if name in module.helpers:
        return name
    module.helpers.add(name)
    w = Writer(module, f"define internal ptr @{name}(ptr %prints) noinline cold nounwind")
    prints = Val("%prints", "ptr")
    number = w.atomic_update("add", prints, integer(1), 8)
    place = w.at(prints, w.add(w.mul(number, record_bytes), PRINT_HEADER_BYTES))
    w.ret(w.select(w.compare("ult", number, MOST_LINES), place, Val("null", "ptr")))
    w.finish()
    return name
