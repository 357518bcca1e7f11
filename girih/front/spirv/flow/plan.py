"""The plan of a function: its blocks as code within constructs that are left from inside (SPIR-V 2.11).

The plan follows the tree of structural dominance. Blocks that several branches enter, merge blocks and the like stand
behind an `Enclosure`, which branches to them leave; a header of a loop begins a `Repetition`; any other block stands
where the one branch to it is. Blocks that no branch enters are left out. The plan knows no values: it is made once
a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction
from girih.spirv.model.functions import Block, Function
from girih.spirv.model.graph import Dominators, visit

RETURN = -1
"""The number of the place behind a function's blocks, to which OpReturn leads."""


TRUE, FALSE = (1,), (0,)
"""The literals of a `Choice` by a condition."""


@dataclass(slots=True, eq=False)
class Straight:
    """The instructions of a block, without those that end it."""

    block: int


@dataclass(slots=True, eq=False)
class Edge:
    """A branch: the block that it comes from and the one that it leads to, or RETURN."""

    source: int
    target: int


class Enter(Edge):
    """A branch to the code that stands next."""


class Departure(Edge):
    """A branch that leaves the `Enclosure` in front of its target, or begins the next iteration of a `Repetition`."""


@dataclass(slots=True, eq=False)
class Stop:
    """OpUnreachable, which ends a block."""

    block: int


@dataclass(slots=True, eq=False)
class Choice:
    """Code for the work-items for which the end of a block decides so; it never comes to its own end.

    `literals` are the values of an OpSwitch's selector, or TRUE or FALSE of a branch's condition.
    """

    block: int
    literals: tuple[int, ...]
    body: list[Node]


@dataclass(slots=True, eq=False)
class Nest:
    """Code with an end or a beginning that branches lead to, and what is in it at any depth: blocks and edges."""

    target: int
    body: list[Node]
    blocks: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()


class Enclosure(Nest):
    """Code that branches to `target` leave: what stands next is `target`."""


class Repetition(Nest):
    """Code that begins with the header `target`, to which branches in it lead back."""


Node = Straight | Enter | Departure | Stop | Choice | Enclosure | Repetition


@dataclass(slots=True, eq=False)
class Plan:
    """The plan of a function, and the graph it was made of: successors by number of block, the blocks in an order."""

    nodes: list[Node]
    order: tuple[int, ...]
    successors: Sequence[tuple[int, ...]]
    predecessors: Mapping[int, tuple[int, ...]]
    number: Mapping[int, int]
    """The number of the block of each label."""


Decided = Callable[[int], int | None]
"""What an id that decides a branch is, where that is known before anything runs."""


def plan_of(function: Function, decided: Decided) -> Plan:
    """The plan of a function with blocks. Branches of which it is decided where they lead have no other way."""
    graph = _Graph(function, decided)
    return Plan(_Planner(graph).whole(), tuple(graph.order), graph.successors, graph.predecessors, graph.number)


