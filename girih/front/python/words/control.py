"""Loops and branches, beside statements."""

from __future__ import annotations

import ast

from girih.front.python.calls import WordCall
from girih.front.python.operands import Known, Operand
from girih.front.python.words.table import lowers


@lowers("cdiv")
def cdiv(call: WordCall) -> Operand:
    """A quotient of integers that is rounded up: (a + b - 1) // b."""
    t = call.translator
    a, b = call["a"], call["b"]
    places = call.span_of("a"), call.span_of("b")
    less = t.binary(ast.Sub, b, Known(1), (places[1], places[1]), call.span)
    sum = t.binary(ast.Add, a, less, places, call.span)
    return t.binary(ast.FloorDiv, sum, b, places, call.span)
