"""What is wrong with the control flow of a module: faults by rule and instruction, which rows look up.

Faults of structure (SPIR-V 2.11) are looked for in steps, each only where the one before found none in the function:
labels, merges and ends of blocks; back edges; what headers dominate; branches into and out of constructs; cases. So a
mistake has one fault, and what a step takes for granted holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from girih.spirv.instruction import Instruction
from girih.spirv.model.blocks import block_faults
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList
from girih.spirv.model.flow import Construct, Flow, case_targets, flows, leaves, target_labels
from girih.spirv.model.functions import Block, Function, called_from


def flow_faults(facts: Facts) -> FaultList:
    """What control flow does that it may not."""
    made = FaultList()
    for flow in facts.once(flows).values():
        search = _FlowSearch(facts, flow, made)
        search.order()
        if flow.function.id in facts.once(_reconverging):
            search.reconvergence()
        if facts.has("Shader") and flow.function not in facts.once(_disordered) and _is_whole(flow):
            search.selections()
            _StructureSearch(facts, flow, made).run()
    return made


def _is_whole(flow: Flow) -> bool:
    """Whether all blocks end, and name blocks of the function alone."""
    labels = flow.number
    return all(
        block.terminator is not None and labels.keys() >= {*block.successors, *declared_labels(block)}
        for block in flow.blocks
    )


PREMISES = ("terminator", "label", "entry", "place", "itself", "unique", "distinct")
"""The rules about blocks without which a function has no structure to speak of."""


def _disordered(facts: Facts) -> frozenset[Function]:
    """The functions whose labels, merges or ends of blocks break rules."""
    found = facts.once(block_faults)
    return frozenset(facts.bodies.function_at[index] for rule in PREMISES for index in found.of(rule))


def declared_labels(block: Block) -> tuple[int, ...]:
    """The labels that the merge instruction of a block names: the merge block, of a loop the continue target too."""
    merge = block.merge
    if merge is None:
        return ()
    return (merge.id("merge_block"), *((merge.id("continue_target"),) if merge.name == "OpLoopMerge" else ()))


def _reconverging(facts: Facts) -> frozenset[int]:
    """The functions that entry points with MaximallyReconvergesKHR may call, and these."""
    entries = (entry for entry in facts.entry_points if entry.mode("MaximallyReconvergesKHR"))
    return frozenset(id for entry in entries for id in called_from(entry.function, facts.bodies.functions))


class _FlowSearch:
    """A search for faults in a function that holds for any function, structured or not."""

    def __init__(self, facts: Facts, flow: Flow, made: FaultList) -> None:
        self.flow = flow
        self.called = facts.called
        self._made = made
        self._count = 0

    def fault(self, rule: str, guilty: Instruction, came: str, label: int = 0) -> None:
        """Take up a fault about an instruction; it blames the operands that name a label."""
        blamed = tuple(one for one in guilty.operands if one.is_id and one.value == label) if label else ()
        self._made.add(rule, guilty.index, Fault(came, blamed))
        self._count += 1

    def both(self, blocks: Iterable[int]) -> str:
        """The first two of some blocks in words."""
        return " and ".join(self.called(self.flow.blocks[at].id) for at in list(blocks)[:2])

    def order(self) -> None:
        """Blocks that stand before what dominates them (SPIR-V 2.16.1)."""
        for at, block in enumerate(self.flow.blocks):
            above = self.flow.dominators.immediate[at]
            if above > at:
                self.fault("place", block.label, f"{self.both([above])} dominates it and stands after it")

    def reconvergence(self) -> None:
        """Blocks where paths meet that no merge instruction or switch announces (SPV_KHR_maximal_reconvergence)."""
        flow = self.flow
        announced: set[int] = set()
        for block in flow.blocks:
            announced.update(declared_labels(block))
            if block.merge is not None and block.merge.name == "OpLoopMerge":
                announced.add(block.id)
            if block.terminator is not None and block.terminator.name == "OpSwitch":
                announced.update(block.successors)
        for block, sources in zip(flow.blocks, flow.predecessors, strict=True):
            if len(sources) > 1 and block.id not in announced:
                self.fault("reconvergence", block.label, f"{self.both(sources)} branch to it")
            end = block.terminator
            if end is not None and end.name == "OpBranchConditional" and len(block.successors) == 1:
                self.fault("diverges", end, f"{self.called(block.successors[0])} for both")

    def selections(self) -> None:
        """Branches that lack a merge instruction (SPIR-V 2.16.2).

        One is not needed where at most one of the labels is new: merge blocks and continue targets are known, and so
        is what was branched to before, in reverse post order.
        """
        known: set[int] = set()
        for block in self.flow.structural_order:
            known.update(declared_labels(block))
            end = block.terminator
            if end is None or end.name not in ("OpBranchConditional", "OpSwitch"):
                continue
            fresh = [label for label in block.successors if label not in known]
            known.update(fresh)
            declared = block.merge is not None and block.merge.name == "OpSelectionMerge"
            if not declared and (end.name == "OpSwitch" or len(fresh) > 1):
                named = " and ".join(self.called(label) for label in (fresh or block.successors)[:2])
                self.fault("structured", end, f"none before the branch to {named}")


class _StructureSearch(_FlowSearch):
    """A search for faults of structure in a function whose labels and merges are in order (SPIR-V 2.11)."""

    def run(self) -> None:
        """All steps, up to the first that finds a fault."""
        steps: Sequence[Callable[[], None]] = (self.loops, self.dominance, self.branches, self.cases)
        before = self._count
        for step in steps:
            step()
            if self._count > before:
                return

    @cached_property
    def _latches(self) -> Mapping[int, Sequence[int]]:
        """Of each block the blocks with back edges to it."""
        made: dict[int, list[int]] = {}
        for at, to in self.flow.back_edges:
            made.setdefault(to, []).append(at)
        return made

    def _reached(self) -> Iterator[tuple[int, Block]]:
        dominators = self.flow.structural_dominators
        return ((at, block) for at, block in enumerate(self.flow.blocks) if dominators.reaches(at))

    def _edges(self) -> Iterator[tuple[Block, Block, Instruction]]:
        """The edges between blocks that can be reached, with the terminators that have them."""
        for at, block in self._reached():
            end = block.terminator
            if end is not None:
                yield from ((block, self.flow.blocks[to], end) for to in self.flow.successors[at])

    def _of(self, construct: Construct) -> str:
        kind = "continue construct" if construct.kind == "continue" else construct.kind
        return f"{kind} of {self.called(construct.header.id)}"

    def loops(self) -> None:
        """Back edges go to headers of loops, each of which has one (SPIR-V 2.11.1)."""
        flow, before = self.flow, self._count
        for to, latches in self._latches.items():
            merge = flow.blocks[to].merge
            if merge is None or merge.name != "OpLoopMerge":
                for at in latches:
                    end, header = flow.blocks[at].terminator, flow.blocks[to].id
                    if end is not None:
                        self.fault("back_edge", end, f"{self.called(header)} is no header of a loop", header)
        if self._count > before:
            return
        for at, block in self._reached():
            merge, latches = block.merge, self._latches.get(at, ())
            if merge is not None and merge.name == "OpLoopMerge" and len(latches) != 1:
                self.fault("back_edges", merge, f"back edges from {self.both(latches)}" if latches else "none")

    def dominance(self) -> None:
        """What headers dominate: merge blocks, continue targets, cases; and a continue target its back edge."""
        flow = self.flow
        for at, header in enumerate(flow.blocks):
            merge, end = header.merge, header.terminator
            block = flow.block(merge.id("merge_block")) if merge else None
            if merge is None or block is None or end is None:
                continue
            if not flow.structural_dominators.reaches(at):
                self._unreached(merge)
                continue
            if not flow.structurally_dominates(header, block):
                self.fault("dominates", merge, f"{self.called(block.id)} can be reached without it", block.id)
            if merge.name == "OpLoopMerge":
                self._continuing(header, merge, flow.blocks[self._latches[at][0]])
            elif end.name == "OpSwitch":
                self._targets(header, end, block)
                self._runs(end, target_labels(header))

    def _unreached(self, merge: Instruction) -> None:
        """A header that cannot be reached has no continue target that can."""
        target = self.flow.block(merge.id("continue_target"))
        if target is not None and self.flow.structural_dominators.reaches(self.flow.at(target)):
            came = f"{self.called(target.id)}, which can be reached, unlike the header"
            self.fault("continue_reached", merge, came, target.id)

    def _continuing(self, header: Block, merge: Instruction, latch: Block) -> None:
        flow = self.flow
        target = flow.block(merge.id("continue_target"))
        if target is None:
            return
        if not flow.structurally_dominates(header, target):
            came = f"{self.called(target.id)} can be reached without it"
            self.fault("continue_reached", merge, came, target.id)
        elif not flow.structurally_dominates(target, latch):
            came = f"{self.called(latch.id)} has the back edge and can be reached without it"
            self.fault("continue_dominates", merge, came, target.id)
        elif not flow.structural_post_dominators.dominates(flow.at(latch), flow.at(target)):
            came = f"{self.called(latch.id)} has the back edge and may never be reached from it"
            self.fault("continue_ends", merge, came, target.id)

    def _targets(self, header: Block, end: Instruction, merge: Block) -> None:
        for label in dict.fromkeys((end.id("default"), *target_labels(header))):
            target = self.flow.block(label)
            if target is not None and target is not merge and not self.flow.structurally_dominates(header, target):
                self.fault("case_dominated", end, f"{self.called(label)} can be reached without it", label)

    def _runs(self, end: Instruction, listed: Sequence[int]) -> None:
        """All literals of a label stand side by side."""
        ended: set[int] = set()
        for before, label in pairwise(listed):
            if label != before:
                ended.add(before)
                if label in ended:
                    self.fault("case_runs", end, f"{self.called(label)} again after {self.called(before)}", label)
                    return

    def branches(self) -> None:
        """How branches enter and leave constructs (SPIR-V 2.11.3).

        That a construct with a header has the header's merge block too follows from what headers dominate: no block
        inside a construct dominates its merge block or its continue target, which the header has an edge to.
        """
        for block, to, end in self._edges():
            self._entered(block, to, end)
            self._continued(block, to, end)
            self._left(block, to, end)

    def _entered(self, block: Block, to: Block, end: Instruction) -> None:
        for construct in self.flow.constructs_of(to):
            if construct.header is to:
                continue
            if not self.flow.contains(construct, block):
                self.fault("enters", end, f"{self.called(to.id)} is inside the {self._of(construct)}", to.id)
            return

    def _continued(self, block: Block, to: Block, end: Instruction) -> None:
        for loop in self._loops_by_target.get(to, ()):
            is_back = self.flow.at(block) in self._latches.get(self.flow.at(to), ())
            if not is_back and not self.flow.contains(loop, block):
                came = f"{self.called(to.id)} is the continue target of the {self._of(loop)}"
                self.fault("continues", end, came, to.id)

    @cached_property
    def _loops_by_target(self) -> Mapping[Block, Sequence[Construct]]:
        made: dict[Block, list[Construct]] = {}
        for construct in self.flow.constructs:
            target = construct.continue_target
            if construct.kind == "loop" and target is not None and target is not construct.header:
                made.setdefault(target, []).append(construct)
        return made

    @cached_property
    def _labels(self) -> Mapping[Construct, frozenset[int]]:
        """The labels of the cases of each switch."""
        switches = (one for one in self.flow.constructs if one.kind == "switch")
        return {one: frozenset(case_targets(one)) for one in switches}

    @cached_property
    def _falls(self) -> Mapping[Construct, dict[int, list[int]]]:
        """Of each switch the cases that go on to others: by the case's label those of the others, each once."""
        return {switch: {} for switch in self._labels}

    def _left(self, block: Block, to: Block, end: Instruction) -> None:
        """A branch that leaves constructs leaves each of them as it may."""
        for construct in self.flow.constructs_of(block):
            if self.flow.contains(construct, to):
                return
            switch = construct.owner if construct.kind == "case" else None
            if switch is not None and to.id in self._labels[switch]:
                falls = self._falls[switch].setdefault(construct.header.id, [])
                if to.id not in falls:
                    falls.append(to.id)
            elif not leaves(construct, to):
                self.fault("leaves", end, f"{self.called(to.id)} is outside of the {self._of(construct)}", to.id)
                return

    def cases(self) -> None:
        """Cases that go on to others: to one at most, into which no other goes, and to the next in the list."""
        for switch, falls in self._falls.items():
            end = switch.header.terminator
            if end is not None and falls:
                before = self._count
                self._single(end, falls)
                if self._count == before:
                    self._in_order(switch, end, {label: targets[0] for label, targets in falls.items()})

    def _single(self, end: Instruction, falls: Mapping[int, Sequence[int]]) -> None:
        entered: dict[int, int] = {}
        for label, targets in falls.items():
            if len(targets) > 1:
                onward = " and ".join(map(self.called, targets[:2]))
                self.fault("case_exits", end, f"{self.called(label)} goes on to {onward}", label)
            elif targets[0] in entered:
                both = " and ".join(map(self.called, (entered[targets[0]], label)))
                self.fault("case_entries", end, f"{both} go on to {self.called(targets[0])}", targets[0])
            entered[targets[0]] = label

    def _in_order(self, switch: Construct, end: Instruction, falls: Mapping[int, int]) -> None:
        default, listed = end.id("default"), target_labels(switch.header)
        after_default = falls.get(default, 0)
        default_has_literal = default in listed
        following = 0
        later = 0
        for label in reversed(listed):
            if label != later:
                following, later = later, label
            to = falls.get(label, 0)
            if to == default and not default_has_literal:
                to = after_default
            if to and to != following:
                came = f"{self.called(label)} goes on to {self.called(to)}, which does not follow it in the list"
                self.fault("case_order", end, came, label)
