"""Rules of decorations: what they are on, how often, with which others (SPIR-V 3.20, 3.42.3, 2.16.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from girih.rules.row import Undetermined
from girih.spirv.grammar import Enumerant, grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.annotations import Decoration
from girih.spirv.model.declared.interfaces import functions_using
from girih.spirv.model.declared.linkage import is_imported
from girih.spirv.model.declared.resources import is_heap, storage_of
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.faults import Fault, FaultList, Faults
from girih.spirv.model.functions import called_from
from girih.spirv.model.grammar.ids import describes
from girih.spirv.rules.declarations.modes import FAST, wrong_fast_math
from girih.spirv.rules.declarations.targets import IN_VULKAN, TARGETS, Bearer, pointer_of
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import Analysed, Finds, Holds, Subject
from girih.spirv.types import Float, Struct, Vector
from girih.spirv.vocabulary import RESOURCES

DECORATES = "OpDecorate OpDecorateId OpDecorateString"

NOT_ON_MEMBERS = frozenset({
    "SpecId", "Block", "BufferBlock", "ArrayStride", "ArrayStrideIdEXT", "GLSLShared", "GLSLPacked", "CPacked",
    "Aliased", "Constant", "Uniform", "UniformId", "SaturatedConversion", "Index", "Binding", "DescriptorSet",
    "FuncParamAttr", "FPRoundingMode", "FPFastMathMode", "LinkageAttributes", "NoContraction", "InputAttachmentIndex",
    "Alignment", "MaxByteOffset", "AlignmentId", "MaxByteOffsetId", "NoSignedWrap", "NoUnsignedWrap", "NonUniform",
    "RestrictPointer", "AliasedPointer", "CounterBuffer",
})  # fmt: skip
"""Decorations that are not on members of structs (SPIR-V 3.20)."""

SEVERAL_TIMES = frozenset({"UserSemantic", "FuncParamAttr"})
EXCLUSIVE = (
    ("Block", "BufferBlock"), ("Restrict", "Aliased"), ("RestrictPointer", "AliasedPointer"), ("RowMajor", "ColMajor"),
    ("Offset", "OffsetIdEXT"), ("FPFastMathMode", "NoContraction"),
)  # fmt: skip
"""Pairs of decorations of which an id, or a member, has one at most."""

_OTHERS: Mapping[str, tuple[str, ...]] = {
    name: tuple(other for pair in EXCLUSIVE if name in pair for other in pair if other != name)
    for name in (name for pair in EXCLUSIVE for name in pair)
}

ROUNDED_STORAGE = frozenset({"StorageBuffer", "Uniform", "PushConstant", "Input", "Output", "PhysicalStorageBuffer"})
"""Storage classes into which a shader stores what it rounds in a mode of its own (SPV_KHR_16bit_storage)."""


def decoration_of(one: Instruction) -> Enumerant | None:
    """The decoration that an instruction states."""
    return grammar().kinds["Decoration"].by_value.get(one.id("decoration"))


def name_of(one: Instruction) -> str:
    """The name of the decoration that an instruction states."""
    found = decoration_of(one)
    return found.name if found else ""


def _takes_ids(one: Instruction) -> bool:
    found = decoration_of(one)
    # ConditionalINTEL is stated by either instruction.
    return found is not None and found.name != "ConditionalINTEL" and any(
        operand.kind in ("IdRef", "IdScope") for operand in found.operands
    )  # fmt: skip


THROUGH_GROUPS = frozenset({
    "FPRoundingMode", "NonWritable", "NonReadable", "Uniform", "UniformId", "NoSignedWrap", "NoUnsignedWrap",
    "RelaxedPrecision",
})  # fmt: skip
"""Decorations that are held to their targets when a group carries them; others of a group mean nothing elsewhere."""


def _decorated(facts: Facts) -> Iterator[tuple[Instruction, Decoration]]:
    """Each decorated instruction with each of its decorations that are not about members, groups taken apart."""
    for target, listed in facts.annotations.by_target.items():
        made = facts.module.definitions.get(target)
        if made is not None and made.malformed is None and made.name != "OpDecorationGroup":
            yield from ((made, one) for one in listed if one.member is None)


def _targets(table: Mapping[str, Bearer], rule: str) -> Callable[[Facts], Faults]:
    """The analysis for decorations on what they may not be on."""

    def find(facts: Facts) -> Faults:
        found = FaultList()
        for made, one in _decorated(facts):
            target = table.get(one.name) if one.name in THROUGH_GROUPS or _is_direct(one, made) else None
            if target is not None and not _fits(facts, target, made, one):
                came = f"{one.name} on {_kind(facts, made)}; it belongs on {target.words}"
                blamed = tuple(o for o in one.instruction.operands if o.name == "target")
                found.add(rule, one.instruction.index, Fault(came, blamed))
        return found.of(rule)

    return find


def _is_direct(one: Decoration, made: Instruction) -> bool:
    """Whether a decoration stands on its target, and not on a group."""
    return one.instruction.id("target") == made.result


def _fits(facts: Facts, target: Bearer, made: Instruction, one: Decoration) -> bool:
    try:
        return target.test(facts, made, one)
    except Undetermined:
        return True


def _kind(facts: Facts, made: Instruction) -> str:
    """What an instruction makes, in words."""
    return f"{made.name} {facts.called(made.result)}"


def _in_storage(facts: Facts, made: Instruction) -> str:
    try:
        return pointer_of(facts, made).storage_class
    except Undetermined:
        return made.name


def _vulkan_targets(facts: Facts) -> Faults:
    found = FaultList()
    for made, one in _decorated(facts):
        target = IN_VULKAN.get(one.name)
        if target is not None and not _fits(facts, target, made, one):
            came = f"{one.name} on a variable in {_in_storage(facts, made)}; it belongs on {target.words}"
            blamed = tuple(o for o in one.instruction.operands if o.name == "decoration")
            found.add("storage", one.instruction.index, Fault(came, blamed))
    return found.of("storage")


def _repeated(facts: Facts) -> Faults:
    """Decorations that stand twice on an id, or on a member."""
    seen: set[tuple[int, ...]] = set()
    made: dict[int, Fault] = {}
    for one in facts.instructions:
        if one.malformed is not None or one.name not in ("OpDecorate", "OpMemberDecorate", "OpMemberDecorateIdEXT"):
            continue
        name = name_of(one)
        member = one.name != "OpDecorate"
        if name == "UserSemantic" or (not member and name in SEVERAL_TIMES):
            continue
        key = (one.id("structure_type"), one.id("member")) if member else (one.id("target"),)
        key = (*key, one.id("decoration"))
        if key in seen:
            made[one.index] = Fault(f"a second {name}", tuple(o for o in one.operands if o.name == "decoration"))
        seen.add(key)
    return made


def _exclusive(facts: Facts) -> Faults:
    """Decorations that stand beside one which excludes them; the later one is at fault."""
    found = FaultList()
    for target, listed in facts.annotations.by_target.items():
        stated: dict[tuple[int | None, str], Decoration] = {}
        for one in listed:
            for other in _OTHERS.get(one.name, ()):
                if (one.member, other) in stated and target:
                    came = f"{one.name} beside {other}"
                    blamed = tuple(o for o in one.instruction.operands if o.name == "decoration")
                    found.add("exclusive", one.instruction.index, Fault(came, blamed))
            stated[one.member, one.name] = one
    return found.of("exclusive")


# Parameters


def _later(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    target = facts.definition(subject.op.id("target"))
    if target.name == "OpDecorationGroup":
        return None
    parameters = subject.op.get("parameters")
    for id in parameters if isinstance(parameters, tuple) else ():
        made = facts.module.definitions.get(id) if isinstance(id, int) else None
        if made is not None and target.index <= made.index:
            return f"{made.name} after {target.name}"
    return None


def _fast_math(subject: Subject[Facts]) -> str | None:
    if name_of(subject.op) != "FPFastMathMode":
        return None
    bits = subject.op.id("FPFastMathMode")
    return wrong_fast_math(bits, fast=True)


# The memory model, floats


def _old_memory(facts: Facts) -> Faults:
    """Decorations that the Vulkan memory model has replaced."""
    if facts.memory_model != "Vulkan":
        return {}
    replaced = ("Coherent", "Volatile")
    listed = (one for listed in facts.annotations.by_target.values() for one in listed if one.name in replaced)
    return {one.instruction.index: Fault(one.name) for one in listed}


def _roundings(facts: Facts) -> Faults:
    """Uses of what is rounded in a mode of its own, which a shader stores and does nothing else with."""
    if not facts.has("Shader"):
        return {}
    made: dict[int, Fault] = {}
    for target, one in _decorated(facts):
        if one.name == "FPRoundingMode":
            came = next((words for words in map(_used, *_uses(facts, target)) if words), None)
            if came:
                made[one.instruction.index] = Fault(came)
    return made


def _uses(facts: Facts, target: Instruction) -> tuple[list[Facts], list[Instruction], list[int]]:
    used = facts.uses.get(target.result, ())
    return [facts] * len(used), [use.instruction for use in used], [target.result] * len(used)


def _used(facts: Facts, one: Instruction, id: int) -> str | None:
    """What is wrong with a use of a rounded value, which is stored as a 16-bit float."""
    if one.name == "OpFConvert" or describes(facts.module, one):
        return None
    if one.name != "OpStore" or one.id("object") != id:
        return f"a use in {one.name}"
    try:
        pointer = pointer_of(facts, facts.definition(one.id("pointer")))
        held = facts.pointee(pointer)
    except Undetermined:
        return None
    number = held.component if isinstance(held, Vector) else held
    if not isinstance(number, Float) or number.width != 16:
        return f"a store of a {held.brief}"
    storage = pointer.storage_class
    return None if storage in ROUNDED_STORAGE else f"a store in {storage}"


def _rounding_modes(subject: Subject[Facts]) -> str | None:
    if name_of(subject.op) != "FPRoundingMode":
        return None
    mode = grammar().kinds["FPRoundingMode"].name_of(subject.op.id("FPRoundingMode"))
    return None if mode in ("RTE", "RTZ") or not subject.facts.has("Shader") else mode


def _with_default(facts: Facts) -> Faults:
    """Decorations of arithmetic that an entry point with FPFastMathDefault uses."""
    entries = [entry for entry in facts.entry_points if entry.mode("FPFastMathDefault")]
    if not entries:
        return {}
    made: dict[int, Fault] = {}
    for target, one in _decorated(facts):
        fast = one.name == "FPFastMathMode" and _has_fast(one)
        if (fast or one.name == "NoContraction") and _is_used(facts, target, entries):
            made[one.instruction.index] = Fault(one.name)
    return made


def _has_fast(one: Decoration) -> bool:
    return any(isinstance(bits, int) and bits & FAST for bits in one.parameters[:1])


def _is_used(facts: Facts, target: Instruction, entries: list[EntryPoint]) -> bool:
    """Whether a function that one of the entry points reaches uses an instruction, or holds it."""
    reached = {id for entry in entries for id in called_from(entry.function, facts.bodies.functions)}
    function = facts.function_of(target)
    using = frozenset({function.id}) if function is not None else functions_using(facts, target.result)
    return not using.isdisjoint(reached)


def _shared_spec_ids(facts: Facts) -> Faults:
    """Constants with the SpecId of another one that reads the value in another way: as a float, or with other bits."""
    readings: dict[object, object] = {}
    made: dict[int, Fault] = {}
    for constant, one in _decorated(facts):
        type = facts.declarations.types.get(constant.result_type)
        if one.name == "SpecId" and type is not None:
            reading = (type.__class__, getattr(type, "width", None))
            if readings.setdefault(one.parameters, reading) != reading:
                made[one.instruction.index] = Fault(f"{one.parameters[0]} for constants of two types")
    return made


# Members and groups


def _is_struct(name: str) -> Callable[[Subject[Facts]], bool]:
    return lambda subject: subject.facts.definition(subject.op.id(name)).name == "OpTypeStruct"


def _member(subject: Subject[Facts]) -> str | None:
    struct = subject.facts.type(subject.op.id("structure_type"))
    if not isinstance(struct, Struct):
        return None
    member = subject.op.id("member")
    return None if member < len(struct.members) else f"member {member} of {len(struct.members)}"


def _group_members(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    targets = subject.op.get("targets")
    for target in targets if isinstance(targets, tuple) else ():
        id, member = target if isinstance(target, tuple) else (0, 0)
        made = facts.module.definitions.get(id)
        if made is not None and made.name != "OpTypeStruct":
            return made.name
        if made is not None and member >= len(made.ids("members")):
            return f"member {member} of {len(made.ids('members'))}"
    return None


def _group_targets(subject: Subject[Facts]) -> str | None:
    facts, targets = subject.facts, subject.op.ids("targets")
    if any(facts.defined_by(id) == "OpDecorationGroup" for id in targets):
        return "a group"
    twice = [id for at, id in enumerate(targets) if id in targets[:at]] if len(set(targets)) < len(targets) else []
    return f"{_kind(facts, facts.definition(twice[0]))} twice" if twice else None


GROUP_USES = frozenset({"OpDecorate", "OpGroupDecorate", "OpGroupMemberDecorate", "OpName"})


def _group_use(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    for use in facts.uses.get(subject.op.result, ()):
        if use.instruction.name not in GROUP_USES and not use.instruction.name.startswith("OpExtInst"):
            return str(use.instruction.name)
    return None


# Variables and functions


def _unbound(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    one: Instruction = subject.op
    if storage_of(one) not in RESOURCES or is_heap(facts, one.result):
        return None
    missing = [name for name in ("DescriptorSet", "Binding") if not facts.annotations.has(one.result, name)]
    return f"{_kind(facts, one)} without {' and '.join(missing)}" if missing else None


def _imported_value(subject: Subject[Facts]) -> str | None:
    one: Instruction = subject.op
    wrong = one.id("initializer") and is_imported(subject.facts, one.result)
    return f"{_kind(subject.facts, one)}, imported" if wrong else None


def _import(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    function = facts.function_of(subject.op)
    if function is None or function.end is None:
        return None
    imported = is_imported(facts, function.id)
    if function.blocks:
        return "an imported function with blocks" if imported else None
    return None if imported else "a function without blocks that is not imported"


GROUPS = "SPIR-V 3.42.3"

FAMILIES = (
    family(
        DECORATES,
        rule("target", "target", Analysed("the decoration is on what it may be on", _targets(TARGETS, "target")),
             "a target that the decoration may have", "SPIR-V 3.20"),
        rule("storage", "decoration", Analysed("Vulkan has the decoration in this storage class", _vulkan_targets),
             "a storage class in which Vulkan has the decoration", "VUID-StandaloneSpirv-Location-06672",
             vulkan=True),
        rule("once", "decoration", Analysed("an id has a decoration once", _repeated), "each decoration once",
             "SPIR-V 2.16.1"),
        rule("exclusive", "decoration", Analysed("no decoration stands beside one that excludes it", _exclusive),
             "no two decorations that exclude each other", "SPIR-V 3.20"),
        rule("memory_model", "decoration", Analysed("with memory model Vulkan: neither Coherent nor Volatile",
                                                    _old_memory),
             "operands of the accesses, which in the Vulkan memory model stand for Coherent and Volatile",
             "SPV_KHR_vulkan_memory_model"),
        rule("rounded", "decoration", Analysed("what is rounded is stored as a 16-bit float", _roundings),
             "a store of the rounded value as a 16-bit float, and no other use", "SPV_KHR_16bit_storage"),
        rule("rounding_mode", "decoration", Finds("Vulkan has the modes RTE and RTZ", _rounding_modes),
             "the rounding mode RTE or RTZ", "VUID-StandaloneSpirv-FPRoundingMode-04675", vulkan=True),
        rule("fast_math", "decoration", Finds("AllowTransform has AllowContract and AllowReassoc beside it",
                                              _fast_math),
             "AllowContract and AllowReassoc with AllowTransform", "SPV_KHR_float_controls2"),
        rule("fast_math_default", "decoration",
             Analysed("no entry point with FPFastMathDefault uses it", _with_default),
             "neither NoContraction nor Fast where the entry point has FPFastMathDefault", "SPV_KHR_float_controls2"),
        rule("spec_id_type", "decoration", Analysed("constants of one SpecId read it alike", _shared_spec_ids),
             "constants that read a shared SpecId alike: as integers, floats or booleans of one width",
             "SPIR-V 3.20 SpecId", severity="warning", beyond="it is legal"),
    ),
    family(
        "OpDecorate",
        rule("literals", "decoration", Holds("the decoration takes no ids", lambda s: not _takes_ids(s.op),
                                             lambda s: name_of(s.op)),
             "a decoration whose parameters are no ids", GROUPS, hint="state it with OpDecorateId"),
    ),
    family(
        "OpDecorateId",
        rule("ids", "decoration", Holds("the decoration takes ids", lambda s: _takes_ids(s.op),
                                        lambda s: name_of(s.op)),
             "a decoration whose parameters are ids", GROUPS, hint="state it with OpDecorate"),
        rule("group", "target", Holds("Target is not a group",
                                      lambda s: s.facts.defined_by(s.op.id("target")) != "OpDecorationGroup",
                                      lambda _: "a group"), "a target that is not a group", GROUPS),
        rule("parameters", "decoration", Finds("the parameters are made before the target", _later),
             "parameters that are made before the target", GROUPS),
    ),
    family(
        "OpMemberDecorate OpMemberDecorateString OpMemberDecorateIdEXT",
        rule("struct", "structure_type", Holds("Structure Type is a struct", _is_struct("structure_type"),
                                               lambda s: s.facts.defined_by(s.op.id("structure_type"))),
             "a struct", GROUPS),
        rule("member", "member", Finds("the struct has the member", _member), "a member of the struct", GROUPS),
        rule("of_member", "decoration", Holds("the decoration may be on a member",
                                              lambda s: name_of(s.op) not in NOT_ON_MEMBERS, lambda s: name_of(s.op)),
             "a decoration of members", "SPIR-V 3.20"),
        rule("once", "decoration", Analysed("a member has a decoration once", _repeated), "each decoration once",
             "SPIR-V 2.16.1"),
        rule("exclusive", "decoration", Analysed("no decoration stands beside one that excludes it", _exclusive),
             "no two decorations that exclude each other", "SPIR-V 3.20"),
        rule("memory_model", "decoration", Analysed("with memory model Vulkan: neither Coherent nor Volatile",
                                                    _old_memory),
             "operands of the accesses, which in the Vulkan memory model stand for Coherent and Volatile",
             "SPV_KHR_vulkan_memory_model"),
    ),
    family(
        "OpDecorationGroup",
        rule("use", "", Finds("only decorations and names are about a group", _group_use),
             "decorations and names alone as uses", GROUPS),
    ),
    family(
        "OpGroupDecorate OpGroupMemberDecorate",
        rule("group", "decoration_group",
             Holds("Decoration Group is an OpDecorationGroup",
                   lambda s: s.facts.definition(s.op.id("decoration_group")).name == "OpDecorationGroup",
                   lambda s: s.facts.defined_by(s.op.id("decoration_group"))), "a group of decorations", GROUPS),
    ),
    family(
        "OpGroupDecorate",
        rule("targets", "targets", Finds("targets are no groups, and each stands once", _group_targets),
             "targets that are no groups, each once", GROUPS),
    ),
    family(
        "OpGroupMemberDecorate",
        rule("members", "targets", Finds("targets are members of structs", _group_members), "members of structs",
             GROUPS),
    ),
    family(
        "OpVariable OpUntypedVariableKHR",
        rule("binding", "", Finds("what is bound has DescriptorSet and Binding", _unbound),
             "DescriptorSet and Binding", "VUID-StandaloneSpirv-UniformConstant-06677", vulkan=True),
        rule("imported", "initializer", Finds("what is imported has no initializer", _imported_value),
             "no initializer for what is imported", "SPIR-V 2.16.1"),
    ),
    family(
        "OpFunction",
        rule("import", "", Finds("a function is imported, or has blocks", _import),
             "LinkageAttributes with Import for a function without blocks, and for no other", "SPIR-V 2.16.1"),
    ),
)  # fmt: skip
