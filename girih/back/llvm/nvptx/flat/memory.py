"""Loads and stores of flat matrices: 16 bytes a thread where columns are contiguous, straight from and to memory.

A launch may have columns that are misaligned, or of a length that is no whole number of pieces: then each component is
moved by itself. Where pieces are whole, those that a check leaves out are loaded from the begin of the column instead,
and become zero: a load that stands in no branch is under way with all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from girih.back.llvm.emit.text import Operand, Val, integer, wide, zero
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix import memory
from girih.back.llvm.lower.one_lane.matrix.held import matrix_type
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.memory import (
    PrivateWindow,
    checked_window,
    filled,
    load_parts,
    store_parts,
    taken,
)
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.flat.held import FlatMatrix, flat, layout_of
from girih.back.llvm.nvptx.flat.layout import FlatLayout
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixPrefetch, CooperativeMatrixStore

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

_WIDEST = 16
"""The bytes that a thread moves at most at once."""

_WORD = 4
"""The bytes of a register."""


@dataclass(frozen=True, slots=True)
class PiecesOfColumns:
    """A tile whose columns are moved in pieces of `many` neighbours."""

    code: OneLaneCode
    type: CoopMatrix
    layout: FlatLayout
    window: PrivateWindow
    many: int

    @property
    def bytes(self) -> int:
        """The bytes of a piece, which begins at a multiple of that."""
        return self.many * self.type.component.size

    def suitable(self) -> Val:
        """Whether all pieces are aligned, and each is wholly there or wholly left out."""
        code, w = self.code, self.code.w
        place: Operand = code.aligned_offset(self.window.pointer)
        if self.layout.columns > 1:
            place = w.binary("or", place, self.window.steps[1])
        rows, columns = self.window.ranges
        suitable = w.compare("eq", w.binary("and", place, self.bytes - 1), 0)
        if rows is not None:
            ragged = w.binary("and", w.binary("or", rows[0], rows[1]), self.many - 1)
            suitable = w.binary("and", suitable, w.compare("eq", ragged, 0))
        for range in (rows, columns):
            if range is not None:
                suitable = w.binary("and", suitable, w.compare("slt", range[0], range[1]))
        return suitable

    def there(self, row: int, column: int) -> Val | None:
        """Whether the piece that begins at a thread's row is accessed; None if it is for certain."""
        at = self.layout.position(self.code, column * self.layout.own_rows + row)
        return self.window.wanted(self.code, at)

    def address(self, row: int, column: int, there: Val | None) -> Val:
        """The address of the piece, or of the first one of all, if this one is not `there`."""
        code, w = self.code, self.code.w
        own = self._bytes_to(self.layout.row(code, row), self.layout.column(code, column))
        if there is None:
            return w.at(self.window.pointer, own)
        first = [integer(0) if range is None else range[0] for range in self.window.ranges]
        nearest = w.add(w.mul(first[0], self.type.component.size), w.mul(first[1], self.window.steps[1]))
        return w.at(self.window.pointer, w.select(there, own, nearest))

    def _bytes_to(self, row: Val, column: Val) -> Val:
        w = self.code.w
        down = w.mul(w.convert("zext", row, "i64"), self.type.component.size)
        return w.add(down, w.mul(w.convert("zext", column, "i64"), self.window.steps[1]))

    def firsts(self) -> list[tuple[int, int]]:
        """The thread's numbers for row and column of the first component of each piece."""
        return [(row, k) for k in range(self.layout.own_columns) for row in range(0, self.layout.own_rows, self.many)]


