"""Where pointers point: into an array or not, and how far from a boundary of 16 bytes, as far as constants tell."""

from __future__ import annotations

from collections.abc import Iterator

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.parts import data_type_of, element_of, member_type
from girih.spirv.types import Array, Pointer, RuntimeArray, Struct, Type
from girih.spirv.vocabulary import RESOURCES, VARIABLES

CHAINS = frozenset({"OpAccessChain", "OpInBoundsAccessChain"})
LONGEST_CHAIN = 64
"""Chains of pointers longer than this are not followed."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a pointer into a composite: the composite, and the id of the index."""

    composite: Type
    index: int


@dataclass(frozen=True, slots=True)
class Way:
    """The way from a variable, or another pointer of which no more is known, to where a pointer points."""

    root: Instruction
    steps: tuple[Step, ...]
    target: Type


def way_of(facts: Facts, pointer: int) -> Way:
    """The way to where a pointer points. Raises `Undetermined` where it is not a chain of typed pointers."""
    chains = []
    made = facts.definition(pointer)
    while made.name in CHAINS or made.name == "OpCopyObject":
        if made.name in CHAINS:
            chains.append(made)
        if len(chains) > LONGEST_CHAIN:
            raise Undetermined
        made = facts.definition(made.id("base") or made.id("operand"))
    type = data_type_of(facts, made.result) if made.name in VARIABLES else facts.pointee(facts.type_of(made.result))
    steps: list[Step] = []
    for chain in reversed(chains):
        for index in chain.ids("indexes"):
            steps.append(Step(type, index))
            type = _inside(facts, type, index)
    return Way(made, tuple(steps), type)


def _inside(facts: Facts, type: Type, index: int) -> Type:
    if isinstance(type, Struct):
        return member_type(facts, type, facts.integer(index))
    found = element_of(type)
    if found is None:
        raise Undetermined
    return found


def points_into_array(facts: Facts, pointer: int) -> bool:
    """Whether a pointer points to an array or into one. Raises `Undetermined` where that is not known.

    An array of resources is none: each of its elements has a memory of its own.
    """
    way = way_of(facts, pointer)
    if isinstance(way.target, Array | RuntimeArray):
        return True
    if any(isinstance(step.composite, Array | RuntimeArray) for step in _in_memory(facts, way)):
        return True
    if way.root.name not in VARIABLES:
        raise Undetermined
    return False


def _in_memory(facts: Facts, way: Way) -> Iterator[Step]:
    """The steps of a way without the one that chooses a resource."""
    steps = way.steps
    if steps and _is_described(facts, way.root) and isinstance(steps[0].composite, Array | RuntimeArray):
        steps = steps[1:]
    yield from steps


def _is_described(facts: Facts, root: Instruction) -> bool:
    type = facts.type_of(root.result)
    return root.name in VARIABLES and isinstance(type, Pointer) and type.storage_class in RESOURCES


def misalignment(facts: Facts, pointer: int, alignment: int) -> int:
    """The bytes from the last boundary of `alignment` bytes to where a pointer points: 0 where it is aligned.

    Buffers begin at such a boundary. Raises `Undetermined` where an index or a decoration that matters is not known.
    """
    way = way_of(facts, pointer)
    if not _is_described(facts, way.root):
        raise Undetermined
    offset = 0
    for step in _in_memory(facts, way):
        offset += _bytes_of(facts, step, alignment)
    return offset % alignment


def _bytes_of(facts: Facts, step: Step, alignment: int) -> int:
    """The bytes that a step adds, modulo an alignment."""
    if isinstance(step.composite, Struct):
        return _decorated(facts, step.composite.id, "Offset", facts.integer(step.index))
    if not isinstance(step.composite, Array | RuntimeArray):
        raise Undetermined
    stride = _decorated(facts, step.composite.id, "ArrayStride")
    return 0 if stride % alignment == 0 else stride * facts.integer(step.index)


def _decorated(facts: Facts, id: int, name: str, member: int | None = None) -> int:
    found = facts.annotations.parameter(id, name, member)
    if found is None:
        raise Undetermined
    return found
