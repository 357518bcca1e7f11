"""The states of a cooperative matrix in the code for a CPU: where its numbers are (docs/design/matrix.md).

A matrix is computed by the thread that executes its subgroup, line by line: a line is a column, as a vector along the
rows; a matrix with one row is a single line along the columns. Small matrices are held in registers; large ones lie in
the workspace, line after line, or are not computed yet: element-wise steps wait until what they lead to is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import Operand, Val, bits, lanes, wide, zero
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type, register
from girih.ir.core import Value
from girih.ir.types import PARTS, CoopMatrix, Number
from girih.lazy_dataclass import dataclass

Parts = tuple[Val, ...]

PIECE_BYTES = 256
LONGEST_LINE = 1024
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
    """The number of parts of a component: two of a complex one."""
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


def in_registers(code: CpuCode, type: CoopMatrix) -> bool:
    """Whether matrices of a type are held in registers."""
    size = length(type) * register_bytes(type)
    vectors = -(-size // code.target.vector_bytes) * line_count(type) * part_count(type)
    return size <= LONGEST_LINE and vectors <= (3 * code.target.registers) // 4


@dataclass(frozen=True, slots=True)
class MatrixPiece:
    """Some components of a line: from `start` on, `count` of them."""

    line: Operand
    start: Operand
    count: int


def known(operand: Operand) -> int | None:
    """The value of an operand that is a constant; None for others."""
    return operand if isinstance(operand, int) else operand.literal


def constant_of(operand: Operand) -> int:
    """The value of an operand that is a constant. Raises `TypeError` for others."""
    found = known(operand)
    if found is None:
        raise TypeError("a matrix in registers has no line that is known at run time only")
    return found


# --- states ------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Matrix:
    """The base of the states. `remaining` says how often the value is still to be read, None if that is not known."""

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
    """A matrix whose components are all equal to one number."""

    parts: Parts


@dataclass(eq=False, slots=True)
class Columns(Matrix):
    """A matrix in registers, line by line.

    `open_sums` are registers whose lanes have been added up to the numbers, and the depth of their dot products.
    """

    columns: list[Parts]
    open_sums: tuple[int, Sequence[Val]] | None = None

    @property
    def static(self) -> bool:
        return True


@dataclass(eq=False, slots=True)
class SameColumns(Matrix):
    """A matrix whose lines are all equal to one line, in registers."""

    parts: Parts


@dataclass(eq=False, slots=True)
class InMemory(Matrix):
    """A matrix in a tile of the workspace: `owned` if that is its alone; `slot` is the carrier that has the tile."""

    pointer: Val
    owned: bool = True
    slot: object | None = None
    offset: Val | None = None


@dataclass(eq=False, slots=True)
class Repeated(Matrix):
    """A matrix whose rows, or whose columns, all equal the one in `tile`, which is written once."""

    tile: InMemory

    def source(self, at: MatrixPiece) -> MatrixPiece:
        """What stands for a piece of the matrix: the same piece of the column, or one component of the row."""
        return MatrixPiece(0, at.line, 1) if turned(self.tile.type) else replace(at, line=0)


@dataclass(eq=False, slots=True)
class Reference(Matrix):
    """A matrix in memory, at any distances in bytes between rows and between columns; components are not complex.

    `ends` are the row and the column from which on all components are certain to be zero, for they lie outside of what
    was loaded; None stands for a matrix that may have other numbers everywhere.
    """

    pointer: Val
    row_stride: Operand
    column_stride: Operand
    ends: tuple[Val, Val] | None = None
    pieces: dict[object, Val] = field(default_factory=dict)
    """What was read of it, by block of the function and by place."""

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
    """A tile of a memref that is not read yet; `held` once it is.

    `load(code, lines, into)` finds it in memory or copies it, to `into` if that is given; with `lines` so that the
    components of a line are neighbours.
    """

    load: Callable[[CpuCode, bool, InMemory | None], Matrix]
    held: Matrix | None = None

    @property
    def children(self) -> Sequence[Matrix]:
        return () if self.held is None else (self.held,)

    @property
    def reads_memory(self) -> bool:
        return True

    def found(self, code: CpuCode, *, lines: bool, into: InMemory | None = None) -> Matrix:
        """The tile as it was found: where it lies, or copied to `into` or a new tile."""
        if self.held is None:
            self.held = self.load(code, lines, into)
        return self.held


Compute = Callable[[MatrixPiece, list[Parts]], Parts]


@dataclass(eq=False, slots=True)
class Deferred(Matrix):
    """Element-wise steps that are not carried out yet; `held` once they are. `weight` is the number of instructions.

    `casts` says that they are one step, which converts its operand to the component type. With `any_order`,
    the function takes any components for a piece.
    """

    operands: tuple[Matrix, ...]
    compute: Compute
    weight: int = 1
    reads: bool = False
    held: Matrix | None = None
    casts: bool = False
    any_order: bool = False

    @property
    def children(self) -> Sequence[Matrix]:
        return self.operands if self.held is None else (self.held,)

    @property
    def static(self) -> bool:
        return any(c.static for c in self.children)

    @property
    def reads_memory(self) -> bool:
        return self.held is None and (self.reads or any(c.reads_memory for c in self.operands))


def operand(code: CpuCode, value: Value) -> Matrix:
    """The matrix of an operand; the first call for a matrix notes how often it is still to be read."""
    held: Matrix = code.env[value]
    if not held.bound:
        held.bound, held.remaining = True, plan_of(code.function).uses(value)
    return held


def settled(m: Matrix) -> Matrix:
    """The matrix that stands for a promise that was kept; any other matrix as it is."""
    while isinstance(m, Deferred | Unloaded) and m.held is not None:
        m = m.held
    return m


def same_numbers(m: Matrix) -> Matrix:
    """The matrix that holds the numbers of another, seen through casts that only change the use; to be read at once."""
    found = settled(m)
    while isinstance(found, Deferred) and found.weight == 0:
        found = settled(found.operands[0])
    return found


def consume(m: Matrix) -> None:
    """Note that an instruction has read a matrix: it is read once less from here on."""
    if m.remaining is not None:
        m.remaining -= 1
    if isinstance(m, Deferred | Unloaded) and isinstance(m.held, InMemory):
        # The tile that a kept value lies in is read whenever the value is.
        m.held.remaining = m.remaining
    if isinstance(m, Deferred) and m.held is None and (m.remaining is None or m.remaining <= 0):
        for one in m.operands:
            consume(one)


# --- tiles -------------------------------------------------------------------------------------


def new_tile(code: CpuCode, type: CoopMatrix) -> InMemory:
    """A tile of the workspace for a matrix of a type; its contents are open."""
    return InMemory(type, code.take(tile_bytes(type)))


def address(code: CpuCode, tile: InMemory, at: MatrixPiece, number: int = 0) -> Val:
    """Where a part of a piece lies."""
    w, type = code.w, tile.type
    line = w.at(tile.pointer, w.mul(w.value(at.line), line_bytes(type)))
    moved = w.at(line, w.mul(w.value(at.start), part(type).size))
    return w.at(moved, number * plane_bytes(type))


def _alignment(type: CoopMatrix, at: MatrixPiece) -> int:
    """The alignment of a piece in the workspace: pieces start at multiples of whole vectors, components anywhere."""
    size = part(type).size
    start = at.start if isinstance(at.start, int) else at.start.literal
    inside = 64 if start is not None else (64 if at.count * size >= 64 else size)
    for bytes in (line_bytes(type), plane_bytes(type), (start or 0) * size):
        while inside > size and bytes % inside:
            inside //= 2
    return inside


def read_tile(code: CpuCode, tile: InMemory, at: MatrixPiece) -> Parts:
    """A piece from the workspace."""
    one = part(tile.type)
    vector = wide(memory_type(one), at.count)
    align = _alignment(tile.type, at)
    found = []
    for number in range(part_count(tile.type)):
        held = code.w.load(vector, address(code, tile, at, number), align)
        found.append(from_memory(code.w, code.target.features, one, held))
    return tuple(found)


def write_tile(code: CpuCode, tile: InMemory, at: MatrixPiece, parts: Parts) -> None:
    """A piece to the workspace."""
    one = part(tile.type)
    align = _alignment(tile.type, at)
    for number, held in enumerate(parts):
        stored = to_memory(code.w, code.target.features, one, code.w.splat(held, at.count))
        code.w.store(stored, address(code, tile, at, number), align)


def joined(code: CpuCode, pieces: Sequence[Parts]) -> Parts:
    """Vectors, or single components, side by side, part by part."""
    return tuple(code.w.join(_alike(code, held)) for held in zip(*pieces, strict=True))


def _alike(code: CpuCode, held: Sequence[Val]) -> list[Val]:
    """All vectors, or all single components."""
    counts = [lanes(v.type) for v in held]
    if len(held) == 1 or min(counts) > 1 or max(counts) == 1:
        return list(held)
    return [code.w.extract(v, k) for v, count in zip(held, counts, strict=True) for k in range(count)]


def weight_of(m: Matrix) -> int:
    """About how many instructions a piece costs."""
    m = settled(m)
    return m.weight + sum(weight_of(one) for one in m.operands) if isinstance(m, Deferred) else 1


def leaves(*roots: Matrix) -> Iterator[Matrix]:
    """What matrices are computed from, each as often as it counts as read: by steps that several need, once."""
    met: set[Matrix] = set()
    pending = [settled(m) for m in reversed(roots)]
    while pending:
        m = pending.pop()
        if not isinstance(m, Deferred):
            yield m
        elif m not in met:
            met.add(m)
            pending.extend(settled(one) for one in reversed(m.operands))


def zero_parts(type: CoopMatrix, count: int) -> Parts:
    """The parts of a piece of zeros."""
    return (zero(wide(register(part(type)), count)),) * part_count(type)
