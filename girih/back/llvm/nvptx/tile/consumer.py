"""The consumers of a tile program: warpgroups that multiply, compute and store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import field

from girih.back.llvm.emit.text import Val
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.tile import components, memory
from girih.back.llvm.nvptx.tile.components import HeldMatrix, RegisterRule
from girih.back.llvm.nvptx.tile.flow import sources_of
from girih.back.llvm.nvptx.tile.matrices import DeferredRegisters
from girih.back.llvm.nvptx.tile.multiply import ThreadProduct
from girih.back.llvm.nvptx.tile.parts import SumsOfParts
from girih.back.llvm.nvptx.tile.products import PlacedFactor, ProductCode
from girih.back.llvm.nvptx.tile.ptx import WARPGROUP, word
from girih.back.llvm.nvptx.tile.role import TileRole
from girih.back.llvm.nvptx.tile.staging import StagedPart, lane_and_warp
from girih.ir.types import BOOL
from girih.lazy_dataclass import dataclass
from girih.tile.form import (
    Assign,
    Await,
    Choose,
    Combine,
    Componentwise,
    Compute,
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
    Stage,
    Steps,
    TakeTurn,
    TileFactor,
    TileProduct,
    TileStep,
    Unite,
    walk,
)

_AT_END = (Compute, Componentwise, Assign, Fetch, Deliver, Reclaim, Stage, Send, GiveBack)
"""The steps at the end of a body that may be taken part by part: none of them writes registers a second time."""

_LOADED_AHEAD = 24
"""So many registers are loaded before one is used, where they are used part by part."""

_OWN_BARRIERS = 1
"""The number of the named barrier of consumer 0; those of the others follow, then those for turns (PTX ISA "bar")."""


@dataclass(slots=True)
class Consumer(TileRole):
    """A consumer, whose code is being written; all execute the same."""

    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """The left factors in registers, each with the registers that it is computed from."""
    ends_here: bool = False
    """Whether the steps that follow only compute and store, each once."""

    def prepare(self) -> None:
        """Write what comes before the first work-group."""
        body = self.code.kernel.consumers.body
        steps = [step for step in walk(body) if isinstance(step, Issue)]
        left = frozenset(p.left for step in steps for p in step.products if isinstance(p.left, str))
        self.sources = sources_of(body, left)
        if self._has_turns:
            w = self.code.w
            with w.when(w.compare("eq", self.code.consumer, word(self.code.consumers - 1))):
                self.ptx.pass_by(self._turn(0), 2 * WARPGROUP)

    def finish(self) -> None:
        """Write what comes after the last work-group."""
        w = self.code.w
        if self._has_turns:
            with w.when(w.compare("eq", self.code.consumer, word(0))):
                self.ptx.meet(self._turn(0), 2 * WARPGROUP)
        if self.code.kernel.stagings:
            with self.by_one():
                self.ptx.wait_for_stores(0, read=False)

    @property
    def _has_turns(self) -> bool:
        steps = walk(self.code.kernel.consumers.body)
        return self.code.consumers > 1 and any(isinstance(step, TakeTurn) for step in steps)

    def by_one(self) -> AbstractContextManager[None]:
        """A context for what one thread of the consumer does."""
        w = self.code.w
        thread = w.binary("and", w.convert("trunc", self.code.thread, "i32"), word(WARPGROUP - 1))
        return w.when(w.compare("eq", thread, word(0)))

    def _by_one_of_warp(self) -> AbstractContextManager[None]:
        """A context for what one thread of each warp does."""
        return self.code.w.when(self.code.w.compare("eq", self.code.lane, word(0)))

    def steps(self, steps: Steps) -> None:
        """Write some steps; what is computed at the end of the body is computed part by part, as it is stored.

        A branch at the end of the body has the end of it at the end of both its sides. What sides and loops consist of
        that only compute is computed component by component at their ends.
        """
        last, self.last = self.last or steps is self.code.kernel.consumers.body, False
        self.ends_here = False
        if not last:
            self.ends_here = all(isinstance(step, _AT_END) for step in steps)
            TileRole.steps(self, steps)
            self.ends_here = False
            return
        if steps and isinstance(steps[-1], Choose):
            self.steps(steps[:-1])
            self.last = True
            TileRole.steps(self, steps[-1:])
            return
        end = next((k for k in range(len(steps), 0, -1) if not isinstance(steps[k - 1], _AT_END)), 0)
        TileRole.steps(self, steps[:end])
        self.ends_here = True
        TileRole.steps(self, steps[end:])

    def step(self, step: TileStep) -> None:
        match step:
            case Await(ring):
                self._await(ring)
            case GiveBack(ring, keep):
                self._give_back(ring, keep)
            case Issue(products):
                self._issue(products)
            case Multiply(product):
                self._multiply(product)
            case Settle(pending):
                self._settle(pending)
            case Reclaim() | Stage() | Send():
                self._store_step(step)
            case Offer(sums, last):
                self.code.set(last, uniform(BOOL, self._parts(sums).offered(self._own_barrier())))
            case Unite(sums):
                self._unite(sums)
            case TakeTurn() if self._has_turns:
                self.ptx.meet(self._turn(self.code.consumer), 2 * WARPGROUP)
            case PassTurn() if self._has_turns:
                self.ptx.pass_by(self._turn(self._next()), 2 * WARPGROUP)
            case TakeTurn() | PassTurn():
                return
            case _:
                self._matrix_step(step)

    # --- rings ---------------------------------------------------------------------------

    def _await(self, name: str) -> None:
        parity = self.rings[name].parity
        slot = self.advance(name)
        self.ptx.wait(self.barrier(self.code.places.full[name], slot), parity)
        place = self.rings[name]
        self._hold(name, self.code.w.add(place.held, word(1)))

    def _hold(self, name: str, count: Val) -> None:
        place = self.rings[name]
        self.rings[name] = type(place)(place.slot, place.parity, count, place.last)

    def _give_back(self, name: str, keep: int) -> None:
        w, held = self.code.w, self.rings[name].held
        more = w.compare("sgt", held, word(keep))
        if more.literal == 0:
            return
        slot = self.slot_before(name, held if held.literal is None else held.literal)
        barrier = self.barrier(self.code.places.empty[name], slot)
        if self.code.multiplies:
            self.ptx.meet_warp()
        with self._by_one_of_warp() if self.code.multiplies else self.by_one():
            if more.literal is None:
                with w.when(more):
                    self.ptx.arrive(barrier)
            else:
                self.ptx.arrive(barrier)
        fewer = w.sub(held, word(1))
        self._hold(name, fewer if more.literal is not None else w.select(more, fewer, held))

    # --- products ------------------------------------------------------------------------

    def _issue(self, products: tuple[TileProduct, ...]) -> None:
        parts = [self._product(product) for product in products]
        self.ptx.begin_products()
        for product, part in zip(products, parts, strict=True):
            before = self.registers[product.sums] if product.accumulate else None
            self.registers[product.sums] = tuple(part.write(before))
        self.ptx.commit_products()

    def _product(self, product: TileProduct) -> ProductCode:
        left = self.registers[product.left] if isinstance(product.left, str) else self._factor(product.left, left=True)
        return ProductCode(self.code, product, left, self._factor(product.right, left=False))

    def _multiply(self, product: TileProduct) -> None:
        assert isinstance(product.left, TileFactor)
        left, right = self._factor(product.left, left=True), self._factor(product.right, left=False)
        before = self.registers[product.sums] if product.accumulate else None
        self.registers[product.sums] = tuple(ThreadProduct(self.code, product, left, right).write(before))

    def _factor(self, factor: TileFactor, *, left: bool) -> PlacedFactor:
        w, ring = self.code.w, self.ring(factor.ring)
        slot = self.slot_before(factor.ring, 1 + factor.behind)
        tile = ring.tile(factor.tile)
        begin = self.code.shared_address(self.code.places.rings[factor.ring] + tile.offset)
        return PlacedFactor.of(tile, w.add(begin, w.mul(slot, word(ring.slot_bytes))), left=left)

    def _settle(self, pending: int) -> None:
        """Wait; what is settled goes through, and so does what a left factor is computed from behind the wait."""
        settled = self.known.settled(pending)
        running = self.known.running(pending)
        left = sorted(name for name in settled if name in self.sources and name in self.registers)
        again = frozenset[str]().union(*(self.sources[name] for name in left)) - running
        sums = settled - frozenset(left)
        through = sorted(name for name in sums | again if name in self.registers and name not in left)
        values = [value for name in through for value in self.registers[name] if value.text[0] == "%"]
        seen = [value for name in left for value in self.registers[name] if value.text[0] == "%"]
        found = iter(self.ptx.wait_for_products(pending, values, seen))
        for name in through:
            kept = self.registers[name]
            self.registers[name] = tuple(next(found) if value.text[0] == "%" else value for value in kept)

    # --- parts of the depth ----------------------------------------------------------------

    def _parts(self, sums: Sequence[str]) -> SumsOfParts:
        return SumsOfParts(self.code, [value for name in sums for value in self.registers[name]], self.count)

    def _unite(self, sums: Sequence[str]) -> None:
        found = iter(self._parts(sums).united())
        for name in sums:
            self.registers[name] = tuple(next(found) for _ in self.registers[name])

    # --- matrices ------------------------------------------------------------------------

    def _load_but_for(self, source: str) -> None:
        """Load what was to be loaded later, before memory is written; what is stored itself is loaded in time."""
        stored = self.registers[source]
        needed = stored.all() if isinstance(stored, DeferredRegisters) else []
        for held in self.registers.values():
            for one in held.all() if isinstance(held, DeferredRegisters) else []:
                if one.ahead and one not in needed:
                    tuple(one)

    def _set(self, name: str, rule: RegisterRule, operands: Sequence[str] = (), ahead: int = 0) -> None:
        """Set registers: at once, or, behind the last products, loops and branches, where they are used."""
        count = self.code.share(name).registers
        if self.ends_here:
            self.registers[name] = DeferredRegisters(rule, count, ahead, tuple(self.registers[one] for one in operands))
        else:
            self.registers[name] = tuple(rule(number) for number in range(count))

    def _held(self, name: str) -> HeldMatrix:
        return HeldMatrix(self.code.share(name), self.registers[name])

    def _matrix_step(self, step: TileStep) -> None:
        code = self.code
        match step:
            case Componentwise(op, result, operands):
                held = [self._held(name) for name in operands]
                self._set(result, components.computed(code, op, code.share(result), held), operands)
            case Combine(op, result, source):
                with code.checking(checks=True):
                    self.registers[result] = components.combined(code, op, code.share(result), self._held(source))
            case Assign(result, source):
                self._set(result, components.converted(code, code.share(result), self._held(source)), (source,))
            case Fetch(result, op):
                assert isinstance(op, memory.TileAccess)
                self._set(result, memory.fetched(code, op, code.share(result)), ahead=_LOADED_AHEAD)
            case Deliver(source, op):
                assert isinstance(op, memory.TileAccess)
                self._load_but_for(source)
                memory.deliver(code, op, self._held(source))
            case _:
                TileRole.step(self, step)

    # --- stores --------------------------------------------------------------------------

    def _own_barrier(self) -> Val:
        return self.code.w.add(self.code.consumer, word(_OWN_BARRIERS))

    def _turn(self, consumer: Val | int) -> Val:
        first = word(_OWN_BARRIERS + self.code.consumers)
        return self.code.w.add(word(consumer) if isinstance(consumer, int) else consumer, first)

    def _next(self) -> Val:
        w, own = self.code.w, self.code.consumer
        last = w.compare("eq", own, word(self.code.consumers - 1))
        return w.select(last, word(0), w.add(own, word(1)))

    def _staging(self, name: str) -> Val:
        """The address of the consumer's part of a staging."""
        w, staging = self.code.w, self.code.kernel.staging(name)
        begin = self.code.shared_address(self.code.places.stagings[name])
        return w.add(begin, w.mul(self.code.consumer, word(staging.consumer_bytes)))

    def _store_step(self, step: Reclaim | Stage | Send) -> None:
        match step:
            case Reclaim(staging):
                later = self.known.later_stores(staging)
                if later is not None:
                    with self.by_one():
                        self.ptx.wait_for_stores(later, read=True)
                    self.ptx.meet(self._own_barrier(), WARPGROUP)
            case Stage(name, source, row, column):
                tile, (lane, warp) = self.code.kernel.staging(name).tile, lane_and_warp(self.code)
                self._load_but_for(source)
                held = self._held(source)
                StagedPart(self.code, tile, self._staging(name), held, row, column, lane, warp).write()
                self.ptx.show_writes()
                self.ptx.meet(self._own_barrier(), WARPGROUP)
            case Send():
                self._send(step)

    def _send(self, step: Send) -> None:
        w, begin = self.code.w, self._staging(step.staging)
        apart = [w.mul(self.code.consumer, word(distance)) for distance in step.apart]
        with self.by_one():
            for piece in step.pieces:
                moved = [w.add(distance, word(fixed)) for distance, fixed in zip(apart, piece.moved, strict=True)]
                at = self.coordinates(step.at, moved)
                self.ptx.store_box(self.code.maps[step.map], at, w.add(begin, word(piece.offset)))
            self.ptx.commit_stores()
