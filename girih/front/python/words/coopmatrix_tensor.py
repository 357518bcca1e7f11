"""Matrices through tensor layouts and views, and in interleaved blocks (`girih.ops.tile.coopmatrix_tensor`)."""

from __future__ import annotations

from typing import Any

from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Memory, Operand, Runtime
from girih.front.python.words.support import (
    NOTHING,
    chosen,
    element,
    function,
    integer,
    is_absent,
    matrix_type,
    one,
    sizes,
    uses,
)
from girih.front.python.words.table import lowers
from girih.ir.core import RegionKind, Value
from girih.ir.types import INDEX, CoopMatrix, MemRef, Number, TensorLayoutType, TensorViewType
from girih.ops.tile.coopmatrix_tensor import BlockOrder

_ORDERS = {"row": BlockOrder.ROW, "column": BlockOrder.COLUMN}


def _memory(call: Call) -> dict[str, Any]:
    """The fields for the memory of a tensor, and the element at which it begins."""
    t = call.translator
    memory = t.memory(call["array"], call.span_of("array"))
    return {"memory": memory.value, "offset": t.index(call["offset"], call.span_of("offset"))}


def _layout(call: Call) -> tuple[Value, TensorLayoutType]:
    operand = call["layout"]
    if isinstance(operand, Runtime) and isinstance(operand.value.type, TensorLayoutType):
        return operand.value, operand.value.type
    raise fault("types", "`layout` is a tensor layout", call.span_of("layout"), "make one with gl.tensor_layout(...)")


def _view(call: Call) -> Value | None:
    operand = call["view"]
    if is_absent(operand):
        return None
    if isinstance(operand, Runtime) and isinstance(operand.value.type, TensorViewType):
        return operand.value
    raise fault("types", "`view` is a tensor view", call.span_of("view"), "make one with gl.tensor_view(...)")


def _matrix(call: Call, parameter: str) -> Value:
    return call.translator.matrix(call[parameter], call.span_of(parameter))


@lowers("load_tensor")
def load_tensor(call: Call) -> Operand:
    """The matrix that a layout reads, decoded from blocks where there is a function for that."""
    t, init = call.translator, _matrix(call, "init")
    (layout, type), view = _layout(call), _view(call)
    fields = _memory(call)
    if not is_absent(call["decode"]):
        fields |= _decoding(call, init, type)
    places = uses(call, init="init", memory="array", layout="layout", view="view")
    return one(t.add("cooperative_matrix_load_tensor", init.type, span=call.span, uses=places, init=init, layout=layout,
                     view=view, **fields))  # fmt: skip


def _decoding(call: Call, init: Value, layout: TensorLayoutType) -> dict[str, Any]:
    """The fields for the region that decodes a component, from a block, its coordinates and the place in it."""
    t, span = call.translator, call.span_of("decode")
    if is_absent(call["block_dtype"]) or is_absent(call["block_shape"]):
        hint = "block_dtype=gl.i8, block_shape=18"
        raise fault("arguments", "with `decode`, `block_dtype` and `block_shape` say what a block is", span, hint)
    component, shape = element(call, "block_dtype"), sizes(call, "block_shape")
    if not isinstance(component, Number):
        raise fault("arguments", "a block is of numbers, not of truth values", call.span_of("block_dtype"))
    block_type = MemRef.packed(component, shape)
    block = Value("block", block_type, call.span)
    coordinates = tuple(Value("i", INDEX, call.span) for _ in range(2 * layout.dim))
    assert isinstance(init.type, CoopMatrix)
    with t.region(RegionKind.SPMD, closed=True) as region:
        given: tuple[Operand, ...] = (Memory(block, tuple(range(len(shape)))), *map(Runtime, coordinates))
        decoded = t.inline(function(call, "decode"), given, span)
        t.add("yield", span=call.span, values=(t.value(decoded, init.type.component, span),))
    return {"block": block, "block_type": block_type, "coordinates": coordinates, "body": region.region(call.span)}


@lowers("store_tensor")
def store_tensor(call: Call) -> Operand:
    """Store a matrix where a layout says."""
    matrix, (layout, _), view = _matrix(call, "matrix"), _layout(call), _view(call)
    places = uses(call, matrix="matrix", memory="array", layout="layout", view="view")
    call.translator.add("cooperative_matrix_store_tensor", span=call.span, uses=places, matrix=matrix, layout=layout,
                        view=view, **_memory(call))  # fmt: skip
    return NOTHING


# --- interleaved blocks -----------------------------------------------------------------------


@lowers("load_blocked_interleaved")
def load_blocked_interleaved(call: Call) -> Operand:
    """A matrix from interleaved blocks."""
    t = call.translator
    rows, columns = sizes(call, "shape", 2)
    fields = _memory(call)
    component = fields["memory"].type.element
    return one(t.add("cooperative_matrix_load_blocked_interleaved", matrix_type(call, component, (rows, columns)),
                     span=call.span, uses=uses(call, memory="array", stride="stride"),
                     order=chosen(call, "order", _ORDERS), stride=integer(call, "stride"), **fields))  # fmt: skip


@lowers("store_blocked_interleaved")
def store_blocked_interleaved(call: Call) -> Operand:
    """Store a matrix in interleaved blocks."""
    matrix = _matrix(call, "matrix")
    call.translator.add("cooperative_matrix_store_blocked_interleaved", span=call.span,
                        uses=uses(call, matrix="matrix", memory="array", stride="stride"), matrix=matrix,
                        order=chosen(call, "order", _ORDERS), stride=integer(call, "stride"),
                        **_memory(call))  # fmt: skip
    return NOTHING
