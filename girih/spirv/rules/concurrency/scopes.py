"""Rules about scopes: how far an execution, or an access to memory, is seen (SPIR-V 3.27; Vulkan's limits).

Instructions of several chapters share these rows. A scope is an id, so that its value is that of a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.row import SpirvRow, rule
from girih.spirv.rules.terms import (
    Finds,
    OnlyWhere,
    Predicate,
    Satisfies,
    Subject,
    Term,
    Undetermined,
    instruction_of,
    is_32_bit_integer,
    one_of,
    present,
    satisfies,
    type_of,
    words_of,
)  # fmt: skip
from girih.spirv.values import CONSTANTS, SPEC_CONSTANTS
from girih.spirv.vocabulary import RAY_MODELS, WORK_GROUP_MODELS

MODELS_WITH_GROUPS = (*WORK_GROUP_MODELS, "TessellationControl")
"""The execution models whose invocations form work-groups."""

SCOPES = ("CrossDevice", "Device", "Workgroup", "Subgroup", "Invocation", "QueueFamily", "ShaderCallKHR")

_SECTION = "SPIR-V 3.27"


def scope(name: str) -> Term:
    """The name of the scope that an operand is; not known of a specialisation constant that keeps its default."""

    def named(subject: Subject[Facts]) -> str:
        id = present(subject, name)
        if subject.facts.rests_on_default(id):
            raise Undetermined
        return grammar().kinds["Scope"].name_of(subject.facts.integer(id))

    return Term(words_of(name), named)


def is_scope(name: str, allowed: Iterable[str]) -> Satisfies:
    """The predicate that a scope is one of these."""
    names = tuple(allowed)
    return satisfies(scope(name), f"is {one_of(names)}", names.__contains__)


def has_scope(name: str, *scopes: str) -> Callable[[Subject[Facts]], bool]:
    """The condition that a scope is one of these."""
    term = scope(name)
    return lambda subject: term.value(subject) in scopes


def has(*capabilities: str) -> Callable[[Subject[Facts]], bool]:
    """The condition that the module has one of these capabilities."""
    return lambda subject: any(subject.facts.has(name) for name in capabilities)


def needs(*capabilities: str) -> Predicate:
    """The predicate that the module has one of these capabilities."""

    def missing(subject: Subject[Facts]) -> str | None:
        return None if any(subject.facts.has(name) for name in capabilities) else "a module without it"

    return Finds(f"the module has capability {one_of(capabilities)}", missing)


def reached_from(models: Iterable[str]) -> Predicate:
    """The predicate that only entry points of these execution models reach an instruction."""
    allowed = frozenset(models)

    def other(subject: Subject[Facts]) -> str | None:
        return _entry_points(subject.facts.models_of(instruction_of(subject)) - allowed)

    return Finds(f"only entry points of {one_of(models)} reach it", other)


def not_reached_from(models: Iterable[str]) -> Predicate:
    """The predicate that no entry point of these execution models reaches an instruction."""
    forbidden = frozenset(models)

    def other(subject: Subject[Facts]) -> str | None:
        return _entry_points(subject.facts.models_of(instruction_of(subject)) & forbidden)

    return Finds(f"no entry point of {one_of(models)} reaches it", other)


def _entry_points(models: frozenset[str]) -> str | None:
    return f"an entry point of {one_of(sorted(models))}" if models else None


def unfixed(subject: Subject[Facts], operand: str) -> str | None:
    """What makes an operand, where that is no constant that specialisation leaves as it is."""
    made = subject.facts.definition(present(subject, operand)).name
    if made in CONSTANTS or (made in SPEC_CONSTANTS and subject.facts.has("CooperativeMatrixNV")):
        return None
    return f"{words_of(operand)} is the result of {made}"


def scope_rows(operand: str, prefix: str) -> tuple[SpirvRow, ...]:
    """The rows that every scope has."""
    words = words_of(operand)
    fixed = Finds(f"{words} is a constant, and no specialisation constant", lambda s: unfixed(s, operand))
    return (
        rule(f"{prefix}_type", operand, satisfies(type_of(operand), "is a 32-bit integer", is_32_bit_integer),
             f"a 32-bit integer as {words}", _SECTION),
        rule(f"{prefix}_constant", operand, OnlyWhere("with capability Shader", has("Shader"), fixed),
             f"a constant as {words}, which specialisation does not change", _SECTION),
        rule(f"{prefix}_scope", operand, is_scope(operand, SCOPES), f"a scope of SPIR-V as {words}", _SECTION),
    )  # fmt: skip


def memory_scope(operand: str = "memory", prefix: str = "memory") -> tuple[SpirvRow, ...]:
    """The rows of a scope of memory; a row says nothing where the operand is absent."""
    in_work_groups = has_scope(operand, "Workgroup")
    words = words_of(operand)
    return (
        *scope_rows(operand, prefix),
        rule(f"{prefix}_queue_family", operand,
             OnlyWhere(f"where {words} is QueueFamily", has_scope(operand, "QueueFamily"), needs("VulkanMemoryModel")),
             f"capability VulkanMemoryModel for QueueFamily as {words}", _SECTION),
        rule(f"{prefix}_device", operand,
             OnlyWhere(f"where {words} is Device, with capability VulkanMemoryModel",
                   lambda s: s.facts.has("VulkanMemoryModel") and has_scope(operand, "Device")(s),
                   needs("VulkanMemoryModelDeviceScope")),
             f"capability VulkanMemoryModelDeviceScope for Device as {words} in the Vulkan memory model", _SECTION),
        rule(f"{prefix}_vulkan", operand,
             is_scope(operand, ["Device", "QueueFamily", "Workgroup", "ShaderCallKHR", "Subgroup", "Invocation"]),
             f"a scope that Vulkan has as {words}", "VUID-StandaloneSpirv-None-04638", vulkan=True),
        rule(f"{prefix}_subgroup", operand,
             OnlyWhere(f"in Vulkan 1.0, where {words} is Subgroup",
                   lambda s: s.facts.environment.vulkan == (1, 0) and has_scope(operand, "Subgroup")(s),
                   needs("SubgroupBallotKHR", "SubgroupVoteKHR")),
             f"capability SubgroupBallotKHR or SubgroupVoteKHR for Subgroup as {words} in Vulkan 1.0",
             "VUID-StandaloneSpirv-SubgroupVoteKHR-07951", vulkan=True),
        rule(f"{prefix}_shader_call", operand,
             OnlyWhere(f"where {words} is ShaderCallKHR", has_scope(operand, "ShaderCallKHR"),
                       reached_from(RAY_MODELS)),
             f"an entry point of a ray tracing stage for ShaderCallKHR as {words}",
             "VUID-StandaloneSpirv-None-04640", vulkan=True),
        rule(f"{prefix}_work_group", operand,
             OnlyWhere(f"where {words} is Workgroup", in_work_groups, reached_from(MODELS_WITH_GROUPS)),
             f"an entry point of a stage with work-groups for Workgroup as {words}",
             "VUID-StandaloneSpirv-None-07321", vulkan=True),
        rule(f"{prefix}_tessellation", operand,
             OnlyWhere(f"where {words} is Workgroup, with the memory model GLSL450",
                   lambda s: s.facts.memory_model == "GLSL450" and in_work_groups(s),
                   not_reached_from(("TessellationControl",))),
             f"the Vulkan memory model for Workgroup as {words} in an entry point of TessellationControl",
             "VUID-StandaloneSpirv-None-07320", vulkan=True),
    )  # fmt: skip


def execution_scope(operand: str = "execution", prefix: str = "execution") -> tuple[SpirvRow, ...]:
    """The rows of a scope of execution."""
    words = words_of(operand)
    return (
        *scope_rows(operand, prefix),
        rule(f"{prefix}_vulkan", operand, is_scope(operand, ("Workgroup", "Subgroup")),
             f"Workgroup or Subgroup as {words}", "VUID-StandaloneSpirv-None-04636", vulkan=True),
        rule(f"{prefix}_work_group", operand,
             OnlyWhere(f"where {words} is Workgroup", has_scope(operand, "Workgroup"),
                       reached_from(MODELS_WITH_GROUPS)),
             f"an entry point of a stage with work-groups for Workgroup as {words}",
             "VUID-StandaloneSpirv-None-04637, -04682", vulkan=True),
    )  # fmt: skip


MEMORY_SCOPE = memory_scope()
"""The rows of the operand Memory."""

EXECUTION_SCOPE = execution_scope()
"""The rows of the operand Execution."""
