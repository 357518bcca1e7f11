"""Calls of functions: what was found out about arguments of some types, shapes and strides is kept, and used again.

A function gives a builder: it looks at the operands of a call, refuses what is wrong, chooses kernels and views, and
returns a `CallPlan`. A later call with operands that are alike only looks the plan up, so it costs little more than the
launch of a kernel: of arrays of NumPy machine code makes the key, and of tensors of torch on a device Python does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from girih.diagnostics import LaunchError
from girih.functions.device import TorchTensors
from girih.functions.host import DTYPE_OF, HOST, maker
from girih.functions.layouts import memory_order, packed_steps
from girih.functions.libraries import Library, Taken, taken, together
from girih.functions.options import Option, plain_options, shown
from girih.functions.problems import listed, refuse, tell_copy
from girih.lazy_dataclass import dataclass
from girih.runtime.cpu.looks import Look, looker

MOST_PLANS = 4096
"""The plans that are kept; then all are forgotten, as shapes that come again come soon."""

FLOATING = ("f16", "bf16", "f32", "f64")

QuickCall = Callable[[tuple[Any, ...], Any], Any]
"""What computes results for arguments that look like those of an earlier call: into `out`, or new ones for None."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of a call: its name, the number type of its elements, its sizes and strides by axes, in elements."""

    name: str
    element: str
    shape: tuple[int, ...]
    steps: tuple[int, ...]

    def packed(self, order: Sequence[int]) -> Operand:
        """The operand as a copy without gaps, whose axes are in an order in memory."""
        return Operand(self.name, self.element, self.shape, packed_steps(self.shape, order))

    @property
    def order(self) -> tuple[int, ...]:
        """The axes from the outermost to the innermost in memory."""
        return memory_order(self.shape, self.steps)


