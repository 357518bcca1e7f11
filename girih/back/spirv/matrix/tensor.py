"""Loads and stores of matrices of the device through tensor layouts and views (000, 001), and in blocks (002).

A layout or view is made where something is accessed through it, from the numbers that `lower.tensor_layout` keeps. Its
strides are always said: an H200 with driver 580 takes the floor of dimension / block size in those that are implied.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.tensor import shared_tensor
from girih.back.llvm.lower.tensor_values import U32, LayoutHeld, ViewHeld
from girih.back.llvm.lower.tiles.checks import check, is_legal
from girih.back.llvm.lower.tiles.tensor import TensorTile
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, index, memory_type, uniform
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory, ShaderPlace
from girih.back.spirv.code.nodes import ShaderRoutine
from girih.back.spirv.matrix.code import (
    MatrixCode,
    matrix_of,
    matrix_type_of,
    matrix_word,
    together,
)
from girih.back.spirv.matrix.memory import MatrixPlace, matrix_place, seen_as
from girih.back.spirv.matrix.operations import BlockWords, layout_type, view_type
from girih.back.spirv.matrix.regions import yielded_by
from girih.back.spirv.matrix.values import splat
from girih.ir.core import Op, Value
from girih.ir.types import INDEX, ClampMode, MemRef, Number
from girih.ops.tile.coopmatrix_tensor import (
    BlockOrder,
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixLoadTensor,
    CooperativeMatrixStoreBlockedInterleaved,
    CooperativeMatrixStoreTensor,
    block_bytes,
)

LOWERINGS = Lowerings[MatrixCode]()
"""The lowerings of this file."""

# 000 3.X "Tensor Clamp Mode".
CLAMP_MODES = {
    ClampMode.UNDEFINED: 0,
    ClampMode.CONSTANT: 1,
    ClampMode.CLAMP_TO_EDGE: 2,
    ClampMode.REPEAT: 3,
    ClampMode.MIRROR_REPEAT: 4,
}
"""The numbers of the clamp modes."""


# --- layouts and views -------------------------------------------------------------------------


def _words(code: MatrixCode, numbers: Sequence[Extent]) -> tuple[Val, ...]:
    """Numbers as 32 bits each."""
    return tuple(
        integer(one, "i32") if isinstance(one, int) else code.w.convert("trunc", as_scalar(one).part, "i32")
        for one in numbers
    )


def _pairs(first: Sequence[Extent], second: Sequence[Extent]) -> list[Extent]:
    return [one for pair in zip(first, second, strict=True) for one in pair]


def layout_of(code: MatrixCode, held: LayoutHeld, name: str) -> Val:
    """A layout of the device with some numbers; readers know the tensor as `name`."""
    dim = held.type.dim
    type = layout_type(dim, CLAMP_MODES[held.mode])
    layout = code.node("layout_create", (), type)

    def set(operation: str, numbers: Sequence[Extent]) -> Val:
        return code.recorder.named(
            code.node(operation, (layout, *_words(code, numbers)), type),
            f"{name}_{'tile' if operation == 'layout_slice' else 'layout'}",
        )

    if any(size != 1 for size in held.block_size):
        layout = set("layout_set_block_size", held.block_size)
    layout = set("layout_set_dimension", held.dimension)
    layout = set("layout_set_stride", held.stride)
    if held.span != held.dimension or any(offset != 0 for offset in held.offset):
        layout = set("layout_slice", _pairs(held.offset, held.span))
    if held.mode is ClampMode.CONSTANT and held.clamp_value.part.literal != 0:
        layout = code.node("layout_set_clamp_value", (layout, held.clamp_value.part), type)
        code.recorder.named(layout, f"{name}_tile")
    return layout


def view_of(code: MatrixCode, held: ViewHeld) -> Val:
    """A view of the device with some numbers."""
    type = view_type(held.type.dim, held.type.has_dimensions, held.type.permutation)
    view = code.node("view_create", (), type)
    if held.type.has_dimensions:
        view = code.node("view_set_dimension", (view, *_words(code, held.dimension)), type)
        view = code.node("view_set_stride", (view, *_words(code, held.stride)), type)
    if held.clip != (0, U32, 0, U32):
        view = code.node("view_set_clip", (view, *_words(code, held.clip)), type)
    return view


# --- accesses ----------------------------------------------------------------------------------


def _base(code: MatrixCode, op: Op, memory: Value, offset: Value, seen: Number, *, written: bool) -> MatrixPlace:
    """The place at which the tensor begins, in memory that is seen as elements of a number type."""
    together(code, op)
    memref = shared_memref(code, op, "memory", code.memref(memory))
    check_null(code, op, memref)
    w = code.w
    first = w.add(as_scalar(memref.offset).part, code.agreed(op, "offset", code.scalar(offset))[0])
    distance = w.mul(first, memref.element.size)
    return matrix_place(code, memref.pointer, distance, seen_as(seen), seen.size, written=written)


def _seen(code: MatrixCode, tensor: TensorTile, seen: Number) -> MatrixPlace:
    """The place at which a tensor begins, in memory that is seen as elements of a number type."""
    return matrix_place(code, tensor.base, integer(0), seen_as(seen), seen.size, written=tensor.store)


def _through(code: MatrixCode, tensor: TensorTile) -> tuple[Val, ...]:
    """The layout and the view of an access."""
    layout = layout_of(code, tensor.layout, code.recorder.place(tensor.base).memory.name)
    return (layout,) if tensor.view is None else (layout, view_of(code, tensor.view))


@LOWERINGS.of(CooperativeMatrixLoadTensor)
def load(code: MatrixCode, op: CooperativeMatrixLoadTensor) -> None:
    """Load through a layout; what the view clips is as in `init`."""
    type = matrix_type_of(op.result)
    decoded = op.body is not None
    assert isinstance(op.memory.type, MemRef)
    seen = op.memory.type.element if decoded else type.component
    unit = block_bytes(op.block_type) if isinstance(op.block_type, MemRef) else type.component.size
    tensor = shared_tensor(code, op, type, unit)
    if not is_legal(tensor):
        code.set(op.result, splat(code, type, code.zero(type.component, 1)))
        return
    check(tensor)
    place = _seen(code, tensor, seen)
    details = (place.memory, place.type, _decoder(code, op) if decoded else None)
    operands = (matrix_of(code, op.init), place.element, *_through(code, tensor))
    code.set(op.result, code.recorder.node("matrix_load_tensor", operands, matrix_word(type), details))


@LOWERINGS.of(CooperativeMatrixStoreTensor)
def store(code: MatrixCode, op: CooperativeMatrixStoreTensor) -> None:
    """Store through a layout; what lies outside, or what the view clips, is dropped."""
    type = matrix_type_of(op.matrix)
    tensor = shared_tensor(code, op, type, type.component.size)
    if not is_legal(tensor):
        return
    check(tensor)
    place = _seen(code, tensor, type.component)
    operands = (matrix_of(code, op.matrix), place.element, *_through(code, tensor))
    code.recorder.node("matrix_store_tensor", operands, None, (place.memory, place.type))


# --- decoding ----------------------------------------------------------------------------------


def _block(op: CooperativeMatrixLoadTensor) -> BlockWords:
    block = op.block_type
    assert isinstance(block, MemRef)
    parts = 2 if block.element.family == "complex" else 1
    return BlockWords(memory_type(block.element), parts * prod(size or 0 for size in block.shape))


def _decoder(code: MatrixCode, op: CooperativeMatrixLoadTensor) -> ShaderRoutine:
    """The routine that decodes a component from the block in which it lies."""
    type, block = matrix_type_of(op.result).component, op.block_type
    assert isinstance(block, MemRef) and op.block is not None and op.body is not None
    here, region = op.block, op.body
    names = [value.name for value in op.coordinates]
    extents: list[int | Scalar] = [size or 0 for size in block.shape]
    strides: list[int | Scalar] = [stride or 0 for stride in block.strides]

    def body(given: tuple[Val, ...]) -> Val:
        size = block.element.size
        words = _block(op)
        held = ShaderMemory(MemoryKind.BLOCK, here.name, size=size * words.count, element=words.element, block=given[0])
        code.recorder.code.memories.append(held)
        pointer = code.recorder.pointer(ShaderPlace(held, integer(0)))
        memory = MemRefHeld(block, pointer, index(0), tuple(extents), tuple(strides), here.name, size, maybe_null=False)
        coordinates = [uniform(INDEX, code.w.convert("zext", one, "i64")) for one in given[1:]]
        return yielded_by(code, region, type, [(here, memory), *zip(op.coordinates, coordinates, strict=True)])

    return code.routine("decode", [(here.name, str(_block(op))), *((name, "i32") for name in names)], body)


# --- interleaved blocks ------------------------------------------------------------------------

_ORDERS = {BlockOrder.ROW: "row", BlockOrder.COLUMN: "column"}


@LOWERINGS.of(CooperativeMatrixLoadBlockedInterleaved)
def load_blocked(code: MatrixCode, op: CooperativeMatrixLoadBlockedInterleaved) -> None:
    """Load a matrix that is stored in interleaved blocks."""
    type = matrix_type_of(op.result)
    place = _base(code, op, op.memory, op.offset, type.component, written=False)
    details = (place.memory, place.type, _ORDERS[op.order], op.stride)
    code.set(op.result, code.recorder.node("matrix_load_blocked", (place.element,), matrix_word(type), details))


@LOWERINGS.of(CooperativeMatrixStoreBlockedInterleaved)
def store_blocked(code: MatrixCode, op: CooperativeMatrixStoreBlockedInterleaved) -> None:
    """Store a matrix in interleaved blocks."""
    type = matrix_type_of(op.matrix)
    place = _base(code, op, op.memory, op.offset, type.component, written=True)
    details = (place.memory, place.type, _ORDERS[op.order], op.stride)
    code.recorder.node("matrix_store_blocked", (matrix_of(code, op.matrix), place.element), None, details)
