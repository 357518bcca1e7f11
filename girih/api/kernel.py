"""Programs of kernels, kernels, and launches as values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from girih.arguments.brackets import Grid, normalized_grid, shown_grid
from girih.arguments.names import in_order, name_problems
from girih.diagnostics import CompileError, Diagnostic, LaunchError
from girih.environment import warn_of_unknown_variables
from girih.ir.core import Function, Module
from girih.ir.grid import grid_of_function, show_grid
from girih.lazy_dataclass import dataclass
from girih.runtime.device import AsynchronousExecutor, Executor, QuickLaunches
from girih.runtime.targets import ResolvedTarget, given_elsewhere, launch_options, no_form
from girih.shown import ShownKernel, ShownProgram

if TYPE_CHECKING:
    from girih.addressing import TensorMap
    from girih.arguments.grid import ArgumentGrid


Sizes = tuple[int, int, int]

_MOST_GRIDS = 64
"""The number of grids that a kernel remembers."""


@dataclass(frozen=True, slots=True, repr=False)
class Program(ShownProgram, Mapping[str, "Kernel"]):
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
class Kernel(ShownKernel):
    """A kernel, to be launched as `kernel(arguments)` on its own grid, or as `kernel[grid](arguments)` on another.

    Arguments are given by position or by name, as in Python: `kernel[grid](1.0, A=a, B=b)`. The grid of its own is what
    the function's `grid` attribute says, and one work-group without it. `ir` is the function of the program; `grid` the
    number of work-groups along x, y and z, None where the arguments of the launch decide.
    """

    ir: Function
    executor: Executor = field(repr=False, compare=False)
    resolved: ResolvedTarget
    grid: tuple[int, int, int] | None = field(default=(1, 1, 1))
    _options: Mapping[str, object] = field(default_factory=dict, hash=False)
    _own_grid: ArgumentGrid | None = field(default=None, repr=False, compare=False)
    _on_grids: dict[object, Kernel] = field(default_factory=dict, init=False, repr=False, compare=False)
    _entry: Callable[..., object] | bool | None = field(default=None, init=False, repr=False, compare=False)
    """What makes launches that are alike, with machine code; None as long as there is none, False where none may be."""

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
        # Only plain integers are looked up: True and 1.0 would find 1.
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
        return replace(self, grid=normalized_grid(grid))

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
        return f" on {shown_grid(self.grid)}" if self.grid != (1, 1, 1) else ""

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
        numbers of finished and of all work-groups. Vulkan has `timeout`, in seconds, and `repeat`, how often the device
        executes the launch on the same memory: `kernel.executor.times` are the seconds of each. CUDA has `synchronous`:
        launches on arrays of the device are waited for, and findings raised at once. None is the default; options that
        are not named stay. Raises `TypeError` for options and types that are wrong, `ValueError` for values.
        """
        chosen = launch_options(self.resolved.row, {**self._options, **options})
        return replace(self, executor=self.executor.with_options(chosen), _options=chosen)

    def __call__(self, /, *arguments: object, **named: object) -> None:
        """Launch the kernel on its grid and wait for it; arrays are changed in place.

        On arrays of a device alone the call returns at once, and `synchronize` waits. The grid is the one that was
        chosen by `kernel[grid]`, otherwise the kernel's own. Each parameter gets one argument, by position or by name
        (003 "Types"): a number for a scalar, an array whose axes are the modes for a memref, a list of arrays or a
        `girih.Group` for a group. Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for
        what was found while it ran. After one the interpreter leaves all arrays as they were; compiled code leaves what
        it had written.
        """
        if callable(entry := self._entry):
            entry(*arguments, **named)
            return
        if named:
            arguments = self._in_order(arguments, named)
        grid = self.grid
        if grid is None:
            own = self._own_grid
            grid = (own and own.quick(arguments)) or self._grid_of(arguments)
        result = self.executor.call(grid, *arguments)
        if result is None:
            return
        if not isinstance(result, QuickLaunches):
            self.executor.settle(result, grid, arguments)
        elif entry is None:  # What no plan suits goes to another object: none refers to itself, so code goes with it.
            object.__setattr__(slow := replace(self), "_entry", False)
            object.__setattr__(self, "_entry", result.entry(self.grid, slow))

    def _grid_of(self, arguments: tuple[object, ...]) -> tuple[int, int, int]:
        """The kernel's own grid for one argument of each parameter. Raises `LaunchError`."""
        own, executor = self._own_grid, self.executor
        if own is None:
            return 1, 1, 1
        return own.sizes(arguments, executor.reach(arguments) if isinstance(executor, AsynchronousExecutor) else None)

    def synchronize(self) -> None:
        """Wait until all launches of this kernel on arrays of a device have ended.

        Raises `KernelError` for what was found on the streams of these launches. Other launches have ended already.
        """
        if isinstance(self.executor, AsynchronousExecutor):
            self.executor.synchronize()

    def grid_for(self, /, *arguments: object, **named: object) -> tuple[int, int, int]:
        """The kernel's own grid for the arguments of a launch: the number of work-groups along x, y and z.

        That is what the `grid` attribute says, whatever grid was chosen for this kernel, and (1, 1, 1) without it,
        whatever the arguments. Nothing runs. Raises `LaunchError` for wrong arguments, as a launch does, for a
        division by zero, and for a size outside 0 to 2^31 - 1.
        """
        return self._grid_of(self._in_order(arguments, named))

    def tensor_maps(self, /, *arguments: object, **named: object) -> Mapping[str, TensorMap]:
        """The tensor maps that a launch with these arguments would make of its arrays; nothing runs.

        Each has the name of its parameter, further ones of a parameter with a number behind it: `A`, `A_2`. There are
        none on targets other than `cuda`, for kernels that are no tile programs, and for arrays that no map describes.
        Raises `LaunchError` for wrong arguments, as a launch does.
        """
        values, executor = self._in_order(arguments, named), self.executor
        return executor.tensor_maps(values) if isinstance(executor, AsynchronousExecutor) else {}

    def bind(self, /, *arguments: object, **named: object) -> Launch:
        """A launch as a value: the kernel on its grid with arguments, to be run with `launch.run()`.

        Raises `LaunchError` where a parameter gets no argument or two, and for a name that no parameter has. The
        arguments themselves are looked at when the launch runs, since arrays can change until then.
        """
        return Launch(self, self._in_order(arguments, named))

    def variant(self, /, *arguments: object, **named: object) -> Kernel:
        """The kernel that a launch with these arguments uses: this one, unless a file of `girih.tune` has several.

        Nothing runs. Raises `LaunchError` where a parameter gets no argument or two, and for a name that no parameter
        has.
        """
        self._in_order(arguments, named)
        return self

    @property
    def _argument_names(self) -> tuple[str, ...]:
        """The names of what a launch takes, in order."""
        return tuple(p.name for p in self.ir.parameters)

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

        Those of the compiler are in source order; the kernel is lowered again for them, so that launches pay nothing.
        The latest launch is that of this kernel on any grid. In the interpreter it leaves `run.untouched` for arrays
        that the kernel writes, with elements that no work-group wrote, and warnings of what is most likely not meant.
        """
        found, reader = (*self.resolved.remarks(self.ir), *self.executor.remarks), self.ir.reader
        return found if reader is None else tuple(map(reader.diagnostic, found))

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
    def sass(self) -> str:
        """The machine code of the kernel for an NVIDIA GPU as text.

        Raises `CompileError` for a target that does not emit it, and where no assembler or disassembler is there.
        """
        return str(self._emitted("sass"))

    @property
    def spirv(self) -> bytes:
        """The bytes of the kernel's SPIR-V module. Raises `CompileError` for a target that does not emit it."""
        made = self._emitted("spirv")
        assert isinstance(made, bytes)
        return made

    @property
    def glsl(self) -> str:
        """The kernel as a compute shader in GLSL. Raises `CompileError` for a target that does not emit it."""
        return str(self._emitted("glsl"))

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
        return MappingProxyType(dict(zip(self.kernel._argument_names, self._values, strict=True)))

    def run(self) -> None:
        """Launch the kernel on its arguments and wait for it; arrays are changed in place.

        Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for what was found while it
        ran.
        """
        self.kernel(*self._values)

    def __repr__(self) -> str:
        kernel = self.kernel
        shape = kernel._on_its_grid or f" on {shown_grid((1, 1, 1))}"
        return f"<girih launch of {kernel.signature}{shape} on {kernel.target}{kernel._with_options}>"


def _unpickled(
    function: Function, executor: Executor, resolved: ResolvedTarget, grid: Sizes | None, options: dict[str, object]
) -> Kernel:
    return replace(Kernel.of(function, executor, resolved), grid=grid, _options=options)


def program_of(module: Module, target: ResolvedTarget, warnings: Sequence[Diagnostic] = ()) -> Program:
    """The kernels of a module without errors, compiled for a resolved target. Raises `CompileError`."""
    warn_of_unknown_variables()
    return Program(module, {f.name: target.executor(f) for f in module.functions}, target, tuple(warnings))
