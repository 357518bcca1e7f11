"""The flow of control of a function: graphs of its blocks, dominators, and structured constructs (SPIR-V 2.11).

There are two graphs. The plain one has an edge to every block that a terminator names. The structural one has an edge
from a header to its merge block and its continue target as well: SPIR-V's rules about structure speak of it.
Blocks that cannot be reached are in the graphs, and in no construct. What a terminator or a merge instruction names
that is not a block of the function is left out; a row says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Literal

from girih.lazy_dataclass import dataclass
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Block, Function
from girih.spirv.model.graph import Dominators, all_roots, reversed_edges, visit

ConstructKind = Literal["selection", "switch", "case", "loop", "continue"]


@dataclass(slots=True, eq=False)
class Construct:
    """A construct: a header, and the blocks that it structurally dominates up to where the construct ends.

    `header` is a selection's or loop's header, the continue target of a continue construct, the target of a case.
    `merge` is the block after it: the declared merge block; a continue construct has its loop's, a case its switch's.
    `continue_target` is that of a loop and of its continue construct; None for others. `owner` is the loop of a
    continue construct, the switch of a case; None for others. `latch` is the block with the back edge, of a loop and
    of its continue construct, where there is exactly one.
    `parent` is the innermost construct around it; of a case that is its switch.
    """

    kind: ConstructKind
    header: Block
    merge: Block
    continue_target: Block | None = None
    owner: Construct | None = None
    latch: Block | None = None
    parent: Construct | None = None
    inside: list[Construct] = field(default_factory=list)
    """The constructs of which this is the parent."""
    blocks: list[Block] = field(default_factory=list)
    """The blocks of which this is the innermost construct, in order of the function."""

    @property
    def around(self) -> Iterator[Construct]:
        """The constructs around this one, from the inside outwards."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


class Flow:
    """The flow of control of a function with blocks. Blocks have the numbers in which they stand in the function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.blocks: Sequence[Block] = function.blocks
        self.number: Mapping[int, int] = {block.id: at for at, block in reversed(list(enumerate(self.blocks)))}
        self.successors = [self._known(block.successors) for block in self.blocks]
        self.predecessors = reversed_edges(self.successors)
        self.structural = [
            (*self._declared(block), *plain) for block, plain in zip(self.blocks, self.successors, strict=True)
        ]

    def _known(self, labels: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.number[label] for label in labels if label in self.number)

    def _declared(self, block: Block) -> tuple[int, ...]:
        merge = block.merge
        return self._known((merge.id("merge_block"), merge.id("continue_target"))) if merge else ()

    def at(self, block: Block) -> int:
        """The number of a block of this function."""
        return self.number[block.id]

    def block(self, label: int) -> Block | None:
        """The block of a label; None where the function has none."""
        at = self.number.get(label)
        return None if at is None else self.blocks[at]

    # Plain control flow

    @cached_property
    def dominators(self) -> Dominators:
        """Dominance in the plain graph, by numbers of blocks."""
        return Dominators(self.successors, 0)

    @cached_property
    def order(self) -> Sequence[Block]:
        """The blocks that can be reached, in reverse post order: each after what dominates it."""
        return [self.blocks[at] for at in reversed(visit(self.successors, (0,)).left)]

    # Structural control flow

    @cached_property
    def structural_order(self) -> Sequence[Block]:
        """The blocks that can be reached in the structural graph, in reverse post order."""
        return [self.blocks[at] for at in reversed(visit(self.structural, (0,)).left)]

    @cached_property
    def structural_dominators(self) -> Dominators:
        """Structural dominance, by numbers of blocks."""
        return Dominators(self.structural, 0)

    @cached_property
    def structural_post_dominators(self) -> Dominators:
        """Structural post-dominance, by numbers of blocks; the node after the last is the exit of the function."""
        count = len(self.blocks)
        sources: list[Sequence[int]] = [*reversed_edges(self.structural)]
        return Dominators([*sources, all_roots(sources, reversed(range(count)))], count)

    @cached_property
    def back_edges(self) -> Sequence[tuple[int, int]]:
        """The back edges, as pairs of numbers of blocks: branches to a block that a depth-first visit is still in.

        The visit goes over structural edges too, and over blocks that cannot be reached.
        """
        roots = all_roots(self.structural, range(len(self.blocks)))
        found = visit(self.structural, roots).back_edges
        return [(at, to) for at, to in dict.fromkeys(found) if to in self.successors[at]]

    def structurally_dominates(self, above: Block, block: Block) -> bool:
        """Whether all structural paths to a block lead over `above`."""
        return self.structural_dominators.dominates(self.at(above), self.at(block))

    # Constructs

    @cached_property
    def constructs(self) -> Sequence[Construct]:
        """All constructs whose headers can be reached, outer ones before those in them."""
        return _Constructs(self).made

    @cached_property
    def innermost(self) -> Mapping[Block, Construct]:
        """The innermost construct that a block is in; a header is in its own."""
        return {block: construct for construct in self.constructs for block in construct.blocks}

    def constructs_of(self, block: Block) -> Iterator[Construct]:
        """The constructs that a block is in, from the inside outwards."""
        construct = self.innermost.get(block)
        if construct is not None:
            yield construct
            yield from construct.around

    def contains(self, construct: Construct, block: Block) -> bool:
        """Whether a block is in a construct or in one inside it (SPIR-V 2.11.2)."""
        dominators = self.structural_dominators
        at, header = self.at(block), self.at(construct.header)
        if not dominators.reaches(at) or not dominators.dominates(header, at):
            return False
        if construct.kind == "continue":
            return self._continues(construct, at)
        if dominators.dominates(self.at(construct.merge), at):
            return False
        target = construct.continue_target
        return target is None or not dominators.dominates(self.at(target), at)

    def _continues(self, construct: Construct, at: int) -> bool:
        """Whether a block that the continue target dominates is in the continue construct."""
        if construct.latch is None:
            return not self.structural_dominators.dominates(self.at(construct.merge), at)
        latch = self.at(construct.latch)
        return self.structural_post_dominators.dominates(latch, at) or not self.structural_dominators.dominates(
            latch, at
        )


def flow_of(facts: Facts, function: Function) -> Flow:
    """The flow of control of a function that has blocks."""
    return facts.once(flows)[function]


def flows(facts: Facts) -> Mapping[Function, Flow]:
    """The flow of control of each function that has blocks."""
    return {function: Flow(function) for function in facts.bodies.functions if function.blocks}


def case_targets(switch: Construct) -> tuple[int, ...]:
    """The labels of a switch's targets, the default first, each once, without the merge block."""
    end = switch.header.terminator
    assert end is not None
    targets = dict.fromkeys((end.id("default"), *target_labels(switch.header)))
    return tuple(label for label in targets if label != switch.merge.id)


