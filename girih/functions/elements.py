"""Functions of elements: `gelu`."""

from __future__ import annotations

from typing import Any

from girih.functions.layouts import AxisView, elements, lines
from girih.functions.options import Option
from girih.functions.plans import FLOATING, ArrayFunction, CallPlan, FunctionCall, NewArray
from girih.functions.texts import accumulator, array_kernel, lanes, settled

APPROXIMATIONS = ("none", "tanh")


def gelu(x: Any, *, approximate: str = "none", out: Any = None, target: str | None = None) -> Any:
    """GELU of each element: x (1 + erf(x / sqrt(2))) / 2; with `approximate="tanh"` its usual approximation.

    The error is at most 2 u |x|. x is of f16, bf16, f32 or f64, of any shape; the result is like it, in its order in
    memory. `out` may be x. x is used as it is where it is packed, in any order of its axes, or lines of it are, with
    even gaps; other arrays are copied, with a `CopyWarning`. Raises `LaunchError`: `bind.dtype`, `bind.shape` for an
    `out` of another shape, `bind.range` for another approximation.
    """
    return _GELU.compute((x,), (approximate,), out, target)


def _build(problem: FunctionCall) -> CallPlan:
    (approximate,) = problem.options
    x, library = problem.operand(0), problem.library
    problem.check_element(x, FLOATING)
    view = lines(x.shape, x.steps) if elements(x.shape) else AxisView(x.order, x.shape)
    copied, order = view is None, x.order
    if view is None:
        problem.tell_copy(x, "its lines have no even strides")
        packed = x.packed(order)
        view = lines(packed.shape, packed.steps)
        assert view is not None
    made = NewArray(x.element, x.shape, view.axes)
    (out,) = problem.results(made)
    if not elements(x.shape):
        return CallPlan((made,), lambda arrays, outs: None, (True,), in_place=True)
    theirs = view if out is None else lines(out.shape, out.steps)
    if theirs is not None and theirs.axes == view.axes and 1 in (view.shape[0], theirs.shape[0]):
        # Of an array without gaps any number of elements is a line.
        view = theirs = min(view, theirs, key=lambda one: one.shape[1])
    direct = theirs == view
    kernel = settled(array_kernel("gelu", "gelu", problem.target, type=x.element, accumulator=accumulator(x.element),
                                  tanh=approximate == "tanh", lanes=lanes(problem.target)), library)  # fmt: skip
    show = library.viewer(view, x.shape)
    if copied:
        return CallPlan((made,), lambda arrays, outs: kernel(show(library.copied(arrays[0], order)), show(outs[0])),
                    (direct,))  # fmt: skip
    return CallPlan((made,), lambda arrays, outs: kernel(show(arrays[0]), show(outs[0])), (direct,), in_place=True)


_GELU = ArrayFunction("gelu", ("x",), _build, (Option("approximate", words=APPROXIMATIONS),))
