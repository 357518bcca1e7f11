"""What a kernel is executed by: the interpreter, or machine code for a processor.

An executor is made when a program is loaded, so that what its target refuses is known before the first launch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from girih.diagnostics import CompileError, Diagnostic, GirihError, InternalError, LaunchError
from girih.ir.core import Function
from girih.recursion import recursion_room

if TYPE_CHECKING:
    from girih.back.llvm.assemble.assembler import Cpu
    from girih.back.llvm.cpu.compile import Lowered
    from girih.runtime.cpu.kernel import CpuKernel

CHECKS = ("bounds", "off")
"""How much compiled code checks: all accesses and what would end the process, or only the latter."""

INTERPRETER = "interpreter"
CPU = "cpu"


class Executor(Protocol):
    """Something that runs a kernel."""

    call: Callable[..., object]
    """`call(grid, *arguments)` runs the kernel and waits for it; what it returns, if not None, goes to `settle`."""

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """What is left to do after a call that returned something: mostly to raise what is to be raised."""

    def launch_with(self, options: Mapping[str, Any], grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Run the kernel with options of the target. Raises `TypeError` for options that it has not."""

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the kernel. Raises `CompileError` where there is none."""

    @property
    def assembly(self) -> str:
        """The machine code of the kernel as assembly. Raises `CompileError` where there is none."""


def executor_factory(target: str | None, checks: str) -> tuple[str, Callable[[Function], Executor]]:
    """A target in full, and what makes its executors: `interpreter`, `cpu`, or `cpu:` and the name of a processor.

    None is what `GIRIH_TARGET` says, `cpu` without it. Raises `ValueError` for an unknown target, processor or mode of
    checks, and `TypeError` for what is no string.
    """
    if target is None:
        target = os.environ.get("GIRIH_TARGET") or CPU
        checks = "bounds" if target == INTERPRETER else checks
    for name, given in (("target", target), ("checks", checks)):
        if not isinstance(given, str):
            raise TypeError(f"{name} is a string; got {given!r}")
    if checks not in CHECKS:
        raise ValueError(f"there is no mode of checks {checks!r}; the modes are {', '.join(CHECKS)}")
    if target == INTERPRETER:
        if checks != "bounds":
            raise ValueError(f"the interpreter always checks everything; checks={checks!r} is for compiled code")
        return target, InterpreterExecutor
    cpu = processor(target)
    return target, lambda function: CpuExecutor(function, cpu, checks, target)


def processor(target: str) -> Cpu:
    """The processor of a target: `cpu` or `cpu:NAME`. Raises `ValueError` for another target or an unknown name."""
    kind, _, name = target.partition(":")
    if kind != CPU or (":" in target and not name):
        raise ValueError(
            f"there is no target {target!r}; the targets are interpreter, cpu, and cpu:NAME for a processor by name"
        )
    from girih.back.llvm.assemble.assembler import Cpu

    return Cpu.named(name) if name else Cpu.host()


def _made_again(target: str, checks: str, function: Function) -> Executor:
    """An executor from its pickle."""
    return executor_factory(target, checks)[1](function)


class InterpreterExecutor:
    """The interpreter, with every access checked."""

    __slots__ = ("_function", "call")

    def __init__(self, function: Function) -> None:
        self._function = function
        self.call: Callable[..., object] = self._call

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (INTERPRETER, "bounds", self._function)

    def _call(self, grid: tuple[int, int, int], *arguments: object) -> None:
        self.launch_with({}, grid, arguments)

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Nothing is left to do."""

    def launch_with(self, options: Mapping[str, Any], grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """See `girih.interpreter.launch.launch`."""
        from girih.interpreter.launch import launch

        launch(self._function, grid, arguments, **options)

    @property
    def llvm_ir(self) -> str:
        refuse_form(self._function, INTERPRETER, "LLVM IR")

    @property
    def assembly(self) -> str:
        refuse_form(self._function, INTERPRETER, "assembly")


class CpuExecutor:
    """Machine code for a processor; it can be launched where this machine has what the code needs."""

    __slots__ = ("_checks", "_cpu", "_function", "_target", "call", "settle")

    def __init__(self, function: Function, cpu: Cpu, checks: str, target: str) -> None:
        from girih.back.llvm.assemble.assembler import Cpu as Processor

        self._function, self._cpu, self._checks, self._target = function, cpu, checks, target
        missing = cpu.missing_on(Processor.host())
        if missing:
            lowered(function, cpu, checks)
            self.call: Callable[..., object] = lambda *_: missing
            self.settle: Callable[..., None] = self._refuse
            return
        kernel = linked(function, cpu, checks)
        self.call, self.settle = kernel.call, kernel.settle

    def __reduce__(self) -> tuple[object, ...]:
        # Machine code stays here: another process, perhaps on another machine, compiles for itself.
        return _made_again, (self._target, self._checks, self._function)

    def _refuse(self, missing: tuple[str, ...], grid: tuple[int, int, int], arguments: Sequence[object]) -> NoReturn:
        """Say that this machine cannot execute the code."""
        message = f"code for {self._cpu} cannot run on this machine: it needs {', '.join(missing)}"
        hint = "load the program with target='cpu' to run it here"
        raise LaunchError([Diagnostic("bind.target", message, self._function.span, hint=hint)])

    def launch_with(self, options: Mapping[str, Any], grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """There are no options."""
        raise TypeError(f"{', '.join(options)}: options of the interpreter; load the program with "
                        "target='interpreter' to use them")  # fmt: skip

    @property
    def llvm_ir(self) -> str:
        return lowered(self._function, self._cpu, self._checks).text

    @property
    def assembly(self) -> str:
        return assembled(self._function, self._cpu, self._checks)


def assembled(function: Function, cpu: Cpu, checks: str) -> str:
    """A kernel as assembly. Raises what `lowered` does."""
    from girih.back.llvm.assemble import assembler

    made = lowered(function, cpu, checks)
    return assembler.assembly(made.text, cpu, made.optimize)


def lowered(function: Function, cpu: Cpu, checks: str) -> Lowered:
    """A kernel as LLVM IR.

    Raises `CompileError` for what the target refuses, and `InternalError` for a fault of girih's own.
    """
    from girih.back.llvm.cpu.compile import lower
    from girih.back.llvm.cpu.machine.target import CpuTarget

    try:
        with recursion_room():
            return lower(function, CpuTarget.of(cpu), checks=checks == "bounds")
    except (GirihError, MemoryError):
        raise
    except Exception as error:
        what = f"the code generator failed in @{function.name}: {type(error).__name__}: {error}"
        raise InternalError(what) from error


def linked(function: Function, cpu: Cpu, checks: str) -> CpuKernel:
    """The kernel in memory, compiled now or before. Raises what `lowered` does."""
    from girih.back.llvm.assemble.assembler import assemble
    from girih.back.llvm.cpu.machine.abi import CompiledKernel
    from girih.runtime.cache import Cache, kernel_key
    from girih.runtime.cpu.kernel import CpuKernel

    cache = Cache.standard()
    key = kernel_key(function, checks, cpu.identity)
    kept = cache.get(key)
    if kept is not None:
        return CpuKernel(function, CompiledKernel.from_bytes(kept))
    made = lowered(function, cpu, checks)
    compiled = replace(made.kernel, object=assemble(made.text, cpu, made.optimize))
    cache.put(key, compiled.to_bytes())
    return CpuKernel(function, compiled)


def refuse_form(function: Function, target: str, what: str) -> NoReturn:
    """Say that a target has no such form of a kernel."""
    message = f"the target {target!r} emits no {what}"
    raise CompileError([Diagnostic("run.emit", message, function.span, hint="`str(kernel.ir)` shows the program")])
