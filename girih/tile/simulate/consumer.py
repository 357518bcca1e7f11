"""A consumer: takes slots, starts products, computes on registers, and stores."""

from __future__ import annotations

from collections import deque

import numpy as np

from girih.interpreter.machine import numbers
from girih.interpreter.machine.values import Array
from girih.ir.core import Op
from girih.lazy_dataclass import dataclass
from girih.tile.form import (
    Assign,
    Await,
    Combine,
    Componentwise,
    Deliver,
    Fetch,
    GiveBack,
    Issue,
    Multiply,
    Offer,
    PassTurn,
    Reclaim,
    Send,
    Settle,
    SharedTile,
    Stage,
    TakeTurn,
    TileFactor,
    TileProduct,
    TileStep,
    Unite,
)
from girih.tile.simulate.accesses import AccessedElements, accessed, loaded
from girih.tile.simulate.engine import Ending, RoleSteps, Wait
from girih.tile.simulate.matrices import THREADS, computed, kept, own_shape, threads_of
from girih.tile.simulate.memory import shape_of
from girih.tile.simulate.role import CtaRun, RoleRun


@dataclass(slots=True, eq=False)
class RunningGroup:
    """A group of products that was started: its registers, the slots that it reads, and whether it has ended."""

    sums: frozenset[str]
    lefts: frozenset[str]
    slots: frozenset[tuple[str, int]]
    ended: bool = False


@dataclass(slots=True, eq=False)
class StagingRun:
    """A consumer's part of a staging: where it lies, whether it was reclaimed, what was staged, and the stores that
    read it."""

    begin: int
    mark: int = 0
    reclaimed: bool = False
    readers: int = 0


@dataclass(slots=True, eq=False)
class SlotsOfConsumer:
    """How many slots of a ring a consumer awaited and gave back since the kernel began, and before the work-group."""

    awaited: int = 0
    given: int = 0
    before: int = 0


