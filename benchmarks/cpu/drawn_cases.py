"""How the problems of `benchmarks/cpu/drawn.py` are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from girih.bench.cases import columns
from girih.bench.cases.products import CACHED, SUMMED_IN, exact, product_peers, shapes, small
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, text, zeros
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.timing import Call
from girih.bench.measuring.work import Work, measure
from girih.kernels.loading import cpu_text, shares

LEAST_WIDTH = 64
"""So many columns, at least, of a product are one work-group, where there are several threads."""


def measured_problem(context: MeasuringContext, kind: str, numbers: tuple[Any, ...]) -> list[Measurement]:
    """The row of a problem, by its kind and numbers."""
    type, *sizes = numbers
    if kind == "gemm":
        m, n, k, way = sizes
        rows = _collective(context, type, m, n, k) if way == "nn" else shapes(context, type, m, n, k, way)
    elif kind == "tiles":
        rows = _library(context, type, *sizes)
    elif kind == "batch":
        rows = small(context, CACHED, type, cast("tuple[int, int, int]", tuple(sizes)))
    elif kind == "attention":
        rows = columns.attention(context, sizes[0], type, headdim=sizes[1])
    else:
        measure_columns = columns.softmax if kind == "softmax" else columns.layernorm
        rows = measure_columns(context, sizes[0], type)
    return [replace(row, group="drawn", threads=context.threads) for row in rows]


def _collective(context: MeasuringContext, type: str, m: int, n: int, k: int) -> list[Measurement]:
    """A product with one `gemm`, or one for each thread."""
    groups = max(1, min(context.threads, n // LEAST_WIDTH))
    panel = -(-n // groups)
    return _product(context, "gemm", type, (m, n, k), lambda a, b, c: context.calls(
        text("gemm_panel"), "gemm_panel", -(-n // panel), (1.0, a, b, 0.0, c, panel), **_types(type)))  # fmt: skip


def _library(context: MeasuringContext, type: str, m: int, n: int, k: int) -> list[Measurement]:
    """A product with the library's kernel for any sizes, as a user has it who leaves its options out."""
    summed = SUMMED_IN.get(type, type)
    shared = shares("cpu", type, summed)
    assert shared is not None
    grid = 1 if shared["groups"] == 1 else None
    definitions = {**_types(type), **shared, "narrow": type != summed}
    return _product(context, "tiles", type, (m, n, k), lambda a, b, c: context.calls(
        cpu_text("gemm"), "gemm", grid, (1.0, a, b, 0.0, c), **definitions))  # fmt: skip


def _types(type: str) -> dict[str, object]:
    return {"type": type, "accumulator": SUMMED_IN.get(type, type)}


def _product(
    context: MeasuringContext,
    kind: str,
    type: str,
    shape: tuple[int, int, int],
    made: Callable[[Array, Array, Array], dict[str, Call]],
) -> list[Measurement]:
    """The row of a product, whose launches `made` gives for its arrays."""
    (m, n, k), summed = shape, SUMMED_IN.get(type, type)
    a, b, c = random(type, m, k), random(type, k, n, seed=1), zeros(summed, m, n)
    expected, norms = exact(a, b)
    peers = product_peers(context, a, b, expected)
    bytes = float(a.nbytes + b.nbytes + c.nbytes)
    work = Work(made(a, b, c), c, expected, EPSILON[summed] * norms, zeros(summed, m, n), peers, 2.0 * m * n * k,
                bytes, "f32" if type == "f16" else type)  # fmt: skip
    return [measure(context, "drawn", f"{kind} {type} {m}x{n}x{k}", work)]
