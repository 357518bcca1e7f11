"""Matrices that a subgroup, or a work-group, holds together (`girih.ops.tile.coopmatrix`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.emission import described as described_operand
from girih.front.python.operands import Known, Many, MatrixProduct, Memory, Operand, Part, Runtime
from girih.front.python.words.linalg import SWAPPED, sum_of_memory
from girih.front.python.words.support import (
    NOTHING,
    SCOPES,
    USES,
    chosen,
    computed,
    element,
    flag,
    integer,
    is_absent,
    items,
    one,
    uses,
)
from girih.front.python.words.table import lowers
from girih.ir.core import Value
from girih.ir.types import (
    CoopMatrix,
    Number,
    Use,
)
from girih.ops.tile.coopmatrix import Checked
from girih.source import Span

CHECKED = {"rows": Checked.ROWS, "columns": Checked.COLUMNS, "both": Checked.BOTH}
"""The directions in which a tile may reach over the edge of its array, by the words for them."""


def checked(call: Call) -> Checked | None:
    """The directions that a call names; None where it names none."""
    return None if is_absent(call["checked"]) else chosen(call, "checked", CHECKED)


def place_of_matrix(memory: Memory, by_mode: tuple[Value, ...], span: Span) -> dict[str, Any]:
    """The fields of an access to a tile: memory, place, and whether it is the transpose of what the user sees."""
    if memory.rank != 2:
        message = f"a matrix lies in an array of two axes, this one has {memory.rank}"
        raise fault("view", message, span, "take a view of two axes: A[k, :, :]")
    row, column = by_mode
    return {"memory": memory.value, "row": row, "column": column, "transpose": memory.axes == SWAPPED}


def _view(call: Call) -> Part:
    """The tile that a call is about."""
    view, span = call["view"], call.span_of("view")
    if not isinstance(view, Memory | Part):
        hint = "write its rows and columns: A[i : i + 32, j : j + 32]"
        if isinstance(view, Runtime) and isinstance(view.type, Number):
            hint = "single elements need no word: x = A[i, j], and A[i, j] = x"
        raise fault("types", f"`gl.{call.name}` takes a view of an array, found {described_operand(view)}", span, hint)
    return call.translator.part(view, span)


@lowers("load")
def load(call: Call) -> Operand:
    """The matrix of a tile."""
    use, scope = chosen(call, "use", USES), chosen(call, "scope", SCOPES)
    return Runtime(call.translator.loaded(_view(call), call.span_of("view"), use, scope, checked(call)))


@lowers("store")
def store(call: Call) -> Operand:
    """Store a matrix to a tile."""
    t, at = call.translator, call.span_of("matrix")
    t.stored(_view(call), t.matrix(call["matrix"], at), at, call.span, checked(call))
    return NOTHING


@lowers("prefetch")
def prefetch(call: Call) -> Operand:
    """Ask for a tile to be brought into a cache."""
    t = call.translator
    place, shape, memory = t.tile(_view(call), call.span_of("view"), "brought into a cache")
    rows, columns = memory.in_modes(shape)
    del place["transpose"]
    t.add("cooperative_matrix_prefetch", span=call.span, uses=uses(call, memory="view"), level=integer(call, "level"),
          rows=rows, columns=columns, **place)  # fmt: skip
    return NOTHING


# --- products ---------------------------------------------------------------------------------


@lowers("dot")
def dot(call: Call) -> Operand:
    """The product of two matrices, plus a third."""
    dtype = None if is_absent(call["dtype"]) else element(call, "dtype")
    if dtype is not None and not isinstance(dtype, Number):
        raise fault("arguments", "a matrix is of numbers, not of truth values", call.span_of("dtype"))
    t, spans = call.translator, (call.span_of("a"), call.span_of("b"))
    c = None if is_absent(call["c"]) else t.matrix(call["c"], call.span_of("c"), Use.ACC)
    scope = c.type.scope if c is not None and isinstance(c.type, CoopMatrix) else None
    product = MatrixProduct(call["a"], call["b"], call.span)
    return Runtime(t.multiplied(product, c, spans, call.span, dtype, scope))


# --- components and shapes --------------------------------------------------------------------


def _matrix(call: Call, parameter: str) -> tuple[Value, CoopMatrix]:
    value = call.translator.matrix(call[parameter], call.span_of(parameter))
    assert isinstance(value.type, CoopMatrix)
    return value, value.type


@lowers("extract")
def extract(call: Call) -> Operand:
    """A component that the work-item holds."""
    matrix, type = _matrix(call, "matrix")
    return one(call.translator.add("cooperative_matrix_extract", type.component, span=call.span,
                                   uses=uses(call, matrix="matrix", index="index"), matrix=matrix,
                                   index=integer(call, "index")))  # fmt: skip


@lowers("insert")
def insert(call: Call) -> Operand:
    """A matrix in which a component that the work-item holds is another."""
    matrix, type = _matrix(call, "matrix")
    value = call.translator.value(call["value"], type.component, call.span_of("value"))
    return one(call.translator.add("cooperative_matrix_insert", type, span=call.span,
                                   uses=uses(call, a="value", matrix="matrix", index="index"), a=value, matrix=matrix,
                                   index=integer(call, "index")))  # fmt: skip


_REDUCTIONS = {
    "sum": "cooperative_matrix_reduce_add",
    "max": "cooperative_matrix_reduce_max",
    "min": "cooperative_matrix_reduce_min",
}


def _reduce(call: Call, operand: Operand, span: Span) -> Operand:
    name = call.name
    if isinstance(operand, Memory | Part) and call.translator.part(operand, span).dropped.count(False) != 2:
        hint = "loop over the elements: s += X[i], or m = max(m, X[i])"
        hint += "; of all by the work-group: gl.sum(1.0, X, 0.0, result)" if name == "sum" else ""
        raise fault("types", f"`gl.{name}` takes a tile, found {described_operand(operand)}", span, hint)
    if not isinstance(operand, Memory | Part | MatrixProduct) and not (
        isinstance(operand, Runtime) and isinstance(operand.type, CoopMatrix)
    ):
        hint = "numbers are added with `+`" if name == "sum" else f"of numbers write {name}(a, b)"
        raise fault("types", f"`gl.{name}` takes a tile, found {described_operand(operand)}", span, hint)
    if is_absent(call["axis"]):
        function = {"sum": "lambda a, b: a + b", "max": "gl.maximum", "min": "gl.minimum"}[name]
        hint = f"gl.{name}(m, axis=1) goes along rows, axis=0 along columns; over all: gl.combine({function}, m)"
        raise fault("arguments", f"`gl.{name}` of a matrix is along an axis", call.span, hint)
    axis = integer(call, "axis")
    if axis not in (0, 1):
        raise fault("arguments", f"`axis` is 0 or 1, found {axis}", call.span_of("axis"))
    matrix = call.translator.matrix(operand, span)
    assert isinstance(matrix.type, CoopMatrix)
    result = replace(matrix.type, columns=1) if axis == 1 else replace(matrix.type, rows=1)
    return one(call.translator.add(_REDUCTIONS[call.name], result, span=call.span, uses={"a": (span,)},
                                   along_row=axis == 1, a=matrix))  # fmt: skip


@lowers("max", "min")
def reduction(call: Call) -> Operand:
    """The combinations of rows or columns."""
    return _reduce(call, call["matrix"], call.span_of("matrix"))


@lowers("sum")
def total(call: Call) -> Operand:
    """Sums of rows or columns of a matrix, or sums in memory."""
    operands, span = items(call["operands"]), call.span_of("operands")
    if len(operands) == 1:
        if flag(call, "atomic"):
            raise fault("arguments", "`atomic` is for sums in memory", call.span_of("atomic"))
        return _reduce(call, operands[0], span)
    names = ("alpha", "a", "beta", "b")
    if len(operands) != len(names) or not is_absent(call["axis"]):
        message = "a sum is of a matrix along an axis, or of four operands in memory"
        raise fault("arguments", message, call.span, "gl.sum(m, axis=1), or gl.sum(alpha, a, beta, b)")
    return sum_of_memory(call, *operands)


@lowers("transpose")
def transpose(call: Call) -> Operand:
    """The transpose: a view of memory, or a matrix."""
    t, span = call.translator, call.span_of("x")
    operand = call["x"]
    if isinstance(operand, Memory | Part):
        return transposed(t.memory(operand, span))
    operand = computed(t, operand, span)
    if isinstance(operand, Known | Many):
        raise fault("types", "`gl.transpose` takes an array or a matrix", span)
    matrix = t.matrix(operand, span)
    assert isinstance(matrix.type, CoopMatrix)
    component = matrix.type.component if is_absent(call["dtype"]) else element(call, "dtype")
    if not isinstance(component, Number):
        raise fault("arguments", "a matrix is of numbers, not of truth values", call.span_of("dtype"))
    type = CoopMatrix(component, matrix.type.columns, matrix.type.rows, Use.B, matrix.type.scope)
    return one(t.add("cooperative_matrix_transpose", type, span=call.span, uses=uses(call, matrix="x"), matrix=matrix))


def transposed(memory: Memory) -> Memory:
    """The same memory with its axes in reverse."""
    return replace(memory, axes=tuple(memory.rank - 1 - axis for axis in memory.axes))
