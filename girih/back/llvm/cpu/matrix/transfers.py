"""The way of tiles between memrefs and the workspace or registers.

A checked access takes the same way as an unchecked one where the tile lies wholly inside; otherwise elements outside
are left out.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bounds import Window
from girih.back.llvm.cpu.matrix.fused_pass import Walk, to_tile
from girih.back.llvm.cpu.matrix.product import widened
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    Reference,
    Unloaded,
    address,
    in_registers,
    known,
    length,
    line_bytes,
    line_count,
    new_tile,
    part,
    part_count,
    read_tile,
    turned,
    write_tile,
    zero_parts,
)
from girih.back.llvm.cpu.matrix.transpose import move_in, move_out
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import Operand, Val, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.facts import remarks
from girih.ir.core import Value
from girih.ir.types import PARTS

_MOST_GATHERED = 32
"""A line of so many components that lie apart is put together in registers."""


# --- loading -----------------------------------------------------------------------------------


def load(code: CpuCode, result: Value, window: Window) -> Matrix:
    """The tile of a window, which stays in memory if a product may read it there."""
    type = window.type
    plan = plan_of(code.function)
    tiles = type.component in code.target.amx and plan.only_multiplied(result)
    if plan.is_widened(result) and not tiles:
        return widened(code, unloaded(window))
    if plan.is_by_rows(result) and plan.may_wait(result, reads=True):
        return unloaded(window)
    if _is_gathered(window) and in_registers(code, type):
        return Columns(type, load_columns(code, window))
    if type.component not in PARTS and plan_of(code.function).may_wait_in_memory(result):
        return unloaded(window)
    if in_registers(code, type):
        return Columns(type, load_columns(code, window))
    if type.component not in PARTS and plan_of(code.function).must_not_wait(result):
        code.remarks.note(remarks.copy())
    tile = new_tile(code, type)
    copy_in(code, window, tile)
    return tile


def _is_gathered(window: Window) -> bool:
    """Whether a tile is a short line whose components lie apart, or a few such lines side by side."""
    type = window.type
    if window.contiguous or type.component in PARTS or length(type) > _MOST_GATHERED:
        return False
    size, count = type.component.size, line_count(type)
    return count == 1 or (known(window.across) == size and count * size in (2, 4, 8))


def unloaded(window: Window) -> Unloaded:
    """A tile that stays in memory until it is needed."""

    def load(code: CpuCode, lines: bool, into: InMemory | None) -> Matrix:
        return _resolve(code, window, lines=lines, into=into)

    return Unloaded(window.type, load)


def _resolve(code: CpuCode, window: Window, *, lines: bool, into: InMemory | None) -> Matrix:
    """Find a tile in memory, or in a place of the workspace where it is not wholly there.

    With `lines` the components of a line must be neighbours, and are moved where they are not.
    """
    type = window.type
    if lines and not window.contiguous:
        tile = into or new_tile(code, type)
        copy_in(code, window, tile)
        return tile
    if window.inside is None:
        return Reference(type, window.pointer, window.row_stride, window.column_stride)
    ends = (window.end_row, window.end_column)
    if not window.contiguous and known(window.across) == type.component.size:
        # A copy has its neighbours where the memory has them, so that they are known to be neighbours either way.
        pointer, row_stride, column_stride = _where_it_is(code, window.turned(), into)
        return Reference(type, pointer, column_stride, row_stride, ends)
    return Reference(type, *_where_it_is(code, window, into), ends)


def _where_it_is(code: CpuCode, window: Window, into: InMemory | None) -> tuple[Val, Val, Val]:
    """Pointer and distances of rows and columns: in memory if all is there, otherwise of a copy."""
    w, type = code.w, window.type
    tile = InMemory(type, into.pointer) if into else new_tile(code, type)
    assert window.inside is not None

    def copied() -> list[Val]:
        copy_partly_in(code, window, tile)
        own = [integer(part(type).size), integer(line_bytes(type))]
        return [tile.pointer, *(own[::-1] if turned(type) else own)]

    there = [window.pointer, w.value(window.row_stride), w.value(window.column_stride)]
    pointer, row_stride, column_stride = w.either(window.inside, lambda: there, copied)
    return pointer, row_stride, column_stride


def load_columns(code: CpuCode, window: Window) -> list[Parts]:
    """The lines of a small tile in registers."""
    type = window.type

    def whole() -> list[Val]:
        pieces = [MatrixPiece(line, 0, length(type)) for line in range(line_count(type))]
        if window.contiguous:
            return [p for at in pieces for p in _read_line(code, window, at)]
        if _is_gathered(window):
            return _gathered(code, window)
        return copied(copy_in_whole)

    def copied(copy: Callable[[CpuCode, Window, InMemory], None]) -> list[Val]:
        tile = new_tile(code, type)
        copy(code, window, tile)
        return [p for k in range(line_count(type)) for p in read_tile(code, tile, MatrixPiece(k, 0, length(type)))]

    inside = window.inside
    flat = whole() if inside is None else code.w.either(inside, whole, lambda: copied(copy_partly_in))
    count = part_count(type)
    return [tuple(flat[k : k + count]) for k in range(0, len(flat), count)]


def copy_in(code: CpuCode, window: Window, tile: InMemory) -> None:
    """Copy a tile from memory to the workspace; zeros stand for what is outside."""
    if window.inside is None:
        copy_in_whole(code, window, tile)
        return

    def whole() -> list[Val]:
        copy_in_whole(code, window, tile)
        return []

    def partly() -> list[Val]:
        copy_partly_in(code, window, tile)
        return []

    code.w.either(window.inside, whole, partly)


def copy_in_whole(code: CpuCode, window: Window, tile: InMemory) -> None:
    """A tile that is wholly there."""
    if not window.contiguous:
        _note_turned(code, window)
        move_in(code, window.pointer, window.row_stride, window.column_stride, tile)
        return
    walk = Walk(code)
    walk.everywhere(window.type, lambda at: write_tile(code, tile, at, _read_line(code, window, at)), 2)


def _note_turned(code: CpuCode, window: Window) -> None:
    """Remark on a tile whose lines are no neighbours in memory."""
    rows = known(window.across) == window.type.component.size
    code.remarks.note(remarks.turned(rows=rows), window.span)


def _line_address(code: CpuCode, window: Window, at: MatrixPiece) -> Val:
    w = code.w
    line = w.at(window.pointer, w.mul(w.value(at.line), window.across))
    return w.at(line, w.mul(w.value(at.start), window.type.component.size))


def _read_line(code: CpuCode, window: Window, at: MatrixPiece) -> Parts:
    """A piece of neighbours in memory, which for complex numbers alternate between the parts."""
    w, one, count = code.w, part(window.type), part_count(window.type)
    held = w.load(wide(memory_type(one), at.count * count), _line_address(code, window, at), one.size)
    if count == 2:
        return tuple(w.extract(held, k) if at.count == 1 else _every_second(w, held, k) for k in range(2))
    return (from_memory(w, code.target.features, one, held),)


def _gathered(code: CpuCode, window: Window) -> list[Val]:
    """The lines of a tile for which `_is_gathered` holds: what lies side by side is loaded at once."""
    w, one = code.w, part(window.type)
    count, size = line_count(window.type), one.size
    whole = memory_type(one) if count == 1 else f"i{8 * size * count}"
    places = [element_address(code, window, 0, k) for k in range(length(window.type))]
    held = w.join([w.load(whole, place, size) for place in places])
    if count > 1:
        held = w.convert("bitcast", held, wide(memory_type(one), count * len(places)))
    lines = [w.shuffle(held, None, range(k, lanes(held.type), count)) for k in range(count)] if count > 1 else [held]
    return [from_memory(w, code.target.features, one, line) for line in lines]


def _every_second(w: Writer, held: Val, start: int) -> Val:
    return w.shuffle(held, None, range(start, lanes(held.type), 2))


def _write_line(code: CpuCode, window: Window, at: MatrixPiece, parts: Parts) -> None:
    w, one = code.w, part(window.type)
    stored = [to_memory(w, code.target.features, one, w.splat(p, at.count)) for p in parts]
    held = stored[0]
    if len(stored) == 2 and at.count == 1:
        held = w.join(stored)
    elif len(stored) == 2:
        held = w.shuffle(stored[0], stored[1], [k // 2 + (k % 2) * at.count for k in range(2 * at.count)])
    w.store(held, _line_address(code, window, at), one.size)


def copy_partly_in(code: CpuCode, window: Window, tile: InMemory) -> None:
    """Copy the elements that are inside, and zeros for the others, to the workspace."""
    if window.elsewhere is not None:
        window.elsewhere.copy_in(tile)
        return
    w, type = code.w, window.type
    if _masks(code, window):
        first_line, end_line, _, _ = window.line_range
        _clear(code, tile, integer(0), w.smaller(first_line, line_count(type)))
        _clear(code, tile, w.larger(end_line, 0), integer(line_count(type)))

        def line(at: MatrixPiece, mask: Val) -> None:
            vector = wide(memory_type(part(type)), at.count)
            size = part(type).size
            held = w.masked_load(vector, _line_address(code, window, at), mask, size, zero(vector))
            w.store(held, address(code, tile, at), size)

        _masked_lines(code, window, line)
        return
    walk = Walk(code)
    walk.everywhere(type, lambda at: write_tile(code, tile, at, zero_parts(type, at.count)), 2)

    def one(line: Val, start: Val) -> None:
        for source, target in elements(code, window, tile, line, start):
            w.store(w.load(memory_type(part(type)), source, part(type).size), target, part(type).size)

    each_there(code, window, one)


def _clear(code: CpuCode, tile: InMemory, first: Val, end: Val) -> None:
    """Zeros in some lines of real numbers."""
    with code.w.loop(first, end) as lines:
        for start, count in Walk(code).pieces_of(tile.type):
            write_tile(code, tile, MatrixPiece(lines.index, start, count), zero_parts(tile.type, count))


def _masks(code: CpuCode, window: Window) -> bool:
    """Whether parts of lines are moved as vectors under a mask, for which the hardware needs masks."""
    if not window.contiguous or part_count(window.type) > 1:
        return False
    if code.target.vector_bytes < (64 if part(window.type).size < 4 else 32):
        return False
    return all(count > 1 for _, count in Walk(code).pieces_of(window.type))


def _masked_lines(code: CpuCode, window: Window, body: Callable[[MatrixPiece, Val], None]) -> None:
    """Go over the lines that are there, with a mask of the components that are."""
    w = code.w
    first_line, end_line, first, end = window.line_range
    for start, count in Walk(code).pieces_of(window.type):
        numbers = w.add(w.iota(count), integer(start, wide("i64", count)))
        mask = w.binary("and", w.compare("sge", numbers, w.splat(first, count)),
                        w.compare("slt", numbers, w.splat(end, count)))  # fmt: skip
        with w.loop(first_line, end_line) as loop:
            body(MatrixPiece(loop.index, start, count), mask)


def each_there(code: CpuCode, window: Window, body: Callable[[Val, Val], None]) -> None:
    """Go over the components that are there one by one: line, and place in it."""
    first_line, end_line, first, end = window.line_range
    with code.w.loop(first_line, end_line) as lines, code.w.loop(first, end) as components:
        body(lines.index, components.index)


def element_address(code: CpuCode, window: Window, line: Operand, start: Operand) -> Val:
    """Where a component lies in memory."""
    w = code.w
    return w.at(w.at(window.pointer, w.mul(w.value(line), window.across)), w.mul(w.value(start), window.along))


def elements(code: CpuCode, window: Window, tile: InMemory, line: Val, start: Val) -> list[tuple[Val, Val]]:
    """The addresses of the parts of a component in memory and in the workspace."""
    pointer = element_address(code, window, line, start)
    size = part(window.type).size
    return [
        (code.w.at(pointer, k * size), address(code, tile, MatrixPiece(line, start, 1), k))
        for k in range(part_count(window.type))
    ]


# --- storing -----------------------------------------------------------------------------------


def store(code: CpuCode, window: Window, m: Matrix) -> None:
    """Write a matrix to the tile of a window."""
    w, type = code.w, window.type
    if window.contiguous and window.inside is None:
        walk = Walk(code, m)
        walk.everywhere(type, lambda at: _write_line(code, window, at, walk.piece(m, at)), 2)
        walk.close()
        return
    small = isinstance(m, Columns) and window.contiguous
    tile = None if small else to_tile(code, m)

    def whole() -> list[Val]:
        if tile is None:
            walk = Walk(code, m)
            walk.everywhere(type, lambda at: _write_line(code, window, at, walk.piece(m, at)))
        else:
            copy_out_whole(code, window, tile)
        return []

    def partly() -> list[Val]:
        source = tile
        if source is None:
            walk, source = Walk(code, m), new_tile(code, type)
            here = source
            walk.everywhere(type, lambda at: write_tile(code, here, at, walk.piece(m, at)))
        copy_partly_out(code, window, source)
        return []

    if window.inside is None:
        whole()
    else:
        w.either(window.inside, whole, partly)


def copy_out_whole(code: CpuCode, window: Window, tile: InMemory) -> None:
    """A tile that is wholly there."""
    if not window.contiguous:
        _note_turned(code, window)
        move_out(code, window.pointer, window.row_stride, window.column_stride, tile)
        return
    Walk(code).everywhere(window.type, lambda at: _write_line(code, window, at, read_tile(code, tile, at)), 2)


def copy_partly_out(code: CpuCode, window: Window, tile: InMemory) -> None:
    """Copy the elements that are inside from the workspace to memory."""
    if window.elsewhere is not None:
        window.elsewhere.copy_out(tile)
        return
    w, type = code.w, window.type
    size = part(type).size
    if _masks(code, window):

        def line(at: MatrixPiece, mask: Val) -> None:
            held = w.load(wide(memory_type(part(type)), at.count), address(code, tile, at), size)
            w.masked_store(held, _line_address(code, window, at), mask, size)

        _masked_lines(code, window, line)
        return

    def one(line: Val, start: Val) -> None:
        for target, source in elements(code, window, tile, line, start):
            w.store(w.load(memory_type(part(type)), source, size), target, size)

    each_there(code, window, one)
