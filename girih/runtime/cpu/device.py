"""A processor as the device of a target: its executors, and its code as LLVM IR or assembly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.cpu.amx import sizes
from girih.back.llvm.cpu.amx.tiles import factors_of
from girih.back.llvm.cpu.machine.tiles import attention_tile, product_tile
from girih.diagnostics import Diagnostic
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.ir.types import F32, Number
from girih.lazy_dataclass import dataclass
from girih.runtime.cpu.executor import CpuExecutor, assembled, lowered, processor
from girih.runtime.cpu.machine import facts_of
from girih.runtime.cpu.pool import thread_count

if TYPE_CHECKING:
    from girih.runtime.device import ExecutionSummary

_GROUPS_OF_A_THREAD = 2
"""Work-groups of a large product: each packs factors for itself, so that more of them cost time."""


@dataclass(frozen=True, slots=True)
class CpuDevice:
    """A processor: this machine's for the empty name, otherwise one by LLVM's name, with a triple or without."""

    name: str
    cpu: Cpu

    @staticmethod
    def named(name: str) -> CpuDevice:
        """The processor of a name. Raises `ValueError` for one that is not known."""
        return CpuDevice(name, processor(name))

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> CpuExecutor:
        """Code for the processor, linked where this machine can execute it. Raises what `lowered` does."""
        return CpuExecutor(function, self.name, self.cpu, settings["checks"], limits)

    def product_groups(self) -> int:
        """Several work-groups for each thread of this process, as threads are not equally fast; one for one thread."""
        threads = thread_count()
        return threads * _GROUPS_OF_A_THREAD if threads > 1 else 1

    def product_tile(self, factors: Number, sums: Number) -> tuple[int, int, int]:
        """Rows, columns and depth of tiles of products of a type."""
        facts = facts_of(self.cpu)
        if factors_of(facts, factors, factors, sums) is not None:
            return sizes.product_tile(facts.machine, factors)
        return product_tile(facts.machine, sums.size)

    def attention_tile(self, type: Number) -> tuple[int, int]:
        """Queries and keys of tiles of attention on numbers of a type, whose products have sums in f32."""
        facts = facts_of(self.cpu)
        if factors_of(facts, type, type, F32) is not None:
            return sizes.attention_tile(facts.machine)
        return attention_tile(facts.machine)

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str:
        """The code of a kernel as `llvm` or `asm`, or the remarks on it as text; nothing is made ready to run.

        Raises what `lowered` does.
        """
        if form == "remarks":
            return "\n\n".join(remark.render() for remark in self.remarks(function, settings, limits))
        if form == "llvm":
            return lowered(function, self.cpu, settings["checks"], limits, lines=True).text
        return assembled(function, self.cpu, settings["checks"], limits)

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        """The remarks on a kernel, which is lowered for them; code from the cache has the same. Raises as `lowered`."""
        return lowered(function, self.cpu, settings["checks"], limits).remarks

    def summary(self) -> ExecutionSummary:
        """The summary of how the processor executes the language."""
        from girih.runtime.cpu.summary import summary_of

        return summary_of(self.cpu)
