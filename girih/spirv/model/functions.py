"""Functions of a module, their blocks, and calls (SPIR-V 2.4, 2.2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction
from girih.spirv.vocabulary import TERMINATORS

MERGES = frozenset({"OpSelectionMerge", "OpLoopMerge"})


@dataclass(slots=True, eq=False)
class Block:
    """A block: its label, and its instructions after it, the terminator included where there is one."""

    label: Instruction
    body: list[Instruction] = field(default_factory=list)

    @property
    def id(self) -> int:
        """The id of the label."""
        return self.label.result

    @property
    def terminator(self) -> Instruction | None:
        """The instruction that ends the block; None where the block does not end."""
        return self.body[-1] if self.body and self.body[-1].name in TERMINATORS else None

    @property
    def merge(self) -> Instruction | None:
        """The merge instruction before the terminator, if there is one."""
        return self.body[-2] if len(self.body) > 1 and self.body[-2].name in MERGES else None

    @property
    def successors(self) -> tuple[int, ...]:
        """The labels that the terminator may branch to, each once, in order."""
        end = self.terminator
        if end is None:
            return ()
        match end.name:
            case "OpBranch":
                return (end.id("target_label"),)
            case "OpBranchConditional":
                return tuple(dict.fromkeys((end.id("true_label"), end.id("false_label"))))
            case "OpSwitch":
                targets = (operand.value for operand in end.operands if operand.name == "target" and operand.is_id)
                return tuple(dict.fromkeys((end.id("default"), *(t for t in targets if isinstance(t, int)))))
        return ()


@dataclass(slots=True, eq=False)
class Function:
    """A function: its declaration, parameters and blocks in order. One without blocks is only declared."""

    declaration: Instruction
    parameters: list[Instruction] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    end: Instruction | None = None

    @property
    def id(self) -> int:
        """The id of the function."""
        return self.declaration.result


@dataclass(slots=True)
class Bodies:
    """The functions of a module; of each instruction in one its function and block, by the instruction's index."""

    functions: list[Function] = field(default_factory=list)
    function_at: dict[int, Function] = field(default_factory=dict)
    block_at: dict[int, Block] = field(default_factory=dict)


def bodies_of(instructions: Iterable[Instruction]) -> Bodies:
    """The functions of a module. What stands outside a block or function, where it may not, is in none."""
    made = Bodies()
    function: Function | None = None
    block: Block | None = None
    for one in instructions:
        if one.name == "OpFunction":
            function, block = Function(one), None
            made.functions.append(function)
        elif function is None:
            continue
        made.function_at[one.index] = function
        if one.name == "OpFunctionEnd":
            function.end = one
            function, block = None, None
        elif one.name == "OpFunctionParameter":
            function.parameters.append(one)
        elif one.name == "OpLabel":
            block = Block(one)
            function.blocks.append(block)
            made.block_at[one.index] = block
        elif block is not None and one.name != "OpFunction":
            block.body.append(one)
            made.block_at[one.index] = block
            if one.name in TERMINATORS:
                block = None
    return made


def called_from(root: int, functions: Sequence[Function]) -> dict[int, Function]:
    """The functions that a call of `root` may reach, itself included, by id; recursion ends the search."""
    by_id = {function.id: function for function in functions}
    reached: dict[int, Function] = {}
    waiting = [root]
    while waiting:
        function = by_id.get(waiting.pop())
        if function is None or function.id in reached:
            continue
        reached[function.id] = function
        waiting += (call for block in function.blocks for one in block.body for call in called_by(one))
    return reached


def called_by(one: Instruction) -> tuple[int, ...]:
    """The functions that an instruction calls, through the operands of cooperative matrices too (001)."""
    if one.name == "OpFunctionCall":
        return (one.id("function"),)
    names = ("func", "combine_func", "DecodeFunc", "DecodeVectorFunc")
    return tuple(id for name in names if (id := one.id(name))) if one.name.startswith("OpCooperativeMatrix") else ()
