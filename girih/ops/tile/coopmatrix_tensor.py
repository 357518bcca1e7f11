"""Loads and stores of cooperative matrices through tensor layouts and views (000, 001 8.X), and in interleaved blocks
(002)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import prod
from typing import Any

from girih.diagnostics import plural
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.define import (
    Where,
    annotation,
    binding,
    body,
    integer,
    modifier,
    node,
    op,
    operand,
    result,
)
from girih.ir.kinds import COOPMATRIX, INDEXES, TENSOR_LAYOUT, TENSOR_VIEW, memref_of_order
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import component, element, type_of
from girih.ir.types import (
    INDEX,
    AddressSpace,
    CoopMatrix,
    MemRef,
    TensorViewType,
    Type,
    element_type,
    packed_strides,
)
from girih.ops.tile.coopmatrix_regions import closed_row, read_only_row, region_rows
from girih.ops.tile.language import TILE
from girih.ops.tile.tensor_layout import dim
from girih.rules.predicates import Holds
from girih.rules.row import Predicate, Row, Undetermined

BUFFER = memref_of_order(1)


def _memref(s: Subject, name: str) -> MemRef:
    type_ = getattr(s.op, name).type
    if not isinstance(type_, MemRef):
        raise Undetermined
    return type_


def _dense_row(section: str) -> Row:
    return Row("stride", "memory", Holds("stride(memory) = 1", lambda s: _memref(s, "memory").strides == (1,),
        lambda s: f"the type is {_memref(s, 'memory')}"),
        "the elements of the memref lie side by side", section)  # fmt: skip


# --- tensor layouts and views ---------------------------------------------------------------

LOAD = '001 8.X "coopMatLoadTensorNV"'
STORE = '001 8.X "coopMatStoreTensorNV"'


def _view_fits(s: Subject) -> bool:
    if s.op.view is None or not isinstance(s.op.view.type, TensorViewType):
        raise Undetermined
    view: TensorViewType = s.op.view.type
    return view.has_dimensions or view.dim == dim("layout").value(s)


def _view_row(section: str) -> Row:
    return Row("view_dim", "view layout",
        Holds("the view has dimensions of its own, or dim(view) = dim(layout)", _view_fits,
        lambda s: f"dim(view) is {s.op.view.type.dim}, dim(layout) is {dim('layout').value(s)}"),
        "a view without dimensions of its own has as many as the layout", section)  # fmt: skip


def _decode_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    return {"block": (fields["block_type"],), "coordinates": (INDEX,) * names["coordinates"]}


@op(
    TILE,
    "cooperative_matrix_load_tensor",
    Where.SPMD,
    LOAD,
    "init , memory [ offset ] , layout << , view >> << decode ( block : block_type , coordinates ) body >> : result",
    binding_types=_decode_bindings,
    tangled=True,
)
class CooperativeMatrixLoadTensor(Op):
    """Load a matrix through a tensor layout, and through a view if there is one; what the view clips is as in `init`.

    The tensor begins at `&memory[offset]`, which is a multiple of 16 bytes. From there on the layout counts components,
    whatever the element type of the memref is. With a region it counts blocks, and each component is decoded from the
    block that it lies in; how often the region is called, and in which order, is free.
    """

    init: Value = operand(COOPMATRIX, "the matrix before; it gives the components that the view clips")
    memory: Value = operand(BUFFER, "memory of the tensor, of any element type", reads=True)
    offset: Value = operand(INDEXES, "element of the memref at which the tensor begins", shared=True)
    layout: Value = operand(TENSOR_LAYOUT, "the layout")
    view: Value | None = operand(TENSOR_VIEW, "the view", optional=True)
    block: Value | None = binding("the block as a memref", optional=True)
    block_type: Type | None = annotation("a memref of static shape, packed; its size is that of a block")
    coordinates: tuple[Value, ...] = binding(
        "the block's number in each dimension, then the position in the block", many=True, optional=True
    )
    body: Region | None = body(RegionKind.SPMD, "yields the component", optional=True)
    result: Value = result(COOPMATRIX, "the matrix after")


def _decoded(s: Subject) -> None:
    if s.op.body is None:
        raise Undetermined


def _block(s: Subject) -> MemRef:
    _decoded(s)
    if not isinstance(s.op.block_type, MemRef):
        raise Undetermined
    type_: MemRef = s.op.block_type
    return type_


def _is_packed(s: Subject) -> bool:
    _decoded(s)
    type_ = s.op.block_type
    return isinstance(type_, MemRef) and None not in type_.shape and type_.strides == packed_strides(type_.shape)


def block_bytes(block: MemRef) -> int:
    """The size in bytes of a block, a memref of static shape."""
    return prod(n or 0 for n in block.shape) * block.element.size


def _size_fits(s: Subject) -> bool:
    if not _is_packed(s):
        raise Undetermined
    size = block_bytes(_block(s))
    return size > 0 and size % _memref(s, "memory").element.size == 0


def _wanted_coordinates(s: Subject) -> int:
    _decoded(s)
    dimensions: int = dim("layout").value(s)
    return 2 * dimensions


def _coordinates_came(s: Subject) -> str:
    dimensions = plural(_wanted_coordinates(s) // 2, "dimension")
    return f"{plural(len(s.op.coordinates), 'coordinate')}, where the layout has {dimensions}"


def _is_global(s: Subject) -> bool:
    return all(m.space is AddressSpace.GLOBAL for m in (_block(s), _memref(s, "memory")))


TILE.rules(
    CooperativeMatrixLoadTensor,
    Row("result_type", "result init", equal(type_of("result"), type_of("init")),
        "the result has the type of `init`", LOAD),
    _dense_row(LOAD),
    _view_row(LOAD),
    Row("block", "block_type", Holds("the block is a packed memref of static shape", _is_packed,
        lambda s: f"its type is {s.op.block_type}"),
        "a block is a packed memref of static shape", LOAD),
    Row("block_size", "block_type memory",
        Holds("bytes(block) > 0, bytes(block) mod bytes(element of memory) = 0", _size_fits,
        lambda s: f"a block has {block_bytes(_block(s))} bytes, an element of the memref "
                  f"{_memref(s, 'memory').element.size}"),
        "a block has a positive number of bytes, a multiple of the memref's element size", LOAD),
    Row("space", "block_type memory", Holds("block and memref are in global memory", _is_global,
        lambda s: f"the block is {_block(s)}, the memref {_memref(s, 'memory')}"),
        "blocks are decoded from global memory", LOAD),
    Row("coordinates", "coordinates layout", Holds("number of coordinates = 2 dim(layout)",
        lambda s: len(s.op.coordinates) == _wanted_coordinates(s), _coordinates_came),
        "there are two coordinates for each dimension: of the block, and in it", LOAD),
    *region_rows(LOAD),
    closed_row(LOAD),
    read_only_row(LOAD),
)  # fmt: skip


@op(
    TILE,
    "cooperative_matrix_store_tensor",
    Where.SPMD,
    STORE,
    "matrix , memory [ offset ] , layout << , view >>",
    tangled=True,
)
class CooperativeMatrixStoreTensor(Op):
    """Store a matrix through a tensor layout, and through a view if there is one.

    The tensor begins at `&memory[offset]`, which is a multiple of 16 bytes. From there on the layout counts components,
    whatever the element type of the memref is. Components that lie outside the layout, or that the view clips, are
    dropped.
    """

    matrix: Value = operand(COOPMATRIX, "the matrix")
    memory: Value = operand(BUFFER, "memory of the tensor, of any element type", writes=True)
    offset: Value = operand(INDEXES, "element of the memref at which the tensor begins", shared=True)
    layout: Value = operand(TENSOR_LAYOUT, "the layout")
    view: Value | None = operand(TENSOR_VIEW, "the view", optional=True)


TILE.rules(
    CooperativeMatrixStoreTensor,
    _dense_row(STORE),
    _view_row(STORE),
)  # fmt: skip

# --- blocked interleaving -------------------------------------------------------------------

LAYOUT = '002 3.X "Cooperative Matrix Layout"'
VALIDATION = '002 2.16.1 "Universal Validation Rules"'


class BlockOrder(Enum):
    """The order of the blocks in memory (002 3.X)."""

    ROW = "row_blocked_interleaved"
    COLUMN = "column_blocked_interleaved"


@node
class BlockedAccess(Op):
    """The base of the loads and stores in interleaved blocks; the matrix is dense and begins at `&memory[offset]`."""

    order: BlockOrder = modifier({o.value: o for o in BlockOrder}, required=True, doc="the order of the blocks")


BLOCK_ROWS, ROW_BYTES = 4, 16
"""The rows of a block, and the bytes of each (002 3.X)."""


def _interleaved(name: str) -> tuple[Row, ...]:
    """The rules about the shape of a matrix and the number of blocks in a group; `name` is the matrix's field."""

    def matrix(s: Subject) -> CoopMatrix:
        type_ = getattr(s.op, name).type
        if not isinstance(type_, CoopMatrix):
            raise Undetermined
        return type_

    def width(s: Subject) -> int:
        size = matrix(s).component.size
        if size > 8:
            raise Undetermined
        return ROW_BYTES // size

    def group(s: Subject, order: BlockOrder, unit: int) -> int:
        if s.op.order is not order or s.op.stride < 1:
            raise Undetermined
        return unit * int(s.op.stride)

    def multiple(text: str, what: str, divisor: Callable[[Subject], int], of_group: bool = False) -> Predicate:
        def came(s: Subject) -> str:
            unit = f"a group of {s.op.stride} blocks" if of_group else "a block"
            return f"there are {getattr(matrix(s), what)}, {unit} has {divisor(s)}"

        return Holds(text, lambda s: bool(getattr(matrix(s), what) % divisor(s) == 0), came)

    return (
        Row("component_type", f"{name} memory", equal(component(name), element("memory")),
            "the components have the element type of the memref", LAYOUT),
        Row("component_size", name, Holds("bytes(component) ≤ 8", lambda s: matrix(s).component.size <= 8,
            lambda s: f"a {element_type(matrix(s))} has {matrix(s).component.size} bytes"),
            "a component has 1, 2, 4 or 8 bytes", LAYOUT),
        _dense_row(LAYOUT),
        Row("blocks", "stride", Holds("stride ≥ 1", lambda s: s.op.stride >= 1, lambda s: f"it is {s.op.stride}"),
            "the stride is a positive number of blocks", LAYOUT),
        Row("rows", name, multiple("rows mod 4 = 0", "rows", lambda s: BLOCK_ROWS),
            "the rows are a multiple of 4", VALIDATION),
        Row("columns", name, multiple("columns mod 16 / bytes(component) = 0", "columns", width),
            "the columns are a multiple of those of a block, 16 / bytes of a component", VALIDATION),
        Row("row_group", f"stride {name}", multiple("columns mod (16 / bytes(component) * stride) = 0", "columns",
            lambda s: group(s, BlockOrder.ROW, width(s)), of_group=True),
            "in row order, the columns are a multiple of those of a group of blocks", VALIDATION),
        Row("column_group", f"stride {name}", multiple("rows mod (4 * stride) = 0", "rows",
            lambda s: group(s, BlockOrder.COLUMN, BLOCK_ROWS), of_group=True),
            "in column order, the rows are a multiple of those of a group of blocks", VALIDATION),
        Row("revision", "stride", Holds("stride is 1, 2 or 4", lambda s: s.op.stride in (1, 2, 4) or s.op.stride < 1,
            lambda s: f"it is {s.op.stride}"),
            "the stride is 1, 2 or 4, as revision 2 of the extension asks",
            "SPV_ARM_cooperative_matrix_layouts revision 2", severity="warning"),
    )  # fmt: skip