class ConsumerRun(RoleRun):
    """A consumer of a CTA in execution."""

    def __init__(self, cta: CtaRun, number: int) -> None:
        kernel = cta.launch.kernel
        super().__init__(f"consumer {number}", cta, kernel.consumers.body)
        self.consumer, self.consumers = number, kernel.consumers.warpgroups
        self.slots = {ring: SlotsOfConsumer() for ring in cta.rings}
        self.matrices: dict[str, Array] = {}
        self.groups: deque[RunningGroup] = deque()
        begins = cta.shared.layout.stagings
        self.stagings = {
            one.name: StagingRun(begins[one.name] + number * one.consumer_bytes) for one in kernel.stagings
        }

    def begin(self) -> None:
        """Begin a work-group, of which nothing is in registers yet."""
        self.matrices = {}
        for slots in self.slots.values():
            slots.before = slots.awaited

    def end(self) -> None:
        """Check that slots and turns were handed on, and that no product runs."""
        if self.groups:
            raise self.fault("running", f"{len(self.groups)} groups of products are not settled at the end")
        for name, slots in self.slots.items():
            if slots.awaited != slots.given:
                raise self.fault("kept", f"{slots.awaited - slots.given} slots of {name} are not given back at the end")
        if self.cta.turns.taken[self.consumer]:
            raise self.fault("turn", "a turn is not passed at the end")

    def counts(self) -> dict[str, int]:
        """How often the work-group awaited each ring."""
        blocks = self.kernel.block_rings
        return {name: slots.awaited - slots.before for name, slots in self.slots.items() if name not in blocks}

    def step(self, step: TileStep) -> RoleSteps:
        """A step of a consumer."""
        match step:
            case Componentwise(op, result, operands):
                self._compute(op, result, operands)
            case Combine(op, result, source):
                self._compute(op, result, (source,))
            case Assign(result, source):
                held = self.kernel.held(result)
                self._set(result, np.broadcast_to(self._read(source), own_shape(held, self.consumers)))
            case _:
                yield None
                yield from self._shared_step(step)

    def _shared_step(self, step: TileStep) -> RoleSteps:
        match step:
            case Await(ring):
                yield from self._await(ring)
            case GiveBack(ring, keep):
                self._give_back(ring, keep)
            case Issue(products):
                self._issue(products)
            case Multiply(product):
                self._multiply_now(product)
            case Settle(pending):
                yield from self._settle(pending)
            case TakeTurn():
                turns, number = self.cta.turns, self.consumer
                turns.ask(number)
                yield Wait(lambda: turns.passed[number], lambda: "waits for its turn")
                turns.take(number)
            case PassTurn():
                self.cta.turns.hand_on(self.consumer)
            case _:
                yield from self._memory_step(step)

    def _memory_step(self, step: TileStep) -> RoleSteps:
        match step:
            case Reclaim(staging):
                yield from self._reclaim(staging)
            case Stage():
                self._stage(step)
            case Send():
                self._send(step)
            case Fetch(result, op):
                self._fetch(result, op)
            case Deliver(source, op):
                self._deliver(source, op)
            case Offer():
                self._offer(step)
            case Unite(sums):
                self._unite(sums)
            case _:
                raise self.fault("form", "this is no step of a consumer")

    # --- slots ---------------------------------------------------------------------------------

    def _await(self, name: str) -> RoleSteps:
        ring, run, slots = self.kernel.ring(name), self.cta.rings[name], self.slots[name]
        phase, slot = divmod(slots.awaited, ring.slots)
        full = run.full[slot]
        yield Wait(lambda: full.passed(phase), lambda: f"waits until a slot of {name} is full ({full.state()})")
        for tile in ring.tiles:
            begin = run.begin + slot * ring.slot_bytes + tile.offset
            missing = self.cta.shared.missing(tile, begin, run.marks[slots.awaited])
            if missing:
                raise self.fault("filled", f"{missing} of {tile.bytes} bytes of {tile.name} were not brought by a copy")
        slots.awaited += 1

    def _give_back(self, name: str, keep: int) -> None:
        slots = self.slots[name]
        if slots.awaited - slots.given <= keep:
            return
        oldest = slots.given
        if any((name, oldest) in group.slots for group in self.groups):
            raise self.fault("reused", f"a slot of {name} is given back, which a product that is not settled reads")
        slots.given += 1
        self.cta.rings[name].empty[oldest % self.kernel.ring(name).slots].arrive()

    # --- products ------------------------------------------------------------------------------

    def _issue(self, products: tuple[TileProduct, ...]) -> None:
        slots = frozenset(self._slot(f) for p in products for f in (p.left, p.right) if isinstance(f, TileFactor))
        lefts = frozenset(product.left for product in products if isinstance(product.left, str))
        sums = frozenset(product.sums for product in products)
        for name in sums & lefts:
            raise self.fault("unsettled", f"{name} is a left factor and the sums of products that run together")
        for product in products:
            if isinstance(product.left, str):
                self._read(product.left)
            self._free(product.sums, to_add=True)
        factors = [(product, self._factor(product.left), self._factor(product.right)) for product in products]
        group = RunningGroup(sums, lefts, slots)
        self.groups.append(group)
        self._make_room(sums)
        where = self.where

        def end() -> None:
            for product, left, right in factors:
                self._multiply(product, left, right)
            group.ended = True

        self.cta.running.start(("products", self.consumer), Ending(f"products of {self.name}", where, end))

    def _multiply_now(self, product: TileProduct) -> None:
        """Execute a product that is there behind the step."""
        self._ended(product.sums)
        left, right = self._factor(product.left), self._factor(product.right)
        self._make_room(frozenset((product.sums,)))
        self._multiply(product, left, right)

    def _make_room(self, sums: frozenset[str]) -> None:
        """Let registers that were not written be zero."""
        for name in sums - self.matrices.keys():
            held = self.kernel.held(name)
            self.matrices[name] = np.zeros(own_shape(held, self.consumers), numbers.dtype(held.component))

    def _slot(self, factor: TileFactor) -> tuple[str, int]:
        """The ring and the number of the slot that a factor is in, which the consumer has."""
        slots = self.slots[factor.ring]
        number = slots.awaited - 1 - factor.behind
        if not slots.given <= number < slots.awaited:
            held = slots.awaited - slots.given
            behind = f"{factor.behind} behind the last one " if factor.behind else ""
            raise self.fault("held", f"a product reads the slot of {factor.ring} {behind}while {held} slots are held")
        return factor.ring, number

    def _factor(self, factor: TileFactor | str) -> str | tuple[SharedTile, int]:
        """Registers, or a tile in shared memory and the byte where it begins."""
        if isinstance(factor, str):
            return factor
        name, number = self._slot(factor)
        ring = self.kernel.ring(name)
        tile = ring.tile(factor.tile)
        return tile, self.cta.rings[name].begin + number % ring.slots * ring.slot_bytes + tile.offset

    def _multiply(
        self, product: TileProduct, left: str | tuple[SharedTile, int], right: str | tuple[SharedTile, int]
    ) -> None:
        """Add a product to its sums, or set them to it."""
        rows = self.matrices[product.sums].shape[0]
        if isinstance(left, str):
            a = self.matrices[left]
        else:
            a = self.cta.shared.read(*left)[self.consumer * rows : (self.consumer + 1) * rows]
        assert not isinstance(right, str)
        b = self.cta.shared.read(*right)
        component = self.kernel.held(product.sums).component
        made = numbers.matmul(a[None, None], b[None, None], component)[0, 0]
        sums = numbers.BINARY["add"](made, self.matrices[product.sums], component) if product.accumulate else made
        self.matrices[product.sums] = sums

    def _settle(self, pending: int) -> RoleSteps:
        groups = self.groups
        yield Wait(
            lambda: sum(not group.ended for group in groups) <= pending,
            lambda: f"waits until no more than {pending} of its {len(groups)} groups of products run",
        )
        while len(groups) > pending:
            groups.popleft()

    # --- registers -----------------------------------------------------------------------------

    def _free(self, name: str, *, to_add: bool = False) -> None:
        """Check that no product which is not settled has to do with registers; it may be one that adds to them too."""
        if not to_add:
            self._ended(name)
        if any(name in group.lefts for group in self.groups):
            raise self.fault("unsettled", f"{name} is the left factor of a product that is not settled")

    def _ended(self, name: str) -> None:
        if any(name in group.sums for group in self.groups):
            raise self.fault("unsettled", f"{name} are the sums of a product that is not settled")

    def _read(self, name: str) -> Array:
        """A matrix, which products that are not settled may read as well."""
        self._ended(name)
        return self.matrices[name]

    def _set(self, name: str, matrix: Array) -> None:
        self._free(name)
        self.matrices[name] = kept(np.asarray(matrix), self.kernel.held(name), self.consumers)

    def _compute(self, op: Op, result: str, operands: tuple[str, ...]) -> None:
        matrices = [self._read(name) for name in operands]
        try:
            made = computed(self.machine, op, matrices, self.consumer, self.consumers)
        except KeyError as error:
            raise self._unknown(error.args[0]) from None
        self._set(result, made)

    # --- parts of the depth --------------------------------------------------------------------

    def _offer(self, step: Offer) -> None:
        offered = self.cta.launch.offered.setdefault((self.place_in_grid, self.consumer), {})
        if self.part in offered:
            raise self.fault("parts", f"the sums of part {self.part} are offered a second time")
        offered[self.part] = [self._read(name).copy() for name in step.sums]
        count = 1 if self.kernel.parts is None else self.kernel.parts.count
        self.machine.env[step.last] = np.full((1, 1, 1), len(offered) == count)

    def _unite(self, sums: tuple[str, ...]) -> None:
        offered = self.cta.launch.offered.get((self.place_in_grid, self.consumer), {})
        count = 1 if self.kernel.parts is None else self.kernel.parts.count
        if len(offered) < count:
            raise self.fault("parts", f"the sums of {len(offered)} parts are there, of {count}")
        for number, name in enumerate(sums):
            held = self.kernel.held(name)
            total = np.zeros_like(offered[0][number])
            for part in range(count):
                total = numbers.BINARY["add"](total, offered[part][number], held.component)
            self._set(name, total)

    # --- memory --------------------------------------------------------------------------------

    def _reclaim(self, name: str) -> RoleSteps:
        run = self.stagings[name]
        yield Wait(lambda: run.readers == 0, lambda: f"waits until {run.readers} stores have read {name}")
        run.reclaimed = True
        run.mark = self.cta.shared.mark()

    def _stage(self, step: Stage) -> None:
        tile, run = self.kernel.staging(step.staging).tile, self.stagings[step.staging]
        matrix = self._read(step.source)
        if not run.reclaimed:
            raise self.fault("reclaimed", f"{step.staging} is written, of which a store may still be read")
        rows, columns = shape_of(tile)
        held = self.kernel.held(step.source)
        full = np.broadcast_to(matrix, (held.rows // self.consumers, held.columns))
        part = full[step.row : step.row + rows, step.column : step.column + columns]
        if part.shape != (rows, columns):
            raise self.fault("form", f"{step.source} has no {rows}x{columns} from {step.row}, {step.column} on")
        self.cta.shared.write(tile, run.begin, part, run.mark)

    def _send(self, step: Send) -> None:
        staging, run = self.kernel.staging(step.staging), self.stagings[step.staging]
        map_, shared = self.cta.launch.maps[step.map], self.cta.shared
        if not run.mark or shared.missing(staging.tile, run.begin, run.mark):
            raise self.fault("staged", f"{step.staging} is sent, but not all of it was staged since it was reclaimed")
        by = self.cta.stored.writer(self.work_group, self.consumer, THREADS)
        apart = [self.consumer * one for one in step.apart]
        run.reclaimed = False
        for number, piece in enumerate(step.pieces):
            coordinates = self.place(step.at, piece.moved, apart)
            target = map_.stored(coordinates)
            self.cta.stored.check(map_.memory, target, self.work_group, by, "a store writes")
            self.cta.stored.note(map_.memory, target, by)
            self._start(step, run, coordinates, run.begin + piece.offset, number)

    def _start(self, step: Send, run: StagingRun, coordinates: list[int], address: int, number: int) -> None:
        map_, shared, where = self.cta.launch.maps[step.map], self.cta.shared, self.where
        taken: list[Array] = []
        run.readers += 1

        def read() -> None:
            taken.append(shared.bytes[address:].copy())
            run.readers -= 1

        def write() -> None:
            map_.store(taken[0], coordinates, address)

        lane = (where, self.consumer, number, shared.mark())
        self.cta.running.start(lane, Ending("reads of stores", where, read), Ending("stores", where, write))

    def _fetch(self, name: str, op: Op) -> None:
        matrix, elements = loaded(self.machine, op), accessed(self.machine, op)
        own = self._rows(elements)
        self._follow(elements.rows(own), "a load reads", store=False)
        self._set(name, matrix[own])

    def _deliver(self, name: str, op: Op) -> None:
        every = accessed(self.machine, op)
        elements = every.rows(self._rows(every))
        self._follow(elements, "a store writes", store=True)
        matrix = np.broadcast_to(self._read(name), elements.flat.shape)
        elements.view.data[elements.flat[elements.usable]] = matrix[elements.usable]

    def _rows(self, elements: AccessedElements) -> slice:
        """The consumer's rows of a matrix; all have those of a matrix of one row."""
        rows = len(elements.flat) // self.consumers
        return slice(self.consumer * rows, (self.consumer + 1) * rows) if rows else slice(None)

    def _follow(self, elements: AccessedElements, what: str, *, store: bool) -> None:
        """Check an access of threads to memory against what the work-group stored there."""
        memory, size = elements.view.memory, elements.view.data.itemsize
        lanes = threads_of(self.kernel.fragment, *elements.flat.shape)[elements.usable]
        by = np.repeat(self.cta.stored.writer(self.work_group, self.consumer, lanes), size)
        self.cta.stored.check(memory, elements.bytes, self.work_group, by, what)
        if store:
            self.cta.stored.note(memory, elements.bytes, by)
