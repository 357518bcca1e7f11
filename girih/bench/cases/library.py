"""The cases of `girih bench NAME`: the kernels of the library in typical sizes, each beside the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import factorial

import numpy as np

from girih.bench.cases import choosing, columns, matrices, products, tensor_maps, tensors
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, wide, zeros
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.timing import Call
from girih.bench.measuring.work import Peer, Work, measure
from girih.kernels.texts import grid_for, path

Measured = Callable[[MeasuringContext, str], list[Measurement]]


def _single(name: str) -> Callable[[Callable[[MeasuringContext, str], tuple[str, Work]]], Measured]:
    """The decorator for a kernel that is a single row; the function gives its sizes in words, and the work."""

    def made(prepare: Callable[[MeasuringContext, str], tuple[str, Work]]) -> Measured:
        def run(context: MeasuringContext, type: str) -> list[Measurement]:
            sizes, work = prepare(context, type)
            return [measure(context, "library", f"{name} {type} {sizes}", work)]

        return run

    return made


def _peak(type: str) -> str:
    return "f32" if type == "f16" else type


def _in_numpy(function: Callable[..., Array], *arguments: object) -> dict[str, Peer]:
    call: Callable[[], Array] = partial(function, *arguments)
    return {"numpy": Peer(call, call)}


@_single("ader_dg")
def _ader_dg(context: MeasuringContext, type: str) -> tuple[str, Work]:
    order, elements, quantities = 4, 1024, 9
    p = order * (order + 1) * (order + 2) // 6
    k, a = random(type, p, p, 3), random(type, quantities, quantities, 3, elements, seed=1)
    # A derivative lowers the degree: rows of the highest degree are zero, and so on down.
    counts = [n * (n + 1) * (n + 2) // 6 for n in range(order + 1)]
    degree = np.repeat(np.arange(order), np.diff(counts))
    k[degree[:, None] >= degree[None, :]] = 0
    k /= np.asarray(p, k.dtype)
    q, out = random(type, p, quantities, elements, seed=2), zeros(type, p, quantities, elements)
    calls = context.calls(path("ader_dg"), "ader_dg", grid_for("ader_dg", elements), (0.3, k, a, q, out),
                          type=type, convergence_order=order)  # fmt: skip
    expected = _predictor(order, 0.3, wide(k), wide(a), wide(q))
    bound = 1000 * EPSILON[type] * _predictor(order, 0.3, *(abs(wide(x)) for x in (k, a, q)))
    rows = counts[::-1]
    flops = sum(2 * 3 * (rows[n] * rows[n - 1] * 9 + rows[n] * 81) for n in range(1, order)) * float(elements)
    peer = Peer(partial(_predictor, order, 0.3, k, a, q))
    return f"order {order}, {elements} elements", Work(
        calls, out, expected, bound, None, {"numpy": peer}, flops, float(a.nbytes + q.nbytes + out.nbytes), type
    )


def _predictor(order: int, dt: float, k: Array, a: Array, q: Array) -> Array:
    left = k.transpose(2, 0, 1)
    right = a.transpose(3, 2, 0, 1)
    derivative = q.transpose(2, 0, 1)
    total = q.dtype.type(dt) * derivative
    for n in range(1, order):
        parts = (left[None] @ derivative[:, None]) @ right
        derivative = parts.sum(axis=1)
        total = total + q.dtype.type(dt ** (n + 1) / factorial(n + 1)) * derivative
    return np.asarray(total.transpose(1, 2, 0))


@_single("argmax")
def _argmax(context: MeasuringContext, type: str) -> tuple[str, Work]:
    a, found = random(type, 1024, 64), zeros("i64", 64)
    calls = context.calls(path("argmax"), "argmax", 64, (a, found), type=type)
    peers = _in_numpy(np.argmax, a, 0)
    return "1024 x 64", Work(calls, found, np.argmax(wide(a), 0), 0.0, None, peers, None, float(a.nbytes))


def _attention(context: MeasuringContext, type: str) -> list[Measurement]:
    return columns.attention(context, 512, type)


def _attention_work_group(context: MeasuringContext, type: str) -> list[Measurement]:
    return columns.attention(context, 512, type, name="attention_work_group")


@_single("axpby")
def _axpby(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = columns.MILLION
    x, y = random(type, n), random(type, n, seed=1)
    before = y.copy()
    calls = context.calls(path("axpby"), "axpby", grid_for("axpby", n), (0.5, x, 0.25, y), type=type)
    half, quarter = x.dtype.type(0.5), x.dtype.type(0.25)
    peers = {"numpy": Peer(lambda: half * x + quarter * y)}
    expected = 0.5 * wide(x) + 0.25 * wide(before)
    return f"{n} elements", Work(calls, y, expected, 8 * EPSILON[type] * (1 + abs(expected)), before, peers, 3.0 * n,
                                 3.0 * x.nbytes, None, streams=True)  # fmt: skip


def _gemm(context: MeasuringContext, type: str) -> list[Measurement]:
    return products.tiles(context, type, 512)


@_single("gemm_batched")
def _gemm_batched(context: MeasuringContext, type: str) -> tuple[str, Work]:
    a, b, c = (random(type, 16, 16, 64, seed=seed) for seed in range(3))
    calls = context.calls(path("gemm_batched"), "gemm_batched_nn", 64, (1.0, a, b, 0.0, c), type=type, M=16, N=16, K=16)
    expected = np.matmul(wide(b).T, wide(a).T).T
    peers = products.small_peers(context, a, b) if type in ("f32", "f64") else {}
    bound = _product_bound(type, 16, expected)
    return "64 of 16x16x16", Work(calls, c, expected, bound, None, peers, 2.0 * 16**3 * 64, 3.0 * a.nbytes, _peak(type))


def _product_bound(type: str, depth: int, expected: Array) -> Array:
    return np.asarray(8 * EPSILON[type] * (np.sqrt(depth) * np.abs(expected).max() / 4 + np.abs(expected)))


@_single("gemm_batched_group")
def _gemm_batched_group(context: MeasuringContext, type: str) -> tuple[str, Work]:
    whole = [random(type, 16, 16, 64, seed=seed) for seed in range(3)]
    a, b, c = ([x[:, :, i] for i in range(64)] for x in whole)
    calls = context.calls(path("gemm_batched_group"), "gemm_batched_group", 64, (1.0, a, b, 0.0, c), type=type)
    expected = np.matmul(wide(whole[1]).T, wide(whole[0]).T).T
    peers = {"numpy": Peer(lambda: [x @ y for x, y in zip(a, b, strict=True)])}
    bound = _product_bound(type, 16, expected)
    return "64 of 16x16x16", Work(calls, whole[2], expected, bound, None, peers, 2.0 * 16**3 * 64,
                                  3.0 * whole[0].nbytes, _peak(type))  # fmt: skip


@_single("gemm_collective")
def _gemm_collective(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 512
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros(type, n, n)
    calls = context.calls(path("gemm_collective"), "gemm_collective", grid_for("gemm_collective", n, n),
                          (1.0, a, b, 0.0, c), type=type)  # fmt: skip
    expected, norms = products.exact(a, b)
    peers = products.product_peers(context, a, b, expected)
    return f"n={n}", Work(calls, c, expected, EPSILON[type] * norms, None, peers, 2.0 * n**3, 3.0 * a.nbytes,
                          _peak(type))  # fmt: skip


@_single("gemm_mixed")
def _gemm_mixed(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 512
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros("f32", n, n)
    calls = products.tiled_calls(context, "gemm_mixed", (n, n), (a, b, c), "f32", type=type)
    expected, norms = products.exact(a, b)
    left, right = a.astype(np.float32), b.astype(np.float32)
    peers = {"numpy": Peer(lambda: right.T @ left.T)}
    return f"n={n}", Work(
        calls, c, expected, EPSILON["f32"] * norms, None, peers, 2.0 * n**3, 3.0 * a.nbytes, _peak(type)
    )


@_single("gemm_work_group")
def _gemm_work_group(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 512
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros("f32", n, n)
    calls = context.calls(path("gemm_work_group"), "gemm_work_group", grid_for("gemm_work_group", n, n), (a, b, c),
                          type=type, result="f32")  # fmt: skip
    expected, norms = products.exact(a, b)
    left, right = a.astype(np.float32), b.astype(np.float32)
    peers = {"numpy": Peer(lambda: right.T @ left.T)}
    return f"n={n}", Work(
        calls, c, expected, EPSILON["f32"] * norms, None, peers, 2.0 * n**3, 3.0 * a.nbytes, _peak(type)
    )


@_single("gemm_tall_skinny")
def _gemm_tall_skinny(context: MeasuringContext, type: str) -> tuple[str, Work]:
    m, n, k = 1 << 16, 8, 8
    a, b, c = random(type, m, k), random(type, k, n, seed=1), zeros(type, m, n)
    calls = context.calls(path("gemm_tall_skinny"), "gemm_tall_skinny", grid_for("gemm_tall_skinny", m),
                          (1.0, a, b, 0.0, c), type=type, N=n, K=k)  # fmt: skip
    expected, norms = products.exact(a, b)
    peers = products.product_peers(context, a, b, expected)
    return f"{m}x{n}x{k}", Work(calls, c, expected, EPSILON[type] * norms, None, peers, 2.0 * m * n * k,
                                float(a.nbytes + c.nbytes), _peak(type))  # fmt: skip


@_single("gemv")
def _gemv(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 1024
    a, x, y = random(type, n, n), random(type, n, seed=1), zeros(type, n)
    calls = context.calls(path("gemv"), "gemv", grid_for("gemv", n), (1.0, a, x, 0.0, y), type=type)
    expected = wide(a) @ wide(x)
    bound = 4 * np.sqrt(n) * EPSILON[type] * np.linalg.norm(wide(a), axis=1) * np.linalg.norm(wide(x))
    return f"{n} x {n}", Work(calls, y, expected, bound, None, {"numpy": Peer(partial(np.matmul, a, x))}, 2.0 * n * n,
                              float(a.nbytes))  # fmt: skip


@_single("ger")
def _ger(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 512
    x, y, c = random(type, n), random(type, n, seed=1), zeros(type, n, n)
    calls = context.calls(path("ger"), "ger", grid_for("ger", n, n), (1.0, x, y, 0.0, c), type=type)
    expected = np.outer(wide(x), wide(y))
    return f"{n} x {n}", Work(calls, c, expected, 4 * EPSILON[type] * (1 + abs(expected)), None,
                              {"numpy": Peer(partial(np.outer, y, x))}, 2.0 * n * n, float(c.nbytes))  # fmt: skip


@_single("hadamard")
def _hadamard(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = columns.MILLION
    x, y, z = random(type, n), random(type, n, seed=1), zeros(type, n)
    calls = context.calls(path("hadamard"), "hadamard", grid_for("hadamard", n), (1.0, x, y, 0.0, z), type=type)
    out, expected = np.zeros_like(x), wide(x) * wide(y)
    return f"{n} elements", Work(calls, z, expected, 4 * EPSILON[type] * (1 + abs(expected)), None,
                                 {"numpy": Peer(partial(np.multiply, x, y, out=out))}, 1.0 * n, 3.0 * x.nbytes, None,
                                 streams=True)  # fmt: skip


@_single("histogram")
def _histogram(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n, bins = 1 << 18, 256
    x: Array = np.random.default_rng(0).integers(0, bins, n).astype(np.int32)
    h = zeros("i32", bins)
    calls = context.calls(path("histogram"), "histogram", grid_for("histogram", n), (x, h), type="i32", bins=bins)
    peers = _in_numpy(np.bincount, x, None, bins)
    return f"{n} elements", Work(calls, h, np.bincount(x, minlength=bins), 0.0, None, peers, None, float(x.nbytes))


def _layernorm(context: MeasuringContext, type: str) -> list[Measurement]:
    return columns.layernorm(context, 1024, type)


@_single("rms_norm")
def _rms_norm(context: MeasuringContext, type: str) -> tuple[str, Work]:
    x, gamma, y = random(type, 1024, 64), random(type, 1024, seed=1), zeros(type, 1024, 64)
    calls = context.calls(path("rms_norm"), "rms_norm", 64, (x, gamma, 1e-5, y), **columns.typed(type))
    expected = _rms_norm_in_numpy(wide(x), wide(gamma))
    return "1024 x 64", Work(calls, y, expected, 64 * EPSILON[type] * (1 + abs(expected)), None,
                             {"numpy": Peer(partial(_rms_norm_in_numpy, x, gamma))}, None,
                             float(x.nbytes + y.nbytes))  # fmt: skip


def _rms_norm_in_numpy(x: Array, gamma: Array) -> Array:
    return np.asarray(gamma[:, None] * x / np.sqrt((x * x).mean(axis=0) + x.dtype.type(1e-5)))


@_single("scan")
def _scan(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 1 << 16
    groups = grid_for("scan", n)
    x, t, y = random(type, n), zeros(type, *groups), zeros(type, n)
    first = context.calls(path("scan"), "scan_totals", groups, (x, t), type=type)
    second = context.calls(path("scan"), "scan", groups, (x, t, y), type=type)
    calls: dict[str, Call] = {checks: partial(_both, first[checks], second[checks]) for checks in first}
    bound = 16 * EPSILON[type] * np.sqrt(n) * np.cumsum(abs(wide(x))) / np.sqrt(np.arange(1, n + 1))
    return f"{n} elements", Work(calls, y, np.cumsum(wide(x)), bound, None,
                                 {"numpy": Peer(partial(np.cumsum, x, out=np.zeros_like(x)))}, 1.0 * n,
                                 float(x.nbytes + y.nbytes))  # fmt: skip


def _both(first: Call, second: Call) -> None:
    first()
    second()


def _softmax(context: MeasuringContext, type: str) -> list[Measurement]:
    return columns.softmax(context, 1024, type)


@_single("stencil")
def _stencil(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 64
    w, u, v = random(type, 5), random(type, n + 8, n + 8, n + 8, seed=1), zeros(type, n, n, n)
    calls = context.calls(path("stencil"), "stencil", grid_for("stencil", n, n, n), (w, u, v), type=type)
    expected = _stencil_in_numpy(wide(w), wide(u), n)
    return f"{n} x {n} x {n}", Work(calls, v, expected, 64 * EPSILON[type] * (1 + abs(expected)), None,
                                    {"numpy": Peer(partial(_stencil_in_numpy, w, u, n))}, 30.0 * n**3,
                                    float(u.nbytes + v.nbytes))  # fmt: skip


def _stencil_in_numpy(w: Array, u: Array, n: int) -> Array:
    middle = [slice(4, 4 + n)] * 3
    total = 3 * w[0] * u[tuple(middle)]
    for d in range(1, 5):
        for mode in range(3):
            for side in (-d, d):
                place = list(middle)
                place[mode] = slice(4 + side, 4 + side + n)
                total += w[d] * u[tuple(place)]
    return np.asarray(total)


@_single("transpose")
def _transpose(context: MeasuringContext, type: str) -> tuple[str, Work]:
    n = 1024
    a, b = random(type, n, n), zeros(type, n, n)
    calls = context.calls(path("transpose"), "transpose", grid_for("transpose", n, n), (a, b), type=type)
    peers = {"numpy": Peer(lambda: np.asfortranarray(a.T))}
    return f"{n} x {n}", Work(calls, b, wide(a.T), 0.0, None, peers, None, 2.0 * a.nbytes, None, streams=True)


KERNELS: Mapping[str, Measured] = {
    "ader_dg": _ader_dg,
    "argmax": _argmax,
    "attention": _attention,
    "attention_work_group": _attention_work_group,
    "axpby": _axpby,
    "cholesky": matrices.cholesky,
    "cross_entropy": _single("cross_entropy")(choosing.cross_entropy),
    "gemm": _gemm,
    "gemm_batched": _gemm_batched,
    "gemm_batched_group": _gemm_batched_group,
    "gemm_collective": _gemm_collective,
    "gemm_epilogue": _single("gemm_epilogue")(choosing.gemm_epilogue),
    "gemm_mixed": _gemm_mixed,
    "gemm_tall_skinny": _gemm_tall_skinny,
    "gemm_work_group": _gemm_work_group,
    "gemv": _gemv,
    "ger": _ger,
    "hadamard": _hadamard,
    "histogram": _histogram,
    "inverse": matrices.inverse,
    "layernorm": _layernorm,
    "lu": matrices.lu,
    "rms_norm": _rms_norm,
    "rotary": _single("rotary")(choosing.rotary),
    "scan": _scan,
    "softmax": _softmax,
    "stencil": _stencil,
    "top_k": _single("top_k")(choosing.top_k),
    "transpose": _transpose,
    **{name: _single(name)(prepare) for name, prepare in (*tensors.PREPARED.items(), *tensor_maps.PREPARED.items())},
}
"""How each kernel of the library is measured, for a type."""