@dataclass(frozen=True, slots=True)
class NewArray:
    """A result that a call allocates: its number type, its sizes, and its axes as they lie in memory."""

    element: str
    shape: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallPlan:
    """How calls with some operands are computed.

    `launch(arguments, results)` launches kernels. `direct` says for each result whether it may be the `out` that was
    given. With `in_place` the first result may be the first argument. `quick`, where there is one, computes a result
    for arrays of NumPy with as few calls as can be.
    """

    made: tuple[NewArray, ...]
    launch: Callable[[Sequence[Any], Sequence[Any]], None]
    direct: tuple[bool, ...]
    in_place: bool = False
    quick: QuickCall | None = None


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What a builder looks at: the operands, None for those left out; options; where to compute; the given results."""

    function: str
    operands: tuple[Operand | None, ...]
    options: tuple[Any, ...]
    library: Library
    target: str | None
    outs: tuple[Operand | None, ...]

    def operand(self, index: int) -> Operand:
        """An operand that is there."""
        found = self.operands[index]
        assert found is not None
        return found

    def refuse(self, code: str, message: str, hint: str | None = None) -> None:
        """Raise a `LaunchError` with one diagnostic."""
        refuse(self.function, code, message, hint)

    def check_element(self, operand: Operand, allowed: Sequence[str]) -> None:
        """Raise a `LaunchError` where the type of the elements is not among those that are allowed."""
        if operand.element not in allowed:
            names = listed(str(DTYPE_OF[name]) for name in allowed)
            self.refuse("bind.dtype", f"{operand.name} has elements of {DTYPE_OF[operand.element]}; "
                        f"it must have {names}", f"convert it, as with {operand.name}.astype(np.float32)")  # fmt: skip

    def check_same(self, operand: Operand, other: Operand) -> None:
        """Raise a `LaunchError` where the elements of two operands are of different types."""
        if operand.element != other.element:
            self.refuse("bind.dtype", f"{operand.name} has elements of {DTYPE_OF[operand.element]}, {other.name} of "
                        f"{DTYPE_OF[other.element]}; they must be of one type",
                        f"convert one of them, as with {operand.name}.astype({other.name}.dtype)")  # fmt: skip

    def axis(self, axis: int, operand: Operand) -> int:
        """The number of an axis from the front. Raises `LaunchError` for one that the operand does not have."""
        count = len(operand.shape)
        if not -count <= axis < count:
            choices = f"from {-count} to {count - 1}" if count else "of an array that has some"
            self.refuse("bind.range", f"axis is {axis}; {operand.name} has {count} axes: it must be {choices}")
        return axis % count

    def results(self, *made: NewArray) -> tuple[Operand | None, ...]:
        """The results that were given, held against those that are to be made. Raises `LaunchError`."""
        for out, one in zip(self.outs, made, strict=True):
            if out is not None and out.shape != one.shape:
                self.refuse("bind.shape", f"{out.name} has shape {out.shape}; the result has {one.shape}",
                            f"allocate it with np.empty({one.shape}, np.{DTYPE_OF[one.element]})")  # fmt: skip
            if out is not None and out.element != one.element:
                self.refuse("bind.dtype", f"{out.name} has elements of {DTYPE_OF[out.element]}; the result has "
                            f"{DTYPE_OF[one.element]}",
                            f"allocate it with np.empty({one.shape}, np.{DTYPE_OF[one.element]})")  # fmt: skip
        return self.outs

    def tell_copy(self, operand: Operand, why: str) -> None:
        """Warn that an operand is copied."""
        tell_copy(self.function, operand.name, f"{why}; strides are {operand.steps} elements")


Builder = Callable[[FunctionCall], CallPlan]


@dataclass(frozen=True, slots=True, eq=False)
class ArrayFunction:
    """A function of arrays: its name, the names of its arguments and of its results, options, and what builds plans.

    Arguments that are `optional`, and results, may be None. `quick` has what computes results for arrays of NumPy, by
    how a call looks; a dictionary of CPython may be read and written by several threads.
    """

    name: str
    arguments: tuple[str, ...]
    build: Builder
    options: tuple[Option, ...] = ()
    optional: tuple[str, ...] = ()
    results: tuple[str, ...] = ("out",)
    quick: dict[bytes | None, QuickCall] = field(default_factory=dict)

    def compute(self, arguments: tuple[Any, ...], options: tuple[Any, ...], out: Any, target: str | None) -> Any:
        """The results for some arguments, of which optional ones may be None; a tuple of them where there are more.

        `out` has an array, or as many arrays, to be written, or None. Raises `LaunchError`.
        """
        quick = self.quick.get(_LOOKS.of(arguments, options, out, target))
        if quick is not None:
            try:
                return quick(arguments, out)
            except LaunchError:
                pass  # What lies askew in memory is copied below.
        return self._called(arguments, options, out, target)

    def _called(self, arguments: tuple[Any, ...], options: tuple[Any, ...], out: Any, target: str | None) -> Any:
        """The results for arrays that are new, or that machine code does not know."""
        options = plain_options(self.name, self.options, options)
        if target is not None and not isinstance(target, str):
            refuse(self.name, "bind.type", f"target must be the name of a target, or None; got {shown(target)}",
                   'pass a name, as "cpu" or "interpreter"; `girih targets` lists them')  # fmt: skip
        quick = None if out is not None else _QUICK_OF_TENSORS.get(self._key_of_tensors(arguments, options, target))
        if quick is not None:
            try:
                return quick(arguments, None)
            except LaunchError:
                pass
        for value in (*arguments, out):
            if value is not None and type(value) is not np.ndarray:
                return self._elsewhere(arguments, options, out, target)
        return self._on_host(arguments, options, (out,) if len(self.results) == 1 else self._several(out), target)

    def _key_of_tensors(
        self, arguments: tuple[Any, ...], options: tuple[Any, ...], target: str | None
    ) -> tuple[Any, ...] | None:
        """What decides how tensors of torch on a device are computed; None where there are others."""
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return None
        looks: list[Any] = [self, options, target]
        for x in arguments:
            if x is None:
                looks.append(None)
            elif type(x) is torch.Tensor and x.is_cuda and not x.requires_grad and not x.is_conj():
                looks.append((x.dtype, x.shape, x.stride(), x.get_device()))
            else:
                return None
        return tuple(looks)

    def _on_host(
        self, arguments: tuple[Any, ...], options: tuple[Any, ...], outs: tuple[Any, ...], target: str | None
    ) -> Any:
        """The results for arrays of NumPy."""
        results = self._run(HOST, arguments, options, outs, target)
        self._keep(self._plan(HOST, arguments, options, outs, target), arguments, options, outs, target)
        return results[0] if len(results) == 1 else tuple(results)

    def _keep(
        self, plan: CallPlan, arguments: tuple[Any, ...], options: tuple[Any, ...], outs: tuple[Any, ...],
        target: str | None,
    ) -> None:  # fmt: skip
        """Let later calls that look so go the quick way: those with new results, or with one that is written at once.

        That one is the first argument only where a kernel may change it.
        """
        (out, *more) = outs
        if more and any(one is not None for one in outs):
            return
        if out is not None and not (plan.direct == (True,) and (plan.in_place or out is not arguments[0])):
            return
        look = _LOOKS.now(arguments, options, out, target)
        if look is not None:
            if len(self.quick) >= MOST_PLANS:
                self.quick.clear()
            self.quick[look] = _quick(plan, maker)

    def _elsewhere(
        self, arguments: tuple[Any, ...], options: tuple[Any, ...], out: Any, target: str | None
    ) -> Any:  # fmt: skip
        """The results for arrays of other libraries."""
        given = (out,) if len(self.results) == 1 else self._several(out)
        arguments, outs, library, handed = self._gathered(arguments, given)
        if library is HOST:
            if len(outs) == 1 or not any(one is not None for one in outs):
                made = self.compute(arguments, options, outs[0], target)
            else:
                made = self._on_host(arguments, options, outs, target)
            results: Sequence[Any] = (made,) if len(outs) == 1 else made
        else:
            results = self._run(library, arguments, options, outs, target)
            key = None if any(one is not None for one in outs) else self._key_of_tensors(arguments, options, target)
            if key is not None and isinstance(library, TorchTensors):
                if len(_QUICK_OF_TENSORS) >= MOST_PLANS:
                    _QUICK_OF_TENSORS.clear()
                _QUICK_OF_TENSORS[key] = _quick(self._plan(library, arguments, options, outs, target), library.maker)
        shown = [handed(one) if user is None else user for one, user in zip(results, given, strict=True)]
        return shown[0] if len(shown) == 1 else tuple(shown)

    def _several(self, out: Any) -> tuple[Any, ...]:
        if out is None:
            return (None,) * len(self.results)
        if not isinstance(out, tuple | list) or len(out) != len(self.results):
            refuse(self.name, "bind.type", f"out must be {len(self.results)} arrays: ({', '.join(self.results)})")
        return tuple(out)

    def _gathered(
        self, arguments: tuple[Any, ...], outs: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Library, Callable[[Any], Any]]:
        """Arguments and results as arrays to work on, where they are, and what makes a result the caller's kind."""
        names = (*self.arguments, *self.results)
        found: list[Taken | None] = [
            None if value is None and self._may_miss(name) else taken(self.name, name, value)
            for name, value in zip(names, arguments + outs, strict=True)
        ]
        first = together(self.name, names, found)
        arrays = tuple(None if one is None else one.array for one in found)
        return arrays[: len(arguments)], arrays[len(arguments) :], first.library, first.handed

    def _may_miss(self, name: str) -> bool:
        return name in self.optional or name in self.results

    def _plan(
        self, library: Library, arguments: tuple[Any, ...], options: tuple[Any, ...], outs: tuple[Any, ...],
        target: str | None,
    ) -> CallPlan:  # fmt: skip
        """The plan for arrays that look like these, made now or before."""
        arrays = arguments + outs
        looks = [None if a is None else (library.element(a), tuple(a.shape), library.steps(a)) for a in arrays]
        key = (self.name, options, target, library, *looks)
        plan = _PLANS.get(key)
        if plan is None:
            plan = self._planned(library, arguments, options, outs, target)
            if len(_PLANS) >= MOST_PLANS:
                _PLANS.clear()
            _PLANS[key] = plan
        return plan

    def _run(
        self, library: Library, arguments: tuple[Any, ...], options: tuple[Any, ...], outs: tuple[Any, ...],
        target: str | None,
    ) -> Sequence[Any]:  # fmt: skip
        plan = self._plan(library, arguments, options, outs, target)
        try:
            return self._computed(plan, library, arguments, outs)
        except LaunchError as error:
            if any(found.code != "bind.alignment" for found in error.diagnostics):
                raise
        # New arrays begin where kernels want them to.
        straight = tuple(a if a is None else library.copied(a, range(a.ndim)) for a in arguments)
        plan = self._plan(library, straight, options, (None,) * len(outs), target)
        made = self._computed(plan, library, straight, (None,) * len(outs))
        return [_kept(library, out, one) for out, one in zip(outs, made, strict=True)]

    def _computed(
        self, plan: CallPlan, library: Library, arguments: tuple[Any, ...], outs: tuple[Any, ...]
    ) -> Sequence[Any]:
        written = []
        for name, out, made, direct in zip(self.results, outs, plan.made, plan.direct, strict=True):
            if out is not None and not library.is_writeable(out):
                refuse(self.name, "bind.read_only", f"{name} must be writeable", "leave it out, and take the result")
            is_new = out is None or not self._may_write(plan, library, arguments, outs, out, direct)
            written.append(library.empty(made.shape, made.element, made.order) if is_new else out)
        plan.launch(arguments, written)
        return [_kept(library, out, one) for out, one in zip(outs, written, strict=True)]

    def _may_write(
        self,
        plan: CallPlan,
        library: Library,
        arguments: tuple[Any, ...],
        outs: tuple[Any, ...],
        out: Any,
        direct: bool,
    ) -> bool:
        """Whether a kernel may write into a given result; where not, another one is written, and copied."""
        for place, value in enumerate(arguments):
            shares = value is not None and library.shares(value, out)
            if shares and not (plan.in_place and place == 0 and library.is_same(value, out)):
                return False
        return direct and all(other is out or other is None or not library.shares(other, out) for other in outs)

    def _planned(
        self, library: Library, arguments: tuple[Any, ...], options: tuple[Any, ...], outs: tuple[Any, ...],
        target: str | None,
    ) -> CallPlan:  # fmt: skip
        operands = tuple(map(self._operand, [library] * len(arguments), self.arguments, arguments))
        results = tuple(map(self._operand, [library] * len(outs), self.results, outs))
        where = library.target if target is None else target
        return self.build(FunctionCall(self.name, operands, options, library, where, results))

    def _operand(self, library: Library, name: str, array: Any) -> Operand | None:
        if array is None:
            if self._may_miss(name):
                return None
            refuse(self.name, "bind.null", f"{name} is None; it must be an array")
        element = library.element(array)
        if element is None:
            hint = f"convert it, as with {name}.astype(np.float32)"
            refuse(self.name, "bind.dtype", f"{name} has elements of {library.shown(array)}, which no kernel takes",
                   hint)  # fmt: skip
        return Operand(name, element, tuple(array.shape), library.steps(array))


