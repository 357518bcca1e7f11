"""The code of a thread of a tile program: scalars as all threads compute them, and findings that end nobody.

A role that ended would leave others waiting at an mbarrier for ever. So a finding is noted and the code goes on; what
would touch memory that is not there is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.access import locate
from girih.back.llvm.lower.launch.reporter import report
from girih.back.llvm.lower.memory import check_member
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import MemRefHeld, index, scalar_type, uniform
from girih.back.llvm.nvptx.machine.code import MEMORY, CudaCode
from girih.back.llvm.nvptx.tile.matrices import ComponentsPlace, ThreadShare
from girih.back.llvm.nvptx.tile.ptx import TilePtx, word
from girih.ir.core import Op, RegionKind
from girih.ir.types import I8, GroupType
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Load
from girih.tile.budget import SharedLayout
from girih.tile.form import Multiply, TileKernel, walk


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
    def multiplies(self) -> bool:
        """Whether threads of consumers read factors themselves, so that each warp gives slots back."""
        return any(isinstance(step, Multiply) for step in walk(self.kernel.consumers.body))

    @property
    def consumer(self) -> Val:
        """The number of the consumer, an i32."""
        return self.own.consumer

    def share(self, name: str) -> ThreadShare:
        """What a thread of a consumer has of the registers of a name."""
        return ThreadShare(self.kernel.held(name), self.consumers, self.kernel.fragment)

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
        elif isinstance(op, Load) and self.asked:
            (self._member if isinstance(op.tensor.type, GroupType) else self._load)(op)
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

    def _member(self, op: Load) -> None:
        """Lower the load of a memref of a group: one without elements where the group has none of that number."""
        w, group = self.w, self.group_of(op.tensor)
        check_member(self, op, group)
        number, size = self.index(op.indices[0]).part, group.size
        count = integer(size) if isinstance(size, int) else size
        inside = w.binary("and", w.compare("ult", number, count), w.compare("ne", group.table, zero("ptr")))

        def loaded() -> list[Val]:
            with self.checking(checks=False):
                CudaCode.lower(self, op)
            held = self.memref(op.result)
            return [held.pointer, *(one.part for one in (*held.shape, *held.strides) if not isinstance(one, int))]

        type = group.memref
        dynamic = [*type.shape, *type.strides].count(None)
        pointer, *found = w.either(inside, loaded, lambda: [zero("ptr"), *([integer(0)] * dynamic)])
        rest = iter(found)
        # Sizes that the type has are none either where there is no member.
        shape = tuple(
            index(next(rest) if one is None else w.select(inside, integer(one), integer(0))) for one in type.shape
        )
        strides = tuple(index(next(rest)) if one is None else one for one in type.strides)
        self.set(op.result, MemRefHeld(type, pointer, index(0), shape, strides, group.name, group.align))

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Report a finding, unless another thread has done so."""
        w = self.w
        own = w.value(lane) if self.place.element_number is not None else integer(0)
        spmd = self.place.kind is RegionKind.SPMD
        where = (self.linear_group(), *((integer(0), own) if spmd else (integer(-1), integer(-1))))
        report(w, self.record, integer(site, "i32"), where, values, self.grid[:2])
