"""Rules that follow from the grammar and from the module as a whole (SPIR-V 2.2 to 2.4, 2.16, 2.17, 3).

Words that can be read, ids, what opcodes and enumerants need, the order of sections, imports, limits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Malformed
from girih.spirv.model.extended import is_non_semantic
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, Faults
from girih.spirv.model.grammar.ids import id_faults
from girih.spirv.model.grammar.limits import limit_faults
from girih.spirv.model.grammar.requirements import requirements, version_text
from girih.spirv.model.grammar.sections import order_faults
from girih.spirv.model.grammar.vulkan import capability_version
from girih.spirv.rules.row import INSTRUCTION, MODULE, SpirvRow, family, rule
from girih.spirv.rules.terms import Analysed, Finds, Holds, Subject

LARGEST_BOUND = 0x3FFFFF
"""The largest bound of ids that every implementation takes (SPIR-V 2.17)."""


def _analysed(
    id: str, analysis: Callable[[Facts], FaultList], says: str, source: str, *, beyond: str | None = None
) -> SpirvRow:
    """The row of one rule of an analysis that looks for several."""
    return rule(id, "", Analysed(says, partial(_of_rule, analysis, id)), says, source, beyond=beyond)


def _of_rule(analysis: Callable[[Facts], FaultList], id: str, facts: Facts) -> Faults:
    return facts.once(analysis).of(id)


# Words


def _readable(id: str, says: str) -> SpirvRow:
    """The row of one way in which words do not fit the grammar."""

    def unreadable(facts: Facts) -> Faults:
        wrong = ((one.index, one.malformed) for one in facts.instructions if one.malformed is not None)
        return {index: Fault(_came(malformed)) for index, malformed in wrong if malformed.rule == id}

    return rule(id, "", Analysed(says, unreadable), says, "SPIR-V 2.3")


def _came(malformed: Malformed) -> str:
    """What came, with what was expected there where the rule does not say it."""
    told = malformed.rule in ("missing", "enumerant")
    return f"{malformed.found}, not {malformed.expected}" if told else malformed.found


WORDS = family(
    INSTRUCTION,
    _readable("opcode", "an opcode of the grammar"),
    _readable("missing", "all operands that the grammar declares"),
    _readable("surplus", "no words after the last operand"),
    _readable("string", "a string that ends with a zero byte within the instruction"),
    _readable("enumerant", "a value that the operand kind has"),
)


# Ids

IDS = family(
    INSTRUCTION,
    _analysed("zero", id_faults, "an id other than 0", "SPIR-V 2.3"),
    _analysed("bound", id_faults, "a result below the bound in the header", "SPIR-V 2.3"),
    _analysed("redefined", id_faults, "a result that no other instruction makes", "SPIR-V 2.16.1"),
    _analysed("undefined", id_faults, "ids that an instruction makes", "SPIR-V 2.16.1"),
    _analysed("order", id_faults, "ids that are made before they are used", "SPIR-V 2.16.1"),
    _analysed("type", id_faults, "a type as result type", "SPIR-V 2.2.1"),
    _analysed("value", id_faults, "a value as operand", "SPIR-V 2.2.1"),
    _analysed("non_semantic", id_faults, "operands that have a meaning", "SPV_KHR_non_semantic_info"),
)

FORWARD_REFERENCES = family(
    "OpExtInstWithForwardRefsKHR",
    _analysed("forward_references", id_faults, "an operand that is made later", "SPV_KHR_relaxed_extended_instruction"),
    rule(
        "set",
        "set",
        Holds("the set is non-semantic", lambda s: is_non_semantic(s.facts.module, s.op), lambda s: _set_words(s)),
        "an instruction of a non-semantic set",
        "SPV_KHR_relaxed_extended_instruction",
    ),
)


# What opcodes and enumerants need

NEEDS = family(
    INSTRUCTION,
    _analysed("reserved", requirements, "an instruction that may be used", "SPIR-V 3.42.10"),
    _analysed("capability", requirements, "what the declared capabilities bring, or imply", "SPIR-V 2.16.1"),
    _analysed("version", requirements, "what the version in the header has", "SPIR-V 3"),
    _analysed("last_version", requirements, "what the version in the header still has", "SPIR-V 3"),
    _analysed("extension", requirements, "what the version or a declared extension brings", "SPIR-V 3"),
)


# Order

ORDER = (
    family(
        INSTRUCTION,
        _analysed("section", order_faults, "the order of a module's sections", "SPIR-V 2.4"),
    ),
    family(
        "OpSourceContinued",
        _analysed(
            "continues",
            order_faults,
            "OpSource or OpSourceContinued before it",
            "SPIR-V 3.42.2",
            beyond="its releases before 2026 take it anywhere",
        ),
    ),
    family(
        "OpFunction",
        _analysed("nested", order_faults, "a place outside of functions", "SPIR-V 2.4"),
        _analysed("declared_first", order_faults, "functions without blocks before those with blocks", "SPIR-V 2.4"),
    ),
    family(
        "OpFunctionParameter",
        _analysed("parameter", order_faults, "a place between OpFunction and the first block", "SPIR-V 2.4"),
    ),
    family("OpFunctionEnd", _analysed("ends", order_faults, "a function that it ends", "SPIR-V 2.4")),
    family(
        "OpExtInst OpExtInstWithForwardRefsKHR",
        _analysed("semantic_place", order_faults, "a place in a block", "SPIR-V 2.4"),
        _analysed(
            "debug_place",
            order_faults,
            "scopes, lines, declarations and values of variables in functions, other debug information before them",
            "NonSemantic.Shader.DebugInfo",
        ),
    ),
)


# The module as a whole


def _declares(name: str) -> Callable[[Subject[Facts]], bool]:
    return lambda subject: any(one.name == name for one in subject.facts.instructions)


def _version_found(subject: Subject[Facts]) -> str | None:
    version, last = subject.facts.module.header.version, subject.facts.environment.spirv
    fits = (1, 0) <= version <= last
    return None if fits else f"version {version_text(version)}, and {subject.facts.environment.name} takes " \
                             f"1.0 to {version_text(last)}"  # fmt: skip


def _bound_found(subject: Subject[Facts]) -> str | None:
    bound = subject.facts.module.header.bound
    return None if 0 < bound <= LARGEST_BOUND else str(bound)


def _schema_found(subject: Subject[Facts]) -> str | None:
    return str(subject.facts.module.header.schema) if subject.facts.module.header.schema else None


def _has_entry_point(subject: Subject[Facts]) -> bool:
    facts = subject.facts
    stated = ("OpEntryPoint", "OpConditionalEntryPointINTEL")
    return facts.has("Linkage") or facts.has("GraphARM") or any(one.name in stated for one in facts.instructions)


MODULE_RULES = family(
    MODULE,
    rule("target_version", "", Finds("the version is the environment's", _version_found),
         "a version of SPIR-V that the environment takes", "SPIR-V 2.3"),
    rule("largest_bound", "", Finds("0 < bound ≤ 4194303", _bound_found), "a bound of at least 1 and at most 4194303",
         "SPIR-V 2.17"),
    rule("schema", "", Finds("the schema is 0", _schema_found), "0 as the fifth word of the header", "SPIR-V 2.3",
         beyond="it does not look at the word"),
    rule("memory_model", "", Holds("there is an OpMemoryModel", _declares("OpMemoryModel"), lambda _: "none"),
         "an OpMemoryModel", "SPIR-V 2.4"),
    rule("entry_point", "", Holds("there is an OpEntryPoint", _has_entry_point, lambda _: "none"),
         "an OpEntryPoint, or the capability Linkage", "SPIR-V 2.16.1"),
    _analysed("function_end", order_faults, "OpFunctionEnd at the end of each function", "SPIR-V 2.4"),
)  # fmt: skip


def _is_first(name: str) -> Callable[[Subject[Facts]], bool]:
    """Whether an instruction is the first of its name."""

    def first(facts: Facts) -> int:
        return next((one.index for one in facts.instructions if one.name == name), -1)

    return lambda subject: subject.op.index == subject.facts.once(first)


ONCE = (
    family(
        "OpMemoryModel",
        rule("once", "", Holds("it stands once", _is_first("OpMemoryModel"), lambda _: "a second one"),
             "one OpMemoryModel", "SPIR-V 2.4"),
    ),
)  # fmt: skip


# Imports, extensions, capabilities

EXTENSION_VERSIONS = {
    "SPV_KHR_vulkan_memory_model": (1, 3), "SPV_QCOM_cooperative_matrix_conversion": (1, 3),
    **dict.fromkeys(
        (
            "SPV_KHR_workgroup_memory_explicit_layout", "SPV_KHR_opacity_micromap", "SPV_EXT_mesh_shader",
            "SPV_NV_shader_invocation_reorder", "SPV_EXT_shader_invocation_reorder",
            "SPV_NV_cluster_acceleration_structure", "SPV_NV_linear_swept_spheres", "SPV_QCOM_image_processing",
            "SPV_QCOM_image_processing2",
        ),
        (1, 4),
    ),
}  # fmt: skip
"""The versions that extensions need, which the grammar does not tell; each extension's section "Dependencies"."""

