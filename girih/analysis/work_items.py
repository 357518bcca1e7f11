"""What integers and conditions are in each work-item, as far as the program itself says it.

A value is worked out for some work-items side by side: those of a work-group of known size, or those of one subgroup
whichever it is. What is the same in all of them but not known stands as a symbol, so that sums with it are still told
apart: of `%lane + %n` it is known that each work-item has another one.

Guarantee: what is said of a value holds for all arguments, in every launch. Work is bounded; what would take more is
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from girih.analysis.uniformity import Uniformities, Uniformity, yielded_values
from girih.ir.core import Op, Value
from girih.ir.types import Boolean, Number, Type
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Binary, Cast, Comparison, Constant, Select, Unary
from girih.ops.tile.builtin import NumSubgroups, SubgroupId, SubgroupLinearId, SubgroupLocalId, SubgroupSize
from girih.ops.tile.control import If

_DEEPEST = 100
"""The number of instructions behind each other that are worked out."""

_MOST_NUMBERS = 2**17
"""The numbers that are worked out for a function."""

_APART = 2**8
"""Sums of a symbol and numbers are different if the numbers are, modulo the smallest range of an integer type."""

_EXACT = 2**8
"""Every floating type has the integers up to here."""


@dataclass(frozen=True, slots=True)
class WorkItems:
    """The work-items that values are worked out for, by the lane of each.

    `subgroups` has the number of each one's subgroup along x and y, `along` how many there are; both are None for one
    subgroup of a work-group of unknown size.
    """

    size: int
    lanes: tuple[int, ...]
    subgroups: tuple[tuple[int, int], ...] | None = None
    along: tuple[int, int] | None = None

    @staticmethod
    def of_any_subgroup(size: int) -> WorkItems:
        """The work-items of a subgroup, whichever it is."""
        return WorkItems(size, tuple(range(size)))

    @staticmethod
    def of_work_group(size: int, shape: tuple[int, int]) -> WorkItems:
        """The work-items of a work-group, subgroup by subgroup."""
        along = (shape[0] // size, shape[1])
        numbers = [(x, y) for y in range(along[1]) for x in range(along[0]) for _ in range(size)]
        return WorkItems(size, tuple(range(size)) * prod(along), tuple(numbers), along)

    def by_subgroup(self) -> list[WorkItems]:
        """The same work-items, each subgroup for itself."""
        if self.subgroups is None or self.along == (1, 1):
            return [self]
        starts = range(0, len(self.lanes), self.size)
        return [
            WorkItems(self.size, self.lanes[i : i + self.size], self.subgroups[i : i + self.size], self.along)
            for i in starts
        ]

    @property
    def of_one_subgroup(self) -> bool:
        """Whether all of them are in one subgroup."""
        return self.subgroups is None or len(set(self.subgroups)) == 1

    def named(self, number: int) -> str:
        """A work-item in words."""
        lane = f"lane {self.lanes[number]}"
        if self.subgroups is None or self.along is None or self.along == (1, 1):
            return lane
        x, y = self.subgroups[number]
        return f"{lane} of subgroup {x + y * self.along[0]}"


_COMPUTED = Binary | Unary | Comparison | Cast | Select

Known = int | float | bool


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a value: its number in each work-item, None where that is unknown.

    With a `symbol`, which stands for a number that is the same in all of them, they have the sums of it and these
    numbers; a condition with a symbol is the same in all. Of a condition it may be known that it never holds in all
    work-items, or never in none.
    """

    numbers: tuple[Known | None, ...]
    symbol: object | None = None
    never_all: bool = False
    never_none: bool = False

    @property
    def same(self) -> bool:
        """Whether all work-items are known to have the same."""
        return self.numbers[0] is not None and len(set(self.numbers)) == 1

    @property
    def known(self) -> tuple[Known | None, ...]:
        """The number that each work-item is known to have."""
        return self.numbers if self.symbol is None else (None,) * len(self.numbers)

    @property
    def certainly_differs(self) -> bool:
        """Whether two work-items are known to have different numbers."""
        known = {n if self.symbol is None else int(n) % _APART for n in self.numbers if n is not None}
        return len(known) > 1 or (self.never_all and self.never_none)


