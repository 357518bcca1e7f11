"""Rules of built-ins: their types, where they stand, and who has them (SPIR-V 3.21; Vulkan, "Built-In Variables").

The built-ins of compute shaders and subgroups are judged; those of other stages may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.annotations import Decoration
from girih.spirv.model.declared.interfaces import functions_using
from girih.spirv.model.declared.resources import storage_of
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, Faults
from girih.spirv.model.parts import data_type_of, member_type, unwrapped
from girih.spirv.rules.declarations.entry_points import built_in_name, work_group_size_constants
from girih.spirv.rules.declarations.modes import times, wrong_derivatives
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Analysed, Finds, Subject
from girih.spirv.types import Int, Pointer, Struct, Type, Vector
from girih.spirv.values import ALL_CONSTANTS
from girih.spirv.vocabulary import VARIABLES, WORK_GROUP_MODELS


class BuiltIn(NamedTuple):
    """What a built-in is: its number of 32-bit integers, its execution models (empty for all), the sources.

    `on_members` tells whether a member of a struct may be it.
    """

    numbers: int
    models: frozenset[str]
    source: str
    on_members: bool = True


def _source(number: int) -> str:
    return f"VUID-{number:05}"


_IN_GROUPS = frozenset(WORK_GROUP_MODELS)
_COMPUTE_VECTORS = {"GlobalInvocationId": 4236, "LocalInvocationId": 4281, "NumWorkgroups": 4296, "WorkgroupId": 4422}
_MASKS = {f"Subgroup{order}Mask": 4370 + 2 * at for at, order in enumerate(("Eq", "Ge", "Gt", "Le", "Lt"))}
_OF_CORES = (
    "CoreIDARM", "CoreCountARM", "CoreMaxIDARM", "WarpIDARM", "WarpMaxIDARM", "WarpsPerSMNV", "SMCountNV", "WarpIDNV",
    "SMIDNV",
)  # fmt: skip

BUILT_INS: Mapping[str, BuiltIn] = {
    **{name: BuiltIn(3, _IN_GROUPS, _source(number)) for name, number in _COMPUTE_VECTORS.items()},
    "WorkgroupSize": BuiltIn(3, _IN_GROUPS, _source(4425)),
    "LocalInvocationIndex": BuiltIn(1, _IN_GROUPS, _source(4284)),
    "NumSubgroups": BuiltIn(1, _IN_GROUPS, _source(4293), on_members=False),
    "SubgroupId": BuiltIn(1, _IN_GROUPS, _source(4367), on_members=False),
    "SubgroupLocalInvocationId": BuiltIn(1, frozenset(), _source(4380), on_members=False),
    "SubgroupSize": BuiltIn(1, frozenset(), _source(4382), on_members=False),
    **{name: BuiltIn(4, frozenset(), _source(number), on_members=False) for name, number in _MASKS.items()},
    "DeviceIndex": BuiltIn(1, frozenset(), _source(4205)),
    **{name: BuiltIn(1, frozenset(), "SPV_NV_shader_sm_builtins, SPV_ARM_core_builtins") for name in _OF_CORES},
}
"""The built-ins that compute shaders have."""


def _stated(facts: Facts) -> Iterator[tuple[Instruction, Decoration, str, BuiltIn]]:
    """Each id that is a built-in of the table, or has a member that is one."""
    for target, listed in facts.annotations.by_target.items():
        made = facts.module.definitions.get(target)
        if made is None or made.malformed is not None:
            continue
        for one in listed:
            name = built_in_name(one) if one.name == "BuiltIn" else ""
            if name in BUILT_INS:
                yield made, one, name, BUILT_INS[name]


def _held(facts: Facts, made: Instruction, member: int | None) -> Type:
    """The type of a built-in. Raises `Undetermined` for what is none."""
    if member is not None:
        struct = facts.type(made.result)
        if not isinstance(struct, Struct):
            raise Undetermined
        return member_type(facts, struct, member)
    return data_type_of(facts, made.result) if made.name in VARIABLES else facts.type(made.result_type)


def _is_numbers(type: Type, count: int) -> bool:
    part = type.component if isinstance(type, Vector) else type
    size = type.count if isinstance(type, Vector) else 1
    return isinstance(part, Int) and part.width == 32 and size == count


def _types(facts: Facts, made: Instruction, one: Decoration, known: BuiltIn) -> str | None:
    held = _held(facts, made, one.member)
    return None if _is_numbers(held, known.numbers) else f"as a {held.words}"


def _members(facts: Facts, made: Instruction, one: Decoration, known: BuiltIn) -> str | None:
    return "as a member of a struct" if one.member is not None and not known.on_members else None


def _storage(facts: Facts, made: Instruction, one: Decoration, known: BuiltIn) -> str | None:
    classes = [storage_of(made)] if made.name in VARIABLES else []
    if one.member is not None:
        classes = [pointer.storage_class for pointer in _pointers_to(facts, made.result)]
    return next((f"in {name}" for name in classes if name != "Input"), None)


def _pointers_to(facts: Facts, struct: int) -> Iterator[Pointer]:
    for one in facts.instructions:
        if one.name == "OpFunction":
            return
        made = facts.declarations.types.get(one.result) if one.name == "OpTypePointer" else None
        held = facts.declarations.types.get(made.pointee_id) if isinstance(made, Pointer) else None
        if isinstance(made, Pointer) and held is not None and unwrapped(held).id == struct:
            yield made


def _models(facts: Facts, made: Instruction, one: Decoration, known: BuiltIn) -> str | None:
    foreign = {entry.model_name for entry in facts.entry_points} - known.models
    if not known.models or not foreign:
        return None
    for id in functions_using(facts, made.result):
        wrong = facts.models_of(facts.definition(id)) - known.models
        if wrong:
            return f"in use by {min(wrong)}"
    return None


Check = Callable[[Facts, Instruction, Decoration, BuiltIn], str | None]


def _row(id: str, check: Check, words: str, says: str, source: str) -> SpirvRow:
    """The row of a check of all built-ins of the table."""

    def find(facts: Facts) -> Faults:
        found = FaultList()
        for made, one, name, known in _stated(facts):
            try:
                came = check(facts, made, one, known)
            except Undetermined:
                continue
            if came is not None:
                blamed = tuple(operand for operand in one.instruction.operands if operand.name == "BuiltIn")
                found.add(id, one.instruction.index, Fault(f"{name} {came}", blamed))
        return found.of(id)

    return rule(id, "", Analysed(words, find), says, source, vulkan=True)


# The size of the work-group, as a constant


def _size(subject: Subject[Facts]) -> tuple[int, ...]:
    facts: Facts = subject.facts
    if subject.op.result not in facts.once(work_group_size_constants) or facts.is_specialised(subject.op.result):
        raise Undetermined
    size = facts.value(subject.op.result)
    if not isinstance(size, tuple) or not all(isinstance(extent, int) for extent in size):
        raise Undetermined
    return tuple(extent for extent in size if isinstance(extent, int))


def _empty(subject: Subject[Facts]) -> str | None:
    size = _size(subject)
    return times(size) if prod(size) == 0 else None


def _derivatives(subject: Subject[Facts]) -> str | None:
    return wrong_derivatives(_size(subject), subject.facts.entry_points)


# The scope of UniformId


def _scope(subject: Subject[Facts]) -> str | None:
    facts, id = subject.facts, subject.op.id("UniformId")
    if not id:
        return None
    held = facts.type_of(id)
    if not (isinstance(held, Int) and held.width == 32):
        return str(held.words)
    value = facts.integer(id)
    return None if value in grammar().kinds["Scope"].by_value else f"scope {value}"


def _vulkan_scope(subject: Subject[Facts]) -> str | None:
    facts, id = subject.facts, subject.op.id("UniformId")
    if not id:
        return None
    name = grammar().kinds["Scope"].name_of(facts.integer(id))
    return None if name in ("Workgroup", "Subgroup") else name


FAMILIES = (
    family(
        "OpDecorate OpMemberDecorate",
        _row("built_in_type", _types, "the built-in has its type",
             "32-bit integers: one, or a vector of as many as the built-in has", "Vulkan, Built-In Variables"),
        _row("built_in_member", _members, "the built-in is a variable of its own", "a variable, not a member",
             "Vulkan, Built-In Variables"),
        _row("built_in_storage", _storage, "the built-in is in Input", "a variable in Input",
             "Vulkan, Built-In Variables"),
        _row("built_in_model", _models, "an execution model that has the built-in uses it",
             "an execution model with work-groups", "Vulkan, Built-In Variables"),
    ),
    family(
        " ".join(sorted(ALL_CONSTANTS)),
        rule("work_group_size", "", Finds("a constant that is WorkgroupSize is not 0", _empty),
             "a work-group with invocations", "SPIR-V 3.21 WorkgroupSize"),
        rule("derivatives", "", Finds("a constant that is WorkgroupSize fits groups of four", _derivatives),
             "an even width and height for squares of four, a multiple of 4 invocations for rows",
             "VUID-StandaloneSpirv-DerivativeGroupQuadsKHR-10151"),
    ),
    family(
        "OpDecorateId",
        rule("scope", "UniformId", Finds("the scope of UniformId is a 32-bit scope", _scope),
             "a scope, as a 32-bit integer", "SPIR-V 3.20 UniformId"),
        rule("vulkan_scope", "UniformId", Finds("the scope of UniformId is Workgroup or Subgroup", _vulkan_scope),
             "the scope Workgroup or Subgroup", "VUID-StandaloneSpirv-None-04636", vulkan=True),
    ),
)  # fmt: skip
