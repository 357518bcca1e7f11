"""One access of a matrix through a tensor layout: its memory, its numbers, and the facts that are known of its tile.

If the layout allows, the tile is a window of the memory, with one distance between rows and one between columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

from girih.analysis.tensors import COLUMN, ROW, Digits, coordinates, index_digits, through_view
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bounds import Window, shared_operand, together
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.tensor_index import TensorIndex
from girih.back.llvm.lower.tensor_values import LayoutHeld, ViewHeld, quotient, shared_layout, shared_view
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.values import MemRefHeld, index
from girih.ir.types import ClampMode, CoopMatrix
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor

TensorOp = CooperativeMatrixLoadTensor | CooperativeMatrixStoreTensor


@dataclass(frozen=True)
class TensorAccess:
    """One access. `base` is the address of the first component or block of the tensor, `unit` their size in bytes."""

    code: CpuCode
    op: TensorOp
    type: CoopMatrix
    layout: LayoutHeld
    view: ViewHeld | None
    memref: MemRefHeld
    offset: Val
    base: Val
    unit: int

    @property
    def store(self) -> bool:
        return isinstance(self.op, CooperativeMatrixStoreTensor)

    @cached_property
    def index(self) -> TensorIndex:
        """The index of the tensor, which gives the place of any component."""
        return TensorIndex(self.code, self.layout, self.view, self.type.shape, store=self.store)

    # --- what is known while the code is written -----------------------------------------

    @cached_property
    def clips(self) -> bool:
        """Whether a view may leave components out."""
        if self.view is None:
            return False
        top, height, left, wide = self.view.clip
        rows, columns = self.type.shape
        whole = all(isinstance(n, int) and n >= most for n, most in ((height, rows), (wide, columns)))
        return not (whole and top == 0 and left == 0)

    @cached_property
    def digits(self) -> tuple[Digits, ...] | None:
        """The coordinates in the accessed region if they are known to be sums of digits; None otherwise."""
        span, view = _ints(self.layout.span), self.view
        if span is None or self.clips:
            return None
        rows, columns = self.type.shape
        found = index_digits(rows, columns, columns)
        if found is None:
            return None
        if view is not None:
            own = view.type.has_dimensions
            sizes, strides = (_ints(view.dimension), _ints(view.stride)) if own else (span, _dense(span))
            if sizes is None or strides is None:
                return None
            found = through_view(found, sizes, strides, view.type.permutation)
        return None if found is None else coordinates(found, span)

    @property
    def exact(self) -> bool:
        """Whether a tile that is not `inside` has components outside for certain."""
        if self.digits is None:
            return False
        return all(len({d.axis for d in ds}) == len(ds) for ds in self.digits)

    def _largest(self, position: int) -> Extent:
        """The largest coordinate in a dimension of the region, or more."""
        if self.digits is not None:
            return sum(d.largest for d in self.digits[position])
        span = self.layout.span[position]
        most = prod(self.type.shape)
        if isinstance(span, int):
            return span - 1 if self.view is not None else min(span, most) - 1
        return addresses.add(self.code.w, span, -1, 1)

    @cached_property
    def inside(self) -> Val:
        """Whether all components lie inside the tensor; more may do."""
        w, layout = self.code.w, self.layout
        found = integer(1, "i1")
        for position, (offset, size) in enumerate(zip(layout.offset, layout.dimension, strict=True)):
            last = addresses.add(w, offset, self._largest(position), 1)
            end = min(size, 2**31) if isinstance(size, int) else index(w.smaller(size.part, 2**31))
            for one in (holds(w, "sge", offset, 0), holds(w, "slt", last, end)):
                found = w.binary("and", found, one)
        return found

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
        return Window(self.type, pointer, self._bytes(strides[0]), self._bytes(strides[1]), inside, *edges)

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
        known = _ints(strides)
        if known is None:
            return None
        extent = self.type.shape[axis]
        places = [sum(d.of(x) * s for (_, d), s in zip(items, known, strict=True)) for x in range(extent)]
        steps = {b - a for a, b in pairwise(places)}
        return steps.pop() if len(steps) == 1 else None


def tensor_of(code: CpuCode, op: TensorOp, type: CoopMatrix, unit: int) -> TensorAccess:
    """The access of an instruction to a tensor."""
    together(code, op)
    memref = shared_memref(code, op, "memory", code.memref(op.memory))
    offset = shared_operand(code, op, "offset")[0]
    layout = shared_layout(code, op, code.env[op.layout])
    view = shared_view(code, op, code.env[op.view]) if op.view is not None else None
    check_null(code, op, memref)
    w = code.w
    first = w.add(as_scalar(memref.offset).part, offset)
    base = w.at(memref.pointer, w.mul(first, memref.element.size))
    return TensorAccess(code, op, type, layout, view, memref, offset, base, unit)


def holds(w: Writer, predicate: str, a: Extent, b: Extent) -> Val:
    """The condition of a comparison, which is tested before the loops in which it does not change."""
    x, y = as_scalar(a).part, as_scalar(b).part
    if x.literal is not None and y.literal is not None:
        return w.compare(predicate, x, y)
    return w.pure("i1", f"icmp {predicate} {x}, {y.text}", (x, y))


def _ints(numbers: Sequence[Extent]) -> list[int] | None:
    """The numbers if all are known; None otherwise."""
    found = [n for n in numbers if isinstance(n, int)]
    return found if len(found) == len(numbers) else None


def _dense(sizes: Sequence[int]) -> list[int]:
    return [prod(sizes[position + 1 :]) for position in range(len(sizes))]
