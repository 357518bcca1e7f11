"""Loading programs and launching their kernels.

`load` and `loads` parse, check and compile for a target; a launch binds the arguments, runs, and changes the caller's
arrays only if nothing was found wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from girih.diagnostics import Diagnostic, LaunchError
from girih.ir.core import Function, Module
from girih.program import compile_source, read_source, source_of_text
from girih.source import NOWHERE, Source

if TYPE_CHECKING:
    from girih.interpreter.launch import Progress
    from girih.interpreter.machine.choices import Choices
    from girih.runtime.executors import Executor

DEFAULT_CHECKS = "bounds"

_MOST_GRIDS = 64
"""How many grids a kernel remembers."""

Grid = int | Sequence[int]
"""An int, or up to three of them."""


def load(
    path: str | PathLike[str],
    target: str | None = None,
    definitions: Mapping[str, object] | None = None,
    *,
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a file, compiled for a target and ready to be launched.

    `target` is `cpu`, this machine; `cpu:NAME`, a processor by LLVM's name such as `cpu:haswell`; or `interpreter`,
    which checks every access. Left out it is what the environment variable `GIRIH_TARGET` says, otherwise `cpu`.
    `definitions` replace `$name` definitions at file level: numbers, or strings as the
    language writes the value. `checks` says how much compiled code checks: `bounds`, or `off`.
    Raises `CompileError` for a program in error or one that the target refuses, `ValueError` for an unknown target or
    mode of checks, `OSError` as `open` does, and `TypeError` for what is no path.
    """
    return _compile(read_source(path), target, definitions, checks)


