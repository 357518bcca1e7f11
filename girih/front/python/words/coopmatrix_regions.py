"""Functions of the components of matrices (`girih.ops.tile.coopmatrix_regions`)."""

from __future__ import annotations

from dataclasses import replace

from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Operand, Runtime
from girih.front.python.words.support import described, flag, function, is_absent, items, sizes, uses
from girih.front.python.words.table import lowers
from girih.ir.core import RegionKind, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix_regions import Combined


@lowers("apply")
def applied(call: Call) -> Operand:
    """The matrix of what a function of the user makes of components."""
    t, span, indexed = call.translator, call.span_of("matrices"), flag(call, "index")
    matrices = [t.matrix(operand, span) for operand in items(call["matrices"])]
    if not matrices:
        raise fault("arguments", "`gl.apply` takes a function and matrices", call.span)

    def body(row: Value, column: Value, elements: tuple[Value, ...]) -> Operand:
        values = (row, column, *elements) if indexed else elements
        return t.inline(function(call, "function"), tuple(map(Runtime, values)), call.span_of("function"))

    return Runtime(t.applied(matrices, body, call.span, {"matrices": (span,) * len(matrices)}))


_ALONG = {1: Combined.ROW, 0: Combined.COLUMN}


@lowers("combine")
def combine(call: Call) -> Operand:
    """The matrix of combinations of rows, of columns, or of all components."""
    t = call.translator
    axis = None if is_absent(call["axis"]) else t.known(call["axis"], "`axis` of `gl.combine`", call.span_of("axis"))
    if axis is not None and (axis not in (0, 1) or isinstance(axis, bool)):
        raise fault("arguments", f"`axis` is 0, 1 or None, found {described(axis)}", call.span_of("axis"))
    shape = None if is_absent(call["shape"]) else sizes(call, "shape", 2)
    return _combined(call, Combined.ALL if axis is None else _ALONG[int(str(axis))], shape)


@lowers("combine_2x2")
def combine_blocks(call: Call) -> Operand:
    """The matrix of combinations of 2 x 2 blocks."""
    return _combined(call, Combined.BLOCK, None)


def _combined(call: Call, along: Combined, shape: tuple[int, ...] | None) -> Operand:
    t, span = call.translator, call.span_of("matrix")
    matrix = t.matrix(call["matrix"], span)
    type = matrix.type
    assert isinstance(type, CoopMatrix)
    rows, columns = shape or type.shape
    if along is Combined.BLOCK:
        rows, columns = rows // 2, columns // 2
    result = replace(type, rows=rows, columns=columns)
    left, right = Value("left", type.component, call.span), Value("right", type.component, call.span)
    with t.region(RegionKind.SPMD, closed=True) as region:
        place = call.span_of("function")
        combination = t.inline(function(call, "function"), (Runtime(left), Runtime(right)), place)
        t.add("yield", span=call.span, values=(t.value(combination, type.component, place),))
    return Runtime(t.add("cooperative_matrix_combine", result, span=call.span, uses=uses(call, matrix="matrix"),
                         along=along, left=left, right=right, matrix=matrix,
                         body=region.region(call.span))[0])  # fmt: skip
