"""Machine code for a processor as a target: from a kernel to code that is linked, or that is only read.

An executor is made when a program is loaded, so that a target's refusal comes before the first launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from girih.back.llvm.assemble.assembler import Cpu, assemble, assembly
from girih.diagnostics import Diagnostic, GirihError, InternalError, LaunchError
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.recursion import recursion_room

if TYPE_CHECKING:
    from girih.back.llvm.cpu.compile import Lowered
    from girih.back.llvm.cpu.machine.abi import CompiledKernel
    from girih.runtime.cache import Cache
    from girih.runtime.cpu.kernel import CpuKernel

__all__ = ["CpuExecutor", "assembled", "compiled", "linked", "lowered", "processor"]


def processor(name: str) -> Cpu:
    """A processor by LLVM's name, this machine's for an empty one. Raises `ValueError` for a name that is not known."""
    return Cpu.named(name) if name else Cpu.host()


class CpuExecutor:
    """Machine code for a processor; it can be launched on a machine that has all features that the code needs.

    `name` is the name that the processor was given, from which another process finds it again. Raises as `lowered`.
    """

    __slots__ = ("_checks", "_cpu", "_function", "_limits", "_name", "call", "settle", "subgroup_size")

    def __init__(self, function: Function, name: str, cpu: Cpu, checks: str, limits: DeviceLimits) -> None:
        self._function, self._name, self._cpu, self._checks = function, name, cpu, checks
        self._limits = limits
        self.subgroup_size: int | None = None
        missing = _missing_here(function, cpu)
        if missing:
            lowered(function, cpu, checks, limits)
            self.call: Callable[..., object] = lambda *_: missing
            self.settle: Callable[..., None] = self._refuse
            return
        kernel = linked(function, cpu, checks, limits)
        self.call, self.settle = kernel.call, kernel.settle
        self.subgroup_size = kernel.compiled.subgroup_size

    def __reduce__(self) -> tuple[object, ...]:
        # Machine code stays here: another process, perhaps on another machine, compiles for itself.
        return _executor_here, (self._function, self._name, self._checks, self._limits)

    def _refuse(self, missing: tuple[str, ...], grid: tuple[int, int, int], arguments: Sequence[object]) -> NoReturn:
        """Raise `LaunchError`, because this machine cannot execute the code."""
        message = f"code for {self._cpu} cannot run on this machine: it needs {', '.join(missing)}"
        hint = "load the program with target='cpu' to run it here"
        raise LaunchError([Diagnostic("bind.target", message, self._function.span, hint=hint)])

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """None: no launch leaves any."""
        return ()

    def with_options(self, options: Mapping[str, Any]) -> CpuExecutor:
        """This executor itself, since compiled code has no options of a launch."""
        return self


def _executor_here(function: Function, name: str, checks: str, limits: DeviceLimits) -> CpuExecutor:
    return CpuExecutor(function, name, processor(name), checks, limits)


def _missing_here(function: Function, cpu: Cpu) -> tuple[str, ...]:
    """The needs of a function's code for a processor that this machine lacks, or that its system refuses."""
    from girih.runtime.cpu.machine import amx_permitted, target_of

    missing = cpu.missing_on(Cpu.host())
    if missing or not target_of(function, cpu).amx or amx_permitted():
        return missing
    return ("amx-tile, which the system refuses",)


def assembled(function: Function, cpu: Cpu, checks: str, limits: DeviceLimits = DEFAULT_LIMITS) -> str:
    """The kernel as assembly, with lines of the program. Raises `CompileError` for a kernel that the target refuses."""
    made = lowered(function, cpu, checks, limits, lines=True)
    return assembly(made.text, cpu, made.optimize)


def lowered(
    function: Function, cpu: Cpu, checks: str, limits: DeviceLimits = DEFAULT_LIMITS, *, lines: bool = False
) -> Lowered:
    """The kernel as LLVM IR, with what a launch must know of it; with `lines`, it says where instructions come from.

    Raises `CompileError` for a kernel that the target refuses, and `InternalError` for a defect of girih.
    """
    from girih.back.llvm.cpu.compile import lower
    from girih.runtime.cpu.machine import target_of

    try:
        with recursion_room():
            return lower(function, target_of(function, cpu), checks=checks == "bounds", limits=limits, lines=lines)
    except (GirihError, MemoryError):
        raise
    except Exception as error:
        what = f"the code generator failed in @{function.name}: {type(error).__name__}: {error}"
        raise InternalError(what) from error


def linked(function: Function, cpu: Cpu, checks: str, limits: DeviceLimits = DEFAULT_LIMITS) -> CpuKernel:
    """The kernel in memory, compiled now or before. Raises `CompileError` for a kernel that the target refuses."""
    from girih.runtime.cache import Cache, kernel_key
    from girih.runtime.compiled.jit import for_debuggers
    from girih.runtime.cpu.kernel import CpuKernel
    from girih.runtime.cpu.machine import code_identity

    cache = Cache.standard()
    lines = ":lines" if for_debuggers() else ""
    key = kernel_key(function, checks, code_identity(function, cpu) + lines, limits)
    kept = _kept(function, cache, key)
    if kept is not None:
        return kept
    made = compiled(function, cpu, checks, limits)
    cache.put(key, made.to_bytes())
    return CpuKernel(function, made)


def compiled(function: Function, cpu: Cpu, checks: str, limits: DeviceLimits) -> CompiledKernel:
    """The kernel with its object file, compiled now. Raises `CompileError` for a kernel that the target refuses."""
    from girih.runtime.compiled.jit import for_debuggers

    made = lowered(function, cpu, checks, limits, lines=for_debuggers())
    return replace(made.kernel, object=assemble(made.text, cpu, made.optimize))


def _kept(function: Function, cache: Cache, key: str) -> CpuKernel | None:
    """The kernel from the cache; None where it has no entry, or one that turns out to be of no use."""
    from girih.back.llvm.cpu.machine.abi import CompiledKernel
    from girih.runtime.compiled.jit import link
    from girih.runtime.cpu.kernel import CpuKernel

    kept = cache.get(key)
    if kept is None:
        return None
    try:
        made = CompiledKernel.from_bytes(kept)
        code = link(made.object, [made.symbol])
    except (ValueError, InternalError) as error:
        cache.drop(key, error.message if isinstance(error, InternalError) else str(error))
        return None
    return CpuKernel(function, made, code)
