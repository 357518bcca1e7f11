"""The producer of a tile program: one thread that has slots of rings filled, or all where they gather tiles."""

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

_OWN_BARRIER = 15
"""The number of the named barrier of the producer, behind those of up to seven consumers (PTX ISA "bar")."""


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
        w, places, ring = self.code.w, self.code.places, self.ring(name)
        parity = w.binary("xor", self.rings[name].parity, word(1))
        slot = self.advance(name)
        full = self.barrier(places.full[name], slot)
        self.ptx.wait(self.barrier(places.empty[name], slot), parity)
        begin = w.add(self.code.shared_address(places.rings[name]), w.mul(slot, word(ring.slot_bytes)))
        gathered = [copy for copy in copies if isinstance(copy, Gather)]
        for copy in gathered:
            tile = ring.tile(copy.tile)
            with self.code.checking(checks=False):
                GatheredTile(self.code, copy.op, tile, w.add(begin, word(tile.offset))).write()
        if gathered:
            self.ptx.show_writes()
            self.ptx.meet(word(_OWN_BARRIER), WARPGROUP)
        started = [copy for copy in copies if isinstance(copy, Copy)]
        with self._by_one():
            bytes = sum(ring.tile(copy.tile).bytes for copy in started)
            self.ptx.expect(full, bytes) if started else self.ptx.arrive(full)
            for one in started:
                self._start(one, w.add(begin, word(ring.tile(one.tile).offset)), full)

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
