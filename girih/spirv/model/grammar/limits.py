"""Where a module goes beyond the limits that every implementation keeps (SPIR-V 2.17)."""

from __future__ import annotations

from collections.abc import Iterator

from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.model.flow import flow_of

MEMBERS, NESTING, CASES = 16383, 255, 16383
GLOBAL_VARIABLES, LOCAL_VARIABLES = 65535, 524287
CONSTRUCTS = 1023
FUNCTION_CLASS = 7
"""The number of the storage class Function."""


def limit_faults(facts: Facts) -> Faults:
    """All instructions that are too long, too deep, or one too many."""
    found: dict[int, Fault] = {}
    depths: dict[int, int] = {}
    counts = {"global": 0, "local": 0}
    for one in facts.instructions:
        if one.malformed is None:
            for what, count, limit in _measures(one, depths, counts):
                if count > limit:
                    found[one.index] = Fault(f"{count} {what}, where {limit} are possible")
    for label, depth in _deepest_constructs(facts) if facts.has("Shader") else ():
        if depth > CONSTRUCTS:
            found[label.index] = Fault(f"{depth} nested constructs, where {CONSTRUCTS} are possible")
    return found


def _deepest_constructs(facts: Facts) -> Iterator[tuple[Instruction, int]]:
    """The label of the header of the deepest construct of each function, with its depth; cases do not count."""
    for function in facts.bodies.functions:
        depths: dict[int, int] = {}
        deepest: tuple[Instruction, int] | None = None
        for construct in flow_of(facts, function).constructs if len(function.blocks) > CONSTRUCTS else ():
            around = depths.get(id(construct.parent), 0)
            depth = depths[id(construct)] = around + (construct.kind != "case")
            if deepest is None or depth > deepest[1]:
                deepest = construct.header.label, depth
        if deepest is not None:
            yield deepest


def _measures(one: Instruction, depths: dict[int, int], counts: dict[str, int]) -> tuple[tuple[str, int, int], ...]:
    """What an instruction has much of, how much, and the limit."""
    match one.name:
        case "OpTypeStruct":
            members = one.ids("members")
            depths[one.result] = depth = 1 + max((depths.get(member, 0) for member in members), default=0)
            return ("members", len(members), MEMBERS), ("nested structs", depth, NESTING)
        case "OpSwitch":
            return (("cases", sum(operand.name == "target" for operand in one.operands) // 2, CASES),)
        case "OpVariable":
            local = one.id("storage_class") == FUNCTION_CLASS
            counts["local" if local else "global"] += 1
            if local:
                return (("variables in functions", counts["local"], LOCAL_VARIABLES),)
            return (("variables outside of functions", counts["global"], GLOBAL_VARIABLES),)
    return ()
