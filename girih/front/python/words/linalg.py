"""Collective linear algebra on memory."""

from __future__ import annotations

from girih.front.python.calls import WordCall
from girih.front.python.conversions import literal_of
from girih.front.python.operands import Known, Memory, Operand
from girih.front.python.words.table import lowers
from girih.ir.core import Value
from girih.ir.types import MemRef


def factor(call: WordCall, parameter: str, like: Memory) -> Value:
    """alpha or beta: a literal has the element type of memory."""
    t, operand, span = call.translator, call[parameter], call.span_of(parameter)
    if isinstance(operand, Known):
        return t.value(operand, like.type.element, span)
    return t.materialised(operand, span).value


def flag(call: WordCall, parameter: str) -> bool:
    """An argument that is known to be True or False."""
    value = literal_of(call.translator.known(call[parameter], f"`{parameter}`", call.span_of(parameter)))
    if not isinstance(value, bool):
        call.translator.fail("constant", f"`{parameter}` is True or False", call.span_of(parameter))
    return value


@lowers("axpby")
def axpby(call: WordCall) -> Operand:
    """b := alpha op(a) + beta b, where memory may lie in any order."""
    t = call.translator
    a, b = t.memory(call["a"], call.span_of("a")), t.memory(call["b"], call.span_of("b"))
    turned = flag(call, "transpose") is not (a.axes != b.axes and a.rank == b.rank == 2)
    uses = {name: (call.span_of(name),) for name in ("alpha", "a", "beta", "b")}
    assert isinstance(a.value.type, MemRef)
    t.add("axpby", span=call.span, uses=uses, atomic=flag(call, "atomic"), transpose=turned,
          alpha=factor(call, "alpha", a), a=a.value, beta=factor(call, "beta", b), b=b.value)  # fmt: skip
    return Known(None)
