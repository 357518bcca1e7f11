"""Cooperative matrices as values of the code for a CPU.

A matrix is computed by the thread that executes its subgroup, line by line: a line is a column, as a vector along the
rows; a matrix with one row is a single line along the columns. Small matrices are held in registers; large ones lie in
the workspace, line after line, or are not computed yet: element-wise steps wait until what they lead to is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from girih.back.llvm.cpu.coopmatrix_plan import plan_of
from girih.back.llvm.cpu.lowering import Lowering
from girih.back.llvm.rounding import from_memory, to_memory
from girih.back.llvm.text import Operand, Val, bits, integer, lanes, wide, zero
from girih.back.llvm.values import memory_type, register
from girih.ir.core import Value
from girih.ir.types import PARTS, CoopMatrix, Number, Use

if TYPE_CHECKING:
    from girih.back.llvm.cpu.coopmatrix_access import Window

Parts = tuple[Val, ...]

_PIECE_BYTES = 256
_LONGEST_LINE = 1024
"""Lines of more bytes are computed by a loop over pieces."""


# --- shapes ------------------------------------------------------------------------------------


def turned(type: CoopMatrix) -> bool:
    """Whether lines run along the columns."""
    return type.rows == 1


def length(type: CoopMatrix) -> int:
    """The number of components of a line."""
    return type.columns if turned(type) else type.rows


def line_count(type: CoopMatrix) -> int:
    """The number of lines."""
    return 1 if turned(type) else type.columns


def part(type: CoopMatrix) -> Number:
    """The type of what a component consists of: itself, or a part of a complex number."""
    return PARTS.get(type.component, type.component)


def part_count(type: CoopMatrix) -> int:
    """Two for complex components."""
    return 2 if type.component in PARTS else 1


def register_bytes(type: CoopMatrix) -> int:
    """The size of a part of a component in registers."""
    return bits(register(part(type))) // 8


def plane_bytes(type: CoopMatrix) -> int:
    """The bytes of one part of a line in the workspace, with what fills it up to whole vectors."""
    size = length(type) * part(type).size
    if size > 64:
        return -(-size // 64) * 64
    return 1 << (size - 1).bit_length()


def line_bytes(type: CoopMatrix) -> int:
    """The bytes of a line in the workspace: all real parts, then all imaginary ones."""
    return plane_bytes(type) * part_count(type)


def tile_bytes(type: CoopMatrix) -> int:
    """The bytes of a matrix in the workspace."""
    return line_bytes(type) * line_count(type)


def in_registers(l: Lowering, type: CoopMatrix) -> bool:
    """Whether matrices of a type are held in registers."""
    size = length(type) * register_bytes(type)
    vectors = -(-size // l.target.vector_bytes) * line_count(type) * part_count(type)
    return size <= _LONGEST_LINE and vectors <= (3 * l.target.registers) // 4


@dataclass(frozen=True, slots=True)
class Piece:
    """Some components of a line: from `start` on, `count` of them."""

    line: Operand
    start: Operand
    count: int


def known(operand: Operand) -> int | None:
    """The value of an operand that is a constant."""
    return operand if isinstance(operand, int) else operand.literal


def constant_of(operand: Operand) -> int:
    """An operand that is known."""
    found = known(operand)
    if found is None:
        raise TypeError("a matrix in registers has no line that is known at run time only")
    return found


# --- forms -------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Matrix:
    """The base of the forms. `remaining` is how often the value will still be read, None where that is not known."""

    type: CoopMatrix
    remaining: int | None = field(default=None, kw_only=True)
    bound: bool = field(default=False, kw_only=True)

    @property
    def children(self) -> Sequence[Matrix]:
        """The matrices that this one is computed from."""
        return ()

    @property
    def static(self) -> bool:
        """Whether the lines must be known while the code is written."""
        return False

    @property
    def reads_memory(self) -> bool:
        """Whether it is computed from memory that others may write."""
        return False


@dataclass(eq=False, slots=True)
class Splat(Matrix):
    """One number everywhere."""

    parts: Parts


@dataclass(eq=False, slots=True)
class Columns(Matrix):
    """Registers, line by line."""

    columns: list[Parts]

    @property
    def static(self) -> bool:
        return True


@dataclass(eq=False, slots=True)
class SameColumns(Matrix):
    """Registers: one line, which all lines are equal to."""

    parts: Parts


@dataclass(eq=False, slots=True)
class InMemory(Matrix):
    """In the workspace; `owned` where nothing else is there, `slot` for the carrier whose place it is."""

    pointer: Val
    owned: bool = True
    slot: MatrixCarrier | None = None
    offset: Val | None = None


@dataclass(eq=False, slots=True)
class Reference(Matrix):
    """In memory at any distances in bytes between rows and between columns; components are not complex."""

    pointer: Val
    row_stride: Operand
    column_stride: Operand

    @property
    def contiguous(self) -> bool:
        """Whether the components of a line are known to be neighbours."""
        along = self.column_stride if turned(self.type) else self.row_stride
        return known(along) == self.type.component.size or length(self.type) == 1

    @property
    def reads_memory(self) -> bool:
        return True


@dataclass(eq=False, slots=True)
class Unloaded(Matrix):
    """A tile of a memref that is not read yet; `held` once it is."""

    window: Window
    held: Matrix | None = None

    @property
    def children(self) -> Sequence[Matrix]:
        return () if self.held is None else (self.held,)

    @property
    def reads_memory(self) -> bool:
        return True


Compute = Callable[[Piece, list[Parts]], Parts]


@dataclass(eq=False, slots=True)
class Deferred(Matrix):
    """Element-wise steps that are not carried out yet; `held` once they are. `weight` is the number of instructions."""

    operands: tuple[Matrix, ...]
    compute: Compute
    weight: int = 1
    reads: bool = False
    held: Matrix | None = None

    @property
    def children(self) -> Sequence[Matrix]:
        return self.operands if self.held is None else (self.held,)

    @property
    def static(self) -> bool:
        return any(c.static for c in self.children)

    @property
    def reads_memory(self) -> bool:
        return self.held is None and (self.reads or any(c.reads_memory for c in self.operands))


def operand(l: Lowering, value: Value) -> Matrix:
    """A matrix operand, and how often it will be read from here on."""
    held: Matrix = l.env[value]
    if not held.bound:
        held.bound, held.remaining = True, plan_of(l.function).uses(value)
    return held


def settled(m: Matrix) -> Matrix:
    """What stands for a matrix by now."""
    while isinstance(m, Deferred | Unloaded) and m.held is not None:
        m = m.held
    return m


def consume(m: Matrix) -> None:
    """Note that an instruction has read a matrix for good."""
    if m.remaining is not None:
        m.remaining -= 1
    if isinstance(m, Deferred | Unloaded) and isinstance(m.held, InMemory):
        # The tile that a kept value lies in is read whenever the value is.
        m.held.remaining = m.remaining
    if isinstance(m, Deferred) and m.held is None and (m.remaining is None or m.remaining <= 0):
        for one in m.operands:
            consume(one)


# --- tiles -------------------------------------------------------------------------------------


def new_tile(l: Lowering, type: CoopMatrix) -> InMemory:
    """A place in the workspace."""
    return InMemory(type, l.take(tile_bytes(type)))


def address(l: Lowering, tile: InMemory, at: Piece, number: int = 0) -> Val:
    """Where a part of a piece lies."""
    w, type = l.w, tile.type
    line = w.at(tile.pointer, w.mul(w.value(at.line), line_bytes(type)))
    moved = w.at(line, w.mul(w.value(at.start), part(type).size))
    return w.at(moved, number * plane_bytes(type))


def _alignment(type: CoopMatrix, at: Piece) -> int:
    """Of a piece in the workspace; pieces start at multiples of whole vectors, single components anywhere."""
    size = part(type).size
    start = at.start if isinstance(at.start, int) else at.start.literal
    inside = 64 if start is not None else (64 if at.count * size >= 64 else size)
    for bytes in (line_bytes(type), plane_bytes(type), (start or 0) * size):
        while inside > size and bytes % inside:
            inside //= 2
    return inside


def read_tile(l: Lowering, tile: InMemory, at: Piece) -> Parts:
    """A piece from the workspace."""
    one = part(tile.type)
    vector = wide(memory_type(one), at.count)
    align = _alignment(tile.type, at)
    found = []
    for number in range(part_count(tile.type)):
        held = l.w.load(vector, address(l, tile, at, number), align)
        found.append(from_memory(l.w, l.target.features, one, held))
    return tuple(found)


def write_tile(l: Lowering, tile: InMemory, at: Piece, parts: Parts) -> None:
    """A piece to the workspace."""
    one = part(tile.type)
    align = _alignment(tile.type, at)
    for number, held in enumerate(parts):
        stored = to_memory(l.w, l.target.features, one, l.w.splat(held, at.count))
        l.w.store(stored, address(l, tile, at, number), align)


# --- walking over matrices ---------------------------------------------------------------------


class Walk:
    """One pass over the pieces of matrices of one shape, in which what waits is computed.

    What will be needed again is kept on the way: `close` makes it known when the pass has gone over all pieces.
    """

    def __init__(self, l: Lowering, *roots: Matrix, static: bool = False) -> None:
        self.l = l
        self.roots = roots
        self._sinks: dict[Deferred, InMemory] = {}
        self._known: dict[tuple[Matrix, Piece], Parts] = {}
        self._moved: dict[Matrix, InMemory] = {}
        self._bytes = 1
        for root in roots:
            self._prepare(root)
        self.static = static or any(r.static for r in roots)

    def _prepare(self, m: Matrix) -> None:
        self._bytes = max(self._bytes, register_bytes(m.type))
        if isinstance(m, Unloaded) and m.held is None:
            from girih.back.llvm.cpu.coopmatrix_access import resolve

            resolve(self.l, m, lines=True)
        found = settled(m)
        if isinstance(found, Reference) and not found.contiguous and found not in self._moved:
            from girih.back.llvm.cpu.coopmatrix_access import copy_transposed

            self._moved[found] = new_tile(self.l, found.type)
            copy_transposed(self.l, found.pointer, (found.row_stride, found.column_stride), self._moved[found])
        if isinstance(m, Deferred) and m.held is None and m not in self._sinks:
            if m.remaining is not None and m.remaining > 1:
                self._sinks[m] = new_tile(self.l, m.type)
            for one in m.operands:
                self._prepare(one)

    def pieces_of(self, type: CoopMatrix) -> list[tuple[int, int]]:
        """Start and length of the pieces of a line, of as many bytes as a few registers have."""
        step = _PIECE_BYTES // max(self._bytes, register_bytes(type))
        return [(s, min(step, length(type) - s)) for s in range(0, length(type), step)]

    def piece(self, m: Matrix, at: Piece) -> Parts:
        """The components of a piece."""
        known = self._known.get((m, at))
        if known is None:
            known = self._known[m, at] = self._compute(settled(m), at)
        return known

    def _compute(self, m: Matrix, at: Piece) -> Parts:
        w = self.l.w
        match m:
            case Splat():
                return tuple(w.splat(p, at.count) for p in m.parts)
            case SameColumns():
                return tuple(w.part(p, constant_of(at.start), at.count) for p in m.parts)
            case Columns():
                held = m.columns[constant_of(at.line)]
                return tuple(_part(self.l, p, constant_of(at.start), at.count) for p in held)
            case InMemory():
                return read_tile(self.l, m, at)
            case Reference():
                moved = self._moved.get(m)
                return _read_reference(self.l, m, at) if moved is None else read_tile(self.l, moved, at)
            case Deferred():
                found = m.compute(at, [self.piece(one, at) for one in m.operands])
                if m in self._sinks:
                    write_tile(self.l, self._sinks[m], at, found)
                return found
            case _:
                raise TypeError(f"{type(m).__name__} has no pieces")

    def close(self) -> None:
        """All pieces were computed, by an instruction that reads the roots."""
        for m, tile in self._sinks.items():
            m.held = tile
            for one in m.operands:
                consume(one)
        for root in self.roots:
            consume(root)

    def lines(
        self,
        type: CoopMatrix,
        body: Callable[[Piece, int, Sequence[Val]], Sequence[Val]],
        start: Operand,
        count: int,
        carried: Sequence[Val] = (),
        unroll: int = 1,
    ) -> Sequence[Val]:
        """Go over a piece of each line; `body(piece, turn, values)` gives the next values, in turns of `unroll`."""
        total, values = line_count(type), carried
        if self.static or total <= unroll:
            for line in range(total):
                values = body(Piece(line, start, count), line % unroll, values)
            return values
        whole = total - total % unroll
        with self.l.w.loop(0, whole, unroll, list(values)) as loop:
            following: Sequence[Val] = loop.values
            for turn in range(unroll):
                following = body(Piece(self.l.w.add(loop.index, turn), start, count), turn, following)
            loop.following = following
        values = loop.results
        for line in range(whole, total):
            values = body(Piece(line, start, count), line % unroll, values)
        return values

    def starts(self, type: CoopMatrix, body: Callable[[Operand, int], None]) -> None:
        """Go over the pieces of a line: one after the other where they are few, by a loop where they are many."""
        pieces = self.pieces_of(type)
        step = pieces[0][1]
        if self.static or length(type) * register_bytes(type) <= _LONGEST_LINE:
            for start, count in pieces:
                body(start, count)
            return
        whole = length(type) - length(type) % step
        with self.l.w.loop(0, whole, step) as loop:
            body(loop.index, step)
        if whole < length(type):
            body(whole, length(type) - whole)

    def everywhere(self, type: CoopMatrix, body: Callable[[Piece], None], unroll: int = 1) -> None:
        """Go over all pieces once."""

        def line(at: Piece, turn: int, values: Sequence[Val]) -> Sequence[Val]:
            body(at)
            return values

        self.starts(type, lambda start, count: void(self.lines(type, line, start, count, (), unroll)))


def joined(l: Lowering, pieces: Sequence[Parts]) -> Parts:
    """Vectors, or single components, side by side, part by part."""
    return tuple(l.w.join(_alike(l, held)) for held in zip(*pieces, strict=True))


def _alike(l: Lowering, held: Sequence[Val]) -> list[Val]:
    """All vectors, or all single components."""
    counts = [lanes(v.type) for v in held]
    if len(held) == 1 or min(counts) > 1 or max(counts) == 1:
        return list(held)
    return [l.w.extract(v, k) for v, count in zip(held, counts, strict=True) for k in range(count)]


def void(value: object) -> None:
    """Nothing, whatever came."""


def _part(l: Lowering, held: Val, start: int, count: int) -> Val:
    return held if count == lanes(held.type) else l.w.part(held, start, count)


def _read_reference(l: Lowering, m: Reference, at: Piece) -> Parts:
    """A piece of neighbouring components in memory."""
    w, one = l.w, part(m.type)
    stride = m.row_stride if turned(m.type) else m.column_stride
    line = w.at(m.pointer, w.mul(w.value(at.line), stride))
    held = w.load(wide(memory_type(one), at.count), w.at(line, w.mul(w.value(at.start), one.size)), one.size)
    return (from_memory(w, l.target.features, one, held),)


def weight_of(m: Matrix) -> int:
    """How many instructions a piece costs, about."""
    m = settled(m)
    return m.weight + sum(weight_of(one) for one in m.operands) if isinstance(m, Deferred) else 1


def leaves(m: Matrix) -> Iterator[Matrix]:
    """What a matrix is computed from, each as often as it is read."""
    m = settled(m)
    if not isinstance(m, Deferred):
        yield m
        return
    for one in m.operands:
        yield from leaves(one)


def place_for(l: Lowering, type: CoopMatrix, *roots: Matrix) -> InMemory:
    """Where the result of one pass over the roots goes: over a matrix that is not needed any more, or a new place."""
    found = [leaf for root in roots for leaf in leaves(root)]
    for leaf in found:
        if not isinstance(leaf, InMemory) or not leaf.owned or leaf.remaining != found.count(leaf):
            continue
        if leaf.type.shape == type.shape and part(leaf.type).size == part(type).size and (
            part_count(leaf.type) == part_count(type)
        ):
            return InMemory(type, leaf.pointer, True, leaf.slot, leaf.offset)
    return new_tile(l, type)


def to_tile(l: Lowering, m: Matrix, into: InMemory | None = None) -> InMemory:
    """A matrix in the workspace: where it is, or else in `into` or a new place."""
    found = settled(m)
    if isinstance(found, InMemory) and into is None:
        consume(m)
        return found
    walk = Walk(l, m)
    found = settled(m)
    if isinstance(found, InMemory) and into is None:
        consume(m)
        return found
    tile = into or place_for(l, m.type, m)
    vectors = -(-min(length(m.type) * register_bytes(m.type), _PIECE_BYTES) // l.target.vector_bytes)
    unroll = 1 if weight_of(m) > 12 else max(1, 4 // vectors)
    walk.everywhere(m.type, lambda at: write_tile(l, tile, at, walk.piece(m, at)), unroll)
    walk.close()
    return tile


def to_columns(l: Lowering, m: Matrix) -> list[Parts]:
    """A small matrix in registers."""
    found = settled(m)
    if isinstance(found, Columns):
        consume(m)
        return found.columns
    walk = Walk(l, m, static=True)
    columns = []
    for line in range(line_count(m.type)):
        pieces = [walk.piece(m, Piece(line, start, count)) for start, count in walk.pieces_of(m.type)]
        columns.append(joined(l, pieces))
    walk.close()
    return columns


# --- carrying matrices through loops and branches ----------------------------------------------


class MatrixCarrier:
    """How a matrix goes from one iteration to the next, or out of a branch.

    Small ones are phis. Large ones alternate between two places, unless the next one already lies where the last one
    was. Factors that a branch has found in memory stay there.
    """

    def __init__(self, l: Lowering, type: CoopMatrix, value: Value) -> None:
        self._type = type
        self._reference = plan_of(l.function).by_reference(value)
        self._columns = not self._reference and in_registers(l, type)
        self._current: Val | None = None
        self._base = None if self._columns else l.take(2 * tile_bytes(type))

    def enter(self, l: Lowering, held: Matrix) -> list[Val]:
        """The values for the phis."""
        used = l.frame.used
        # What the region has left in the workspace is still read, although its place is free for others by now.
        l.frame.used = l.frame.most
        found = self._enter(l, held)
        l.frame.used = used
        return found

    def _enter(self, l: Lowering, held: Matrix) -> list[Val]:
        if self._reference:
            return self._enter_reference(l, held)
        if self._columns:
            return [p for column in to_columns(l, held) for p in column]
        found = settled(held)
        if isinstance(found, InMemory) and found.slot is self and found.offset is not None:
            return [found.offset]
        size = tile_bytes(self._type)
        offset = integer(0) if self._current is None else l.w.sub(size, self._current)
        to_tile(l, held, self._tile(l, offset))
        return [offset]

    def _tile(self, l: Lowering, offset: Val) -> InMemory:
        assert self._base is not None
        return InMemory(self._type, l.w.at(self._base, offset), True, self, offset)

    def _enter_reference(self, l: Lowering, held: Matrix) -> list[Val]:
        from girih.back.llvm.cpu.coopmatrix_access import resolve

        size = part(self._type).size
        tile = self._tile(l, integer(0))
        found = settled(held)
        if isinstance(found, Unloaded):
            # Products take vectors from `a`, and single components from `b`.
            found = resolve(l, found, lines=self._type.use is Use.A, into=tile)
        if isinstance(found, Reference):
            return [found.pointer, l.w.value(found.row_stride), l.w.value(found.column_stride)]
        if found is not tile:
            to_tile(l, held, tile)
        along, across = integer(size), integer(line_bytes(self._type))
        return [tile.pointer, across, along] if turned(self._type) else [tile.pointer, along, across]

    def inside(self, l: Lowering, values: Sequence[Val]) -> Matrix:
        """The matrix that the phis stand for."""
        if self._reference:
            return Reference(self._type, *values)
        if self._columns:
            count = part_count(self._type)
            return Columns(self._type, [tuple(values[k : k + count]) for k in range(0, len(values), count)])
        self._current = values[0]
        return self._tile(l, values[0])


def zero_parts(type: CoopMatrix, count: int) -> Parts:
    """The parts of a piece of zeros."""
    return (zero(wide(register(part(type)), count)),) * part_count(type)
