"""What loads from function variables may give: the values stored before them, wherever control comes from.

Compilers keep the layouts of tensors, and the numbers that these are made of, in variables of functions. Only variables
that are loaded and stored whole are followed, and only values are told that are right on every path.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import field

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction
from girih.spirv.model.extended import is_note
from girih.spirv.model.facts import Facts, Use
from girih.spirv.model.functions import Block, Function

HARMLESS = frozenset({"OpName", "OpDecorate", "OpDecorateId", "OpDecorateString", "OpLoad"})
"""Uses of a variable that do not change what it holds."""


@dataclass(slots=True)
class _Stores:
    """The stores to a variable: by block, their places in order and the objects stored."""

    places: dict[int, list[int]] = field(default_factory=dict)
    objects: dict[int, list[int]] = field(default_factory=dict)


def stored_before(facts: Facts, load: Instruction) -> tuple[int, ...] | None:
    """The objects one of which a load from a variable gives; None where that is not known.

    A path on which nothing is stored counts only with the variable's initialiser: what it gives else is undefined.
    """
    stores = _stores_of(facts, load.id("pointer"))
    block, function = facts.block_of(load), facts.function_of(load)
    if stores is None or block is None or function is None:
        return None
    initial = facts.definition(load.id("pointer")).id("initializer")
    earlier = bisect_left(stores.places.get(block.id, []), load.index)
    if earlier:
        return (stores.objects[block.id][earlier - 1],)
    found = _reaching(stores, block, predecessors(facts, function), initial, function.blocks[0].id)
    return found or None


def _reaching(
    stores: _Stores, block: Block, before: Mapping[int, tuple[int, ...]], initial: int, entry: int
) -> tuple[int, ...]:
    """The objects that the blocks before a block leave in a variable."""
    found: dict[int, None] = {initial: None} if initial and block.id == entry else {}
    waiting, seen = list(before.get(block.id, ())), set()
    while waiting:
        label = waiting.pop()
        if label in seen:
            continue
        seen.add(label)
        if label in stores.objects:
            found[stores.objects[label][-1]] = None
            continue
        if label == entry and initial:
            found[initial] = None
        waiting += before.get(label, ())
    return tuple(found)


def predecessors(facts: Facts, function: Function) -> Mapping[int, tuple[int, ...]]:
    """The blocks from which control comes to a block of a function, by label."""
    return facts.once(_all_predecessors).get(function.id, {})


def _all_predecessors(facts: Facts) -> Mapping[int, Mapping[int, tuple[int, ...]]]:
    made: dict[int, dict[int, tuple[int, ...]]] = {}
    for function in facts.bodies.functions:
        before = made.setdefault(function.id, {})
        for block in function.blocks:
            for target in block.successors:
                before[target] = (*before.get(target, ()), block.id)
    return made


def _stores_of(facts: Facts, variable: int) -> _Stores | None:
    """The stores to a function variable; None where it may be changed in another way."""
    known = facts.once(_known_stores)
    if variable not in known:
        known[variable] = _collected(facts, variable)
    return known[variable]


def _known_stores(facts: Facts) -> dict[int, _Stores | None]:
    return {}


def _collected(facts: Facts, variable: int) -> _Stores | None:
    if facts.defined_by(variable) != "OpVariable" or facts.function_of(facts.definition(variable)) is None:
        return None
    made = _Stores()
    for use in facts.uses.get(variable, ()):
        one = use.instruction
        if (one.name in HARMLESS and not _volatile(one)) or is_note(facts.module, one):
            continue
        block = facts.block_of(one)
        if not _is_store(use) or block is None:
            return None
        made.places.setdefault(block.id, []).append(one.index)
        made.objects.setdefault(block.id, []).append(one.id("object"))
    return made


def _is_store(use: Use) -> bool:
    return use.instruction.name == "OpStore" and use.operand.name == "pointer" and not _volatile(use.instruction)


def _volatile(one: Instruction) -> bool:
    """Whether the memory operands of an access say Volatile."""
    return bool(one.id("memory_access") & 1)
