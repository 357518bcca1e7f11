"""Cooperative matrices that a region decodes from blocks of memory (001 8.X "coopMatLoadTensorNV").

The components of a run are the lanes of the region, so that values of their block are computed once for all of them.
Runs go along the lines of a matrix, or across them, as the blocks do. A tile that is not inside the tensor, or does not
begin at the beginning of a block, is decoded some components at a time, wherever they lie.
"""

from __future__ import annotations

from girih.analysis.tensors import COLUMN, ROW
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.apply import agreed_outside, loaded, shared_values, weight_of_region
from girih.back.llvm.cpu.matrix.elementwise import put_off
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    Reference,
    consume,
    in_registers,
    joined,
    length,
    line_bytes,
    line_count,
    new_tile,
    part_count,
    read_tile,
    turned,
    zero_parts,
)
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.cpu.tensor.access import TensorAccess
from girih.back.llvm.cpu.tensor.move import Move
from girih.back.llvm.cpu.tensor.runs import Runs
from girih.back.llvm.emit.text import Operand, Val, integer, lanes
from girih.back.llvm.lower.code import Held
from girih.back.llvm.lower.tensor_index import Element
from girih.back.llvm.lower.tensor_reals import Reals
from girih.back.llvm.numbers.values import Linear, MemRefHeld, Scalar, index
from girih.ir.core import RegionKind, Value
from girih.ir.types import I32, CoopMatrix, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Yield
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, block_bytes

