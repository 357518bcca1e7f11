"""Rules about graphs of tensors: their types, constants, entry points, inputs and outputs (SPV_ARM_graph)."""

from __future__ import annotations

from girih.spirv.model.declared.graphs import ENTRY_POINT, INDEX, INPUT, OUTPUT, graph_faults, graphs
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Analysis, Fault, Faults
from girih.spirv.rules.extensions.tensors import is_tensor
from girih.spirv.rules.row import INSTRUCTION, MODULE, SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Analysed,
    Faultless,
    Finds,
    Subject,
    Undetermined,
    instruction_of,
    present,
    satisfies,
    words_of,
)
from girih.spirv.types import Array, Int, Opaque, RuntimeArray, Type
from girih.spirv.values import ALL_CONSTANTS

ARM = "SPV_ARM_graph"
UNIFORM_CONSTANT = 0
"""StorageClass UniformConstant."""


def _faults(rule_id: str) -> Analysis:
    def found(facts: Facts) -> Faults:
        return graph_faults(facts).of(rule_id)

    return found


def _order(id: str, words: str, says: str, blames: str = "") -> SpirvRow:
    return rule(id, blames, Analysed(words, _faults(id)), says, ARM)


# Types and constants


def _types(subject: Subject[Facts]) -> tuple[int, ...]:
    return instruction_of(subject).ids("in_out_types")


def _no_outputs(subject: Subject[Facts]) -> str | None:
    inputs, count = instruction_of(subject).id("num_inputs"), len(_types(subject))
    return None if count > inputs else f"{count} types, {inputs} of them inputs"


def _is_interface(type: Type) -> bool:
    return is_tensor(type) or (isinstance(type, Array | RuntimeArray) and is_tensor(type.element))


def _no_interface_type(subject: Subject[Facts]) -> Fault | None:
    facts = subject.facts
    for operand in (one for one in instruction_of(subject).operands if one.name == "in_out_types"):
        made = facts.definition(operand.value) if isinstance(operand.value, int) else None
        if made is not None and not made.name.startswith("OpType"):
            return Fault(f"the result of {made.name}", (operand,))
        if made is not None and not _is_interface(facts.type(made.result)):
            return Fault(facts.type(made.result).words, (operand,))
    return None


def _constants_by_number(facts: Facts) -> dict[int, int]:
    """The index of the first OpGraphConstantARM of each number."""
    first: dict[int, int] = {}
    for one in facts.instructions:
        if one.name == "OpGraphConstantARM":
            first.setdefault(one.id("graph_constant_id"), one.index)
    return first


def _same_number(subject: Subject[Facts]) -> str | None:
    one = instruction_of(subject)
    first = subject.facts.once(_constants_by_number).get(one.id("graph_constant_id"))
    return None if first in (None, one.index) else f"{one.id('graph_constant_id')}, which another one has"


# Entry points


def _graph_type(facts: Facts, graph: int) -> tuple[int, tuple[int, ...]]:
    """The number of inputs of a graph, and the types of its inputs and outputs.

    Raises `Undetermined` for what is no graph.
    """
    type = facts.type_of(graph)
    if not isinstance(type, Opaque) or type.name != "OpTypeGraphARM":
        raise Undetermined
    return type.instruction.id("num_inputs"), type.instruction.ids("in_out_types")


def _no_graph(subject: Subject[Facts]) -> str | None:
    made = subject.facts.defined_by(present(subject, "graph"))
    return None if made in ("OpGraphARM", "") else f"the result of {made}"


def _other_count(subject: Subject[Facts]) -> str | None:
    _, types = _graph_type(subject.facts, present(subject, "graph"))
    count = len(instruction_of(subject).ids("interface"))
    return None if count == len(types) else f"{count}, the graph has {len(types)} inputs and outputs"


def _no_variable(subject: Subject[Facts]) -> Fault | None:
    facts = subject.facts
    for operand in (one for one in instruction_of(subject).operands if one.name == "interface"):
        made = facts.definition(operand.value) if isinstance(operand.value, int) else None
        if made is not None and (made.name != "OpVariable" or made.id("storage_class") != UNIFORM_CONSTANT):
            what = f"the result of {made.name}" if made.name != "OpVariable" else facts.type(made.result_type).words
            return Fault(f"{facts.called(made.result)} is {what}", (operand,))
    return None


