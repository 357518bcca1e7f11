"""Tensor layouts and views, and the matrices that are loaded and stored through them (000, 001).

Numbers of layouts are unsigned but for the offsets of slices. A function that decodes blocks sees its block as memory.
"""

from __future__ import annotations

from typing import Any

from girih.diagnostics import CompileError
from girih.front.spirv.codes import refused
from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.element_functions import parameters_of
from girih.front.spirv.instructions.matrices import matrix_type, type_of, view
from girih.front.spirv.leaves import leaves
from girih.front.spirv.pointers import BytePointer
from girih.front.spirv.translation import Translation
from girih.ir.core import Op, Region, Slice, Value
from girih.ir.types import I8, I32, INDEX, CoopMatrix, MemRef
from girih.ir.types import Type as IrType
from girih.spirv.instruction import Instruction

U32 = (1 << 32) - 1

SETTERS = {
    "OpTensorLayoutSetBlockSizeNV": ("tensor_layout_set_block_size", "layout", "block_size"),
    "OpTensorLayoutSetDimensionNV": ("tensor_layout_set_dimension", "layout", "dim"),
    "OpTensorLayoutSetStrideNV": ("tensor_layout_set_stride", "layout", "stride"),
    "OpTensorViewSetDimensionNV": ("tensor_view_set_dimension", "view", "dim"),
    "OpTensorViewSetStrideNV": ("tensor_view_set_stride", "view", "stride"),
}
"""Instructions that set one number for each dimension: ours, what they change, and the name of their numbers."""


def unsigned(t: Translation, id: int) -> Value | int:
    """A number of a layout that is not negative: of index type, or an int where it is known."""
    value = t.leaf(id)
    known = t.literal(value)
    return known & U32 if known is not None else t.one("zero_extend", INDEX, a=value)


def signed(t: Translation, id: int) -> Value | int:
    """A number of a layout that may be negative: of index type, or an int where it is known."""
    value = t.leaf(id)
    known = t.literal(value)
    return known if known is not None else t.as_type(value, INDEX)


def _type(t: Translation, one: Instruction) -> IrType:
    (type,) = t.leaf_types(one)
    return type


# --- layouts and views -----------------------------------------------------------------------


@translates("OpCreateTensorLayoutNV")
def create_layout(t: Translation, one: Instruction) -> None:
    """A layout without dimensions."""
    t.give(one, t.emit("tensor_layout_create", _type(t, one)))


@translates("OpCreateTensorViewNV")
def create_view(t: Translation, one: Instruction) -> None:
    """A view without dimensions."""
    t.give(one, t.emit("tensor_view_create", _type(t, one)))


@translates(*SETTERS)
def set_numbers(t: Translation, one: Instruction) -> None:
    """A layout or view with other numbers, one for each dimension."""
    mnemonic, what, numbers = SETTERS[one.name]
    fields = {what: t.leaf(one.id(f"tensor_{what}")), "numbers": tuple(unsigned(t, id) for id in one.ids(numbers))}
    t.give(one, t.emit(mnemonic, _type(t, one), **fields))


@translates("OpTensorLayoutSliceNV")
def slice_layout(t: Translation, one: Instruction) -> None:
    """A layout whose accessed region moves by signed offsets and has other spans; offsets and spans take turns."""
    numbers = one.ids("operands")
    slices = [
        Slice(signed(t, offset), unsigned(t, span)) for offset, span in zip(numbers[::2], numbers[1::2], strict=True)
    ]
    fields = {"layout": t.leaf(one.id("tensor_layout")), "slices": tuple(slices)}
    t.give(one, t.emit("tensor_layout_slice", _type(t, one), **fields))


@translates("OpTensorLayoutSetClampValueNV")
def set_clamp_value(t: Translation, one: Instruction) -> None:
    """A layout with other bits for what lies outside."""
    fields = {"layout": t.leaf(one.id("tensor_layout")), "value": t.leaf(one.id("value"))}
    t.give(one, t.emit("tensor_layout_set_clamp_value", _type(t, one), **fields))


