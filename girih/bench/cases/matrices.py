"""The cases of small matrices in batches, each size a row, against the same in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, wide, zeros
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.work import Peer, Work, measure
from girih.kernels.table import ROWS_OF_A_WORK_ITEM
from girih.kernels.texts import path

SIZES = (4, 8, 16, 32, 64)
ELEMENTS = 1 << 18
"""Of all matrices of a row together: a megabyte of f32."""

SHORT = 16
"""The only size, and the number of matrices, where little time is to be spent."""


def inverse(context: MeasuringContext, type: str) -> list[Measurement]:
    """The rows for inverses; the work is that of Gauss-Jordan elimination, 2 n^3 operations a matrix."""
    rows = []
    for a in _matrices(context, type):
        b, info = zeros(type, *a.shape), zeros("i32", a.shape[2])
        batch = a.T
        peers = {"numpy": Peer(partial(np.linalg.inv, batch))}
        expected = np.linalg.inv(wide(batch)).T
        rows.append(_measured(context, "inverse", (a, b, info), b, expected, peers, 2.0))
    return rows


def cholesky(context: MeasuringContext, type: str) -> list[Measurement]:
    """The rows for Cholesky factorizations, 1/3 n^3 operations a matrix."""
    rows = []
    for a in _matrices(context, type):
        a = np.asfortranarray(a + a.swapaxes(0, 1))
        factor, info = zeros(type, *a.shape), zeros("i32", a.shape[2])
        peers = {"numpy": Peer(partial(np.linalg.cholesky, a.T))}
        expected = np.linalg.cholesky(wide(a).T).transpose(1, 2, 0)
        rows.append(_measured(context, "cholesky", (a, factor, info), factor, expected, peers, 1 / 3))
    return rows


def lu(context: MeasuringContext, type: str) -> list[Measurement]:
    """The rows for LU factorizations, 2/3 n^3 operations a matrix; NumPy has them within determinants."""
    rows = []
    for a in _matrices(context, type):
        f, swaps, info = zeros(type, *a.shape), zeros("i32", *a.shape[1:]), zeros("i32", a.shape[2])
        peers = {"numpy": Peer(partial(np.linalg.slogdet, a.T))}
        rows.append(_measured(context, "lu", (a, f, swaps, info), f, _factors(wide(a)), peers, 2 / 3))
    return rows


def _measured(
    context: MeasuringContext, name: str, arguments: Sequence[Array], output: Array, expected: Array,
    peers: Mapping[str, Peer], factor: float,
) -> Measurement:  # fmt: skip
    n, _, count = output.shape
    type = "f64" if output.dtype == np.float64 else "f32"
    small = name == "cholesky" and n <= ROWS_OF_A_WORK_ITEM
    function, grid = (f"{name}_small", -(-count // 32)) if small else (name, count)
    calls = context.calls(path(name), function, grid, arguments, type=type, n=n)
    bound = 16 * n * EPSILON[type] * np.abs(expected).max()
    work = Work(calls, output, expected, bound, None, peers, factor * n**3 * count, 2.0 * output.nbytes, type)
    return measure(context, "library", f"{name} {type} {n} x {n}, {count} matrices", work)


def _matrices(context: MeasuringContext, type: str) -> Iterator[Array]:
    """Matrices of each size whose diagonals are larger than the rest of their columns: no rows are swapped."""
    for n in (SHORT,) if context.quick else SIZES:
        a = random(type, n, n, SHORT if context.quick else ELEMENTS // (n * n))
        a[range(n), range(n)] += 4 * n
        yield a


def _factors(a: Array) -> Array:
    """The factors of matrices whose rows need not be swapped, side by side."""
    f = a.copy()
    for k in range(len(a)):
        f[k + 1 :, k] /= f[k, k]
        f[k + 1 :, k + 1 :] -= f[k + 1 :, None, k] * f[k, k + 1 :]
    return f
