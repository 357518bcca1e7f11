"""Composites as their leaves: made, taken apart, put together again (SPIR-V 3.52.12), and undefined values."""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.constants import composed
from girih.front.spirv.handlers import translates
from girih.front.spirv.leaves import leaves
from girih.front.spirv.translation import Translation
from girih.front.spirv.variables import part_of
from girih.ir.core import Value
from girih.ir.types import BOOL, INDEX, CoopMatrix, Number
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.types import CooperativeMatrix, Type, Vector


@translates("OpUndef")
def undefined(t: Translation, one: Instruction) -> None:
    """A value that nothing tells."""
    t.give(one, [t.undefined(type) for type in t.leaf_types(one)])


@translates("OpCompositeConstruct")
def construct(t: Translation, one: Instruction) -> None:
    """The constituents one after the other; a vector may be made of smaller ones."""
    t.give(one, composed(t, one, one.ids("constituents"), t.one))


@translates("OpCompositeConstructReplicateEXT")
def replicate(t: Translation, one: Instruction) -> None:
    """One value as every constituent."""
    types = t.leaf_types(one)
    part = t.leaves(one.id("value"))
    if len(types) == 1 and isinstance(types[0], CoopMatrix):
        t.give(one, composed(t, one, (one.id("value"),), t.one))
    else:
        t.give(one, part * (len(types) // max(len(part), 1)))


@translates("OpCompositeExtract")
def extract(t: Translation, one: Instruction) -> None:
    """The part that literal indices name."""
    composite = one.id("composite")
    first, type, component = _place(t, t.type_of(composite), one.ids("indexes"))
    whole = t.leaves(composite)
    if component is None:
        t.give(one, whole[first : first + len(leaves(type))])
    else:
        t.give(one, t.emit("matrix_extract", *t.leaf_types(one), matrix=whole[first], index=component))


@translates("OpCompositeInsert")
def insert(t: Translation, one: Instruction) -> None:
    """A composite with another part where literal indices name one."""
    composite = one.id("composite")
    first, type, component = _place(t, t.type_of(composite), one.ids("indexes"))
    whole, given = t.leaves(composite), t.leaves(one.id("object"))
    if component is not None:
        matrix = whole[first]
        given = t.emit("matrix_insert", matrix.type, a=given[0], matrix=matrix, index=component)
    t.give(one, (*whole[:first], *given, *whole[first + len(leaves(type)) :]))


def _place(t: Translation, type: Type, indexes: Sequence[int]) -> tuple[int, Type, Value | None]:
    """The first leaf and the type of a part; of a component of a matrix those of the matrix, and its number."""
    first = 0
    for index in indexes:
        if isinstance(type, CooperativeMatrix):
            return first, type, t.index(index)
        found = part_of(t.facts, type, index)
        if found is None:
            raise Undetermined
        first, type = first + found[0], found[1]
    return first, type, None


NO_COMPONENT = 0xFFFFFFFF
"""The literal of OpVectorShuffle for a component that is undefined."""


@translates("OpVectorShuffle")
def shuffle(t: Translation, one: Instruction) -> None:
    """Components of two vectors, in an order that literals tell."""
    both = (*t.leaves(one.id("vector_1")), *t.leaves(one.id("vector_2")))
    (type, *_) = t.leaf_types(one)
    t.give(one, [t.undefined(type) if at == NO_COMPONENT else both[at] for at in one.ids("components")])


@translates("OpVectorExtractDynamic")
def extract_dynamic(t: Translation, one: Instruction) -> None:
    """The component whose number is computed."""
    vector = one.id("vector")
    components = t.leaves(vector)
    index = _component_number(t, one, vector)
    known = t.literal(index)
    if known is not None:
        t.give(one, [components[known]])
        return
    chosen = components[0]
    for at, component in enumerate(components[1:], 1):
        here = t.one("equal", BOOL, a=index, b=t.index(at))
        chosen = t.one("select", component.type, condition=here, a=component, b=chosen)
    t.give(one, [chosen])


@translates("OpVectorInsertDynamic")
def insert_dynamic(t: Translation, one: Instruction) -> None:
    """A vector with another component where a computed number names one."""
    vector, (component,) = one.id("vector"), t.leaves(one.id("component"))
    index = _component_number(t, one, vector)
    made: list[Value] = []
    for at, before in enumerate(t.leaves(vector)):
        here = t.one("equal", BOOL, a=index, b=t.index(at))
        made.append(t.one("select", before.type, condition=here, a=component, b=before))
    t.give(one, made)


def _component_number(t: Translation, one: Instruction, vector: int) -> Value:
    """The computed number of a component, found where there is no such component."""
    type, index = t.type_of(vector), t.leaf(one.id("index"))
    assert isinstance(type, Vector) and type.count is not None and isinstance(index.type, Number)
    known = t.literal(index)
    if known is not None and 0 <= known < type.count:
        return t.index(known)
    return t.one("array_index", INDEX, index=index, size=type.count, text="the vector", vector=True)