@translates("OpTensorViewSetClipNV")
def set_clip(t: Translation, one: Instruction) -> None:
    """A view that accesses some rows and columns only."""
    rows, columns = (
        Slice(*(unsigned(t, one.id(f"clip_{axis}_{number}")) for number in ("offset", "span")))
        for axis in ("row", "col")
    )
    fields = {"view": t.leaf(one.id("tensor_view")), "slices": (rows, columns)}
    t.give(one, t.emit("tensor_view_set_clip", _type(t, one), **fields))


# --- memory ----------------------------------------------------------------------------------


@translates("OpCooperativeMatrixLoadTensorNV")
def load(t: Translation, one: Instruction) -> None:
    """A matrix through a layout, and a view, decoded from blocks by a function if there is one.

    A second function that decodes several components at once gives what the first one does, or that is found.
    """
    type = matrix_type(t, one)
    scalar, vector = one.id("DecodeFunc"), one.id("DecodeVectorFunc")
    place = _place(t, one, type, scalar)
    found = t.one("cooperative_matrix_load_tensor", type, init=t.leaf(one.id("object")), **place,
                  **(_decode(t, scalar, place["memory"]) if scalar else {}))  # fmt: skip
    if vector:
        t.emit("matrix_check_decode", matrix=found, **place, **_decode(t, vector, place["memory"]))
    t.give(one, [found])


@translates("OpCooperativeMatrixStoreTensorNV")
def store(t: Translation, one: Instruction) -> None:
    """A matrix through a layout, and a view."""
    matrix = t.leaf(one.id("object"))
    t.emit("cooperative_matrix_store_tensor", matrix=matrix, **_place(t, one, type_of(matrix), 0))


def _place(t: Translation, one: Instruction, type: CoopMatrix, decode: int) -> dict[str, Any]:
    """The memory of a tensor from its beginning on, its layout and its view."""
    element, needed = type.component, type.component.size
    if decode:
        element, needed = I8, max(1, _block_bytes(t, parameters_of(t, decode)[0]))
    memory = view(t, t.pointer(one.id("pointer")), element, (None,), (1,), (), needed)
    over = one.id("TensorView")
    fields = {"memory": memory, "offset": t.index(0), "layout": t.leaf(one.id("tensor_layout"))}
    return {**fields, "view": t.leaf(over) if over else None}


def _block_bytes(t: Translation, pointer: int) -> int:
    """The bytes from a block to the next: what the first parameter of a function that decodes points to, rounded up."""
    type = t.type_of(pointer)
    return t.explicit.pointer_stride(type, t.facts.pointee(type))


def _without_addresses(t: Translation, body: Region) -> tuple[Op, ...]:
    """The code of a function that decodes, without the numbers that stand for pointers into its block.

    Raises `CompileError` where one is used as a number, or chosen: what a block is has no address.
    """
    for op in body.walk():
        if any(value in t.blocks for value in op.operands):
            expected = "pointers into the block of a decode function that are the same each time it is called"
            raise CompileError([refused("pointer", expected, "one that is computed, chosen or stored", op.span)])
    return tuple(op for op in body.ops if not any(result in t.blocks for result in op.results))


def _decode(t: Translation, function: int, tensor: Value) -> dict[str, object]:
    """The fields of a region that calls a function for the block and for coordinates, which are unsigned.

    A block without a size of its own is a runtime array: all blocks are then the tensor, from its beginning on.
    """
    pointer, blocks, within = parameters_of(t, function)
    bytes = _block_bytes(t, pointer)
    block = Value("", MemRef.packed(I8, (bytes,)), t.span)
    coordinates = [Value("", INDEX, t.span) for _ in (*leaves(t.type_of(blocks)), *leaves(t.type_of(within)))]
    with t.inside(t.builder.inner()) as inner:
        numbers = [t.one("cast", I32, a=coordinate) for coordinate in coordinates]
        half = len(numbers) // 2
        pointee = t.facts.pointee(t.type_of(pointer))
        memory, alignment = (block, bytes & -bytes) if bytes else (tensor, 16)
        start = BytePointer(pointee, "PhysicalStorageBuffer", memory, t.index(0), alignment)
        body, span = t.region_of(function, {pointer: start, blocks: numbers[:half], within: numbers[half:]})
    region = Region(body.kind, (*inner.ops, *_without_addresses(t, body)), span)
    return {"block": block, "block_type": block.type, "coordinates": tuple(coordinates), "body": region}
