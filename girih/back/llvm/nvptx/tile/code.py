"""The code of a thread of a tile program: scalars as all threads compute them, and findings that end nobody.

A role that ended would leave others waiting at an mbarrier for ever. So a finding is noted and the code goes on; what
would touch memory that is not there is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.access import locate
from girih.back.llvm.lower.launch.reporter import report
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import scalar_type, uniform
from girih.back.llvm.nvptx.machine.code import MEMORY, CudaCode
from girih.back.llvm.nvptx.tile.matrices import ComponentsPlace, ThreadShare
from girih.back.llvm.nvptx.tile.ptx import TilePtx, word
from girih.ir.core import Op, RegionKind
from girih.ir.types import I8, GroupType
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Load
from girih.tile.budget import SharedLayout
from girih.tile.form import TileKernel


@dataclass(slots=True, kw_only=True)
class TileCode(CudaCode):
    """The code of a thread, of the role that is being written."""

    kernel: TileKernel
    places: SharedLayout
    ptx: TilePtx
    maps: dict[str, Val]
    """The addresses of tensor maps, by their names."""
    own: ComponentsPlace
    """Where a thread's components are, in the code of consumers."""
    asked: bool
    """Whether checks are asked for; `checks` says whether they are written here."""
    sums: Val | None = None
    """The address of memory for sums of parts of the depth."""
    words: dict[str, tuple[Sequence[Val], int]] = field(default_factory=dict)
    """The words that were read of a private copy, by the text of a pointer into it, and the byte that it points to."""

    @property
    def consumers(self) -> int:
        """How many warpgroups compute."""
        return self.kernel.consumers.warpgroups

    @property
    def consumer(self) -> Val:
        """The number of the consumer, an i32."""
        return self.own.consumer

    def share(self, name: str) -> ThreadShare:
        """What a thread of a consumer has of the registers of a name."""
        return ThreadShare(self.kernel.held(name), self.consumers)

    def shared_address(self, offset: int) -> Val:
        """The address, an i32, of a byte of shared memory."""
        return self.w.add(self.w.convert("ptrtoint", MEMORY, "i32"), word(offset))

    @contextmanager
    def checking(self, *, checks: bool) -> Iterator[None]:
        """A context in which checks are written, if they are asked for, or are not."""
        before, self.checks = self.checks, checks and self.asked
        yield
        self.checks = before

    def lower(self, op: Op) -> None:
        """Lower an instruction; a load of a scalar gives zero where there is nothing."""
        if isinstance(op, Load) and (byte := self._byte(op)) is not None:
            self.set(op.result, uniform(I8, byte))
        elif isinstance(op, Load) and self.asked and not isinstance(op.tensor.type, GroupType):
            self._load(op)
        else:
            CudaCode.lower(self, op)

    def _byte(self, op: Load) -> Val | None:
        """The byte that is loaded from words in registers; None for another load, or one from an unknown place."""
        if op.result.type != I8 or isinstance(op.tensor.type, GroupType):
            return None
        memref = self.memref(op.tensor)
        words, place = self.words.get(memref.pointer.text, ((), 0))
        indices, offset = [self.index(number).part.literal for number in op.indices], memref.offset.part.literal
        if not words or offset is None or None in indices:
            return None
        for number, stride in zip(indices, memref.strides, strict=True):
            if not isinstance(stride, int):
                return None
            offset += (number or 0) * stride
        word, byte = divmod(place + offset, 4)
        return self.writer.narrow.byte(self.w, words[word], byte) if 0 <= word < len(words) else None

    def _load(self, op: Load) -> None:
        w, memref = self.w, self.memref(op.tensor)
        locate(self, op, memref, op.indices)
        inside: Val | None = None
        for number, size in zip(op.indices, memref.shape, strict=True):
            inside = w.both(inside, w.compare("ult", self.index(number).part, as_scalar(size).part))
        type = scalar_type(op.result.type)

        def loaded() -> tuple[Val, ...]:
            with self.checking(checks=False):
                CudaCode.lower(self, op)
            return self.scalar(op.result).parts

        parts = loaded() if inside is None else w.either(inside, loaded, lambda: self.zero(type, 1))
        self.set(op.result, uniform(type, *parts))

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Report a finding, unless another thread has done so."""
        w = self.w
        own = w.value(lane) if self.place.element_number is not None else integer(0)
        spmd = self.place.kind is RegionKind.SPMD
        where = (self.linear_group(), *((integer(0), own) if spmd else (integer(-1), integer(-1))))
        report(w, self.record, integer(site, "i32"), where, values, self.grid[:2])
