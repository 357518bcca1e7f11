"""The producer of a tile program: one thread that fills the slots of rings, and notes findings."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.nvptx.tile.memory import report_outside
from girih.back.llvm.nvptx.tile.ptx import word
from girih.back.llvm.nvptx.tile.role import TileRole
from girih.ir.core import Op
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import MatrixAccess
from girih.tile.form import Copy, Supply, TileStep, Verify


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

    def _supply(self, name: str, copies: tuple[Copy, ...]) -> None:
        w, places, ring = self.code.w, self.code.places, self.ring(name)
        parity = w.binary("xor", self.rings[name].parity, word(1))
        slot = self.advance(name)
        full = self.barrier(places.full[name], slot)
        self.ptx.wait(self.barrier(places.empty[name], slot), parity)
        self.ptx.expect(full, sum(ring.tile(copy.tile).bytes for copy in copies))
        begin = w.add(self.code.shared_address(places.rings[name]), w.mul(slot, word(ring.slot_bytes)))
        for copy in copies:
            self._start(copy, w.add(begin, word(ring.tile(copy.tile).offset)), full)

    def _start(self, copy: Copy, begin: Val, full: Val) -> None:
        for piece in copy.pieces:
            at = self.coordinates(copy.at, piece.moved)
            self.ptx.load_box(self.code.w.add(begin, word(piece.offset)), self.code.maps[copy.map], at, full)

    def _verify(self, op: Op) -> None:
        """Write the check of an instruction; a scalar that it defines is the same as without it."""
        with self.place_of(op), self.code.checking(checks=True):
            if isinstance(op, MatrixAccess):
                report_outside(self.code, op)
            else:
                self.code.lower(op)