class _Graph:
    """The blocks that can be reached, with the edges that are left."""

    def __init__(self, function: Function, decided: Decided) -> None:
        self.blocks: Sequence[Block] = function.blocks
        self.number = {block.id: at for at, block in enumerate(self.blocks)}
        self.decided = decided
        self.successors = [self._successors(block) for block in self.blocks]
        seen = visit(self.successors, (0,))
        self.order = list(reversed(seen.left))
        self.rank = {block: at for at, block in enumerate(self.order)}
        self.back = set(seen.back_edges)
        self.headers = {to for _, to in self.back}
        sources: dict[int, list[int]] = {at: [] for at in self.order}
        for at in self.order:
            for to in self.successors[at]:
                sources[to].append(at)
        self.predecessors = {at: tuple(found) for at, found in sources.items()}
        structural = [(*self._declared(block), *self.successors[at]) for at, block in enumerate(self.blocks)]
        immediate = Dominators(structural, 0).immediate
        self.children: dict[int, list[int]] = {at: [] for at in self.order}
        for at in self.order[1:]:
            self.children[immediate[at]].append(at)

    def _successors(self, block: Block) -> tuple[int, ...]:
        end = block.terminator
        taken = None if end is None else taken_label(end, self.decided)
        return (self.number[taken],) if taken is not None else tuple(self.number[label] for label in block.successors)

    def _declared(self, block: Block) -> tuple[int, ...]:
        """The merge block and the continue target of a header, as far as they are reached."""
        merge = block.merge
        named = (merge.id("merge_block"), merge.id("continue_target")) if merge else ()
        return tuple(at for label in named if label and (at := self.number[label]) in self.rank)

    def merge(self, at: int) -> int | None:
        """The merge block that a block declares, if it is reached."""
        merge = self.blocks[at].merge
        found = self.number[merge.id("merge_block")] if merge else None
        return found if found in self.rank else None

    def stands_inline(self, child: int, parent: int) -> bool:
        """Whether a block that another one dominates is entered by its end alone."""
        forward = [source for source in self.predecessors[child] if (source, child) not in self.back]
        return forward == [parent] and child != self.merge(parent)


def taken_label(end: Instruction, decided: Decided) -> int | None:
    """The label that the end of a block leads to, where that is decided; None where it is not."""
    if end.name == "OpBranchConditional":
        condition = decided(end.id("condition"))
        return None if condition is None else end.id("true_label" if condition else "false_label")
    if end.name == "OpSwitch":
        selector = decided(end.id("selector"))
        targets, bits = switch_targets(end)
        return None if selector is None else targets.get(selector % (1 << bits), end.id("default"))
    return None


def switch_targets(end: Instruction) -> tuple[dict[int, int], int]:
    """The label of each literal of an OpSwitch, which is given without a sign, and the bits of literals: 32 or 64."""
    found: dict[int, int] = {}
    literal, bits = 0, 32
    for operand in end.operands:
        if operand.name != "target":
            continue
        if isinstance(operand.value, tuple):
            literal, bits = sum(word << 32 * at for at, word in enumerate(operand.value)), 32 * operand.size
        elif isinstance(operand.value, int):
            found.setdefault(literal, operand.value)
    return found, bits


