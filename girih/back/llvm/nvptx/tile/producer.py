"""The producer of a tile program: one thread that has slots of rings filled, or all where they gather tiles.

Where slots are gathered and the producer has several warpgroups, they have the slots in turn. Warps do not wait for
each other: each arrives at the mbarrier of a slot when it has filled its part, and goes on. So some read memory while
others compute. Where tiles are decoded from blocks that the copy engine brings, the first warpgroup has only those
brought, far ahead of the others, which decode.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.matrix.tensor import report_flaws
from girih.back.llvm.nvptx.tile.blocks import BlocksInRing
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
    """The producer, whose code is being written, or its warpgroups that supply some `rings`.

    `alone` says that one thread executes the code; `first` is the number of its first warpgroup.
    """

    part: frozenset[str] = frozenset()
    checks: bool = True
    alone: bool = False
    first: int = 0
    blocks: dict[str, tuple[Val, Val]] = field(default_factory=dict)
    """The slot of a ring of blocks that was supplied last, and its parity for who waits until it is full."""

    def step(self, step: TileStep) -> None:
        match step:
            case Supply(ring, copies):
                self._supply(ring, copies)
            case Verify(op):
                if self.checks:
                    self._verify(op)
            case _:
                TileRole.step(self, step)

    def _supply(self, name: str, copies: tuple[Copy | Gather, ...]) -> None:
        w, code = self.code.w, self.code
        full = self.rings[name].parity
        parity = w.binary("xor", full, word(1))
        slot = self.advance(name)
        self.blocks[name] = slot, full
        if name not in self.part:
            return
        if name not in code.kernel.gathered_rings:
            with self._by_one():
                self._fill(name, copies, slot, parity, nullcontext())
            return
        thread, producers = w.convert("trunc", code.thread, "i32"), code.kernel.producer.warpgroups - self.first
        own = w.sub(w.binary("lshr", thread, word(WARPGROUP.bit_length() - 1)), word(self.first))
        turn = w.compare("eq", w.binary("urem", slot, word(producers)), own)
        with nullcontext() if producers == 1 else w.when(turn):
            first = w.compare("eq", w.binary("and", thread, word(WARPGROUP - 1)), word(0))
            self._fill(name, copies, slot, parity, w.when(first))
            self.ptx.show_writes()
            self.ptx.meet_warp()
            with w.when(w.compare("eq", code.lane, word(0))):
                self.ptx.arrive(self.barrier(code.places.full[name], slot))
                for taken in sorted(self._block_rings(copies)):
                    self.ptx.arrive(self.barrier(code.places.empty[taken], self.blocks[taken][0]))

    @staticmethod
    def _block_rings(copies: Iterable[Copy | Gather]) -> set[str]:
        return {copy.blocks.ring for copy in copies if isinstance(copy, Gather) and copy.blocks is not None}

    def _blocks(self, copy: Gather) -> BlocksInRing | None:
        """The blocks that a tile is decoded from, which have come; None where they are read from memory."""
        if copy.blocks is None:
            return None
        w, places, ring = self.code.w, self.code.places, self.ring(copy.blocks.ring)
        slot, parity = self.blocks[ring.name]
        self.ptx.wait(self.barrier(places.full[ring.name], slot), parity)
        begin = w.add(self.code.shared_address(places.rings[ring.name]), w.mul(slot, word(ring.slot_bytes)))
        tile = ring.tile(copy.blocks.tile)
        return BlocksInRing(tile, self.ptx.generic(w.add(begin, word(tile.offset))))

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
                    blocks = self._blocks(copy)
                    GatheredTile(self.code, copy.op, tile, w.add(begin, word(tile.offset)), blocks).write()

    def _by_one(self) -> AbstractContextManager[None]:
        """A context for what one thread does, where several execute the role."""
        if self.alone:
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
