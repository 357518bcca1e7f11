"""What the integers of shader code may be: an interval for each value, and for operands where they are used.

One walk over the structured code, which repeats loops until what they carry is an invariant. Conditions count: in a
branch, and behind one that leaves the shader, operands are what the comparison left of them, so that an index that was
checked is known to be one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderNode,
    Statement,
)
from girih.back.spirv.passes import intervals
from girih.back.spirv.passes.intervals import CONDITION, Interval, hull, limits, within
from girih.back.spirv.passes.operations import INTEGER_COMPARISONS, OF_FLOATS, is_integer, is_name
from girih.lazy_dataclass import dataclass

MOST_GROUPS = 1 << 20
"""The most work-groups of a mode of the grid, for narrow indices."""

_STEPS_DOWN = (0, -(1 << 31))
_STEPS_UP = ((1 << 31) - 1,)
"""Where the ends of an interval stop that grows from one iteration to the next, before they are those of the type."""

_BINARY = frozenset({
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "sdiv", "udiv", "srem", "urem", "smin", "smax",
    "umin", "umax",
})  # fmt: skip

_MOST_CONDITIONS = 32
"""So many parts of a condition are looked at."""


@dataclass(frozen=True, slots=True)
class KnownRanges:
    """What is known before the code is read: intervals of members by their names, and of built-ins by theirs."""

    members: Mapping[str, Interval]
    built_ins: Mapping[str, Interval]


Iterate = Callable[[], list[Interval]]
"""An iteration of a loop: the intervals of what it carries to the next."""


def known_ranges(code: ShaderCode, members: Mapping[str, Interval], *, wide: bool) -> KnownRanges:
    """What is known before the code is read; for wide indices nothing of the grid."""
    subgroups = max(-(-code.local_size // code.subgroup_size), 1)
    built_ins = {"subgroup_id": (0, subgroups - 1), "subgroup_local_id": (0, code.subgroup_size - 1)}
    if not wide:
        built_ins |= {"work_group_id": (0, MOST_GROUPS - 1), "num_work_groups": (0, MOST_GROUPS)}
    return KnownRanges(members, built_ins)


@dataclass(slots=True)
class Ranges:
    """The intervals of a body of code.

    `values` are those of integers by their names, where they are defined. `operands` are those of nodes and statements
    by their `id`, where these stand: of a loop start, stop and step, of a branch the condition. Nodes of `OF_FLOATS`
    have none.
    """

    known: KnownRanges
    values: dict[str, Interval] = field(default_factory=dict)
    operands: dict[int, tuple[Interval, ...]] = field(default_factory=dict)
    _now: dict[str, Interval] = field(default_factory=dict)
    _conditions: dict[str, ShaderNode] = field(default_factory=dict)
    _invariants: dict[int, list[Interval]] = field(default_factory=dict)
    _changed: list[tuple[str, Interval]] = field(default_factory=list)

    def of(self, value: Val) -> Interval:
        """The interval of an integer, a constant perhaps, as it is known at this place of the walk."""
        text = value.text
        known = self._now.get(text)
        if known is not None:
            return known
        if text[0] != "%":
            number = value.literal
            if number is not None:
                # As a name would be: the same constant is asked for often.
                known = self._now[text] = number, number
                return known
        return limits(value.type)

    def at(self, value: Val) -> Interval:
        """The interval of an integer, a constant perhaps, where it is defined."""
        if is_name(value):
            return self.values.get(value.text) or limits(value.type)
        return self.of(value)

    # --- statements ----------------------------------------------------------------------

    def block(self, one: ShaderBlock) -> None:
        """Walk a block. What conditions say in it is forgotten behind it."""
        begin = len(self._changed)
        for statement in one.statements:
            self._statement(statement)
        self._forget(begin)

    def _forget(self, begin: int) -> None:
        while len(self._changed) > begin:
            name, before = self._changed.pop()
            self._now[name] = before

    def _statement(self, one: Statement) -> None:
        match one:
            case ShaderNode():
                self._node(one)
            case BranchStatement():
                self._branch(one)
            case LoopStatement():
                self._loop(one)
            case RepeatStatement():
                self._repeat(one)

    def _define(self, value: Val, interval: Interval) -> None:
        self.values[value.text] = self._now[value.text] = interval

    def _node(self, one: ShaderNode) -> None:
        if one.op in OF_FLOATS:
            return
        result = one.result
        known = tuple([self.of(a) if a.type[0] == "i" else CONDITION for a in one.operands])
        self.operands[id(one)] = known
        if result is None or not is_integer(result.type):
            return
        if result.type == "i1" or one.op in ("sext", "zext"):
            self._conditions[result.text] = one
        self._define(result, self._interval(one, result, known))

    def _interval(self, one: ShaderNode, result: Val, known: tuple[Interval, ...]) -> Interval:
        op = one.op
        if op in INTEGER_COMPARISONS:
            return intervals.compared(op, known[0], known[1], one.operands[0].type)
        if len(known) == 2 and op not in ("shuffle", "broadcast", "atomic", "call"):
            return intervals.binary(op, known[0], known[1], result.type) if op in _BINARY else limits(result.type)
        return _within(_unusual(self, one, result, known), result.type)

    def _branch(self, one: BranchStatement) -> None:
        condition = self.of(one.condition)
        self.operands[id(one)] = (condition,)
        arms: list[list[Interval]] = []
        for holds, block in ((True, one.then), (False, one.otherwise)):
            begin = len(self._changed)
            self._assume(one.condition, holds)
            for statement in block.statements:
                self._statement(statement)
            arms.append([self.of(pair[1 if holds else 2]) for pair in one.results])
            self._forget(begin)
        gone = [condition == (0, 0) or leaves(one.then), condition == (1, 1) or leaves(one.otherwise)]
        for (value, _, _), first, second in zip(one.results, *arms, strict=True):
            if is_integer(value.type):
                self._define(value, second if gone[0] else first if gone[1] else hull(first, second))
        if gone[0] != gone[1]:
            self._assume(one.condition, gone[1])

    def _loop(self, one: LoopStatement) -> None:
        start, stop, _ = known = (self.of(one.start), self.of(one.stop), self.of(one.step))
        self.operands[id(one)] = known
        first = start[0]
        self._carry(one.carried, id(one), lambda: self._iteration(one, (first, max(stop[1] - 1, first))))

    def _iteration(self, one: LoopStatement, index: Interval) -> list[Interval]:
        self._define(one.index, index)
        return self._body(one.body, one.carried)

    def _body(self, block: ShaderBlock, carried: Iterable[CarriedValue]) -> list[Interval]:
        begin = len(self._changed)
        for statement in block.statements:
            self._statement(statement)
        following = [self.of(c.following) for c in carried]
        self._forget(begin)
        return following

    def _repeat(self, one: RepeatStatement) -> None:
        self._carry(one.carried, id(one), lambda: self._repetition(one))
        self._assume(one.condition, False)

    def _repetition(self, one: RepeatStatement) -> list[Interval]:
        self.block(one.head)
        self.operands[id(one)] = (self.of(one.condition),)
        begin = len(self._changed)
        self._assume(one.condition, True)
        following = self._body(one.body, one.carried)
        self._forget(begin)
        return following

    def _carry(self, carried: list[CarriedValue], key: int, iteration: Iterate) -> None:
        """Repeat an iteration until the intervals of what it carries do not grow."""
        now = [self.of(c.initial) for c in carried]
        earlier = self._invariants.get(key)
        if earlier is not None:
            now = [hull(a, b) for a, b in zip(now, earlier, strict=True)]
        while True:
            for one, interval in zip(carried, now, strict=True):
                if is_integer(one.value.type):
                    self._define(one.value, interval)
            following = iteration()
            grown = [
                before
                if not is_integer(one.value.type) or within(after, before)
                else _widened(one.value, before, after)
                for one, before, after in zip(carried, now, following, strict=True)
            ]
            if grown == now:
                break
            now = grown
        self._invariants[key] = now

    # --- conditions ----------------------------------------------------------------------

    def selected(self, one: ShaderNode, known: tuple[Interval, ...]) -> Interval:
        """The interval of one of two values, each as the condition leaves it: that of a minimum, say."""
        condition, *arms = known
        if condition[0] == condition[1]:
            return arms[0] if condition[0] else arms[1]
        node = self._conditions.get(one.operands[0].text)
        if node is None or node.op not in INTEGER_COMPARISONS:
            return hull(*arms)
        compared = [self.of(a) for a in node.operands]
        for number, holds in enumerate((True, False)):
            arm = one.operands[1 + number]
            for value, left in zip(node.operands, intervals.refined(node.op, holds, *compared), strict=True):
                met = max(left[0], arms[number][0]), min(left[1], arms[number][1])
                if (value.text, value.type) == (arm.text, arm.type) and met[0] <= met[1]:
                    arms[number] = met
        return hull(*arms)

    def _assume(self, condition: Val, holds: bool) -> None:
        """Count on a condition from here to the end of the block that is walked."""
        open_parts = [(condition, holds)]
        for _ in range(_MOST_CONDITIONS):
            if not open_parts:
                return
            value, truth = open_parts.pop()
            if not is_name(value):
                continue
            self._note(value, (int(truth), int(truth)))
            node = self._conditions.get(value.text)
            if node is None:
                continue
            if node.op == ("and" if truth else "or"):
                open_parts += [(a, truth) for a in node.operands]
            elif node.op == "xor" and node.operands[1].literal == 1:
                open_parts.append((node.operands[0], not truth))
            elif node.op in INTEGER_COMPARISONS:
                a, b = node.operands
                first, second = intervals.refined(node.op, truth, self.of(a), self.of(b))
                self._note(a, first)
                self._note(b, second)

    def _note(self, value: Val, interval: Interval) -> None:
        """Remember what a value is in the block that is walked, and what it is extended from."""
        while is_name(value):
            before = self.of(value)
            met = max(before[0], interval[0]), min(before[1], interval[1])
            if met[0] > met[1] or met == before:
                return
            self._changed.append((value.text, before))
            self._now[value.text] = met
            node = self._conditions.get(value.text)
            if node is None or node.op not in ("sext", "zext") or node.operands[0].type == "i1":
                return
            value = node.operands[0]
            if node.op == "zext" and met[1] > limits(value.type)[1]:
                return
            interval = met


def _widened(value: Val, before: Interval, after: Interval) -> Interval:
    """An interval that grows from one iteration to the next, with ends that soon come to rest."""
    low, high = before
    smallest, largest = limits(value.type)
    if after[0] < low:
        low = next((n for n in _STEPS_DOWN if n <= after[0] and n >= smallest), smallest)
    if after[1] > high:
        high = next((n for n in _STEPS_UP if n >= after[1] and n <= largest), largest)
    return low, high


def _within(interval: Interval, type: str) -> Interval:
    return interval if within(interval, limits(type)) else limits(type)


def _unusual(ranges: Ranges, one: ShaderNode, result: Val, known: tuple[Interval, ...]) -> Interval:
    """The interval of what is no operation with two operands."""
    match one.op:
        case "select":
            return ranges.selected(one, known)
        case "trunc" | "zext" | "sext":
            return intervals.converted(one.op, known[0], one.operands[0].type, result.type)
        case "ctpop" | "ctlz" | "cttz":
            return intervals.counted(result.type)
        case "member" | "built_in":
            table = ranges.known.members if one.op == "member" else ranges.known.built_ins
            return table.get(str(one.details[0])) or limits(result.type)
        case "shuffle" | "broadcast":
            return known[0]
        case "group" if one.details[0] in ("smin", "smax") and one.details[1] != "exclusive":
            return known[0]
        case "fptosi" | "fptoui" if one.operands[0].type == "half":
            return intervals.HALF_RANGE if one.op == "fptosi" else (0, intervals.HALF_RANGE[1])
        case _:
            return limits(result.type)


def leaves(block: ShaderBlock) -> bool:
    """Whether nothing is executed behind a block."""
    if not block.statements:
        return False
    last = block.statements[-1]
    if isinstance(last, BranchStatement):
        return leaves(last.then) and leaves(last.otherwise)
    return isinstance(last, LeaveStatement)
