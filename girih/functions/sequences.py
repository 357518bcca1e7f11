"""`scan`, the sums of all elements up to each one, and `topk`, the largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girih import kernels
from girih.functions.columns import AxisOfOperand, Columns, plan_along, short_kernel, side_by_side
from girih.functions.layouts import AxisView, elements, is_packed, split
from girih.functions.options import AXIS, Option
from girih.functions.plans import ArrayFunction, CallPlan, FunctionCall, NewArray
from girih.functions.texts import accumulator, array_kernel, is_cpu, library_kernel, settled

INTEGERS = ("i8", "i16", "i32", "i64")
ORDERED = (*INTEGERS, "f16", "bf16", "f32", "f64")
MOST_LARGEST = 1024
FEW, FEW_READ = 8, 20000
"""Up to so many results a CPU looks for one after the other, if their square times the elements is at most that."""
LONG = 2**16
"""The elements of a vector from which the work-groups of a device share it, in two launches."""
BLOCK = 1024
"""The elements of a work-group of the library's `scan`."""


def scan(x: Any, axis: int = -1, *, out: Any = None, target: str | None = None) -> Any:
    """The inclusive scan along an axis: element i is the sum of the elements 0..i, as of `np.cumsum`.

    x is of i8, i16, i32, i64, f16, bf16, f32 or f64, of any shape, and the result is like it: the type stays, and
    integers wrap around. Sums of f16 and bf16 are in f32, and rounded where they are stored; the error of element i is
    at most i / 2 u times the sum of the |x| up to it. The result has the order of x in memory. `out` may be x. What is
    copied is what `softmax` copies.

    Raises `LaunchError`: `bind.dtype`, `bind.range` for an axis that there is not, `bind.shape` for an `out` of another
    shape.
    """
    return _SCAN.compute((x,), (axis,), out, target)


def topk(x: Any, k: int, axis: int = -1, *, out: Any = None, target: str | None = None) -> tuple[Any, Any]:
    """The k largest elements along an axis, in falling order, and where they are: (values, indices).

    x is of an integer or floating type, k is 1 to 1024, and no more than the elements along the axis; values is of x's
    type, indices of i64, both with k elements along the axis. Of equal elements the one with the lowest index comes
    first. NaN is passed over; where there are fewer than k numbers, the rest of indices is -1, and that of values -inf.
    `out` is a pair of arrays. An x whose axis is not contiguous is copied, with a `CopyWarning`.

    Raises `LaunchError`: `bind.dtype`, `bind.range` for a k or an axis that there is not, `bind.shape`.
    """
    found: tuple[Any, Any] = _TOPK.compute((x,), (axis, k), out, target)
    return found


def _build_scan(problem: FunctionCall) -> CallPlan:
    (axis,) = problem.options
    x = problem.operand(0)
    problem.check_element(x, ORDERED)
    element, library = x.element, problem.library
    sums = element if element in INTEGERS else accumulator(element)

    def compute(taken: AxisOfOperand) -> Columns:
        if taken.view.shape[0] == 1 and taken.view.shape[-1] >= LONG and sums == element and not is_cpu(problem.target):
            return _long(problem, taken)
        short = None if taken.is_across else short_kernel(problem, "scan", x, taken.view.shape[-1], accumulator=sums)
        if short is not None:
            return lambda arrays, a, b: short(a, b)
        options: dict[str, Any] = {"type": element, "accumulator": sums}
        if taken.is_across:
            options |= side_by_side(problem.target, taken.view)
        name = "scan_across" if taken.is_across else "scan_columns"
        kernel = settled(array_kernel("scan", name, problem.target, **options), library)
        return lambda arrays, a, b: kernel(a, b)

    return plan_along(problem, problem.axis(axis, x), compute)


def _long(problem: FunctionCall, taken: AxisOfOperand) -> Columns:
    """The scan of one long vector by two launches."""
    library, length = problem.library, taken.view.shape[-1]
    totals, scanned = (
        settled(kernel, library) for kernel in library_kernel(kernels.scan, problem.target, type=taken.operand.element)
    )
    line = library.viewer(AxisView((0, 1), (length,)), (1, length))
    blocks = -(-length // BLOCK)
    sums = library.viewer(AxisView((0,), (blocks,)), (blocks,))

    def launch(arrays: Sequence[Any], a: Any, b: Any) -> None:
        t = sums(library.empty((blocks,), taken.operand.element, (0,)))
        totals(line(a), t)
        scanned(line(a), t, line(b))

    return launch


def _build_topk(problem: FunctionCall) -> CallPlan:
    axis, k = problem.options
    x, library = problem.operand(0), problem.library
    problem.check_element(x, ORDERED)
    own = problem.axis(axis, x)
    if not 1 <= k <= MOST_LARGEST or k > x.shape[own]:
        problem.refuse("bind.range", f"k is {k}; axis {own} of x has {x.shape[own]} elements: it must be from 1 to "
                       f"{min(MOST_LARGEST, x.shape[own])}")  # fmt: skip
    order = (*[one for one in x.order if one != own], own)
    shape = (*x.shape[:own], k, *x.shape[own + 1 :])
    made = NewArray(x.element, shape, order), NewArray("i64", shape, order)
    outs = problem.results(*made)
    view = split(x.shape, x.steps, own) if elements(x.shape) else AxisView(order, x.shape)
    copied = view is None or len(view.shape) != 2
    columns = elements(shape) // k
    wanted = AxisView(order, (columns, k))
    direct = tuple(out is None or is_packed(out.shape, out.steps, order) for out in outs)
    if not elements(shape):
        return CallPlan(made, lambda arrays, outs: None, direct)
    if copied:
        problem.tell_copy(x, f"axis {own} is not contiguous")
    kernel = (
        short_kernel(problem, "top_k", x, x.shape[own])
        or _few_largest(problem, k, x.shape[own])
        or settled(library_kernel(kernels.top_k, problem.target, type=x.element, k=k), library)
    )
    show = library.viewer(AxisView(order, (columns, x.shape[own])), x.shape)
    result = library.viewer(wanted, shape)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        a = library.copied(arrays[0], order) if copied else arrays[0]
        kernel(show(a), result(outs[0]), result(outs[1]))

    return CallPlan(made, launch, direct)


def _few_largest(problem: FunctionCall, k: int, length: int) -> Any:
    """The kernel that reads a column k times, on a CPU; None where that takes longer."""
    if not is_cpu(problem.target) or k > FEW or k * k * length > FEW_READ:
        return None
    found = array_kernel("top_k", "top_k_few", problem.target, type=problem.operand(0).element, lanes=32)
    return settled(found, problem.library)


_SCAN = ArrayFunction("scan", ("x",), _build_scan, (AXIS,))
_TOPK = ArrayFunction("topk", ("x",), _build_topk, (AXIS, Option("k", integer=True)), results=("values", "indices"))
