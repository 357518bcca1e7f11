"""Cooperative matrices: memory, products, components and conversions (SPV_KHR_cooperative_matrix, 002).

Conversions of components and arithmetic are those of numbers, which take matrices too.
"""

from __future__ import annotations

from girih.front.spirv.handlers import translates
from girih.front.spirv.leaves import INTEGERS, is_signed, leaves
from girih.front.spirv.pointers import Pointer
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import I32, INDEX, CoopMatrix, MemRef, Number
from girih.ops.tile.coopmatrix_tensor import BlockOrder
from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction

SIGNED = {"a": 1, "b": 2, "c": 4, "result": 8}
"""The bits of Cooperative Matrix Operands that say that components have a sign, by operand."""
SATURATING = 16
"""SaturatingAccumulationKHR."""
BLOCKED = {
    "RowBlockedInterleavedARM": BlockOrder.ROW,
    "ColumnBlockedInterleavedARM": BlockOrder.COLUMN,
}
"""Cooperative Matrix Layouts of 002, by name."""


def matrix_type(t: Translation, one: Instruction) -> CoopMatrix:
    """The matrix that an instruction gives."""
    (type,) = t.leaf_types(one)
    assert isinstance(type, CoopMatrix)
    return type


def type_of(matrix: Value) -> CoopMatrix:
    """The type of a matrix value."""
    assert isinstance(matrix.type, CoopMatrix)
    return matrix.type


# --- memory ----------------------------------------------------------------------------------


@translates("OpCooperativeMatrixLoadKHR")
def load(t: Translation, one: Instruction) -> None:
    """A matrix from rows or columns, or from interleaved blocks."""
    type = matrix_type(t, one)
    order = BLOCKED.get(_layout(t, one))
    if order is None:
        t.give(one, t.emit("cooperative_matrix_load", type, **_tile(t, one, type)))
        return
    memory, stride = _blocks(t, one, type)
    fields = {"order": order, "memory": memory, "offset": t.index(0), "stride": stride}
    t.give(one, t.emit("cooperative_matrix_load_blocked_interleaved", type, **fields))


@translates("OpCooperativeMatrixStoreKHR")
def store(t: Translation, one: Instruction) -> None:
    """A matrix to rows or columns, or to interleaved blocks."""
    matrix = t.leaf(one.id("object"))
    order = BLOCKED.get(_layout(t, one))
    if order is None:
        t.emit("cooperative_matrix_store", matrix=matrix, **_tile(t, one, type_of(matrix)))
        return
    memory, stride = _blocks(t, one, type_of(matrix))
    fields = {"order": order, "memory": memory, "offset": t.index(0), "stride": stride}
    t.emit("cooperative_matrix_store_blocked_interleaved", matrix=matrix, **fields)


def _layout(t: Translation, one: Instruction) -> str:
    return grammar().kinds["CooperativeMatrixLayout"].name_of(t.integer(one.id("memory_layout"))) or ""


def _tile(t: Translation, one: Instruction, type: CoopMatrix) -> dict[str, object]:
    """The memory of a matrix as a memref whose first mode runs along a row or column, and whether it runs along rows.

    Stride counts elements of the pointer's type, which need not be components.
    """
    by_rows = _layout(t, one) == "RowMajorKHR"
    along, across = type.shape[::-1] if by_rows else type.shape
    pointer, size = t.pointer(one.id("pointer")), type.component.size
    step, known = _line_distance(t, one, pointer, size)
    needed = size * ((across - 1) * known + along) if known is not None else size
    shape, strides = (along, None), (1, known if known else None)
    given = () if known else (step,)
    memory = view(t, pointer, type.component, shape, strides, given, needed)
    zero = t.index(0)
    return {"transpose": by_rows, "memory": memory, "row": zero, "column": zero}


