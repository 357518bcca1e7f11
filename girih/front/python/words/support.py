"""What lowerings share: types that a call names, numbers of one type, and numbers beside matrices."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from girih.front.python.calls import Calls as Translator
from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.conversions import element_hint
from girih.front.python.operands import Known, Many, MatrixProduct, Memory, Operand, Part, Runtime
from girih.front.python.refusals import refused_callee
from girih.front.python.scopes import LocalFunction
from girih.ir.core import Value
from girih.ir.types import (
    SCALARS,
    Boolean,
    CoopMatrix,
    MatrixScope,
    Number,
    Type,
    Use,
    element_type,
)
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Unary
from girih.source import Span

Meaning = TypeVar("Meaning")

NOTHING = Known(None)
"""What a call stands for that returns nothing."""

Uses = Mapping[str, tuple[Span, ...]]


def uses(call: Call, **parameters: str) -> Uses:
    """The places of the fields of an instruction, from the parameters that they come from."""
    return {field: (call.span_of(parameter),) for field, parameter in parameters.items()}


def one(values: tuple[Value, ...], *, natural: bool = False) -> Runtime:
    """The operand for the only result of an instruction; `natural` if it is certainly not negative."""
    (value,) = values
    return Runtime(value, natural)


# --- what is known ----------------------------------------------------------------------------


def integer(call: Call, parameter: str, least: int | None = None) -> int:
    """An integer that is known while translating, at least `least`."""
    t, span = call.translator, call.span_of(parameter)
    value = t.known(call[parameter], f"`{parameter}` of `gl.{call.name}`", span)
    if isinstance(value, bool) or not isinstance(value, int):
        raise fault("arguments", f"`{parameter}` is an integer, found {described(value)}", span)
    if least is not None and value < least:
        raise fault("arguments", f"`{parameter}` is at least {least}, found {value}", span)
    return value


def chosen(call: Call, parameter: str, choices: Mapping[str, Meaning]) -> Meaning:
    """What one of some strings stands for."""
    t, span = call.translator, call.span_of(parameter)
    value = t.known(call[parameter], f"`{parameter}` of `gl.{call.name}`", span)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(f'"{name}"' for name in choices)
        raise fault("arguments", f"`{parameter}` is one of {listed}, found {described(value)}", span)
    return choices[value]


def flag(call: Call, parameter: str) -> bool:
    """A truth value that is known while translating."""
    t, span = call.translator, call.span_of(parameter)
    value = t.known(call[parameter], f"`{parameter}` of `gl.{call.name}`", span)
    if not isinstance(value, bool):
        raise fault("arguments", f"`{parameter}` is True or False, found {described(value)}", span)
    return value


def is_absent(operand: Operand) -> bool:
    """Whether an operand was left out, or is None."""
    return isinstance(operand, Known) and operand.value is None


def items(operand: Operand) -> tuple[Operand, ...]:
    """The items of a tuple; anything else is the only one."""
    match operand:
        case Many(parts):
            return tuple(parts)
        case Known(value=(*parts,)) if not isinstance(operand.value, str):
            return tuple(map(Known, parts))
        case _:
            return (operand,)


def sizes(call: Call, parameter: str, count: int | None = None) -> tuple[int, ...]:
    """Positive integers that are known while translating, `count` of them."""
    t, span = call.translator, call.span_of(parameter)
    found = tuple(t.known(part, f"`{parameter}` of `gl.{call.name}`", span) for part in items(call[parameter]))
    numbers = tuple(n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0)
    if len(numbers) < len(found):
        raise fault("arguments", f"`{parameter}` are positive integers, found {described(found)}", span)
    if count is not None and len(numbers) != count:
        raise fault("arguments", f"`{parameter}` has {count} entries, found {described(found)}", span)
    return numbers


def described(value: object) -> str:
    """A value of Python as a message shows it, cut short where it is long."""
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def element(call: Call, parameter: str) -> Number | Boolean:
    """The scalar type that an operand names, such as `gl.f32`."""
    t, span = call.translator, call.span_of(parameter)
    value = t.resolved(t.known(call[parameter], f"`{parameter}` of `gl.{call.name}`", span))
    found = scalar_type(value)
    if found is None:
        message = f"`{parameter}` is an element type such as gl.f32, found {described(value)}"
        raise fault("arguments", message, span, element_hint(value))
    return found


def scalar_type(value: object) -> Number | Boolean | None:
    """The type that a class of `girih.language` names; None for anything else."""
    if isinstance(value, Number | Boolean):
        return value
    return SCALARS.get(value.__name__.rstrip("_")) if isinstance(value, type) else None


def function(call: Call, parameter: str) -> LocalFunction | types.FunctionType:
    """A function: one that is defined around, a lambda, one of a module, or a word."""
    t, span = call.translator, call.span_of(parameter)
    value = t.known(call[parameter], f"`{parameter}` of `gl.{call.name}`", span)
    refused = refused_callee(value, span.text)
    if refused is None and isinstance(value, LocalFunction | types.FunctionType):
        return value
    message, hint = refused if refused is not None and callable(value) else (
        f"`{parameter}` is a function or a lambda, found {described(value)}", "write lambda x: ..."
    )  # fmt: skip
    raise fault("arguments", message, span, hint)


USES = {use.value: use for use in Use}
SCOPES = {scope.value: scope for scope in MatrixScope}


def matrix_type(call: Call, component: Number | Boolean, shape: tuple[int, int]) -> CoopMatrix:
    """The type of a matrix, whose use and scope the call names."""
    if not isinstance(component, Number):
        raise fault("arguments", "a matrix is of numbers, not of truth values", call.span)
    return CoopMatrix(component, *shape, chosen(call, "use", USES), chosen(call, "scope", SCOPES))


# --- numbers and matrices ---------------------------------------------------------------------


def number(call: Call, parameter: str, type: Type | None = None) -> Value:
    """A number; a literal takes the given type, or without one that of literals where nothing decides."""
    return number_of(call.translator, call[parameter], call.span_of(parameter), type)


def number_of(t: Translator, operand: Operand, span: Span, type: Type | None = None) -> Value:
    """A number; a literal takes the given type, or without one that of literals where nothing decides."""
    if isinstance(operand, Runtime) or type is None:
        return t.materialised(operand, span).value
    return t.value(operand, type, span)


def computed(t: Translator, operand: Operand, span: Span) -> Operand:
    """An operand to compute with: views and products become matrices, anything else stays as it is."""
    return Runtime(t.matrix(operand, span)) if isinstance(operand, Memory | Part | MatrixProduct) else operand


def elementwise(call: Call, mnemonic: str, fields: Mapping[str, str], default: Type | None = None) -> Operand:
    """An instruction on numbers of one type; of matrices, component by component, broadcast as NumPy does.

    `fields` are those of the instruction, with the parameter that each comes from; `default` is the type of literals
    where all are.
    """
    t = call.translator
    operands = [computed(t, call[parameter], call.span_of(parameter)) for parameter in fields.values()]
    spans = [call.span_of(parameter) for parameter in fields.values()]
    if isinstance(default, Number) and default.family == "floating":
        _refuse_integers(call, operands, spans)
    return Runtime(combined(t, mnemonic, tuple(fields), operands, spans, call.span, default))


def _refuse_integers(call: Call, operands: Sequence[Operand], spans: Sequence[Span]) -> None:
    """Refuse numbers that are no floats, of a function that is for floats."""
    for operand, place in zip(operands, spans, strict=True):
        scalar = element_type(operand.value.type) if isinstance(operand, Runtime) else None
        if isinstance(scalar, Boolean) or (isinstance(scalar, Number) and scalar.family == "integer"):
            raise fault("types", f"gl.{call.name} takes floats, found {scalar}", place,
                        f"convert it: gl.f32({place.text})")  # fmt: skip


def combined(
    t: Translator,
    mnemonic: str,
    fields: Sequence[str],
    operands: Sequence[Operand],
    spans: Sequence[Span],
    span: Span,
    default: Type | None = None,
) -> Value:
    """The value of an instruction on numbers or matrices; numbers beside matrices stand for matrices of that number."""
    types = [operand.value.type for operand in operands if isinstance(operand, Runtime)]
    matrices = [type for type in types if isinstance(type, CoopMatrix)]
    uses = {field: (place,) for field, place in zip(fields, spans, strict=True)}
    if not matrices:
        type = types[0] if types else default
        first = number_of(t, operands[0], spans[0], type)
        rest = [t.value(operand, first.type, place) for operand, place in zip(operands[1:], spans[1:], strict=True)]
        values: dict[str, Any] = dict(zip(fields, (first, *rest), strict=True))
        return t.add(mnemonic, first.type, span=span, uses=uses, **values)[0]
    one_type = matrices[0]
    alike = all(isinstance(o, Known) or (isinstance(o, Runtime) and o.value.type == one_type) for o in operands)
    if alike and issubclass(TILE_LANGUAGE.ops[mnemonic], Binary | Unary):
        values = {f: t.value(o, one_type, s) for f, o, s in zip(fields, operands, spans, strict=True)}
        return t.add(mnemonic, one_type, span=span, uses=uses, **values)[0]
    return _applied(t, mnemonic, fields, operands, spans, span)


def _applied(
    t: Translator, mnemonic: str, fields: Sequence[str], operands: Sequence[Operand], spans: Sequence[Span], span: Span
) -> Value:
    """An instruction on the components of matrices; numbers beside them are the same for all components."""
    matrices = [o.value for o in operands if isinstance(o, Runtime) and isinstance(o.value.type, CoopMatrix)]

    def body(row: Value, column: Value, elements: tuple[Value, ...]) -> Operand:
        left = iter(elements)
        component = elements[0].type
        values: dict[str, Any] = {}
        for field, operand, place in zip(fields, operands, spans, strict=True):
            is_matrix = isinstance(operand, Runtime) and isinstance(operand.value.type, CoopMatrix)
            values[field] = next(left) if is_matrix else t.value(operand, component, place)
        return Runtime(t.add(mnemonic, component, span=span, **values)[0])

    return t.applied(matrices, body, span)
