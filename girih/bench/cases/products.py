"""The cases of matrix products: large ones with one instruction, with tiles, on threads, and many small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from girih.bench.cases.case import MANY, Case
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, text, wide, zeros
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.timing import Call, interleaved, rest_for
from girih.bench.measuring.work import Peer, Work, measure
from girih.kernels.loading import tile_for
from girih.kernels.texts import path

SUMMED_IN = {"bf16": "f32", "f16": "f32"}
"""The type of results, where it is not that of the factors."""

NAMES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}
"""The language's names of NumPy's types."""

CACHED_BYTES = 256 * 1024
"""What the arrays of a batch have together where they stay in a cache."""

STREAMED_BYTES = 96 * 1024 * 1024
"""What they have together where they come from memory."""

SMALL = ((8, 8, 8), (16, 16, 16), (24, 24, 24), (32, 32, 32), (48, 48, 48), (64, 64, 64),
         (56, 9, 56), (35, 9, 35), (13, 13, 13))  # fmt: skip
"""M x N x K of small products."""

CACHED, STREAMED = "batched", "streamed"
"""Groups that are summed up by their geometric mean."""


def exact(a: Array, b: Array) -> tuple[Array, Array]:
    """The product A B in double precision, and the bound on the error of one in a type with epsilon 1.

    The errors of all roundings are a random walk, in units of the norms of row and column; a term that is missing or
    added twice is far outside the bound.
    """
    left, right = wide(a), wide(b)
    norms = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=0))
    return left @ right, 4 * np.sqrt(a.shape[1]) * norms


def torch_matrix(torch: Any, array: Array) -> Any:
    """A torch tensor on the same memory; bf16 by its bits."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_result(tensor: Any) -> Array:
    """The numbers of a torch tensor, in a type that NumPy has."""
    array: Array = tensor.float().numpy() if tensor.element_size() < 4 else tensor.numpy()
    return array


def product_peers(context: MeasuringContext, a: Array, b: Array, expected: Array) -> dict[str, Peer]:
    """The peers that compute A B: NumPy, for the types that its BLAS has, and torch, on the same memory."""
    peers: dict[str, Peer] = {}
    if a.dtype in (np.float32, np.float64):
        out = np.zeros((a.shape[0], b.shape[1]), a.dtype, order="F")
        # The transposed product, so that all three arrays are in C order as NumPy prefers them.
        peers["numpy"] = Peer(partial(np.matmul, b.T, a.T, out=out.T), lambda: out)
    torch = context.peers.get("torch")
    if torch is not None:
        left, right = torch_matrix(torch, a), torch_matrix(torch, b)
        result = torch.empty((b.shape[1], a.shape[0]), dtype=left.dtype)
        # Torch's results have the type of the factors, ours may be wider.
        slack = EPSILON[NAMES[a.dtype.name]] * np.abs(expected) if a.dtype.itemsize < 4 else 0.0
        peers["torch"] = Peer(partial(torch.matmul, right.T, left.T, out=result), lambda: torch_result(result.T), slack)
    return peers