_MOST_WRITTEN_OUT = 500
"""A small matrix is decoded by straight code of about so many instructions, beyond that by a loop."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """The region of an instruction, called for some components at a time."""

    code: CpuCode
    op: CooperativeMatrixLoadTensor
    tensor: TensorAccess
    shared: dict[Value, Held]
    """Values from outside the region that differ between work-items, as the first active one has them."""

    @property
    def block(self) -> MemRef:
        """The type of a block."""
        assert isinstance(self.op.block_type, MemRef)
        return self.op.block_type

    def call(self, first: Scalar, coordinates: list[Scalar], number: Scalar, count: int, mask: Val | None) -> Parts:
        """The values that the region yields for components under a mask; `first` is the distance of their blocks."""
        code, op = self.code, self.op
        assert op.block is not None
        assert op.body is not None
        location = code.w.location
        columns = self.tensor.type.columns
        place = code.at(kind=RegionKind.SPMD, lanes=count, mask=mask, element_number=number, element_columns=columns)
        with agreed_outside(code, self.shared), place:
            code.set(op.block, self._memref(first))
            for value, held in zip(op.coordinates, coordinates, strict=True):
                code.set(value, held)
            code.region(op.body)
            last = op.body.terminator
            assert isinstance(last, Yield)
            found = code.vector(code.scalar(last.values[0]))
        code.w.location = location
        return found

    def _memref(self, first: Scalar) -> MemRefHeld:
        """The blocks as a memref of the region."""
        block = self.block
        elements = block_bytes(block) // block.element.size
        w = self.code.w
        if first.linear is not None:
            offset = Scalar(first.type, (), Linear(w.mul(first.linear.base, elements), first.linear.stride * elements))
        else:
            count = lanes(first.part.type)
            offset = index(w.mul(first.part, w.splat(integer(elements), count)))
        assert self.op.block is not None
        shape, strides = (tuple(n or 0 for n in numbers) for numbers in (block.shape, block.strides))
        size = block.element.size
        return MemRefHeld(block, self.tensor.base, offset, shape, strides, self.op.block.name, size, maybe_null=False)

    def number(self, line: Operand, start: Operand, *, along_rows: bool) -> Scalar:
        """The numbers of the components, row by row."""
        w, columns = self.code.w, self.tensor.type.columns
        row, column = (start, line) if along_rows else (line, start)
        first = w.add(w.mul(w.value(row), columns), column)
        return Scalar(I32, (), Linear(w.convert("trunc", first, "i32"), columns if along_rows else 1, exact=True))

    # --- anywhere ------------------------------------------------------------------------

    def scattered(self, move: Move, tile: InMemory, initial: InMemory | None) -> None:
        """Decode all components, some at a time, to the workspace."""
        type = tile.type
        along_rows = turned(type) == move.turned

        def read(found: Element, there: Val, at: MatrixPiece) -> Parts:
            number = self.number(at.line, at.start, along_rows=along_rows)
            return self._scattered(type, found, there, number)

        move.fill(tile, initial, read)

    def _scattered(self, type: CoopMatrix, found: Element, there: Val, number: Scalar) -> Parts:
        w, count = self.code.w, lanes(there.type)
        r = Reals(w, count)

        def inside() -> Parts:
            first = index(r.integers(found.element, there))
            coordinates = [index(r.integers(n, there)) for n in (*found.blocks, *found.within)]
            return self.call(first, coordinates, number, count, there)

        return tuple(w.either(w.any(there), inside, lambda: zero_parts(type, count)))


def load(code: CpuCode, op: CooperativeMatrixLoadTensor, tensor: TensorAccess, before: Matrix) -> None:
    """Lower a load with decoding; components that the view clips stay."""
    type = tensor.type
    decoder = Decoder(code, op, tensor, shared_values(code, op))
    if tensor.clips:
        tile, initial = new_tile(code, type), to_tile(code, before)
        decoder.scattered(Move(tensor), tile, initial)
        code.set(op.result, loaded(code, tile))
        return
    consume(before)
    along = COLUMN if turned(type) else ROW
    runs = Runs(tensor, along)
    if runs.size:
        _along_lines(code, op, decoder, runs)
        return
    across = Runs(tensor, ROW + COLUMN - along)
    if across.size and part_count(type) == 1:
        _across_lines(code, op, decoder, across)
        return
    tile = new_tile(code, type)
    decoder.scattered(Move(tensor), tile, None)
    code.set(op.result, loaded(code, tile))


def _suits(tensor: TensorAccess, runs: Runs) -> Val:
    """Whether a tile can be decoded by runs."""
    w = tensor.code.w
    inside = integer(1, "i1") if tensor.always_inside else tensor.inside
    return w.binary("and", inside, runs.aligned())


def _columns(decoder: Decoder, runs: Runs, suits: Val) -> list[Parts]:
    """The decoded columns of a small matrix, in registers."""
    code, tensor, type = decoder.code, decoder.tensor, decoder.tensor.type
    pieces = [MatrixPiece(line, 0, length(type)) for line in range(line_count(type))]

    def by_runs() -> list[Val]:
        return [p for at in pieces for p in _by_runs(decoder, runs, at)]

    def scattered() -> list[Val]:
        tile = new_tile(code, type)
        decoder.scattered(Move(tensor), tile, None)
        return [p for at in pieces for p in read_tile(code, tile, at)]

    flat = by_runs() if suits.literal == 1 else code.w.either(suits, by_runs, scattered, rare=True)
    count = part_count(type)
    return [tuple(flat[k : k + count]) for k in range(0, len(flat), count)]


def _by_runs(decoder: Decoder, runs: Runs, at: MatrixPiece) -> Parts:
    """The decoded components of a piece of a line along which runs go."""
    code, found = decoder.code, []
    along_rows = runs.axis == ROW
    for distance in range(0, at.count, runs.size):
        count = min(runs.size, at.count - distance)
        start = at.start + distance if isinstance(at.start, int) else code.w.add(at.start, distance)
        run = runs.at(at.line, start, count)
        number = decoder.number(at.line, start, along_rows=along_rows)
        found.append(decoder.call(run.first, [*run.blocks, *run.within], number, count, None))
    return joined(code, found)


def _along_lines(code: CpuCode, op: CooperativeMatrixLoadTensor, decoder: Decoder, runs: Runs) -> None:
    """Decode components when they are needed; if that cannot be done by runs, all at once."""
    tensor, type = decoder.tensor, decoder.tensor.type
    assert op.body is not None
    suits = _suits(tensor, runs)
    if in_registers(code, type) and line_count(type) * weight_of_region(op.body) <= _MOST_WRITTEN_OUT:
        code.set(op.result, Columns(type, _columns(decoder, runs, suits)))
        return
    tile: InMemory | None = None
    if suits.literal != 1:
        tile = new_tile(code, type)
        here = tile

        def scattered() -> list[Val]:
            decoder.scattered(Move(tensor), here, None)
            return []

        code.w.either(suits, lambda: [], scattered, rare=True)

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        def by_runs() -> Parts:
            return _by_runs(decoder, runs, at)

        if tile is None:
            return by_runs()
        return tuple(code.w.either(suits, by_runs, lambda: read_tile(code, here, at), rare=True))

    put_off(code, op.result, Deferred(type, (), compute, 3 + 3 * weight_of_region(op.body), reads=True))


def _across_lines(code: CpuCode, op: CooperativeMatrixLoadTensor, decoder: Decoder, runs: Runs) -> None:
    """Decode the transpose, of which runs go along the lines."""
    w, tensor, type = code.w, decoder.tensor, decoder.tensor.type
    other = CoopMatrix(type.component, type.columns, type.rows, type.use, type.scope)
    tile = new_tile(code, other)
    assert op.body is not None
    weight = 3 + 3 * weight_of_region(op.body)

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return _by_runs(decoder, runs, at)

    def by_runs() -> list[Val]:
        to_tile(code, Deferred(other, (), compute, weight, reads=True, remaining=1, bound=True), tile)
        return []

    def scattered() -> list[Val]:
        decoder.scattered(Move(tensor, turned=True), tile, None)
        return []

    suits = _suits(tensor, runs)
    if suits.literal == 1:
        by_runs()
    else:
        w.either(suits, by_runs, scattered, rare=True)
    found = Reference(type, tile.pointer, line_bytes(other), type.component.size)
    users = plan_of(code.function).users.get(op.result, [])
    if plan_of(code.function).uses(op.result) and all(isinstance(u, CooperativeMatrixMulAdd) for u in users):
        code.set(op.result, found)
        return
    code.set(op.result, loaded(code, to_tile(code, found)))
