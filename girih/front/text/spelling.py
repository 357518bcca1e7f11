"""Hints for words that are nearly right: spellings of older texts, of GLSL and SPIR-V, and of other languages."""

from __future__ import annotations

COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "gt": "greater_than", "ge": "greater_than_equal",
    "lt": "less_than", "le": "less_than_equal",
}  # fmt: skip

OLD_PREFIXES = ("arith", "math", "cmp", "builtin")
"""Families that mnemonics were once written with: `arith.add`, `math.exp`, `cmp.lt`."""

FOREIGN_INSTRUCTIONS = {
    name + "NV": mnemonic for names, mnemonic in (
        ("createTensorLayout CreateTensorLayout", "tensor_layout_create"),
        ("setTensorLayoutBlockSize TensorLayoutSetBlockSize", "tensor_layout_set_block_size"),
        ("setTensorLayoutDimension TensorLayoutSetDimension", "tensor_layout_set_dimension"),
        ("setTensorLayoutStride TensorLayoutSetStride", "tensor_layout_set_stride"),
        ("sliceTensorLayout TensorLayoutSlice", "tensor_layout_slice"),
        ("setTensorLayoutClampValue TensorLayoutSetClampValue", "tensor_layout_set_clamp_value"),
        ("createTensorView CreateTensorView", "tensor_view_create"),
        ("setTensorViewDimensions TensorViewSetDimension", "tensor_view_set_dimension"),
        ("setTensorViewStride TensorViewSetStride", "tensor_view_set_stride"),
        ("setTensorViewClip TensorViewSetClip", "tensor_view_set_clip"),
        ("coopMatLoadTensor CooperativeMatrixLoadTensor", "cooperative_matrix_load_tensor"),
        ("coopMatStoreTensor CooperativeMatrixStoreTensor", "cooperative_matrix_store_tensor"),
        ("coopMatReduce CooperativeMatrixReduce", "cooperative_matrix_combine"),
        ("coopMatPerElement CooperativeMatrixPerElementOp", "cooperative_matrix_apply"),
        ("coopMatTranspose CooperativeMatrixTranspose", "cooperative_matrix_transpose"),
    ) for name in names.split()
}  # fmt: skip
"""Names that instructions have in GLSL (001), and in SPIR-V without `Op` (000)."""

FOREIGN_TYPES = {
    "half": "f16", "float": "f32", "double": "f64", "bfloat16": "bf16",
    "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c32", "complex128": "c64",
    "char": "i8", "short": "i16", "int": "i32", "long": "i64", "size_t": "index", "boolean": "bool", "i1": "bool",
    **{f"{name}{bits}": f"i{bits}" for name in ("int", "uint", "u", "s") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Names that number types have elsewhere."""


def today(prefix: str, suffix: str) -> str | None:
    """Today's spelling of `prefix.suffix`, None where there is none."""
    if prefix not in OLD_PREFIXES:
        return None
    return COMPARISONS.get(suffix, suffix) if prefix == "cmp" else suffix
