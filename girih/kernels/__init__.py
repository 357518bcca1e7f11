"""Ready-made kernels, as texts in the tensor language, and a function for each that loads it.

    gemm = girih.kernels.gemm(type="f16", transpose_b=True)
    gemm(1.0, A, B, 0.0, C)

`girih.load(girih.kernels.path("attention"), definitions={"headdim": 128})` loads a text as any other. Importing this
module imports neither NumPy nor the language.
"""

from __future__ import annotations

from girih.kernels.library import (
    ader_dg,
    argmax,
    attention,
    axpby,
    blocked_interleaved,
    cholesky,
    convolution,
    convolution_im2col,
    copy_boxes,
    cross_entropy,
    gather_rows,
    gemm,
    gemm_batched,
    gemm_batched_group,
    gemm_collective,
    gemm_epilogue,
    gemm_mixed,
    gemm_tall_skinny,
    gemv,
    ger,
    hadamard,
    histogram,
    inverse,
    layernorm,
    lu,
    patches,
    rms_norm,
    rotary,
    scan,
    softmax,
    space_to_depth,
    stencil,
    sum_layers,
    top_k,
    transpose,
    transposed_load,
    unpack_4_bits,
)
from girih.kernels.quantized import dequantize, quantize
from girih.kernels.quantized_products import (
    gemm_q4_0,
    gemm_q8_0,
    gemv_q4_0,
    gemv_q4_0_q8_0,
    gemv_q8_0,
    gemv_q8_0_q8_0,
)
from girih.kernels.texts import grid_for, names, path
from girih.kernels.work_groups import (
    attention_work_group,
    gemm_q4_0_work_group,
    gemm_q8_0_work_group,
    gemm_work_group,
)

__all__ = [
    "ader_dg",
    "argmax",
    "attention",
    "attention_work_group",
    "axpby",
    "blocked_interleaved",
    "cholesky",
    "convolution",
    "convolution_im2col",
    "copy_boxes",
    "cross_entropy",
    "dequantize",
    "gather_rows",
    "gemm",
    "gemm_batched",
    "gemm_batched_group",
    "gemm_collective",
    "gemm_epilogue",
    "gemm_mixed",
    "gemm_q4_0",
    "gemm_q4_0_work_group",
    "gemm_q8_0",
    "gemm_q8_0_work_group",
    "gemm_tall_skinny",
    "gemm_work_group",
    "gemv",
    "gemv_q4_0",
    "gemv_q4_0_q8_0",
    "gemv_q8_0",
    "gemv_q8_0_q8_0",
    "ger",
    "grid_for",
    "hadamard",
    "histogram",
    "inverse",
    "layernorm",
    "lu",
    "names",
    "patches",
    "path",
    "quantize",
    "rms_norm",
    "rotary",
    "scan",
    "softmax",
    "space_to_depth",
    "stencil",
    "sum_layers",
    "top_k",
    "transpose",
    "transposed_load",
    "unpack_4_bits",
]


def __dir__() -> list[str]:
    return sorted(__all__)
