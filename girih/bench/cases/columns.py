"""The cases of softmax, layer normalisation and attention against torch, and of vectors against OpenBLAS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from girih.bench.cases.case import Case
from girih.bench.cases.products import torch_matrix, torch_result
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, text, wide, zeros
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.work import Peer, Work, measure
from girih.bench.peers import openblas
from girih.kernels.texts import grid_for, path

ELEMENTS = 1 << 16
"""Of a matrix whose columns stay in a cache: 256 KiB of f32."""

MILLION = 1 << 20


def softmax_in_numpy(a: Array) -> Array:
    """The softmax of each column of a matrix."""
    weights = np.exp(a - a.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def layernorm_in_numpy(x: Array, gamma: Array, beta: Array, epsilon: float) -> Array:
    """The layer normalisation of each column of a matrix."""
    centred = x - x.mean(axis=0)
    variance = (centred * centred).mean(axis=0)
    return np.asarray(gamma[:, None] * centred / np.sqrt(variance + epsilon) + beta[:, None])


def attention_in_numpy(q: Array, k: Array, v: Array, scale: float) -> Array:
    """The attention softmax(scale Q^T K) V of each head; arrays have the shape headdim x length x heads."""
    scores = scale * np.matmul(k.T, q.transpose(2, 0, 1))
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.matmul(v.transpose(2, 0, 1), weights).transpose(1, 2, 0))


def typed(type: str) -> dict[str, object]:
    """The definitions of a kernel that computes in f64 for f64 and in f32 for the others."""
    return {"type": type, "accumulator": "f64" if type == "f64" else "f32"}


def softmax(context: MeasuringContext, n: int, type: str = "f32") -> list[Measurement]:
    """The row for softmax of columns of `n` elements."""
    columns = ELEMENTS // n
    a, b = random(type, n, columns), zeros(type, n, columns)
    calls = context.calls(path("softmax"), "softmax", grid_for("softmax", columns), (a, b), **typed(type))
    peers = {"numpy": Peer(partial(softmax_in_numpy, a))}
    torch = context.peers.get("torch")
    if torch is not None:
        x, out = torch_matrix(torch, a.T), torch_matrix(torch, np.zeros_like(a.T))
        peers["torch"] = Peer(partial(torch.softmax, x, -1, out=out), lambda: torch_result(out).T)
    work = Work(calls, b, softmax_in_numpy(wide(a)), 64 * EPSILON[type], None, peers, None, float(a.nbytes + b.nbytes))
    return [measure(context, "rows", f"softmax {type} {n} x {columns}", work)]


def layernorm(context: MeasuringContext, n: int, type: str = "f32") -> list[Measurement]:
    """The row for layer normalisation of columns of `n` elements."""
    columns = ELEMENTS // n
    x, gamma, beta = random(type, n, columns), random(type, n), random(type, n, seed=1)
    y = zeros(type, n, columns)
    calls = context.calls(path("layernorm"), "layernorm", grid_for("layernorm", columns), (x, gamma, beta, 1e-5, y),
                          **typed(type))  # fmt: skip
    peers = {"numpy": Peer(partial(layernorm_in_numpy, x, gamma, beta, 1e-5))}
    torch = context.peers.get("torch")
    if torch is not None:
        tensors = [torch_matrix(torch, array) for array in (x.T, gamma, beta)]
        call = partial(torch.nn.functional.layer_norm, tensors[0], (n,), tensors[1], tensors[2], 1e-5)
        peers["torch"] = Peer(call, lambda: torch_result(call()).T)
    expected = layernorm_in_numpy(wide(x), wide(gamma), wide(beta), 1e-5)
    bound = 64 * EPSILON[type] * np.abs(expected).max()
    work = Work(calls, y, expected, bound, None, peers, None, float(x.nbytes + y.nbytes))
    return [measure(context, "rows", f"layernorm {type} {n} x {columns}", work)]


def attention(
    context: MeasuringContext, length: int, type: str = "f32", headdim: int = 64, name: str = "attention"
) -> list[Measurement]:
    """The row for attention with one head; its operations are those of the two products only, its time is of all."""
    q, k, v = (random(type, headdim, length, 1, seed=seed) for seed in range(3))
    o, scale = zeros(type, headdim, length, 1), headdim**-0.5
    calls = context.calls(path(name), name, grid_for(name, length, 1), (q, k, v, o, scale), type=type, headdim=headdim)
    peers = {"numpy": Peer(partial(attention_in_numpy, q, k, v, scale))} if type == "f32" else {}
    torch = context.peers.get("torch")
    if torch is not None:
        tensors = [torch_matrix(torch, np.ascontiguousarray(array.T)) for array in (q, k, v)]
        call = partial(torch.nn.functional.scaled_dot_product_attention, *(x[None] for x in tensors), scale=scale)
        peers["torch"] = Peer(call, (lambda: call()[0].numpy().T) if type == "f32" else None)
    expected = attention_in_numpy(wide(q), wide(k), wide(v), scale)
    bound = {"f32": 1e-5}.get(type, 4 * EPSILON[type])
    work = Work(calls, o, expected, bound, None, peers, 4.0 * length * length * headdim, 4.0 * q.nbytes,
                "f32" if type == "f16" else type)  # fmt: skip
    return [measure(context, "attention", f"{name} {type} {length} x {length}, head dim {headdim}", work)]


def axpby(context: MeasuringContext, elements: int = MILLION, type: str = "f32") -> list[Measurement]:
    """The row for one `axpby` on two vectors, against OpenBLAS's function of the same name."""
    x, y = random(type, elements), random(type, elements, seed=1)
    before = y.copy()
    calls = context.calls(text("vectors"), "axpby_panel", 1, (0.5, x, 0.25, y, elements), type=type)
    other = y.copy()
    function = openblas.axpby()
    call = partial(_axpby_in_numpy, x, other) if function is None else partial(function, 0.5, x, 0.25, other)
    expected = 0.5 * wide(x) + 0.25 * wide(before)
    work = Work(calls, y, expected, 8 * EPSILON[type], before, {"numpy": Peer(call)}, 3.0 * elements,
                3.0 * x.nbytes, None, streams=elements > MILLION)  # fmt: skip
    note = "" if function is None else "NumPy's OpenBLAS: cblas_saxpby"
    return [measure(context, "vectors", f"axpby {type}, {elements} elements", work, note)]