_PLANS: dict[tuple[Any, ...], CallPlan] = {}
"""Plans by what they depend on. A dictionary of CPython may be read and written by several threads."""
_QUICK_OF_TENSORS: dict[tuple[Any, ...] | None, QuickCall] = {}
"""What computes new results for tensors of torch on a device, by how these look."""


class _Looks:
    """What gives the key of a call: machine code, made for the first call that was computed."""

    __slots__ = ("of",)

    def __init__(self) -> None:
        self.of: Look = lambda arguments, options, out, target: None

    def now(self, arguments: tuple[Any, ...], options: tuple[Any, ...], out: Any, target: str | None) -> bytes | None:
        """The key of a call, by machine code that is made now if it was not; None where there is no key."""
        self.of = looker() or self.of
        return self.of(arguments, options, out, target)


_LOOKS = _Looks()


def _quick(plan: CallPlan, make_maker: Callable[[Sequence[int], str, Sequence[int]], Callable[[], Any]]) -> QuickCall:
    """What computes results, new ones if none is given."""
    if plan.quick is not None:
        return plan.quick
    makers = [make_maker(one.shape, one.element, one.order) for one in plan.made]
    launch = plan.launch
    if len(makers) == 1:
        (make,) = makers

        def single(arguments: tuple[Any, ...], out: Any) -> Any:
            made = make() if out is None else out
            launch(arguments, (made,))
            return made

        return single

    def several(arguments: tuple[Any, ...], out: Any) -> Any:
        made = tuple(make() for make in makers)
        launch(arguments, made)
        return made

    return several


def _kept(library: Library, out: Any, made: Any) -> Any:
    """The result that was given, with the elements that were computed."""
    if out is None or out is made:
        return made
    library.assign(out, made)
    return out
