"""What types are made of, and what memory behind pointers holds (SPIR-V 2.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from girih.rules.row import Undetermined
from girih.spirv.model.facts import Facts
from girih.spirv.types import (
    Array,
    CooperativeMatrix,
    Float,
    Int,
    Matrix,
    Pointer,
    RuntimeArray,
    Struct,
    Type,
    Vector,
)  # fmt: skip


def member_type(facts: Facts, struct: Struct, index: int) -> Type:
    """The type of a member, also a pointer that is declared after the struct.

    Raises `Undetermined` where there is none.
    """
    if not 0 <= index < len(struct.members):
        raise Undetermined
    known = struct.members[index]
    if known is not None:
        return known
    later = facts.type(_member_ids(facts, struct)[index])
    if not isinstance(later, Pointer):
        raise Undetermined
    return later


def _member_ids(facts: Facts, struct: Struct) -> tuple[int, ...]:
    """The ids of the types of members; zeros where another instruction makes the struct's id as well."""
    found = facts.module.definitions.get(struct.id)
    ids = found.ids("members") if found is not None and found.name == "OpTypeStruct" else ()
    return ids if len(ids) == len(struct.members) else (0,) * len(struct.members)


def element_of(type: Type) -> Type | None:
    """The type of what any index into a composite selects; None for a struct, and for what is no composite."""
    match type:
        case Array() | RuntimeArray():
            return type.element
        case Vector() | CooperativeMatrix():
            return type.component
        case Matrix():
            return type.column
    return None


MOST_REMEMBERED = 64
"""Parts of the largest type whose parts are remembered: a chain of 10,000 types within types would have 50 million."""


def parts_of(facts: Facts, type: Type) -> Iterable[Type]:
    """A type and all that it is made of, each once. What pointers point to is no part of them."""
    known = facts.once(_remembered_parts)
    return known[type.id] if type.id in known else _search_parts(facts, type, known)


def _remembered_parts(_: Facts) -> dict[int, tuple[Type, ...]]:
    """The parts of types whose parts were asked for, by the id of the type."""
    return {}


def _search_parts(facts: Facts, type: Type, known: dict[int, tuple[Type, ...]]) -> Iterator[Type]:
    found: dict[int, Type] = {}
    waiting = [type]
    while waiting:
        part = waiting.pop()
        if part.id in found:
            continue
        found[part.id] = part
        yield part
        element = element_of(part)
        if element is not None:
            waiting.append(element)
        elif isinstance(part, Struct):
            ids = _member_ids(facts, part)
            members = (
                member or facts.declarations.types.get(id) for member, id in zip(part.members, ids, strict=False)
            )
            waiting += [member for member in members if member is not None]
    if len(found) <= MOST_REMEMBERED:
        known[type.id] = tuple(found.values())


def contains(facts: Facts, type: Type, test: Callable[[Type], bool]) -> bool:
    """Whether a type, or a part of it, passes a test."""
    return any(test(part) for part in parts_of(facts, type))


def types_containing(facts: Facts, test: Callable[[Type], bool]) -> frozenset[int]:
    """The types that pass a test, or have a part that does, in one pass: parts are declared before what has them."""
    found: set[int] = set()
    for one in facts.instructions:
        if one.name == "OpFunction":
            break
        type = facts.declarations.types.get(one.result) if one.name.startswith("OpType") else None
        if type is not None and (test(type) or any(part.id in found for part in _direct_parts(type))):
            found.add(one.result)
    return frozenset(found)


def _direct_parts(type: Type) -> tuple[Type, ...]:
    if isinstance(type, Struct):
        return tuple(member for member in type.members if member is not None)
    element = element_of(type)
    return () if element is None else (element,)


def unwrapped(type: Type) -> Type:
    """The element type of an array, else the type itself: what one descriptor of a resource variable holds."""
    return type.element if isinstance(type, Array | RuntimeArray) else type


def data_type_of(facts: Facts, variable: int) -> Type:
    """The type of what a variable holds: the pointee, or the data type of an untyped one.

    Raises `Undetermined` where it has none.
    """
    made = facts.definition(variable)
    if made.name == "OpUntypedVariableKHR":
        return facts.type(made.id("data_type"))
    return facts.pointee(facts.type(made.result_type))


def is_restricted_number(facts: Facts) -> Callable[[Type], bool]:
    """The test for numbers of 8 or 16 bits that a module may store and not compute with (capabilities Int8, ...)."""
    small = {(Int, 8): "Int8", (Int, 16): "Int16", (Float, 16): "Float16"}
    without = {key for key, capability in small.items() if not facts.has(capability)}

    def restricted(part: Type) -> bool:
        if isinstance(part, Float) and part.encoding is not None:
            return False
        return isinstance(part, Int | Float) and (type(part), part.width) in without

    return restricted


def pointer_type_of(facts: Facts, id: int) -> Pointer:
    """The type of a pointer. Raises `Undetermined` where the id is no pointer."""
    found = facts.type_of(id)
    if not isinstance(found, Pointer):
        raise Undetermined
    return found
