"""Numbers beside the operators of Python: conversions, choices, parts of complex numbers (`girih.ops.tile.arith`)."""

from __future__ import annotations

from dataclasses import replace

from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Known, Operand, Runtime
from girih.front.python.words.support import (
    USES,
    chosen,
    computed,
    element,
    elementwise,
    is_absent,
    matrix_type,
    number,
    one,
    sizes,
    uses,
)
from girih.front.python.words.table import lowers
from girih.ir.types import PARTS, CoopMatrix, Number, Type

_BINARY = {"maximum": "max", "minimum": "min", "div": "div", "rem": "rem"}
_PARTS = {"real": "re", "imag": "im"}


@lowers(*_BINARY)
def binary(call: Call) -> Operand:
    """An instruction of two numbers, or of two matrices component by component."""
    return elementwise(call, _BINARY[call.name], {"a": "a", "b": "b"})


@lowers("conj")
def conjugate(call: Call) -> Operand:
    """The complex conjugate."""
    return elementwise(call, "conj", {"a": "x"})


def part_of(type: Type) -> Type:
    """The type of the parts of a complex number, or of a matrix of these."""
    if isinstance(type, CoopMatrix):
        return replace(type, component=PARTS.get(type.component, type.component))
    return PARTS.get(type, type) if isinstance(type, Number) else type


@lowers(*_PARTS)
def part(call: Call) -> Operand:
    """A part of a complex number, or of the components of a matrix."""
    operand = computed(call.translator, call["x"], call.span_of("x"))
    if isinstance(operand, Known) and isinstance(operand.value, int | float | complex):
        return Known(operand.value.real if call.name == "real" else operand.value.imag)
    if not isinstance(operand, Runtime):
        raise fault("types", f"`gl.{call.name}` takes a number or a matrix", call.span_of("x"))
    value = operand.value
    places = uses(call, a="x")
    return one(call.translator.add(_PARTS[call.name], part_of(value.type), span=call.span, uses=places, a=value))


@lowers("cast")
def cast(call: Call) -> Operand:
    """The value in another number type; a matrix may change its use too."""
    t, wanted = call.translator, element(call, "dtype")
    operand = computed(t, call["x"], call.span_of("x"))
    use = None if is_absent(call["use"]) else chosen(call, "use", USES)
    if isinstance(operand, Known):
        return Runtime(t.value(operand, wanted, call.span_of("x")))
    value = number(call, "x") if not isinstance(operand, Runtime) else operand.value
    target: Type = wanted
    if isinstance(value.type, CoopMatrix) and isinstance(wanted, Number):
        target = replace(value.type, component=wanted, use=use or value.type.use)
    elif use is not None:
        raise fault("arguments", "`use` is for matrices, this is a number", call.span_of("use"), "leave it out")
    return one(t.add("cast", target, span=call.span, uses=uses(call, a="x"), a=value))


@lowers("bitcast")
def bitcast(call: Call) -> Operand:
    """The number of another type with the same bits."""
    value = number(call, "x")
    return one(call.translator.add("bitcast", element(call, "dtype"), span=call.span, uses=uses(call, a="x"), a=value))


@lowers("where")
def where(call: Call) -> Operand:
    """One of two numbers, or truth values."""
    t = call.translator
    condition = t.truth(call["condition"], call.span_of("condition"))
    if isinstance(condition, Known):
        return call["a"] if condition.value else call["b"]
    a, b = t.same(call["a"], call["b"], (call.span_of("a"), call.span_of("b")), "`gl.where`")
    assert isinstance(condition, Runtime)
    places = uses(call, condition="condition", a="a", b="b")
    return one(t.add("select", a.type, span=call.span, uses=places, condition=condition.value, a=a, b=b))


def _shape(call: Call) -> tuple[int, int]:
    rows, columns = sizes(call, "shape", 2)
    return rows, columns


@lowers("full")
def full(call: Call) -> Operand:
    """A matrix of one number: a constant where it is known, otherwise `cooperative_matrix_construct`."""
    t, component = call.translator, element(call, "dtype")
    type = matrix_type(call, component, _shape(call))
    operand = call["value"]
    if isinstance(operand, Known):
        return Runtime(t.value(operand, type, call.span_of("value")))
    value = t.value(operand, component, call.span_of("value"))
    return one(t.add("cooperative_matrix_construct", type, span=call.span, uses=uses(call, a="value"), a=value))


@lowers("zeros")
def zeros(call: Call) -> Operand:
    """A matrix of zeros."""
    type = matrix_type(call, element(call, "dtype"), _shape(call))
    return Runtime(call.translator.value(Known(0), type, call.span))