def _other_variable(subject: Subject[Facts]) -> Fault | None:
    facts = subject.facts
    _, types = _graph_type(facts, present(subject, "graph"))
    operands = [one for one in instruction_of(subject).operands if one.name == "interface"]
    for operand, wanted in zip(operands, types, strict=False):
        if isinstance(operand.value, int):
            held = facts.pointee(facts.type_of(operand.value))
            if held.id != wanted:
                came = f"{facts.called(operand.value)} holds {held.words}, the graph has {facts.type(wanted).words}"
                return Fault(came, (operand,))
    return None


def _same_name(subject: Subject[Facts]) -> str | None:
    name = instruction_of(subject).text("name")
    first = subject.facts.once(_entry_points_by_name).get(name)
    return None if first in (None, subject.op.index) else f"{name!r}, which another one has"


def _entry_points_by_name(facts: Facts) -> dict[str, int]:
    first: dict[str, int] = {}
    for one in facts.instructions:
        if one.name == ENTRY_POINT:
            first.setdefault(one.text("name"), one.index)
    return first


def _no_entry_point(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    if not facts.has("GraphARM") or facts.once(_entry_points_by_name):
        return None
    return "capability GraphARM, and no OpGraphEntryPointARM"


# Inputs and outputs


def _ids_of(subject: Subject[Facts]) -> tuple[int, int | None]:
    """The ids of an input or output: its number, and that of an element where there is one."""
    elements = instruction_of(subject).ids("element_index")
    return present(subject, INDEX[subject.op.name]), elements[0] if elements else None


def _no_index(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    types = (facts.type_of(id) for id in _ids_of(subject) if id is not None)
    return next((type.words for type in types if not isinstance(type, Int) or type.width != 32), None)


def _no_constant(subject: Subject[Facts]) -> str | None:
    made = (subject.facts.defined_by(id) for id in _ids_of(subject) if id is not None)
    return next((f"the result of {name}" for name in made if name not in ALL_CONSTANTS), None)


def _fixed(facts: Facts, id: int) -> int:
    """The value of a constant. Raises `Undetermined` where it is not known, or may become another one."""
    if facts.rests_on_default(id):
        raise Undetermined
    return facts.integer(id)


def _own_types(subject: Subject[Facts]) -> tuple[int, ...]:
    """The types of the inputs, or those of the outputs, of the graph in which an instruction stands."""
    graph = graphs(subject.facts).get(subject.op.index)
    if graph is None:
        raise Undetermined
    inputs, types = _graph_type(subject.facts, graph.result)
    return types[:inputs] if subject.op.name == INPUT else types[inputs:]


def _beyond_count(subject: Subject[Facts]) -> str | None:
    number, count = _fixed(subject.facts, _ids_of(subject)[0]), len(_own_types(subject))
    return None if 0 <= number < count else f"{number} of {count}"


def _named_type(subject: Subject[Facts]) -> Type:
    """The type of the input or output that is named, before an element of it is selected."""
    number, types = _fixed(subject.facts, _ids_of(subject)[0]), _own_types(subject)
    if not 0 <= number < len(types):
        raise Undetermined
    return subject.facts.type(types[number])


def _no_array(subject: Subject[Facts]) -> str | None:
    if _ids_of(subject)[1] is None:
        return None
    type = _named_type(subject)
    return None if isinstance(type, Array | RuntimeArray) else type.words


def _beyond_array(subject: Subject[Facts]) -> str | None:
    element, type = _ids_of(subject)[1], _named_type(subject)
    if element is None or not isinstance(type, Array) or type.length is None:
        return None
    number = _fixed(subject.facts, element)
    if subject.facts.rests_on_default(type.length_id) or 0 <= number < type.length:
        return None
    return f"{number} of {type.length}"


def _other_type(subject: Subject[Facts]) -> str | None:
    facts, wanted = subject.facts, _named_type(subject)
    if _ids_of(subject)[1] is not None:
        if not isinstance(wanted, Array | RuntimeArray):
            raise Undetermined
        wanted = wanted.element
    found = RESULT_TYPE.value(subject) if subject.op.name == INPUT else facts.type_of(present(subject, "value"))
    return None if found is wanted else f"{found.words}; the type of the graph has {wanted.words}"


def _selected(name: str) -> tuple[SpirvRow, ...]:
    """The rows of what selects an input or an output."""
    what, index = ("input" if name == INPUT else "output"), INDEX[name]
    vuid = f"VUID-StandaloneSpirv-{name}-{'09931' if name == INPUT else '09932'}"
    typed = "result_type" if name == INPUT else "value"
    return (
        rule("index", f"{index} element_index", Finds("indices are 32-bit integers", _no_index),
             f"32-bit integers as indices of the {what} and of its element", ARM),
        rule("constant", f"{index} element_index", Finds("indices are constants", _no_constant),
             f"constants as indices of the {what} and of its element", vuid, vulkan=True,
             beyond="spirv-val of 2025 does not have the rule"),
        rule("range", index, Finds(f"{words_of(index)} < number of {what}s", _beyond_count),
             f"an {what} that the graph has: they count from 0", ARM),
        rule("array", "element_index", Finds(f"an element of an {what} that is an array", _no_array),
             f"an {what} that is an array, where an element is selected", ARM),
        rule("element", "element_index", Finds("Element Index < length of the array", _beyond_array),
             "an element that the array has", ARM),
        rule("selected_type", typed, Finds("the type is that in the type of the graph", _other_type),
             f"the type that the type of the graph has for the {what}", ARM),
        _order("twice", f"a graph names each {what}, or each element of it, once",
               f"an {what} that is not named before in the graph"),
    )  # fmt: skip


FAMILIES = (
    family(
        MODULE,
        rule("graph_entry_point", "", Finds("with GraphARM: OpGraphEntryPointARM", _no_entry_point),
             "an entry point of a graph beside capability GraphARM", ARM),
    ),
    family(
        "OpTypeGraphARM",
        rule("outputs", "num_inputs", Finds("more types than inputs", _no_outputs),
             "types of all inputs, and of at least one output", ARM),
        rule("interface", "in_out_types", Faultless("each is a tensor or an array of tensors", _no_interface_type),
             "tensors and arrays of tensors as inputs and outputs", ARM),
    ),
    family(
        "OpGraphConstantARM",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is a tensor", is_tensor), "a tensor as result", ARM),
        rule("number", "graph_constant_id", Finds("each constant of graphs has a number of its own", _same_number),
             "a number that no other constant of graphs has", ARM),
    ),
    family(
        ENTRY_POINT,
        rule("graph", "graph", Finds("Graph is an OpGraphARM", _no_graph), "an OpGraphARM", ARM),
        rule("count", "interface", Finds("a variable for each input and output", _other_count),
             "a variable for each input and output of the graph", ARM),
        rule("variables", "interface", Faultless("variables in UniformConstant", _no_variable),
             "variables in UniformConstant as interface", ARM),
        rule("types", "interface", Faultless("variables of the types of the graph", _other_variable),
             "variables that hold what the graph takes and gives", ARM),
        rule("name", "name", Finds("each entry point has a name of its own", _same_name),
             "a name that no other entry point of a graph has", ARM, beyond="spirv-val of 2025 does not compare names"),
        _order("place", "entry points stand before and between graphs", "a place outside of graphs"),
    ),
    family(
        "OpGraphARM",
        rule("result", "result_type",
             satisfies(RESULT_TYPE, "is a type of graphs",
                       lambda type: isinstance(type, Opaque) and type.name == "OpTypeGraphARM"),
             "an OpTypeGraphARM as result type", ARM),
        _order("nested", "a graph stands in no other one", "a place outside of graphs"),
        _order("ends", "an OpGraphEndARM ends a graph", "an OpGraphEndARM"),
    ),
    family(INPUT, *_selected(INPUT),
           _order("place", "inputs stand at the beginning of a graph", "a place at the beginning of a graph")),
    family(OUTPUT, *_selected(OUTPUT),
           _order("place", "outputs stand in a graph", "a place in a graph")),
    family("OpGraphEndARM",
           _order("outputs", "an OpGraphEndARM follows an output", "an OpGraphSetOutputARM before it")),
    family(
        INSTRUCTION,
        rule("graph_body", "", Analysed("nothing else stands between graphs or after their outputs", _faults("body")),
             "a place in a graph, before its outputs", ARM),
    ),
)  # fmt: skip
