"""A Python function as a kernel, which is translated and compiled for the arguments of its calls.

A call makes a variant of the kernel for the element types, the order of axes and the constants of its arguments, or
takes the one that there is. What takes long is done once: later calls with such arguments only look up a small key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pickle import PicklingError
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

from girih.arguments.brackets import Grid, normalized_grid, shown_grid
from girih.decorated.calls import KernelCalls
from girih.decorated.definition import DecoratedFunction
from girih.decorated.results import Rule, allocated, element_of, shape_of
from girih.decorated.tracebacks import for_users, without_frames
from girih.decorated.variants import Variant, Variants
from girih.diagnostics import GirihError
from girih.markup import folded, line

if TYPE_CHECKING:
    from girih.addressing import TensorMap
    from girih.api import Kernel, Launch

_MOST_GRIDS = 64
"""The number of grids that a kernel remembers."""

Sizes = tuple[int, int, int]


class PythonKernel:
    """A kernel in Python, to be launched as `kernel(arguments)` on its own grid, or as `kernel[grid](arguments)`.

    Arguments are given by position or by name, and may have defaults, as in Python. Arrays are NumPy's, those of torch,
    CuPy or JAX, or anything with the buffer protocol or DLPack; they are used as they are, whatever the order of their
    memory. `variants` are what the kernel became so far. A kernel never changes: `[grid]`, `options` and `define` give
    another one, which shares the variants.
    """

    def __init__(
        self,
        definition: DecoratedFunction,
        grid: Sizes | None = None,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """The kernel of a definition, on a grid or on its own, with options of its launches."""
        self._definition = definition
        self._options = options
        self._grid = grid
        self._calls = KernelCalls(definition, grid, options)
        self._is_tuned = definition.tuned is not None
        self._enter: Callable[..., None] | None = None
        self._on_grids: dict[object, PythonKernel] = {}
        functools.update_wrapper(self, definition.function)

    def __reduce__(self) -> tuple[object, ...]:
        definition = self._definition
        function = definition.function
        if "<locals>" in function.__qualname__:
            raise PicklingError(f"{function.__qualname__} cannot be pickled: no module has a name for it")
        constants = {p.name: p.default for p in definition.parameters if p.kind == "constant"}
        return _found, (
            function.__module__, function.__qualname__, definition.target, constants, self._grid, dict(self._options)
        )  # fmt: skip

    def __copy__(self) -> PythonKernel:
        return self

    def __deepcopy__(self, memo: object) -> PythonKernel:
        return self

    # --- what it is ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._definition.name

    @property
    def definition(self) -> DecoratedFunction:
        """The kernel as it was defined: its parameters, and what its decorator was given."""
        return self._definition

    @property
    def function(self) -> FunctionType:
        """The function as it was decorated."""
        return self._definition.function

    @property
    def signature(self) -> str:
        """The name and the parameters as the function has them: `scale(factor: gl.f32, A: gl.Matrix[gl.f32])`."""
        return self._definition.signature

    @property
    def target(self) -> str | None:
        """The name of the target that was asked for; None where the arrays of a call decide."""
        return self._definition.target

    @property
    def grid(self) -> Sizes | None:
        """The number of work-groups along x, y and z that was chosen; None for the kernel's own grid."""
        return self._grid

    @property
    def variants(self) -> Variants:
        """The variants that the kernel has at this time: a mapping from what they are specialised on."""
        return self._definition.variants

    def __repr__(self) -> str:
        grid = "" if self._grid is None else f" on {shown_grid(self._grid)}"
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        target = f" for {self.target}" if self.target else ""
        return f"<girih kernel {self.signature}{target}{grid}{f' with {options}' if options else ''}>"

    def _repr_html_(self) -> str:
        variants = "".join(folded(repr(one)[1:-1], one.text) for one in self.variants.values())
        text = self._definition.source.text
        shown = text.source.text[text.whole.start : text.body.end]
        return line(repr(self)[1:-1]) + folded("function", shown) + variants

    # --- other kernels ---------------------------------------------------------------------

    @for_users
    def __getitem__(self, grid: Grid) -> PythonKernel:
        """The kernel on a grid: the number of work-groups, an int or up to three, x first; missing ones are 1.

        Raises `LaunchError` for anything but one to three integers from 0 to 2^31 - 1.
        """
        # Only plain integers are looked up: True and 1.0 would find 1.
        plain = type(grid) is int or (type(grid) is tuple and all(type(size) is int for size in grid))
        known = self._on_grids.get(grid) if plain else None
        if known is None:
            known = PythonKernel(self._definition, normalized_grid(grid), self._options)
            if plain:
                if len(self._on_grids) >= _MOST_GRIDS:
                    self._on_grids.clear()
                self._on_grids[grid] = known
        return known

    def options(self, **options: object) -> PythonKernel:
        """The kernel with options of a launch, as for kernels of texts: `kernel.options(races=False)(arguments)`.

        None is the default; options that are not named stay as they are. Raises `TypeError` for an option that the
        target lacks and for a value of another type, and `ValueError` for a value out of range.
        """
        chosen = {name: value for name, value in {**self._options, **options}.items() if value is not None}
        self._definition.check_options(chosen)
        return PythonKernel(self._definition, self._grid, MappingProxyType(chosen))

    def define(self, **constants: object) -> PythonKernel:
        """The kernel whose parameters of these names, which are constants, have other defaults.

        Raises `ValueError` for a name that is no constant of the kernel, and for a value that none can have.
        """
        return PythonKernel(self._definition.with_constants(constants), self._grid, self._options)

    def on(self, target: str, *, checks: str | None = None) -> PythonKernel:
        """The kernel for a target, as `girih.load` names it: `kernel.on("interpreter")(arguments)`.

        `checks` says how much its code checks, where not what the decorator says. Raises `ValueError` for a target or
        checks that do not exist.
        """
        settings = None if checks is None else {"checks": checks}
        return PythonKernel(self._definition.for_target(target, settings), self._grid, self._options)

    # --- calls -----------------------------------------------------------------------------

    def __call__(self, /, *arguments: object, **named: object) -> None:
        """Launch the kernel and wait for it; arrays are changed in place.

        On arrays of a device alone the call returns at once, and `synchronize` waits. Raises `CompileError` for a
        function that is in error or that the target refuses, `LaunchError` for wrong arguments, before anything runs,
        and `KernelError` for what was found while it ran.
        """
        enter = self._enter
        if enter is None:
            enter = self._enter = self._definition.entrance.of(self._calls)
        try:
            try:
                if self._is_tuned:
                    enter(*self._definition.in_order(arguments, named))
                elif named:
                    enter(*arguments, **named)
                else:
                    enter(*arguments)
            except TypeError:
                # Where the arguments do not suit the parameters, this says what is wrong with them.
                self._definition.in_order(arguments, named)
                raise
        except GirihError as error:
            raise without_frames(error) from None

    def _ready(self, arguments: tuple[object, ...], named: Mapping[str, object]) -> tuple[Kernel, Sequence[object]]:
        """The kernel of the variant for the arguments of a call, and its own arguments."""
        return self._calls.ready(self._definition.in_order(arguments, named))

    @for_users
    def variant(self, /, *arguments: object, **named: object) -> Variant:
        """The variant that a launch with these arguments uses, translated and compiled now or before; nothing runs.

        Raises what a launch raises before anything runs.
        """
        return self._definition.variant(self._definition.in_order(arguments, named))[1]

    @for_users
    def grid_for(self, /, *arguments: object, **named: object) -> Sizes:
        """The kernel's own grid for the arguments of a launch: work-groups along x, y and z; nothing runs.

        It is (1, 1, 1) for a kernel that was given no grid. Raises what a launch raises before anything runs.
        """
        kernel, values = self._ready(arguments, named)
        return kernel.grid_for(*values)

    @for_users
    def tensor_maps(self, /, *arguments: object, **named: object) -> Mapping[str, TensorMap]:
        """The tensor maps that a launch with these arguments would make of its arrays; nothing runs.

        Raises what a launch raises before anything runs.
        """
        kernel, values = self._ready(arguments, named)
        return kernel.tensor_maps(*values)

    @for_users
    def bind(self, /, *arguments: object, **named: object) -> Launch:
        """A launch as a value, of the variant for these arguments: `launch.run()`, `girih.explore(launch)`.

        Raises what a launch raises before anything runs.
        """
        from girih.decorated.launches import PythonLaunch

        kernel, values = self._calls.on_grid(self._definition.in_order(arguments, named))
        return PythonLaunch(kernel, tuple(values))

    @for_users
    def synchronize(self) -> None:
        """Wait until all launches on arrays of a device have ended. Raises `KernelError` for what they found."""
        for variant in self.variants.values():
            variant.kernel.synchronize()

    @for_users
    def out(self, /, *arguments: object, **named: object) -> Any:
        """New arrays for the results of a launch: those that `out` of the decorator names; a tuple if it names several.

        The arguments are those that are no results. A result has the shape that its rule gives, its parameter's element
        type, library and device of the first array among the arguments, and the order of the array whose shape it has,
        otherwise of the first one with several axes; its elements are not set. Raises `LaunchError` for wrong
        arguments, `TypeError` for a kernel without such results, for a rule that gives no shape, and for a library
        that girih cannot ask for an array.
        """
        definition = self._definition
        if not definition.results:
            raise TypeError(f"{self.name} names no results: @girih.kernel(out={{'Y': 'X'}}) has Y in the shape of X")
        made = [self._result(name, rule, arguments, named) for name, rule in definition.results.items()]
        return made[0] if len(made) == 1 else tuple(made)

    def _result(self, name: str, rule: Rule, arguments: tuple[object, ...], named: Mapping[str, object]) -> Any:
        values, looked, variables = self._definition.inputs(arguments, named)
        parameter = self._definition.parameter(name)
        if not looked:
            raise TypeError(f"{self.name} has no array among its arguments that {name} could be like")
        value, array = next(iter(looked.values()))
        shape = shape_of(rule, values)
        if len(shape) != parameter.rank:
            raise TypeError(f"the shape of {name} is {shape}, but {name} has {parameter.rank} axes")
        if isinstance(rule, str) and rule in looked:
            order = looked[rule][1].order
        else:
            order = next((other.order for _, other in looked.values() if len(other.order) > 1), ())
        return allocated(shape, element_of(parameter, variables, array), value, order)


def _found(
    module: str, name: str, target: str | None, constants: Mapping[str, object], grid: Sizes | None,
    options: Mapping[str, object],
) -> PythonKernel:  # fmt: skip
    """The kernel of a name in a module, for a target, with defaults of constants, a grid and options.

    Raises `AttributeError` where the module has no such name.
    """
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    assert isinstance(found, PythonKernel)
    kernel: PythonKernel = found if target is None or target == found.target else found.on(target)
    own = {p.name: p.default for p in kernel._definition.parameters if p.kind == "constant"}
    changed = {name: value for name, value in constants.items() if not _is_equal(value, own[name])}
    if changed:
        kernel = kernel.define(**changed)
    if options:
        kernel = kernel.options(**options)
    return kernel if grid is None else kernel[grid]


def _is_equal(a: object, b: object) -> bool:
    """Whether two defaults are one constant: 1 and True are two."""
    return a is b or (type(a) is type(b) and repr(a) == repr(b))
