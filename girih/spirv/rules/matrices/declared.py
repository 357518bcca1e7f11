"""Types of cooperative matrices, and what a module declares to have them (SPV_KHR_cooperative_matrix)."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.matrices.terms import (
    EXT,
    KHR,
    NEWER,
    NV,
    SUBGROUP,
    WORKGROUP,
    constant_int32,
    is_matrix,
    shown,
    type_named,
)
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    Subject,
    Term,
    declared_type,
    is_32_bit_integer,
    present,
    satisfies,
)
from girih.spirv.types import Float, Int, Type, Vector

TYPE = f"{KHR} OpTypeCooperativeMatrixKHR"

ENCODED = {
    "BFloat16KHR": "BFloat16CooperativeMatrixKHR",
    "Float8E4M3EXT": "Float8CooperativeMatrixEXT",
    "Float8E5M2EXT": "Float8CooperativeMatrixEXT",
}
"""The capabilities that matrices of components in an encoding need (SPV_KHR_bfloat16, SPV_EXT_float8)."""

SINCE_1_6 = frozenset({"SPV_NV_tensor_addressing", "SPV_ARM_cooperative_matrix_layouts"})
"""Extensions that are written against SPIR-V 1.6 and require it (000, 002 Dependencies)."""


def _undeclared(subject: Subject[Facts]) -> str | None:
    type = subject.facts.type(present(subject, "component_type"))
    if not isinstance(type, Float) or type.encoding is None:
        return None
    needed = ENCODED.get(grammar().kinds["FPEncoding"].name_of(type.encoding))
    return None if needed is None or subject.facts.has(needed) else f"{type.words}s without capability {needed}"


def _scope(subject: Subject[Facts]) -> int:
    """The id of the scope, which the first extension of NV's calls Execution."""
    return present(subject, "scope" if subject.op.get("scope") is not None else "execution")


def _number_in(name: str, least: int, most: int | None, kind: str | None) -> Finds:
    """The predicate that a constant lies in a range, told by names of enumerants where there are any."""

    def find(subject: Subject[Facts]) -> str | None:
        id = _scope(subject) if name == "scope" else present(subject, name)
        value = subject.facts.integer(id)
        if value >= least and (most is None or value <= most):
            return None
        word = grammar().kinds[kind].name_of(value) if kind else str(value)
        return f"{name.capitalize()} is {shown(subject.facts, id, word)}"

    return Finds(f"{name.capitalize()} ≥ {least}" + (f" and ≤ {most}" if most is not None else ""), find)


def _no_size(subject: Subject[Facts]) -> str | None:
    """The first entry point that does not say the size of its work-groups, for a matrix of a work-group."""
    facts = subject.facts
    if facts.integer(_scope(subject)) != WORKGROUP:
        return None
    for entry in facts.entry_points:
        if entry.mode("LocalSize") is None and entry.mode("LocalSizeId") is None:
            return f"entry point {entry.name!r} without LocalSize or LocalSizeId"
    return None


def _late_size(subject: Subject[Facts]) -> str | None:
    """The first constant of a LocalSizeId that is declared after a matrix of a work-group."""
    facts = subject.facts
    if facts.integer(_scope(subject)) != WORKGROUP:
        return None
    for entry in facts.entry_points:
        mode = entry.mode("LocalSizeId")
        for id in mode.ids("LocalSizeId") if mode else ():
            if facts.definition(id).index > subject.op.index:
                return f"a size that is declared after the type, for entry point {entry.name!r}"
    return None


def _constants(name: str) -> SpirvRow:
    return rule(name, name, constant_int32(name), "a constant of a 32-bit integer type", TYPE)


def _is_older(subject: Subject[Facts]) -> bool:
    """Whether a module that names such an extension says a version before 1.6."""
    return subject.op.text("name") in SINCE_1_6 and subject.facts.module.header.version < (1, 6)


def _old_version(*, offered: bool) -> Finds:
    def find(subject: Subject[Facts]) -> str | None:
        facts = subject.facts
        if not _is_older(subject) or (facts.environment.spirv >= (1, 6)) is not offered:
            return None
        return "SPIR-V {}.{} with {}".format(*facts.module.header.version, subject.op.text("name"))

    return Finds(f"SPIR-V ≥ 1.6 with {' and '.join(sorted(SINCE_1_6))}", find)


