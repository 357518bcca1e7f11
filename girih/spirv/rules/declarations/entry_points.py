"""Rules of entry points: their function, their name, the variables of their interface (SPIR-V 2.16.1, OpEntryPoint)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from girih.diagnostics import plural
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.annotations import Decoration
from girih.spirv.model.declared.interfaces import entry_points_by_index, used_by_entry_points
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.model.parts import contains, data_type_of
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import Analysed, Finds, Holds, Subject, Undetermined
from girih.spirv.types import Float, FunctionType, Pointer, Struct, Type, Void
from girih.spirv.vocabulary import VARIABLES, WORK_GROUP_MODELS

INTERFACE = "SPIR-V 3.42.5 OpEntryPoint"


def entry_of(subject: Subject[Facts]) -> EntryPoint:
    """The entry point that a subject declares."""
    return subject.facts.once(entry_points_by_index)[subject.op.index]


def storage_class(one: Instruction) -> str:
    """The name of the storage class of a variable."""
    return grammar().kinds["StorageClass"].name_of(one.id("storage_class"))


def variables_of(facts: Facts, ids: Iterable[int]) -> Iterator[Instruction]:
    """The variables among ids."""
    made = (facts.module.definitions.get(id) for id in ids)
    return (one for one in made if one is not None and one.name in VARIABLES and not one.malformed)


# The function


def _is_function(subject: Subject[Facts]) -> bool:
    return subject.facts.definition(subject.op.id("entry_point")).name == "OpFunction"


def _function_type(subject: Subject[Facts]) -> FunctionType:
    made = subject.facts.definition(subject.op.id("entry_point"))
    found = subject.facts.type(made.id("function_type"))
    if not isinstance(found, FunctionType):
        raise Undetermined
    return found


def _parameters(subject: Subject[Facts]) -> str | None:
    if entry_of(subject).model_name == "Kernel":
        return None
    count = len(_function_type(subject).parameters)
    return plural(count, "parameter") if count else None


def _returned(subject: Subject[Facts]) -> str | None:
    made = subject.facts.definition(subject.op.id("entry_point"))
    if made.name != "OpFunction":
        raise Undetermined
    returned = subject.facts.type(made.result_type)
    return None if isinstance(returned, Void) else returned.brief


def _name_is_new(subject: Subject[Facts]) -> bool:
    mine = entry_of(subject)
    return not any(
        other.instruction.index < mine.instruction.index and (other.model, other.name) == (mine.model, mine.name)
        for other in subject.facts.entry_points
    )


def _linked(subject: Subject[Facts]) -> bool:
    return subject.facts.annotations.has(subject.op.id("entry_point"), "LinkageAttributes")


# The interface


def _interface_faults(facts: Facts) -> Faults:
    """Ids of interfaces that are not variables."""
    return _faults_of(facts, lambda _, id: facts.definition(id).name not in VARIABLES, _not_variable)


def _not_variable(facts: Facts, id: int) -> str:
    return f"{facts.called(id)}, from {facts.defined_by(id)}"


def _class_faults(facts: Facts) -> Faults:
    """Variables of interfaces of a storage class that has no place there."""
    whole = facts.module.header.version >= (1, 4)

    def wrong(_: EntryPoint, id: int) -> bool:
        one = facts.definition(id)
        if one.name not in VARIABLES:
            return False
        held = storage_class(one)
        return held == "Function" if whole else held not in ("Input", "Output")

    return _faults_of(facts, wrong, lambda facts, id: f"{facts.called(id)} in {storage_class(facts.definition(id))}")


def _repeated_faults(facts: Facts) -> Faults:
    """Variables that an interface lists twice, from version 1.4 on."""
    if facts.module.header.version < (1, 4):
        return {}

    def wrong(entry: EntryPoint, id: int) -> bool:
        return counts[entry.instruction.index][id] > 1

    counts = {entry.instruction.index: Counter(entry.interface) for entry in facts.entry_points}
    return _faults_of(facts, wrong, lambda facts, id: f"{facts.called(id)} twice")


def _faults_of(facts: Facts, wrong: Callable[[EntryPoint, int], bool], words: Callable[[Facts, int], str]) -> Faults:
    """The faults of interfaces of which a test holds for some ids."""
    made: dict[int, Fault] = {}
    for entry in facts.entry_points:
        blamed = [operand for operand in entry.instruction.operands if operand.name == "interface"]
        blamed = [one for one in blamed if isinstance(one.value, int) and _holds(wrong, entry, one.value)]
        if blamed:
            ids = dict.fromkeys(one.value for one in blamed if isinstance(one.value, int))
            made[entry.instruction.index] = Fault("; ".join(words(facts, id) for id in ids), tuple(blamed))
    return made


def _holds(test: Callable[[EntryPoint, int], bool], entry: EntryPoint, id: int) -> bool:
    try:
        return test(entry, id)
    except Undetermined:
        return False


def _unlisted(subject: Subject[Facts]) -> str | None:
    facts, entry = subject.facts, entry_of(subject)
    used = facts.once(used_by_entry_points).get(entry.function, frozenset()) - set(entry.interface)
    missing = sorted(used)
    if facts.module.header.version < (1, 4):
        missing = [one.result for one in variables_of(facts, missing) if storage_class(one) in ("Input", "Output")]
    return ", ".join(facts.called(id) for id in missing) + " missing" if missing else None


def _push_constants(subject: Subject[Facts]) -> str | None:
    """Push constants that an interface lists beside one that is used; rules of variables are about those used."""
    facts, entry = subject.facts, entry_of(subject)
    if facts.has("PushConstantBanksNV"):
        return None
    listed = variables_of(facts, dict.fromkeys(entry.interface))
    found = [one.result for one in listed if storage_class(one) == "PushConstant"]
    used = facts.once(used_by_entry_points).get(entry.function, frozenset())
    if len(found) < 2 or len(used.intersection(found)) > 1:
        return None
    return ", ".join(facts.called(id) for id in found)


def _data_type(facts: Facts, variable: Instruction) -> Type | None:
    try:
        return data_type_of(facts, variable.result)
    except Undetermined:
        return None


def _built_ins(facts: Facts, variable: Instruction) -> tuple[Type | None, list[Decoration]]:
    """The type of a variable, and the BuiltIn decorations of it, or of its members where it is a struct."""
    held = _data_type(facts, variable)
    target = held.id if isinstance(held, Struct) else variable.result
    return held, [one for one in facts.annotations.by_target.get(target, ()) if one.name == "BuiltIn"]


def _repeated_built_ins(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    seen: Counter[tuple[str, str]] = Counter()
    for variable in variables_of(facts, dict.fromkeys(entry_of(subject).interface)):
        held = storage_class(variable)
        if held in ("Input", "Output"):
            names = (built_in_name(one) for one in _built_ins(facts, variable)[1])
            seen.update((held, name) for name in names)
    twice = [f"{name} in {held}" for (held, name), count in seen.items() if count > 1]
    return f"{', '.join(twice)} twice" if twice else None


def built_in_name(one: Decoration) -> str:
    """The name of the built-in that a decoration says."""
    value = one.parameters[0] if one.parameters else None
    return grammar().kinds["BuiltIn"].name_of(value) if isinstance(value, int) else ""


def _built_in_structs(subject: Subject[Facts]) -> Iterator[tuple[Instruction, Struct]]:
    facts = subject.facts
    for variable in variables_of(facts, dict.fromkeys(entry_of(subject).interface)):
        held, found = _built_ins(facts, variable)
        if found and isinstance(held, Struct):
            yield variable, held


def _no_block(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    bare = [v.result for v, held in _built_in_structs(subject) if not facts.annotations.has(held.id, "Block")]
    return ", ".join(f"{facts.called(id)} without Block" for id in bare) or None


def _several_blocks(subject: Subject[Facts]) -> str | None:
    counts = Counter(storage_class(variable) for variable, _ in _built_in_structs(subject))
    many = [f"{counts[name]} in {name}" for name in ("Input", "Output") if counts[name] > 1]
    return ", ".join(many) or None


def _located_built_ins(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    for variable in variables_of(facts, entry_of(subject).interface):
        if _built_ins(facts, variable)[1]:
            for name in ("Location", "Component"):
                if facts.annotations.has(variable.result, name):
                    return f"{facts.called(variable.result)} with {name}"
    return None


def _workgroup_blocks(subject: Subject[Facts]) -> tuple[int, int, int]:
    """The numbers of variables in Workgroup, of those that are blocks, and of blocks that are Aliased."""
    facts = subject.facts
    listed = variables_of(facts, dict.fromkeys(entry_of(subject).interface))
    shared = [one for one in listed if storage_class(one) == "Workgroup"]
    blocks = [one for one in shared if _is_block(facts, _data_type(facts, one))]
    return len(shared), len(blocks), sum(facts.annotations.has(one.result, "Aliased") for one in blocks)


def _is_block(facts: Facts, held: Type | None) -> bool:
    """Whether a struct, or one within it, is decorated with Block."""
    return isinstance(held, Struct) and contains(
        facts, held, lambda part: isinstance(part, Struct) and facts.annotations.has(part.id, "Block")
    )


EXPLICIT_LAYOUT = "WorkgroupMemoryExplicitLayoutKHR"


def _workgroup_capability(subject: Subject[Facts]) -> str | None:
    if subject.facts.has(EXPLICIT_LAYOUT):
        return None
    blocks = _workgroup_blocks(subject)[1]
    return f"{plural(blocks, 'block')} in Workgroup without it" if blocks else None


def _workgroup_mixed(subject: Subject[Facts]) -> str | None:
    if not subject.facts.has(EXPLICIT_LAYOUT) or subject.facts.has("UntypedPointersKHR"):
        return None
    shared, blocks, _ = _workgroup_blocks(subject)
    return f"{plural(blocks, 'block')} among {shared} variables" if 0 < blocks < shared else None


def _workgroup_aliased(subject: Subject[Facts]) -> str | None:
    if not subject.facts.has(EXPLICIT_LAYOUT) or subject.facts.has("UntypedPointersKHR"):
        return None
    _, blocks, aliased = _workgroup_blocks(subject)
    return f"{aliased} of {blocks}" if blocks > 1 and aliased != blocks else None


def _in_and_out(test: Callable[[Type], bool], words: str) -> Callable[[Subject[Facts]], str | None]:
    """The search for variables in Input or Output of which a part passes a test."""

    def find(subject: Subject[Facts]) -> str | None:
        facts = subject.facts
        for variable in variables_of(facts, entry_of(subject).interface):
            held = _data_type(facts, variable)
            if held is not None and storage_class(variable) in ("Input", "Output") and contains(facts, held, test):
                return f"{words} in {facts.called(variable.result)}"
        return None

    return find


def _is_address(part: Type) -> bool:
    return isinstance(part, Pointer) and part.storage == grammar().kinds["StorageClass"].value("PhysicalStorageBuffer")


def _is_encoded(part: Type) -> bool:
    return isinstance(part, Float) and part.encoding is not None


# The size of the work-group


def _sized(subject: Subject[Facts]) -> bool:
    facts, entry = subject.facts, entry_of(subject)
    if entry.model_name not in WORK_GROUP_MODELS or entry.mode("LocalSize") or entry.mode("TileShadingRateQCOM"):
        return True
    return facts.once(has_size_by_id) or bool(facts.once(work_group_size_constants))


def has_size_by_id(facts: Facts) -> bool:
    """Whether an entry point of the module has its size by ids."""
    wanted = grammar().kinds["ExecutionMode"].value("LocalSizeId")
    return any(one.name == "OpExecutionModeId" and one.id("mode") == wanted for one in facts.instructions)


def work_group_size_constants(facts: Facts) -> frozenset[int]:
    """The ids that are decorated as the built-in WorkgroupSize."""
    wanted = grammar().kinds["BuiltIn"].value("WorkgroupSize")
    return frozenset(
        target
        for target, listed in facts.annotations.by_target.items()
        if any(one.name == "BuiltIn" and one.parameters[:1] == (wanted,) for one in listed)
    )


FAMILIES = (
    family(
        "OpEntryPoint",
        rule("function", "entry_point",
             Holds("Entry Point is an OpFunction", _is_function,
                   lambda s: s.facts.defined_by(s.op.id("entry_point"))), "a function", INTERFACE),
        rule("parameters", "entry_point", Finds("the function has no parameters", _parameters),
             "a function without parameters", "VUID-StandaloneSpirv-None-04633"),
        rule("return_type", "entry_point", Finds("the function returns void", _returned),
             "a function that returns void", "VUID-StandaloneSpirv-None-04633"),
        rule("name", "name", Holds("no other entry point of this model has the name", _name_is_new,
                                   lambda s: f"a second {entry_of(s).model_name} named {s.op.text('name')!r}"),
             "a name that is the only one of its execution model", "SPIR-V 2.16.1"),
        rule("linkage", "entry_point", Holds("the function has no LinkageAttributes", lambda s: not _linked(s),
                                             lambda s: "a function with LinkageAttributes"),
             "a function that is not linked", "SPIR-V 2.16.1"),
        rule("interface", "", Analysed("the interface lists variables", _interface_faults), "variables as interface",
             INTERFACE),
        rule("interface_class", "", Analysed("the interface lists variables outside of functions; before version 1.4 "
                                             "those in Input and Output", _class_faults),
             "variables outside of functions, before version 1.4 in Input or Output alone", INTERFACE),
        rule("interface_once", "", Analysed("from version 1.4 on, the interface lists a variable once",
                                            _repeated_faults),
             "each variable once, from version 1.4 on", INTERFACE),
        rule("interface_whole", "", Finds("the interface lists what the calls of the entry point use", _unlisted),
             "all variables outside of functions that it uses, before version 1.4 those in Input and Output",
             INTERFACE, hint="list them at the end of OpEntryPoint"),
        rule("interface_push_constants", "", Finds("the interface has one push constant", _push_constants),
             "one variable in PushConstant at most", "VUID-StandaloneSpirv-OpEntryPoint-06673", vulkan=True),
        rule("interface_built_in", "", Finds("the interface has a built-in once", _repeated_built_ins),
             "each built-in once", "VUID-StandaloneSpirv-OpEntryPoint-09658", vulkan=True),
        rule("interface_location", "", Finds("built-ins have no location", _located_built_ins),
             "built-ins without Location and Component", "VUID-StandaloneSpirv-Location-04915", vulkan=True),
        rule("interface_block", "", Finds("a struct of built-ins is a Block", _no_block),
             "structs of built-ins decorated with Block", "VUID-StandaloneSpirv-Location-04919"),
        rule("interface_blocks", "", Finds("one struct of built-ins for each of Input and Output", _several_blocks),
             "one struct of built-ins in Input, and one in Output", "SPIR-V 2.16.1"),
        rule("interface_address", "", Finds("no addresses in Input and Output",
                                            _in_and_out(_is_address, "a pointer to PhysicalStorageBuffer")),
             "no addresses in Input and Output", "VUID-StandaloneSpirv-Input-09557", vulkan=True,
             hint="pass the address as a 64-bit integer"),
        rule("interface_number", "", Finds("only numbers of IEEE 754 in Input and Output",
                                           _in_and_out(_is_encoded, "a number of another encoding")),
             "no numbers but integers and those of IEEE 754 in Input and Output",
             "VUID-StandaloneSpirv-OpTypeFloat-10823", vulkan=True),
        rule("workgroup_capability", "", Finds("blocks in Workgroup have the capability", _workgroup_capability),
             f"capability {EXPLICIT_LAYOUT} for blocks in Workgroup", "SPV_KHR_workgroup_memory_explicit_layout"),
        rule("workgroup_mixed", "", Finds("all or none in Workgroup are blocks", _workgroup_mixed),
             "blocks in Workgroup only, or none", "SPV_KHR_workgroup_memory_explicit_layout"),
        rule("workgroup_aliased", "", Finds("several blocks in Workgroup are Aliased", _workgroup_aliased),
             "Aliased on all blocks in Workgroup, where there are several", "SPV_KHR_workgroup_memory_explicit_layout"),
        rule("size", "execution_model", Holds("an entry point with work-groups has a size", _sized,
                                              lambda s: entry_of(s).model_name + " without one"),
             "LocalSize, LocalSizeId, or a constant decorated as WorkgroupSize",
             "VUID-StandaloneSpirv-None-10685", vulkan=True,
             hint=lambda s: f"declare it: OpExecutionMode {s.facts.called(s.op.id('entry_point'))} LocalSize 64 1 1"),
    ),
)  # fmt: skip