def target_labels(block: Block) -> tuple[int, ...]:
    """The labels of the literals of the OpSwitch that ends a block, in order."""
    end = block.terminator
    named = end.operands if end is not None and end.name == "OpSwitch" else ()
    return tuple(one.value for one in named if one.name == "target" and one.is_id and isinstance(one.value, int))


def leaves(construct: Construct, to: Block) -> bool:
    """Whether a branch from inside a construct to a block outside of it is a structured exit (SPIR-V 2.11.3)."""
    match construct.kind:
        case "loop":
            return to in (construct.merge, construct.continue_target)
        case "continue":
            return to is construct.merge or (construct.owner is not None and to is construct.owner.header)
        case "case":
            return construct.owner is not None and leaves(construct.owner, to)
    return to is construct.merge or _breaks(construct, to)


def _breaks(construct: Construct, to: Block) -> bool:
    """Whether a block is where the loop around a selection ends or continues, or the nearest switch around it ends."""
    may_break = construct.kind == "selection"
    for around in construct.around:
        if around.kind in ("loop", "continue"):
            return to in (around.merge, around.continue_target)
        if around.kind == "switch" and may_break:
            if to is around.merge:
                return True
            may_break = False
    return False


class _Constructs:
    """One pass down the tree of structural dominance, which makes the constructs and what is around each.

    A construct that has a block has the block's immediate dominator too, unless the construct begins at the block: so
    the constructs of a block are found among those of its dominator, from the inside outwards.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.made: list[Construct] = []
        self._beginning: dict[Block, list[Construct]] = {}
        self._latches: dict[int, set[int]] = {}
        for at, to in flow.back_edges:
            self._latches.setdefault(to, set()).add(at)
        immediate = flow.structural_dominators.immediate
        innermost: list[Construct | None] = [None] * len(flow.blocks)
        for block in flow.structural_order:
            at = flow.at(block)
            construct = innermost[immediate[at]] if immediate[at] >= 0 else None
            while construct is not None and not flow.contains(construct, block):
                construct = construct.parent
            self._declare(block)
            for one in self._beginning.get(block, ()):
                one.parent = construct
                self.made.append(one)
                if construct is not None:
                    construct.inside.append(one)
                if flow.contains(one, block):
                    construct = one
            innermost[at] = construct
        for block, of_block in zip(flow.blocks, innermost, strict=True):
            if of_block is not None:
                of_block.blocks.append(block)

    def _begin(self, construct: Construct) -> Construct:
        self._beginning.setdefault(construct.header, []).append(construct)
        return construct

    def _declare(self, header: Block) -> None:
        """Make the constructs that the merge instruction of a block declares."""
        declared, flow = header.merge, self.flow
        merge = flow.block(declared.id("merge_block")) if declared else None
        if declared is None or merge is None:
            return
        if declared.name == "OpLoopMerge":
            self._loop(header, merge, flow.block(declared.id("continue_target")))
        elif header.terminator is not None and header.terminator.name == "OpSwitch":
            self._switch(self._begin(Construct("switch", header, merge)))
        else:
            self._begin(Construct("selection", header, merge))

    def _loop(self, header: Block, merge: Block, target: Block | None) -> None:
        if target is None:
            return
        latches = self._latches.get(self.flow.at(header), set())
        latch = self.flow.blocks[next(iter(latches))] if len(latches) == 1 else None
        loop = self._begin(Construct("loop", header, merge, target, None, latch))
        self._begin(Construct("continue", target, merge, target, loop, latch))

    def _switch(self, switch: Construct) -> None:
        for label in case_targets(switch):
            target = self.flow.block(label)
            if (
                target is not None
                and target is not switch.header
                and (self.flow.structurally_dominates(switch.header, target))
            ):
                self._begin(Construct("case", target, switch.merge, owner=switch))