VERSIONED_SETS = ("NonSemantic.Shader.DebugInfo.", "NonSemantic.ClspvReflection.")
"""Sets whose names end in a number, and of which every number is known that is not below the first."""


def _extension_version(subject: Subject[Facts]) -> str | None:
    needed = EXTENSION_VERSIONS.get(subject.op.text("name"))
    version = subject.facts.module.header.version
    if needed is None or version >= needed:
        return None
    return f"version {version_text(version)}; {subject.op.text('name')} needs {version_text(needed)}"


def _set_words(subject: Subject[Facts]) -> str:
    return subject.facts.module.set_name(subject.op.id("set")) or subject.facts.defined_by(subject.op.id("set"))


def _is_known_set(subject: Subject[Facts]) -> bool:
    name = subject.op.text("name")
    if name.startswith("NonSemantic."):
        return True
    return name in grammar().set_names or name.startswith("Arm.")


def _set_number(subject: Subject[Facts]) -> str | None:
    """What is wrong with the number at the end of a set's name."""
    name: str = subject.op.text("name")
    for prefix in VERSIONED_SETS:
        if name.startswith(prefix):
            digits = name.removeprefix(prefix)
            first = 100 if "DebugInfo" in prefix else 1
            return None if digits.isascii() and digits.isdigit() and int(digits) >= first else name
    return None


