"""Tensor copies under way (PTX ISA "cp.async.bulk.tensor"): who starts them, who waits for them, and where.

Thread 0 of the work-group starts copies and waits for them; a barrier then tells the others. So nobody waits for a copy
that thread 0 did not start since it ended with a finding, and before it ends it waits for those that it started: what
the engine writes to must not be another work-group's by then.

Loads of one stretch of code are counted on one mbarrier in shared memory, which thread 0 alone uses: each adds its
bytes to what is expected, and the one arrival that completes a phase comes when it waits. Stores are one group.

What threads wrote is seen by the engine behind a proxy fence of who wrote it, and a barrier.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.nvptx.machine.writer import NvptxWriter
from girih.lazy_dataclass import dataclass

MOST_BYTES = 2**20 - 1
"""The bytes that an mbarrier counts at a time (PTX ISA "tx-count")."""
BARRIER_BYTES = 8

_FENCE = "fence.proxy.async;"


@dataclass(slots=True)
class CopiesUnderWay:
    """The copies that were started and not waited for, at the place of the code that is being written."""

    w: NvptxWriter
    thread: Val
    """The number of the thread in its work-group."""
    barrier: Val
    """The address of the mbarrier in shared memory, an i32."""
    phase: Val
    """Where each thread has the parity of the phase that copies are in, an i32."""
    loads: bool = False
    stores: bool = False
    expected: int = 0
    """A bound of the bytes of the loads."""

    @staticmethod
    def begin(w: NvptxWriter, thread: Val, barrier: Val) -> CopiesUnderWay:
        """None yet: the mbarrier is made ready."""
        phase = w.alloca("i32", 1)
        w.store(integer(0, "i32"), phase, 4)
        made = CopiesUnderWay(w, thread, barrier, phase)
        with made.by_one():
            made.line("mbarrier.init.shared::cta.b64 [$0], 1;", "r", barrier)
            made.line(_FENCE)
        return made

    @property
    def any(self) -> bool:
        """Whether any copy is under way."""
        return self.loads or self.stores

    def by_one(self) -> AbstractContextManager[None]:
        """A context for what thread 0 does."""
        return self.w.when(self.w.compare("eq", self.thread, integer(0)))

    def line(self, text: str, constraints: str = "", *operands: Val) -> None:
        """Write an instruction of PTX, with operands that it has as `$0` and so on."""
        listed = ",".join(part for part in (constraints, "~{memory}") if part)
        self.w.line(f'call void asm sideeffect "{text}", "{listed}"({", ".join(map(str, operands))})')

    def show(self) -> None:
        """Let the engine see what the thread wrote, once the thread has come to a barrier."""
        self.line(_FENCE)

    def wait(self) -> None:
        """Write what thread 0 waits with for all copies, in a context `by_one`."""
        w = self.w
        if self.stores:
            self.line("cp.async.bulk.commit_group;")
            self.line("cp.async.bulk.wait_group 0;")
        if not self.loads:
            return
        self.line("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", self.barrier)
        parity = w.load("i32", self.phase, 4)
        text = (
            "{ .reg .pred there; mbarrier.try_wait.parity.shared::cta.b64 there, [$1], $2; selp.b32 $0, 0, 1, there; }"
        )

        def asked() -> Val:
            asm = f'call i32 asm sideeffect "{text}", "=r,r,r,~{{memory}}"({self.barrier}, {parity})'
            return w.effect("i32", asm)

        w.repeat([asked()], lambda values: w.compare("ne", values[0], integer(0, "i32")), lambda values: [asked()])

    def settle(self) -> None:
        """Wait for all copies; the others know of it behind the next barrier, which must follow."""
        w = self.w
        with self.by_one():
            self.wait()
        if self.loads:
            w.store(w.binary("xor", w.load("i32", self.phase, 4), integer(1, "i32")), self.phase, 4)
        self.forget()

    def forget(self) -> None:
        """From here on none is under way."""
        self.loads = self.stores = False
        self.expected = 0
