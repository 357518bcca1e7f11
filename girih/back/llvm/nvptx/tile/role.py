"""What both roles of a tile program do: scalars, loops and branches, and rings whose slots they go through.

A role knows of a ring the next slot and its parity, and a consumer how many slots it holds. These, and the registers
that a loop changes, go around loops as values.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.control import bound_of, number_type
from girih.back.llvm.numbers.values import Scalar, scalar_type, uniform
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.flow import Known, after, at_begin, certain, written
from girih.back.llvm.nvptx.tile.ptx import TilePtx, word
from girih.ir.core import Op, RegionKind, Value
from girih.lazy_dataclass import dataclass
from girih.tile.form import Choose, Compute, Coordinate, Repeat, Ring, Steps, TileStep


@dataclass(frozen=True, slots=True)
class RingPlace:
    """How far a role is in a ring: the next slot, its parity, how many slots are held before it, all i32s.

    `last` are slots that were gone through, the last one last, as far as that is known here.
    """

    slot: Val
    parity: Val
    held: Val
    last: tuple[Val, ...] = ()


@dataclass(slots=True)
class TileRole:
    """A role whose code is being written."""

    code: TileCode
    rings: dict[str, RingPlace]
    collective: frozenset[Op]
    """The instructions outside of `parallel`."""
    registers: dict[str, Sequence[Val]] = field(default_factory=dict)
    last: bool = False
    """Whether nothing comes behind the steps that are written next."""
    known: Known = field(default_factory=Known)
    count: Val = word(0)
    """The number of what the CTA executes, in the order of all: a part of a work-group's depth, an i32."""

    @property
    def ptx(self) -> TilePtx:
        return self.code.ptx

    # --- steps ---------------------------------------------------------------------------

    def steps(self, steps: Steps) -> None:
        """Write some steps."""
        for step in steps:
            match step:
                case Compute(op):
                    self.compute(op)
                case Repeat():
                    self._repeat(step)
                case Choose():
                    self._choose(step)
                case _:
                    self.step(step)
                    self.known = after(step, self.known)

    def step(self, step: TileStep) -> None:
        """Write a step of this role's own."""
        raise TypeError(f"no step of this role: {step!r}")

    def compute(self, op: Op) -> None:
        """Compute a scalar, without checks: `Verify` has those."""
        with self.place_of(op), self.code.checking(checks=False):
            self.code.lower(op)

    def place_of(self, op: Op) -> AbstractContextManager[None]:
        """The context of an instruction: outside of `parallel` no work-item executes it."""
        return self.code.at(kind=RegionKind.COLLECTIVE if op in self.collective else RegionKind.SPMD)

    def scalar(self, value: Value) -> Scalar:
        """A scalar that was computed."""
        return self.code.scalar(value)

    def wide(self, value: Value) -> Val:
        """An integer as an i64."""
        return self.code.w.convert("sext", self.scalar(value).part, "i64")

    def coordinates(self, at: Sequence[Coordinate], moved: Sequence[int | Val]) -> list[Val]:
        """The coordinates of a box, moved, as i32s."""
        w, found = self.code.w, []
        for one, distance in zip(at, moved, strict=True):
            begin = word(one) if isinstance(one, int) else w.convert("trunc", self.wide(one), "i32")
            found.append(w.add(begin, word(distance) if isinstance(distance, int) else distance))
        return found

    # --- rings ---------------------------------------------------------------------------

    def ring(self, name: str) -> Ring:
        """A ring of the kernel."""
        return self.code.kernel.ring(name)

    def barrier(self, begin: int, slot: Val) -> Val:
        """The address of the mbarrier of a slot among those that begin at a byte of shared memory."""
        w = self.code.w
        return w.add(self.code.shared_address(begin), w.mul(slot, word(8)))

    def advance(self, name: str) -> Val:
        """The next slot of a ring, behind which the role is from here on."""
        w, slots, place = self.code.w, self.ring(name).slots, self.rings[name]
        following = w.add(place.slot, word(1))
        if slots == 1:
            slot, parity = word(0), w.binary("xor", place.parity, word(1))
        else:
            wraps = w.compare("eq", following, word(slots))
            slot = w.select(wraps, word(0), following)
            parity = w.select(wraps, w.binary("xor", place.parity, word(1)), place.parity)
        self.rings[name] = replace(place, slot=slot, parity=parity, last=(*place.last, place.slot)[-slots:])
        return place.slot

    def slot_before(self, name: str, distance: Val | int) -> Val:
        """The slot so many before the next one."""
        w, slots, place = self.code.w, self.ring(name).slots, self.rings[name]
        if isinstance(distance, int) and distance <= len(place.last):
            return place.last[-distance]
        if slots == 1:
            return word(0)
        found = w.sub(place.slot, word(distance) if isinstance(distance, int) else distance)
        return w.select(w.compare("slt", found, word(0)), w.add(found, word(slots)), found)

    # --- what goes around loops ----------------------------------------------------------

    def _state(self, names: Sequence[str], known: Known) -> list[Val]:
        """The values of rings and of some registers; how many slots are held only where that is not known."""
        found: list[Val] = []
        for name, place in self.rings.items():
            found += [place.slot, place.parity, *([] if name in known.held else [place.held])]
        for name in names:
            found += self.registers[name]
        return found

    def _enter(self, names: Sequence[str], known: Known, values: Sequence[Val]) -> None:
        """Continue with values that `_state` listed."""
        rest = iter(values)
        for name in self.rings:
            slot, parity = next(rest), next(rest)
            held = word(known.held[name]) if name in known.held else next(rest)
            self.rings[name] = RingPlace(slot, parity, held)
        for name in names:
            self.registers[name] = tuple(next(rest) for _ in range(self.code.share(name).registers))
        self.known = known

    def _changed(self, steps: Steps, known: Known) -> list[str]:
        """The registers with values here that steps may change: by writing them, or by waiting for them."""
        running = known.settled(0)
        names = written(steps) | running
        return [name for name in self.registers if name in names]

    def _repeat(self, step: Repeat) -> None:
        code, w = self.code, self.code.w
        known = at_begin(step.body, self.known)
        names = self._changed(step.body, known)
        first, end = self.wide(step.start), self.wide(step.stop)
        distance = integer(1) if step.step is None else self.wide(step.step)
        if distance.literal is None or distance.literal < 1:
            end = w.select(w.compare("sle", distance, integer(0)), first, end)
            distance = w.larger(distance, integer(1))
        initial = [part for one in step.carried for part in self.scalar(one.initial).parts]
        state = self._state(names, known)
        variable = number_type(step.variable)
        overflows = variable.size == 8 and distance.literal != 1
        outside = dict(self.registers)
        with w.loop(first, end, distance, [*initial, *state], saturate=overflows) as loop:
            counter = w.convert("trunc", loop.index, f"i{8 * variable.size}")
            code.set(step.variable, Scalar(variable, (counter,), below=bound_of(self.scalar(step.start), end)))
            self._bind([(one.value, one.initial) for one in step.carried], loop.values)
            self._enter(names, known, loop.values[len(initial) :])
            self.steps(step.body)
            following = [part for one in step.carried for part in self.scalar(one.next).parts]
            loop.following = [*following, *self._state(names, known)]
        self.registers = outside
        self._bind([(one.result, one.initial) for one in step.carried], loop.results)
        self._enter(names, known, loop.results[len(initial) :])

    def _bind(self, pairs: Sequence[tuple[Value, Value]], values: Sequence[Val]) -> None:
        """Set scalars to values, of which each has as many as another scalar has parts."""
        rest = iter(values)
        for value, like in pairs:
            parts = [next(rest) for _ in self.scalar(like).parts]
            self.code.set(value, uniform(scalar_type(value.type), *parts))

    def _choose(self, step: Choose) -> None:
        condition, last = self.scalar(step.condition).part, self.last
        if condition.literal is not None:
            self.steps(step.then if condition.literal else step.otherwise)
            for one in step.results:
                self.code.set(one.result, self.scalar(one.then if condition.literal else one.otherwise))
            return
        known = after(step, self.known)
        made = certain(step.then) & certain(step.otherwise)
        names = self._changed((step,), Known(groups=(*self.known.groups, *known.groups)))
        names = [] if last else [*names, *sorted(made - self.registers.keys())]
        before = self.known, dict(self.rings), dict(self.registers)

        def side(steps: Steps, results: Sequence[Value]) -> list[Val]:
            self.known, self.rings, self.registers = before[0], dict(before[1]), dict(before[2])
            self.last = last
            self.steps(steps)
            return [*(part for one in results for part in self.scalar(one).parts), *self._state(names, known)]

        merged = self.code.w.either(
            condition,
            lambda: side(step.then, [one.then for one in step.results]),
            lambda: side(step.otherwise, [one.otherwise for one in step.results]),
        )
        self.registers = dict(before[2])
        self._bind([(one.result, one.then) for one in step.results], merged)
        count = sum(len(self.scalar(one.then).parts) for one in step.results)
        self._enter(names, known, merged[count:])