@op(
    TILE,
    "cooperative_matrix_load_blocked_interleaved",
    Where.SPMD,
    LAYOUT,
    "memory [ offset ] , stride : result",
    tangled=True,
    word="cooperative_matrix_load",
)
class CooperativeMatrixLoadBlockedInterleaved(BlockedAccess):
    """Load a matrix that is stored in interleaved blocks of 64 bytes, each of 4 rows of 16 bytes."""

    memory: Value = operand(BUFFER, "the memory of the blocks", reads=True)
    offset: Value = operand(INDEXES, "element of the memref at which the matrix begins", shared=True)
    stride: int = integer("number of blocks that are interleaved with each other, word by word of 4 bytes")
    result: Value = result(COOPMATRIX, "the matrix")


TILE.rules(CooperativeMatrixLoadBlockedInterleaved, *_interleaved("result"))


@op(
    TILE,
    "cooperative_matrix_store_blocked_interleaved",
    Where.SPMD,
    LAYOUT,
    "matrix , memory [ offset ] , stride",
    tangled=True,
    word="cooperative_matrix_store",
)
class CooperativeMatrixStoreBlockedInterleaved(BlockedAccess):
    """Store a matrix in interleaved blocks of 64 bytes, each of 4 rows of 16 bytes."""

    matrix: Value = operand(COOPMATRIX, "the matrix")
    memory: Value = operand(BUFFER, "the memory of the blocks", writes=True)
    offset: Value = operand(INDEXES, "element of the memref at which the matrix begins", shared=True)
    stride: int = integer("number of blocks that are interleaved with each other, word by word of 4 bytes")


TILE.rules(CooperativeMatrixStoreBlockedInterleaved, *_interleaved("matrix"))
