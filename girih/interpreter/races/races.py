"""The search for races: every access to memory that the kernel writes is compared with those before it.

`docs/design/races.md` says what a race is, and why two accesses beside the last write are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from girih.analysis.accesses import (
    Accesses,
    Kind,
    Place,
    accesses_of,
    acquires,
    is_sequentially_consistent,
    names_memories,
    releases,
)
from girih.arguments.memory import Array, ElementView, Memory
from girih.diagnostics import Finding
from girih.interpreter.races.actors import ItemNumbers
from girih.interpreter.races.clocks import Clocks, Item, Release
from girih.interpreter.races.fences import Fences
from girih.interpreter.races.handovers import HandOvers
from girih.interpreter.races.judge import Judge
from girih.interpreter.races.order import GLOBAL, LOCAL, Order
from girih.interpreter.races.places import DEVICE, PLAIN, WORK_GROUP, WRITES, ArrayNames, PlaceTable, reach_of
from girih.interpreter.races.points import Points
from girih.interpreter.races.report import Reporter
from girih.interpreter.races.shadow import Shadow
from girih.interpreter.races.stamps import TICK_BITS, StampLayout, Stamps
from girih.ir.core import Function, Op, Value
from girih.lazy_dataclass import dataclass

Ints = tuple[int, ...]

_WAITING = 8
"""How many reads of a memory wait for a write at most."""


@dataclass(slots=True)
class Event:
    """The accesses that an instruction makes at once: of each the element, and the stamp of who makes it.

    `flat` and `who` have one axis. `value` gives what is written in an access, as bytes, None where that is not known.
    With a `width`, an access is to so many bytes, from the element on.
    """

    place: Place
    view: ElementView
    flat: Array
    who: Stamps
    value: Callable[[int], bytes] | None = None
    width: int = 0

    def there(self, access: int) -> bytes:
        """What lies in memory where an access is made."""
        data, first = self.view.data, int(self.flat[access])
        count = max(1, self.width // data.itemsize)
        return bytes(data[first : first + count].tobytes())


@dataclass(slots=True)
class Crew:
    """Who executes an SPMD region: stamps of the work-items, [work_group, subgroup, lane], and the unit of each."""

    who: Stamps
    units: NDArray[np.int64]
    around: Op


class Races:
    """The accesses of a launch, compared with each other."""

    def __init__(
        self,
        function: Function,
        grid: tuple[int, int, int],
        subgroups: int,
        lanes: int,
        max_steps: int,
        add: Callable[[Finding], None],
        *,
        dealt: bool,
        tick_bits: int = TICK_BITS,
    ) -> None:
        """Begin with no accesses; findings go to `add`.

        `dealt` says that points and tiles are dealt out in turn, so that their work-items are known.
        """
        self.accesses: Accesses = accesses_of(function)
        clocked = self.accesses.synchronizes
        # The ticks that clocks know are never renumbered: a launch ends before there are too many.
        bits = max(tick_bits, max_steps.bit_length()) if clocked else tick_bits
        x, y, z = grid
        self.alone = x * y * z == 1
        """Whether there is one work-group only."""
        self.layout = StampLayout.of(x * y * z, len(self.accesses.places), bits)
        self.items = ItemNumbers(self.accesses, subgroups, lanes)
        self.table = PlaceTable(self.accesses.places)
        self.names = ArrayNames(members=function.language.counts_bytes)
        stores = any(place.kind == "write" and place.scope is not None for place in self.accesses.places)
        self.clocks = Clocks(self.layout, stores=stores) if clocked else None
        self.fences = Fences(subgroups * lanes) if clocked and self.accesses.fences else None
        self.judge = Judge(self.layout, self.table, self.items, self.clocks)
        self.judge.joins_units = self.accesses.meetings
        self.crew: Crew | None = None
        """Who executes the current region; None in a collective one."""
        self.points = Points(dealt=dealt)
        self.hand_overs = HandOvers()
        self.reporter = Reporter(
            self.layout, self.items, self.table, self.names, self.points, grid, add,
            counts_bytes=function.language.counts_bytes,
        )  # fmt: skip
        self._copies = 0
        self._numbers = count()
        self._shadows: dict[int, Shadow] = {}
        self._local_shadows: WeakSet[Shadow] = WeakSet()
        self._owners: list[Array] = []

    @property
    def order(self) -> Order:
        """What orders the accesses of the batch that is executed."""
        return self.judge.order

    def begin(self, groups: NDArray[Any]) -> None:
        """Begin a batch of work-groups, by their numbers in the grid."""
        self.judge.order = Order(groups, copies=self.table.has_copies)
        self.crew = None
        if self.clocks is not None:
            self.clocks.begin()
        if self.fences is not None:
            self.fences.begin(groups)
        self.group_numbers = groups.astype(np.int64)[:, None, None]
        """The work-groups of the batch, an array [work_group, 1, 1]."""
        self.group_stamps = self.layout.who(self.group_numbers, np.zeros((1, 1, 1), np.int64))
        """The stamps of the work-groups of the batch, an array [work_group, 1, 1]."""
        self.work_items = self.layout.who(self.group_numbers, self.items.work_items)
        """The stamps of all work-items, an array [work_group, subgroup, lane]."""

    def place(self, op: Op, operand: str, kind: Kind) -> Place:
        """The place that an access has."""
        return self.accesses.numbers[op, operand, kind]

    # --- memory --------------------------------------------------------------------------

    def follow(self, view: ElementView) -> None:
        """Follow the memory of an argument, unless the kernel only reads it."""
        data = view.data
        if not data.size or not data.flags.writeable:
            return
        owner = data if data.base is None else data.base
        shadow = self._shadows.get(id(owner))
        if shadow is None:
            shadow = self._shadows[id(owner)] = Shadow(
                next(self._numbers), view, GLOBAL, self.judge.apart, private=self.alone
            )
            self._owners.append(owner)
        view.memory.shadow = shadow

    def follow_local(self, view: ElementView, root: Value, shape: Ints, strides: Ints, begin: int, period: int) -> None:
        """Follow local memory: an array of each work-group in `period` bytes, from byte `begin` on."""
        self.names.enter_local(root, view, shape, strides, begin, period)
        view.memory.shadow = shadow = Shadow(next(self._numbers), view, LOCAL, self.judge.apart, private=True)
        self._local_shadows.add(shadow)

    def shadow_of(self, memory: Memory) -> Shadow | None:
        """The shadow of a memory; None where nobody writes to it."""
        shadow = memory.shadow
        assert shadow is None or isinstance(shadow, Shadow)
        return shadow

    # --- order ---------------------------------------------------------------------------

    def advance(self, memories: tuple[int, ...], groups: NDArray[np.bool_] | None = None, *, copies: bool) -> None:
        """Order what work-groups did, all of them or those in a mask, before what they do next."""
        order = self.order
        order.advance(memories, groups, copies=copies)
        if self.clocks is not None:
            numbers = order.groups if groups is None else order.groups[groups]
            self.clocks.join(memories, numbers.tolist())
        if self.clocks is None and order.tick >= self.layout.last_tick:
            self._renumber()

    def begin_copies(self, groups: NDArray[np.int64]) -> Stamps:
        """The stamps of new tensor copies, one of each of some work-groups of the batch."""
        self._copies += 1
        return self.layout.who(self.group_numbers[groups].ravel(), np.full(len(groups), self.items.copy(self._copies)))

    # --- accesses ------------------------------------------------------------------------

    def may_wait(self, memory: Memory) -> bool:
        """Whether a read of a memory needs to be looked at only if a write follows before the next barrier."""
        shadow = self.shadow_of(memory)
        if shadow is None or not shadow.private or self.table.has_atomics or len(shadow.waiting) >= _WAITING:
            return False
        return shadow.last_written < self.order.oldest(shadow.memory)

    def read_later(self, memory: Memory, event: Callable[[], Event]) -> None:
        """Remember a read that may wait, which `event` gives when it is looked at."""
        shadow = self.shadow_of(memory)
        assert shadow is not None
        shadow.waiting.append((self.order.tick, event))

    def access(self, event: Event) -> None:
        """Compare accesses with those before them, and remember them."""
        shadow = self.shadow_of(event.view.memory)
        if shadow is None or not event.flat.size:
            return
        if shadow.waiting:
            oldest = self.order.oldest(shadow.memory)
            waiting, shadow.waiting = shadow.waiting, []
            for tick, earlier in waiting:
                if tick >= oldest:
                    self._access(earlier(), shadow, tick)
        self._access(event, shadow, self.order.tick)

    def _access(self, event: Event, shadow: Shadow, tick: int) -> None:
        granules = shadow.granules(event.view, event.flat, event.width)
        stamps = event.who | self.layout.when(tick, event.place.number)
        if granules.ndim > 1:
            stamps = np.repeat(stamps, granules.shape[1])
            granules = granules.ravel()
        if event.place.kind == "read":
            self._read(event, shadow, granules, stamps, tick)
        else:
            self._write(event, shadow, granules, stamps)

    def _read(self, event: Event, shadow: Shadow, granules: Array, stamps: Stamps, tick: int) -> None:
        stale = shadow.private and max(shadow.last_written, shadow.last_seen) < self.order.oldest(shadow.memory)
        if not self._only_atomics(event, shadow) and not stale and shadow.last_written:
            self._compare(event, shadow, granules, stamps, shadow.written(granules))
            if self.table.has_atomics:
                # Atomic writes may stand there.
                self._compare_seen(event, shadow, granules, stamps)
        sort = int(self.table.sorts[event.place.number])
        if stale:
            shadow.see(sort, granules, stamps, tick, None)
        else:
            self._enter(shadow, sort, granules, stamps, tick, clocks=self.clocks is not None)

    def _write(self, event: Event, shadow: Shadow, granules: Array, stamps: Stamps) -> None:
        stale = shadow.private and max(shadow.last_written, shadow.last_seen) < self.order.oldest(shadow.memory)
        before = None if stale or not shadow.last_written else shadow.written(granules)
        harmless = self._only_atomics(event, shadow)
        if not stale and not harmless:
            self._compare(event, shadow, granules, stamps, before)
            self._compare_seen(event, shadow, granules, stamps)
        shadow.write(granules, stamps, self.order.tick)
        # Where each granule was last written by the same item, no two items meet in one.
        meet = before is None or self.layout.other_item(before, stamps).any()
        kept = shadow.written(granules) if meet else stamps
        lost = kept != stamps
        if not harmless and lost.any():
            self._compare(event, shadow, granules, stamps, kept)
        if event.place.scope is None:
            self._end_releases(event, shadow, granules)
            return
        # What an atomic write replaces may race with a later access that does not race with this one.
        alike = harmless and self.table.narrowest >= self._widest(shadow)
        if before is not None:
            weaker = self.table.sorts[event.place.number] <= self.table.sorts[self.layout.places(before)]
            replaced = (before != 0) & ~(weaker & ~self.layout.other_item(before, stamps))
            self._set_aside(shadow, granules[replaced], before[replaced], alike=alike)
        self._set_aside(shadow, granules[lost], stamps[lost], alike=alike)

    def _set_aside(self, shadow: Shadow, granules: Array, stamps: Stamps, *, alike: bool) -> None:
        """Remember writes that atomic ones have replaced; `alike`: whoever races with one races with all."""
        if not stamps.size:
            return
        sorts = self.table.sorts[self.layout.places(stamps)]
        if alike and shadow.private:
            # With the last write there are two of different items.
            shadow.see(int(sorts[0]), granules, stamps, self.order.tick, None)
            return
        for sort in np.unique(sorts).tolist():
            mine = sorts == sort
            self._enter(shadow, sort, granules[mine], stamps[mine], self.order.tick)

    def _only_atomics(self, event: Event, shadow: Shadow) -> bool:
        """Whether an access and all open ones before it are atomic, with scopes that cover whoever comes here."""
        shadow.last[int(self.table.reach[event.place.number])] = self.order.tick
        return not any(shadow.last[PLAIN + 1 : self._widest(shadow)]) and shadow.last[PLAIN] < self._since(shadow)

    def _widest(self, shadow: Shadow) -> int:
        """The reach of an atomic access that covers whoever comes to a memory."""
        return WORK_GROUP if shadow.private else DEVICE

    def _since(self, shadow: Shadow) -> int:
        """The earliest tick at which an access to a memory may still be open."""
        return self.order.oldest(shadow.memory) if shadow.private else 1

    def _enter(
        self, shadow: Shadow, sort: int, granules: Array, stamps: Stamps, tick: int, *, clocks: bool = False
    ) -> None:
        """Remember accesses of a sort beside the last write; `clocks` says whether an acquire may order them."""
        first = shadow.first_seen(sort, granules)
        if first is None:
            shadow.see(sort, granules, stamps, tick, None)
            return
        if not self.layout.other_item(first, stamps).any():
            shadow.see_again(sort, granules, stamps, tick)
            return
        free = first == 0
        if not free.all():
            taken = np.flatnonzero(~free)
            free[taken] = self.judge.is_ordered(shadow.memory, stamps[taken], first[taken], clocks=clocks)
            if clocks:
                # That one of two is ordered before does not say that a third is.
                places, kept = shadow.second(sort, granules[~free])
                shadow.keep(places, kept, self.layout.with_ticks(kept, np.zeros(len(kept), np.int64)))
        shadow.see(sort, granules, stamps, tick, free)

    def _compare_seen(self, event: Event, shadow: Shadow, granules: Array, stamps: Stamps) -> None:
        """Compare accesses with those beside the last write."""
        for sort, seen in shadow.seen(granules):
            if event.place.writes or sort >= WRITES:
                self._compare(event, shadow, granules, stamps, seen)
        if shadow.more:
            kept = [list(shadow.more.get(granule, {}).values()) for granule in granules.tolist()]
            for k in range(max(map(len, kept))):
                column = [entries[k] if k < len(entries) else 0 for entries in kept]
                self._compare(event, shadow, granules, stamps, np.array(column, np.uint64))

    def _compare(self, event: Event, shadow: Shadow, granules: Array, stamps: Stamps, old: Stamps | None) -> None:
        if old is None or not old.any():
            return
        where = self.judge.races(event.place, shadow.memory, stamps, old)
        if where is None:
            return
        parts = granules.size // event.flat.size

        def same_value(position: int) -> bool:
            return self._same_value(event, int(where[position]) // parts, old[where[position]], parts, stamps)

        addresses = shadow.addresses(granules[where])
        accesses: Array = where // parts
        self.reporter.report(
            event.place, stamps[where], old[where], addresses, accesses, same_value, local=shadow.memory == LOCAL
        )

    def _same_value(self, event: Event, access: int, old: np.uint64, parts: int, stamps: Stamps) -> bool:
        """Whether each of two writes that race writes the same value."""
        one = np.array([old])
        earlier = self.table[int(self.layout.places(one)[0])]
        if event.value is None or event.place.kind != "write" or earlier.kind != "write":
            return False
        there = event.there(access)
        if earlier is event.place and int(self.layout.ticks(one)[0]) == self.order.tick:
            same = np.flatnonzero((stamps[::parts] == old) & (event.flat == event.flat[access]))
            if same.size:
                there = event.value(int(same[0]))
        return bool(event.value(access) == there)

    # --- releases and acquires -----------------------------------------------------------

    def synchronise(self, event: Event, order: NDArray[np.int64] | None) -> None:
        """Acquire and release what atomic accesses do, one after the other in an order, by default the given one."""
        shadow = self.shadow_of(event.view.memory)
        looks = self.accesses.observes and not self.hand_overs.full
        if shadow is None or not event.flat.size or not (looks or self.clocks is not None):
            return
        granules = shadow.granules(event.view, event.flat)
        firsts = granules if granules.ndim == 1 else granules[:, 0]
        groups, items = self.layout.groups(event.who), self.layout.item(event.who)
        if looks:
            reads, writes = event.place.kind != "write", event.place.writes
            for group, item, granule in zip(groups.tolist(), items.tolist(), firsts.tolist(), strict=True):
                work_item = group, self.items.number_of(item, event.place)
                self.hand_overs.enter((shadow.number, granule), work_item, reads=reads, writes=writes)
        if self.clocks is not None:
            turns = range(len(firsts)) if order is None else order.tolist()
            self._hand_over(self.clocks, event, shadow, firsts, (groups, items), turns)

    def _hand_over(
        self,
        clocks: Clocks,
        event: Event,
        shadow: Shadow,
        granules: Array,
        who: tuple[Array, Array],
        turns: Iterable[int],
    ) -> None:
        """Acquire and release what atomic accesses to granules do, by items of work-groups, in turn."""
        op, tick, (groups, items) = event.place.op, self.order.tick, who
        when, reach = self.layout.when(tick, event.place.number), int(self.table.reach[event.place.number])
        memories = ordered_memories(op, shadow.memory)
        latest = {each: self.order.latest(each, lambda: groups, copies=False) for each in memories}
        since = {each: np.broadcast_to(ticks, groups.shape) for each, ticks in latest.items()}
        for k in turns:
            stamp = event.who[k] | when
            item = (int(groups[k]), int(items[k]))
            granule = (shadow.number, int(granules[k]))
            known = [release for release in clocks.released(granule) if release.item == item]
            if acquires(op) or (self.fences is not None and op.spec.reads):
                observed = self._observed(event.place, stamp, item, clocks.released(granule))
                if self.fences is not None and observed:
                    self.fences.observe(item, self.items.number_of(item[1], event.place), observed)
                if acquires(op):
                    known = observed
                    for each in memories:
                        clocks.acquire(each, item, [r.clocks[each] for r in known if each in r.clocks])
            if event.place.kind == "write":
                clocks.wrote(granule, item)
            if releases(op):
                behind = {each: int(ticks[k]) for each, ticks in since.items()}
                clocks.release(granule, item, stamp, reach, dict.fromkeys(behind, tick), behind, known)
            elif self.fences is not None and op.spec.writes:
                ticks, behind, far = self.fences.released(item[0], self.items.number_of(item[1], event.place))
                if ticks:
                    clocks.release(granule, item, stamp, min(reach, far), ticks, behind, known)
        if releases(op):
            self.order.step()

    def fence(self, op: Op, memories: tuple[int, ...], mask: NDArray[np.bool_] | None) -> None:
        """Let the active work-items come to a fence for some memories."""
        if self.clocks is None or self.fences is None or not memories:
            return
        reach, active = reach_of(op), self._active(mask).reshape(len(self.group_numbers), -1)
        if acquires(op):
            for item, released in self.fences.acquired(active, reach):
                for memory in memories:
                    self.clocks.acquire(memory, item, [r.clocks[memory] for r in released if memory in r.clocks])
        if releases(op):
            self.fences.release(memories, self.order, active, reach)
            self.order.step()

    def meet(self, memories: tuple[int, ...], mask: NDArray[np.bool_] | None) -> None:
        """Order what the active items of each subgroup did in some memories before what they do next."""
        if not memories:
            return
        if self.clocks is not None:
            # Whoever acquires from one of them knows what all of them did.
            for items in self._items_met(mask):
                for memory in memories:
                    since = self.order.latest(memory, partial(np.array, [items[0][0]]), copies=False)
                    behind = int(np.broadcast_to(since, (1,))[0]) - 1
                    self.clocks.meet(memory, items, self.order.tick, behind)
        self.order.advance_units(memories, np.any(self._active(mask), axis=2))
        if self.clocks is None and self.order.tick >= self.layout.last_tick:
            self._renumber()

    def _active(self, mask: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """A mask of work-items as an array [work_group, subgroup, lane] of full size."""
        full: NDArray[np.bool_] = np.broadcast_to(True if mask is None else mask, self.work_items.shape)
        return full

    def _items_met(self, mask: NDArray[np.bool_] | None) -> Iterator[list[Item]]:
        """The active items of each subgroup that has some, in `parallel`."""
        assert self.crew is not None
        who = self.crew.who
        groups, items = self.layout.groups(who), self.layout.item(who)
        active = np.ones(who.shape, np.bool_) if mask is None else np.broadcast_to(mask, who.shape)
        for at in np.ndindex(*who.shape[:2]):
            here = active[at]
            if here.any():
                yield list(zip(groups[at][here].tolist(), items[at][here].tolist(), strict=True))

    def _observed(self, place: Place, now: np.uint64, item: Item, released: Sequence[Release]) -> list[Release]:
        """The releases that an acquire by an item observes: its own, and those where both scopes include both items."""
        if not released:
            return []
        stamps = np.array([release.stamp for release in released])
        reach = np.minimum(self.table.reach[place.number], np.array([release.reach for release in released]))
        covered = self.judge.covers(place, reach, np.full(stamps.shape, now), stamps).tolist()
        return [release for release, covers in zip(released, covered, strict=True) if covers or release.item == item]

    def _end_releases(self, event: Event, shadow: Shadow, granules: Array) -> None:
        """Note writes that are not atomic to where something was released."""
        if self.clocks is None or event.place.scope is not None:
            return
        here = [granule for number, granule in self.clocks.granules if number == shadow.number]
        for granule in np.intersect1d(np.array(here, np.int64), granules).tolist():
            self.clocks.wrote((shadow.number, granule), None)

    # --- ticks ---------------------------------------------------------------------------

    def _renumber(self) -> None:
        """Give the ticks at which something may still be open the smallest numbers, and all others 0."""
        order, layout = self.order, self.layout
        shadows = [*self._shadows.values(), *self._local_shadows]
        for shadow in shadows:
            waiting, shadow.waiting = shadow.waiting, []
            for tick, event in waiting:
                self._access(event(), shadow, tick)
        open_ticks = {*order.since.ravel().tolist(), *order.copies_since.tolist()}
        for since in order.units_since.values():
            open_ticks.update(np.unique(since).tolist())
        oldest = min(order.oldest(GLOBAL), order.oldest(LOCAL))
        for shadow in shadows:
            for stamps in (*shadow.all(), shadow.kept()):
                ticks = layout.ticks(stamps[np.flatnonzero(stamps)])
                open_ticks.update(np.unique(ticks[ticks >= oldest]).tolist())
        # Should they be too many still, the earliest count as ordered.
        known = np.array(sorted(open_ticks)[-self.layout.last_tick // 2 :])

        def change(stamps: Stamps) -> Stamps:
            ticks = layout.ticks(stamps)
            return layout.with_ticks(stamps, np.where(ticks < known[0], 0, 1 + np.searchsorted(known, ticks)))

        for shadow in shadows:
            shadow.renumber(change)
            latest = np.array([shadow.last_written, shadow.last_seen, *shadow.last])
            latest = np.where(latest == 0, 0, 1 + np.searchsorted(known, latest))
            shadow.last_written, shadow.last_seen, *shadow.last = latest.tolist()
        order.since = 1 + np.searchsorted(known, order.since)
        order.copies_since = 1 + np.searchsorted(known, order.copies_since)
        order.units_since = {memory: 1 + np.searchsorted(known, since) for memory, since in order.units_since.items()}
        order.tick = len(known) + 1
        self.points.renumber(lambda tick: 1 + int(np.searchsorted(known, tick)))


def ordered_memories(op: Op, memory: int) -> frozenset[int]:
    """The memories in which an atomic access to one of them orders other accesses, if it does."""
    if names_memories(op):
        return frozenset(each for each, name in ((GLOBAL, "global_fence"), (LOCAL, "local_fence")) if getattr(op, name))
    return frozenset({GLOBAL, LOCAL} if is_sequentially_consistent(op) else {memory})
