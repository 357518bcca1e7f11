"""`attention`: softmax(scale Q K^T) V for each head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import Any

from girih import kernels
from girih.functions.layouts import AxisView, elements, is_packed, split
from girih.functions.options import Option
from girih.functions.plans import ArrayFunction, CallPlan, FunctionCall, NewArray, Operand
from girih.functions.texts import array_kernel, is_cpu, library_kernel, settled, sharing_groups

ELEMENTS = ("f16", "bf16", "f32")
MOST_HEADDIM = 1024
FEW, FEW_QUERIES, FEW_KEYS = 128, 32, 16
"""Up to so many queries, or keys, a CPU computes tiles of so many: little of them is empty."""
MOST_ROWS = 16
"""Up to so many queries, of one head or of heads that share keys, a CPU takes as rows of a product with all keys."""
SCORES = 4096
"""The scores that a work-group then has at a time, of at most `MOST_KEYS` keys."""
MOST_KEYS = 1024
PART = 2**15
"""The least elements of the keys of a work-group where those of a head are shared."""


def attention(
    q: Any, k: Any, v: Any, *, causal: bool = False, scale: float | None = None, fast: bool = False, out: Any = None,
    target: str | None = None,
) -> Any:  # fmt: skip
    """Attention: softmax(scale q k^T) v for each head, without ever holding the matrix of scores.

    q is ... x heads x queries x headdim, k and v are ... x key heads x keys x headdim, of f16, bf16 or f32; the result
    is like q. The sizes in front are a batch, and equal in all. heads is a multiple of key heads: neighbouring heads
    share one. With two axes there is one head. `scale` is 1 / sqrt(headdim) if left out; scores, sums and the result
    are in f32 until it is stored, but for weights, which are rounded to the type of v. The error is at most
    (16 + 16 s + keys / 2) u times the largest |v|, s being the largest sum of scale |q| |k|, and for f16 and bf16 twice
    the rounding of such a v. With `causal`, query i sees the keys 0..i. With `fast`, exponentials have a relative
    error of up to 2^-10.

    Arrays in order C are used as they are, also with gaps between heads; others are copied, with a `CopyWarning`.
    Raises `LaunchError`: `bind.dtype`, `bind.shape`, `bind.range` for a scale that is not finite.
    """
    return _ATTENTION.compute((q, k, v), (causal, scale, fast), out, target)


def _build(problem: FunctionCall) -> CallPlan:
    causal, scale, fast = problem.options
    q, k, v = (problem.operand(index) for index in range(3))
    library = problem.library
    for one in (q, k, v):
        problem.check_element(one, ELEMENTS)
        problem.check_same(one, q)
        if len(one.shape) < 2:
            problem.refuse("bind.shape", f"{one.name} has shape {one.shape}; it must have at least two axes, "
                           "... x heads x rows x headdim")  # fmt: skip
    _check_shapes(problem, q, k, v)
    headdim = q.shape[-1]
    made = NewArray(q.element, q.shape, tuple(range(len(q.shape))))
    (out,) = problem.results(made)
    factor = 1 / sqrt(headdim) if scale is None else scale
    heads, key_heads = elements(q.shape[:-2]), elements(k.shape[:-2])
    if not elements(q.shape):
        return CallPlan((made,), lambda arrays, outs: None, (True,))
    if k.shape[-2] == 0:
        zeros = library.filled
        return CallPlan((made,), lambda arrays, outs: library.assign(outs[0], zeros(q.shape, q.element, 0)), (True,))
    if is_cpu(problem.target) and not causal and _is_few(q.shape[-2], k.shape[-2]):
        return _plan_of_few(problem, made, factor)
    kernel = settled(
        library_kernel(kernels.attention, problem.target, type=q.element, headdim=headdim, causal=causal, fast=fast,
                       **_tile(problem, q.shape[-2], k.shape[-2])),
        library)  # fmt: skip
    views = [
        _heads(problem, one, (count, one.shape[-2])) for one, count in ((q, heads), (k, key_heads), (v, key_heads))
    ]
    order = tuple(range(len(q.shape)))
    result = library.viewer(AxisView(order, (heads, *q.shape[-2:])), q.shape)
    direct = out is None or _fits(out)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        a, b, c = (view(array) for view, array in zip(views, arrays, strict=True))
        kernel(a, b, c, result(outs[0]), factor)

    return CallPlan((made,), launch, (direct,))


_ATTENTION = ArrayFunction(
    "attention",
    ("q", "k", "v"),
    _build,
    (Option("causal", flag=True), Option("scale", number=True, may_be_none=True), Option("fast", flag=True)),
)


def _tile(problem: FunctionCall, queries: int, keys: int) -> dict[str, int]:
    """The sizes of the tile that are not those which suit the target."""
    if not is_cpu(problem.target):
        return {}
    few = {"queries": FEW_QUERIES} if queries <= FEW else {}
    return few | ({"keys": FEW_KEYS} if keys <= FEW else {})


def _check_shapes(problem: FunctionCall, q: Operand, k: Operand, v: Operand) -> None:
    headdim = q.shape[-1]
    if k.shape != v.shape:
        problem.refuse("bind.shape", f"k has shape {k.shape} and v has shape {v.shape}; they must be equal")
    if len(k.shape) != len(q.shape) or k.shape[:-3] != q.shape[:-3]:
        problem.refuse("bind.shape", f"q has shape {q.shape} and k has shape {k.shape}; they must have as many axes, "
                       "and the same sizes in front of heads x rows x headdim")  # fmt: skip
    if k.shape[-1] != headdim:
        problem.refuse("bind.shape", f"q has shape {q.shape} and k has shape {k.shape}; the last axis, headdim, must "
                       "be the same")  # fmt: skip
    if not 1 <= headdim <= MOST_HEADDIM:
        problem.refuse("bind.shape", f"q has shape {q.shape}; the last axis, headdim, must be from 1 to {MOST_HEADDIM}")
    heads, key_heads = (*q.shape, 1)[-4 if len(q.shape) > 2 else -1], (*k.shape, 1)[-4 if len(k.shape) > 2 else -1]
    if key_heads == 0 or heads % key_heads:
        problem.refuse(
            "bind.shape", f"q has {heads} heads and k has {key_heads}; heads must be a multiple of key heads"
        )


def _is_few(queries: int, keys: int) -> bool:
    """Whether a product of the queries with all keys is faster than tiles of them, which are mostly empty."""
    return queries <= MOST_ROWS // 2 or (queries <= MOST_ROWS and keys > FEW_KEYS)


def _plan_of_few(problem: FunctionCall, made: NewArray, factor: float) -> CallPlan:
    """The plan for a few queries on a CPU, which reads keys once; parts of them by work-groups where there are threads.

    Without a mask, queries of heads that share keys are as good as more queries of one head.
    """
    q, k, v = (problem.operand(index) for index in range(3))
    library, (out,), fast = problem.library, problem.outs, problem.options[2]
    queries, headdim = q.shape[-2:]
    keys, key_heads = k.shape[-2], elements(k.shape[:-2])
    axes = tuple(range(len(q.shape)))
    heads = elements(q.shape[:-2])
    sharing = heads // key_heads
    if sharing > 1 and queries * sharing <= MOST_ROWS and _is_packed(q) and (out is None or _is_packed(out)):
        heads, queries = key_heads, queries * sharing
    tile = next(size for size in (1, 2, 4, 8, 16) if size >= queries)
    shared = sharing_groups(problem.target) // heads if heads < sharing_groups(problem.target) else 1
    parts = max(1, min(shared, keys * headdim // PART))
    parts = ceil(keys / ceil(keys / parts))
    definitions = {"headdim": headdim, "type": q.element, "fast": fast}
    few = settled(array_kernel("attention_few", "attention_few", problem.target, queries=tile,
                               result="f32" if parts > 1 else q.element,
                               keys=min(MOST_KEYS, SCORES // tile), **definitions), library)  # fmt: skip
    join = None
    if parts > 1:
        join = settled(array_kernel("attention_few", "attention_join", problem.target, **definitions), library)
    views = [_heads(problem, one, sizes) for one, sizes in
             ((q, (heads, queries)), (k, (key_heads, keys)), (v, (key_heads, keys)))]  # fmt: skip
    sums, several = (heads, parts, queries), (heads, parts, queries, headdim)
    result = library.viewer(AxisView(axes, (heads, queries, headdim)), q.shape)
    whole = library.viewer(AxisView(axes, several), q.shape)
    show_sums, show_parts = (library.viewer(AxisView(tuple(range(len(sizes))), sizes), sizes)
                             for sizes in (sums, several))  # fmt: skip

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        a, b, c = (view(array) for view, array in zip(views, arrays, strict=True))
        logarithms = show_sums(library.empty(sums, "f32", (0, 1, 2)))
        if join is None:
            few(factor, a, b, c, logarithms, whole(outs[0]))
            return
        partial = show_parts(library.empty(several, "f32", (0, 1, 2, 3)))
        few(factor, a, b, c, logarithms, partial)
        join(logarithms, partial, result(outs[0]))

    return CallPlan((made,), launch, (out is None or _fits(out),))


def _is_packed(one: Operand) -> bool:
    return is_packed(one.shape, one.steps, tuple(range(len(one.shape))))


def _fits(one: Operand) -> bool:
    """Whether rows are packed, heads follow each other evenly, and all is in order C."""
    order = tuple(range(len(one.shape)))
    view = split(one.shape, one.steps, len(one.shape) - 2)
    rows = one.shape[-2] <= 1 or one.steps[-2] == one.shape[-1]
    return (view is not None and view.axes == order and len(view.shape) == 3 and rows) or is_packed(
        one.shape, one.steps, order
    )


def _heads(problem: FunctionCall, one: Operand, sizes: tuple[int, int]) -> Callable[[Any], Any]:
    """What makes heads x rows x headdim of an argument, for so many heads and rows."""
    library, order = problem.library, tuple(range(len(one.shape)))
    view = library.viewer(AxisView(order, (*sizes, one.shape[-1])), one.shape)
    if _fits(one):
        return view
    problem.tell_copy(one, "it is not in order C, with even gaps between heads")
    return lambda array: view(library.copied(array, order))
