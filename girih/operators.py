"""Kernels as operators of array libraries: what goes in, what a kernel writes, and results that a call allocates.

Nothing here knows a library; `girih.torch` and `girih.jax` make operators of it.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from girih.api import Kernel, ShaderKernel, compile_module
from girih.arguments.arrays import ParameterSpec, specifications
from girih.arguments.brackets import normalized_grid
from girih.diagnostics import nearest
from girih.ir.core import Module
from girih.ir.types import Extent, GroupType, MemRef, TensorMapType
from girih.lazy_dataclass import dataclass

__all__ = ["DEVICES", "Operator", "OperatorParameter", "Results", "Rule", "operator_of", "packed"]

DEVICES = ("cpu", "cuda")
"""The kinds of devices on which arrays can be, which are also the targets of kernels for them."""

Rule = Callable[..., Any]
"""A function of arguments of a call, which it names as its own parameters."""
Results = str | Sequence[str] | Mapping[str, object]
"""Names of parameters that a call allocates; or a mapping from names to shapes, or to functions that give them."""


@dataclass(frozen=True, slots=True)
class OperatorParameter:
    """A parameter of a kernel, under a name that Python and its libraries take."""

    name: str
    spec: ParameterSpec

    @property
    def memref(self) -> MemRef | None:
        """The type of the parameter, or of its members; None for a scalar."""
        type = self.spec.type
        if isinstance(type, GroupType):
            return type.memref
        return type if isinstance(type, MemRef) else None

    @property
    def is_group(self) -> bool:
        """Whether it takes a list of arrays."""
        return isinstance(self.spec.type, GroupType)


@dataclass(frozen=True, slots=True)
class _NamedRule:
    """A function of some arguments, by their names."""

    rule: Rule
    names: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, object]) -> Any:
        return self.rule(**{name: arguments[name] for name in self.names})


@dataclass(frozen=True, slots=True)
class Operator:
    """A kernel whose calls take `arguments` and allocate `results`; together these are its parameters, in order.

    `shapes` has the sizes of each result by axes, or a function that gives them; `grid` a function that gives the grid.
    `kernels` are the kernels by kinds of devices, those for further kinds when they are asked for.
    """

    kernel: Kernel
    kernels: dict[str, Kernel]
    parameters: tuple[OperatorParameter, ...]
    results: tuple[OperatorParameter, ...]
    shapes: Mapping[str, tuple[int, ...] | _NamedRule]
    grid: _NamedRule | None

    @property
    def arguments(self) -> tuple[OperatorParameter, ...]:
        """The parameters that are given by the caller, in order."""
        return tuple(p for p in self.parameters if p.name not in self.shapes)

    def named(self, values: Sequence[object]) -> dict[str, object]:
        """The values of the arguments by name."""
        return dict(zip((p.name for p in self.arguments), values, strict=True))

    def shape_of(self, result: OperatorParameter, arguments: Mapping[str, object]) -> Any:
        """The sizes of a result by axes, or whatever else its function gives."""
        shape = self.shapes[result.name]
        return shape(arguments) if isinstance(shape, _NamedRule) else shape

    def grid_of(self, arguments: Mapping[str, object]) -> tuple[int, int, int] | None:
        """The grid for some arguments; None where it is the kernel's own. Raises `LaunchError`."""
        return None if self.grid is None else normalized_grid(self.grid(arguments))

    def on(self, device: str, grid: tuple[int, int, int] | None = None) -> Kernel:
        """The kernel for a kind of device, compiled now or before, on a grid. Raises `CompileError`."""
        found = self.kernels.get(device)
        if found is None:
            found = self.kernels.setdefault(device, self._compiled(device))
        return found if grid is None else found[grid]

    def _compiled(self, device: str) -> Kernel:
        """The kernel for another kind of device, with the checks and on the grid of the one that there is."""
        module, settings = Module((self.kernel.ir,)), self.kernel.resolved.settings
        if "checks" in settings:
            program = compile_module(module, device, checks=settings["checks"])
        else:
            program = compile_module(module, device)
        made = program[self.kernel.name]
        return made if self.kernel.grid is None else made[self.kernel.grid]

    def in_order(self, arguments: Mapping[str, object], results: Mapping[str, object]) -> list[object]:
        """One value for each parameter of the kernel."""
        return [results[p.name] if p.name in results else arguments[p.name] for p in self.parameters]


def operator_of(kernel: Kernel | Mapping[str, Kernel], results: Results | None, grid: Rule | None) -> Operator:
    """A kernel as an operator that allocates some results and takes its grid from a function.

    A mapping has kernels of one signature by kinds of devices. Raises `TypeError` for what is no kernel of the tensor
    language, and for a parameter that an operator cannot take; `ValueError` for kernels that differ, for a result that
    is no memref which the kernel writes, for one whose shape is not known, and for a function of arguments that there
    are not.
    """
    kernels = dict(kernel) if isinstance(kernel, Mapping) else {_home(kernel): kernel}
    first = _first(kernels)
    parameters = tuple(
        map(OperatorParameter, _identifiers(p.name for p in first.ir.parameters), specifications(first.ir))
    )
    for parameter in parameters:
        _check_parameter(parameter, first)
    asked = {_result(name, parameters, first): shape for name, shape in _asked(results).items()}
    names = [p.name for p in parameters if p not in asked]
    shapes = {p.name: _shape(p, shape, names, first) for p, shape in asked.items()}
    rule = None if grid is None else _rule(grid, names, "the grid", first)
    return Operator(first, kernels, parameters, tuple(asked), shapes, rule)


def _home(kernel: Kernel) -> str:
    """The kind of device on whose arrays a kernel is launched as it is."""
    return "cuda" if isinstance(kernel, Kernel) and kernel.resolved.row.name == "cuda" else "cpu"


