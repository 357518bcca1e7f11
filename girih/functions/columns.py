"""Functions along one axis of an array: `softmax`, `layernorm`, `rms_norm`, `cross_entropy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from girih import kernels
from girih.diagnostics import KernelError
from girih.functions.host import DTYPE_OF, HOST
from girih.functions.layouts import AxisView, elements, is_packed, split
from girih.functions.libraries import taken as taken_array
from girih.functions.options import AXIS, Option
from girih.functions.plans import FLOATING, ArrayFunction, CallPlan, FunctionCall, NewArray, Operand
from girih.functions.problems import refuse
from girih.functions.texts import accumulator, array_kernel, is_cpu, lanes, library_kernel, settled
from girih.lazy_dataclass import dataclass

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
"""The distance of 1 and the next number."""
TURNED = 256
"""The elements along an axis from which arrays of a device are turned before, where columns lie side by side."""
SHORT = {"softmax": 64, "scan": 64, "layernorm": 48, "rms_norm": 48, "top_k": 32}
"""The elements up to which a column is one value for each work-item of a CPU."""
SHORT_WIDE = SHORT | {"layernorm": 32}
"""The same for f64."""
SHORT_COLUMNS = 64
"""The columns of a work-group then."""
SHORT_CLASSES = 32
"""The classes up to which a work-item of a CPU takes a column alone."""
REDUCTION = Option("reduction", words=("none", "mean", "sum"))


def softmax(x: Any, axis: int = -1, *, out: Any = None, target: str | None = None) -> Any:
    """Softmax along an axis: exp(x - maximum) / sum of exp(x - maximum).

    x is of f16, bf16, f32 or f64, of any shape, and the result is like it; sums are in f64 for f64, else in f32. Where
    all elements along the axis are -inf, as masks make them, the result is zeros; with NaN or +inf among them, NaN. The
    result has the order of x in memory. `out` may be x. The relative error is at most (16 + maximum - x + n / 2) u; in
    f16 and bf16 exponentials may be rounded to x's type before they are divided.

    x is used as it is where it is packed, in any order of its axes, and where what lies around the axis has even gaps;
    other arrays are copied, with a `CopyWarning`. Raises `LaunchError`: `bind.dtype`, `bind.range` for an axis that
    there is not, `bind.shape` for an `out` of another shape.
    """
    return _SOFTMAX.compute((x,), (axis,), out, target)


def layernorm(
    x: Any, weight: Any = None, bias: Any = None, axis: int = -1, *, eps: float = 1e-5, out: Any = None,
    target: str | None = None,
) -> Any:  # fmt: skip
    """LayerNorm along an axis: weight * (x - mean) / sqrt(variance + eps) + bias.

    x is of f16, bf16, f32 or f64, of any shape; weight and bias have one axis, as long as that of x, and its type; left
    out, they are 1 and 0. The variance is the mean of (x - mean)^2; sums are in f64 for f64, else in f32. The result is
    like x, in its order in memory. `out` may be x. What is copied is what `softmax` copies. Before weight and bias the
    error is at most (16 + n / 2) u max(1, largest |x| / sqrt(variance + eps)), unless a square or their sum is beyond
    the type of sums.

    Raises `LaunchError`: `bind.dtype`, `bind.range` for an axis that there is not and for an eps that is negative or
    not finite, `bind.shape` for a weight, a bias or an `out` of another shape.
    """
    return _LAYERNORM.compute((x, weight, bias), (axis, eps), out, target)


def rms_norm(
    x: Any, weight: Any = None, axis: int = -1, *, eps: float | None = None, out: Any = None,
    target: str | None = None,
) -> Any:  # fmt: skip
    """RMSNorm along an axis: weight * x / sqrt(mean of x^2 + eps).

    As `layernorm`, without mean and bias; the relative error is at most (16 + n / 2) u. eps is the distance of 1 and
    the next number of x's type if left out, as in torch.
    """
    return _RMS_NORM.compute((x, weight), (axis, eps), out, target)


def cross_entropy(
    logits: Any, targets: Any, axis: int = -1, *, ignore_index: int = -100, reduction: str = "mean", out: Any = None,
    target: str | None = None,
) -> Any:  # fmt: skip
    """The cross entropy of logits along an axis and classes: log(sum of exp(logits)) - logits[class].

    logits is of f16, bf16, f32 or f64; targets, of i32 or i64, has its shape without the axis, and counts classes from
    0. Losses are in f64 for f64, else in f32; one whose target is `ignore_index` is 0. With `reduction` "none" the
    result has the shape of targets; it is the sum of losses for "sum", and for "mean" their sum divided by the number
    of targets that are not ignored, NaN where there are none. `out` takes losses, for "none". torch counts the axis of
    classes as 1: pass `axis=1` for more than two axes. The error of a loss is at most (8 + n / 2) u max(1, loss); one
    of a column with NaN or +inf, or of -inf only, is NaN.

    Raises `LaunchError`: `bind.dtype`, `bind.shape`, `bind.range` for an axis or a class that there is not and for
    another reduction. On arrays of a device a class that there is not is a `KernelError`, at the next launch.
    """
    reduction = REDUCTION.plain("cross_entropy", reduction)
    if out is not None and reduction != "none":
        refuse("cross_entropy", "bind.arguments", f"out takes losses, for reduction='none'; reduction is {reduction!r}")
    losses = _CROSS_ENTROPY.compute((logits, targets), (axis, ignore_index), out, target)
    if reduction == "none":
        return losses
    total = np.add.reduce(losses, None) if type(losses) is np.ndarray else losses.sum()
    if reduction == "sum":
        return total
    if type(targets) is not np.ndarray:
        found = taken_array("cross_entropy", "targets", targets)
        if found.library is not HOST:
            return total / (targets != ignore_index).sum(dtype=losses.dtype)
        targets = found.array
    count = int(np.count_nonzero(targets != ignore_index))
    return total / count if count else total + np.nan


# --- along an axis -----------------------------------------------------------------------------

Columns = Callable[[Sequence[Any], Any, Any], None]
"""What launches a kernel on arguments, a view of x and a view of the result."""


@dataclass(frozen=True, slots=True)
class AxisOfOperand:
    """The operand as a kernel takes it: its view, and whether it is copied before."""

    operand: Operand
    view: AxisView
    copied: bool

    @property
    def is_across(self) -> bool:
        """Whether the columns lie side by side."""
        return len(self.view.shape) == 3


def along(problem: FunctionCall, operand: Operand, axis: int) -> AxisOfOperand:
    """How a kernel takes an operand, along an axis."""
    view = split(operand.shape, operand.steps, axis)
    if view is not None:
        return AxisOfOperand(operand, view, copied=False)
    problem.tell_copy(operand, f"what lies around axis {axis} has no even strides")
    packed = operand.packed(operand.order)
    view = split(packed.shape, packed.steps, axis)
    assert view is not None
    return AxisOfOperand(packed, view, copied=True)


def plan_along(
    problem: FunctionCall,
    axis: int,
    compute: Callable[[AxisOfOperand], Columns],
) -> CallPlan:
    """The plan of a function whose result is like its first operand, along an axis."""
    x, library = problem.operand(0), problem.library
    taken = along(problem, x, axis) if elements(x.shape) else AxisOfOperand(x, AxisView(x.order, x.shape), copied=False)
    made = NewArray(x.element, x.shape, taken.view.axes)
    (out,) = problem.results(made)
    direct = out is None or split(out.shape, out.steps, axis) == taken.view
    if not elements(x.shape):
        return CallPlan((made,), lambda arrays, outs: None, (True,), in_place=True)
    if taken.is_across and library is not HOST and not is_cpu(problem.target) and x.shape[axis] >= TURNED:
        return _turned(problem, axis, compute, made)
    call, view, order = compute(taken), library.viewer(taken.view, x.shape), x.order
    if taken.copied:
        return CallPlan(
            (made,), lambda arrays, outs: call(arrays, view(library.copied(arrays[0], order)), view(outs[0])), (direct,)
        )
    return CallPlan(
        (made,), lambda arrays, outs: call(arrays, view(arrays[0]), view(outs[0])), (direct,), in_place=True
    )


def _turned(problem: FunctionCall, axis: int, compute: Callable[[AxisOfOperand], Columns], made: NewArray) -> CallPlan:
    """The plan for an array of a device that is turned before, so that the axis is contiguous, and turned back.

    There both take less than reading long columns side by side more than once.
    """
    x, library = problem.operand(0), problem.library
    order = (*[one for one in x.order if one != axis], axis)
    packed = x.packed(order)
    view = split(packed.shape, packed.steps, axis)
    assert view is not None
    call, show = compute(AxisOfOperand(packed, view, copied=True)), library.viewer(view, x.shape)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        result = library.empty(x.shape, x.element, order)
        call(arrays, show(library.copied(arrays[0], order)), show(result))
        library.assign(outs[0], result)

    return CallPlan((made,), launch, (True,), in_place=True)


def column_text(problem: FunctionCall, name: str, taken: AxisOfOperand, **options: Any) -> Any:
    """The kernel of a text that there is for columns, and for columns side by side."""
    element = taken.operand.element
    if taken.is_across:
        found = array_kernel(name, name, problem.target, type=element, accumulator=accumulator(element),
                             **side_by_side(problem.target, taken.view))  # fmt: skip
    else:
        length = None if is_cpu(problem.target) else taken.view.shape[-1]
        found = library_kernel(getattr(kernels, name), problem.target, type=element, length=length, **options)
    return settled(found, problem.library)


def short_text(problem: FunctionCall, name: str, taken: AxisOfOperand) -> Any:
    """The kernel of a text for columns of a few elements, `NAME_short`, on a CPU; None for others."""
    if taken.is_across:
        return None
    sums = accumulator(taken.operand.element)
    return short_kernel(problem, name, taken.operand, taken.view.shape[-1], accumulator=sums)


def short_kernel(problem: FunctionCall, name: str, x: Operand, length: int, **options: Any) -> Any:
    """The same, for columns of some elements."""
    if length > (SHORT_WIDE if x.element == "f64" else SHORT)[name] or not is_cpu(problem.target):
        return None
    found = array_kernel(name, f"{name}_short", problem.target, type=x.element, lanes=lanes(problem.target, length),
                         columns=SHORT_COLUMNS, **options)  # fmt: skip
    return settled(found, problem.library)


def side_by_side(target: str | None, view: AxisView) -> dict[str, int]:
    """The definitions of kernels for columns side by side: how many a work-group takes, and its work-items.

    It takes fewer of long ones, which it reads more than once: their elements stay in a cache.
    """
    length = view.shape[1]
    columns = 32 if length > 8192 else 64 if length > 1024 else 128
    return {"columns": columns, "lanes": lanes(target, min(columns, view.shape[2]))}


def _build_softmax(problem: FunctionCall) -> CallPlan:
    (axis,) = problem.options
    x = problem.operand(0)
    problem.check_element(x, FLOATING)

    def compute(taken: AxisOfOperand) -> Columns:
        kernel = short_text(problem, "softmax", taken) or column_text(problem, "softmax", taken)
        return lambda arrays, a, b: kernel(a, b)

    return plan_along(problem, problem.axis(axis, x), compute)


def _vector(problem: FunctionCall, index: int, length: int, value: float) -> Callable[[Sequence[Any]], Any]:
    """What gives a weight or a bias of some elements: the argument, or a vector of one number."""
    x, operand, library = problem.operand(0), problem.operands[index], problem.library
    as_it_is = library.viewer(AxisView((0,), (length,)), (length,))
    if operand is None:
        constant = as_it_is(filled(library.filled, length, x.element, value, library))
        return lambda arrays: constant
    problem.check_same(operand, x)
    if operand.shape != (length,):
        problem.refuse("bind.shape", f"{operand.name} has shape {operand.shape}; the axis of x has {length} elements: "
                       f"it must be {(length,)}")  # fmt: skip
    if length > 1 and operand.steps != (1,):
        problem.tell_copy(operand, "its elements lie apart")
        return lambda arrays: as_it_is(library.copied(arrays[index], (0,)))
    return lambda arrays: as_it_is(arrays[index])


def filled(make: Callable[..., Any], length: int, element: str, value: float, library: Any) -> Any:
    """A vector of one number; on the host one that all calls share."""
    if library is not HOST:
        return make((length,), element, value)
    known = _FILLED.get((element, value))
    if known is None or len(known) < length:
        known = _FILLED[element, value] = np.full(length, value, DTYPE_OF[element])
    return known[:length]


_FILLED: dict[tuple[str, float], Any] = {}
"""The longest vector of each number so far."""


def _epsilon(problem: FunctionCall, eps: float) -> float:
    if eps < 0:
        problem.refuse("bind.range", f"eps is {eps}; it must not be negative")
    return eps


def _build_layernorm(problem: FunctionCall) -> CallPlan:
    axis, eps = problem.options
    x, epsilon = problem.operand(0), _epsilon(problem, eps)
    problem.check_element(x, FLOATING)
    own = problem.axis(axis, x)
    gamma = _vector(problem, 1, x.shape[own], 1.0)
    beta = _vector(problem, 2, x.shape[own], 0.0)

    def compute(taken: AxisOfOperand) -> Columns:
        kernel = short_text(problem, "layernorm", taken) or column_text(problem, "layernorm", taken)
        return lambda arrays, a, b: kernel(a, gamma(arrays), beta(arrays), epsilon, b)

    return plan_along(problem, own, compute)


def _build_rms_norm(problem: FunctionCall) -> CallPlan:
    axis, eps = problem.options
    x = problem.operand(0)
    problem.check_element(x, FLOATING)
    epsilon = EPSILON[x.element] if eps is None else _epsilon(problem, eps)
    own = problem.axis(axis, x)
    gamma = _vector(problem, 1, x.shape[own], 1.0)

    def compute(taken: AxisOfOperand) -> Columns:
        kernel = short_text(problem, "rms_norm", taken) or column_text(problem, "rms_norm", taken)
        return lambda arrays, a, b: kernel(a, gamma(arrays), epsilon, b)

    return plan_along(problem, own, compute)


def _build_cross_entropy(problem: FunctionCall) -> CallPlan:
    axis, ignored = problem.options
    x, classes, library = problem.operand(0), problem.operand(1), problem.library
    problem.check_element(x, FLOATING)
    problem.check_element(classes, ("i32", "i64"))
    if not -(2**31) <= ignored < 2**31:
        problem.refuse("bind.range", f"ignore_index is {ignored}; it must be an integer of 32 bits")
    own = problem.axis(axis, x)
    rest = (*x.shape[:own], *x.shape[own + 1 :])
    if classes.shape != rest:
        problem.refuse("bind.shape", f"targets has shape {classes.shape}; logits has {x.shape}, without axis {own} "
                       f"{rest}")  # fmt: skip
    made = NewArray(accumulator(x.element), rest, tuple(range(len(rest))))
    (out,) = problem.results(made)
    if not elements(rest):
        return CallPlan((made,), lambda arrays, outs: None, (True,))
    if x.shape[own] == 0:
        problem.refuse("bind.shape", f"logits has shape {x.shape}, so that there is no class")
    axes = tuple(range(len(rest)))
    scattered = not is_packed(rest, classes.steps, axes)
    if scattered:
        problem.tell_copy(classes, "they are not in order C")
    direct = out is None or is_packed(rest, out.steps, axes)
    call = _losses_side_by_side(problem, own, rest) or _losses_by_columns(problem, own, rest)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        logits, targets = arrays
        try:
            call(logits, library.copied(targets, axes) if scattered else targets, outs[0])
        except KernelError:
            _tell_class(problem, targets, x.shape[own], ignored)
            raise

    return CallPlan((made,), launch, (direct,))


Losses = Callable[[Any, Any, Any], None]
"""What computes the losses of logits and classes, which are in order C, as the losses are."""


def _losses_side_by_side(problem: FunctionCall, own: int, rest: tuple[int, ...]) -> Losses | None:
    """On a CPU, for columns side by side in memory, and for short ones; None for others.

    A work-item takes a column, so that 32 columns have one logarithm; each of them alone took 2 to 8 times as long.
    """
    x, classes, library = problem.operand(0), problem.operand(1), problem.library
    view = split(x.shape, x.steps, own)
    others = [axis for axis in range(len(x.shape)) if axis != own]
    if view is None or not is_cpu(problem.target) or [axis for axis in view.axes if axis != own] != others:
        return None
    is_across = len(view.shape) == 3
    if not is_across and x.shape[own] > SHORT_CLASSES:
        return None
    layers = view.shape[:1] if is_across else ()
    sizes = (*layers, elements(rest) // elements(layers))
    name = "cross_entropy_across" if is_across else "cross_entropy_short"
    kernel = settled(array_kernel("cross_entropy", name, problem.target, type=x.element, index=classes.element,
                                  accumulator=accumulator(x.element), ignore_index=problem.options[1],
                                  lanes=lanes(problem.target, min(32, sizes[-1]))), library)  # fmt: skip
    show, flat = library.viewer(view, x.shape), library.viewer(AxisView(tuple(range(len(rest))), sizes), rest)
    return lambda logits, targets, losses: kernel(show(logits), flat(targets), flat(losses))


def _losses_by_columns(problem: FunctionCall, own: int, rest: tuple[int, ...]) -> Losses:
    """By the kernel of the library, which takes columns one by one; other logits are copied."""
    x, classes, library = problem.operand(0), problem.operand(1), problem.library
    order = (*[axis for axis in range(len(x.shape)) if axis != own], own)
    view = split(x.shape, x.steps, own)
    copied = view is None or view.axes != order or len(view.shape) != 2
    if copied:
        problem.tell_copy(x, f"the classes, axis {own}, are not contiguous, or the columns not in order")
    columns = elements(rest)
    kernel, _ = library_kernel(kernels.cross_entropy, problem.target, type=x.element, index=classes.element,
                               ignore_index=problem.options[1])  # fmt: skip
    kernel = settled(kernel, library)
    turn = library.viewer(AxisView(order, (columns, x.shape[own])), x.shape)
    flat = library.viewer(AxisView(tuple(range(len(rest))), (columns,)), rest)
    return lambda logits, targets, losses: kernel(
        turn(library.copied(logits, order) if copied else logits), flat(targets), flat(losses)
    )


def _tell_class(problem: FunctionCall, targets: Any, count: int, ignored: int) -> None:
    """Raise a `LaunchError` that names the first class which there is not, where targets can be looked at."""
    if not isinstance(targets, np.ndarray):
        return
    wrong = np.argwhere(((targets < 0) | (targets >= count)) & (targets != ignored))
    if len(wrong):
        place = tuple(map(int, wrong[0]))
        problem.refuse("bind.range", f"targets{list(place) if place else ''} is {targets[place]}; there are {count} "
                       f"classes, counted from 0, and ignore_index is {ignored}")  # fmt: skip


_SOFTMAX = ArrayFunction("softmax", ("x",), _build_softmax, (AXIS,))
_LAYERNORM = ArrayFunction("layernorm", ("x", "weight", "bias"), _build_layernorm,
                           (AXIS, Option("eps", number=True)), ("weight", "bias"))  # fmt: skip
_RMS_NORM = ArrayFunction("rms_norm", ("x", "weight"), _build_rms_norm,
                          (AXIS, Option("eps", number=True, may_be_none=True)), ("weight",))  # fmt: skip
_CROSS_ENTROPY = ArrayFunction("cross_entropy", ("logits", "targets"), _build_cross_entropy,
                               (AXIS, Option("ignore_index", integer=True)))  # fmt: skip
