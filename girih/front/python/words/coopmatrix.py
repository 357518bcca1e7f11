"""Matrices that a subgroup, or a work-group, holds together (`girih.ops.tile.coopmatrix`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from girih.front.python.arithmetic import accumulator
from girih.front.python.calls import Calls as Translator
from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Known, Many, Memory, Operand, Part, Runtime
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
from girih.ir.core import Index, Value
from girih.ir.types import (
    INDEX,
    CoopMatrix,
    MatrixScope,
    Number,
    Use,
)
from girih.ops.tile.coopmatrix import Checked
from girih.source import Span

CHECKED: dict[str | None, Checked] = {
    None: Checked.NONE, "rows": Checked.ROWS, "columns": Checked.COLUMNS, "both": Checked.BOTH,
}  # fmt: skip
"""The directions in which a tile may reach over the edge of its array, by the words for them."""


def checked(call: Call, memory: Memory) -> Checked:
    """The directions that a call names; both for memory that `gl.checked` returned."""
    if is_absent(call["checked"]):
        return Checked.BOTH if memory.checked else Checked.NONE
    return chosen(call, "checked", {name: meaning for name, meaning in CHECKED.items() if name is not None})


def place_of_matrix(memory: Memory, by_mode: tuple[Value, ...], span: Span) -> dict[str, Any]:
    """The fields of an access to a tile: memory, place, and whether it is the transpose of what the user sees."""
    if memory.rank != 2:
        message = f"a matrix lies in an array of two axes, this one has {memory.rank}"
        raise fault("view", message, span, "take a view of two axes: A[k, :, :]")
    row, column = by_mode
    return {"memory": memory.value, "row": row, "column": column, "transpose": memory.axes == SWAPPED}


def tile(t: Translator, operand: Operand, span: Span) -> tuple[Memory, tuple[Index, ...], tuple[int, int]]:
    """The array of two axes that a view is a tile of, the tile's first element by axis, and its shape."""
    if isinstance(operand, Part) and operand.dropped.count(False) == 2:
        kept = [axis for axis, dropped in enumerate(operand.dropped) if not dropped]
        memory, offsets = _around(t, operand, span), tuple(operand.offsets[axis] for axis in kept)
        sizes = tuple(
            n - o if s is None and isinstance(o, int) and n is not None else s
            for s, n, o in zip((operand.sizes[axis] for axis in kept), memory.sizes, offsets, strict=True)
        )
    else:
        memory = t.memory(operand, span)
        offsets, sizes = (0,) * memory.rank, memory.sizes
    if memory.rank != 2:
        message = f"a matrix lies in an array of two axes, this view has {memory.rank}"
        raise fault("view", message, span, "index or slice the others: A[k, i : i + 32, j : j + 32]")
    rows, columns = sizes
    if rows is None or columns is None:
        message = "the size of a matrix is a constant, that of this view is known only at run time"
        raise fault("slice", message, span, "slice it: A[i : i + 32, j : j + 32]")
    return memory, offsets, (rows, columns)


def _around(t: Translator, part: Part, span: Span) -> Memory:
    """The array that a tile is in: whole along the tile's axes, so that the tile may reach over its edge."""
    if not any(part.dropped):
        return part.memory
    offsets = tuple(o if dropped else 0 for o, dropped in zip(part.offsets, part.dropped, strict=True))
    return t.memory(replace(part, offsets=offsets, sizes=(None,) * len(offsets)), span)


def _index_values(t: Translator, offsets: tuple[Index, ...], span: Span) -> tuple[Value, ...]:
    return tuple(t.value(Known(o), INDEX, span) if isinstance(o, int) else o for o in offsets)


def load_tile(
    t: Translator, operand: Operand, span: Span, use: Use, scope: MatrixScope, check: Checked | None = None
) -> Value:
    """The matrix of a view of constant sizes."""
    memory, offsets, shape = tile(t, operand, span)
    type = CoopMatrix(memory.type.element, *shape, use, scope)
    place = place_of_matrix(memory, memory.in_modes(_index_values(t, offsets, span)), span)
    check = check or (Checked.BOTH if memory.checked else Checked.NONE)
    return t.add("cooperative_matrix_load", type, span=span, uses={"memory": (span,)}, checked=check, **place)[0]


def store_tile(t: Translator, matrix: Value, operand: Operand, span: Span, check: Checked | None = None) -> None:
    """Store a matrix to a view of its shape."""
    memory, offsets, shape = tile(t, operand, span)
    type = matrix.type
    if not isinstance(type, CoopMatrix):
        raise fault("types", f"a matrix is stored to a view, found a value of type {type}", span)
    if type.shape != shape:
        message = f"a matrix of {type.rows} x {type.columns} components is stored to a view of {shape[0]} x {shape[1]}"
        raise fault("types", message, span, "slice as many rows and columns as the matrix has")
    place = place_of_matrix(memory, memory.in_modes(_index_values(t, offsets, span)), span)
    check = check or (Checked.BOTH if memory.checked else Checked.NONE)
    t.add("cooperative_matrix_store", span=span, uses={"memory": (span,)}, matrix=matrix, checked=check, **place)


