"""What shaders do with cooperative matrices and the tensor language does not (SPV_KHR_cooperative_matrix).

Products of integers say which of their operands have a sign. A component that a work-item holds has a number that may
be known only at run time, and it may be asked for where others have left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.define import Where, annotation, binding, body, flag, op, operand, result
from girih.ir.kinds import (
    COOPMATRIX,
    INDEXES,
    NUMBER,
    NUMBER_OR_COOPMATRIX,
    TENSOR_LAYOUT,
    TENSOR_VIEW,
    exactly,
    matrix,
    memref_of_order,
)
from girih.ir.predicates import IsKind, equal
from girih.ir.surroundings import Subject
from girih.ir.terms import component, type_of
from girih.ir.types import I32, INDEX, CoopMatrix, MemRef, Number, Type, Use
from girih.ops.device.language import DEVICE
from girih.ops.device.numeric import alike
from girih.ops.device.private import PrivateStore
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Bitcast
from girih.ops.tile.control import Yield
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, block_bytes
from girih.rules.predicates import Holds, Satisfies
from girih.rules.row import Row, Undetermined

MATRICES = "SPV_KHR_cooperative_matrix"
DECODE = '001 8.X "coopMatLoadTensorNV"'
DECODE_VECTOR = "SPV_NV_cooperative_matrix_decode_vector"
_WIDEST_SATURATING = {"a": 2, "b": 2, "c": 4, "result": 4}
"""The bytes of the widest components whose sums a saturating product has exactly in 64 bits."""


def _taken(target: type[Op], *ids: str) -> tuple[Row, ...]:
    """Rules of an instruction of the tensor language that hold for one of this language too."""
    rows = {row.id: row for row in TILE_LANGUAGE.rules[target.spec.mnemonic]}
    return tuple(rows[id] for id in ids)


def _one_scope() -> tuple[Row, ...]:
    """The rule that a function of the components gives a matrix of the scope of its operands, of any component type."""

    def scopes(s: Subject) -> set[str]:
        types = [v.type for v in (*s.op.matrices, s.op.result)]
        if not all(isinstance(t, CoopMatrix) for t in types):
            raise Undetermined
        return {t.scope.value for t in types}

    return (Row("scope", "result matrices", Holds("all matrices have one scope", lambda s: len(scopes(s)) == 1,
        lambda s: " and ".join(sorted(scopes(s)))), "the matrices have one scope", MATRICES),)  # fmt: skip


DEVICE.share(TILE_LANGUAGE, CooperativeMatrixApply, without=("same", "result_type"), rows=_one_scope())

# --- products of integers -------------------------------------------------------------------

MUL_ADD = f"{MATRICES} OpCooperativeMatrixMulAddKHR"


@op(DEVICE, "matrix_mul_add", Where.SPMD, MUL_ADD, "a , b , c : result", tangled=True)
class MatrixMulAdd(Op):
    """The product of two matrices of integers plus a third: a b + c. Each has a sign unless it is said to have none.

    Integers wrap around in the type of the result. A saturating one gives the smallest or largest number of that type
    instead; it is exact until the end, which is one of the orders that the extension allows.
    """

    unsigned_a: bool = flag("unsigned_a", "the components of `a` are not negative")
    unsigned_b: bool = flag("unsigned_b", "the components of `b` are not negative")
    unsigned_c: bool = flag("unsigned_c", "the components of `c` are not negative")
    unsigned_result: bool = flag("unsigned_result", "the components of the result are not negative")
    saturating: bool = flag("saturating", "what is too large for the result becomes its smallest or largest number")
    a: Value = operand(matrix(Use.A), "M x K")
    b: Value = operand(matrix(Use.B), "K x N")
    c: Value = operand(matrix(Use.ACC), "M x N")
    result: Value = result(matrix(Use.ACC), "M x N")


def _number_of(s: Subject, name: str) -> Number:
    found = component(name).value(s)
    if not isinstance(found, Number):
        raise Undetermined
    return found


def _too_wide(s: Subject) -> list[str]:
    if not s.op.saturating:
        raise Undetermined
    return [name for name, size in _WIDEST_SATURATING.items() if _number_of(s, name).size > size]


DEVICE.rules(
    MatrixMulAdd,
    *_taken(CooperativeMatrixMulAdd, "scope", "k", "m", "n", "shape"),
    *(
        Row(f"integer_{name}", name, Satisfies(component(name), "is an integer type", lambda t: t.family == "integer"),
            f"the components of `{name}` are integers", MUL_ADD)
        for name in ("a", "b", "c", "result")
    ),
    Row("saturating", "a b c result", Holds("factors of up to 16 bits, sums of up to 32", lambda s: not _too_wide(s),
        lambda s: ", ".join(f"component_type({name}) is {_number_of(s, name)}" for name in _too_wide(s))),
        "a saturating product has factors of up to 16 bits and sums of up to 32", MUL_ADD),
)  # fmt: skip

# --- components that a work-item holds ------------------------------------------------------

LENGTH = f"{MATRICES} OpCooperativeMatrixLengthKHR"
EXTRACT = f"{MATRICES} OpCompositeExtract"
INSERT = f"{MATRICES} OpCompositeInsert"


@op(DEVICE, "matrix_length", Where.SPMD, LENGTH, "of : result")
class MatrixLength(Op):
    """The number of components of a matrix that each work-item holds, those that pad it included."""

    of: Type | None = annotation("the type of the matrix")
    result: Value = result(exactly(I32), "the number")


DEVICE.rules(
    MatrixLength,
    Row("of", "of", Holds("it is a cooperative matrix", lambda s: isinstance(s.op.of, CoopMatrix),
        lambda s: f"it is {s.op.of}"), "the type is that of a cooperative matrix", LENGTH),
)  # fmt: skip


@op(DEVICE, "matrix_extract", Where.SPMD, EXTRACT, "matrix [ index ] : result")
class MatrixExtract(Op):
    """The component at an index of the part of a matrix that the work-item holds; 0 where the layout pads the columns.

    An index that is not below `matrix_length` is found (run.out_of_bounds).
    """

    matrix: Value = operand(COOPMATRIX, "the matrix")
    index: Value = operand(INDEXES, "number of the component in the work-item's part, from 0")
    result: Value = result(NUMBER, "the component")


DEVICE.rules(
    MatrixExtract,
    Row("result_type", "result matrix", equal(type_of("result"), component("matrix")),
        "the result has the component type of the matrix", EXTRACT),
)  # fmt: skip


@op(DEVICE, "matrix_insert", Where.SPMD, INSERT, "a , matrix [ index ] : result")
class MatrixInsert(Op):
    """A copy of a matrix in which each active work-item has replaced one of the components that it holds.

    An index that is not below `matrix_length` is found (run.out_of_bounds).
    """

    a: Value = operand(NUMBER, "the new component")
    matrix: Value = operand(COOPMATRIX, "the matrix")
    index: Value = operand(INDEXES, "number of the component in the work-item's part, from 0")
    result: Value = result(COOPMATRIX, "the copy")


DEVICE.rules(
    MatrixInsert,
    Row("component_type", "a matrix", equal(type_of("a"), component("matrix")),
        "the number has the component type of the matrix", INSERT),
    Row("result_type", "result matrix", equal(type_of("result"), type_of("matrix")),
        "the result has the type of the matrix", INSERT),
)  # fmt: skip

# --- two ways of decoding -------------------------------------------------------------------


def _check_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    return {"block": (fields["block_type"],), "coordinates": (INDEX,) * names["coordinates"]}


@op(
    DEVICE,
    "matrix_check_decode",
    Where.SPMD,
    DECODE_VECTOR,
    "matrix , memory [ offset ] , layout << , view >> decode ( block : block_type , coordinates ) body",
    binding_types=_check_bindings,
    tangled=True,
)
class MatrixCheckDecode(Op):
    """Hold what a load has decoded against a region that yields several neighbouring components at once.

    The region is called for the innermost position that is the multiple of their number at or below that of the
    component. A component that it gives otherwise is found (run.decode), where findings are looked for as a program
    runs step by step; elsewhere nothing happens.
    """

    matrix: Value = operand(COOPMATRIX, "what was loaded and decoded component by component")
    memory: Value = operand(memref_of_order(1), "memory of the tensor", reads=True)
    offset: Value = operand(INDEXES, "element of the memref at which the tensor begins", shared=True)
    layout: Value = operand(TENSOR_LAYOUT, "the layout")
    view: Value | None = operand(TENSOR_VIEW, "the view", optional=True)
    block: Value = binding("the block as a memref")
    block_type: Type | None = annotation("a memref of static shape, packed; its size is that of a block")
    coordinates: tuple[Value, ...] = binding(
        "the block's number in each dimension, then the position in the block", many=True
    )
    body: Region = body(RegionKind.SPMD, "yields neighbouring components")


def _yields_components(s: Subject) -> bool:
    type = s.op.matrix.type
    if not isinstance(type, CoopMatrix) or s.op.body is None:
        raise Undetermined
    last = s.op.body.terminator
    return last is not None and bool(last.operands) and all(v.type == type.component for v in last.operands)


def _static_block(s: Subject) -> bool:
    return isinstance(s.op.block_type, MemRef) and None not in s.op.block_type.shape


DEVICE.rules(
    MatrixCheckDecode,
    *_taken(CooperativeMatrixLoadTensor, "view_dim", "coordinates"),
    Row("block", "block_type", Holds("the block is a memref of static shape", _static_block,
        lambda s: f"its type is {s.op.block_type}"), "a block is a memref of static shape", DECODE_VECTOR),
    Row("yield", "", Holds("the region yields components", _yields_components),
        "the region yields values of the component type", DECODE_VECTOR),
)  # fmt: skip

# --- bits, and what ends regions ------------------------------------------------------------

BITCAST = 'SPIR-V 3.52.11 "OpBitcast"'
DEVICE.share(
    TILE_LANGUAGE, Bitcast, without=("a", "result"),
    rows=(
        Row("number", "a", IsKind("a", NUMBER_OR_COOPMATRIX), "`a` is a number or a cooperative matrix", BITCAST),
        alike("a", "result", BITCAST),
    ),
)  # fmt: skip

_YIELDING = (CooperativeMatrixApply, CooperativeMatrixCombine, CooperativeMatrixLoadTensor, MatrixCheckDecode)


def _parent_came(s: Subject) -> str:
    return f"it stands in `{s.facts.parent.spec.mnemonic}`" if s.facts.parent else "it stands in the function"


DEVICE.share(
    TILE_LANGUAGE, Yield, without=("parent",),
    rows=(
        Row("parent", "", Holds(f"the region belongs to {', '.join(one.spec.mnemonic for one in _YIELDING)}",
            lambda s: isinstance(s.facts.parent, _YIELDING), _parent_came),
            "a `yield` ends a region over components of matrices", MATRICES),
    ),
)  # fmt: skip

# --- what regions and shapes may be ---------------------------------------------------------

_RELAXED: Mapping[str, tuple[str, ...]] = {
    # A matrix has a layout for each number of work-items here.
    "cooperative_matrix_mul_add": ("rows_a", "rows_c", "f8", "promote", "component_type"),
    # Regions see memory and what work-items share, as functions of a shader do.
    "cooperative_matrix_combine": ("closed",),
}
"""Rules of the tensor language that do not hold for shaders, by instruction."""

_ALIKE = """
    cooperative_matrix_load cooperative_matrix_store cooperative_matrix_construct cooperative_matrix_scale
    cooperative_matrix_transpose cooperative_matrix_store_tensor cooperative_matrix_load_blocked_interleaved
    cooperative_matrix_store_blocked_interleaved
    tensor_layout_create tensor_layout_set_block_size tensor_layout_set_dimension tensor_layout_set_stride
    tensor_layout_slice tensor_layout_set_clamp_value tensor_view_create tensor_view_set_dimension
    tensor_view_set_stride tensor_view_set_clip
