"""Terms: the quantities that rules compare, read from the types of operands and from what surrounds an instruction."""

from __future__ import annotations

from typing import Any

from girih.ir.core import Value
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.surroundings import Subject
from girih.ir.types import Boolean, CoopMatrix, ErrorType, MatrixScope, MemRef, Number, Type, Use, element_type
from girih.ir.types import promote as promoted
from girih.rules.row import Undetermined
from girih.rules.terms import Term


def _type(subject: Subject, name: str) -> Type:
    operand = getattr(subject.op, name)
    if not isinstance(operand, Value) or isinstance(operand.type, ErrorType):
        raise Undetermined
    return operand.type


def type_of(name: str) -> Term:
    """The type of the operand or result `name`."""
    return Term(f"type({name})", lambda s: _type(s, name))


def _element(subject: Subject, name: str) -> Number | Boolean:
    scalar = element_type(_type(subject, name))
    if scalar is None:
        raise Undetermined
    return scalar


def element(name: str) -> Term:
    """The element type of the memref, the component type of the matrix, or the type of the scalar `name`."""
    return Term(f"element_type({name})", lambda s: _element(s, name))


def component(name: str) -> Term:
    """The component type of the cooperative matrix `name`."""
    return Term(f"component_type({name})", lambda s: _element(s, name))


def promote(a: Term, b: Term) -> Term:
    """The promoted type of two number types; undetermined if there is none, which another row reports."""

    def value(subject: Subject) -> Number:
        promoted_type = promoted(a.value(subject), b.value(subject))
        if promoted_type is None:
            raise Undetermined
        return promoted_type

    return Term(f"promote({a.text}, {b.text})", value)


def _memref(subject: Subject, name: str) -> MemRef:
    type_ = _type(subject, name)
    if not isinstance(type_, MemRef):
        raise Undetermined
    return type_


def order(name: str) -> Term:
    """The number of modes of the memref `name`."""
    return Term(f"order({name})", lambda s: _memref(s, name).order)


def _shape(subject: Subject, name: str, transposed: str | None) -> tuple[int | None, ...]:
    type_ = _type(subject, name)
    if not isinstance(type_, MemRef | CoopMatrix):
        raise Undetermined
    flipped = transposed is not None and getattr(subject.op, transposed) and len(type_.shape) == 2
    return type_.shape[::-1] if flipped else type_.shape


def shape(name: str, transposed: str | None = None) -> Term:
    """The shape of the memref or matrix `name`, swapped if the modifier `transposed` is set."""
    text = f"shape(op({name}))" if transposed else f"shape({name})"
    return Term(text, lambda s: _shape(s, name, transposed))


def mode(name: str, number: int, transposed: str | None = None) -> Term:
    """One entry of the shape of `name`, swapped if the modifier `transposed` is set: 0 for rows, 1 for columns."""

    def value(subject: Subject) -> int | None:
        sizes = _shape(subject, name, transposed)
        if len(sizes) <= number:
            raise Undetermined
        return sizes[number]

    what = "rows" if number == 0 else "columns"
    return Term(f"{what}(op({name}))" if transposed else f"{what}({name})", value)


def rows(name: str, transposed: str | None = None) -> Term:
    """The size of the first mode of `name`; of the second if the modifier `transposed` is set."""
    return mode(name, 0, transposed)


def columns(name: str, transposed: str | None = None) -> Term:
    """The size of the second mode of `name`; of the first if the modifier `transposed` is set."""
    return mode(name, 1, transposed)


def use(name: str) -> Term:
    """The use of the cooperative matrix `name`."""

    def value(subject: Subject) -> Use:
        type_ = _type(subject, name)
        if not isinstance(type_, CoopMatrix):
            raise Undetermined
        return type_.use

    return Term(f"use({name})", value)


def scope(name: str) -> Term:
    """The scope of the cooperative matrix `name`."""

    def value(subject: Subject) -> MatrixScope:
        type_ = _type(subject, name)
        if not isinstance(type_, CoopMatrix):
            raise Undetermined
        return type_.scope

    return Term(f"scope({name})", value)


def constant(name: str) -> Term:
    """The value of the operand `name` that a `constant` defines; undetermined for any other operand."""

    def value(subject: Subject) -> Any:
        operand = getattr(subject.op, name)
        if isinstance(operand, int):
            return operand
        if operand not in subject.facts.constants:
            raise Undetermined
        return subject.facts.constants[operand]

    return Term(name, value)


def subgroup_size() -> Term:
    """The subgroup size that the function asks for; undetermined if it does not."""

    def value(subject: Subject) -> int:
        size = subject.facts.subgroup_size
        if size is None or size <= 0:
            raise Undetermined
        return size

    return Term("subgroup_size", value)


def limit(name: str) -> Term:
    """The limit `name` of the target; in the text of a rule, the one that holds if no target is named."""
    return Term(str(getattr(DEFAULT_LIMITS, name)), lambda s: getattr(s.facts.limits, name))
