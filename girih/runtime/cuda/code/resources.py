"""What a kernel takes of a multiprocessor, as the assembler says it: registers, spills, memory; and how many fit."""

from __future__ import annotations

import re

from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.facts.remarks import RemarkWords
from girih.lazy_dataclass import dataclass

_ENTRY = "Compiling entry function '{}'"
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_LOSS = re.compile(r"\((C75\d\d)\) Potential Performance Loss: ([^\n]*)")
_WARP = 32
_REGISTERS_AT_ONCE = 256
"""The registers of a warp are a multiple of this (CUDA programming guide, "Technical Specifications")."""
_RESERVED_BYTES = 1024
"""The shared memory that the system has of each work-group, there."""


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What a thread of a kernel takes: registers, bytes of its stack, bytes that are stored and loaded as spills.

    `loss` is why asynchronous products are slower than they could be, as the assembler says it; empty for all others.
    """

    registers: int
    stack_bytes: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    loss: str = ""

    @staticmethod
    def in_log(log: str, entry: str) -> KernelResources | None:
        """What the verbose log of an assembler says of an entry; None where it says nothing."""
        _, found, text = log.partition(_ENTRY.format(entry))
        registers, spills = _REGISTERS.search(text), _SPILLS.search(text)
        if not found or registers is None:
            return None
        stack, stores, loads = map(int, spills.groups()) if spills else (0, 0, 0)
        losses = dict.fromkeys(f"{code}: {words.strip()}" for code, words in _LOSS.findall(log))
        return KernelResources(int(registers[1]), stack, stores, loads, "; ".join(losses))

    def work_groups(self, architecture: NvidiaArchitecture, threads: int, shared_bytes: int) -> int:
        """How many work-groups a multiprocessor has at a time, by what it has of everything."""
        warps = -(-threads // _WARP)
        of_a_warp = -(-self.registers * _WARP // _REGISTERS_AT_ONCE) * _REGISTERS_AT_ONCE
        whole = architecture.shared_bytes + _RESERVED_BYTES
        return min(
            architecture.work_groups,
            architecture.warps // warps,
            architecture.registers // (of_a_warp * warps),
            whole // (shared_bytes + _RESERVED_BYTES),
        )

    def remark(self, architecture: NvidiaArchitecture, threads: int, shared_bytes: int) -> RemarkWords:
        """The words for what the kernel takes, and for how much of a multiprocessor it fills."""
        count = self.work_groups(architecture, threads, shared_bytes)
        warps = count * -(-threads // _WARP)
        spilled = "no spills"
        if self.spill_stores or self.spill_loads:
            spilled = f"spills of {self.spill_stores} bytes stored and {self.spill_loads} loaded"
        message = (
            f"a thread takes {self.registers} registers, {spilled}, a work-group {shared_bytes} bytes of local memory: "
            f"{count} work-groups, {warps} of {architecture.warps} warps, are on a multiprocessor of "
            f"{architecture.name} at a time"
        )
        if self.loss:
            hint = "put ptxas of NVIDIA's toolkit on the path: it assembles the kernel as a whole"
            return RemarkWords("resources", f"{message}; the assembler loses speed ({self.loss})", hint)
        hint = "fewer live values, a smaller work-group or less local memory let more be there at a time"
        return RemarkWords("resources", message, hint)