def unknown(count: int) -> Held:
    """A value of which nothing is known, for so many work-items."""
    return Held((None,) * count)


def uniform(count: int) -> Held:
    """A value that is the same in so many work-items, and not known."""
    return Held((0,) * count, object())


def condition(numbers: tuple[Known | None, ...], *, never_all: bool = False, never_none: bool = False) -> Held:
    """A condition, with what follows from where it is known to hold or to fail."""
    fails, holds = False in numbers, True in numbers
    return Held(numbers, None, never_all or fails, never_none or holds)


def conjunction(a: Held, b: Held) -> Held:
    """The condition that two hold."""
    if a.symbol is not None and b.symbol is not None:
        return uniform(len(a.numbers))
    for one, other in ((a, b), (b, a)):
        if one.symbol is None and one.same:
            return other if one.numbers[0] else one
    pairs = zip(a.known, b.known, strict=True)
    numbers = tuple(False if x is False or y is False else True if x and y else None for x, y in pairs)
    return condition(numbers, never_all=a.never_all or b.never_all)


def negation(a: Held) -> Held:
    """The condition that one fails."""
    if a.symbol is not None:
        return uniform(len(a.numbers))
    return condition(tuple(n if n is None else not n for n in a.numbers),
                     never_all=a.never_none, never_none=a.never_all)  # fmt: skip


class Allowance:
    """What is left of the numbers that are worked out for a function: a bound on the time that it takes."""

    def __init__(self) -> None:
        self.left = _MOST_NUMBERS

    @property
    def spent(self) -> bool:
        """Whether nothing is left: all else is unknown."""
        return self.left <= 0


class Evaluation:
    """The values of a function in some work-items; `fixed` has those of loops in one of their iterations."""

    def __init__(
        self, work_items: WorkItems, uniformities: Uniformities, allowance: Allowance, fixed: Mapping[Value, Held]
    ) -> None:
        self.work_items = work_items
        self.count = len(work_items.lanes)
        self.allowance = allowance
        self._uniformities = uniformities
        self._fixed = fixed
        self._held: dict[Value, Held] = dict(fixed)
        self._depth = 0

    def inside(self, fixed: Mapping[Value, Held]) -> Evaluation:
        """The values in an iteration of a loop, whose variable and carried values are `fixed`."""
        return Evaluation(self.work_items, self._uniformities, self.allowance, {**self._fixed, **fixed})

    def constant(self, number: Known) -> Held:
        """A number that all work-items have."""
        return Held((number,) * self.count)

    def agreed(self) -> Held:
        """A number, or condition, that all work-items have, and which is not known."""
        return uniform(self.count)

    def of(self, value: Value) -> Held:
        """What is known of a value."""
        known = self._held.get(value)
        if known is None:
            known = self._held[value] = self._worked_out(value) or self._by_uniformity(value)
        return known

    def _by_uniformity(self, value: Value) -> Held:
        level = self._uniformities.of(value)
        same = Uniformity.SUBGROUP if self.work_items.of_one_subgroup else Uniformity.WORK_GROUP
        return uniform(self.count) if level <= same or self._of_the_same(value) else unknown(self.count)

    def _of_the_same(self, value: Value) -> bool:
        """Whether a value is computed from nothing but what all work-items have."""
        op = self._uniformities.definition(value)
        return isinstance(op, _COMPUTED) and all(v in self._held and self._held[v].same for v in op.operands)

    def _worked_out(self, value: Value) -> Held | None:
        """What the instruction that defines a value makes of it; None for one that is not worked out."""
        op = self._uniformities.definition(value)
        work = next((_WORK[base] for base in type(op).__mro__ if base in _WORK), None)
        if op is None or work is None or self._depth >= _DEEPEST or not isinstance(value.type, Number | Boolean):
            return None
        self.allowance.left -= self.count
        if self.allowance.spent:
            return None
        self._depth += 1
        try:
            return work(self, op, value)
        finally:
            self._depth -= 1