def _no_memory_model(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    declared = grammar().kinds["Capability"].by_value.get(present(subject, "capability"))
    # Capabilities of component types imply CooperativeMatrixKHR too, and tools take them without the memory model.
    if declared is None or declared.name not in ("CooperativeMatrixKHR", "CooperativeMatrixLayoutsARM"):
        return None
    if not facts.has("Shader") or facts.has("VulkanMemoryModel"):
        return None
    return f"{declared.name} without VulkanMemoryModel"


def _is_pair(type: Type) -> bool:
    return isinstance(type, Vector) and is_32_bit_integer(type.component) and type.count == 2


def _no_matrix_type(subject: Subject[Facts]) -> str | None:
    made = subject.facts.defined_by(present(subject, "type"))
    return None if made == "OpTypeCooperativeMatrixKHR" else f"the result of {made}"


LENGTH_RESULT = rule(
    "result", "result_type",
    satisfies(RESULT_TYPE, "is a 32-bit unsigned integer", lambda type: is_32_bit_integer(type) and not type.signed),
    "a 32-bit unsigned integer as result", f"{KHR} OpCooperativeMatrixLengthKHR",
)  # fmt: skip

FAMILIES = (
    family(
        "OpCapability",
        rule(
            "matrix_memory_model", "capability",
            Finds("with Shader, CooperativeMatrixKHR needs VulkanMemoryModel", _no_memory_model),
            "capability VulkanMemoryModel beside CooperativeMatrixKHR in a shader", f"{KHR} 2.16.2",
            hint="declare OpCapability VulkanMemoryModel, and OpMemoryModel with Vulkan",
        ),
    ),
    family(
        "OpExtension",
        rule(
            "since_1_6", "name", _old_version(offered=True), "a module of SPIR-V 1.6, which the extension requires",
            "000, 002 Dependencies", beyond="spirv-val does not ask for the version that these extensions require",
        ),
        rule(
            "since_1_6_here", "name", _old_version(offered=False),
            "an environment with SPIR-V 1.6, which the extension requires", "000, 002 Dependencies",
            severity="warning",
        ),
    ),
    family(
        "OpTypeCooperativeMatrixKHR OpTypeCooperativeMatrixNV",
        rule(
            "component", "component_type",
            satisfies(declared_type("component_type"), "is a number", lambda type: isinstance(type, Int | Float)),
            "a scalar number as component", TYPE,
        ),
        rule(
            "component_capability", "component_type",
            Finds("the capability for matrices of such components", _undeclared),
            "the capability that matrices of such components need", "SPV_KHR_bfloat16, SPV_EXT_float8",
        ),
        rule(
            "scope", "scope execution", constant_int32("scope", "execution"),
            "a constant of a 32-bit integer type", TYPE,
        ),
        _constants("rows"),
        _constants("columns"),
        rule(
            "scope_value", "scope execution", _number_in("scope", WORKGROUP, SUBGROUP, "Scope"),
            "Workgroup or Subgroup as scope", "VUID-StandaloneSpirv-Scope-12243",
            beyond="spirv-val of 2025 does not have the rule",
        ),
        *(
            rule(
                f"{name}_value", name, _number_in(name, 1, None, None), f"at least one of the {name}", TYPE,
                beyond="spirv-val does not look at the number",
            )
            for name in ("rows", "columns")
        ),
        rule(
            "work_group_size", "scope execution", Finds("with scope Workgroup, each entry point has a size", _no_size),
            "the size of the work-group (LocalSize or LocalSizeId) for a matrix that belongs to one", f"{NV} 2.16.1",
        ),
        rule(
            "work_group_size_first", "scope execution",
            Finds("with scope Workgroup, sizes are declared before", _late_size),
            "the constants of LocalSizeId before the type of a matrix that belongs to a work-group", f"{NV} 2.16.1",
        ),
    ),
    family(
        "OpTypeCooperativeMatrixKHR",
        _constants("use"),
        rule(
            "use_value", "use", _number_in("use", 0, 2, "CooperativeMatrixUse"),
            "MatrixAKHR, MatrixBKHR or MatrixAccumulatorKHR as use", TYPE,
            beyond="spirv-val does not look at the value",
        ),
    ),
    family(
        "OpCooperativeMatrixLengthKHR",
        LENGTH_RESULT,
        rule(
            "matrix", "type", Finds("Type is a cooperative matrix", _no_matrix_type),
            "the type of a cooperative matrix", f"{KHR} OpCooperativeMatrixLengthKHR",
        ),
    ),
    family(
        "OpCooperativeMatrixGetCoordinateEXT",
        rule(
            "result", "result_type",
            satisfies(RESULT_TYPE, "is a vector of two 32-bit integers", _is_pair),
            "a vector of two 32-bit integers as result", EXT, beyond=NEWER,
        ),
        rule(
            "matrix", "matrix", is_matrix("matrix"), "a cooperative matrix", EXT, beyond=NEWER,
        ),
        rule(
            "index", "index",
            satisfies(Term("the type of Index", lambda s: type_named(s, "index")), "is a 32-bit integer",
                      is_32_bit_integer),
            "a 32-bit integer as index", EXT, beyond=NEWER,
        ),
    ),
)  # fmt: skip
