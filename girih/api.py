"""Loading programs and launching their kernels.

`load` and `loads` parse, check and compile for a target; a launch binds the arguments, runs, and changes the caller's
arrays only if nothing was found wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, SupportsIndex

from girih.arguments.names import in_order, name_problems
from girih.diagnostics import CompileError, Diagnostic, LaunchError
from girih.environment import warn_of_unknown_variables
from girih.ir.core import Function, Module, Order
from girih.ir.grid import grid_of_function, show_grid
from girih.program import compile_source, known_order, read_source, source_of_text
from girih.program import in_order as in_order_of
from girih.runtime.device import Executor
from girih.runtime.targets import CHECKS, ResolvedTarget, given_elsewhere, launch_options, no_form, resolve
from girih.source import NOWHERE, Source

if TYPE_CHECKING:
    from girih.arguments.grid import ArgumentGrid

DEFAULT_CHECKS = CHECKS[0]

_MOST_GRIDS = 64
"""The number of grids that a kernel remembers."""

Grid = int | Sequence[int]
"""An int, or up to three of them."""


def load(
    path: str | PathLike[str],
    target: str | None = None,
    definitions: Mapping[str, object] | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a file, compiled for a target and ready to be launched.

    `path` names a file in UTF-8. `target` is one of those that `girih targets` lists, such as `cpu`, which is this
    machine, `cpu:haswell`, or `interpreter`, which checks every access. Left out, it is what the environment variable
    `GIRIH_TARGET` says, otherwise `cpu`. `definitions` maps names to the values that replace their `$name` definitions
    at file level: numbers, or strings as the language writes the value. `order` is that of the axes of arrays, for
    functions without the attribute of this name: in order "F" mode 0 is the first axis, in order "C" it is the last, so
    that NumPy's arrays bind as they are. `checks` says how much compiled code checks: `bounds`, or `off`.
    Raises `CompileError` for a program in error and for one that the target refuses, `ValueError` for an unknown
    target, order or mode of checks and for a program in place of its path, `OSError` as `open` does, and `TypeError`
    for a `path` that is not a path.
    """
    return _compile(read_source(path), target, definitions, checks, order)


