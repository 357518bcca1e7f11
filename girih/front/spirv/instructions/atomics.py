"""The translation of atomic instructions (SPIR-V 3.52.18) on buffers, memory of the work-group and addresses."""

from __future__ import annotations

from typing import Any

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.scopes import memory_fields
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import Number
from girih.spirv.instruction import Instruction


def _place(t: Translation, one: Instruction, type: Number, *semantics: str) -> dict[str, Any]:
    """The fields that say where an atomic access goes, and what it orders."""
    where = t.bytes_at(t.pointer(one.id("pointer")), type.size)
    ordered = memory_fields(t, one.id("memory"), *(one.id(name) for name in semantics)).fields()
    return {"memory": where.memory, "offset": where.offset, "alignment": type.size, **ordered}


def _number(t: Translation, one: Instruction) -> Number:
    (type,) = t.leaf_types(one)
    assert isinstance(type, Number)
    return type


@translates("OpAtomicLoad")
def atomic_load(t: Translation, one: Instruction) -> None:
    """The number at a place."""
    type = _number(t, one)
    t.give(one, t.emit("byte_atomic_load", type, **_place(t, one, type, "semantics")))


@translates("OpAtomicStore")
def atomic_store(t: Translation, one: Instruction) -> None:
    """A number put to a place."""
    value = t.leaf(one.id("value"))
    assert isinstance(value.type, Number)
    t.emit("byte_atomic_store", value=value, **_place(t, one, value.type, "semantics"))


_OPERATORS = {
    "OpAtomicExchange": "exchange",
    "OpAtomicIAdd": "add",
    "OpAtomicISub": "add",
    "OpAtomicSMin": "signed_min",
    "OpAtomicUMin": "unsigned_min",
    "OpAtomicSMax": "signed_max",
    "OpAtomicUMax": "unsigned_max",
    "OpAtomicAnd": "and",
    "OpAtomicOr": "or",
    "OpAtomicXor": "xor",
    "OpAtomicFAddEXT": "add",
    "OpAtomicFMinEXT": "min",
    "OpAtomicFMaxEXT": "max",
}


@translates(*_OPERATORS)
def atomic_update(t: Translation, one: Instruction) -> None:
    """The number at a place, combined with another one; a difference is the sum with the negative."""
    value = t.leaf(one.id("value"))
    if one.name == "OpAtomicISub":
        value = t.one("neg", value.type, a=value)
    _update(t, one, _OPERATORS[one.name], value)


@translates("OpAtomicIIncrement", "OpAtomicIDecrement")
def atomic_step(t: Translation, one: Instruction) -> None:
    """The number at a place, one more or less."""
    step = 1 if one.name == "OpAtomicIIncrement" else -1
    _update(t, one, "add", t.constant(step, _number(t, one)))


def _update(t: Translation, one: Instruction, operator: str, value: Value) -> None:
    type = _number(t, one)
    place = _place(t, one, type, "semantics")
    t.give(one, t.emit("byte_atomic_update", type, operator=operator, value=value, **place))


@translates("OpAtomicCompareExchange")
def atomic_compare_exchange(t: Translation, one: Instruction) -> None:
    """The number at a place, replaced if it is as expected. It orders what either of its two semantics does."""
    type = _number(t, one)
    fields = {"value": t.leaf(one.id("value")), "comparator": t.leaf(one.id("comparator"))}
    place = _place(t, one, type, "equal", "unequal")
    t.give(one, t.emit("byte_atomic_compare_exchange", type, **fields, **place))
