"""Rules of control flow: blocks, branches, OpPhi, dominance, structured control flow (SPIR-V 2.11, 2.16, 3.42.17)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.blocks import block_faults
from girih.spirv.model.dominance import undominated_uses
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, Faults
from girih.spirv.model.flow import flow_of
from girih.spirv.model.structure import flow_faults
from girih.spirv.rules.row import INSTRUCTION, SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Analysed,
    Faultless,
    Finds,
    IfPresent,
    Subject,
    Undetermined,
    instruction_of,
    is_integer,
    literal,
    satisfies,
    type_of,
)
from girih.spirv.types import Bool, Opaque, Void
from girih.spirv.vocabulary import IMAGE_TYPES

BLOCKS = "SPIR-V 2.16.1"
DECLARATIONS = "SPIR-V 2.11.1"
CONSTRUCTS = "SPIR-V 2.11.3"
INSTRUCTIONS = "SPIR-V 3.42.17"

DECLARE = "declare by an OpSelectionMerge right before it where its branches meet"
"""The hint where a merge instruction is missing."""

BRANCHES = "OpBranch OpBranchConditional OpSwitch"
MERGES = "OpSelectionMerge OpLoopMerge"


def found(
    id: str,
    says: str,
    source: str,
    faults: Callable[[Facts], FaultList] = flow_faults,
    *,
    hint: str | None = None,
    beyond: str | None = None,
) -> SpirvRow:
    """The row of one rule of an analysis that looks for several."""

    def analysis(facts: Facts) -> Faults:
        return facts.once(faults).of(id)

    return rule(id, "", Analysed(says, analysis), says, source, hint=hint, beyond=beyond)


def of_blocks(id: str, says: str, source: str = BLOCKS, hint: str | None = None) -> SpirvRow:
    """The row of a rule about blocks and labels."""
    return found(id, says, source, block_faults, hint=hint)


# OpPhi


def _incoming(one: Instruction) -> Iterator[tuple[Operand, Operand]]:
    """The values of an OpPhi, each with the block that it comes from."""
    named = [operand for operand in one.operands if operand.name == "incoming"]
    return zip(named[::2], named[1::2], strict=False)


def _called(subject: Subject[Facts], operand: Operand) -> str:
    return subject.facts.called(operand.value) if isinstance(operand.value, int) else ""


def _foreign_value(subject: Subject[Facts]) -> Fault | None:
    """The first value of an OpPhi whose type is not that of the result."""
    one, facts = instruction_of(subject), subject.facts
    if isinstance(RESULT_TYPE.value(subject), Void):
        raise Undetermined
    for value, _ in _incoming(one):
        made = facts.module.definitions.get(value.value) if isinstance(value.value, int) else None
        if made is not None and made.result_type != one.result_type:
            type = facts.declarations.types.get(made.result_type)
            return Fault(f"{_called(subject, value)}, {type.words if type else 'which is no value'}", (value,))
    return None


def _wrong_parent(subject: Subject[Facts]) -> Fault | None:
    """What is wrong with the parents of an OpPhi, which are the predecessors of its block, each once."""
    one, facts = instruction_of(subject), subject.facts
    block, function = facts.block_of(one), facts.function_of(one)
    if block is None or function is None:
        raise Undetermined
    flow = flow_of(facts, function)
    before = [flow.blocks[at].id for at in flow.predecessors[flow.at(block)]]
    called, seen, expected = facts.called, set[object](), frozenset(before)
    for _, parent in _incoming(one):
        if parent.value in seen:
            return Fault(f"{_called(subject, parent)} twice", (parent,))
        if parent.value not in expected:
            return Fault(f"{_called(subject, parent)}, which does not branch to {called(block.id)}", (parent,))
        seen.add(parent.value)
    return next((Fault(f"none for {called(missing)}") for missing in before if missing not in seen), None)


def _chosen_image(subject: Subject[Facts]) -> str | None:
    """An image or a sampler, of which an OpPhi has none."""
    type, facts = RESULT_TYPE.value(subject), subject.facts
    is_opaque = isinstance(type, Opaque) and type.name in IMAGE_TYPES
    shaded = facts.has("Shader") or (isinstance(type, Opaque) and type.name == "OpTypeSampledImage")
    return type.words if is_opaque and shaded and not facts.has("BindlessTextureNV") else None


# Branches


def _same_label(subject: Subject[Facts]) -> str | None:
    """The label that both targets of a branch are, where they must differ."""
    one, facts = instruction_of(subject), subject.facts
    if one.id("true_label") != one.id("false_label") or facts.module.header.version < (1, 6):
        return None
    return f"{facts.called(one.id('true_label'))} for both"


def _weights(one: Instruction) -> tuple[int, ...]:
    return one.ids("branch_weights")


def _wrong_weights(subject: Subject[Facts]) -> str | None:
    count = len(_weights(instruction_of(subject)))
    return None if count in (0, 2) else f"{count}"


def _useless_weights(subject: Subject[Facts]) -> str | None:
    weights = _weights(instruction_of(subject))
    return None if len(weights) != 2 or 0 < sum(weights) < 1 << 32 else f"{weights[0]} and {weights[1]}"


def _repeated_literal(subject: Subject[Facts]) -> Fault | None:
    """A literal that stands for two cases of an OpSwitch."""
    seen: set[object] = set()
    for operand in instruction_of(subject).operands:
        if operand.name == "target" and not operand.is_id:
            if operand.value in seen:
                words = operand.value if isinstance(operand.value, tuple) else (operand.value,)
                number = sum(word << 32 * at for at, word in enumerate(words) if isinstance(word, int))
                return Fault(f"{number} twice", (operand,))
            seen.add(operand.value)
    return None


# Loops


def _contradiction(subject: Subject[Facts]) -> str | None:
    """Two loop controls of which one forbids what the other asks for."""
    mask, kind = instruction_of(subject).id("loop_control"), grammar().kinds["LoopControl"]
    forbidden = mask & kind.value("DontUnroll")
    asked = ("Unroll", "PeelCount", "PartialCount")
    return next((f"DontUnroll and {name}" for name in asked if forbidden and mask & kind.value(name)), None)


# Execution models

MODELS = {
    "OpKill": "Fragment", "OpTerminateInvocation": "Fragment", "OpIgnoreIntersectionKHR": "AnyHitKHR",
    "OpTerminateRayKHR": "AnyHitKHR", "OpEmitMeshTasksEXT": "TaskEXT",
}  # fmt: skip
"""Instructions that end an invocation, with the execution model that has them."""


def _foreign_model(subject: Subject[Facts]) -> str | None:
    """The execution models of entry points that reach an instruction, and may not."""
    one = instruction_of(subject)
    return " and ".join(sorted(subject.facts.models_of(one) - {MODELS[one.name]})) or None


def _model_row(model: str) -> SpirvRow:
    says = f"execution model {model} in all entry points that reach it"
    return rule("model", "", Finds(says, _foreign_model), says, INSTRUCTIONS)


LABELS = of_blocks("label", "labels of blocks of the same function")

FAMILIES = (
    family(
        INSTRUCTION,
        rule(
            "dominance",
            "",
            Analysed("its operands are computed on every path to it", undominated_uses),
            "operands that are computed on every path to it, in the same function",
            BLOCKS,
            hint="compute the operand in a block that dominates this one, or let an OpPhi choose it where paths meet",
        ),
        of_blocks("block", "an instruction inside a block of a function", "SPIR-V 2.4"),
    ),
    family(
        "OpLabel",
        of_blocks("terminator", "a branch, a return or another instruction that ends the block, before the next one"),
        found("place", "a block after the block that dominates it", BLOCKS, hint="move it behind that block"),
        found(
            "reconvergence",
            "a loop header, a merge block, a continue target or a case, if several blocks branch to it",
            "SPV_KHR_maximal_reconvergence",
        ),
    ),
    family(
        "OpVariable OpUntypedVariableKHR",
        of_blocks(
            "first",
            "variables of the Function storage class first in the first block",
            "SPIR-V 3.42.8",
            "move it to the beginning of the first block",
        ),
    ),
    family(
        "OpPhi",
        of_blocks(
            "first",
            "OpPhis first in their blocks, and none in the first block of a function",
            INSTRUCTIONS,
            "move it to the beginning of the block",
        ),
        rule(
            "result",
            "result_type",
            satisfies(RESULT_TYPE, "is not void", lambda type: not isinstance(type, Void)),
            "a type that is not void as result",
            INSTRUCTIONS,
        ),
        rule(
            "opaque",
            "result_type",
            Finds("is no image or sampler", _chosen_image),
            "no image or sampler as result",
            BLOCKS,
        ),
        rule(
            "values",
            "",
            Faultless("the types of all values = Result Type", _foreign_value),
            "values of the type of the result",
            INSTRUCTIONS,
        ),
        rule(
            "parents",
            "",
            Faultless("the parents are the predecessors of the block, each once", _wrong_parent),
            "each block that branches to this one as a parent, once",
            INSTRUCTIONS,
        ),
    ),
    family(
        BRANCHES,
        LABELS,
        of_blocks(
            "entry",
            "a branch to another block than the first of the function",
            hint="begin the function with a block that branches to it",
        ),
        found(
            "back_edge",
            "back edges to headers of loops only",
            DECLARATIONS,
            hint="declare the loop by an OpLoopMerge before the last instruction of that block",
        ),
        found("enters", "a branch into a construct that goes to its header", CONSTRUCTS),
        found("continues", "a branch to a continue target from inside its loop", CONSTRUCTS),
        found(
            "leaves",
            "a branch that leaves a construct for its merge block, or for that or the continue target of the loop "
            "around it, or for the merge block of the switch around it",
            CONSTRUCTS,
        ),
    ),
    family(
        "OpBranchConditional",
        rule(
            "condition",
            "condition",
            satisfies(type_of("condition"), "is Boolean", lambda t: isinstance(t, Bool)),
            "a Boolean scalar as Condition",
            INSTRUCTIONS,
        ),
        rule(
            "different",
            "true_label false_label",
            Finds("from version 1.6 on: True Label ≠ False Label", _same_label),
            "two different labels, from version 1.6 on",
            INSTRUCTIONS,
            hint="use OpBranch",
        ),
        found(
            "diverges",
            "two different labels, in what an entry point with MaximallyReconvergesKHR calls",
            "SPV_KHR_maximal_reconvergence",
            hint="use OpBranch",
        ),
        rule(
            "weights",
            "branch_weights",
            Finds("0 or 2 Branch Weights", _wrong_weights),
            "no Branch Weights, or two",
            INSTRUCTIONS,
        ),
        rule(
            "weights_sum",
            "branch_weights",
            Finds("0 < sum of Branch Weights < 2^32", _useless_weights),
            "Branch Weights that are not both 0, with a sum of 32 bits",
            INSTRUCTIONS,
            beyond="spirv-val does not look at the values of Branch Weights",
        ),
        found(
            "structured",
            "an OpSelectionMerge before a branch to two blocks that nothing announced",
            "SPIR-V 2.16.2",
            hint=DECLARE,
        ),
    ),
    family(
        "OpSwitch",
        rule(
            "selector",
            "selector",
            satisfies(type_of("selector"), "is an integer", is_integer),
            "an integer scalar as Selector",
            INSTRUCTIONS,
        ),
        rule(
            "literals",
            "",
            Faultless("all literals differ", _repeated_literal),
            "literals that are all different",
            INSTRUCTIONS,
            severity="warning",
        ),
        found("structured", "an OpSelectionMerge before an OpSwitch", "SPIR-V 2.16.2", hint=DECLARE),
        found("case_dominated", "a switch whose header structurally dominates its cases", CONSTRUCTS),
        found("case_exits", "a case that goes on to one other case at most", CONSTRUCTS),
        found("case_entries", "a case that one other case at most goes on to", CONSTRUCTS),
        found(
            "case_order",
            "a case that goes on to another one right before it in the list",
            CONSTRUCTS,
            hint="move the literals of the case in front of those of the other",
        ),
        found(
            "case_runs",
            "literals of the same label side by side",
            CONSTRUCTS,
            hint="sort the literals by their labels",
            beyond="spirv-val looks at the order of cases only where one goes on to another",
        ),
    ),
    family(
        MERGES,
        LABELS,
        of_blocks("itself", "another block than the header as merge block", DECLARATIONS),
        of_blocks(
            "unique",
            "a merge block that no other header has",
            DECLARATIONS,
            "name a new block that branches to that one",
        ),
        found("dominates", "a merge block that its header structurally dominates", DECLARATIONS),
    ),
    family("OpSelectionMerge", of_blocks("place", "an OpBranchConditional or OpSwitch right after it", INSTRUCTIONS)),
    family(
        "OpLoopMerge",
        of_blocks("place", "an OpBranch or OpBranchConditional right after it", INSTRUCTIONS),
        of_blocks("distinct", "a Continue Target other than the Merge Block", DECLARATIONS),
        rule(
            "control",
            "loop_control",
            Finds("DontUnroll without Unroll, PeelCount, PartialCount", _contradiction),
            "loop controls that do not contradict each other",
            "SPIR-V 3.23",
        ),
        rule(
            "multiple",
            "IterationMultiple",
            IfPresent("IterationMultiple", satisfies(literal("IterationMultiple"), "> 0", lambda count: count > 0)),
            "an IterationMultiple above 0",
            "SPIR-V 3.23",
        ),
        found("back_edges", "one block with a back edge to the header", DECLARATIONS),
        found("continue_reached", "a Continue Target that the header structurally dominates", DECLARATIONS),
        found(
            "continue_dominates",
            "a Continue Target that structurally dominates the block of the back edge",
            DECLARATIONS,
        ),
        found(
            "continue_ends", "a Continue Target from which all paths lead to the block of the back edge", DECLARATIONS
        ),
    ),
    *(
        family(" ".join(name for name, needed in MODELS.items() if needed == model), _model_row(model))
        for model in dict.fromkeys(MODELS.values())
    ),
)