def _pieces(code: OneLaneCode, type: CoopMatrix, window: PrivateWindow) -> PiecesOfColumns | None:
    """How columns are moved in pieces; None where their components are no neighbours, or pieces cross their ends."""
    layout, size, step = layout_of(code, type), type.component.size, window.steps[0]
    many = min(layout.rectangle.chunk, _WIDEST // size)
    near = step == size or (isinstance(step, Val) and step.literal == size)
    if not near or many * size < _WORD or layout.rows == 1 or layout.rows % many:
        return None
    return PiecesOfColumns(code, type, layout, window, many)


def _chosen(
    code: OneLaneCode, suitable: Val, whole: Callable[[], list[Val]], single: Callable[[], list[Val]]
) -> list[Val]:
    if suitable.literal is not None:
        return whole() if suitable.literal else single()
    return code.w.either(suitable, whole, single)


@contextmanager
def _apart(code: OneLaneCode) -> Iterator[None]:
    """A context for code that goes component by component, whose places and conditions no other code shares.

    What is computed once for several matrices would take a register for each component all the way between them. And
    loads at the end of both ways would become one, which knows nothing of the alignment that one way asked for.
    """
    thread = code.thread
    code.thread = code.w.effect("i64", f'call i64 asm sideeffect "", "=l,0"({thread}) nounwind')
    yield
    code.thread = thread
    code.w.line('call void asm sideeffect "", ""() nounwind')


@LOWERINGS.of(CooperativeMatrixLoad)
def load(code: OneLaneCode, op: CooperativeMatrixLoad) -> None:
    """The tile of a memref; what a check leaves out is zero."""
    type = matrix_type(op.result)
    window = checked_window(code, op, op.memory, (op.row, op.column), type)
    pieces = _pieces(code, type, window)

    def single() -> list[Val]:
        with _apart(code):
            held = filled(
                code,
                op.result,
                lambda at: window.wanted(code, at),
                lambda at, _: load_parts(code, type.component, window.address(code, at)),
            )
        assert isinstance(held, FlatMatrix)
        return _packed(code, type, held.raw)

    words = single() if pieces is None else _chosen(code, pieces.suitable(), lambda: _loaded(pieces), single)
    layout = layout_of(code, type)
    code.set(op.result, FlatMatrix(type, layout, tuple(_unpacked(code, type, words, layout.components))))


def _packed(code: OneLaneCode, type: CoopMatrix, raw: Sequence[Val]) -> list[Val]:
    """Components as registers: small ones side by side, so that those of both ways of a load take no more."""
    w, many = code.w, _WORD // type.component.size
    if many < 2:
        return list(raw)
    rest = [zero(raw[0].type)] * (-len(raw) % many)
    padded = [*raw, *rest]
    return [w.convert("bitcast", w.join(padded[k : k + many]), "i32") for k in range(0, len(padded), many)]


def _unpacked(code: OneLaneCode, type: CoopMatrix, words: Sequence[Val], count: int) -> list[Val]:
    w, many = code.w, _WORD // type.component.size
    if many < 2:
        return list(words)
    vectors = [w.convert("bitcast", word, wide(memory_type(type.component), many)) for word in words]
    return [w.extract(vectors[number // many], number % many) for number in range(count)]


def _loaded(pieces: PiecesOfColumns) -> list[Val]:
    w, one = pieces.code.w, memory_type(pieces.type.component)
    each = max(1, _WORD // pieces.type.component.size)
    if each > 1:
        one = "i32"
    type = wide(one, pieces.many // each)
    found: list[Val] = []
    for row, column in pieces.firsts():
        there = pieces.there(row, column)
        held = w.load(type, pieces.address(row, column, there), pieces.bytes)
        if there is not None:
            held = w.select(there, held, zero(type))
        found += [w.extract(held, k) for k in range(pieces.many // each)]
    return found


@LOWERINGS.of(CooperativeMatrixStore)
def store(code: OneLaneCode, op: CooperativeMatrixStore) -> None:
    """Write the matrix to the tile of a memref."""
    m = flat(code, op.matrix)
    window = checked_window(code, op, op.memory, (op.row, op.column), m.type)
    pieces = _pieces(code, m.type, window)

    def single() -> list[Val]:
        def put(at: Position, component: Val) -> None:
            store_parts(code, m.type.component, window.address(code, at), m.read(code, component))

        with _apart(code):
            taken(code, m, lambda at: window.wanted(code, at), put)
        return []

    if pieces is None:
        single()
        return
    wide_pieces = pieces
    _chosen(code, pieces.suitable(), lambda: _stored(wide_pieces, m), single)


def _stored(pieces: PiecesOfColumns, m: FlatMatrix) -> list[Val]:
    w, layout = pieces.code.w, m.layout
    owned = layout.owned(pieces.code)
    for row, column in pieces.firsts():
        number = column * layout.own_rows + row
        held = w.join(m.raw[number : number + pieces.many])
        there = w.both(pieces.there(row, column), owned)
        if there is None:
            w.store(held, pieces.address(row, column, None), pieces.bytes)
            continue
        with w.when(there):
            w.store(held, pieces.address(row, column, None), pieces.bytes)
    return []


@LOWERINGS.of(CooperativeMatrixPrefetch)
def prefetch(code: OneLaneCode, op: CooperativeMatrixPrefetch) -> None:
    """Fetch nothing; what must be shared is looked at."""
    memory.prefetch(code, op)
