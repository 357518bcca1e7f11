"""The producer: fills slots of rings by the copy engine, and checks accesses."""

from __future__ import annotations

from collections.abc import Iterable

from girih.ir.core import Op
from girih.tile.form import BoxPiece, Copy, Gather, Ring, SharedTile, Supply, TileFactor, TileStep, Verify
from girih.tile.simulate.accesses import Loads, Stores, accessed, finding, loaded
from girih.tile.simulate.copies import EncodedMap
from girih.tile.simulate.engine import Ending, RoleSteps, Wait
from girih.tile.simulate.role import CtaRun, RingRun, RoleRun


class ProducerRun(RoleRun):
    """The producer of a CTA in execution, or of its warpgroups those that supply some `rings`.

    `supplies` counts the slots of each ring since the kernel began, those that are decoded from too. Checks are made by
    the warpgroup that supplies rings of blocks, where there is one.
    """

    def __init__(self, cta: CtaRun, name: str, rings: Iterable[str], *, checks: bool) -> None:
        super().__init__(name, cta, cta.launch.kernel.producer.body)
        self.rings, self.checks = frozenset(rings), checks
        self.supplies = dict.fromkeys(cta.rings, 0)

    @staticmethod
    def of(cta: CtaRun) -> list[ProducerRun]:
        """The roles of the producer of a CTA: with rings of blocks, who fills them, and who decodes."""
        kernel = cta.launch.kernel
        rings = {ring.name for ring in kernel.rings}
        if not kernel.block_rings:
            return [ProducerRun(cta, "the producer", rings, checks=True)]
        decoded = kernel.gathered_rings
        loader = ProducerRun(cta, "the producer", rings - decoded, checks=True)
        return [loader, ProducerRun(cta, "the decoders", decoded, checks=False)]

    def begin(self) -> None:
        """Begin a work-group."""
        self._before = dict(self.supplies)

    def end(self) -> None:
        """Nothing: what a producer has started is awaited by consumers."""

    def counts(self) -> dict[str, int]:
        """How often the work-group supplied each ring."""
        kept = self.supplies.items()
        return {ring: count - self._before[ring] for ring, count in kept if ring in self.rings or count}

    def step(self, step: TileStep) -> RoleSteps:
        """A step of a producer."""
        match step:
            case Supply(ring) if ring not in self.rings:
                return
            case Supply():
                yield None
                yield from self._supply(step)
            case Verify(op):
                if self.checks:
                    self._verify(op)
            case _:
                raise self.fault("form", "this is no step of a producer")

    def _supply(self, step: Supply) -> RoleSteps:
        ring, run = self.kernel.ring(step.ring), self.cta.rings[step.ring]
        number = self.supplies[step.ring]
        phase, slot = divmod(number, ring.slots)
        full, empty = run.full[slot], run.empty[slot]
        yield Wait(
            lambda: empty.passed(phase - 1), lambda: f"waits until a slot of {ring.name} is empty ({empty.state()})"
        )
        self.supplies[step.ring] += 1
        run.marks[number] = mark = self.cta.shared.mark()
        begin = run.begin + slot * ring.slot_bytes
        started = [copy for copy in step.copies if isinstance(copy, Copy)]
        for one in step.copies:
            if isinstance(one, Gather):
                if one.blocks is not None:
                    yield from self._take(one.blocks)
                self._gather(ring.tile(one.tile), begin, one.op, mark)
        full.arrive(expected_bytes=sum(ring.tile(copy.tile).bytes for copy in started))
        for copy in started:
            for piece in copy.pieces:
                self._start(ring, run, slot, begin, copy, piece, mark)

    def _start(self, ring: Ring, run: RingRun, slot: int, begin: int, copy: Copy, piece: BoxPiece, mark: int) -> None:
        map_, tile = self.cta.launch.maps[copy.map], ring.tile(copy.tile)
        coordinates = self.place(copy.at, piece.moved)
        where, group = f"{self.where}: the copy of {copy.tile}", self.work_group

        def arrive() -> None:
            _load(self.cta, map_, coordinates, begin + tile.offset + piece.offset, mark, group)
            run.full[slot].came(map_.box_bytes)

        self.cta.running.start((where, ring.name, mark, piece), Ending(f"copies to {ring.name}", where, arrive))

    def _take(self, blocks: TileFactor) -> RoleSteps:
        """Wait for a slot of blocks, and give it back when they have been read."""
        ring, run = self.kernel.ring(blocks.ring), self.cta.rings[blocks.ring]
        number = self.supplies[blocks.ring]
        phase, slot = divmod(number, ring.slots)
        full, tile = run.full[slot], ring.tile(blocks.tile)
        yield Wait(lambda: full.passed(phase), lambda: f"waits until a slot of {ring.name} is full ({full.state()})")
        self.supplies[blocks.ring] += 1
        if self.cta.shared.missing(tile, run.begin + slot * ring.slot_bytes + tile.offset, run.marks[number]):
            raise self.fault("filled", f"{blocks.tile} of {ring.name} is decoded, of which not all has come")
        yield None
        run.empty[slot].arrive()

    def _gather(self, tile: SharedTile, begin: int, op: Op, mark: int) -> None:
        """Fill a tile by what a load gives, which is there at once."""
        matrix, elements = loaded(self.machine, op), accessed(self.machine, op)
        self.cta.stored.check(elements.view.memory, elements.bytes, self.work_group, -2, "a load reads")
        self.cta.shared.write(tile, begin + tile.offset, matrix, mark)

    def _verify(self, op: Op) -> None:
        """Find what is wrong with an access, or with a scalar, which is computed by another step."""
        with finding(self.machine, self.cta.launch.findings):
            if isinstance(op, Loads | Stores):
                accessed(self.machine, op)
                return
            env = self.machine.env
            before = {value: env.pop(value) for value in op.results if value in env}
            self.execute(op)
            for value in op.results:
                env.pop(value, None)
            env.update(before)


def _load(cta: CtaRun, map_: EncodedMap, coordinates: list[int], address: int, mark: int, group: int) -> None:
    """Bring a box into shared memory."""
    values, places, sources = map_.load(coordinates, address)
    cta.stored.check(map_.memory, sources, group, -2, "a copy reads")
    cta.shared.bytes[places] = values
    cta.shared.filled[places] = mark
