"""Shader code without detours: constants folded, conditions that ranges decide, equal values written once.

Branches whose condition is decided are the block that is taken, so that checks which cannot fail vanish. Loops without
iterations, or with one, are none. What does not change in a loop is computed before it, as far as that was asked for
in each iteration; not more than `MOST_HOISTED` values for a loop, which live as long as it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from girih.back.llvm.emit.folding import COMMUTES
from girih.back.llvm.emit.text import Val, integer
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderNode,
    Statement,
)
from girih.back.spirv.code.types import is_opaque
from girih.back.spirv.passes.intervals import Interval, limits
from girih.back.spirv.passes.operations import DIVISIONS, TOTAL, is_integer, is_name, is_pure
from girih.back.spirv.passes.ranges import KnownRanges, Ranges, known_ranges, leaves
from girih.back.spirv.passes.rewriting import Body, Rewriter, bodies, first_free_of, with_bodies
from girih.back.spirv.passes.simpler import Operation, Simpler
from girih.lazy_dataclass import dataclass
from girih.source import Span

MOST_HOISTED = 32
"""So many values are moved before a loop at most."""

_MOST_RULES = 8
"""So often an operation is made simpler."""

_SHIFTS = frozenset({"shl", "lshr", "ashr"})


def tidied(code: ShaderCode, members: Mapping[str, Interval], *, wide: bool) -> ShaderCode:
    """The code without detours. `members` has what is known of integer members, by their names."""
    known = known_ranges(code, members, wide=wide)
    changed: list[Body] = []
    free = first_free_of(code)
    for block, _, result in bodies(code):
        tidying = _Tidying.of(block, free, known)
        new = tidying.block(block)
        free = tidying.free
        changed.append((new, None if result is None else tidying.value(result)))
    return with_bodies(code, changed)


@dataclass(slots=True)
class _BlockInProgress:
    """A block that is written: its statements, whether it is repeated, and what is forgotten behind it."""

    out: list[Statement]
    repeated: bool
    keys: list[tuple[object, ...]] = field(default_factory=list)
    hoisted: int = 0
    """How many values were moved out of it."""


@dataclass(slots=True)
class _Tidying(Rewriter):
    """A body, written anew."""

    ranges: Ranges = field(kw_only=True)
    rules: Simpler = field(init=False)
    _scopes: list[_BlockInProgress] = field(default_factory=list)
    _table: dict[tuple[object, ...], Val] = field(default_factory=dict)
    _depths: dict[str, int] = field(default_factory=dict)
    """In which scope values are defined, from outside: 0 the body and its parameters."""
    _hoisted: set[str] = field(default_factory=set)
    """Values that were moved to where conditions do not say any more what they are."""

    @classmethod
    def of(cls, block: ShaderBlock, free: int, known: KnownRanges) -> _Tidying:
        """What tidies a body, whose new values have numbers from `free` on."""
        ranges = Ranges(known)
        ranges.block(block)
        one = cls(free, ranges=ranges)
        one.rules = Simpler(one._interval)
        return one

    def _interval(self, a: Val) -> Interval:
        return limits(a.type) if a.text in self._hoisted else self.ranges.at(a)

    # --- scopes --------------------------------------------------------------------------

    def block(self, one: ShaderBlock, repeated: bool = False) -> ShaderBlock:
        """A block, written anew."""
        outer, self.out = self.out, []
        self._scopes.append(_BlockInProgress(self.out, repeated))
        self.statements(one)
        inner, self.out = self.out, outer
        for key in self._scopes.pop().keys:
            del self._table[key]
        return ShaderBlock(inner)

    def _defines(self, *values: Val) -> None:
        """Values are defined in the scope that is written."""
        depth = len(self._scopes) - 1
        for value in values:
            self._depths[value.text] = depth

    def _before(self, op: str, operands: tuple[Val, ...]) -> int:
        """The scope, counted from outside, where a value is to be computed that is asked for here."""
        here = len(self._scopes) - 1
        if not _may_move(op, operands):
            return here
        least = max((self._depths.get(a.text, 0) for a in operands if is_name(a)), default=0)
        place = here
        while place > least and self._scopes[place].repeated and self._scopes[place].hoisted < MOST_HOISTED:
            self._scopes[place].hoisted += 1
            place -= 1
        return place

    # --- nodes ---------------------------------------------------------------------------

    def node(self, one: ShaderNode) -> None:
        """Write a node, if there is no simpler way to what it gives."""
        result = one.result
        if result is None or not is_pure(one.op):
            Rewriter.node(self, one)
            if result is not None:
                self._defines(result)
            return
        interval = self.ranges.values.get(result.text) if is_integer(result.type) else None
        if interval is not None and interval[0] == interval[1]:
            self.names[result.text] = integer(interval[0], result.type)
            return
        operands = tuple(map(self.value, one.operands))
        known = self.ranges.operands.get(id(one), ())
        value = self._computed(ShaderNode(one.op, operands, result, one.details, one.span, one.exact), known)
        if value.text != result.text:
            self.names[result.text] = value

    def _computed(self, one: ShaderNode, known: tuple[Interval, ...]) -> Val:
        """The value that a node without effects gives, which is written if there is none yet."""
        result = one.result
        if result is None:
            raise ValueError(f"`{one.op}` gives nothing")
        type = result.type
        for _ in range(_MOST_RULES):
            simpler = self.rules.of(one.op, one.operands, type, known)
            if simpler is None:
                break
            if isinstance(simpler, Val):
                return simpler
            if simpler.op == "quotient":
                return self._quotient(simpler, one)
            one = ShaderNode(simpler.op, simpler.operands, result, (), one.span, one.exact)
            known = tuple(self._interval(a) if is_integer(a.type) else (0, 1) for a in one.operands)
        return self._once(one, type)

    def _quotient(self, simpler: Operation, one: ShaderNode) -> Val:
        a, by = simpler.operands

        def write(op: str, first: Val, second: Val) -> Val:
            node = ShaderNode(op, (first, second), self.fresh(first.type), (), one.span, one.exact)
            return self._computed(node, (self._interval(first), self._interval(second)))

        return self.rules.factor_out(by.literal or 1, a, write)

    def _once(self, one: ShaderNode, type: str) -> Val:
        """The value of a node, which is written where nobody wrote the same before."""
        named = tuple((a.text, a.type) for a in one.operands)
        key = (one.op, tuple(sorted(named)) if one.op in COMMUTES else named, one.details, type, one.exact)
        known = self._table.get(key)
        if known is not None:
            return known
        result = one.result
        if result is None or result.type != type:
            raise ValueError(f"`{one.op}` gives {type}")
        place = self._before(one.op, one.operands)
        scope = self._scopes[place]
        if scope is not self._scopes[-1]:
            self._hoisted.add(result.text)
        scope.out.append(one)
        scope.keys.append(key)
        self._table[key] = result
        self._depths[result.text] = place
        self.rules.nodes[result.text] = one
        return result

    # --- branches ------------------------------------------------------------------------

    def branch(self, one: BranchStatement) -> None:
        """Write a branch, or the block of it that is taken."""
        taken = self._taken(one)
        if taken is not None:
            self.statements(one.then if taken else one.otherwise)
            for value, a, b in one.results:
                self.names[value.text] = self.value(a if taken else b)
            return
        condition = self.value(one.condition)
        then, otherwise = self.block(one.then), self.block(one.otherwise)
        results = []
        empty = not then.statements and not otherwise.statements
        for value, a, b in one.results:
            first, second = self.value(a), self.value(b)
            if (first.text, first.type) == (second.text, second.type):
                self.names[value.text] = first
            elif empty and not is_opaque(value.type):
                self._select(value, condition, first, second, one.span)
            else:
                results.append((value, first, second))
        if results or not empty:
            self.out.append(BranchStatement(condition, then, otherwise, results, one.span))
            self._defines(*(value for value, _, _ in results))

    def _taken(self, one: BranchStatement) -> bool | None:
        """Which block is certainly taken; None where that is open, or where nothing comes behind it."""
        known = self.ranges.operands[id(one)][0]
        condition = self.value(one.condition).literal
        if condition is None and known[0] != known[1]:
            return None
        taken = bool(known[0] if condition is None else condition)
        return None if leaves(one.then if taken else one.otherwise) else taken

    def _select(self, value: Val, condition: Val, a: Val, b: Val, span: Span) -> None:
        node = ShaderNode("select", (condition, a, b), value, (), span)
        known = tuple(self._interval(o) if is_integer(o.type) else (0, 1) for o in node.operands)
        self.names[value.text] = self._computed(node, known)

    # --- loops ---------------------------------------------------------------------------

    def loop(self, one: LoopStatement) -> None:
        """Write a loop, or its only iteration."""
        start, stop, step = self.ranges.operands[id(one)]
        if start[0] >= stop[1]:
            self._set(one.carried, lambda c: c.initial)
            return
        once = start[0] == start[1] and start[0] < stop[0] and stop[1] <= start[0] + step[0]
        if once and not leaves(one.body):
            self.names[one.index.text] = self.value(one.start)
            self._set(one.carried, lambda c: c.initial)
            self.statements(one.body)
            self._set(one.carried, lambda c: c.following)
            return
        carried = self._changing(one.carried)
        first, last, by = self.value(one.start), self.value(one.stop), self.value(one.step)
        initial = [self.value(c.initial) for c in carried]
        body = self._repeated(one.body, [one.index, *(c.value for c in carried)])
        following = self.carried(carried, initial)
        wraps = one.wraps and stop[1] - 1 + step[1] > limits(one.index.type)[1]
        self.out.append(LoopStatement(one.index, first, last, by, following, body, wraps, one.span))
        self._defines(*(c.value for c in carried))

    def repeat(self, one: RepeatStatement) -> None:
        """Write a loop with a condition."""
        carried = self._changing(one.carried)
        values = [c.value for c in carried]
        initial = [self.value(c.initial) for c in carried]
        head = self._repeated(one.head, values)
        condition = self.value(one.condition)
        body = self._repeated(one.body, values)
        self.out.append(RepeatStatement(self.carried(carried, initial), head, condition, body, one.span))
        self._defines(*values)

    def _repeated(self, block: ShaderBlock, values: list[Val]) -> ShaderBlock:
        for value in values:
            self._depths[value.text] = len(self._scopes)
        return self.block(block, repeated=True)

    def _set(self, carried: list[CarriedValue], which: Callable[[CarriedValue], Val]) -> None:
        """Carried values are other values from here on."""
        for one, value in [(c, self.value(which(c))) for c in carried]:
            self.names[one.value.text] = value

    def _changing(self, carried: list[CarriedValue]) -> list[CarriedValue]:
        """What changes from one iteration to the next; the rest stays what it was before the loop."""
        kept = [c for c in carried if c.following.text != c.value.text]
        if len(kept) < len(carried):
            self._set([c for c in carried if c.following.text == c.value.text], lambda c: c.initial)
        return kept


def _may_move(op: str, operands: tuple[Val, ...]) -> bool:
    """Whether a value may be computed though perhaps nobody asks for it."""
    if op in DIVISIONS:
        by = operands[1].literal
        return by is not None and by > 0
    if op in _SHIFTS:
        return operands[1].literal is not None
    return op in TOTAL
