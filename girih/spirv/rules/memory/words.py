"""Vocabulary of the rules about memory: pointers, and the parts of a rule that finds what is wrong."""

from __future__ import annotations

from girih.rules.row import Undetermined
from girih.spirv.model.facts import Facts
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    Predicate,
    Subject,
    Term,
    is_pointer,
    present,
    satisfies,
    type_of,
    words_of,
)
from girih.spirv.types import Pointer, Type

READ_ONLY = frozenset({"UniformConstant", "Input", "PushConstant", "ShaderRecordBufferKHR"})
"""Storage classes that a shader does not write (SPIR-V 3.7)."""


def is_typed_pointer(type: Type) -> bool:
    """Whether a type is a pointer to a type."""
    return isinstance(type, Pointer) and type.pointee_id != 0


def is_untyped_pointer(type: Type) -> bool:
    """Whether a type is an untyped pointer."""
    return isinstance(type, Pointer) and type.pointee_id == 0


def is_logical(type: Type) -> bool:
    """Whether a type is a pointer that has no address, in an addressing model with logical pointers."""
    return isinstance(type, Pointer) and type.storage_class != "PhysicalStorageBuffer"


def a_pointer(name: str) -> Predicate:
    """The predicate that an operand is a pointer."""
    return satisfies(type_of(name), "is a pointer", is_pointer)


def a_type(name: str) -> Predicate:
    """The predicate that an operand, where it is present, is a type."""

    def search(subject: Subject[Facts]) -> str | None:
        made: str = subject.facts.definition(present(subject, name)).name
        return None if made.startswith("OpType") else f"a result of {made}"

    return Finds(f"{words_of(name)} is a type", search)


TYPED_RESULT = satisfies(RESULT_TYPE, "is a pointer to a type", is_typed_pointer)
UNTYPED_RESULT = satisfies(RESULT_TYPE, "is an untyped pointer", is_untyped_pointer)


def storage_class(pointer: Term) -> Term:
    """The storage class of a pointer's type, by name; undetermined for what is no pointer."""

    def value(subject: Subject[Facts]) -> str:
        type = pointer.value(subject)
        if not isinstance(type, Pointer):
            raise Undetermined
        return type.storage_class

    return Term(f"the storage class of {pointer.text}", value)
