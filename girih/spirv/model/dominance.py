"""Uses of values where these need not have been computed: definitions must dominate uses (SPIR-V 2.16.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.model.flow import Flow, flows
from girih.spirv.model.functions import Block, Function


class _Home(NamedTuple):
    """Where a value of a function is made: the instruction, its function, and its block, None for a parameter."""

    instruction: Instruction
    function: Function
    block: Block | None


def undominated_uses(facts: Facts) -> Faults:
    """Uses, in blocks that can be reached, of values that need not have been computed there.

    Values that are declared outside of functions, and uses before a definition in the text, are not its matter.
    """
    homes = facts.once(_homes)
    made: dict[int, Fault] = {}
    for flow in facts.once(flows).values():
        for at, block in enumerate(flow.blocks):
            if not flow.dominators.reaches(at):
                continue
            for one in block.body:
                wrong = [(operand, came) for operand, came in _wrong(facts, flow, homes, block, one)]
                if wrong:
                    made[one.index] = Fault(wrong[0][1], tuple(operand for operand, _ in wrong))
    return made


def _homes(facts: Facts) -> Mapping[int, _Home]:
    """Where the values of functions are made, by their ids."""
    made: dict[int, _Home] = {}
    for function in facts.bodies.functions:
        for one in function.parameters:
            made.setdefault(one.result, _Home(one, function, None))
        for block in function.blocks:
            for one in block.body:
                if one.result:
                    made.setdefault(one.result, _Home(one, function, block))
    return made


def _wrong(
    facts: Facts, flow: Flow, homes: Mapping[int, _Home], block: Block, one: Instruction
) -> Iterator[tuple[Operand, str]]:
    """The operands of an instruction that it may not use, and why."""
    used = [operand for operand in one.operands if operand.is_id and operand.value in homes]
    for operand in used:
        assert isinstance(operand.value, int)
        home = homes[operand.value]
        name = facts.annotations.called(operand.value)
        if home.function is not flow.function:
            yield operand, f"{name}, a value of another function"
        elif home.block is None:
            continue
        elif one.name == "OpPhi":
            parent = _parent_of(flow, one, operand)
            if parent is not None and not _reaches(flow, home.block, parent):
                yield operand, f"{name}, which is not computed on every path to {facts.annotations.called(parent.id)}"
        elif home.block is not block and home.instruction.index < one.index and not _reaches(flow, home.block, block):
            yield operand, f"{name}, which is computed in {facts.annotations.called(home.block.id)} alone"


def _parent_of(flow: Flow, phi: Instruction, operand: Operand) -> Block | None:
    """The block from which an OpPhi takes an operand; None for one that cannot be reached."""
    parents = {other.word: other.value for other in phi.operands}
    label = parents.get(operand.word + 1)
    block = flow.block(label) if isinstance(label, int) else None
    return block if block is not None and flow.dominators.reaches(flow.at(block)) else None


def _reaches(flow: Flow, home: Block, block: Block) -> bool:
    return flow.dominators.dominates(flow.at(home), flow.at(block))
