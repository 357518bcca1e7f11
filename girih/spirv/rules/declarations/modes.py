"""Rules of execution modes, the memory model, and names of members and files (SPIR-V 2.16.1, 3.6, 3.42.2, 3.42.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod

from girih.spirv.grammar import Enumerant, grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.declared.interfaces import entry_points_of_functions
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.rules.declarations.entry_points import work_group_size_constants
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import Analysed, Finds, Holds, Subject, Undetermined
from girih.spirv.types import Bool, Float, Int, Struct
from girih.spirv.values import CONSTANTS
from girih.spirv.vocabulary import WORK_GROUP_MODELS

MODES = "OpExecutionMode OpExecutionModeId"

_TESSELLATION = "TessellationControl TessellationEvaluation"

MODELS: Mapping[str, str] = {
    "Invocations InputPoints InputLines InputLinesAdjacency InputTrianglesAdjacency OutputLineStrip "
    "OutputTriangleStrip": "Geometry",
    "OutputPoints": "Geometry MeshNV MeshEXT",
    "SpacingEqual SpacingFractionalEven SpacingFractionalOdd VertexOrderCw VertexOrderCcw PointMode Quads Isolines":
    _TESSELLATION,
    "Triangles": f"Geometry {_TESSELLATION}",
    "OutputVertices": f"Geometry {_TESSELLATION} MeshNV MeshEXT",
    "OutputLinesEXT OutputTrianglesEXT OutputPrimitivesEXT": "MeshNV MeshEXT",
    "QuadDerivativesKHR": "Fragment GLCompute",
    "PixelCenterInteger OriginUpperLeft OriginLowerLeft EarlyFragmentTests DepthReplacing DepthGreater DepthLess "
    "DepthUnchanged StencilRefReplacingEXT NonCoherentColorAttachmentReadEXT NonCoherentDepthAttachmentReadEXT "
    "NonCoherentStencilAttachmentReadEXT PixelInterlockOrderedEXT PixelInterlockUnorderedEXT "
    "SampleInterlockOrderedEXT SampleInterlockUnorderedEXT ShadingRateInterlockOrderedEXT "
    "ShadingRateInterlockUnorderedEXT PostDepthCoverage EarlyAndLateFragmentTestsAMD StencilRefUnchangedFrontAMD "
    "StencilRefGreaterFrontAMD StencilRefLessFrontAMD StencilRefUnchangedBackAMD StencilRefGreaterBackAMD "
    "StencilRefLessBackAMD RequireFullQuadsKHR": "Fragment",
    "LocalSizeHint VecTypeHint ContractionOff LocalSizeHintId": "Kernel",
    "LocalSize LocalSizeId": f"Kernel {' '.join(WORK_GROUP_MODELS)}",
}  # fmt: skip
"""The execution models of modes that not all of them have (SPIR-V 3.6)."""

_MODELS = {mode: frozenset(models.split()) for modes, models in MODELS.items() for mode in modes.split()}

EXCLUSIVE: tuple[tuple[str, str, bool], ...] = (
    ("Fragment", "OriginUpperLeft OriginLowerLeft", True),
    ("Fragment", "DepthGreater DepthLess DepthUnchanged", False),
    ("Fragment", "PixelInterlockOrderedEXT PixelInterlockUnorderedEXT SampleInterlockOrderedEXT "
                 "SampleInterlockUnorderedEXT ShadingRateInterlockOrderedEXT ShadingRateInterlockUnorderedEXT", False),
    ("Fragment", "StencilRefUnchangedFrontAMD StencilRefLessFrontAMD StencilRefGreaterFrontAMD", False),
    ("Fragment", "StencilRefUnchangedBackAMD StencilRefLessBackAMD StencilRefGreaterBackAMD", False),
    (_TESSELLATION, "SpacingEqual SpacingFractionalEven SpacingFractionalOdd", False),
    (_TESSELLATION, "Triangles Quads Isolines", False),
    (_TESSELLATION, "VertexOrderCw VertexOrderCcw", False),
    ("Geometry", "InputPoints InputLines InputLinesAdjacency Triangles InputTrianglesAdjacency", True),
    ("Geometry", "OutputPoints OutputLineStrip OutputTriangleStrip", True),
    ("MeshEXT", "OutputPoints OutputLinesEXT OutputTrianglesEXT", True),
    ("MeshEXT", "OutputVertices", True),
    ("MeshEXT", "OutputPrimitivesEXT", True),
)  # fmt: skip
"""For execution models, modes of which at most one stands, or, where it is said, exactly one (SPIR-V 3.6)."""

SEVERAL_TIMES = frozenset({
    "DenormPreserve", "DenormFlushToZero", "SignedZeroInfNanPreserve", "RoundingModeRTE", "RoundingModeRTZ",
    "FPFastMathDefault", "RoundingModeRTPINTEL", "RoundingModeRTNINTEL", "FloatingPointModeALTINTEL",
    "FloatingPointModeIEEEINTEL",
})  # fmt: skip
"""Modes that an entry point may have several times, with different first parameters."""

NOT_IN_VULKAN = frozenset({"OriginLowerLeft", "PixelCenterInteger"})
CONSTANT_MODES = frozenset({
    "SubgroupsPerWorkgroupId", "LocalSizeHintId", "LocalSizeId", "IsApiEntryAMDX", "MaxNodeRecursionAMDX",
    "MaxNumWorkgroupsAMDX", "ShaderIndexAMDX", "SharesInputWithAMDX", "StaticNumWorkgroupsAMDX",
    "OpacityMicromapIdKHR",
})  # fmt: skip
"""Modes whose parameters are constants."""

FAST_MATH_BITS = 0x7FFFF
FAST, ALLOW_CONTRACT, ALLOW_REASSOC, ALLOW_TRANSFORM = 0x10, 0x10000, 0x20000, 0x40000


def mode_of(one: Instruction) -> Enumerant | None:
    """The execution mode that an instruction states."""
    return grammar().kinds["ExecutionMode"].by_value.get(one.id("mode"))


def _name(one: Instruction) -> str:
    mode = mode_of(one)
    return mode.name if mode else ""


def _entries(subject: Subject[Facts]) -> tuple[EntryPoint, ...]:
    return subject.facts.once(entry_points_of_functions).get(subject.op.id("entry_point"), ())


def _takes_ids(one: Instruction) -> bool:
    mode = mode_of(one)
    return mode is not None and any(operand.kind == "IdRef" for operand in mode.operands)


def _parameters(one: Instruction) -> Iterator[int]:
    found = one.get("parameters")
    return (value for value in (found if isinstance(found, tuple) else ()) if isinstance(value, int))


def _not_constant(subject: Subject[Facts]) -> str | None:
    if _name(subject.op) not in CONSTANT_MODES:
        return None
    made = [subject.facts.defined_by(id) for id in _parameters(subject.op)]
    return next((name for name in made if name and not name.startswith(("OpConstant", "OpSpecConstant"))), None)


def _no_integer_size(subject: Subject[Facts]) -> str | None:
    if _name(subject.op) not in ("LocalSizeId", "LocalSizeHintId", "SubgroupsPerWorkgroupId"):
        return None
    types = [subject.facts.type_of(id) for id in _parameters(subject.op)]
    return next((type.brief for type in types if not isinstance(type, Int)), None)


def _micromap(subject: Subject[Facts]) -> str | None:
    if _name(subject.op) != "OpacityMicromapIdKHR":
        return None
    types = [subject.facts.type_of(id) for id in _parameters(subject.op)]
    return next((type.brief for type in types if not isinstance(type, Bool)), None)


def _wrong_model(subject: Subject[Facts]) -> str | None:
    allowed = _MODELS.get(_name(subject.op))
    if allowed is None:
        return None
    wrong = [entry.model_name for entry in _entries(subject) if entry.model_name not in allowed]
    return f"{_name(subject.op)} for {wrong[0]}" if wrong else None


def _repeated(facts: Facts) -> Faults:
    """Modes that an entry point has twice."""
    seen: set[tuple[int, ...]] = set()
    made: dict[int, Fault] = {}
    for one in facts.instructions:
        if one.name not in MODES.split() or one.malformed is not None:
            continue
        first = tuple(_parameters(one))[:1] if _name(one) in SEVERAL_TIMES else ()
        key = (one.id("entry_point"), one.id("mode"), *first)
        if key in seen:
            made[one.index] = Fault(f"a second {_name(one)}", tuple(o for o in one.operands if o.name == "mode"))
        seen.add(key)
    return made


def _fast_math(subject: Subject[Facts]) -> str | None:
    """What is wrong with the parameters of FPFastMathDefault."""
    if _name(subject.op) != "FPFastMathDefault":
        return None
    facts = subject.facts
    target, mask = [*_parameters(subject.op), 0, 0][:2]
    made = facts.declarations.types.get(target)
    if not isinstance(made, Float):
        return made.brief if made else f"{facts.defined_by(target)} as type"
    if facts.defined_by(mask) not in CONSTANTS:
        return f"{facts.defined_by(mask)} as mask"
    return wrong_fast_math(facts.integer(mask), fast=False)


def wrong_fast_math(bits: int, *, fast: bool) -> str | None:
    """What is wrong with a mask of FPFastMathMode; `fast` tells whether it may have Fast."""
    if bits & ~FAST_MATH_BITS:
        return f"a mask with unknown bits {bits & ~FAST_MATH_BITS:#x}"
    if bits & FAST and not fast:
        return "a mask with Fast"
    needed = ALLOW_CONTRACT | ALLOW_REASSOC
    if bits & ALLOW_TRANSFORM and bits & needed != needed:
        return "AllowTransform without AllowContract and AllowReassoc"
    return None


def _conflict(subject: Subject[Facts]) -> str | None:
    if _name(subject.op) != "FPFastMathDefault":
        return None
    others = ("ContractionOff", "SignedZeroInfNanPreserve")
    found = [name for name in others if any(entry.mode(name) for entry in _entries(subject))]
    return f"FPFastMathDefault beside {found[0]}" if found else None


def _exclusive(subject: Subject[Facts]) -> str | None:
    """Modes of an entry point of which too many stand, or none."""
    facts: Facts = subject.facts
    entry = next((one for one in facts.entry_points if one.instruction is subject.op), None)
    if entry is None or not facts.has("Shader"):
        return None
    stated = {_name(mode) for mode in entry.modes}
    for models, names, needed in EXCLUSIVE:
        if entry.model_name in models.split():
            found = [name for name in names.split() if name in stated]
            if len(found) > 1:
                return " and ".join(found)
            if needed and not found:
                return f"none of {', '.join(names.split())}"
    return None


def _too_early_for_ids(subject: Subject[Facts]) -> str | None:
    vulkan = subject.facts.environment.vulkan
    if _name(subject.op) != "LocalSizeId" or vulkan is None or vulkan >= (1, 3):
        return None
    return f"LocalSizeId in {subject.facts.environment.name}"


# Sizes of work-groups


def _size(subject: Subject[Facts]) -> tuple[int, ...]:
    """The size that a mode states. Raises `Undetermined` where it states none, or another one counts."""
    facts: Facts = subject.facts
    name = _name(subject.op)
    if name not in ("LocalSize", "LocalSizeId") or facts.once(work_group_size_constants):
        raise Undetermined
    parameters = tuple(_parameters(subject.op))
    return parameters if name == "LocalSize" else tuple(map(facts.integer, parameters))


def _empty(*, specialised: bool) -> Callable[[Subject[Facts]], str | None]:
    """The search for a size of 0; one that rests on defaults of specialisation constants may get other values."""

    def find(subject: Subject[Facts]) -> str | None:
        facts, size = subject.facts, _size(subject)
        ids = () if _name(subject.op) == "LocalSize" else tuple(_parameters(subject.op))
        rests = any(map(facts.rests_on_default, ids))
        return times(size) if prod(size) == 0 and rests == specialised else None

    return find


def times(size: Iterable[int]) -> str:
    """A size as it is written: `8x8x1`."""
    return "x".join(map(str, size))


def _derivatives(subject: Subject[Facts]) -> str | None:
    if any(map(subject.facts.is_specialised, _parameters(subject.op))) and _name(subject.op) == "LocalSizeId":
        raise Undetermined
    return wrong_derivatives(_size(subject), _entries(subject))


def wrong_derivatives(size: tuple[int, ...], entries: Iterable[EntryPoint]) -> str | None:
    """What is wrong with a size where derivatives are taken in squares, or in rows, of four."""
    for entry in entries:
        if entry.mode("DerivativeGroupQuadsKHR") and any(extent % 2 for extent in size[:2]):
            return f"{times(size)} with DerivativeGroupQuadsKHR"
        if entry.mode("DerivativeGroupLinearKHR") and prod(size) % 4:
            return f"{times(size)} with DerivativeGroupLinearKHR"
    return None


# The memory model


def _memory_model(subject: Subject[Facts]) -> bool:
    return subject.facts.memory_model == "Vulkan" or not subject.facts.has("VulkanMemoryModel")


# Names


def _member(subject: Subject[Facts]) -> str | None:
    struct = subject.facts.type(subject.op.id("type"))
    if not isinstance(struct, Struct):
        return None
    member = subject.op.id("member")
    return None if member < len(struct.members) else f"member {member} of {len(struct.members)}"


def _made_by(operand: str, *names: str) -> Callable[[Subject[Facts]], bool]:
    return lambda subject: subject.facts.definition(subject.op.id(operand)).name in names


def _maker(operand: str) -> Callable[[Subject[Facts]], str]:
    return lambda subject: subject.facts.defined_by(subject.op.id(operand))


FAMILIES = (
    family(
        MODES,
        rule("entry_point", "entry_point", Holds("Entry Point is that of an OpEntryPoint", lambda s: bool(_entries(s)),
                                                 lambda s: f"{s.facts.called(s.op.id('entry_point'))}, which no "
                                                           "OpEntryPoint names"),
             "the function of an entry point", "SPIR-V 3.42.5"),
        rule("once", "", Analysed("an entry point has a mode once; modes of a floating-point width once for a width",
                                  _repeated),
             "each mode once", "SPIR-V 2.16.1"),
        rule("model", "mode", Finds("the execution model of the entry point has the mode", _wrong_model),
             "a mode that the execution model of the entry point has", "SPIR-V 3.6"),
        rule("size", "mode", Finds("the size of a work-group is not 0", _empty(specialised=False)),
             "a work-group with invocations", "SPIR-V 3.6 LocalSize"),
        rule("size_as_specialised", "mode", Finds("the size of a work-group, as its specialisation constants stand, "
                                                  "is not 0", _empty(specialised=True)),
             "a work-group with invocations, as its specialisation constants stand", "SPIR-V 3.6 LocalSize",
             severity="warning", beyond="the constants may get other values"),
        rule("derivatives", "mode", Finds("the size of a work-group fits groups of four", _derivatives),
             "an even width and height for squares of four, a multiple of 4 invocations for rows",
             "VUID-StandaloneSpirv-DerivativeGroupQuadsKHR-10151"),
    ),
    family(
        "OpExecutionMode",
        rule("literals", "mode", Holds("the mode takes no ids", lambda s: not _takes_ids(s.op),
                                       lambda s: _name(s.op)),
             "a mode whose parameters are no ids", "SPIR-V 3.42.5", hint="state it with OpExecutionModeId"),
        rule("vulkan", "mode", Holds("Vulkan has the mode", lambda s: _name(s.op) not in NOT_IN_VULKAN,
                                     lambda s: _name(s.op)),
             "a mode that Vulkan has", "VUID-StandaloneSpirv-OriginLowerLeft-04653", vulkan=True),
    ),
    family(
        "OpExecutionModeId",
        rule("ids", "mode", Holds("the mode takes ids", lambda s: _takes_ids(s.op), lambda s: _name(s.op)),
             "a mode whose parameters are ids", "SPIR-V 3.42.5", hint="state it with OpExecutionMode"),
        rule("constants", "mode", Finds("the parameters are constants", _not_constant), "constants as parameters",
             "SPIR-V 3.42.5"),
        rule("integers", "mode", Finds("sizes are integers", _no_integer_size), "integers as sizes", "SPIR-V 3.6",
             beyond="spirv-val does not look at the types of sizes"),
        rule("boolean", "mode", Finds("the parameter of OpacityMicromapIdKHR is a boolean", _micromap), "a boolean",
             "SPV_KHR_opacity_micromap"),
        rule("fast_math", "mode", Finds("FPFastMathDefault has a type and a mask", _fast_math),
             "a floating-point type, and a constant mask without Fast, with AllowContract and AllowReassoc where it "
             "has AllowTransform", "SPV_KHR_float_controls2"),
        rule("conflict", "mode", Finds("FPFastMathDefault stands alone", _conflict),
             "FPFastMathDefault without ContractionOff and SignedZeroInfNanPreserve", "SPV_KHR_float_controls2"),
        rule("vulkan_version", "mode", Finds("LocalSizeId comes with Vulkan 1.3", _too_early_for_ids),
             "LocalSize, before Vulkan 1.3", "VUID-StandaloneSpirv-LocalSizeId-06433", vulkan=True),
    ),
    family(
        "OpEntryPoint",
        rule("modes", "execution_model", Finds("modes that exclude each other do not meet", _exclusive),
             "one mode of each set of which one is needed, at most one of those that exclude each other", "SPIR-V 3.6"),
    ),
    family(
        "OpMemoryModel",
        rule("vulkan_memory_model", "memory_model",
             Holds("with capability VulkanMemoryModel: the memory model is Vulkan", _memory_model,
                   lambda s: s.facts.memory_model),
             "the memory model Vulkan, where the capability is declared", "SPV_KHR_vulkan_memory_model"),
        rule("vulkan", "addressing_model",
             Holds("the addressing model is Logical or PhysicalStorageBuffer64",
                   lambda s: s.facts.addressing_model in ("Logical", "PhysicalStorageBuffer64"),
                   lambda s: s.facts.addressing_model),
             "the addressing model Logical or PhysicalStorageBuffer64", "VUID-StandaloneSpirv-None-04635",
             vulkan=True),
    ),
    family(
        "OpMemberName",
        rule("struct", "type", Holds("Type is a struct", _made_by("type", "OpTypeStruct"), _maker("type")), "a struct",
             "SPIR-V 3.42.2"),
        rule("member", "member", Finds("the struct has the member", _member), "a member of the struct",
             "SPIR-V 3.42.2"),
    ),
    family(
        "OpLine",
        rule("file", "file", Holds("File is an OpString", _made_by("file", "OpString"), _maker("file")), "an OpString",
             "SPIR-V 3.42.2"),
    ),
)  # fmt: skip
