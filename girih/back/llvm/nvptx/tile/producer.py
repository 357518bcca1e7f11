"""The producer of a tile program: one thread that has slots of rings filled, or all where they gather tiles.

Where slots are gathered and the producer has several warpgroups, they have the slots in turn. Warps do not wait for
each other: each arrives at the mbarrier of a slot when it has filled its part, and goes on. So some read memory while
others compute.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.matrix.tensor import report_flaws
from girih.back.llvm.nvptx.tile.gather import GatheredTile
from girih.back.llvm.nvptx.tile.memory import report_outside
from girih.back.llvm.nvptx.tile.ptx import WARPGROUP, word
from girih.back.llvm.nvptx.tile.role import TileRole
from girih.ir.core import Op
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import MatrixAccess
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor
from girih.tile.form import Copy, Gather, Supply, TileStep, Verify


@dataclass(slots=True)
class Producer(TileRole):
    """The producer, whose code is being written."""

    def step(self, step: TileStep) -> None:
        match step:
            case Supply(ring, copies):
                self._supply(ring, copies)
            case Verify(op):
                self._verify(op)
            case _:
                TileRole.step(self, step)

    def _supply(self, name: str, copies: tuple[Copy | Gather, ...]) -> None:
        w, code = self.code.w, self.code
        parity = w.binary("xor", self.rings[name].parity, word(1))
        slot = self.advance(name)
        if name not in code.kernel.gathered_rings:
            self._fill(name, copies, slot, parity, self._by_one())
            return
        thread, producers = w.convert("trunc", code.thread, "i32"), code.kernel.producer.warpgroups
        own = w.binary("lshr", thread, word(WARPGROUP.bit_length() - 1))
        turn = w.compare("eq", w.binary("urem", slot, word(producers)), own)
        with nullcontext() if producers == 1 else w.when(turn):
            first = w.compare("eq", w.binary("and", thread, word(WARPGROUP - 1)), word(0))
            self._fill(name, copies, slot, parity, w.when(first))
            self.ptx.show_writes()
            self.ptx.meet_warp()
            with w.when(w.compare("eq", code.lane, word(0))):
                self.ptx.arrive(self.barrier(code.places.full[name], slot))

    def _fill(
        self, name: str, copies: tuple[Copy | Gather, ...], slot: Val, parity: Val, by_one: AbstractContextManager[None]
    ) -> None:
        """Fill a slot when it is empty: one thread starts copies, and all of the warpgroup gather."""
        w, places, ring = self.code.w, self.code.places, self.ring(name)
        full = self.barrier(places.full[name], slot)
        self.ptx.wait(self.barrier(places.empty[name], slot), parity)
        begin = w.add(self.code.shared_address(places.rings[name]), w.mul(slot, word(ring.slot_bytes)))
        started = [copy for copy in copies if isinstance(copy, Copy)]
        with by_one:
            bytes = sum(ring.tile(copy.tile).bytes for copy in started)
            self.ptx.expect(full, bytes) if started else self.ptx.arrive(full)
            for one in started:
                self._start(one, w.add(begin, word(ring.tile(one.tile).offset)), full)
        for copy in copies:
            if isinstance(copy, Gather):
                tile = ring.tile(copy.tile)
                with self.code.checking(checks=False):
                    GatheredTile(self.code, copy.op, tile, w.add(begin, word(tile.offset))).write()

    def _by_one(self) -> AbstractContextManager[None]:
        """A context for what one thread does, where several execute the role."""
        if not self.code.kernel.gathers:
            return nullcontext()
        return self.code.w.when(self.code.w.compare("eq", self.code.thread, integer(0)))

    def _start(self, copy: Copy, begin: Val, full: Val) -> None:
        for piece in copy.pieces:
            at = self.coordinates(copy.at, piece.moved)
            self.ptx.load_box(self.code.w.add(begin, word(piece.offset)), self.code.maps[copy.map], at, full)

    def _verify(self, op: Op) -> None:
        """Write the check of an instruction; a scalar that it defines is the same as without it."""
        with self._by_one(), self.place_of(op), self.code.checking(checks=True):
            if isinstance(op, MatrixAccess):
                report_outside(self.code, op)
            elif isinstance(op, CooperativeMatrixLoadTensor | CooperativeMatrixStoreTensor):
                report_flaws(self.code, op)
            else:
                before = {value: self.code.env[value] for value in op.results if value in self.code.env}
                self.code.lower(op)
                self.code.env.update(before)