def _axpby_in_numpy(x: Array, y: Array) -> None:
    y *= np.float32(0.25)
    y += np.float32(0.5) * x


def gemv(context: MeasuringContext, n: int, transpose: bool, type: str = "f32") -> list[Measurement]:
    """The row for one `gemv` with a square matrix of `n` rows."""
    a, x, y = random(type, n, n), random(type, n, seed=1), zeros(type, n)
    used = a.T if transpose else a
    name = "gemv_t" if transpose else "gemv_n"
    calls = context.calls(text("vectors"), name, 1, (1.0, a, x, 0.0, y), type=type)
    out = np.zeros(n, a.dtype)
    peers: dict[str, Peer] = {"numpy": Peer(partial(np.matmul, used, x, out=out), lambda: out)}
    torch = context.peers.get("torch")
    if torch is not None:
        left: Any = torch_matrix(torch, a.T)
        peers["torch"] = Peer(partial(torch.mv, left if transpose else left.T, torch_matrix(torch, x)))
    expected = wide(used) @ wide(x)
    bound = 4 * np.sqrt(n) * EPSILON[type] * np.linalg.norm(wide(used), axis=1) * np.linalg.norm(wide(x))
    work = Work(calls, y, expected, bound, zeros(type, n), peers, 2.0 * n * n, float(a.nbytes))
    letter = "t" if transpose else "n"
    return [measure(context, "vectors", f"gemv.{letter} {type} {n} x {n}", work)]


def cases() -> Iterator[Case]:
    """The cases of softmax, layer normalisation, attention and vectors."""
    for n in (256, 1024, 4096):
        yield Case("rows", f"softmax f32 {n}", partial(softmax, n=n))
    for n in (256, 1024, 4096):
        yield Case("rows", f"layernorm f32 {n}", partial(layernorm, n=n))
    for type, length in (("f32", 512), ("f32", 2048), ("bf16", 512)):
        yield Case("attention", f"attention {type} {length}", partial(attention, length=length, type=type))
    for elements in (MILLION, 16 * MILLION):
        yield Case("vectors", f"axpby f32 {elements}", partial(axpby, elements=elements))
    for transpose in (False, True):
        yield Case("vectors", f"gemv.{'t' if transpose else 'n'} f32", partial(gemv, n=1024, transpose=transpose))