# --- instructions ----------------------------------------------------------------------------


def _constant(e: Evaluation, op: Constant, value: Value) -> Held | None:
    number = op.value
    if isinstance(value.type, Boolean) or _is_integer(value.type):
        return None if isinstance(number, complex) else e.constant(number)
    exact = isinstance(number, int | float) and number == number // 1 and abs(number) <= _EXACT
    return e.constant(number) if exact and not isinstance(number, complex) else None


def _lane(e: Evaluation, op: SubgroupLocalId, value: Value) -> Held:
    return Held(e.work_items.lanes)


def _subgroup_id(e: Evaluation, op: SubgroupId, value: Value) -> Held | None:
    subgroups = e.work_items.subgroups
    if op.axis == 2:
        return e.constant(0)
    return None if subgroups is None else Held(tuple(number[op.axis] for number in subgroups))


def _subgroup_linear_id(e: Evaluation, op: SubgroupLinearId, value: Value) -> Held | None:
    subgroups, along = e.work_items.subgroups, e.work_items.along
    return None if subgroups is None or along is None else Held(tuple(x + y * along[0] for x, y in subgroups))


def _subgroup_size(e: Evaluation, op: SubgroupSize, value: Value) -> Held:
    return e.constant(e.work_items.size)


def _num_subgroups(e: Evaluation, op: NumSubgroups, value: Value) -> Held | None:
    along = e.work_items.along
    return None if along is None else e.constant((*along, 1)[op.axis])