def loads(
    text: str,
    target: str | None = None,
    definitions: Mapping[str, object] | None = None,
    filename: str | None = None,
    *,
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a text, compiled for a target and ready to be launched; see `load`."""
    return _compile(source_of_text(text, filename), target, definitions, checks)


def _compile(source: Source, target: str | None, definitions: Mapping[str, object] | None, checks: str) -> Program:
    from girih.runtime.executors import executor_factory

    executor_factory(target, checks)
    module, warnings = compile_source(source, definitions)
    return compile_module(module, target, checks=checks, warnings=warnings)


def compile_module(
    module: Module, target: str | None = None, *, checks: str = DEFAULT_CHECKS, warnings: Sequence[Diagnostic] = ()
) -> Program:
    """The kernels of a module without errors, compiled for a target; see `load`."""
    from girih.runtime.executors import executor_factory

    name, make = executor_factory(target, checks)
    return Program(module, {f.name: make(f) for f in module.functions}, name, tuple(warnings))


@dataclass(frozen=True, slots=True, repr=False)
class Program(Mapping[str, "Kernel"]):
    """The kernels of a text by name, with or without `@`; `warnings` holds what the checker was in doubt about."""

    module: Module
    executors: Mapping[str, Executor]
    target: str
    warnings: tuple[Diagnostic, ...] = ()
    _kernels: dict[str, Kernel] = field(default_factory=dict, init=False, compare=False)

    def __getitem__(self, name: str) -> Kernel:
        known = self._kernels.get(name)
        return self._found(name) if known is None else known

    def _found(self, name: str) -> Kernel:
        found = self.module.function(name.removeprefix("@")) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(self) or "none"
            raise KeyError(f"there is no kernel {name!r}; the program has: {known}")
        return self._kernels.setdefault(name, Kernel(found, self.executors[found.name], self.target))

    def __iter__(self) -> Iterator[str]:
        return iter(f.name for f in self.module.functions)

    def __len__(self) -> int:
        return len(self.module.functions)

    def __str__(self) -> str:
        return str(self.module)

    def __repr__(self) -> str:
        return f"<girih program of {', '.join('@' + name for name in self) or 'no kernels'} on {self.target}>"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, to be launched as `kernel[grid](arguments)`; `kernel(arguments)` launches one work-group."""

    ir: Function
    executor: Executor = field(repr=False, compare=False)
    target: str
    grid: tuple[int, int, int] = field(default=(1, 1, 1))
    _on_grids: dict[object, Kernel] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getitem__(self, grid: Grid) -> Kernel:
        """The kernel on a grid: an int or up to three, x first; missing ones are 1. Raises `LaunchError`."""
        # Grids are few and launches are many. Only plain integers are looked up: True and 1.0 would find 1.
        if type(grid) is int:
            known = self._on_grids.get(grid)
            return self._on_new_grid(grid) if known is None else known
        if type(grid) is not tuple:
            return Kernel(self.ir, self.executor, self.target, normalized_grid(grid))
        for size in grid:
            if type(size) is not int:
                return Kernel(self.ir, self.executor, self.target, normalized_grid(grid))
        known = self._on_grids.get(grid)
        return self._on_new_grid(grid) if known is None else known

    def _on_new_grid(self, grid: Grid) -> Kernel:
        made = Kernel(self.ir, self.executor, self.target, normalized_grid(grid))
        if len(self._on_grids) >= _MOST_GRIDS:
            self._on_grids.clear()
        self._on_grids[grid] = made
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Kernel, (self.ir, self.executor, self.target, self.grid)

    @property
    def name(self) -> str:
        return self.ir.name

    @property
    def signature(self) -> str:
        """Name and parameters, as the language writes them."""
        shown = ", ".join(f"%{p.name}: {p.type}" for p in self.ir.parameters)
        return f"@{self.ir.name}({shown})"

    def __repr__(self) -> str:
        return f"<girih kernel {self.signature} on {self.target}>"

    def __call__(
        self,
        *arguments: object,
        choices: Choices | None = None,
        max_steps: int | None = None,
        progress: Progress | None = None,
        **named: object,
    ) -> None:
        """Launch the kernel and wait for it; arrays are changed in place.

        Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for what was found while it
        ran. After that the interpreter leaves all arrays as they were; compiled code leaves what it had written.

        Three options are the interpreter's: `choices` varies what the language leaves open, `max_steps` bounds the
        instructions that a batch of work-groups executes, and `progress` is called with the number of finished
        work-groups and of all. Raises `TypeError` for arguments given by name and for options that the target has not.
        """
        if choices is None and max_steps is None and progress is None and not named:
            result = self.executor.call(self.grid, *arguments)
            if result is not None:
                self.executor.settle(result, self.grid, arguments)
            return
        if named:
            raise TypeError(f"{', '.join(named)}: give arguments by position, {self.signature}; "
                            "the options are choices, max_steps and progress")  # fmt: skip
        _check_options(choices, max_steps, progress)
        given = {"choices": choices, "max_steps": max_steps, "progress": progress}
        self.executor.launch_with({k: v for k, v in given.items() if v is not None}, self.grid, arguments)

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the kernel, source lines as debug locations. Raises `CompileError` for the interpreter."""
        return self.executor.llvm_ir

    @property
    def assembly(self) -> str:
        """The machine code of the kernel as assembly. Raises `CompileError` for the interpreter."""
        return self.executor.assembly

    @property
    def ptx(self) -> str:
        """The PTX of the kernel."""
        self._refuse("PTX")

    @property
    def spirv(self) -> bytes:
        """The SPIR-V module of the kernel."""
        self._refuse("SPIR-V")

    def _refuse(self, what: str) -> NoReturn:
        from girih.runtime.executors import refuse_form

        refuse_form(self.ir, self.target, what)


def _check_options(choices: object, max_steps: object, progress: object) -> None:
    """Hold the options of a launch against their types. Raises `TypeError` and `ValueError`."""
    from girih.interpreter.machine.choices import Choices

    if not isinstance(choices, Choices | None):
        raise TypeError(f"choices is a girih.Choices; got {choices!r}")
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int)):
        raise TypeError(f"max_steps is an integer; got {max_steps!r}")
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps is at least 1; got {max_steps}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is called with two integers; got {progress!r}")


def normalized_grid(grid: Grid) -> tuple[int, int, int]:
    """Three positive or zero sizes. Raises `LaunchError`."""
    sizes = grid if isinstance(grid, tuple | list) else (grid,)
    try:
        numbers = [_size(n) for n in sizes]
    except TypeError:
        raise _bad_grid(grid, "it is one integer or a tuple of up to three") from None
    if not 1 <= len(numbers) <= 3:
        raise _bad_grid(grid, "a grid has one to three sizes")
    if min(numbers) < 0 or max(numbers) >= 2**31:
        raise _bad_grid(grid, "sizes lie between 0 and 2^31 - 1")
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _size(value: SupportsIndex) -> int:
    if isinstance(value, bool):
        raise TypeError(f"expected an integer; got {value!r}")
    return index(value)


def _bad_grid(grid: object, says: str) -> LaunchError:
    return LaunchError([Diagnostic("bind.grid", f"the grid is {grid!r}; {says}", NOWHERE)])
