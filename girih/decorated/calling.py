"""The code that a call runs through, written out for the parameters of a kernel, so that nothing loops.

`Entrance.enter` has the parameters of the kernel, so that Python itself binds the arguments of a call. It makes their
key, and finds by it the `QuickCall` of a variant, whose `launch` hands the arguments on: without constants, and with
the axes of arrays in the order of the variant's modes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from girih.arguments.grid import ArgumentGrid
from girih.decorated.keys import PLAIN, Key, key_parts, numpy_key, other_key
from girih.decorated.turning import turned
from girih.diagnostics import LaunchError
from girih.front.python.signature import Declared
from girih.lazy_dataclass import dataclass
from girih.runtime.device import AsynchronousExecutor

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.decorated.specialise import Axes
    from girih.decorated.watch import Watched


class CallHandler(Protocol):
    """The calls of a kernel, as its entrance sees them."""

    quick: dict[Key | None, QuickCall]
    """What calls of some keys do; None is no key."""

    def look(self, arguments: Sequence[object], key: Key | None) -> None:
        """Look at all arguments, one for each parameter, and launch; a later call with this key may do the same."""


@dataclass(frozen=True, slots=True, eq=False)
class QuickCall:
    """What a call with a known key does: `launch` takes its arguments.

    It holds as long as what the function reads from outside is the same: each space of `outside` gives the value for
    the name behind it.
    """

    launch: Callable[..., object]
    outside: tuple[tuple[NameSpace, str, object], ...]

    @staticmethod
    def of(launch: Callable[..., object], outside: Sequence[Watched]) -> QuickCall:
        """What a call does as long as what is outside stays."""
        return QuickCall(launch, tuple((_Cell(w) if w.space is None else w.space, w.name, w.value) for w in outside))


class NameSpace(Protocol):
    """Where names have values."""

    def get(self, name: str, /) -> object:
        """The value of a name."""


class _Cell:
    """The cell of a closure, where one name has a value."""

    __slots__ = ("_watched",)

    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def get(self, name: str, /) -> object:
        """The value that the name had, if it still has that; something else where it does not."""
        return self._watched.value if self._watched.same else self


class Entrance:
    """Where calls of a kernel with these parameters come in; its code is made for the first one."""

    def __init__(self, parameters: Sequence[Declared]) -> None:
        self._parameters = parameters

    def of(self, calls: CallHandler) -> Callable[..., None]:
        """The function for these calls, which has the parameters of the kernel.

        It raises `TypeError` where Python cannot bind the arguments, and what `look` raises.
        """
        return self._make(calls.quick, calls)

    @cached_property
    def _make(self) -> Callable[[Mapping[Key | None, QuickCall], CallHandler], Callable[..., None]]:
        return _entrance_maker(self._parameters)


def _entrance_maker(
    parameters: Sequence[Declared],
) -> Callable[[Mapping[Key | None, QuickCall], CallHandler], Callable[..., None]]:
    """The function from what calls know, and these calls, to the function that they come in by."""
    names = [p.name for p in parameters]
    own = "_" * (1 + max((len(name) - len(name.lstrip("_")) for name in names), default=0))
    listed, missing = _listed(parameters, own)
    given = f"({', '.join(names)}{',' if names else ''})"
    lines = [f"if {name} is {own}missing: raise TypeError" for name in missing]
    parts = key_parts(parameters)
    if parts is None:
        lines.append(f"{own}calls.look({given}, None)")
    else:
        before, key, holds = numpy_key(parts, names, own)
        lines += [
            "try:",
            f"    if {holds or 'True'}:",
            *(f"        {line}" for line in before),
            f"        {own}key = {key}",
            "    else:",
            f"        {own}key = {own}other({given})",
            "except LookupError:",
            f"    {own}key = None",
            f"{own}found = {own}known({own}key)",
            f"if {own}found is None:",
            f"    return {own}calls.look({given}, {own}key)",
            f"for {own}space, {own}name, {own}value in {own}found.outside:",
            f"    if {own}space.get({own}name) is not {own}value:",
            f"        return {own}calls.look({given}, {own}key)",
            "try:",
            f"    {own}found.launch({', '.join(names)})",
            # Keys are coarser than what decides the variant.
            f"except {own}LaunchError:",
            f"    {own}calls.look({given}, None)",
        ]
    made: dict[str, Any] = {
        f"{own}ndarray": np.ndarray,
        f"{own}plain": PLAIN,
        f"{own}missing": Parameter.empty,
        f"{own}defaults": [p.default for p in parameters],
        f"{own}LaunchError": LaunchError,
        f"{own}other": lambda arguments: other_key(parts, arguments) if parts is not None else None,
    }
    head = f"def {own}make({own}quick, {own}calls):\n    {own}known = {own}quick.get\n"
    body = "\n".join(f"        {line}" for line in lines)
    exec(f"{head}    def {own}enter({', '.join(listed)}):\n{body}\n    return {own}enter", made)
    make: Callable[[Mapping[Key | None, QuickCall], CallHandler], Callable[..., None]] = made[f"{own}make"]
    return make


def _listed(parameters: Sequence[Declared], own: str) -> tuple[list[str], list[str]]:
    """The parameters of an entrance, and those that seem to have a default since one before them has."""
    listed: list[str] = []
    missing: list[str] = []
    for number, parameter in enumerate(parameters):
        if parameter.default is not Parameter.empty:
            listed.append(f"{parameter.name}={own}defaults[{number}]")
        elif any(p.default is not Parameter.empty for p in parameters[:number]):
            listed.append(f"{parameter.name}={own}missing")
            missing.append(parameter.name)
        else:
            listed.append(parameter.name)
    return listed, missing


def launcher(
    kernel: Kernel, count: int, runtime: tuple[int, ...], axes: tuple[tuple[int, Axes], ...], *, numpy: bool
) -> Callable[..., object]:
    """The function that launches a variant's kernel on the arguments of a call.

    `runtime` has the numbers of the parameters that are no constants, of `count` in all; `axes` those of arrays in
    another order than the variant's. `numpy` says that all arrays will be NumPy's own.
    """
    executor = kernel.executor
    if isinstance(executor, AsynchronousExecutor):
        how: tuple[object, ...] = (kernel,)
        way = "by kernel"
    elif kernel.grid is not None:
        how, way = (executor.call, executor.settle, kernel.grid), "on grid"
    else:
        own = ArgumentGrid.of(kernel.ir).quick
        how, way = (executor.call, executor.settle, own, kernel.grid_for), "on own grid"
    launch: Callable[..., object] = _launch_maker(way, count, runtime, axes, numpy)(*how)
    return launch


_WAYS = {
    "by kernel": ("kernel", ["kernel({values})"]),
    "on grid": (
        "call, settle, grid",
        ["result = call(grid, {values})", "if result is not None: settle(result, grid, {listed})"],
    ),
    "on own grid": (
        "call, settle, own, grid_for",
        [
            "grid = own({listed}) or grid_for({values})",
            "result = call(grid, {values})",
            "if result is not None: settle(result, grid, {listed})",
        ],
    ),
}
"""How a variant is launched: what its code takes, and the code. An executor is called as `Kernel` does it, which saves
a call that only hands arguments on; on a device `Kernel` changes how it launches, and so is asked each time."""


@lru_cache(maxsize=256)
def _launch_maker(
    way: str, count: int, runtime: tuple[int, ...], axes: tuple[tuple[int, Axes], ...], numpy: bool
) -> Callable[..., Callable[..., object]]:
    """The function from what a way takes to a launch."""
    takes, steps = _WAYS[way]
    given = [f"a{number}" for number in range(count)]
    values = ", ".join(given[n] for n in runtime)
    listed = f"({values},)" if runtime else "()"
    lines = [f"{given[n]} = {_turned_in_code(given[n], by, numpy)}" for n, by in axes]
    lines += [step.format(values=values, listed=listed) for step in steps]
    made: dict[str, Any] = {"turned": turned}
    body = "\n".join(f"        {line}" for line in lines)
    exec(f"def make({takes}):\n    def launch({', '.join(given)}):\n{body}\n    return launch", made)
    make: Callable[..., Callable[..., object]] = made["make"]
    return make


def _turned_in_code(name: str, axes: Axes, numpy: bool) -> str:
    if not numpy:
        return f"turned({name}, {axes})"
    return f"{name}.T" if axes == tuple(reversed(range(len(axes)))) else f"{name}.transpose({axes})"


def taken(arguments: Sequence[object], runtime: tuple[int, ...], axes: Sequence[tuple[int, Axes]]) -> Sequence[object]:
    """The arguments of a variant's kernel among those of a call, as `launcher` hands them on."""
    turn = dict(axes)
    return [turned(arguments[n], turn[n]) if n in turn else arguments[n] for n in runtime]