def _first(kernels: Mapping[str, Kernel]) -> Kernel:
    """The first of the kernels of an operator, which are alike. Raises `TypeError` and `ValueError`."""
    unknown = [device for device in kernels if device not in DEVICES]
    if unknown or not kernels:
        raise ValueError(f"kernels are given for 'cpu' and 'cuda'; got {', '.join(map(repr, unknown)) or 'none'}")
    for kernel in kernels.values():
        if not isinstance(kernel, Kernel) or isinstance(kernel, ShaderKernel):
            raise TypeError(f"an operator is made of a kernel in the tensor language; got {kernel!r}")
    signatures = {kernel.signature for kernel in kernels.values()}
    if len(signatures) > 1:
        raise ValueError(f"the kernels of an operator have one signature; got {' and '.join(sorted(signatures))}")
    return next(iter(kernels.values()))


def packed(type: MemRef, shape: Sequence[Any]) -> tuple[Any, ...] | None:
    """The strides of a packed array for a memref, by modes; None where the type asks for others.

    `shape` has sizes by modes, also such as are known later.
    """
    strides: list[Any] = []
    step: Any = 1
    for declared, size in zip(type.strides, shape, strict=True):
        if declared is not None and isinstance(step, int) and declared != step:
            return None
        strides.append(step)
        step = step * size
    return tuple(strides)


def _identifiers(names: Iterable[str]) -> list[str]:
    """Names of parameters as identifiers that differ: `%in` is `in_`, and `%0` is `_0`."""
    made: list[str] = []
    for name in names:
        word = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        word = f"{word}_" if keyword.iskeyword(word) or word == "self" else word
        word = word if word.isidentifier() else f"_{word}"
        while word in made:
            word += "_"
        made.append(word)
    return made


def _check_parameter(parameter: OperatorParameter, kernel: Kernel) -> None:
    type = parameter.spec.type
    if isinstance(type, TensorMapType):
        raise TypeError(f"%{parameter.spec.name} of @{kernel.name} is a tensor map, which no operator takes: "
                        "launch the kernel itself, kernel[grid](...)")  # fmt: skip
    if isinstance(type, GroupType) and type.offset is None:
        raise TypeError(f"%{parameter.spec.name} of @{kernel.name} is a group whose offset a launch gives, which no "
                        "operator takes: write the offset in its type, or launch the kernel itself")  # fmt: skip


def _asked(results: Results | None) -> dict[str, object]:
    """What was said of the shape of each result by name, None where nothing was."""
    if results is None:
        return {}
    if isinstance(results, Mapping):
        return {str(name).removeprefix("%"): shape for name, shape in results.items()}
    names = [results] if isinstance(results, str) else results
    return {str(name).removeprefix("%"): None for name in names}


def _result(name: str, parameters: Sequence[OperatorParameter], kernel: Kernel) -> OperatorParameter:
    """The parameter of a name in the kernel's text, which can be a result. Raises `ValueError`."""
    found = next((p for p in parameters if name in (p.spec.name, p.name)), None)
    if found is None:
        close = nearest(name, [p.spec.name for p in parameters])
        raise ValueError(f"out names {name!r}, but the kernel is {kernel.signature}"
                         f"{f'; did you mean {close!r}?' if close else ''}")  # fmt: skip
    if not isinstance(found.spec.type, MemRef) or not found.spec.written:
        why = f"which is {found.spec.type}" if not isinstance(found.spec.type, MemRef) else "which it does not write"
        raise ValueError(f"out names %{found.spec.name} of @{kernel.name}, {why}: a result is a memref that the kernel "
                         "writes")  # fmt: skip
    return found


def _shape(
    parameter: OperatorParameter, given: object, arguments: Sequence[str], kernel: Kernel
) -> tuple[int, ...] | _NamedRule:
    """The shape of a result: what was given, else that of its type. Raises `ValueError`."""
    type = parameter.memref
    assert type is not None
    where = f"the shape of %{parameter.spec.name}"
    if callable(given):
        return _rule(given, arguments, where, kernel)
    sizes: object = _turned(type.shape, parameter.spec) if given is None else given
    if not isinstance(sizes, tuple | list) or not all(isinstance(size, int) for size in sizes):
        hint = f"out={{{parameter.spec.name!r}: lambda {', '.join(arguments[:2])}: ...}}"
        raise ValueError(f"{where} is not known from {type}; give a function of arguments that says it: {hint}")
    if len(sizes) != type.order:
        raise ValueError(f"{where} is {tuple(sizes)}, but {type} has {type.order} modes")
    return tuple(sizes)


def _turned(sizes: tuple[Extent, ...], spec: ParameterSpec) -> tuple[Extent, ...]:
    return sizes[::-1] if spec.order == "C" else sizes


def _rule(rule: Rule, arguments: Sequence[str], what: str, kernel: Kernel) -> _NamedRule:
    """A function with the arguments that it names. Raises `TypeError` and `ValueError`."""
    if not callable(rule):
        raise TypeError(
            f"{what} is given by a function of arguments; got {rule!r}; `kernel[grid]` is a kernel on a grid"
        )
    wanted = inspect.signature(rule).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in wanted):
        return _NamedRule(rule, tuple(arguments))
    unknown = [p.name for p in wanted if p.name not in arguments and p.default is p.empty]
    if unknown:
        raise ValueError(f"{what} asks for {', '.join(unknown)}, but a call of @{kernel.name} has the arguments "
                         f"{', '.join(arguments)}")  # fmt: skip
    return _NamedRule(rule, tuple(p.name for p in wanted if p.name in arguments))
