"""Which variables outside of functions an entry point uses, through all that it calls (SPIR-V 2.17, OpEntryPoint)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.functions import Function, called_from
from girih.spirv.vocabulary import VARIABLES

NONE: frozenset[int] = frozenset()


def entry_points_by_index(facts: Facts) -> Mapping[int, EntryPoint]:
    """The entry points by the index of their OpEntryPoint."""
    return {entry.instruction.index: entry for entry in facts.entry_points}


def entry_points_of_functions(facts: Facts) -> Mapping[int, tuple[EntryPoint, ...]]:
    """The entry points by the id of their function; one function may be several."""
    made: dict[int, tuple[EntryPoint, ...]] = {}
    for entry in facts.entry_points:
        made[entry.function] = (*made.get(entry.function, ()), entry)
    return made


def used_by_entry_points(facts: Facts) -> Mapping[int, frozenset[int]]:
    """The variables that are used by the functions that an entry point reaches, by the id of its function."""
    behind = _behind(facts)
    functions = facts.bodies.functions
    direct: dict[int, frozenset[int]] = {}
    made: dict[int, frozenset[int]] = {}
    for entry in facts.entry_points:
        if entry.function in made:
            continue
        reached = called_from(entry.function, functions)
        for id, function in reached.items():
            if id not in direct:
                direct[id] = _used_in(function, behind)
        made[entry.function] = NONE.union(*(direct[id] for id in reached))
    return made


def _behind(facts: Facts) -> Mapping[int, frozenset[int]]:
    """For ids that are made outside of functions, the variables that they are, or are made of."""
    made: dict[int, frozenset[int]] = {}
    for one in facts.instructions:
        if one.name == "OpFunction":
            break
        if one.result and one.malformed is None:
            parts = (made.get(operand.value, NONE) for operand in one.references if isinstance(operand.value, int))
            found = NONE.union(*parts) | (frozenset({one.result}) if one.name in VARIABLES else NONE)
            if found:
                made[one.result] = found
    return made


def _used_in(function: Function, behind: Mapping[int, frozenset[int]]) -> frozenset[int]:
    found: set[int] = set()
    for one in _instructions(function):
        for operand in one.references:
            if isinstance(operand.value, int):
                found |= behind.get(operand.value, NONE)
    return frozenset(found)


def _instructions(function: Function) -> Iterable[Instruction]:
    return (one for block in function.blocks for one in block.body)


def functions_using(facts: Facts, id: int) -> frozenset[int]:
    """The functions in which an id is used, or an id that is made of it outside of functions."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [id]
    while waiting:
        for use in facts.uses.get(waiting.pop(), ()):
            one = use.instruction
            function = facts.function_of(one)
            if function is not None:
                found.add(function.id)
            elif one.result and one.index not in seen:
                seen.add(one.index)
                waiting.append(one.result)
    return frozenset(found)


def entry_points_that_reach(facts: Facts, one: Instruction) -> Iterator[EntryPoint]:
    """The entry points from which an instruction can be reached by calls."""
    function = facts.function_of(one)
    if function is not None:
        reached = facts.once(_reached)
        yield from (entry for entry in facts.entry_points if function.id in reached[entry.function])


def _reached(facts: Facts) -> Mapping[int, frozenset[int]]:
    ids = {entry.function for entry in facts.entry_points}
    return {id: frozenset(called_from(id, facts.bodies.functions)) for id in ids}