"""

for _name in _ALIKE.split():
    DEVICE.share(TILE_LANGUAGE, TILE_LANGUAGE.ops[_name])


def _writing_op(s: Subject) -> Op | None:
    """The first instruction of the region that writes memory that others see."""
    if s.op.body is None:
        raise Undetermined
    stack: list[Op] = [*reversed(s.op.body.ops)]
    while stack:
        inner = stack.pop()
        if inner.spec.writes and not isinstance(inner, PrivateStore):
            return inner
        stack.extend(one for region in reversed(inner.regions) for one in reversed(region.ops))
    return None


def _block_fits(s: Subject) -> bool:
    block, memory = s.op.block_type, s.op.memory.type
    if not isinstance(block, MemRef) or not isinstance(memory, MemRef) or None in block.shape:
        raise Undetermined
    return block_bytes(block) % memory.element.size == 0


DEVICE.share(
    TILE_LANGUAGE, CooperativeMatrixLoadTensor, without=("closed", "space", "block_size", "read_only"),
    rows=(
        # A block without a size of its own, as a runtime array, has no bytes: all of them begin where the tensor does.
        Row("block_size", "block_type memory", Holds("bytes(block) mod bytes(element of memory) = 0", _block_fits,
            lambda s: f"a block is {s.op.block_type}, the memory {s.op.memory.type}"),
            "the bytes of a block are a multiple of the memref's element size", DECODE),
        Row("read_only", "", Holds("no instruction in the region writes memory", lambda s: _writing_op(s) is None,
            lambda s: f"`{writing.spec.word}` stands in it" if (writing := _writing_op(s)) else ""),
            "the region only reads memory that others see", DECODE,
            at=lambda s: writing.span if (writing := _writing_op(s)) else None),
    ),
)  # fmt: skip

for _name, _without in _RELAXED.items():
    DEVICE.share(TILE_LANGUAGE, TILE_LANGUAGE.ops[_name], without=_without)
