"""What is wrong with blocks and their labels, before control flow is asked: faults by rule, which rows look up.

Where instructions of a function stand (SPIR-V 2.2.5, 2.4), and what branches and merges name (SPIR-V 2.16.1).
"""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.extended import is_note, set_of
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList
from girih.spirv.model.functions import Block, Function
from girih.spirv.vocabulary import DEBUG_SETS, TERMINATORS, VARIABLES

LABELS = frozenset({"target_label", "true_label", "false_label", "default", "target", "merge_block", "continue_target"})
"""The names of operands of branches and merges that name blocks."""

EXECUTED = frozenset({
    "Memory", "Function", "Image", "Conversion", "Composite", "Arithmetic", "Bit", "Relational_and_Logical",
    "Derivative", "Control-Flow", "Atomic", "Primitive", "Barrier", "Group", "Non-Uniform", "Miscellaneous", "Tensor",
    "Reserved",
})  # fmt: skip
"""The classes of instructions that stand in blocks alone, but for what `ANYWHERE` and `RESERVED_DECLARATIONS` name."""

RESERVED_DECLARATIONS = frozenset({
    "OpTypeNodePayloadArrayAMDX", "OpConstantStringAMDX", "OpSpecConstantStringAMDX", "OpSamplerImageAddressingModeNV",
})  # fmt: skip
"""The instructions of class Reserved that declare something."""

ANYWHERE = frozenset({"OpLine", "OpNoLine"})
"""Instructions that may stand in blocks and outside."""

DECLARED = VARIABLES | {"OpUndef", "OpPoisonKHR"}
"""Instructions that may stand among the declarations too, before all functions."""


def block_faults(facts: Facts) -> FaultList:
    """What is wrong with the blocks of a module's functions."""
    made = FaultList()
    _PlaceSearch(facts, made).run()
    for function in facts.bodies.functions:
        _BlockSearch(facts, function, made).run()
    return made


class _PlaceSearch:
    """Instructions that stand outside of blocks and may not: one pass over the module.

    Where functions, parameters, and instructions of other sections stand is told where sections are judged.
    """

    def __init__(self, facts: Facts, made: FaultList) -> None:
        self._facts = facts
        self._made = made
        self._place = "outside of functions"
        self._begun = False
        self._label: Instruction | None = None

    def run(self) -> None:
        """Find what is wrong."""
        for one in self._facts.instructions:
            match one.name:
                case "OpLabel" if self._inside:
                    self._unended(one)
                    self._label, self._place = one, "after the end of a block"
                case name if self._label is not None and name != "OpFunctionEnd" and name != "OpFunction":
                    if name in TERMINATORS:
                        self._label = None
                case "OpFunction":
                    self._place, self._label, self._begun = "before the first block", None, True
                case "OpFunctionEnd":
                    self._unended(one)
                    self._place = "outside of functions"
                case "OpGraphARM" | "OpGraphEntryPointARM":
                    return
                case "OpFunctionParameter":
                    pass
                case _ if self._needs_block(one):
                    self._made.add("block", one.index, Fault(f"one {self._place}"))

    @property
    def _inside(self) -> bool:
        return self._place != "outside of functions"

    def _unended(self, by: Instruction) -> None:
        if self._label is not None:
            self._made.add("terminator", self._label.index, Fault(f"{by.name} instead"))
        self._label = None

    def _needs_block(self, one: Instruction) -> bool:
        if one.name in ANYWHERE or one.name in RESERVED_DECLARATIONS or one.spec is None:
            return False
        if one.name.startswith("OpExtInst"):
            return self._begun and one.spec.has_result and not is_note(self._facts.module, one)
        if one.name in DECLARED:
            return self._begun
        return self._inside or one.spec.family in EXECUTED


