"""The machine that an NVIDIA GPU is for lowerings: a work-item is a thread, a subgroup a warp or a part of one.

`girih.back.llvm.lower.machine` says what a machine is, `lower/one_lane` has what all do whose work-items are threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from girih.analysis.prints import prints_of
from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Operand, Val, bits, integer, pointer, stored_bytes
from girih.back.llvm.lower.launch.reporter import report
from girih.back.llvm.numbers.values import MemRefHeld, Scalar
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.copies import CopiesUnderWay
from girih.back.llvm.nvptx.machine.meeting import (
    AT_ONCE,
    all_come_to,
    early_part,
    have_meetings,
    meet_in_subgroups,
)
from girih.back.llvm.nvptx.machine.offsets import offset_of
from girih.back.llvm.nvptx.machine.writer import NvptxWriter
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.types import I32, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For
from girih.ops.tile.memory import LifetimeStop, Scope
from girih.ops.tile.tensor_map import TensorCopy

FEATURES = Features(f16=True, fma=True, bf16=True)
"""What all architectures from sm_80 on have for arithmetic."""

WARP = 32
"""The threads that execute instructions together."""

SHARED = pointer(3)
MEMORY = Val("@girih_local", SHARED)
"""The memory that a work-group shares; how much there is, a launch says."""


@dataclass(frozen=True, slots=True)
class PackedWorkGroups:
    """Work-groups that a CTA executes side by side: so many neighbours along x, with so many threads and bytes of
    shared memory each.

    `together`, the threads of a warp compute for all of its work-groups, so that they come together at barriers, and
    those whose work-group is beyond the grid stay: they do what the last one does, but write nothing.
    """

    count: int
    threads: int
    bytes: int
    together: bool = False


_ALL = -1
_WORD = 8
"""The bytes of a part that goes from one work-item to another through memory."""


@dataclass(slots=True, kw_only=True)
class CudaCode(FragmentCode):
    """The code of a thread."""

    writer: NvptxWriter
    """The writer `w`, with what only it can do."""
    architecture: NvidiaArchitecture
    record: Val
    """The address of the failure record of the launch."""
    prints: Val | None = None
    """The address of the memory for the records of prints; None in kernels without."""
    print_step: Val | None = None
    """Where the thread counts the steps of prints (`girih.analysis.prints`)."""
    packing: PackedWorkGroups | None = None
    """How work-groups are packed; the threads, their numbers and barriers are those of one of them."""
    slot: Operand = 0
    """The number of the work-group among those that are packed."""
    beyond: Val | None = None
    """Whether the work-group is beyond the grid; None where the threads of such ones have ended."""
    has_engine: bool
    """Whether the engine of the device may make tensor copies."""
    copies: CopiesUnderWay | None = None
    """The tensor copies under way; None in kernels without."""
    encoded: set[Value] = field(default_factory=set)
    """The tensor maps that the engine reads."""
    arrays: dict[str, int] = field(default_factory=dict)
    """The bytes of the arrays that the work-group shares besides local memory, by what is in them."""

    @contextmanager
    def at(self, **changes: Any) -> Iterator[None]:
        """A context in which code is lowered for another place."""
        with FragmentCode.at(self, **changes):
            before, self.writer.ahead = self.writer.ahead, self.place.kind is RegionKind.SPMD
            yield
            self.writer.ahead = before

    @property
    def features(self) -> Features:
        return FEATURES

    def lower(self, op: Op) -> None:
        """Lower one instruction; before one that prints in its turn, the work-group is a step further."""
        if self.print_step is not None and op in prints_of(self.function).steps:
            self.w.store(self.w.add(self.w.load("i64", self.print_step, 8), 1), self.print_step, 8)
        if self.copies is not None and self.copies.any and self._needs_copies(op):
            self.barrier()
        FragmentCode.lower(self, op)

    def offset_of(self, memref: MemRefHeld, indices: Sequence[Scalar]) -> Scalar:
        found = offset_of(self, self.writer, memref, indices)
        return FragmentCode.offset_of(self, memref, indices) if found is None else found

    @property
    def checks_delay(self) -> bool:
        return True

    @property
    def capability(self) -> tuple[int, int]:
        return self.architecture.capability

    def _write(self, region: Region) -> None:
        """Lower the instructions of a region, at whose end no copies are under way: loops come to it again."""
        FragmentCode._write(self, region)
        if self.copies is None or not self.copies.any:
            return
        if self.reached:
            self.barrier()
        else:
            self.copies.forget()

    def _needs_copies(self, op: Op) -> bool:
        """Whether an instruction comes after the copies under way: barriers wait for them themselves.

        In a collective region every instruction that is no copy does, but for those that touch no memory.
        """
        if op.regions or isinstance(op, LifetimeStop):
            return True
        touches = op.spec.reads or op.spec.writes
        return self.place.kind is RegionKind.COLLECTIVE and touches and not isinstance(op, TensorCopy)

    def has_engine_for(self, op: TensorCopy) -> bool:
        """Whether the device's engine makes a copy."""
        return self.has_engine and (self.architecture.gathers or not op.mode.by_rows)

    def writes_versions(self, loop: Op, *by: Value) -> bool:
        """Whether all threads that meet in the loop take the same version, or no threads meet in it.

        Those of a subgroup that all come to the loop agree on one, others need values that are the same in all of them.
        Subgroups may take different ones: a barrier counts threads, wherever they come to it.
        """
        return self.place.kind is RegionKind.COLLECTIVE or not self.varies(*by) or self._agree(loop)

    def _agree(self, loop: Op) -> bool:
        """Whether the threads of a subgroup can agree on a version, or need not."""
        return not have_meetings(loop) or (meet_in_subgroups(loop) and all_come_to(self.function, loop))

    def chosen(self, loop: Op, condition: Val) -> Val:
        """The condition; where threads of a subgroup meet in the loop, that it holds for all of them."""
        collective = self.place.kind is RegionKind.COLLECTIVE
        if collective or condition.literal is not None or not have_meetings(loop) or not self._agree(loop):
            return condition
        name = "llvm.nvvm.vote.all.sync"
        self.module.declare(name, "i1", ("i32", "i1"))
        return self.w.effect("i1", f"call i1 @{name}({self.members()}, {condition})")

    def iterations_at_once(self, loop: For) -> tuple[int, int]:
        """Several of a loop in which threads of a subgroup meet, unless checks or other threads are between them."""
        checked = self.checks and not self.place.versioned
        if self.place.kind is not RegionKind.SPMD or checked or self.place.careful or not self.arguments_apart:
            return 1, 0
        early = early_part(self.function, loop) if have_meetings(loop) and meet_in_subgroups(loop) else 0
        return (AT_ONCE, early) if early else (1, 0)

    # --- together ------------------------------------------------------------------------

    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Nothing: who does not come is not known on a device."""

    def barrier(self) -> None:
        if self.copies is not None:
            if self.copies.any:
                self.copies.settle()
            if self.writer.apart:
                self.copies.show()
        self.writer.barrier()

    def subgroup_barrier(self) -> None:
        name = "llvm.nvvm.bar.warp.sync"
        self.module.declare(name, "void", ("i32",))
        self.w.run(name, self.members())

    def members(self) -> Val:
        """The mask of the threads of a warp that are those of this subgroup."""
        size = self.geometry.subgroup_size
        if size == WARP:
            return integer(_ALL, "i32")
        first = self.w.binary("and", self.warp_lane(), integer(-size, "i32"))
        return self.w.binary("shl", integer((1 << size) - 1, "i32"), first)

    def warp_lane(self) -> Val:
        """The number of the thread in its warp."""
        if self.geometry.subgroup_size == WARP:
            return self.lane
        return self.w.convert("trunc", self.w.binary("and", self.thread, integer(WARP - 1)), "i32")

    def exchanged(self, part: Val, source: Val, *, work_group: bool = False) -> Val:
        if work_group:
            return self._through_memory(part, source)
        return self.shuffled("idx", part, source)

    def across(self, part: Val, distance: int) -> Val:
        return self.shuffled("bfly", part, integer(distance, "i32"))

    def below(self, part: Val, distance: int) -> Val:
        return self.shuffled("up", part, integer(distance, "i32"))

    def reduced_at_once(self, operator: str, type: Number, parts: tuple[Val, ...]) -> tuple[Val, ...] | None:
        """A reduction of i32 in a whole warp (PTX ISA "redux.sync")."""
        if type != I32 or self.geometry.subgroup_size != WARP:
            return None
        name = f"llvm.nvvm.redux.sync.{operator}"
        self.module.declare(name, "i32", ("i32", "i32"))
        return (self.w.effect("i32", f"call i32 @{name}({parts[0]}, {self.members()})"),)

    def shuffled(self, mode: str, part: Val, by: Val) -> Val:
        """The part that another work-item of the subgroup has: by its number (`idx`), or by what its number differs in
        (`bfly`) or is less by (`up`); with `up`, the own part where there is none."""
        w, width = self.w, bits(part.type)
        whole = part if part.type.startswith("i") else w.convert("bitcast", part, f"i{width}")
        if width == 64:
            high = w.convert("trunc", w.binary("lshr", whole, integer(32)), "i32")
            halves = [self._shuffled(mode, one, by) for one in (w.convert("trunc", whole, "i32"), high)]
            low, high = (w.convert("zext", one, "i64") for one in halves)
            found = w.binary("or", low, w.binary("shl", high, integer(32)))
        elif width == 32:
            found = self._shuffled(mode, whole, by)
        else:
            wide = self._shuffled(mode, w.convert("zext", whole, "i32"), by)
            found = w.convert("trunc", wide, whole.type)
        return found if found.type == part.type else w.convert("bitcast", found, part.type)

    def _shuffled(self, mode: str, word: Val, by: Val) -> Val:
        name = f"llvm.nvvm.shfl.sync.{mode}.i32"
        self.module.declare(name, "i32", ("i32",) * 4)
        size = self.geometry.subgroup_size
        # PTX ISA "shfl.sync": the lanes of a segment, and the last (for `up` the first) one in it that is read.
        segments = (WARP - size) << 8 | (0 if mode == "up" else WARP - 1)
        operands = (self.members(), word, by, integer(segments, "i32"))
        return self.w.effect("i32", f"call i32 @{name}({', '.join(map(str, operands))})")

    def _through_memory(self, part: Val, source: Val) -> Val:
        """The part that a work-item of the work-group has: each writes its own, waits, reads, and waits again."""
        w = self.w
        memory = self.array("exchange", _WORD * self.geometry.subgroups * self.geometry.subgroup_size)
        stored = w.convert("zext", part, "i8") if part.type == "i1" else part
        align = stored_bytes(stored.type)
        w.store(stored, w.at(memory, w.mul(self.thread, _WORD)), align)
        self.barrier()
        found = w.load(stored.type, w.at(memory, w.mul(w.convert("sext", source, "i64"), _WORD)), align)
        self.barrier()
        return w.convert("trunc", found, "i1") if part.type == "i1" else found

    # --- memory --------------------------------------------------------------------------

    def local(self, size: int, align: int) -> Val:
        return self.w.at(MEMORY, self.frame.take(size, align))

    def private(self, type: str, count: int) -> Val:
        return self.w.alloca(type, count)

    def shared(self, type: str, count: int) -> Val:
        return self.array(type, count * stored_bytes(type))

    def array(self, name: str, size: int) -> Val:
        """The address of the kernel's only array of a name that the work-group shares, of at least so many bytes.

        It lies behind local memory, where its place is known in the end only: LLVM folds the constant with that.
        """
        self.arrays[name] = max(size, self.arrays.get(name, 0))
        begin = Val(f"@{array_begin(name)}", "ptr")
        return self.w.at(MEMORY, self.w.pure("i64", f"load i64, {begin}, align 8", (begin,)))

    def own_array(self, name: str, size: int) -> Val:
        """The address of an array as above that each of several packed work-groups has for itself."""
        if self.packing is None:
            return self.array(name, size)
        assert size <= self.packing.bytes, "packed work-groups have the memory that they need"
        memory = self.array(name, self.packing.count * self.packing.bytes)
        return self.w.at(memory, self.w.mul(self.slot, self.packing.bytes))

    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        """A work-group's or a device's. Wider accesses are `""`; girih.back.llvm.nvptx.atomics makes them so."""
        if local or scope is Scope.WORK_GROUP:
            return "block"
        return "device" if scope is Scope.DEVICE else ""

    def linear_group(self) -> Val:
        """The number of the work-group in the grid, an i64."""
        w, (x, y, z) = self.w, self.group
        return w.add(x, w.mul(self.grid[0], w.add(y, w.mul(self.grid[1], z))))

    # --- leaving -------------------------------------------------------------------------

    def ask(self) -> None:
        """Nothing: nobody ends a launch from outside."""

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Report a finding, unless another thread has done so, and end the thread.

        A barrier of the work-group waits for no thread that has ended (PTX ISA "bar", measured on an H200).
        """
        w = self.w
        spmd = self.place.kind is RegionKind.SPMD
        own = w.value(lane) if self.place.element_number is not None else w.convert("sext", self.lane, "i64")
        where = (self.linear_group(), *((self.subgroup, own) if spmd else (integer(-1), integer(-1))))
        report(w, self.record, integer(site, "i32"), where, values, self.grid[:2])
        if self.copies is not None and self.copies.any:
            with self.copies.by_one():
                self.copies.wait()
        self.module.declare("llvm.nvvm.exit", "void", ())
        w.run("llvm.nvvm.exit")
        w.unreachable()


def array_begin(name: str) -> str:
    """The name of the constant that says where the array of a name begins in the memory of a work-group."""
    return f"girih_{name}_begin"
