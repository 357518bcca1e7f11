"""One access of a matrix through a tensor layout: its memory, its numbers, and the facts that are known of its tile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import ClassVar

from girih.analysis.tensors import Digits, coordinates, index_digits, through_view
from girih.back.llvm.emit.text import Val, integer, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.tensor_index import TensorIndex
from girih.back.llvm.lower.tensor_reals import Arithmetic, Reals
from girih.back.llvm.lower.tensor_values import LayoutHeld, ViewHeld
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.floats import as_float
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import MemRefHeld, index, register
from girih.ir.types import PARTS, CoopMatrix, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor

WHOLE = -1
"""The number in place of that of an index for the whole tensor: whether it lies in the memory."""

TensorOp = CooperativeMatrixLoadTensor | CooperativeMatrixStoreTensor


@dataclass(frozen=True)
class TensorTile:
    """One access. `base` is the address of the first component or block of the tensor, `unit` their size in bytes."""

    code: KernelCode
    op: TensorOp
    type: CoopMatrix
    layout: LayoutHeld
    view: ViewHeld | None
    memref: MemRefHeld
    offset: Val
    base: Val
    unit: int

    arithmetic: ClassVar[Arithmetic] = Reals
    """How places of components are computed."""

    @property
    def store(self) -> bool:
        return isinstance(self.op, CooperativeMatrixStoreTensor)

    @property
    def one(self) -> Reals:
        """The arithmetic for one component."""
        return self.arithmetic(self.code.w, 1)

    @cached_property
    def index(self) -> TensorIndex:
        """The index of the tensor, which gives the place of any component."""
        return TensorIndex(
            self.code, self.layout, self.view, self.type.shape, store=self.store, arithmetic=self.arithmetic
        )

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
        span, view = known_numbers(self.layout.span), self.view
        if span is None or self.clips:
            return None
        rows, columns = self.type.shape
        found = index_digits(rows, columns, columns)
        if found is None:
            return None
        if view is not None:
            own = view.type.has_dimensions
            sizes, strides = (
                (known_numbers(view.dimension), known_numbers(view.stride)) if own else (span, _dense(span))
            )
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

    def largest(self, position: int) -> Extent:
        """The largest coordinate in a dimension of the region, or more."""
        if self.digits is not None:
            return sum(d.largest for d in self.digits[position])
        span = self.layout.span[position]
        most = prod(self.type.shape)
        if isinstance(span, int):
            return span - 1 if self.view is not None else min(span, most) - 1
        return addresses.add(self.code.w, span, -1, 1)

    def end(self, position: int) -> Extent:
        """The end of the coordinates in a dimension of the tensor, which are numbers of 32 bits."""
        size = self.layout.dimension[position]
        return min(size, 2**31) if isinstance(size, int) else index(self.code.w.smaller(size.part, 2**31))

    @cached_property
    def inside(self) -> Val:
        """Whether all components lie inside the tensor; more may do."""
        w, layout = self.code.w, self.layout
        found = integer(1, "i1")
        for position, offset in enumerate(layout.offset):
            if (self.op, position) in self.code.place.inside:
                continue
            last = addresses.add(w, offset, self.largest(position), 1)
            end = self.end(position)
            for one in (holds(w, "sge", offset, 0), holds(w, "slt", last, end)):
                found = w.binary("and", found, one)
        return found


def base_of(code: KernelCode, memref: MemRefHeld, offset: Val) -> Val:
    """The address at which a tensor begins: that of an element of a memref."""
    w = code.w
    first = w.add(as_scalar(memref.offset).part, offset)
    return w.at(memref.pointer, w.mul(first, memref.element.size))


def holds(w: Writer, predicate: str, a: Extent, b: Extent) -> Val:
    """The condition of a comparison, which is tested before the loops in which it does not change."""
    x, y = as_scalar(a).part, as_scalar(b).part
    if x.literal is not None and y.literal is not None:
        return w.compare(predicate, x, y)
    return w.compare_early(predicate, x, y)


def known_numbers(numbers: Sequence[Extent]) -> list[int] | None:
    """The numbers if all are known; None otherwise."""
    found = [n for n in numbers if isinstance(n, int)]
    return found if len(found) == len(numbers) else None


def _dense(sizes: Sequence[int]) -> list[int]:
    return [prod(sizes[position + 1 :]) for position in range(len(sizes))]


def clamp_parts(tensor: TensorTile, component: Number) -> tuple[Val, ...]:
    """The component whose bits are the low ones of the clamp value, with zeros above them."""
    code, one = tensor.code, PARTS.get(component, component)
    real = _number(code, one, tensor.layout.clamp_value.part)
    return (real, *(zero(register(one)) for _ in range(component in PARTS)))


def _number(code: KernelCode, type: Number, pattern: Val) -> Val:
    width = f"i{8 * type.size}"
    held = pattern if type.size == 4 else code.w.convert("trunc" if type.size < 4 else "zext", pattern, width)
    if type.family == "floating" and type.size >= 4:
        return as_float(code.w, held, "float" if type.size == 4 else "double")
    return from_memory(code.w, code.features, type, held)
