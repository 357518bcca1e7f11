"""Uses of values where these need not have been computed: definitions must dominate uses (SPIR-V 2.16.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, Faults
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
    made = FaultList()
    for flow in facts.once(flows).values():
        for at, block in enumerate(flow.blocks):
            if not flow.dominators.reaches(at):
                continue
            for one in block.body:
                for operand in one.operands:
                    home = homes.get(operand.value)
                    if home is None or not operand.is_id or (home.block is block and one.name != "OpPhi"):
                        continue
                    came = _wrong(facts, flow, home, block, one, operand)
                    if came:
                        made.add("dominance", one.index, Fault(came, (operand,)))
    return made.of("dominance")


def _homes(facts: Facts) -> Mapping[object, _Home]:
    """Where the values of functions are made, by their ids."""
    made: dict[object, _Home] = {}
    for function in facts.bodies.functions:
        for one in function.parameters:
            made.setdefault(one.result, _Home(one, function, None))
        for block in function.blocks:
            for one in block.body:
                if one.result:
                    made.setdefault(one.result, _Home(one, function, block))
    return made


def _wrong(facts: Facts, flow: Flow, home: _Home, block: Block, one: Instruction, operand: Operand) -> str | None:
    """Why an instruction may not use a value that is made in a function; None where it may."""
    called, id = facts.called, home.instruction.result
    if home.function is not flow.function:
        return f"{called(id)}, a value of another function"
    if home.block is None:
        return None
    if one.name == "OpPhi":
        parent = _parent_of(flow, one, operand)
        if parent is not None and not _reaches(flow, home.block, parent):
            return f"{called(id)}, which is not computed on every path to {called(parent.id)}"
    elif home.instruction.index < one.index and not _reaches(flow, home.block, block):
        return f"{called(id)}, which is computed in {called(home.block.id)} alone"
    return None


def _parent_of(flow: Flow, phi: Instruction, operand: Operand) -> Block | None:
    """The block from which an OpPhi takes an operand; None for one that cannot be reached."""
    parents = {other.word: other.value for other in phi.operands}
    label = parents.get(operand.word + 1)
    block = flow.block(label) if isinstance(label, int) else None
    return block if block is not None and flow.dominators.reaches(flow.at(block)) else None


def _reaches(flow: Flow, home: Block, block: Block) -> bool:
    return flow.dominators.dominates(flow.at(home), flow.at(block))