def _wrapped(number: int, type: Type) -> int:
    """An integer as one of a type."""
    bits = 8 * type.size if isinstance(type, Number) else 64
    return (number + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _cast(e: Evaluation, op: Cast, value: Value) -> Held | None:
    source, target, held = op.a.type, op.result.type, e.of(op.a)
    if not isinstance(source, Number) or not isinstance(target, Number) or source.family != "integer":
        return None
    if target.family == "integer":
        numbers = tuple(n if n is None else _wrapped(int(n), target) for n in held.numbers)
        return Held(numbers, object() if held.symbol is not None else None)
    if target.family == "complex" or target.size == 1 or held.symbol is not None:
        return None
    return Held(tuple(n if n is not None and abs(n) <= _EXACT else None for n in held.numbers))


def _select(e: Evaluation, op: Select, value: Value) -> Held | None:
    return _chosen(e.of(op.condition), e.of(op.a), e.of(op.b))


def _branch(e: Evaluation, op: If, value: Value) -> Held | None:
    number = op.results.index(value)
    if op.otherwise is None:
        return None
    a, b = (e.of(yielded_values(region)[number]) for region in (op.then, op.otherwise))
    return _chosen(e.of(op.condition), a, b)


def _chosen(which: Held, a: Held, b: Held) -> Held | None:
    if which.symbol is not None or None in which.numbers:
        return None
    if which.same:
        return a if which.numbers[0] else b
    if a.symbol is not b.symbol:
        return None
    return Held(tuple(x if w else y for w, x, y in zip(which.numbers, a.numbers, b.numbers, strict=True)), a.symbol)


def _unary(e: Evaluation, op: Unary, value: Value) -> Held | None:
    held, mnemonic = e.of(op.a), op.spec.mnemonic
    if mnemonic == "not" and isinstance(op.a.type, Boolean):
        return negation(held)
    work = _UNARY.get(mnemonic)
    if work is None or not _is_integer(op.a.type) or held.symbol is not None:
        return None
    return Held(tuple(n if n is None else _wrapped(work(int(n)), op.a.type) for n in held.numbers))


_UNARY: Mapping[str, Callable[[int], int]] = {"neg": lambda n: -n, "abs": abs, "not": lambda n: ~n}


def _is_integer(type: Type) -> bool:
    return isinstance(type, Number) and type.family == "integer"


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    quotient = _quotient(a, b)
    return None if quotient is None else a - b * quotient


_BINARY: Mapping[str, Callable[[int, int], int | None]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _quotient,
    "rem": _remainder,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b if 0 <= b < 64 else None,
    "shr": lambda a, b: a >> b if 0 <= b < 64 else None,
}


def _binary(e: Evaluation, op: Binary, value: Value) -> Held | None:
    a, b, mnemonic = e.of(op.a), e.of(op.b), op.spec.mnemonic
    if isinstance(op.a.type, Boolean):
        return _LOGIC[mnemonic](a, b)
    work = _BINARY.get(mnemonic)
    if work is None or not _is_integer(op.a.type):
        return None
    symbol = None
    if a.symbol is not None or b.symbol is not None:
        if not _keeps_sums(mnemonic, a, b):
            return None
        symbol = _symbol_of_sum(mnemonic, a, b)
    numbers = []
    for x, y in zip(a.numbers, b.numbers, strict=True):
        number = None if x is None or y is None else work(int(x), int(y))
        numbers.append(number if number is None else _wrapped(number, op.a.type))
    return Held(tuple(numbers), symbol)


def _keeps_sums(mnemonic: str, a: Held, b: Held) -> bool:
    """Whether the result is a sum of one symbol and of what the instruction makes of the numbers."""
    if mnemonic == "mul":
        return (a.symbol is None and a.same) or (b.symbol is None and b.same)
    return mnemonic in ("add", "sub")


def _symbol_of_sum(mnemonic: str, a: Held, b: Held) -> object | None:
    if mnemonic == "sub" and a.symbol is b.symbol:
        return None
    if mnemonic != "mul" and b.symbol is None:
        return a.symbol
    return b.symbol if mnemonic == "add" and a.symbol is None else object()


def _or(a: Held, b: Held) -> Held:
    return negation(conjunction(negation(a), negation(b)))


def _xor(a: Held, b: Held) -> Held:
    if a.symbol is not None and b.symbol is not None:
        return uniform(len(a.numbers))
    pairs = zip(a.known, b.known, strict=True)
    numbers = tuple(None if x is None or y is None else x != y for x, y in pairs)
    split = any(one.symbol is not None and other.never_all and other.never_none for one, other in ((a, b), (b, a)))
    return condition(numbers, never_all=split, never_none=split)


_LOGIC: Mapping[str, Callable[[Held, Held], Held]] = {"and": conjunction, "or": _or, "xor": _xor}

_COMPARE: Mapping[str, Callable[[Known, Known], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less_than": lambda a, b: a < b,
    "less_than_equal": lambda a, b: a <= b,
    "greater_than": lambda a, b: a > b,
    "greater_than_equal": lambda a, b: a >= b,
}


def _comparison(e: Evaluation, op: Comparison, value: Value) -> Held | None:
    a, b, mnemonic = e.of(op.a), e.of(op.b), op.spec.mnemonic
    compare = _COMPARE.get(mnemonic)
    if compare is None:
        return None
    pairs = list(zip(a.numbers, b.numbers, strict=True))
    if a.symbol is None and b.symbol is None:
        return condition(tuple(None if x is None or y is None else compare(x, y) for x, y in pairs))
    if mnemonic not in ("equal", "not_equal") or not _is_integer(op.a.type):
        return None
    apart = [int(x) - int(y) for x, y in pairs if x is not None and y is not None]
    if a.symbol is b.symbol and len(apart) == e.count:
        return condition(tuple(compare(_wrapped(d, op.a.type), 0) for d in apart))
    never = len({d % _APART for d in apart}) > 1
    if not never:
        return None
    return condition((None,) * e.count, never_all=mnemonic == "equal", never_none=mnemonic == "not_equal")


_WORK: Mapping[type[Op], Callable[[Evaluation, Any, Value], Held | None]] = {
    Constant: _constant,
    SubgroupLocalId: _lane,
    SubgroupId: _subgroup_id,
    SubgroupLinearId: _subgroup_linear_id,
    SubgroupSize: _subgroup_size,
    NumSubgroups: _num_subgroups,
    Cast: _cast,
    Select: _select,
    If: _branch,
    Unary: _unary,
    Binary: _binary,
    Comparison: _comparison,
}
"""How the results of instructions are worked out, by their classes or the bases of these."""
