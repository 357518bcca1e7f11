"""Loading programs and launching their kernels.

`load` and `loads` parse, check and compile for a target; a launch binds the arguments, runs, and changes the caller's
arrays only if nothing was found wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from girih.arguments.brackets import Grid, normalized_grid, shown_grid
from girih.arguments.names import in_order, name_problems
from girih.diagnostics import CompileError, Diagnostic, KernelError, LaunchError
from girih.environment import warn_of_unknown_variables
from girih.front.shaders.files import is_assembly, is_binary, is_module
from girih.ir.core import Function, Module, Order
from girih.ir.grid import grid_of_function, show_grid
from girih.lazy_dataclass import dataclass
from girih.program import compile_source, known_order, named_only, read_bytes, read_source, source_of_text
from girih.program import in_order as in_order_of
from girih.runtime.device import (
    AsynchronousExecutor,
    Executor,
    QuickLaunches,
    ShaderEntry,
    ShaderExecutor,
    SizedExecutor,
)
from girih.runtime.targets import DEFAULT_CHECKS, ResolvedTarget, given_elsewhere, launch_options, no_form, resolve
from girih.shown import ShownKernel, ShownProgram
from girih.source import Source

if TYPE_CHECKING:
    from girih.addressing import TensorMap
    from girih.arguments.grid import ArgumentGrid
    from girih.front.spirv.judged import ShaderModule
    from girih.front.spirv.translated import Translated
    from girih.runtime.spirv.arguments import ShaderCall

_MOST_GRIDS = 64
"""The number of grids that a kernel remembers."""

Definitions = Mapping[Any, object] | str | PathLike[str]
"""Values by names of definitions, or a file of `girih.tune`; of a module, by SpecIds or names of its constants."""


def load(
    path: str | PathLike[str],
    target: str | None = None,
    definitions: Definitions | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a file, compiled for a target and ready to be launched.

    `path` names a file in UTF-8; or, by its ending, a SPIR-V module (`.spv`, `.spvasm`) or a shader (`.comp`, `.glsl`,
    `.hlsl`, `.slang`), whose kernels are its compute entry points. `target` is one of those that `girih targets` lists,
    such as `cpu`, which is this machine, `cpu:haswell`, or `interpreter`, which checks every access. Left out, it is
    what the environment variable `GIRIH_TARGET` says, otherwise `cpu`. `definitions` maps names to values of their
    `$name` definitions at file level, numbers, or strings as the language writes the value, or is a file of
    `girih.tune`; of a module it maps SpecIds or names to values of constants. `order` is that of the axes of arrays,
    for functions without the attribute of this name: in order "F" mode 0 is the first axis, in order "C" it is the
    last, so that NumPy's arrays bind as they are. `checks` says how much compiled code checks: `bounds`, or `off`.
    Raises `CompileError` for a program in error or refused by the target, `ValueError` for an unknown target, order or
    mode of checks and a program in place of its path, `OSError` as `open` does, `TypeError` for what is no path.
    """
    if is_module(str(fspath(path))):
        return _compile_module(read_bytes(path), str(fspath(path)), target, definitions, checks)
    return _compile(read_source(path), target, definitions, checks, order)


def loads(
    text: str | bytes,
    target: str | None = None,
    definitions: Definitions | None = None,
    filename: str | None = None,
    *,
    order: Order = "F",
    checks: str = DEFAULT_CHECKS,
) -> Program:
    """The kernels of a text, compiled for a target and ready to be launched.

    `filename` is the name under which diagnostics report the text. `target`, `definitions`, `order` and `checks` mean
    what they mean to `load`. Bytes with SPIR-V's magic number are a module; so is a text that begins with one of its
    instructions, and one whose `filename` ends as those of modules and shaders. Raises `CompileError` for a program in
    error or refused by the target, `ValueError` for an unknown target, order or mode of checks, and `TypeError` for a
    `text` that is neither.
    """
    if isinstance(text, bytes | bytearray | memoryview) and is_binary(bytes(text[:4])):
        return _compile_module(bytes(text), filename or "<bytes>", target, definitions, checks)
    if isinstance(text, str) and (is_module(filename or "") or is_assembly(text)):
        data = text.encode("utf-8", "surrogateescape")
        return _compile_module(data, filename or "<text>", target, definitions, checks)
    if not isinstance(text, str):
        found = f"{text.__class__.__name__}; girih.load takes the path of a file"
        raise TypeError(f"a program is a string, not {found}, and a SPIR-V module begins with its magic number")
    return _compile(source_of_text(text, filename), target, definitions, checks, order)


def resolved_target(name: str | None) -> ResolvedTarget:
    """The target of a name, which knows what suits its device. Raises `ValueError` for one that does not exist."""
    return resolve(name)


def _compile_module(
    data: bytes, name: str, target: str | None, definitions: Definitions | None, checks: str
) -> Program:
    """The entry points of a SPIR-V module, or of the source of one."""
    from girih.front.shaders.files import module_in
    from girih.front.spirv.judged import ShaderModule
    from girih.program import given_by_constant

    resolved = resolve(target, checks=checks)
    module, told = module_in(data, name)
    return shader_program(ShaderModule(module, given_by_constant(definitions), told), resolved)