class _BlockSearch:
    """What the instructions of a function's blocks name that they may not, and the order inside blocks."""

    def __init__(self, facts: Facts, function: Function, made: FaultList) -> None:
        self._facts = facts
        self._function = function
        self._made = made
        self._entry = function.blocks[0] if function.blocks else None
        self._labels = {block.id for block in function.blocks}
        self._merges: dict[int, int] = {}

    def _fault(self, rule: str, one: Instruction, came: str, operands: tuple[Operand, ...] = ()) -> None:
        self._made.add(rule, one.index, Fault(came, operands))

    def run(self) -> None:
        """Find what is wrong."""
        for block in self._function.blocks:
            self._in_block(block)

    def _in_block(self, block: Block) -> None:
        is_entry = block is self._entry
        others: Instruction | None = None
        for at, one in enumerate(block.body):
            name = one.name
            if name in _FIRST:
                self._begins(one, others, is_entry=is_entry)
                continue
            if others is None and name not in ANYWHERE and not self._is_debug_info(one):
                others = one
            if name in _AFTER_MERGE:
                self._named(one)
                self._followed(one, block.body[at + 1] if at + 1 < len(block.body) else None)
                self._merged(block, one)
            elif name in TERMINATORS:
                self._named(one)

    def _begins(self, one: Instruction, others: Instruction | None, *, is_entry: bool) -> None:
        """Variables begin the first block, OpPhis the others."""
        if one.name == "OpPhi":
            if others is not None or is_entry:
                self._fault("first", one, f"after {others.name}" if others else "in the first block")
        elif _is_of_function(one) and (others is not None or not is_entry):
            self._fault("first", one, f"after {others.name}" if others and is_entry else "in another block")

    def _is_debug_info(self, one: Instruction) -> bool:
        return one.name == "OpExtInst" and set_of(self._facts.module, one) in DEBUG_SETS

    def _named(self, one: Instruction) -> None:
        """A branch or a merge names blocks of its function, a branch not the first."""
        entry, called = self._entry, self._facts.called
        for operand in one.operands:
            if operand.name not in LABELS or not operand.is_id or not isinstance(operand.value, int):
                continue
            made_by = self._facts.defined_by(operand.value)
            if made_by and made_by != "OpLabel":
                self._fault("label", one, f"{called(operand.value)}, which {made_by} makes", (operand,))
            elif made_by and operand.value not in self._labels:
                self._fault("label", one, f"{called(operand.value)}, a block of another function", (operand,))
            elif entry is not None and operand.value == entry.id and one.name in TERMINATORS:
                self._fault("entry", one, f"{called(entry.id)}, the first block", (operand,))

    def _followed(self, one: Instruction, following: Instruction | None) -> None:
        expected = _AFTER_MERGE[one.name]
        if following is None or following.name not in expected:
            self._fault("place", one, following.name if following else "the end of the block")

    def _merged(self, block: Block, one: Instruction) -> None:
        """A merge block is that of one header, and not the header itself."""
        merge, operand = one.id("merge_block"), one.operand("merge_block")
        blamed = (operand,) if operand else ()
        other = self._merges.setdefault(merge, block.id)
        called = self._facts.called
        if merge == block.id:
            self._fault("itself", one, f"{called(merge)}, the header itself", blamed)
        elif other != block.id:
            self._fault("unique", one, f"{called(merge)}, the merge block of {called(other)}", blamed)
        if one.name == "OpLoopMerge" and merge == one.id("continue_target"):
            self._fault("distinct", one, f"{called(merge)} for both", blamed)


_FIRST = VARIABLES | {"OpPhi"}
"""Instructions that begin blocks."""

_AFTER_MERGE = {
    "OpSelectionMerge": ("OpBranchConditional", "OpSwitch"),
    "OpLoopMerge": ("OpBranch", "OpBranchConditional"),
}
"""What follows a merge instruction."""


def _is_of_function(one: Instruction) -> bool:
    """Whether a variable is in the Function storage class."""
    return one.get("storage_class") == grammar().kinds["StorageClass"].value("Function")
