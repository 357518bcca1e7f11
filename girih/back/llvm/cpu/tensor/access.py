"""One access of a matrix through a tensor layout, on the CPU.

If the layout allows, the tile is a window of the memory, with one distance between rows and one between columns.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

from girih.analysis.tensors import COLUMN, ROW
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bounds import Window, shared_operand, together
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.tensor_values import quotient, shared_layout, shared_view
from girih.back.llvm.lower.tiles.tensor import TensorOp, TensorTile, base_of, known_numbers
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.ir.types import ClampMode, CoopMatrix
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True)
class TensorAccess(TensorTile):
    """One access, of whose tile the CPU may make a window."""

    code: CpuCode

    # --- windows -------------------------------------------------------------------------

    def window(self) -> Window | None:
        """The tile as a window of the memory, valid if it lies inside the tensor; None if it is not a window."""
        strides = [self._stride(axis) for axis in (ROW, COLUMN)]
        if strides[0] is None or strides[1] is None:
            return None
        code, w = self.code, self.code.w
        first: Extent = 0
        for offset, block, stride in zip(self.layout.offset, self.layout.block_size, self.layout.stride, strict=True):
            first = addresses.add(w, first, addresses.multiply(w, quotient(code, offset, block), stride, 1), 1)
        pointer = w.at(self.base, self._bytes(first))
        rows, columns = self.type.shape
        edges = (integer(0), integer(rows), integer(0), integer(columns))
        inside = None if self.always_inside else self.inside
        if inside is not None and self.is_cut:
            edges = self._edges()
        return Window(self.type, pointer, self._bytes(strides[0]), self._bytes(strides[1]), inside, *edges)

    # --- windows at the edge of the tensor -----------------------------------------------

    @cached_property
    def is_cut(self) -> bool:
        """Whether neighbouring rows and columns lie inside the tensor, and the rest is zero or dropped."""
        if self.digits is None or not (self.store or self._is_zero_outside):
            return False
        return all(
            not digits
            or (len(digits) == 1 and digits[0].divisor == 1 and digits[0].whole and digits[0].largest < 2**31)
            for digits in self.digits
        )

    @property
    def _is_zero_outside(self) -> bool:
        return self.layout.mode is ClampMode.CONSTANT and self.layout.clamp_value.part.literal == 0

    def _edges(self) -> tuple[Val, Val, Val, Val]:
        """The first row inside the tensor, the end of those rows, and the same of columns."""
        w = self.code.w
        assert self.digits is not None
        ranges = [(integer(0), integer(extent)) for extent in self.type.shape]
        anywhere = integer(1, "i1")
        for digits, offset, size in zip(self.digits, self.layout.offset, self.layout.dimension, strict=True):
            start, extent = as_scalar(offset).part, w.smaller(as_scalar(size).part, 2**31)
            if not digits:
                below = w.binary("and", w.compare("sge", start, 0), w.compare("slt", start, extent))
                anywhere = w.binary("and", anywhere, below)
                continue
            (digit,) = digits
            first, end = (
                w.smaller(_steps_to(w, distance, digit.weight), digit.extent)
                for distance in (w.sub(0, start), w.sub(extent, start))
            )
            before = ranges[digit.axis]
            ranges[digit.axis] = w.larger(before[0], first), w.smaller(before[1], end)
        (top, bottom), columns = ranges
        return top, w.select(anywhere, bottom, integer(0)), *columns

    # --- distances -----------------------------------------------------------------------

    @property
    def always_inside(self) -> bool:
        """Whether no component lies outside, or that was found to be an error."""
        if self.layout.mode is ClampMode.UNDEFINED and (self.exact or not self.code.checks):
            return True
        return self.inside.literal == 1

    def _bytes(self, distance: Extent) -> Operand:
        found = addresses.multiply(self.code.w, distance, self.unit, 1)
        return found if isinstance(found, int) else found.part

    def _stride(self, axis: int) -> Extent | None:
        """The distance of neighbours along an axis, in elements; None if it is not the same everywhere."""
        if self.digits is None:
            return None
        items = [(position, d) for position, ds in enumerate(self.digits) for d in ds if d.axis == axis]
        if not items:
            return 0
        if any(self.layout.block_size[position] != 1 for position, _ in items):
            return None
        strides = [self.layout.stride[position] for position, _ in items]
        if len(items) == 1 and items[0][1].divisor == 1 and items[0][1].whole:
            return addresses.multiply(self.code.w, strides[0], items[0][1].weight, 1)
        known = known_numbers(strides)
        if known is None:
            return None
        extent = self.type.shape[axis]
        places = [sum(d.of(x) * s for (_, d), s in zip(items, known, strict=True)) for x in range(extent)]
        steps = {b - a for a, b in pairwise(places)}
        return steps.pop() if len(steps) == 1 else None


def _steps_to(w: Writer, distance: Val, weight: int) -> Val:
    """The steps of a size that reach a distance; none for one behind."""
    held = w.add(w.larger(distance, 0), weight - 1)
    return held if weight == 1 else w.binary("udiv", held, weight)


def tensor_of(code: CpuCode, op: TensorOp, type: CoopMatrix, unit: int) -> TensorAccess:
    """The access of an instruction to a tensor."""
    together(code, op)
    memref = shared_memref(code, op, "memory", code.memref(op.memory))
    offset = shared_operand(code, op, "offset")[0]
    layout = shared_layout(code, op, code.env[op.layout])
    view = shared_view(code, op, code.env[op.view]) if op.view is not None else None
    check_null(code, op, memref)
    return TensorAccess(code, op, type, layout, view, memref, offset, base_of(code, memref, offset), unit)
