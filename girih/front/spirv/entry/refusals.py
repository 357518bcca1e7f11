"""What an entry point has that girih does not execute, told before anything is translated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from girih.diagnostics import Diagnostic
from girih.front.spirv.codes import refused
from girih.front.spirv.emission import SILENT, extended_name
from girih.front.spirv.entry.parameters import built_in_of
from girih.front.spirv.handlers import FUNCTIONS, HANDLERS
from girih.front.spirv.leaves import leaves
from girih.front.spirv.variables import OWN, Reached
from girih.rules.row import Undetermined
from girih.source import Span
from girih.spirv.instruction import Instruction
from girih.spirv.model.declared.bindings import ShaderInterface
from girih.spirv.model.extended import is_extended, is_note
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Function, called_by
from girih.spirv.model.parts import parts_of
from girih.spirv.types import Array, Pointer, Type
from girih.spirv.vocabulary import TERMINATORS

PlaceOf = Callable[[Instruction], Span]

BOUND = frozenset({"StorageBuffer", "Uniform"})
"""Storage classes of variables that are buffers."""


def refused_instructions(facts: Facts, functions: Mapping[int, Reached], place: PlaceOf) -> list[Diagnostic]:
    """What functions have that has no translation, each opcode and each function of an extended set once."""
    found: dict[str, Diagnostic] = {}
    for reached in functions.values():
        for one in reached.instructions:
            missing = _missing(facts, one)
            if missing and missing not in found:
                expected = "an instruction that girih executes"
                found[missing] = refused("instruction", expected, missing, place(one))
    return list(found.values())


def _missing(facts: Facts, one: Instruction) -> str | None:
    """The name of what has no translation."""
    if one.name in SILENT or one.name in TERMINATORS or one.name == "OpFunctionCall":
        return None
    if not is_extended(one):
        return None if one.name in HANDLERS else one.name
    name = extended_name(facts, one)
    return None if name in FUNCTIONS or is_note(facts.module, one) else " ".join(name)


def refused_types(facts: Facts, functions: Mapping[int, Reached], place: PlaceOf) -> list[Diagnostic]:
    """The results of instructions of which girih has no values: each type once."""
    found: dict[int, Diagnostic] = {}
    seen: set[int] = set()
    for reached in functions.values():
        for one in (*reached.function.parameters, *reached.instructions):
            type = facts.declarations.types.get(one.result_type)
            if type is None or type.id in seen:
                continue
            seen.add(type.id)
            lacking = _lacking(facts, type)
            if lacking is not None and lacking.id not in found:
                found[lacking.id] = refused("type", "a type that girih has values of", str(lacking), place(one))
    return list(found.values())


def _lacking(facts: Facts, type: Type) -> Type | None:
    """What of a type, or of what a pointer points to, girih has no values of; None where nothing is."""
    pointer = type if isinstance(type, Pointer) else None
    if pointer is not None:
        if not pointer.pointee_id:
            return type
        type = facts.pointee(pointer)
    empty = next((part for part in parts_of(facts, type) if _is_empty(part)), None)
    if empty is not None or (pointer is not None and pointer.storage_class not in OWN):
        return empty
    try:
        leaves(type)
    except (Undetermined, KeyError):
        return type
    return None


def _is_empty(type: Type) -> bool:
    """Whether a type is an array without elements, as one whose length is a specialisation constant of 0."""
    return isinstance(type, Array) and type.length is not None and type.length < 1


def refused_variables(
    interface: ShaderInterface, used: Iterable[Instruction], built_ins: frozenset[str], place: PlaceOf
) -> list[Diagnostic]:
    """The variables that stand for what girih does not have: images, built-ins of other stages."""
    found = []
    for one in used:
        expected, came = _missing_variable(interface, one, built_ins) or ("", "")
        if came:
            found.append(refused("variable", expected, f"{interface.facts.called(one.result)}, {came}", place(one)))
    arrays = [one for one in interface.resources if one.is_array and one.count is None]
    if interface.has_addresses and any(one is not interface.resources[-1] for one in arrays):
        expected = "an array of buffers without a size at the last binding of a module with addresses"
        guilty = interface.facts.definition(arrays[0].variables[0].id)
        found.append(refused("variable", expected, f"one at binding {arrays[0].binding}", place(guilty)))
    return found


def _missing_variable(
    interface: ShaderInterface, one: Instruction, built_ins: frozenset[str]
) -> tuple[str, str] | None:
    facts = interface.facts
    type = facts.type(one.result_type)
    if one.name != "OpVariable" or not isinstance(type, Pointer):
        return "a typed variable (OpVariable)", one.name
    storage = type.storage_class
    if storage == "Input":
        name = built_in_of(facts, one.result)
        return None if name in built_ins else ("a built-in of compute shaders", name or "an input without a built-in")
    if storage == "PushConstant":
        return None if interface.push_constants is not None else ("a block of push constants", str(facts.pointee(type)))
    if storage in OWN or storage == "Workgroup":
        return None
    if storage in BOUND and one.result in interface.resource_of:
        return None
    return "a buffer, push constants, or memory of a work-group or work-item", f"{facts.pointee(type)} in {storage}"


def recursion(facts: Facts, entry: Function, place: PlaceOf) -> list[Diagnostic]:
    """The first call by which a function calls itself, through others or directly."""
    by_id = {function.id: function for function in facts.bodies.functions}
    open_: set[int] = set()
    done: set[int] = set()
    path: list[tuple[int, list[tuple[Instruction, int]]]] = [(entry.id, _calls(entry))]
    open_.add(entry.id)
    while path:
        id, rest = path[-1]
        if not rest:
            path.pop()
            open_.discard(id)
            done.add(id)
            continue
        call, callee = rest.pop()
        if callee in open_:
            found = f"a call of {facts.called(callee)} from itself, directly or through others"
            return [refused("recursion", "calls of other functions", found, place(call))]
        if callee in by_id and callee not in done:
            open_.add(callee)
            path.append((callee, _calls(by_id[callee])))
    return []


def _calls(function: Function) -> list[tuple[Instruction, int]]:
    """The calls in a function with what they call, the last one first."""
    listed = [(one, id) for block in function.blocks for one in block.body for id in called_by(one)]
    return listed[::-1]