def _line_distance(t: Translation, one: Instruction, pointer: Pointer, size: int) -> tuple[Value, int | None]:
    """The components from one row or column to the next, and their number where it is known."""
    stride = one.get("stride")
    pointee = bytes_of_pointee(t, pointer)
    if not isinstance(stride, int):
        raise Undetermined
    elements = t.as_type(t.leaf(stride), INDEX)
    if pointee % size == 0:
        found = t.times(elements, pointee // size)
        return found, t.literal(found)
    bytes = t.times(elements, pointee)
    known = t.literal(bytes)
    if known is not None and known % size == 0:
        return t.index(known // size), known // size
    # The second row or column begins at a multiple of the size of a component, or the view of it is found.
    place = t.bytes_at(pointer, size)
    second = t.sum_of(place.offset, bytes)
    t.emit("byte_view", _memref(place.memory, INTEGERS[8 * size], (None,), (1,)), memory=place.memory, offset=second)
    return t.one("div", INDEX, a=bytes, b=t.index(size)), None


def _blocks(t: Translation, one: Instruction, type: CoopMatrix) -> tuple[Value, int]:
    """The memory of a dense matrix in interleaved blocks, and the number of blocks that are interleaved."""
    stride = one.get("stride")
    bytes = type.rows * type.columns * type.component.size
    memory = view(t, t.pointer(one.id("pointer")), type.component, (None,), (1,), (), bytes)
    return memory, t.integer(stride) if isinstance(stride, int) else 1


def view(
    t: Translation,
    pointer: Pointer,
    component: Number,
    shape: tuple[int | None, ...],
    strides: tuple[int | None, ...],
    given: tuple[Value, ...],
    needed: int,
) -> Value:
    """The bytes from what a pointer points to on as a memref of components, which reaches as far as the memory does.

    `given` are the strides that the type leaves open; `needed` bytes are looked up at an address.
    """
    place = t.bytes_at(pointer, needed)
    type = _memref(place.memory, component, shape, strides)
    return t.one("byte_view", type, memory=place.memory, offset=place.offset, strides=given)


def _memref(memory: Value, component: Number, shape: tuple[int | None, ...], strides: tuple[int | None, ...]) -> MemRef:
    assert isinstance(memory.type, MemRef)
    return MemRef(component, shape, strides, memory.type.space)


def bytes_of_pointee(t: Translation, pointer: Pointer) -> int:
    """The bytes of what a pointer points to, a number or a vector of numbers."""
    return sum(leaf.size for leaf in leaves(pointer.pointee) if isinstance(leaf, Number))


# --- products --------------------------------------------------------------------------------


@translates("OpCooperativeMatrixMulAddKHR")
def multiply_add(t: Translation, one: Instruction) -> None:
    """A B + C; of integers as the mask of signs says, of which all that have one are the tensor language's."""
    type = matrix_type(t, one)
    factors = {name: t.leaf(one.id(name)) for name in ("a", "b", "c")}
    mask = one.get("cooperative_matrix_operands")
    mask = mask if isinstance(mask, int) else 0
    signed = all(mask & bit for bit in SIGNED.values())
    if type.component.family != "integer" or (signed and not mask & SATURATING):
        t.give(one, t.emit("cooperative_matrix_mul_add", type, **factors))
        return
    flags = {f"unsigned_{name}": not mask & bit for name, bit in SIGNED.items()}
    t.give(one, t.emit("matrix_mul_add", type, **factors, **flags, saturating=bool(mask & SATURATING)))


# --- components ------------------------------------------------------------------------------


@translates("OpCooperativeMatrixLengthKHR")
def length(t: Translation, one: Instruction) -> None:
    """The number of components that a work-item holds."""
    (of,) = leaves(t.facts.type(one.id("type")))
    t.give(one, t.emit("matrix_length", I32, of=of))


# --- conversions -----------------------------------------------------------------------------


@translates("OpCooperativeMatrixConvertNV")
def convert(t: Translation, one: Instruction) -> None:
    """The same components with another use; signs are no part of their type."""
    t.give(one, t.emit("cast", matrix_type(t, one), a=t.leaf(one.id("matrix"))))


@translates("OpCooperativeMatrixTransposeNV")
def transpose(t: Translation, one: Instruction) -> None:
    """The transpose; components of another type are converted first."""
    type, matrix = matrix_type(t, one), t.leaf(one.id("matrix"))
    given = type_of(matrix)
    if given.component != type.component:
        signed = is_signed(t.type_of(one.id("matrix")))
        matrix = converted(t, matrix, CoopMatrix(type.component, *given.shape, given.use, given.scope), signed=signed)
    t.give(one, t.emit("cooperative_matrix_transpose", type, matrix=matrix))


def converted(t: Translation, matrix: Value, type: CoopMatrix, *, signed: bool) -> Value:
    """A matrix with components of another type."""
    if type_of(matrix).component.family == "integer" and not signed:
        wider = type.component.size > type_of(matrix).component.size
        if type.component.family == "floating":
            return t.one("unsigned_to_float", type, a=matrix)
        return t.one("zero_extend" if wider else "cast", type, a=matrix)
    return t.one("cast", type, a=matrix)
