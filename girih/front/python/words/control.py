"""Barriers and printed lines (`girih.ops.tile.control`); loops and branches are statements of Python."""

from __future__ import annotations

import ast
from typing import Any

from girih.front.python.calls import Calls as Translator
from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.emission import described as called
from girih.front.python.operands import Known, LiteralChoice, Memory, Operand, Part, Runtime
from girih.front.python.words.support import NOTHING, computed, described, items, number_of
from girih.front.python.words.table import lowers
from girih.ir.core import Value
from girih.ir.types import Number
from girih.source import Span

_MEMORY = {"global": "global_fence", "local": "local_fence"}
_NAMES_OF_OTHERS = {"shared": "local", "workgroup": "local", "block": "local", "device": "global"}


@lowers("barrier")
def barrier(call: Call) -> Operand:
    """The barrier, with the memory that becomes visible."""
    t, span = call.translator, call.span_of("memory")
    fences: dict[str, Any] = {}
    for part in items(call["memory"]):
        name = t.known(part, "the memory of a barrier", span)
        if not isinstance(name, str) or name not in _MEMORY:
            instead = _NAMES_OF_OTHERS.get(name) if isinstance(name, str) else None
            hint = None if instead is None else f'write gl.barrier("{instead}")'
            raise fault("arguments", f'memory is "global" or "local", found {described(name)}', span, hint)
        fences[_MEMORY[name]] = True
    t.add("barrier", span=call.span, **fences)
    return NOTHING


@lowers("print")
def printed(call: Call) -> Operand:
    """A line: the text that the words begin with, then values."""
    t, span = call.translator, call.span_of("values")
    words: list[str] = []
    values: list[Value] = []
    for part in items(call["values"]):
        if isinstance(part, Known) and isinstance(part.value, str) and not values:
            words.append(part.value)
            continue
        if isinstance(part, Memory | Part):
            raise fault("view", "an array is not printed as a whole", span, "print elements, or a matrix: gl.load(...)")
        if isinstance(part, Known) and isinstance(part.value, str):
            raise fault("types", "the text of a line stands before its values, found a string behind one", span,
                        'write print("x and y are", x, y)')  # fmt: skip
        values.append(number_of(t, computed(t, part, span), span))
    t.add("print", span=call.span, text=" ".join(words), values=tuple(values))
    return NOTHING


@lowers("cdiv")
def cdiv(call: Call) -> Operand:
    """A quotient of integers that is rounded up: (a + b - 1) // b."""
    t = call.translator
    a, b = call["a"], call["b"]
    places = call.span_of("a"), call.span_of("b")
    for operand, place in zip((a, b), places, strict=True):
        _refuse_no_integer(t, operand, place)
    less = t.binary(ast.Sub, b, Known(1), (places[1], places[1]), call.span)
    sum = t.binary(ast.Add, a, less, places, call.span)
    return t.binary(ast.FloorDiv, sum, b, places, call.span)


def _refuse_no_integer(t: Translator, operand: Operand, place: Span) -> None:
    """Refuse an operand of `gl.cdiv` that is no integer."""
    value = t.literal(operand)
    scalar = operand.type if isinstance(operand, Runtime) else None
    if isinstance(operand, LiteralChoice) or (isinstance(value, int) and not isinstance(value, bool)):
        return
    if isinstance(scalar, Number) and scalar.family == "integer":
        return
    hint = f"write {int(value)}" if isinstance(value, float) and value.is_integer() else None
    if isinstance(scalar, Number):
        hint = f"convert it: gl.index({place.text}) drops the fraction"
    raise fault("types", f"gl.cdiv takes integers, found {called(operand)}", place, hint)