def _non_semantic_is_enabled(subject: Subject[Facts]) -> bool:
    facts: Facts = subject.facts
    if not subject.op.text("name").startswith("NonSemantic.") or facts.module.header.version >= (1, 6):
        return True
    return "SPV_KHR_non_semantic_info" in facts.extensions


def _in_its_set(subject: Subject[Facts]) -> bool:
    """Whether a set has the number of an instruction; sets that are non-semantic may have any."""
    known = grammar().extended(subject.facts.module.set_name(subject.op.id("set")) or "")
    if known is None or is_non_semantic(subject.facts.module, subject.op):
        return True
    return subject.op.id("instruction") in known


def _vulkan_takes(subject: Subject[Facts]) -> bool:
    facts, name = subject.facts, _capability(subject.op)
    one = grammar().kinds["Capability"].by_name.get(name)
    if one is None or facts.environment.vulkan is None:
        return True
    since = capability_version(one)
    brought = not facts.extensions.isdisjoint(one.extensions)
    return brought or (since is not None and since <= facts.environment.vulkan)


def _capability(one: Instruction) -> str:
    return grammar().kinds["Capability"].name_of(one.id("capability"))


IMPORTS = (
    family(
        "OpExtension",
        rule("extension_version", "name", Finds("the version is the extension's", _extension_version),
             "a version that the extension takes", "Dependencies of the extension"),
    ),
    family(
        "OpExtInstImport",
        rule("known_set", "name", Holds("the set is known", _is_known_set, lambda s: repr(s.op.text("name"))),
             "a set of extended instructions that is known, or a non-semantic one", "SPIR-V 3.42.4",
             hint="GLSL.std.450 is the set of shaders"),
        rule("set_number", "name", Finds("the set's name ends in its number", _set_number),
             "the set's number at the end of its name", "NonSemantic.Shader.DebugInfo",
             beyond="its releases before 2026 take any number"),
        rule("non_semantic_info", "name",
             Holds("with version < 1.6: SPV_KHR_non_semantic_info is declared", _non_semantic_is_enabled,
                   lambda s: f"{s.op.text('name')} without it"),
             "version 1.6 or the extension SPV_KHR_non_semantic_info", "SPV_KHR_non_semantic_info",
             hint='declare it: OpExtension "SPV_KHR_non_semantic_info"'),
    ),
    family(
        "OpExtInst",
        rule("set", "set", Holds("the set is an import", lambda s: s.facts.defined_by(s.op.id("set")) in
                                 ("OpExtInstImport", ""), _set_words),
             "an OpExtInstImport as set", "SPIR-V 3.42.4"),
        rule("number", "instruction", Holds("the set has the instruction", _in_its_set,
                                            lambda s: f"{s.op.id('instruction')}, which {_set_words(s)} does not have"),
             "an instruction of the set", "SPIR-V 3.42.4"),
    ),
    family(
        "OpCapability OpConditionalCapabilityINTEL",
        rule("vulkan", "capability", Holds("the version of Vulkan, or an extension, has it", _vulkan_takes,
                                           lambda s: f"{_capability(s.op)} in {s.facts.environment.name}"),
             "a capability of the version of Vulkan, or of a declared extension", "Vulkan, table spirvenv-capabilities",
             vulkan=True),
    ),
)  # fmt: skip


# Limits

LIMITS = family(
    INSTRUCTION,
    rule("limit", "", Analysed("nothing is longer, deeper or more than every implementation takes", limit_faults),
         "what every implementation takes", "SPIR-V 2.17"),
)  # fmt: skip

FAMILIES = (WORDS, IDS, FORWARD_REFERENCES, NEEDS, *ORDER, MODULE_RULES, *ONCE, *IMPORTS, LIMITS)