class _Planner:
    """One pass down the tree of structural dominance. Depth of recursion is that of constructs within each other."""

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph
        self.entered: dict[int, int] = {}

    def whole(self) -> list[Node]:
        return self._scope(RETURN, self._from(0))

    def _scope(self, target: int, body: list[Node]) -> list[Node]:
        """Code before a target: no construct where no branch leaves it, but for one that can stand at its end."""
        if target not in self.entered:
            return body
        if self.entered[target] == 1:
            open_ = self._opened(target, body)
            if open_ is not None:
                return open_
        blocks, targets = _inside(body)
        return [Enclosure(target, body, blocks, targets)]

    def _opened(self, target: int, body: list[Node]) -> list[Node] | None:
        """Code whose only branch to a target stands at its end, or can: then that branch needs no construct."""
        last = body[-1]
        if isinstance(last, Departure) and last.target == target:
            return [*body[:-1], Enter(last.source, target)]
        for at, node in enumerate(body):
            if not isinstance(node, Choice) or node.literals not in (TRUE, FALSE):
                continue
            end = node.body[-1]
            if isinstance(end, Departure) and end.target == target and self._is_conditional(node.block):
                other = Choice(node.block, FALSE if node.literals == TRUE else TRUE, body[at + 1 :])
                return [*body[:at], other, *node.body[:-1], Enter(end.source, target)]
        return None

    def _is_conditional(self, at: int) -> bool:
        end = self.graph.blocks[at].terminator
        return end is not None and end.name == "OpBranchConditional"

    def _from(self, start: int) -> list[Node]:
        """The code from a block on, with all that it dominates."""
        made: list[Node] = []
        at: int | None = start
        while at is not None:
            nodes, at = self._block(at)
            made += nodes
        return made

    def _block(self, at: int) -> tuple[list[Node], int | None]:
        """The code of a block and of what it dominates, but for the last part, which is given by its first block."""
        graph = self.graph
        outer = graph.merge(at) if at in graph.headers else None
        behind = [
            child for child in graph.children[at] if child != outer and not graph.stands_inline(child, at)
        ]  # in reverse post order, as the tree is
        body, rest = self._end(at)
        if not behind and at not in graph.headers:
            return [Straight(at), *body], rest
        if rest is not None:
            body += self._from(rest)
        for place, child in enumerate(behind):
            body = self._scope(child, body)
            if place + 1 == len(behind) and at not in graph.headers:
                return [Straight(at), *body], child
            body += self._from(child)
        body.insert(0, Straight(at))
        blocks, targets = _inside(body)
        loop: list[Node] = [Repetition(at, body, blocks, targets)]
        return (loop, None) if outer is None else (self._scope(outer, loop), outer)

    def _end(self, at: int) -> tuple[list[Node], int | None]:
        """The code of a block's end; the last branch is given by its target where that stands there."""
        end = self.graph.blocks[at].terminator
        assert end is not None
        if end.name == "OpUnreachable":
            return [Stop(at)], None
        successors = self.graph.successors[at]
        if not successors:
            return [self._jump(at, RETURN)], None
        if len(successors) == 1:
            return self._edge(at, successors[0])
        return self._switch(at, end) if end.name == "OpSwitch" else self._conditional(at, end)

    def _conditional(self, at: int, end: Instruction) -> tuple[list[Node], int | None]:
        then, otherwise = (self.graph.number[end.id(name)] for name in ("true_label", "false_label"))
        literals = TRUE
        if not self._is_jump(at, then) and self._is_jump(at, otherwise):
            then, otherwise, literals = otherwise, then, FALSE
        choice = Choice(at, literals, self._arm(at, then))
        nodes, rest = self._edge(at, otherwise)
        return [choice, *nodes], rest

    def _switch(self, at: int, end: Instruction) -> tuple[list[Node], int | None]:
        default = end.id("default")
        literals: dict[int, list[int]] = {}
        for literal, label in switch_targets(end)[0].items():
            if label != default:
                literals.setdefault(label, []).append(literal)
        made: list[Node] = [
            Choice(at, tuple(values), self._arm(at, self.graph.number[label])) for label, values in literals.items()
        ]
        nodes, rest = self._edge(at, self.graph.number[default])
        return [*made, *nodes], rest

    def _arm(self, at: int, to: int) -> list[Node]:
        nodes, rest = self._edge(at, to)
        return nodes if rest is None else nodes + self._from(rest)

    def _is_jump(self, at: int, to: int) -> bool:
        return (at, to) in self.graph.back or to not in self.graph.children[at] or not self.graph.stands_inline(to, at)

    def _edge(self, at: int, to: int) -> tuple[list[Node], int | None]:
        """A branch; its target, where the target's code stands right behind it."""
        if self._is_jump(at, to):
            return [self._jump(at, to)], None
        return [Enter(at, to)], to

    def _jump(self, at: int, to: int) -> Departure:
        if (at, to) not in self.graph.back:
            self.entered[to] = self.entered.get(to, 0) + 1
        return Departure(at, to)


def _inside(body: Sequence[Node]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The blocks in some code, at any depth, and the targets of the edges in it."""
    blocks: list[int] = []
    targets: dict[int, None] = {}
    waiting = [body]
    while waiting:
        for node in waiting.pop():
            match node:
                case Straight():
                    blocks.append(node.block)
                case Enter() | Departure():
                    targets[node.target] = None
                case Choice():
                    waiting.append(node.body)
                case Enclosure() | Repetition():
                    blocks += node.blocks
                    targets.update(dict.fromkeys(node.targets))
    return tuple(blocks), tuple(targets)
