"""Rules about barriers of control and memory, and the clock of a scope (SPIR-V 3.42.20)."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.rules.concurrency.scopes import EXECUTION_SCOPE, MEMORY_SCOPE, is_scope, reached_from, scope_rows
from girih.spirv.rules.concurrency.semantics import (
    OF_ARRIVAL,
    OF_BARRIER,
    OF_MEMORY_BARRIER,
    OF_WAIT,
    SEMANTICS,
    UNKNOWN_SPLIT,
)  # fmt: skip
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    OnlyWhere,
    Subject,
    count_of,
    is_32_bit_integer,
    satisfies,
    type_of,
    width_of,
)  # fmt: skip
from girih.spirv.types import Int, Opaque, Type, Vector

_SECTION = "SPIR-V 3.42.20"

_SPLIT = "OpControlBarrierArriveINTEL OpControlBarrierWaitINTEL"


def _is_named_barrier(type: Type) -> bool:
    return isinstance(type, Opaque) and type.name == "OpTypeNamedBarrier"


def _is_clock(type: Type) -> bool:
    part = type.component if isinstance(type, Vector) else type
    return isinstance(part, Int) and not part.signed and (count_of(type), width_of(type)) in ((1, 64), (2, 32))


def _before_1_3(subject: Subject[Facts]) -> bool:
    return subject.facts.module.header.version < (1, 3)


FAMILIES = (
    family(f"OpControlBarrier {_SPLIT}", *EXECUTION_SCOPE),
    family("OpControlBarrier",
           rule("execution_models", "",
                OnlyWhere("before SPIR-V 1.3", _before_1_3,
                      reached_from(("TessellationControl", "GLCompute", "Kernel", "TaskNV", "MeshNV"))),
                "an entry point of a stage that has control barriers before SPIR-V 1.3", _SECTION)),
    family(_SPLIT,
           rule("execution_models", "", reached_from(("GLCompute", "Kernel")),
                "an entry point of GLCompute or Kernel for a split barrier",
                "VUID-StandaloneSpirv-SplitBarrierEXT-13552", beyond=UNKNOWN_SPLIT)),
    family(f"OpControlBarrier OpMemoryBarrier OpMemoryNamedBarrier {_SPLIT}", *MEMORY_SCOPE, *SEMANTICS, *OF_BARRIER),
    family("OpMemoryBarrier", *OF_MEMORY_BARRIER),
    family("OpControlBarrierArriveINTEL", *OF_ARRIVAL),
    family("OpControlBarrierWaitINTEL", *OF_WAIT),
    family("OpNamedBarrierInitialize",
           rule("result", "result_type", satisfies(RESULT_TYPE, "is a named barrier", _is_named_barrier),
                "a named barrier as result", _SECTION),
           rule("subgroup_count_type", "subgroup_count",
                satisfies(type_of("subgroup_count"), "is a 32-bit integer", is_32_bit_integer),
                "a 32-bit integer as Subgroup Count", _SECTION)),
    family("OpMemoryNamedBarrier",
           rule("named_barrier_type", "named_barrier",
                satisfies(type_of("named_barrier"), "is a named barrier", _is_named_barrier),
                "a named barrier as Named Barrier", _SECTION)),
    family("OpReadClockKHR",
           *scope_rows("scope", "scope"),
           rule("scope_vulkan", "scope", is_scope("scope", ("Subgroup", "Device")), "Subgroup or Device as Scope",
                "VUID-StandaloneSpirv-OpReadClockKHR-04652", vulkan=True),
           rule("result", "result_type",
                satisfies(RESULT_TYPE, "is an unsigned 64-bit integer or a vector of 2 unsigned 32-bit integers",
                          _is_clock),
                "an unsigned 64-bit integer, or a vector of 2 unsigned 32-bit integers, as result",
                "SPV_KHR_shader_clock")),
)  # fmt: skip