def _array_of(operand: Operand, t: Translator, span: Span) -> Memory:
    return operand.memory if isinstance(operand, Part) else t.memory(operand, span)


@lowers("load")
def load(call: Call) -> Operand:
    """The matrix of a tile."""
    t, span = call.translator, call.span_of("view")
    view = call["view"]
    if not isinstance(view, Memory | Part):
        raise fault("types", "`gl.load` takes a view of an array", span, "gl.load(A[i : i + 32, j : j + 32])")
    check = None if is_absent(call["checked"]) else checked(call, _array_of(view, t, span))
    use, scope = chosen(call, "use", USES), chosen(call, "scope", SCOPES)
    return Runtime(load_tile(t, view, span, use, scope, check))


@lowers("store")
def store(call: Call) -> Operand:
    """Store a matrix to a tile."""
    t, span = call.translator, call.span_of("view")
    view = call["view"]
    if not isinstance(view, Memory | Part):
        raise fault("types", "`gl.store` stores to a view of an array", span, "gl.store(m, A[i : i + 32, j : j + 32])")
    check = None if is_absent(call["checked"]) else checked(call, _array_of(view, t, span))
    store_tile(t, t.matrix(call["matrix"], call.span_of("matrix")), view, span, check)
    return NOTHING


@lowers("prefetch")
def prefetch(call: Call) -> Operand:
    """Ask for a tile to be brought into a cache."""
    t, span = call.translator, call.span_of("view")
    memory, offsets, shape = tile(t, call["view"], span)
    row, column = memory.in_modes(_index_values(t, offsets, span))
    rows, columns = memory.in_modes(shape)
    t.add("cooperative_matrix_prefetch", span=call.span, uses=uses(call, memory="view"), level=integer(call, "level"),
          memory=memory.value, row=row, column=column, rows=rows, columns=columns)  # fmt: skip
    return NOTHING


# --- products ---------------------------------------------------------------------------------


def multiply(
    t: Translator, a: Operand, b: Operand, c: Operand | None, spans: tuple[Span, Span], span: Span,
    dtype: Number | None = None,
) -> Value:  # fmt: skip
    """The product of two matrices, plus a third one where there is one; views are loaded."""
    held = (o.value.type for o in (a, b, c) if isinstance(o, Runtime))
    scope = next((type.scope for type in held if isinstance(type, CoopMatrix)), MatrixScope.SUBGROUP)
    left, right = t.matrix(a, spans[0], Use.A, scope), t.matrix(b, spans[1], Use.B, scope)
    assert isinstance(left.type, CoopMatrix)
    assert isinstance(right.type, CoopMatrix)
    if c is None:
        component = dtype or accumulator(left.type.component, right.type.component)
        type = CoopMatrix(component, left.type.rows, right.type.columns, Use.ACC, left.type.scope)
        summand = t.value(Known(0), type, span)
    else:
        summand = t.matrix(c, span, Use.ACC, scope)
    assert isinstance(summand.type, CoopMatrix)
    result = replace(summand.type, component=dtype or summand.type.component)
    places = {"a": (spans[0],), "b": (spans[1],)}
    return t.add("cooperative_matrix_mul_add", result, span=span, uses=places, a=left, b=right, c=summand)[0]


@lowers("dot")
def dot(call: Call) -> Operand:
    """The product of two matrices, plus a third."""
    dtype = None if is_absent(call["dtype"]) else element(call, "dtype")
    if dtype is not None and not isinstance(dtype, Number):
        raise fault("arguments", "a matrix is of numbers, not of truth values", call.span_of("dtype"))
    c = None if is_absent(call["c"]) else call["c"]
    spans = (call.span_of("a"), call.span_of("b"))
    return Runtime(multiply(call.translator, call["a"], call["b"], c, spans, call.span, dtype))


def scale(t: Translator, factor: Operand, matrix: Value, spans: tuple[Span, Span], span: Span) -> Value:
    """A number times a matrix."""
    assert isinstance(matrix.type, CoopMatrix)
    a = t.value(factor, matrix.type.component, spans[0])
    places = {"a": (spans[0],), "matrix": (spans[1],)}
    return t.add("cooperative_matrix_scale", matrix.type, span=span, uses=places, a=a, matrix=matrix)[0]


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
    if is_absent(call["axis"]):
        hint = "gl.sum(m, axis=1) sums rows, axis=0 columns; of all components: gl.combine(gl.maximum, m)"
        raise fault("arguments", f"`gl.{call.name}` of a matrix is along an axis", call.span, hint)
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