def shader_program(module: ShaderModule, target: ResolvedTarget) -> ShaderProgram:
    """The entry points of a module without errors, for a resolved target; a single one is compiled at once.

    Raises `CompileError` for one that girih or the target cannot run.
    """
    warn_of_unknown_variables()
    program = ShaderProgram(module, target)
    if len(program) == 1:
        program[next(iter(program))]
    return program


def _compile(
    source: Source, target: str | None, definitions: Definitions | None, checks: str, order: Order = "F"
) -> Program:
    resolved, known = resolve(target, checks=checks), known_order(order)
    module, warnings = compile_source(source, named_only(definitions, source, resolved.name), resolved.row.limits)
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


class ShaderProgram(Program):
    """The entry points of a SPIR-V module: a mapping from names to values of `ShaderKernel`.

    An entry point is translated and compiled when it is first looked up. `ir` has all of them in the device language;
    `warnings` are those of the module's rules, and of the compiler that made it. Looking up another name raises
    `KeyError`, and one that girih or the target cannot run `CompileError`.
    """

    __slots__ = ("_module",)
    _module: ShaderModule

    def __init__(self, module: ShaderModule, resolved: ResolvedTarget) -> None:
        for name, value in {"_module": module, "executors": {}, "resolved": resolved, "_kernels": {}}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "warnings", module.warnings)

    @property
    def ir(self) -> Module:
        """All entry points in the device language."""
        limits = self.resolved.row.limits
        return Module(tuple(self._module.translated(name, limits).function for name in self))

    def _new_kernel(self, name: str) -> Kernel:
        if name not in self._module.entry_points:
            raise KeyError(f"there is no entry point {name!r}; the module has: {', '.join(self)}")
        translated = self._module.translated(name, self.resolved.row.limits)
        entry = ShaderEntry(
            translated.function, self._module.facts.module, name, translated.local_size, sum(translated.local_bytes())
        )
        made = ShaderKernel.of_entry_point(translated, self.resolved.shader_executor(entry), self.resolved)
        return self._kernels.setdefault(name, made)

    def __reduce__(self) -> tuple[object, ...]:
        return ShaderProgram, (self._module, self.resolved)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module.entry_points)

    def __len__(self) -> int:
        return len(self._module.entry_points)


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
class ShaderKernel(Kernel):
    """An entry point of a shader, to be launched as `kernel[x, y, z](buffers, push_constants=...)`.

    `ir` is the entry point in the device language, whose parameters are the bytes of the buffers.
    """

    shader: ShaderCall = field(kw_only=True)

    @staticmethod
    def of_entry_point(translated: Translated, executor: Executor, resolved: ResolvedTarget) -> ShaderKernel:
        """The kernel of an entry point, on one work-group."""
        from girih.runtime.spirv.arguments import ShaderCall

        return ShaderKernel(translated.function, executor, resolved, shader=ShaderCall(translated))

    def __call__(self, /, *arguments: object, **named: object) -> None:
        """Launch the shader on its grid and wait for it; buffers are changed in place.

        The arguments are `bindings`, a mapping from (set, binding) to an array, and `push_constants`, bytes; and for
        shaders that take addresses `buffers`, a list of values of `girih.Buffer`. A buffer that the shader reads only,
        and push constants, may be a dictionary of the block's members; names of the shader may stand for (set,
        binding). An array of any dtype shows its bytes as they lie; a binding with an array of buffers takes a list.
        Raises `LaunchError` for wrong arguments, before anything runs, and `KernelError` for what was found while it
        ran. After a `KernelError` the interpreter leaves all arrays as they were; compiled code leaves what it had
        written.
        """
        grid = self.grid or (1, 1, 1)
        if isinstance(self.executor, ShaderExecutor):
            self.executor.launch(grid, self.shader.buffers(arguments, named, grid))
            return
        values = self.shader.arguments(arguments, named, grid)
        try:
            result = self.executor.call(grid, *values)
            if result is not None:
                self.executor.settle(result, grid, values)
        except KernelError as error:
            size = self.executor.subgroup_size if isinstance(self.executor, SizedExecutor) else None
            raise self.shader.in_its_words(error, size, arguments, named) from None

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled_shader, (self.shader, self.executor, self.resolved, self.grid, self._options)

    @property
    def signature(self) -> str:
        """The name of the entry point with its buffers and push constants, in words."""
        return self.shader.signature

    @property
    def _argument_names(self) -> tuple[str, ...]:
        return ("bindings", "push_constants", "buffers")

    def _in_order(self, arguments: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        return self.shader.in_order(arguments, named)


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


_Sizes = tuple[int, int, int]


def _unpickled(
    function: Function, executor: Executor, resolved: ResolvedTarget, grid: _Sizes | None, options: dict[str, object]
) -> Kernel:
    return replace(Kernel.of(function, executor, resolved), grid=grid, _options=options)


def _unpickled_shader(
    shader: ShaderCall, executor: Executor, resolved: ResolvedTarget, grid: _Sizes | None, options: dict[str, object]
) -> ShaderKernel:
    made = ShaderKernel(shader.translated.function, executor, resolved, shader=shader)
    return replace(made, grid=grid, _options=options)