def large(context: MeasuringContext, type: str, n: int, width: int | None = None) -> list[Measurement]:
    """The row for a product of `n` x `n` matrices with one `gemm`, or with one for each `width` columns."""
    summed = SUMMED_IN.get(type, type)
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros(summed, n, n)
    expected, norms = exact(a, b)
    panel = width or n
    calls = context.calls(text("gemm_panel"), "gemm_panel", -(-n // panel), (1.0, a, b, 0.0, c, panel),
                          type=type, accumulator=summed)  # fmt: skip
    # What beta = 0 multiplies must be finite: `gemm` reads C.
    work = Work(calls, c, expected, EPSILON[summed] * norms, zeros(summed, n, n),
                product_peers(context, a, b, expected), 2.0 * n**3, 3.0 * n * n * a.itemsize, type)  # fmt: skip
    return [measure(context, "gemm", f"gemm {type} n={n}", work)]


def blocks(count: int) -> tuple[int, int]:
    """The blocks down and across of a square matrix that is cut into a number of them, as square as that allows."""
    down = max(k for k in range(1, count + 1) if count % k == 0 and k * k <= count)
    return down, count // down


def parallel(context: MeasuringContext, type: str, n: int) -> list[Measurement]:
    """The row for a product on several threads, with its speed-up over one thread."""
    threads = context.threads
    summed = SUMMED_IN.get(type, type)
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros(summed, n, n)
    expected, norms = exact(a, b)
    definitions = {"type": type, "accumulator": summed}
    # Several for each thread, since CPUs are not equally fast.
    down, across = blocks(4 * threads)
    high, broad = -(-n // down), -(-n // across)
    calls = context.calls(text("gemm_block"), "gemm_block", (down, across), (1.0, a, b, 0.0, c, high, broad),
                          **definitions)  # fmt: skip
    # A launch of one work-group stays on the calling thread.
    alone = context.calls(text("gemm_block"), "gemm_block", 1, (1.0, a, b, 0.0, c, n, n), **definitions)
    work = Work(calls, c, expected, EPSILON[summed] * norms, zeros(summed, n, n),
                product_peers(context, a, b, expected), 2.0 * n**3, 3.0 * n * n * a.itemsize, type)  # fmt: skip
    row = measure(context, "threads", f"gemm {type} n={n}, {threads} threads", work)
    main = next(iter(calls))
    samples = interleaved({"all": calls[main], "one": alone[main]}, context.effort, rest=rest_for(threads))
    return [replace(row, figures={**row.figures, "speedup": samples.ratio("one", "all")})]


def tiles(context: MeasuringContext, type: str, n: int) -> list[Measurement]:
    """The row for the library's product with cooperative matrices."""
    summed = SUMMED_IN.get(type, type)
    a, b, c = random(type, n, n), random(type, n, n, seed=1), zeros(summed, n, n)
    expected, norms = exact(a, b)
    calls = tiled_calls(context, "gemm", (n, n), (1.0, a, b, 0.0, c), summed, type=type)
    work = Work(calls, c, expected, EPSILON[summed] * norms, None, product_peers(context, a, b, expected),
                2.0 * n**3, 3.0 * n * n * a.itemsize, "f32" if type == "f16" else type)  # fmt: skip
    return [measure(context, "tiles", f"tile gemm {type} n={n}", work)]


def tiled_calls(
    context: MeasuringContext,
    name: str,
    shape: tuple[int, int],
    arguments: tuple[object, ...],
    summed: str,
    *,
    type: str,
    **definitions: object,
) -> dict[str, Call]:
    """The launches of a product of the library, with the tiles that it has on the target."""
    sizes = tile_for(context.target, type, summed, None, None, None)
    grid = (-(-shape[0] // sizes["rows"]), -(-shape[1] // sizes["columns"]))
    return context.calls(path(name), name, grid, arguments, type=type, accumulator=summed,
                         **definitions, **sizes)  # fmt: skip


def small(context: MeasuringContext, group: str, type: str, shape: tuple[int, int, int]) -> list[Measurement]:
    """The row for many products of one size with the library's kernel, against libxsmm and `numpy.matmul`."""
    m, n, k = shape
    width = 4 if type == "f32" else 8
    room = CACHED_BYTES if group == CACHED else STREAMED_BYTES if not context.quick else STREAMED_BYTES // 2
    count = max(1, room // (width * (m * n + m * k + k * n)))
    a, b, c = random(type, m, k, count), random(type, k, n, count, seed=1), zeros(type, m, n, count)
    calls = context.calls(path("gemm_batched"), "gemm_batched_nn", count, (1.0, a, b, 0.0, c),
                          type=type, M=m, N=n, K=k)  # fmt: skip
    expected = np.matmul(wide(b).T, wide(a).T).T
    bound = 8 * k * EPSILON[type] * (1 + np.abs(expected).max())
    streams = group == STREAMED
    work = Work(calls, c, expected, bound, None, small_peers(context, a, b), 2.0 * m * n * k * count,
                float(a.nbytes + b.nbytes + c.nbytes), type, streams)  # fmt: skip
    return [measure(context, group, f"{m}x{n}x{k} {type}", work, note=f"{count} products")]


def small_peers(context: MeasuringContext, a: Array, b: Array) -> dict[str, Peer]:
    """The peers that compute the products of a batch: NumPy and, if it offers a kernel, libxsmm."""
    out = np.zeros((a.shape[0], *b.shape[1:]), a.dtype, order="F")
    peers = {"numpy": Peer(partial(np.matmul, b.T, a.T, out=out.T), lambda: out)}
    library = context.peers.get("libxsmm")
    if library is not None:
        other = np.zeros_like(out, order="F")
        call: Callable[[], None] | None = library.batched(a, b, other)
        if call is not None:
            peers["libxsmm"] = Peer(call, lambda: other)
    return peers


def shapes(context: MeasuringContext, type: str, m: int, n: int, k: int, way: str = "nn") -> list[Measurement]:
    """The row for a product of an odd shape with one `gemm`; `way` says which factor is stored transposed."""
    a, b, c = random(type, m, k), random(type, k, n, seed=1), zeros(type, m, n)
    stored = [np.asfortranarray(x.T) if turned == "t" else x for x, turned in zip((a, b), way, strict=True)]
    left, right = (x.T if turned == "t" else x for x, turned in zip(stored, way, strict=True))
    expected, norms = exact(a, b)
    calls = context.calls(text("gemm_ways"), f"gemm_{way}", 1, (1.0, *stored, 0.0, c), type=type)
    work = Work(calls, c, expected, EPSILON[type] * norms, zeros(type, m, n),
                product_peers(context, left, right, expected), 2.0 * m * n * k,
                float(a.nbytes + b.nbytes + c.nbytes), type)  # fmt: skip
    name = f"gemm {m}x{n}x{k} {type}" if way == "nn" else f"gemm.{way[0]}.{way[1]} {m}x{n}x{k} {type}"
    return [measure(context, "shapes", name, work)]


def cases() -> Iterator[Case]:
    """The cases of matrix products."""
    for type in ("f32", "f64", "bf16"):
        for n in (512, 1024, 2048):
            yield Case("gemm", f"gemm {type} n={n}", partial(large, type=type, n=n))
    for type in ("f32", "f64"):
        for n in (1024, 2048):
            yield Case("threads", f"gemm {type} n={n}", partial(parallel, type=type, n=n), MANY)
    for type in ("f32", "f64", "bf16", "f16"):
        yield Case("tiles", f"tile gemm {type} n=512", partial(tiles, type=type, n=512))
    for group in (CACHED, STREAMED):
        for type in ("f32", "f64"):
            for shape in SMALL:
                name = "x".join(map(str, shape))
                yield Case(group, f"{name} {type}", partial(small, group=group, type=type, shape=shape))
