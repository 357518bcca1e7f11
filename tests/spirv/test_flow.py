"""Flow of control of functions: dominators against their definition, constructs and how they nest, deep nests."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from girih.spirv import Module, validate
from girih.spirv.frame import completed
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import Facts
from girih.spirv.model.flow import Flow, flows
from girih.spirv.model.functions import Block
from girih.spirv.model.grammar.limits import limit_faults
from girih.spirv.model.graph import Dominators, all_roots, visit
from girih.spirv.model.structure import flow_faults


def facts_of(body: str) -> Facts:
    return Facts(Module.from_text(completed(body)), ENVIRONMENTS["universal1.6"])


def reached(edges: list[list[int]], without: int) -> set[int]:
    """The nodes on paths from 0 that do not pass a node."""
    found, waiting = set[int](), [0] if without != 0 else []
    while waiting:
        node = waiting.pop()
        if node not in found and node != without:
            found.add(node)
            waiting += edges[node]
    return found


def test_dominators_are_what_all_paths_lead_over() -> None:
    random = Random(14)
    for _ in range(150):
        count = random.randint(1, 9)
        edges = [[random.randrange(count) for _ in range(random.randint(0, 3))] for _ in range(count)]
        dominators, everywhere = Dominators(edges, 0), reached(edges, -1)
        for above in range(count):
            spared = reached(edges, above)
            for node in range(count):
                expected = above == node or (node in everywhere and above in everywhere and node not in spared)
                assert dominators.dominates(above, node) == expected, (edges, above, node)
        for node in everywhere - {0}:
            strict = [above for above in everywhere - {node} if dominators.dominates(above, node)]
            assert all(dominators.dominates(above, dominators.immediate[node]) for above in strict), (edges, node)


def test_a_visit_knows_back_edges_and_roots_reach_all() -> None:
    edges = [[1], [2, 3], [1], [], [3, 5], [4]]
    assert visit(edges, [0]).back_edges == [(2, 1)]
    assert visit(edges, [0]).left == [2, 3, 1, 0]
    assert all_roots(edges, range(6)) == [0, 4]
    assert all_roots(edges, reversed(range(6))) == [0, 5]


LOOP = """
         OpName %loop "loop"
         OpName %body "body"
         OpName %one "one"
         OpName %two "two"
         OpName %inner "inner"
         OpName %end "end"
         OpName %next "next"
         OpName %done "done"
         OpBranch %loop
%loop  = OpLabel
         OpLoopMerge %done %next None
         OpBranch %body
%body  = OpLabel
         OpSelectionMerge %end None
         OpSwitch %int_1 %end 1 %one 2 %two
%one   = OpLabel
         OpSelectionMerge %inner None
         OpBranchConditional %true %done %inner
%inner = OpLabel
         OpBranch %two
%two   = OpLabel
         OpBranch %next
%end   = OpLabel
         OpBranchConditional %true %next %done
%next  = OpLabel
         OpBranch %loop
%done  = OpLabel
"""


def test_constructs_lie_in_each_other() -> None:
    facts = facts_of(LOOP)
    (flow,) = flows(facts).values()

    def name(block: Block | None) -> str:
        return facts.annotations.names.get(block.id, "entry") if block else ""

    described = {(c.kind, name(c.header), name(c.merge), c.parent and c.parent.kind) for c in flow.constructs}
    assert described == {
        ("loop", "loop", "done", None),
        ("continue", "next", "done", None),
        ("switch", "body", "end", "loop"),
        ("case", "one", "end", "switch"),
        ("case", "two", "end", "switch"),
        ("selection", "one", "inner", "case"),
    }
    homes = {name(block): flow.innermost[block].kind for block in flow.blocks if block in flow.innermost}
    assert homes == {"loop": "loop", "body": "switch", "one": "selection", "inner": "case", "two": "case",
                     "end": "loop", "next": "continue"}  # fmt: skip
    loop = next(c for c in flow.constructs if c.kind == "loop")
    assert (name(loop.continue_target), name(loop.latch)) == ("next", "next")
    assert [inside.kind for inside in loop.inside] == ["switch"]
    assert [name(block) for block in flow.order][:2] == ["entry", "loop"]
    assert not flow_faults(facts).of("leaves")


def nest(depth: int) -> str:
    """Selections in each other, each of which returns from inside."""
    lines = ["OpBranch %h0"]
    for at in range(depth):
        lines += [f"%h{at} = OpLabel", f"OpSelectionMerge %m{at} None"]
        inside = f"%h{at + 1}" if at + 1 < depth else "%last"
        lines.append(f"OpBranchConditional %true {inside} %m{at}")
    lines += ["%last = OpLabel", "OpReturn"]
    for at in reversed(range(depth)):
        lines += [f"%m{at} = OpLabel", f"OpBranch %m{at - 1}" if at else "OpReturn"]
    return "\n".join(lines)


def test_deep_nests_need_no_stack() -> None:
    facts = facts_of(nest(1100))
    (flow,) = flows(facts).values()
    assert (len(flow.blocks), len(list(flow.constructs_of(flow.blocks[1101])))) == (2202, 1100)
    assert [fault.came for fault in limit_faults(facts).values()] == ["1100 nested constructs, where 1023 are possible"]
    assert limit_faults(facts_of(nest(1023))) == {}
    assert not any(flow_faults(facts).of(rule) for rule in ("leaves", "enters", "structured", "dominates"))
    edges = [[at + 1, 9_999] for at in range(9_998)] + [[9_999], []]
    assert Dominators(edges, 0).immediate[9_999] == 0


def test_a_function_of_one_block_flows() -> None:
    (flow,) = flows(facts_of("OpReturn")).values()
    assert isinstance(flow, Flow)
    assert (list(flow.order), list(flow.constructs), flow.predecessors) == (list(flow.blocks), [], [[]])


@pytest.mark.parametrize(
    "text", ["%made = OpCreateTensorLayoutNV %layout_2", "%made = OpRayQueryProceedKHR %bool %query"]
)
def test_what_extensions_compute_stands_in_blocks(text: str) -> None:
    module = Module.from_text(completed(f"%query = OpVariable %_ptr_Private_ray_query Private\n{text}"))
    assert validate(module) == []
    inside = next(one for one in module.instructions if one.name in text)
    function = next(one for one in module.instructions if one.name == "OpFunction")
    raw = [one for one in module.raw if one is not module.raw[inside.index]]
    raw.insert(function.index, module.raw[inside.index])
    assert [one.code for one in validate(replace(module, raw=tuple(raw)))] == [f"spirv.{inside.name}.block"]
