"""Kernels compiled for an architecture: PTX and machine code, from the cache on disk, or made now and kept there.

A kernel whose PTX and machine code are kept is loaded without LLVM and without an assembler.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from girih.back.llvm.assemble.assembler import llvm_files
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.kernel import USUAL, CudaVariant, PtxKernel
from girih.diagnostics import Diagnostic
from girih.facts.remarks import Remarks
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.lazy_dataclass import dataclass
from girih.runtime.cache import Cache, digest, kernel_key
from girih.runtime.cuda.code.assembler import assemble, assemblers
from girih.runtime.cuda.code.resources import KernelResources
from girih.runtime.cuda.driver import CudaFault, NoCudaError, call
from girih.source import Span


@dataclass(frozen=True, slots=True)
class CompiledFor:
    """What a kernel is compiled for: an architecture, a mode of checks, and the limits of the target."""

    architecture: NvidiaArchitecture
    checks: str
    limits: DeviceLimits


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The machine code of a kernel, and what it takes of a multiprocessor, where the assembler said it."""

    cubin: bytes
    resources: KernelResources | None

    def to_bytes(self) -> bytes:
        """The code as bytes: the length of a JSON header in 8 bytes, the header, then the code."""
        text = json.dumps(None if self.resources is None else asdict(self.resources)).encode()
        return len(text).to_bytes(8, "little") + text + self.cubin

    @staticmethod
    def from_bytes(data: bytes) -> MachineCode:
        """The code that `to_bytes` wrote. Raises `ValueError` for other bytes."""
        end = 8 + int.from_bytes(data[:8], "little")
        try:
            held = json.loads(data[8:end])
            return MachineCode(data[end:], None if held is None else KernelResources(**held))
        except (TypeError, ValueError) as error:
            raise ValueError(f"these bytes hold no machine code: {error}") from None


def ptx_kernel(function: Function, compiled_for: CompiledFor, variant: CudaVariant = USUAL) -> PtxKernel:
    """The kernel in PTX, which leaves no remarks. Raises `CompileError` where the architecture cannot execute it."""
    one, cache = compiled_for, Cache.standard()
    what = f"cuda {one.architecture.name} {variant}"
    key = kernel_key(function, one.checks, what, one.limits, llvm_files())
    kept = cache.get(key)
    if kept is not None:
        try:
            return PtxKernel.from_bytes(kept)
        except ValueError as error:
            cache.drop(key, str(error))
    from girih.back.llvm.nvptx.compile import compile_kernel

    checks = one.checks == "bounds"
    made = compile_kernel(function, one.architecture, checks=checks, limits=one.limits, variant=variant)
    cache.put(key, made.to_bytes())
    return made


def machine_code(kernel: PtxKernel, *, for_device: bool = False) -> MachineCode | None:
    """The machine code of a kernel; None where there is no assembler.

    With `for_device` it is to be launched on the thread's current device, whose driver has an assembler, too. Raises
    `InternalError` where all assemblers refuse it.
    """
    asked, cache = list(assemblers(for_device=for_device, whole=kernel.is_tile_program)), Cache.standard()
    # It makes the code, or refuses it every time.
    who = [one.identity for one in asked[:1]]
    key = digest("cubin", kernel.ptx, kernel.architecture, _driver_version(), *who)
    kept = cache.get(key)
    if kept is not None:
        try:
            return MachineCode.from_bytes(kept)
        except ValueError as error:
            cache.drop(key, str(error))
    assembled = assemble(kernel.ptx, kernel.architecture, iter(asked))
    if assembled is None:
        return None
    made = MachineCode(assembled.cubin, KernelResources.in_log(assembled.log, kernel.entry))
    cache.put(key, made.to_bytes())
    return made


def resource_remarks(kernel: PtxKernel, architecture: NvidiaArchitecture, span: Span) -> tuple[Diagnostic, ...]:
    """The remark on what a kernel takes, where there is an assembler that says it."""
    code = machine_code(kernel)
    if code is None or code.resources is None:
        return ()
    remarks = Remarks("cuda")
    remarks.note(code.resources.remark(architecture, kernel.threads, kernel.shared_bytes), span)
    return remarks.diagnostics()


def _driver_version() -> str:
    try:
        return str(call("cuDriverGetVersion"))
    except (NoCudaError, CudaFault):
        return ""
