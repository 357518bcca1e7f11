"""The names that GLSL has for instructions about matrices and tensors, and names that 001 misprints.

A diagnostic about an operand says which argument of which function of 001 (or of GL_KHR_cooperative_matrix) it comes
from; a compiler that does not know a name printed in 001 gets the right one as a hint.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction, Operand

_MODES = ("Undefined", "Constant", "ClampToEdge", "Repeat", "MirrorRepeat")
_REDUCTIONS = ("Row", "Column", "RowAndColumn", "2x2")

MISPRINTS: Mapping[str, str] = MappingProxyType({
    # 001, Examples and Issue (4): without NV; the layout's function is in the singular, the view's in the plural.
    "setTensorLayoutDimensions": "setTensorLayoutDimensionNV",
    "setTensorLayoutDimensionsNV": "setTensorLayoutDimensionNV",
    "setTensorLayoutDimension": "setTensorLayoutDimensionNV",
    "setTensorViewDimensions": "setTensorViewDimensionsNV",
    "setTensorViewDimensionNV": "setTensorViewDimensionsNV",
    "setTensorLayoutBlockSize": "setTensorLayoutBlockSizeNV",
    "coopmatLoad": "coopMatLoad",
    # 001, defaults and prose: without NV. 000 calls MirrorRepeat RepeatMirrored.
    **{f"gl_CooperativeMatrixClampMode{mode}": f"gl_CooperativeMatrixClampMode{mode}NV" for mode in _MODES},
    "gl_CooperativeMatrixClampModeRepeatMirroredNV": "gl_CooperativeMatrixClampModeMirrorRepeatNV",
    "gl_CooperativeMatrixClampModeRepeatMirrored": "gl_CooperativeMatrixClampModeMirrorRepeatNV",
    **{f"gl_CooperativeMatrixReduce{which}": f"gl_CooperativeMatrixReduce{which}NV" for which in _REDUCTIONS},
})  # fmt: skip
"""Names that 001 prints in one place and not in another, with those that compilers know."""


@dataclass(frozen=True, slots=True)
class GlslFunction:
    """A function of GLSL: its name, and the number of the argument that an operand is; of a repeated one the first."""

    name: str
    arguments: Mapping[str, int]


_LAYOUT, _VIEW = {"tensor_layout": 1}, {"tensor_view": 1}
_CLIP = {"clip_row_offset": 2, "clip_row_span": 3, "clip_col_offset": 4, "clip_col_span": 5}
_MADE = {"result_type": 1, "matrix": 2}

FUNCTIONS: Mapping[str, GlslFunction] = MappingProxyType({
    "OpCreateTensorLayoutNV": GlslFunction("createTensorLayoutNV", {}),
    "OpTensorLayoutSetBlockSizeNV": GlslFunction("setTensorLayoutBlockSizeNV", {**_LAYOUT, "block_size": 2}),
    "OpTensorLayoutSetDimensionNV": GlslFunction("setTensorLayoutDimensionNV", {**_LAYOUT, "dim": 2}),
    "OpTensorLayoutSetStrideNV": GlslFunction("setTensorLayoutStrideNV", {**_LAYOUT, "stride": 2}),
    "OpTensorLayoutSliceNV": GlslFunction("sliceTensorLayoutNV", {**_LAYOUT, "operands": 2}),
    "OpTensorLayoutSetClampValueNV": GlslFunction("setTensorLayoutClampValueNV", {**_LAYOUT, "value": 2}),
    "OpCreateTensorViewNV": GlslFunction("createTensorViewNV", {}),
    "OpTensorViewSetDimensionNV": GlslFunction("setTensorViewDimensionsNV", {**_VIEW, "dim": 2}),
    "OpTensorViewSetStrideNV": GlslFunction("setTensorViewStrideNV", {**_VIEW, "stride": 2}),
    "OpTensorViewSetClipNV": GlslFunction("setTensorViewClipNV", {**_VIEW, **_CLIP}),
    "OpCooperativeMatrixLoadTensorNV": GlslFunction(
        "coopMatLoadTensorNV",
        {"result_type": 1, "object": 1, "pointer": 2, "tensor_layout": 4, "TensorView": 5, "DecodeFunc": 5,
         "DecodeVectorFunc": 6},
    ),
    "OpCooperativeMatrixStoreTensorNV": GlslFunction(
        "coopMatStoreTensorNV", {"object": 1, "pointer": 2, "tensor_layout": 4, "TensorView": 5}
    ),
    "OpCooperativeMatrixReduceNV": GlslFunction("coopMatReduceNV", {**_MADE, "reduce": 3, "combine_func": 4}),
    "OpCooperativeMatrixPerElementOpNV": GlslFunction("coopMatPerElementNV", {**_MADE, "func": 3, "operands": 4}),
    "OpCooperativeMatrixTransposeNV": GlslFunction("coopMatTransposeNV", _MADE),
    "OpCooperativeMatrixLoadKHR": GlslFunction(
        "coopMatLoad", {"result_type": 1, "pointer": 2, "stride": 4, "memory_layout": 5}
    ),
    "OpCooperativeMatrixStoreKHR": GlslFunction(
        "coopMatStore", {"object": 1, "pointer": 2, "stride": 4, "memory_layout": 5}
    ),
    "OpCooperativeMatrixMulAddKHR": GlslFunction(
        "coopMatMulAdd", {"a": 1, "b": 2, "c": 3, "cooperative_matrix_operands": 4}
    ),
})  # fmt: skip
"""The functions of 001 and of GL_KHR_cooperative_matrix by instructions (001 Mapping to SPIR-V)."""

AFTER_A_VIEW = frozenset({"DecodeFunc", "DecodeVectorFunc"})
"""Operands that stand one argument later where there is a view."""


def in_glsl(one: Instruction, operand: Operand | None = None) -> str:
    """The words of GLSL for an instruction or an operand of it: `coopMatLoadTensorNV, argument 4`.

    Empty for an instruction that no function becomes; the function alone where no argument is the operand.
    """
    function = FUNCTIONS.get(one.name)
    if function is None:
        return ""
    number = function.arguments.get(operand.name) if operand else None
    if operand is None or number is None:
        return function.name
    number += [other.word for other in one.operands if other.name == operand.name].index(operand.word)
    if operand.name in AFTER_A_VIEW and one.get("TensorView") is not None:
        number += 1
    return f"{function.name}, argument {number}"