def loads(
    text: str,
    target: str | None = None,
    definitions: Mapping[str, object] | None = None,
    filename: str | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a text, compiled for a target and ready to be launched.

    `filename` is the name under which diagnostics report the text. `target`, `definitions`, `order` and `checks` mean
    what they mean to `load`. Raises `CompileError` for a program in error and for one that the target refuses,
    `ValueError` for an unknown target, order or mode of checks, and `TypeError` for a `text` that is not a string.
    """
    return _compile(source_of_text(text, filename), target, definitions, checks, order)


def _compile(
    source: Source, target: str | None, definitions: Mapping[str, object] | None, checks: str, order: Order = "F"
) -> Program:
    resolved, known = resolve(target, checks=checks), known_order(order)
    module, warnings = compile_source(source, definitions, resolved.row.limits)
    return program_of(in_order_of(module, known), resolved, warnings)


def compile_module(
    module: Module,
    target: str | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
    warnings: Sequence[Diagnostic] = (),
) -> Program:
    """The kernels of a module without errors, compiled for a target, as `load` names targets, orders and checks.

    Raises `CompileError` for a module that the target refuses, and `ValueError` for an unknown target, order or mode of
    checks.
    """
    return program_of(in_order_of(module, known_order(order)), resolve(target, checks=checks), warnings)


def program_of(module: Module, target: ResolvedTarget, warnings: Sequence[Diagnostic] = ()) -> Program:
    """The kernels of a module without errors, compiled for a resolved target. Raises `CompileError`."""
    warn_of_unknown_variables()
    return Program(module, {f.name: target.executor(f) for f in module.functions}, target, tuple(warnings))


@dataclass(frozen=True, slots=True, repr=False)
class Program(Mapping[str, "Kernel"]):
    """The kernels of a text: a mapping from names, with or without `@`, to values of `Kernel`.

    `ir` is the module of the text's functions, as `girih.parse` gives it, in the order that it was loaded in;
    `warnings` are the checker's diagnostics that are not errors. Looking up another name raises `KeyError`.
    """

    ir: Module
    executors: Mapping[str, Executor]
    resolved: ResolvedTarget
    warnings: tuple[Diagnostic, ...] = ()
    _kernels: dict[str, Kernel] = field(default_factory=dict, init=False, compare=False)

    def __getitem__(self, name: str) -> Kernel:
        known = self._kernels.get(name)
        return self._new_kernel(name) if known is None else known

    def _new_kernel(self, name: str) -> Kernel:
        function = self.ir.function(name.removeprefix("@")) if isinstance(name, str) else None
        if function is None:
            known = ", ".join(self) or "none"
            raise KeyError(f"there is no kernel {name!r}; the program has: {known}")
        made = Kernel.of(function, self.executors[function.name], self.resolved)
        return self._kernels.setdefault(name, made)

    @property
    def target(self) -> str:
        """The name of the target, as it was given: `cpu:haswell`."""
        return self.resolved.name

    def __iter__(self) -> Iterator[str]:
        return iter(f.name for f in self.ir.functions)

    def __len__(self) -> int:
        return len(self.ir.functions)

    def __str__(self) -> str:
        return str(self.ir)

    def __repr__(self) -> str:
        return f"<girih program of {', '.join('@' + name for name in self) or 'no kernels'} on {self.target}>"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, to be launched as `kernel(arguments)` on its own grid, or as `kernel[grid](arguments)` on another.

    Arguments are given by position or by the names of the parameters, as in Python: `kernel[grid](1.0, A=a, B=b)`.
    The grid of its own is the one that the function's `grid` attribute says, and one work-group without it.
    `ir` is the function of the program; `grid` the number of work-groups along x, y and z, None where the arguments
    of the launch decide.
    """

    ir: Function
    executor: Executor = field(repr=False, compare=False)
    resolved: ResolvedTarget
    grid: tuple[int, int, int] | None = field(default=(1, 1, 1))
    _options: Mapping[str, object] = field(default_factory=dict, hash=False)
    _own_grid: ArgumentGrid | None = field(default=None, repr=False, compare=False)
    _on_grids: dict[object, Kernel] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def of(function: Function, executor: Executor, resolved: ResolvedTarget) -> Kernel:
        """The kernel of a function, on its own grid."""
        if grid_of_function(function) is None:
            return Kernel(function, executor, resolved)
        from girih.arguments.grid import ArgumentGrid

        return Kernel(function, executor, resolved, None, {}, ArgumentGrid.of(function))

    def __getitem__(self, grid: Grid) -> Kernel:
        """The kernel on a grid: the number of work-groups, an int or up to three, x first; missing ones are 1.

        Raises `LaunchError` for anything but one to three integers from 0 to 2^31 - 1.
        """
        # Grids are few and launches are many. Only plain integers are looked up: True and 1.0 would find 1.
        if type(grid) is int:
            known = self._on_grids.get(grid)
            return self._on_new_grid(grid) if known is None else known
        if type(grid) is not tuple:
            return self._on(grid)
        for size in grid:
            if type(size) is not int:
                return self._on(grid)
        known = self._on_grids.get(grid)
        return self._on_new_grid(grid) if known is None else known

    def _on(self, grid: Grid) -> Kernel:
        return Kernel(self.ir, self.executor, self.resolved, normalized_grid(grid), self._options, self._own_grid)

    def _on_new_grid(self, grid: Grid) -> Kernel:
        made = self._on(grid)
        if len(self._on_grids) >= _MOST_GRIDS:
            self._on_grids.clear()
        self._on_grids[grid] = made
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (self.ir, self.executor, self.resolved, self.grid, self._options)

    @property
    def name(self) -> str:
        """The name of the kernel, without `@`."""
        return self.ir.name

    @property
    def target(self) -> str:
        """The name of the target, as it was given: `cpu:haswell`."""
        return self.resolved.name

    @property
    def signature(self) -> str:
        """The name and the parameters, as the language writes them: `@scale(%factor: f32, %A: memref<f32x?>)`.

        The order of arrays follows if it is C: `@scale(...) attributes {order="C"}`.
        """
        shown = ", ".join(f"%{p.name}: {p.type}" for p in self.ir.parameters)
        order = ' attributes {order="C"}' if self.ir.order == "C" else ""
        return f"@{self.ir.name}({shown}){order}"

    def __repr__(self) -> str:
        return f"<girih kernel {self.signature}{self._on_its_grid} on {self.target}{self._with_options}>"

    @property
    def _on_its_grid(self) -> str:
        """The grid in words, nothing for one work-group."""
        if self.grid is None:
            return f" on the grid [{', '.join(map(show_grid, grid_of_function(self.ir) or ()))}]"
        return f" on {_shown_grid(self.grid)}" if self.grid != (1, 1, 1) else ""

    @property
    def _with_options(self) -> str:
        """The options that are not the default, in words."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f" with {shown}" if shown else ""

    def options(self, **options: object) -> Kernel:
        """The kernel with options of a launch: `kernel.options(max_steps=1000)[grid](arguments)`.

        `girih targets NAME` lists the options of a target. The interpreter has `choices`, a `girih.Choices` that varies
        what the language leaves open; `max_steps`, the number of instructions that a batch of work-groups may execute;
        `races`, whether races between work-items are looked for; and `progress`, a function that is called with the
        numbers of finished and of all work-groups. None is the
        default; options that are not named stay as they are. Raises `TypeError` for an option that the target lacks and
        for a value of another type, and `ValueError` for a value out of range.
        """
        chosen = launch_options(self.resolved.row, {**self._options, **options})
        executor = self.executor.with_options(chosen)
        return Kernel(self.ir, executor, self.resolved, self.grid, chosen, self._own_grid)

    def __call__(self, /, *arguments: object, **named: object) -> None:
        """Launch the kernel on its grid and wait for it; arrays are changed in place.

        The grid is the one that was chosen by `kernel[grid]`, otherwise the kernel's own. Each parameter gets one
        argument, by position or by name (003 "Types"): a number for a scalar, an array whose axes are the modes for a
        memref, a list of arrays or a `girih.Group` for a group. Raises `LaunchError` for wrong arguments, before
        anything runs, and `KernelError` for what was found while it ran. After a `KernelError` the interpreter leaves
        all arrays as they were; compiled code leaves what it had written.
        """
        if named:
            arguments = self._in_order(arguments, named)
        grid = self.grid
        if grid is None:
            own = self._own_grid
            grid = (own and own.quick(arguments)) or self._grid_of(arguments)
        result = self.executor.call(grid, *arguments)
        if result is not None:
            self.executor.settle(result, grid, arguments)

    def _grid_of(self, arguments: tuple[object, ...]) -> tuple[int, int, int]:
        """The kernel's own grid for one argument of each parameter. Raises `LaunchError`."""
        own = self._own_grid
        if own is None:
            return 1, 1, 1
        return own.sizes(arguments)

    def grid_for(self, /, *arguments: object, **named: object) -> tuple[int, int, int]:
        """The kernel's own grid for the arguments of a launch: the number of work-groups along x, y and z.

        That is what the `grid` attribute says, whatever grid was chosen for this kernel, and (1, 1, 1) without it,
        whatever the arguments. Nothing runs. Raises `LaunchError` for wrong arguments, as a launch does, for a
        division by zero, and for a size outside 0 to 2^31 - 1.
        """
        return self._grid_of(self._in_order(arguments, named))

    def bind(self, /, *arguments: object, **named: object) -> Launch:
        """A launch as a value: the kernel on its grid with arguments, to be run with `launch.run()`.

        Raises `LaunchError` where a parameter gets no argument or two, and for a name that no parameter has. The
        arguments themselves are looked at when the launch runs, since arrays can change until then.
        """
        return Launch(self, self._in_order(arguments, named))

    def _in_order(self, arguments: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        """One argument for each parameter. Raises `LaunchError`."""
        ordered = in_order(self.ir.parameters, arguments, named)
        if ordered is not None:
            return ordered
        instead = {name: where for name in named if (where := given_elsewhere(name)) is not None}
        raise LaunchError(name_problems(self.ir, self.signature, len(arguments), named, instead))

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """What the compiler did and could not do better, then what the latest launch left, each of severity "remark".

        Those of the compiler are in source order; the kernel is lowered again for them, so that loading and launching
        pay nothing. The latest launch is that of this kernel on any grid. In the interpreter it leaves `run.untouched`
        for each array that the kernel writes and that has elements which no work-group wrote, and warnings of what is
        defined and most likely not meant.
        """
        return (*self.resolved.remarks(self.ir), *self.executor.remarks)

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the kernel, with source lines as debug locations.

        Raises `CompileError` for a target that does not emit it.
        """
        return str(self._emitted("llvm"))

    @property
    def assembly(self) -> str:
        """The machine code of the kernel as assembly. Raises `CompileError` for a target that does not emit it."""
        return str(self._emitted("asm"))

    @property
    def ptx(self) -> str:
        """The PTX of the kernel. Raises `CompileError` for a target that does not emit it."""
        return str(self._emitted("ptx"))

    @property
    def spirv(self) -> bytes:
        """The bytes of the kernel's SPIR-V module. Raises `CompileError` for a target that does not emit it."""
        made = self._emitted("spirv")
        assert isinstance(made, bytes)
        return made

    def _emitted(self, form: str) -> str | bytes:
        """The kernel in a form that `girih emit --as` names. Raises `CompileError` for a form that the target lacks."""
        if form in self.resolved.row.emits:
            return self.resolved.emit(self.ir, form)
        message, hint = no_form(self.target, form), "`str(kernel.ir)` shows the program"
        raise CompileError([Diagnostic("run.emit", message, self.ir.span, hint=hint)])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Launch:
    """A kernel on a grid with its arguments, made by `kernel[grid].bind(...)`; it may run any number of times."""

    kernel: Kernel
    _values: tuple[object, ...]

    @property
    def grid(self) -> tuple[int, int, int]:
        """The number of work-groups along x, y and z, for the arguments as they are now. Raises `LaunchError`."""
        chosen = self.kernel.grid
        return self.kernel._grid_of(self._values) if chosen is None else chosen

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments by the names of their parameters, in the order of the parameters."""
        names = (p.name for p in self.kernel.ir.parameters)
        return MappingProxyType(dict(zip(names, self._values, strict=True)))

    def run(self) -> None:
        """Launch the kernel on its arguments and wait for it; arrays are changed in place.

        Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for what was found while it
        ran.
        """
        self.kernel(*self._values)

    def __repr__(self) -> str:
        kernel = self.kernel
        shape = kernel._on_its_grid or f" on {_shown_grid((1, 1, 1))}"
        return f"<girih launch of {kernel.signature}{shape} on {kernel.target}{kernel._with_options}>"


def _unpickled(
    function: Function,
    executor: Executor,
    resolved: ResolvedTarget,
    grid: tuple[int, int, int] | None,
    options: Mapping[str, object],
) -> Kernel:
    return replace(Kernel.of(function, executor, resolved), grid=grid, _options=options)


def _shown_grid(grid: tuple[int, int, int]) -> str:
    return f"{' x '.join(map(str, grid))} work-groups"


def normalized_grid(grid: Grid) -> tuple[int, int, int]:
    """The grid as three sizes from 0 to 2^31 - 1, those that are missing 1. Raises `LaunchError` for any other grid."""
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
