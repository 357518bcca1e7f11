"""Loads and stores of matrices through tensor layouts and views (`girih.ops.tile.coopmatrix_tensor`): each work-item
moves what it holds, component by component, by the formulas of the specification in integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    EqualComponents,
    Matrix,
    OwnMatrix,
    Parts,
    matrix,
    matrix_type,
    read,
    release,
    result_arrays,
    together,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.memory import filled, load_parts, shared_memory, store_parts, taken
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside, called, number_of, region_weight
from girih.back.llvm.lower.tensor_index import Element
from girih.back.llvm.lower.tensor_reals import Arithmetic, Real
from girih.back.llvm.lower.tensor_values import LayoutHeld, ViewHeld, shared_layout, shared_view
from girih.back.llvm.lower.tiles.checks import check, is_legal
from girih.back.llvm.lower.tiles.tensor import TensorOp, TensorTile, base_of, clamp_parts
from girih.back.llvm.lower.tiles.wholes import WholeNumbers
from girih.back.llvm.numbers.addresses import Extent, as_extent
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, index
from girih.ir.core import Value
from girih.ir.types import ClampMode, CoopMatrix, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_tensor import (
    CooperativeMatrixLoadTensor,
    CooperativeMatrixStoreTensor,
    block_bytes,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

_WEIGHT = 8
"""A component is worth so many simple instructions."""


@dataclass(frozen=True)
class PrivateTensorTile(TensorTile):
    """One access, of which each work-item computes the places of its own components."""

    code: OneLaneCode

    arithmetic: ClassVar[Arithmetic] = WholeNumbers

    def element(self, at: Position, *, inside: bool = False) -> Element:
        """The element of a component, which may be known to be `inside` of the tensor."""
        w, one = self.code.w, self.one
        places = [w.convert("zext", place, "i64") for place in (at.row, at.column)]
        if not inside or self.digits is None:
            return self.index.at(places[0], places[1], 1)
        coordinates: list[Real] = []
        for digits in self.digits:
            total: Real = 0
            for digit in digits:
                quotient = one.quotient(places[digit.axis], digit.divisor)
                number = quotient if digit.whole else one.remainder(quotient, digit.count)
                total = one.add(total, one.mul(number, digit.weight))
            coordinates.append(total)
        return self.index.inside(coordinates)

    def there(self, found: Element, at: Position) -> Val | None:
        """Whether a component has an element in memory; None if it has one for certain."""
        w = self.code.w
        held = w.both(at.exists, w.negated(found.clipped))
        if not self.index.moves:
            held = w.both(held, w.negated(found.outside))
        return None if held is None or held.literal == 1 else held

    def number(self, found: Element) -> Val:
        """How many components or blocks an element lies behind the base."""
        return found.element if isinstance(found.element, Val) else self.code.w.value(found.element)

    def address(self, found: Element) -> Val:
        """The address of an element, or of its block."""
        return self.code.w.at(self.base, self.code.w.mul(self.number(found), self.unit))


def shared_tensor(code: OneLaneCode, op: TensorOp, type: CoopMatrix, unit: int) -> PrivateTensorTile:
    """The access of an instruction to a tensor, with a layout and a view that all work-items have alike."""
    together(code, op, type)
    memref = shared_memory(code, op, "memory", op.memory)
    offset = code.agreed(op, "offset", code.index(op.offset))[0]
    layout = _shared_layout(code, op, code.env[op.layout])
    view = None if op.view is None else _shared_view(code, op, op.view, code.env[op.view])
    return PrivateTensorTile(code, op, type, layout, view, memref, offset, base_of(code, memref, offset), unit)


def _alike(code: OneLaneCode, op: TensorOp, name: str, numbers: tuple[Extent, ...]) -> tuple[Extent, ...]:
    return tuple(n if isinstance(n, int) else as_extent(index(code.agreed(op, name, n)[0])) for n in numbers)


def _shared_layout(code: OneLaneCode, op: TensorOp, held: LayoutHeld) -> LayoutHeld:
    """The layout, which all work-items must have alike."""
    if op.layout not in code.varying:
        return shared_layout(code, op, held)
    block_size, dimension, stride, offset, span = (
        _alike(code, op, "layout", numbers)
        for numbers in (held.block_size, held.dimension, held.stride, held.offset, held.span)
    )
    value = Scalar(held.clamp_value.type, code.agreed(op, "layout", held.clamp_value))
    return LayoutHeld(held.type, block_size, dimension, stride, offset, span, value)


def _shared_view(code: OneLaneCode, op: TensorOp, value: Value, held: ViewHeld) -> ViewHeld:
    """The view, which all work-items must have alike."""
    if value not in code.varying:
        return shared_view(code, op, held)
    dimension, stride, clip = (
        _alike(code, op, "view", numbers) for numbers in (held.dimension, held.stride, held.clip)
    )
    return ViewHeld(held.type, dimension, stride, clip)


# --- instructions ------------------------------------------------------------------------------


@LOWERINGS.of(CooperativeMatrixLoadTensor)
def load(code: OneLaneCode, op: CooperativeMatrixLoadTensor) -> None:
    """Lower a load: components come from memory or a block, or are the clamp value, or those of `init`."""
    type = matrix_type(op.result)
    tensor = shared_tensor(code, op, type, unit_of(op))
    if not is_legal(tensor):
        release(code, op)
        code.set(op.result, EqualComponents(type, zero_parts(type.component)))
        return
    check(tensor)
    before = matrix(code, op.init)
    into = None if isinstance(before, OwnMatrix) else result_arrays(code, op, op.result)
    weight = _WEIGHT + (0 if op.body is None else region_weight(op.body))
    with agreed_outside(code, op, type):
        result = filled(code, op.result, lambda _: None, partial(loaded, tensor, before), into=into, weight=weight)
    release(code, op)
    code.set(op.result, result)


def report_flaws(code: OneLaneCode, op: TensorOp) -> None:
    """Write the checks of a load or store, and nothing else of it."""
    if isinstance(op, CooperativeMatrixLoadTensor):
        type, unit = matrix_type(op.result), unit_of(op)
    else:
        type = matrix_type(op.matrix)
        unit = type.component.size
    tensor = shared_tensor(code, op, type, unit)
    if is_legal(tensor):
        check(tensor)


ComponentReader = Callable[[Position, Val], Parts]
"""A component from its place in the matrix and its number among those that a work-item holds."""


def component_reader(code: OneLaneCode, op: CooperativeMatrixLoadTensor, before: Matrix) -> ComponentReader:
    """What computes components of the matrix that an instruction loads, which was `before` where a view clips it.

    Nothing is checked. What an illegal layout or view gives is zero.
    """
    type = matrix_type(op.result)
    tensor = shared_tensor(code, op, type, unit_of(op))
    if not is_legal(tensor):
        return lambda at, component: zero_parts(type.component)
    return partial(loaded, tensor, before)


def block_of(op: CooperativeMatrixLoadTensor) -> MemRef | None:
    """The type of the blocks that a load decodes; None where it decodes nothing."""
    return op.block_type if isinstance(op.block_type, MemRef) else None


def unit_of(op: CooperativeMatrixLoadTensor) -> int:
    """The bytes from a component, or block, of the tensor of a load to the next."""
    block = block_of(op)
    return matrix_type(op.result).component.size if block is None else block_bytes(block)


def loaded(tensor: PrivateTensorTile, before: Matrix, at: Position, component: Val, *, inside: bool = False) -> Parts:
    """A component of a load; where the whole tile is `inside` of the tensor, nothing is asked of it."""
    code, op = tensor.code, tensor.op
    assert isinstance(op, CooperativeMatrixLoadTensor)
    found = tensor.element(at, inside=inside)
    there = at.exists if inside else tensor.there(found, at)

    def get() -> Parts:
        if block_of(op) is None:
            return load_parts(code, tensor.type.component, tensor.address(found))
        return _decoded(code, op, tensor, found, at)

    def other() -> Parts:
        return _without_element(tensor, found, before, component)

    return get() if there is None else tuple(code.w.either(there, get, other))


def _without_element(tensor: PrivateTensorTile, found: Element, before: Matrix, component: Val) -> Parts:
    """A component that has no element in memory: what it was where it is clipped, or the clamp value, or zero."""
    code, w, type = tensor.code, tensor.code.w, tensor.type
    parts = zero_parts(type.component)
    if tensor.layout.mode is ClampMode.CONSTANT:
        parts = clamp_parts(tensor, type.component)
    if found.clipped.literal == 0:
        return parts
    kept = read(code, before, component)
    return tuple(w.select(found.clipped, a, b) for a, b in zip(kept, parts, strict=True))


def _decoded(
    code: OneLaneCode, op: CooperativeMatrixLoadTensor, tensor: PrivateTensorTile, found: Element, at: Position
) -> Parts:
    """The component that the region yields for its block."""
    w, block = code.w, op.block_type
    assert isinstance(block, MemRef) and op.block is not None and op.body is not None
    shape, strides = (tuple(n or 0 for n in numbers) for numbers in (block.shape, block.strides))
    offset = index(w.mul(tensor.number(found), block_bytes(block) // block.element.size))
    size = block.element.size
    held = MemRefHeld(block, tensor.base, offset, shape, strides, op.block.name, size, maybe_null=False)
    places = [index(n) for n in (*found.blocks, *found.within)]
    columns = tensor.type.columns
    arguments = zip((op.block, *op.coordinates), (held, *places), strict=True)
    return called(code, op.body, number_of(code, at, columns), columns, arguments)


@LOWERINGS.of(CooperativeMatrixStoreTensor)
def store(code: OneLaneCode, op: CooperativeMatrixStoreTensor) -> None:
    """Lower a store: components go to memory, those without an element are dropped."""
    m = matrix(code, op.matrix)
    type = m.type
    tensor = shared_tensor(code, op, type, type.component.size)
    if is_legal(tensor):
        check(tensor)

        def put(at: Position, component: Val) -> None:
            found = tensor.element(at)
            store_parts(code, type.component, tensor.address(found), read(code, m, component))

        taken(code, m, lambda at: tensor.there(tensor.element(at), at), put, weight=_WEIGHT)
    release(code, op)
