"""Prints on a GPU: records in memory, of which the launch makes lines when it has ended (`lower/launch/prints.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from girih.analysis.prints import HEADER_WORDS, PrintSite, prints_of, shown, words_of
from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.launch.prints import new_record, printed_record, record_word, write_header
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.held import Matrix, OwnMatrix, Parts, components, each, read, together
from girih.back.llvm.lower.one_lane.matrix.held import matrix as operand
from girih.back.llvm.lower.one_lane.matrix.layout import holder, position
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.matrix.exchange import through_arrays
from girih.ir.core import Value
from girih.ir.types import Boolean, CoopMatrix
from girih.ops.tile.control import Print

LOWERINGS = Lowerings[CudaCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Print)
def print_(code: CudaCode, op: Print) -> None:
    """Write a record for each line."""
    site = prints_of(code.function).sites[op]
    if any(isinstance(code.env[value], OwnMatrix) for value in op.values):
        through_arrays(code, op, lambda *_: _with_matrices(code, site))
    elif site.matrices:
        _with_matrices(code, site)
    elif site.around is None:
        values = [code.agreed(op, f"%{value.name}", code.scalar(value)) for value in op.values]
        with code.w.when(code.w.compare("eq", code.thread, 0)):
            _write(code, site, 0, 0, values)
    else:
        lane = code.w.convert("zext", code.lane, "i64")
        _write(code, site, code.subgroup, lane, [code.scalar(v).parts for v in (*site.point, *op.values)])


def _write(code: CudaCode, site: PrintSite, subgroup: Operand, lane: Operand, values: Sequence[Parts]) -> None:
    w = code.w
    assert code.prints is not None
    with printed_record(w, code.prints, prints_of(code.function)) as place:
        write_header(w, place, site, _where(code, subgroup, lane))
        _store(code, place, HEADER_WORDS, [*site.point, *site.op.values], values)


def _where(code: CudaCode, subgroup: Operand, lane: Operand) -> tuple[Val, ...]:
    assert code.print_step is not None
    step = code.w.load("i64", code.print_step, 8)
    return code.linear_group(), step, code.w.value(subgroup), code.w.value(lane)


def _store(code: CudaCode, place: Val, first: int, values: Sequence[Value], parts: Sequence[Parts]) -> None:
    w, number = code.w, first
    for value, some in zip(values, parts, strict=True):
        for part in some:
            w.store(record_word(w, part, isinstance(value.type, Boolean)), w.at(place, 8 * number), 8)
            number += 1


def _with_matrices(code: CudaCode, site: PrintSite) -> None:
    """One record of the subgroup, or of the work-group that holds a matrix: all who hold components fill it."""
    op, w, memory = site.op, code.w, code.prints
    assert memory is not None
    for type in site.matrices:
        together(code, op, type)
    first = code.thread if site.of_work_group else w.convert("zext", code.lane, "i64")
    leads = w.compare("eq", first, 0)
    kernel = prints_of(code.function)
    (made,) = w.either(leads, lambda: [new_record(w, memory, kernel)], lambda: [zero("ptr")])
    address = code.exchanged(w.convert("ptrtoint", made, "i64"), integer(0, "i32"), work_group=site.of_work_group)
    with w.when(w.compare("ne", address, 0)):
        place = w.effect("ptr", f"inttoptr {address} to ptr")
        with w.when(leads):
            write_header(w, place, site, _where(code, 0 if site.of_work_group else code.subgroup, 0))
        word = HEADER_WORDS
        for value in (*site.point, *op.values):
            if isinstance(value.type, CoopMatrix):
                _matrix(code, place, word, value.type, operand(code, value))
            else:
                parts = code.agreed(op, f"%{value.name}", code.scalar(value))
                with w.when(leads):
                    _store(code, place, word, [value], [parts])
            word += words_of(value.type)


def _matrix(code: CudaCode, place: Val, first: int, type: CoopMatrix, held: Matrix) -> None:
    """Store the components that are shown and that the work-item holds."""
    w = code.w
    rows, columns = (shown(n) for n in type.shape)
    own = w.compare("ult", holder(code, type), integer(type.rows * type.columns, "i32"))

    def put(component: Val) -> None:
        at = position(code, type, component)
        row, row_shown = _shown(code, at.row, type.rows, rows)
        column, column_shown = _shown(code, at.column, type.columns, columns)
        there = w.both(w.both(w.both(row_shown, column_shown), at.exists), own)
        parts = read(code, held, component)
        number = w.add(w.mul(row, integer(len(columns), "i32")), column)
        number = w.add(w.mul(number, integer(len(parts), "i32")), integer(first, "i32"))
        begin = w.at(place, w.mul(w.convert("zext", number, "i64"), 8))
        assert there is not None
        with w.when(there):
            for k, part in enumerate(parts):
                w.store(record_word(w, part, unsigned=False), w.at(begin, 8 * k), 8)

    each(code, components(code, type), put)


def _shown(code: CudaCode, number: Val, count: int, kept: Sequence[int]) -> tuple[Val, Val | None]:
    """The place of a row or column among those that are shown, and whether it is one of them."""
    if len(kept) == count:
        return number, None
    w, half = code.w, len(kept) // 2
    late = w.compare("uge", number, integer(count - half, "i32"))
    early = w.compare("ult", number, integer(half, "i32"))
    moved = w.select(late, w.sub(number, integer(count - len(kept), "i32")), number)
    return moved, w.binary("or", early, late)
