"""Compiled kernels on the processor of this machine: arguments in, findings out, arrays changed in place.

Arguments that are wrong are refused before anything runs, exactly as by the interpreter. A check of the kernel that
fails ends the launch: no further work-group is started, those that run are waited for, and `KernelError` says what was
found. What the kernel had written by then stays written, unlike in the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from girih.analysis.prints import prints_of
from girih.arguments import arrays
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.views import as_array
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.diagnostics import Diagnostic, KernelError, LaunchError
from girih.ir.core import Function
from girih.ir.types import INDEX, GroupType, MemRef, Type
from girih.runtime.compiled import slots
from girih.runtime.compiled.jit import Linked, link
from girih.runtime.compiled.printing import PrintRecords
from girih.runtime.compiled.record import finding_in
from girih.runtime.cpu.entry import KernelEntry
from girih.runtime.cpu.launcher import Launcher, launcher
from girih.runtime.cpu.plain import PlainLaunch
from girih.runtime.cpu.pool import process_pool
from girih.source import NOWHERE

__all__ = ["CpuKernel"]

_NO_PLACE = ArgumentPlace("", 0, NOWHERE)

_PRINTS = arrays.ParameterSpec("", INDEX)
"""One more argument of a kernel that prints: the address of the memory for that."""


class CpuKernel:
    """A kernel that is linked and ready to be launched. Its code is unloaded with this object.

    `launch` is the whole of a launch. `call(grid, *arguments)` is the fast way, for callers who pass a result other
    than None to `settle`, with the grid and the arguments again. `code` is the kernel's code where it is linked
    already. With `plain`, and where this process has no launcher, launches go through Python alone, on the calling
    thread (`girih.runtime.cpu.plain`).
    Raises `InternalError` where the code cannot be linked, and `SettingError` for a wrong `GIRIH_NUM_THREADS`.
    """

    __slots__ = ("_entry", "_fast", "_linked", "_specs", "_types", "call", "compiled", "function")

    def __init__(
        self, function: Function, compiled: CompiledKernel, code: Linked | None = None, *, plain: bool = False
    ) -> None:
        self.function = function
        self.compiled = compiled
        self._specs = arrays.specifications(function)
        self._types = [p.type for p in function.parameters]
        self._linked = code or link(compiled.object, [compiled.symbol])
        self._entry = self._entry_of(None if plain else launcher())
        self._fast = self._entry.call or _unknown
        self.call = self._call_and_print if prints_of(function).sites else self._fast

    def _entry_of(self, launcher: Launcher | None) -> KernelEntry:
        """The functions that launch this kernel, in Python where the process has no launcher."""
        compiled, kernel = self.compiled, self._linked.addresses[self.compiled.symbol]
        if launcher is None:
            return KernelEntry(None, PlainLaunch.make(compiled, kernel, self._linked).run)
        return KernelEntry.make(
            compiled.name,
            [*self._specs, *([_PRINTS] if prints_of(self.function).sites else [])],
            kernel=kernel,
            code=self._linked,
            pool=process_pool().address,
            workspace_bytes=compiled.workspace_bytes,
            serial_groups=compiled.serial_groups,
            untimed_groups=compiled.untimed_groups,
            addresses=launcher.address,
        )

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Run the kernel on a grid and wait for it; arrays are changed in place.

        `grid` has three sizes between 0 and 2^31 - 1; nothing runs where one is 0. Raises `LaunchError` for wrong
        arguments, for want of memory, and in a child that a signal handler forked meanwhile; `KernelError` for
        what a check of the kernel found; and what a signal handler raises, such as `KeyboardInterrupt`: then some
        work-groups have run and others have not.
        """
        result = self.call(grid, *arguments)
        if result is not None:
            self.settle(result, grid, arguments)

    def _call_and_print(self, grid: tuple[int, int, int], *arguments: object) -> None:
        """The whole of a launch that prints: the lines are written when it has ended, also by a finding."""
        try:
            records = PrintRecords(self.function)
        except MemoryError:
            self._refuse("bind.memory", f"there is not enough memory for what {self.function.called} prints")
        try:
            result = self._fast(grid, *arguments, records.address)
            if result is not None:
                self.settle(result, grid, arguments, records.address)
        except LaunchError:
            raise
        except BaseException as error:
            records.lines(grid).write_behind(error)
            raise
        records.lines(grid).write()

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object], *prints: int) -> None:
        """Finish a launch whose `call(grid, *arguments)` returned `result`, which is not None. Raises as `launch`.

        `prints` is the address of the memory for prints in a kernel that has some.
        """
        if result is Ellipsis:
            self._start_pool()
            result = self._fast(grid, *arguments, *prints)
        if result is NotImplemented:
            result = self._run_usual(grid, arguments, *prints)
        if result is False:
            self._refuse("bind.memory", f"there is not enough memory to run {self.function.called}",
                         f"each thread needs {self.compiled.workspace_bytes} bytes of its own")  # fmt: skip
        if result is True:
            self._refuse("bind.fork", f"a signal handler forked this process while {self.function.called} ran; in the "
                         "child, work-groups that other threads had begun are lost",
                         "the parent's launch goes on; launch again here, with arrays as they were before")  # fmt: skip
        if isinstance(result, bytes):
            raise KernelError([finding_in(result, self.compiled.sites, self.function, grid)])
        return None

    def _run_usual(self, grid: tuple[int, int, int], arguments: Sequence[object], *prints: int) -> object:
        """Launch with unusual arguments made usual, such as tensors of torch: the fast way, or else the slow one."""
        if len(arguments) == len(self._types):
            usual = [_usual(type, value) for type, value in zip(self._types, arguments, strict=True)]
            result = self._fast(grid, *usual, *prints)
            if result is Ellipsis:
                self._start_pool()
                result = self._fast(grid, *usual, *prints)
            if result is not NotImplemented:
                return result
        return self._run_bound(grid, arguments, *prints)

    def _run_bound(self, grid: tuple[int, int, int], arguments: Sequence[object], *prints: int) -> object:
        """Launch the slow way, which takes all kinds of arguments. Raises `LaunchError` with all that is wrong."""
        try:
            filled = slots.fill(self._types, arrays.accept(self._specs, arguments), prints)
        except MemoryError:
            return False
        result = self._entry.run(grid, filled.address)
        if result is Ellipsis:
            self._start_pool()
            result = self._entry.run(grid, filled.address)
        if result is NotImplemented:
            self._refuse("bind.grid", f"a grid of {grid} has more work-groups than can be counted, 2^63 - 1")
        return result

    def _start_pool(self) -> None:
        made = launcher()
        assert made is not None  # only its functions ask for the pool
        process_pool().start(made.start)

    def _refuse(self, code: str, message: str, hint: str | None = None) -> NoReturn:
        raise LaunchError([Diagnostic(code, message, self.function.span, hint=hint)])


