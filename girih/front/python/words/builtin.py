"""The place of a work-item in the launch."""

from __future__ import annotations

from girih.front.python.calls import WordCall
from girih.front.python.operands import Operand, Runtime
from girih.front.python.words.table import lowers
from girih.ir.types import INDEX


@lowers("group_id")
def group_id(call: WordCall) -> Operand:
    """The number of the work-group along an axis."""
    t = call.translator
    axis = t.known_integer(call["axis"], "the axis of the grid", call.span_of("axis"))
    if not 0 <= axis <= 2:
        t.fail("index", f"a grid has the axes 0, 1 and 2, found {axis}", call.span_of("axis"))
    (number,) = t.add("group_id", INDEX, span=call.span, axis=axis)
    return Runtime(number, natural=True)
