"""The kernels of the library that multiply quantised weights; what `library` says of its functions holds here, too.

On NVIDIA's GPUs, the products of a matrix and a vector have texts of their own, whose grid is ceil(M / 8); there any
other grid is right, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.kernels.loading import kernel_of_rows, loaded_kernel

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.ir.core import Order


def gemv_q4_0(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """y := W x with 4-bit weights in blocks of 32: `kernel(W, x, y)`.

    W is 18 x K / 32 x M, the bytes of `quantize(weights, "q4_0")`; x has K elements, of f32 or bf16, y has M, of f32;
    K is a multiple of 32. Grid: ceil(M / 64). 001 "coopMatLoadTensorNV" with decoding.
    """
    return kernel_of_rows("gemv_q4_0", target, order, type=type)


def gemv_q8_0(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """y := W x with 8-bit weights in blocks of 32: `kernel(W, x, y)`.

    W is 34 x K / 32 x M, the bytes of `quantize(weights, "q8_0")`; x has K elements, of f32 or bf16, y has M, of f32;
    K is a multiple of 32. Grid: ceil(M / 64). 001 "coopMatLoadTensorNV" with decoding.
    """
    return kernel_of_rows("gemv_q8_0", target, order, type=type)


def gemv_q4_0_q8_0(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """y := W x with 4-bit weights and 8-bit numbers in blocks of 32: `kernel(W, x, y)`.

    W is that of `gemv_q4_0`; x and y are those of `gemv_q8_0_q8_0`. Grid: ceil(M / 64).
    003 "Cooperative matrix mul add".
    """
    return kernel_of_rows("gemv_q4_0_q8_0", target, order, type=type)


def gemv_q8_0_q8_0(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """y := W x with 8-bit weights and numbers in blocks of 32: `kernel(W, x, y)`.

    W is that of `gemv_q8_0`, y has M elements, of f32 or bf16; x is 34 x K / 32, what `quantize(x, "q8_0")` gives for a
    row. Dot products of blocks are integers. Grid: ceil(M / 64). 003 "Cooperative matrix mul add".
    """
    return kernel_of_rows("gemv_q8_0_q8_0", target, order, type=type)


def gemm_q4_0(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """C := W X with 4-bit weights in blocks of 32: `kernel(W, X, C)`.

    W is 18 x K / 32 x M, the bytes of `quantize(weights, "q4_0")`; X is K x N, of f32 or bf16, C is M x N, of f32; K is
    a multiple of 32. Grid: ceil(M / 64) x ceil(N / 32). 001 "coopMatLoadTensorNV" with decoding.
    """
    return loaded_kernel("gemm_q4_0", target, order, type=type)


def gemm_q8_0(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """C := W X with 8-bit weights in blocks of 32: `kernel(W, X, C)`.

    W is 34 x K / 32 x M, the bytes of `quantize(weights, "q8_0")`; X is K x N, of f32 or bf16, C is M x N, of f32; K is
    a multiple of 32. Grid: ceil(M / 64) x ceil(N / 32). 001 "coopMatLoadTensorNV" with decoding.
    """
    return loaded_kernel("gemm_q8_0", target, order, type=type)
