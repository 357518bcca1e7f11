"""The work of kernels of language models on columns and vectors: what is timed, and the same in NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np

from girih.bench.cases import products
from girih.bench.cases.columns import typed
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, wide, zeros
from girih.bench.measuring.work import Peer, Work
from girih.kernels.texts import grid_for, path


def top_k(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of the 8 largest of 1024; NumPy's are not in order."""
    n, columns, k = 1024, 64, 8
    a, v, places = random(type, n, columns), zeros(type, k, columns), zeros("i64", k, columns)
    calls = context.calls(path("top_k"), "top_k", grid_for("top_k", columns), (a, v, places), type=type, k=k)
    expected = np.argsort(-wide(a), axis=0, kind="stable")[:k]
    peers = {"numpy": Peer(partial(_top_k_in_numpy, a.T, k))}
    return f"{k} of {n} x {columns}", Work(calls, places, expected, 0.0, None, peers, None, float(a.nbytes))


def _top_k_in_numpy(rows: Array, k: int) -> Array:
    places = np.argpartition(rows, -k, axis=1)[:, -k:]
    return np.take_along_axis(rows, places, axis=1)


def cross_entropy(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of the losses of 64 columns of 1024 logits."""
    n, columns = 1024, 64
    a, losses = random(type, n, columns), zeros("f64" if type == "f64" else "f32", columns)
    classes = np.random.default_rng(0).integers(0, n, columns)
    calls = context.calls(path("cross_entropy"), "cross_entropy", grid_for("cross_entropy", columns),
                          (a, classes, losses), **typed(type))  # fmt: skip
    expected = _cross_entropy_in_numpy(wide(a), classes)
    call = partial(_cross_entropy_in_numpy, a, classes)
    bound = 64 * EPSILON["f64" if type == "f64" else "f32"]
    return f"{n} x {columns}", Work(calls, losses, expected, bound * expected, None, {"numpy": Peer(call)}, None,
                                    float(a.nbytes))  # fmt: skip


def _cross_entropy_in_numpy(a: Array, classes: Array) -> Array:
    maximum = a.max(axis=0)
    chosen = a[classes, np.arange(len(classes))]
    return np.asarray(np.log(np.exp(a - maximum).sum(axis=0)) + (maximum - chosen))


def rotary(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of 16 heads of 512 vectors of 128 elements."""
    size, places, heads = 128, 512, 16
    x, y = random(type, size, places, heads), zeros(type, size, places, heads)
    angles = np.arange(places) / 10000 ** (2 * np.arange(size // 2)[:, None] / size)
    wider = np.float64 if type == "f64" else np.float32
    c, s = (np.asfortranarray(turn(angles).astype(wider)) for turn in (np.cos, np.sin))
    calls = context.calls(path("rotary"), "rotary", grid_for("rotary", places, heads), (x, c, s, y), **typed(type))
    expected = _rotary_in_numpy(wide(x), wide(c), wide(s))
    peers = {"numpy": Peer(partial(_rotary_in_numpy, x, c, s))}
    return f"{size} x {places} x {heads}", Work(calls, y, expected, 4 * EPSILON[type] * (1 + abs(expected)), None,
                                                peers, 3.0 * x.size, 2.0 * x.nbytes, None, streams=True)  # fmt: skip


def _rotary_in_numpy(x: Array, c: Array, s: Array) -> Array:
    a, b = np.split(x, 2)
    c, s = c[:, :, None], s[:, :, None]
    return np.concatenate([c * a - s * b, s * a + c * b])


def gemm_epilogue(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of a product of 512 x 512 with a bias and GELU, as NumPy can compute it: by tanh."""
    n = 512
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros(type, n, n)
    wider = "f64" if type == "f64" else "f32"
    bias = random(wider, n)
    a[...] = a / np.asarray(np.sqrt(n), a.dtype)
    calls = products.tiled_calls(context, "gemm_epilogue", (n, n), (a, b, bias, None, c), wider, type=type,
                                 bias_of_rows=True, gelu_tanh=True)  # fmt: skip
    expected = _gelu_in_numpy(wide(a), wide(b), wide(bias))
    peers = {"numpy": Peer(partial(_gelu_in_numpy, a, b, bias))} if type in ("f32", "f64") else {}
    bound = 64 * EPSILON[type] * (1 + abs(expected))
    return f"GELU {n} x {n} x {n}", Work(calls, c, expected, bound, None, peers, 2.0 * n**3, 3.0 * a.nbytes,
                                         "f32" if type == "f16" else type)  # fmt: skip


def _gelu_in_numpy(a: Array, b: Array, bias: Array) -> Array:
    x = a @ b + bias[:, None]
    number = x.dtype.type
    inner = number(np.sqrt(2 / np.pi)) * (x + number(0.044715) * (x * x * x))
    return np.asarray(number(0.5) * x * (1 + np.tanh(inner)))
