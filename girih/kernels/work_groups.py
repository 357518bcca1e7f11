"""Functions for the kernels with matrices of the work-group, which GPUs with tensor cores have; as those of `library`.

A device lists the sizes of such matrices for each number of work-items (VK_NV_cooperative_matrix2); it refuses others
when the kernel is loaded for it. On other targets every size computes the same. Sizes that are left out are those of
the text, which are fast on the GPUs that were measured; a product of which all are left out has those that suit a GPU
with tile programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.kernels.loading import given, loaded_kernel, widest_product

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.ir.core import Order


def gemm_work_group(
    *,
    type: str = "f16",
    result: str | None = None,
    rows: int | None = None,
    columns: int | None = None,
    depth: int | None = None,
    items: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := A B with matrices of the work-group: `kernel(A, B, C)`.

    A is M x K, B is K x N, of f16 or bf16, C is M x N, of type `result` (that of A and B if left out), all without
    gaps; products and sums are in f32. A work-group of `items` computes a tile of `rows` x `columns`, with `depth`
    summands at a time: sizes that a device lists. Grid: ceil(M / rows) x ceil(N / columns).
    001 "Cooperative matrix scope".
    """
    stored = type if result is None else result
    sizes = given(rows=rows, columns=columns, depth=depth, items=items)
    if not sizes:
        return widest_product("gemm_work_group", target, order, type, result=stored)
    return loaded_kernel("gemm_work_group", target, order, type=type, result=stored, **sizes)


def gemm_q4_0_work_group(
    *,
    type: str = "f16",
    rows: int | None = None,
    columns: int | None = None,
    depth: int | None = None,
    items: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := W X with 4-bit weights in blocks of 32 and matrices of the work-group: `kernel(W, X, C)`.

    W is 18 x K / 32 x M, the bytes of `quantize(weights, "q4_0")`; X is K x N, of f16 or bf16, to which weights are
    rounded, C is M x N, of f32; K is a multiple of 32, X and C have no gaps. A work-group of `items` computes a tile of
    `rows` x `columns`, with `depth` summands at a time: sizes that a device lists. Grid: ceil(M / rows) x
    ceil(N / columns). 001 "coopMatLoadTensorNV" with decoding.
    """
    sizes = given(rows=rows, columns=columns, depth=depth, items=items)
    return loaded_kernel("gemm_q4_0_work_group", target, order, type=type, **sizes)


def gemm_q8_0_work_group(
    *,
    type: str = "f16",
    rows: int | None = None,
    columns: int | None = None,
    depth: int | None = None,
    items: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := W X with 8-bit weights in blocks of 32 and matrices of the work-group: `kernel(W, X, C)`.

    W is 34 x K / 32 x M, the bytes of `quantize(weights, "q8_0")`; the rest is as for `gemm_q4_0_work_group`.
    001 "coopMatLoadTensorNV" with decoding.
    """
    sizes = given(rows=rows, columns=columns, depth=depth, items=items)
    return loaded_kernel("gemm_q8_0_work_group", target, order, type=type, **sizes)


def attention_work_group(
    *,
    headdim: int,
    type: str = "f16",
    causal: bool = False,
    fast: bool = False,
    queries: int | None = None,
    keys: int | None = None,
    items: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """O = softmax(scale Q^T K) V for each head, with matrices of the work-group: `kernel(Q, K, V, O, scale)`.

    Q and O are headdim x queries x heads, K and V are headdim x keys x key heads, of f16 or bf16, without gaps; headdim
    is a multiple of 16, scale is f32. heads is a multiple of key heads. With `causal`, query i sees the keys 0..i. With
    `fast`, exponentials have a relative error of up to 2^-10. A work-group of `items` computes `queries` queries, with
    `keys` keys at a time: sizes that a device lists. Grid: ceil(queries / `queries`) x heads.
    001 "Cooperative matrix scope".
    """
    sizes = given(queries=queries, keys=keys, items=items)
    return loaded_kernel(
        "attention_work_group", target, order, type=type, headdim=headdim, causal=causal, fast=fast, **sizes
    )
