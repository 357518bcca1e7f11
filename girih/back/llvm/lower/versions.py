"""Loops that are written twice: without the checks that a few comparisons in front of the loop decide, and with them.

    if the first and the last index of every access are inside, whatever the loop does:
        the loop, without these checks                      the fast version
    else:
        the loop as it would be written otherwise           the careful version

So a finding is what it would be without this: the careful version finds it, at its access and in the order of the
program. Only the outermost loop worth it is written twice, never one inside of it again. Where comparisons are of
constants, nothing is written twice, and the checks are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from girih.back.llvm.emit.text import Val, integer, lanes, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import MemRefHeld, Scalar
from girih.back.llvm.ranges.indices import Limits, LoopRanges, is_followed, limits_of
from girih.back.llvm.ranges.intervals import Interval, IntervalArithmetic, IntervalEnd, exactly
from girih.back.llvm.ranges.nests import CountedLoop, ElementAccess, FoundAccess, Nests, nests_of
from girih.ir.core import Op, RegionKind, Value
from girih.ir.types import MemRef
from girih.ops.tile.builtin import GroupId, NumGroups
from girih.ops.tile.control import Foreach
from girih.ops.tile.memory import Expand, Fuse, Size, Subview

LONGEST = 80
"""The number of instructions of the longest loop that is written twice."""

_WORTH = 8
"""A loop is written twice if it has a check that costs something for so many of its instructions; on machines where
what follows waits for checks, if it has any."""

MOST_CONDITIONS = 24
"""The number of comparisons that are made in front of a loop at most."""

Index = tuple[Op, int]
"""An index of an access: the instruction, and the number of the index."""


@dataclass(slots=True)
class Decided:
    """The indices that conditions decide: each is inside of its memref where they hold."""

    indices: set[Index] = field(default_factory=set)
    certain: set[Index] = field(default_factory=set)
    """Those that are inside in any case."""
    saved: int = 0
    """The number of checks that cost something and are left out."""
    needs: dict[Val, None] = field(default_factory=dict)
    least: dict[str, IntervalEnd] = field(default_factory=dict)
    """The smallest of the bounds that differ by known numbers, none of which may be negative."""
    most: dict[tuple[str, str], tuple[IntervalEnd, Val]] = field(default_factory=dict)
    """The largest of the bounds that differ by known numbers, and the size that all have to stay below."""
    present: dict[str, Val] = field(default_factory=dict)
    """The pointers that may not be null."""
    again: Callable[[], None] = lambda: None
    """Sets back what writing the loop has changed of what is known of values, so that it can be written once more."""

    @property
    def count(self) -> int:
        """The number of comparisons."""
        return len(self.needs) + len(self.least) + len(self.most)

    def condition(self, w: Writer) -> Val:
        """The condition that all indices are inside, and that there is memory."""
        found = integer(1, "i1")
        for pointer in self.present.values():
            found = w.binary("and", found, w.compare("ne", pointer, zero(pointer.type)))
        for need in self.needs:
            found = w.binary("and", found, need)
        for bound in self.least.values():
            found = w.binary("and", found, w.compare("sge", bound.value(w), 0))
        for bound, size in self.most.values():
            found = w.binary("and", found, w.compare("slt", bound.value(w), size))
        return found


def decide(code: KernelCode, op: CountedLoop) -> Decided | None:
    """What is decided in front of a loop; None where that is nothing, or where the loop is not worth it."""
    if not code.checks or code.place.versioned:
        return None
    nests = nests_of(code.function)
    weight = nests.weights.get(op)
    if weight is None or weight > LONGEST:
        return None
    decisions = code.lowerings.decisions
    accesses = [a for a in nests.accesses_in(op) if isinstance(a.op, ElementAccess) or type(a.op) in decisions]
    if not accesses or _is_better_inside(code, nests, op, accesses):
        return None
    facts, decided = LoopFacts(code, nests, op), Decided()
    for access in accesses:
        if isinstance(access.op, ElementAccess):
            facts.decide(access, access.op, decided)
        else:
            decisions[type(access.op)](facts, access, decided)
    again: Callable[[], None] | None = decided.again
    if decided.indices and op in nests.with_matrices:
        again = code.lowerings.written_again(code, op)
    if (
        again is None
        or decided.count > MOST_CONDITIONS
        or decided.saved * (weight if code.checks_delay else _WORTH) < weight
    ):
        decided = Decided(certain=decided.certain)
    else:
        decided.again = again
    return decided if decided.indices or decided.certain else None


def _is_better_inside(code: KernelCode, nests: Nests, op: CountedLoop, accesses: Sequence[FoundAccess]) -> bool:
    """Whether a loop inside knows the range of an index that is not known in front of the whole loop."""
    for access in accesses:
        unknown = [i for i in access.indices if not is_followed(nests, op, i)]
        if not unknown:
            continue
        for inner, _ in access.within(op):
            if inner in nests.weights and all(is_followed(nests, inner, i) for i in unknown):
                return True
    return False


class LoopFacts:
    """What is known in front of a loop, and what follows for the indices of the accesses in it."""

    def __init__(self, code: KernelCode, nests: Nests, loop: CountedLoop) -> None:
        self.code, self.nests, self.loop = code, nests, loop
        self.ranges = LoopRanges(IntervalArithmetic(code.w), nests, loop, self.leaf, self.size)

    # --- values from outside -------------------------------------------------------------

    def leaf(self, value: Value) -> Interval | None:
        """The range of an integer from outside of the loop, over all work-items."""
        held = self.code.env.get(value)
        arithmetic = self.ranges.arithmetic
        if not isinstance(held, Scalar):
            return None
        if not self.code.writes_versions(self.loop, value):
            # Conditions would lead to nothing.
            known = held.part.literal if held.uniform else None
            return None if known is None else exactly(known)
        positive = held.below is not None or isinstance(self.nests.made.get(value), Size | GroupId | NumGroups)
        if held.uniform:
            return arithmetic.leaf(held.part, positive=positive)
        if held.linear is not None and self.code.place.kind is RegionKind.SPMD:
            first = arithmetic.leaf(held.linear.base)
            reach = held.linear.stride * (self.code.lanes - 1)
            last = arithmetic.add(first, exactly(reach))
            found = None if last is None else arithmetic.either(first, last)
            return None if found is None else arithmetic.fitting(found, int(held.linear.base.type[1:]))
        if held.below is not None and lanes(held.below.type) == 1:
            end = arithmetic.leaf(held.below)
            return Interval(IntervalEnd.of(0), end.high.plus(-1), end.needs)
        return None

    def size(self, op: Size) -> Interval | None:
        """The range of a size of a memref."""
        type = op.tensor.type
        if not isinstance(type, MemRef):
            return None
        extent = self.extent(op.tensor, op.mode)
        return None if extent is None else self.ranges.arithmetic.leaf(extent, positive=True)

    def owner(self, tensor: Value) -> MemRefHeld | None:
        """A memref that has the memory of another one: this itself, or, of a view made in the loop, what it shows."""
        view = self.nests.made.get(tensor)
        while isinstance(view, Subview | Expand | Fuse) and self.nests.contains(self.loop, tensor):
            tensor = view.tensor
            view = self.nests.made.get(tensor)
        return self.held(tensor)

    def held(self, tensor: Value) -> MemRefHeld | None:
        """A memref from outside of the loop; None for any other."""
        outside = not self.nests.contains(self.loop, tensor) and self.code.writes_versions(self.loop, tensor)
        held = self.code.env.get(tensor) if outside else None
        return held if isinstance(held, MemRefHeld) else None

    def extent(self, tensor: Value, mode: int) -> Val | None:
        """The size of a mode of a memref, where that is known in front of the loop and the same for all work-items."""
        type, held = tensor.type, self.held(tensor)
        known = type.shape[mode] if isinstance(type, MemRef) else None
        if known is not None:
            return integer(known)
        extent = self._shown(tensor, mode) if held is None else as_scalar(held.shape[mode])
        return extent.part if extent is not None and extent.uniform else None

    def _shown(self, tensor: Value, mode: int) -> Scalar | None:
        """The size of a mode of a view that is made in the loop, if that is known in front of it."""
        view = self.nests.made.get(tensor)
        if not isinstance(view, Subview) or not self.nests.contains(self.loop, tensor):
            return None
        size = [part.size for part in view.slices if not part.drops_mode][mode]
        if not isinstance(size, Value):
            return as_scalar(size or 0)
        known = self.code.constants.get(size)
        if known is None and not self.code.writes_versions(self.loop, size):
            return None
        held = known if known is not None or self.nests.contains(self.loop, size) else self.code.env.get(size)
        return as_scalar(held) if isinstance(held, int | Scalar) else None

    # --- indices -------------------------------------------------------------------------

    def limits(self, access: FoundAccess) -> Limits:
        """What the branches around an access say of integers."""
        return limits_of(access, self.loop, self.nests.made)

    def decide(self, access: FoundAccess, op: ElementAccess, decided: Decided) -> None:
        """Add the indices of an access to elements that conditions decide."""
        limits, complete, before = self.limits(access), True, len(decided.indices)
        for number, index in enumerate(op.indices):
            extent = self.extent(op.tensor, number)
            found = None if extent is None else self.ranges.of(index, limits)
            if extent is None or found is None:
                complete = False
            elif not self._is_counted_up_to(index, found, extent):
                complete = self.decide_index((op, number), found, extent, decided) and complete
        if len(decided.indices) > before and not self._is_cheap(access):
            decided.saved += 1
        if complete:
            self.decide_present(op.tensor, decided)

    def decide_present(self, tensor: Value, decided: Decided) -> bool:
        """Add that there is memory, where all else of an access is decided; whether that is one more check."""
        held = self.owner(tensor)
        if held is None or not held.maybe_null or lanes(held.pointer.type) > 1:
            return False
        more = held.pointer.text not in decided.present
        decided.present[held.pointer.text] = held.pointer
        return more

    def _is_cheap(self, access: FoundAccess) -> bool:
        """Whether a check is one comparison for many work-items: their counters stay below one bound."""
        if self.code.checks_delay:
            return False
        around = [self.loop, *(op for op, _ in access.within(self.loop))]
        together = self.code.place.kind is RegionKind.SPMD or any(isinstance(op, Foreach) for op in around)
        made = self.nests.made
        return together and all(isinstance(i, Value) and isinstance(made.get(i), CountedLoop) for i in access.indices)

    def _is_counted_up_to(self, index: Value | int, found: Interval, extent: Val) -> bool:
        """Whether an index is a counter that ends at the size: the check itself knows that."""
        if not isinstance(index, Value) or not isinstance(self.nests.made.get(index), CountedLoop):
            return False
        high = found.high
        below = high.base is not None and high.base.text == extent.text and high.offset < 0
        return below and found.low.least >= 0 and bool(found.needs)

    def decide_index(self, key: Index, found: Interval, extent: Val, decided: Decided) -> bool:
        """Add an index between two bounds; False where it is certain not to be inside."""
        low, high, size = found.low, found.high, extent.literal
        same = high.base is not None and high.base.text == extent.text
        is_low = low.least >= 0
        is_high = high.offset < 0 if same else size is not None and high.most < size
        if low.most < 0 or (same and not is_high) or (size is not None and high.least >= size):
            return False
        if any(need.literal == 0 for need in found.needs):
            return False
        if is_low and is_high and not found.needs:
            decided.certain.add(key)
            return True
        decided.indices.add(key)
        decided.needs.update(dict.fromkeys(found.needs))
        if not is_low:
            place = low.base.text if low.base else ""
            least = decided.least.get(place)
            if least is None or low.offset < least.offset:
                decided.least[place] = low
        if not is_high:
            pair = (high.base.text if high.base else "", extent.text)
            most = decided.most.get(pair)
            if most is None or most[0].offset < high.offset:
                decided.most[pair] = (high, extent)
        return True