def _unknown(*arguments: object) -> object:
    """The fast way of kernels that have none: it leaves all arguments to the slow way."""
    return NotImplemented


def _usual(type: Type, value: object) -> object:
    """The value as an array of NumPy over its memory, or as a number of Python; unchanged where it cannot be either."""
    while isinstance(value, arrays.Uninitialized):
        value = value.array
    if isinstance(type, GroupType):
        return _usual_group(type, value)
    if not isinstance(type, MemRef):
        return _usual_scalar(value)
    if value is None:
        return value
    array = as_array(value, _NO_PLACE, ArgumentReport())
    if array is None:
        return value
    dtype = arrays.DTYPES[type.element]
    return array.view(dtype) if array.dtype == dtype else array


def _usual_scalar(value: object) -> object:
    """A number of Python for a scalar of NumPy or an array without axes; times and dates are no numbers."""
    if isinstance(value, np.generic) or (value.__class__ is np.ndarray and value.ndim == 0):
        return value if value.dtype.kind in "mM" else value.item()
    return value


def _usual_group(type: GroupType, value: object) -> object:
    """The usual arrays of a group as a list, if its memrefs are the whole members; any other group as it is."""
    if isinstance(value, arrays.Group) and type.offset == 0 and value.offset in (None, 0) and value.shapes is None:
        value = value.arrays
    return [_usual(type.memref, member) for member in value] if isinstance(value, list | tuple) else value
