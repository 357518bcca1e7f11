"""Integers of 64 bits become ones of 32 bits where nobody can see the difference.

A value of type i64 is computed in 32 bits if its interval fits them (`ranges`), or if all that use it need only its low
bits: sums, products and shifts that end in a truncation, or number the elements of memory that has fewer than 2^31.
Where both meet, the value is extended or cut where it is defined, once. Addresses stay 64 bits wide.

After that a loop whose last sum does not overflow has no `wraps`, and members of which only the low bits are read are
i32 at the same offset: the low word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum

from girih.back.llvm.emit.text import Val, integer
from girih.back.spirv.code.memory import MemoryKind
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderCode,
    ShaderNode,
)
from girih.back.spirv.passes.intervals import Interval, limits, within
from girih.back.spirv.passes.operations import (
    ELEMENTS,
    INTEGER_COMPARISONS,
    LOW,
    is_name,
    reached,
)
from girih.back.spirv.passes.ranges import KnownRanges, Ranges, known_ranges
from girih.back.spirv.passes.rewriting import Rewriter, bodies, first_free_of, with_bodies, with_operands
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

WIDE, NARROW = "i64", "i32"
NARROW_LIMITS = limits(NARROW)
_AMOUNTS: Interval = (0, 31)


class Need(Enum):
    """What a node needs of an operand of 64 bits."""

    ALL = "all bits"
    NUMBER = "the number, which fits 32 bits there"
    AS_RESULT = "the bits that are needed of its result"
    LOW = "the low 32 bits"


def narrowed(code: ShaderCode, members: Mapping[str, Interval], *, wide: bool) -> ShaderCode:
    """The code with 32-bit integers where they do.

    `members` has what is known of integer members, by their names. Elements of buffers are fewer than 2^31, and grids
    below 2^20 a mode, except for `wide` indices.
    """
    known = known_ranges(code, members, wide=wide)
    needs = [_Needs.of(block, result, known, wide) for block, _, result in bodies(code)]
    kept = {name for one in needs for name in one.members_in_full()}
    cut = {member.name for member in code.members if member.type == WIDE} - kept
    changed = []
    free = first_free_of(code)
    for one, (block, parameters, result) in zip(needs, bodies(code), strict=True):
        narrowing = _Narrowing(free, needs=one, cut=cut)
        new = narrowing.body(block, parameters)
        free = narrowing.free
        changed.append((new, None if result is None else narrowing.value(result)))
    low = [replace(one, type=NARROW) if one.name in cut else one for one in code.members]
    return with_bodies(code, changed, low)


# --- what is needed ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Needs:
    """Which values of a body are needed in full, and which in 32 bits, by their names."""

    ranges: Ranges
    wide: bool
    full: set[str] = field(default_factory=set)
    low: set[str] = field(default_factory=set)
    forms: dict[int, tuple[Need | None, ...]] = field(default_factory=dict)
    """What nodes need of their operands, by the `id` of a node; None of those that have not 64 bits."""
    members: list[ShaderNode] = field(default_factory=list)
    _sources: dict[str, tuple[Val, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, block: ShaderBlock, result: Val | None, known: KnownRanges, wide: bool) -> _Needs:
        """The needs of a body."""
        ranges = Ranges(known)
        ranges.block(block)
        needs = cls(ranges, wide)
        needs._read(block)
        if result is not None and result.type == WIDE:
            needs._mark(result)
        needs._read_low(block)
        return needs

    def fits(self, value: Val) -> bool:
        """Whether a value is a number of 32 bits wherever it is used."""
        return within(self.ranges.at(value), NARROW_LIMITS)

    def is_narrow(self, value: Val) -> bool:
        """Whether 32 bits of a value are enough, perhaps to have it in full from them."""
        return not is_name(value) or value.text not in self.full or self.fits(value)

    def counts_narrow(self, one: LoopStatement) -> bool:
        """Whether the counter of a loop is one of 32 bits."""
        return one.index.type == WIDE and all(within(a, NARROW_LIMITS) for a in self.ranges.operands[id(one)])

    def members_in_full(self) -> set[str]:
        """The members that are needed in full."""
        return {str(node.details[0]) for node in self.members if node.result and not self.is_narrow(node.result)}

    def narrow_operand(self, one: ShaderNode, number: int) -> bool:
        """Whether a node takes the 32 bits of an operand."""
        need = self.forms[id(one)][number]
        if need is Need.AS_RESULT:
            return one.result is not None and self.is_narrow(one.result)
        return need in (Need.LOW, Need.NUMBER)

    def _mark(self, value: Val) -> None:
        """A value is needed in full; so are those that it is computed from, unless it fits 32 bits."""
        open_values = [value]
        while open_values:
            one = open_values.pop()
            if one.type != WIDE or not is_name(one) or one.text in self.full:
                continue
            self.full.add(one.text)
            if not self.fits(one):
                open_values.extend(self._sources.get(one.text, ()))

    def _read(self, block: ShaderBlock) -> None:
        """Values that come from others first, then what needs them in full."""
        ends: list[Val] = []
        for one in block.walk():
            match one:
                case ShaderNode():
                    self._read_node(one, ends)
                case BranchStatement():
                    self._sources.update((v.text, (a, b)) for v, a, b in one.results if v.type == WIDE)
                case LoopStatement():
                    self._carry(one.carried)
                    if one.index.type == WIDE and not self.counts_narrow(one):
                        ends += (one.start, one.stop, one.step)
                case RepeatStatement():
                    self._carry(one.carried)
        for value in ends:
            self._mark(value)

    def _carry(self, carried: list[CarriedValue]) -> None:
        self._sources.update((c.value.text, (c.initial, c.following)) for c in carried if c.value.type == WIDE)

    def _read_node(self, one: ShaderNode, ends: list[Val]) -> None:
        if one.op == "member" and one.result is not None and one.result.type == WIDE:
            self.members.append(one)
        if not any(a.type == WIDE for a in one.operands):
            return
        forms = self.forms[id(one)] = tuple(
            _need(one, number, self.ranges.operands[id(one)], self.wide) if a.type == WIDE else None
            for number, a in enumerate(one.operands)
        )
        ends.extend(a for a, need in zip(one.operands, forms, strict=True) if need is Need.ALL)
        if one.result is not None and Need.AS_RESULT in forms:
            self._sources[one.result.text] = tuple(
                a for a, need in zip(one.operands, forms, strict=True) if need is Need.AS_RESULT
            )

    def _read_low(self, block: ShaderBlock) -> None:
        for one in block.walk():
            match one:
                case ShaderNode():
                    if id(one) in self.forms:
                        taken = range(len(one.operands))
                        self.low.update(one.operands[k].text for k in taken if self.narrow_operand(one, k))
                case BranchStatement():
                    for value, a, b in one.results:
                        if value.type == WIDE and self.is_narrow(value):
                            self.low.update((a.text, b.text))
                case LoopStatement():
                    self._carry_low(one.carried)
                    if self.counts_narrow(one):
                        self.low.update((one.start.text, one.stop.text, one.step.text))
                case RepeatStatement():
                    self._carry_low(one.carried)

    def _carry_low(self, carried: list[CarriedValue]) -> None:
        for one in carried:
            if one.value.type == WIDE and self.is_narrow(one.value):
                self.low.update((one.initial.text, one.following.text))


def _fit(*numbers: Interval) -> bool:
    return all(within(one, NARROW_LIMITS) for one in numbers)


def _need(one: ShaderNode, number: int, known: tuple[Interval, ...], wide: bool) -> Need:
    """What a node needs of an operand of 64 bits; `known` are the intervals of all its operands."""
    op = one.op
    if op in LOW:
        return Need.AS_RESULT if op != "shl" or within(known[1], _AMOUNTS) else Need.ALL
    if op == "trunc":
        return Need.LOW
    if number in ELEMENTS.get(op, ()):
        return _element(one, known[number], wide)
    if op in ("shuffle", "broadcast"):
        return Need.AS_RESULT if number == 0 else Need.ALL
    if op == "group":
        return _grouped(one, known[0])
    if _is_high_word(one, known):
        return Need.AS_RESULT
    return Need.NUMBER if _computes_narrow(op, known) else Need.ALL


def _element(one: ShaderNode, known: Interval, wide: bool) -> Need:
    kind = reached(one).kind
    if kind is MemoryKind.ADDRESS:
        return Need.ALL
    return Need.LOW if not wide or kind is not MemoryKind.BUFFER or _fit(known) else Need.ALL


def _grouped(one: ShaderNode, known: Interval) -> Need:
    operation, kind = one.details
    if operation == "add":
        return Need.AS_RESULT
    # The first lane of an exclusive scan has the largest or smallest number of the type.
    return Need.NUMBER if operation in ("smin", "smax") and kind != "exclusive" and _fit(known) else Need.ALL


def _is_high_word(one: ShaderNode, known: tuple[Interval, ...]) -> bool:
    """Whether a node gives the high word of a number of 32 bits, which may be negative: its sign."""
    return one.op == "lshr" and _fit(known[0]) and known[0][0] < 0 and known[1] == (32, 32)


def _computes_narrow(op: str, known: tuple[Interval, ...]) -> bool:
    """Whether an operation on 64 bits has the same result on 32 bits, as its operands are."""
    if not _fit(*known):
        return False
    match op:
        case _ if op in INTEGER_COMPARISONS or op in ("smin", "smax", "umin", "umax", "sitofp"):
            return True
        case "sdiv" | "srem":
            return not (known[0][0] == NARROW_LIMITS[0] and known[1][0] <= -1 <= known[1][1])
        case "udiv" | "urem":
            return known[0][0] >= 0 and known[1][0] >= 0
        case "uitofp":
            return known[0][0] >= 0
        case "ashr":
            return within(known[1], _AMOUNTS) or known[1][0] > 31
        case "lshr":
            return known[0][0] >= 0 and (within(known[1], _AMOUNTS) or known[1][0] > 31)
        case _:
            return False


# --- the new code ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Narrowing(Rewriter):
    """A body, written anew. Old values of 64 bits have a form of 64 bits, one of 32 bits, or both."""

    needs: _Needs = field(kw_only=True)
    cut: set[str] = field(kw_only=True)
    _narrow: dict[str, Val] = field(default_factory=dict)

    def body(self, block: ShaderBlock, parameters: list[Val]) -> ShaderBlock:
        """The statements of a body, whose parameters stay as they are."""
        return self._inside(block, [(one, one) for one in parameters if one.type == WIDE], NOWHERE)

    def narrow(self, a: Val) -> Val:
        """The 32 bits of an old value of 64 bits."""
        if is_name(a):
            return self._narrow[a.text]
        number = a.literal
        return Val(a.text, NARROW) if number is None else integer(number, NARROW)

    def _either(self, a: Val, narrow: bool) -> Val:
        return self.narrow(a) if narrow and a.type == WIDE else self.value(a)

    def _has(self, old: Val, new: Val, span: Span) -> None:
        """An old value of 64 bits has a form, from which the other is made where that is needed."""
        if new.type == NARROW:
            self._narrow[old.text] = new
            if old.text in self.needs.full:
                self.names[old.text] = self.write("sext", (new,), self.fresh(WIDE), span)
            return
        self.names[old.text] = new
        if old.text in self.needs.low:
            self._narrow[old.text] = self.write("trunc", (new,), self.fresh(NARROW), span)

    def _form(self, value: Val) -> Val:
        """How the result of a branch, or what a loop carries, is defined."""
        return Val(value.text, NARROW) if value.type == WIDE and self.needs.is_narrow(value) else value

    # --- nodes ---------------------------------------------------------------------------

    def node(self, one: ShaderNode) -> None:
        """Write a node, in 32 bits where they are enough."""
        result = one.result
        if one.op == "trunc" and id(one) in self.needs.forms and result is not None:
            self._cut(one, result)
        elif one.op in ("sext", "zext") and result is not None and result.type == WIDE:
            self._extended(one, result)
        elif one.op == "member" and result is not None and result.type == WIDE:
            small = str(one.details[0]) in self.cut
            value = Val(result.text, NARROW) if small else result
            self.out.append(replace(one, result=value))
            self._has(result, value, one.span)
        else:
            self._computed(one)

    def _cut(self, one: ShaderNode, result: Val) -> None:
        low = self.narrow(one.operands[0])
        if result.type == NARROW:
            self.names[result.text] = low
        else:
            self.write("trunc", (low,), result, one.span)

    def _extended(self, one: ShaderNode, result: Val) -> None:
        source = self.value(one.operands[0])
        if result.text in self.needs.full:
            self.out.append(replace(one, operands=(source,)))
        if result.text in self.needs.low:
            low = source
            if source.type != NARROW:
                low = self.write(one.op, (source,), self.fresh(NARROW), one.span)
            self._narrow[result.text] = low

    def _computed(self, one: ShaderNode) -> None:
        forms = self.needs.forms.get(id(one))
        if forms is None:
            Rewriter.node(self, one)
            if one.result is not None and one.result.type == WIDE:
                self._has(one.result, one.result, one.span)
            return
        taken = [self.needs.narrow_operand(one, k) for k in range(len(one.operands))]
        operands = tuple(map(self._either, one.operands, taken))
        result, op = one.result, one.op
        if result is None or result.type != WIDE or op in ELEMENTS:
            self.out.append(with_operands(one, operands, result))
            if result is not None and result.type == WIDE:
                self._has(result, result, one.span)
            return
        if not all(small for small, need in zip(taken, forms, strict=True) if need is not None):
            self.out.append(with_operands(one, operands, result))
            self._has(result, result, one.span)
            return
        value = Val(result.text, NARROW)
        if op in ("ashr", "lshr"):
            op, operands = self._shifted(one, operands)
        self.out.append(ShaderNode(op, operands, value, one.details, one.span, one.exact))
        self._has(result, value, one.span)

    def _shifted(self, one: ShaderNode, operands: tuple[Val, ...]) -> tuple[str, tuple[Val, ...]]:
        """A shift to the right in 32 bits; one by more of a number with a sign leaves only that."""
        amount = self.needs.ranges.operands[id(one)][1]
        if amount[0] <= _AMOUNTS[1]:
            return one.op, operands
        return "ashr", (operands[0], integer(_AMOUNTS[1], NARROW))

    # --- structure -----------------------------------------------------------------------

    def branch(self, one: BranchStatement) -> None:
        """Write a branch; results have 32 bits where they are enough."""
        condition = self.value(one.condition)
        then, otherwise = self.block(one.then), self.block(one.otherwise)
        results = []
        for value, a, b in one.results:
            new = self._form(value)
            small = new.type != value.type
            results.append((new, self._either(a, small), self._either(b, small)))
        self.out.append(BranchStatement(condition, then, otherwise, results, one.span))
        self._defined(
            [(v, new) for (v, _, _), (new, _, _) in zip(one.results, results, strict=True) if v.type == WIDE], one.span
        )

    def loop(self, one: LoopStatement) -> None:
        """Write a loop; its counter has 32 bits if start, stop and step do."""
        small = self.needs.counts_narrow(one)
        start, stop, step = (self._either(a, small) for a in (one.start, one.stop, one.step))
        index = Val(one.index.text, NARROW) if small else one.index
        _, last, by = self.needs.ranges.operands[id(one)]
        wraps = (one.wraps or small) and last[1] - 1 + by[1] > limits(index.type)[1]
        values, initial = self._carries(one.carried)
        counted = [(one.index, index)] if one.index.type == WIDE else []
        body = self._inside(one.body, counted + values, one.span)
        carried = self._following(one.carried, initial)
        self.out.append(LoopStatement(index, start, stop, step, carried, body, wraps, one.span))
        self._defined(values, one.span)

    def repeat(self, one: RepeatStatement) -> None:
        """Write a loop with a condition."""
        values, initial = self._carries(one.carried)
        head = self._inside(one.head, values, one.span)
        condition = self.value(one.condition)
        body = self._inside(one.body, values, one.span)
        self.out.append(RepeatStatement(self._following(one.carried, initial), head, condition, body, one.span))
        self._defined(values, one.span)

    def _carries(self, carried: list[CarriedValue]) -> tuple[list[tuple[Val, Val]], list[Val]]:
        """What a loop carries in 64 bits with its new form, and what all that it carries is at first."""
        values = [(c.value, self._form(c.value)) for c in carried if c.value.type == WIDE]
        return values, [self._either(c.initial, self._form(c.value) is not c.value) for c in carried]

    def _following(self, carried: list[CarriedValue], initial: list[Val]) -> list[CarriedValue]:
        new = []
        for one, first in zip(carried, initial, strict=True):
            value = self._form(one.value)
            new.append(CarriedValue(value, first, self._either(one.following, value is not one.value)))
        return new

    def _inside(self, block: ShaderBlock, values: list[tuple[Val, Val]], span: Span) -> ShaderBlock:
        """A block, before whose statements some values have their forms."""
        outer, self.out = self.out, []
        self._defined(values, span)
        self.statements(block)
        inner, self.out = self.out, outer
        return ShaderBlock(inner)

    def _defined(self, values: list[tuple[Val, Val]], span: Span) -> None:
        for old, new in values:
            self._has(old, new, span)
