"""The rules of tensor layouts and views (000, 001) as one table; `tensor_layout.py` and `tensor_view.py` apply them."""

from __future__ import annotations

from girih.addressing.errors import rule

CLAMP_MODES = ("undefined", "constant", "clamp_to_edge", "repeat", "mirror_repeat")
"""The clamp modes by their number in SPIR-V (000 3.X Tensor Clamp Mode)."""

LAYOUT_DIM = rule("tensor_layout.dim", "a layout has 1 to 5 dimensions", "000 OpTypeTensorLayoutNV")
CLAMP_MODE = rule("tensor_layout.clamp_mode", "the clamp mode is one of five", "000 3.X Tensor Clamp Mode")
LAYOUT_COUNT = rule(
    "tensor_layout.operand_count", "one operand per dimension of the layout", "001 4.1.X Tensor Layout Types"
)
SLICE_PAIR = rule("tensor_layout.slice_pair", "a slice is an offset and a span", "000 OpTensorLayoutSliceNV")
BLOCK_SIZE = rule(
    "tensor_layout.block_size", "block sizes are 1 .. 2^32-1: coordinates are divided by them", "001 8.X, Issue (4)"
)
DIMENSION = rule(
    "tensor_layout.dimension",
    "dimensions are 1 .. 2^32-1: indices are divided by them",
    "000 OpTensorLayoutSetDimensionNV",
)
IMPLICIT_STRIDE = rule(
    "tensor_layout.implicit_stride", "implicit strides fit in 32 bits", "000 OpTensorLayoutSetDimensionNV"
)
STRIDE = rule("tensor_layout.stride", "strides are 0 .. 2^32-1", "000 OpTensorLayoutSetStrideNV")
STRIDE_ORDER = rule(
    "tensor_layout.stride_order",
    "a stride is at least the next one times ceiling(next dimension / its block size)",
    "000 OpTensorLayoutSetStrideNV",
)
OFFSET = rule("tensor_layout.offset", "offsets, also added up, are signed 32-bit", "000 OpTensorLayoutSliceNV")
SPAN = rule("tensor_layout.span", "spans are 1 .. 2^32-1: indices are divided by them", "001 8.X linearToSpanCoord")
CLAMP_VALUE = rule("tensor_layout.clamp_value", "the clamp value has 32 bits", "000 OpTensorLayoutSetClampValueNV")
NO_DIMENSION = rule(
    "tensor_layout.no_dimension", "the dimensions are set before a load or store", "000 OpCreateTensorLayoutNV"
)
INDEX_OVERFLOW = rule(
    "tensor_layout.index_overflow", "the index of every element reached fits in 32 bits", "001 8.X tensorCoordToLinear"
)

VIEW_DIM = rule("tensor_view.dim", "a view has 1 to 5 dimensions", "000 OpTypeTensorViewNV")
HAS_DIMENSIONS = rule("tensor_view.has_dimensions", "has_dimensions is a boolean", "000 OpTypeTensorViewNV")
PERMUTATION = rule(
    "tensor_view.permutation", "the permutation has every number from 0 to dim-1 once", "000 OpTypeTensorViewNV"
)
VIEW_COUNT = rule("tensor_view.operand_count", "one operand per dimension of the view", "001 4.1.X Tensor Layout Types")
VIEW_DIMENSION = rule(
    "tensor_view.dimension", "dimensions are 1 .. 2^32-1: indices are divided by them", "001 8.X linearToViewCoord"
)
VIEW_IMPLICIT_STRIDE = rule(
    "tensor_view.implicit_stride", "implicit strides fit in 32 bits", "000 OpTensorViewSetDimensionNV"
)
VIEW_STRIDE = rule("tensor_view.stride", "strides are 0 .. 2^32-1", "000 OpTensorViewSetStrideNV")
CLIP = rule("tensor_view.clip", "clip offsets and spans are 0 .. 2^32-1", "000 OpTensorViewSetClipNV")
VIEW_NO_DIMENSION = rule(
    "tensor_view.no_dimension", "a view that has dimensions sets them before use", "000 OpCreateTensorViewNV"
)
VIEW_LAYOUT_DIM = rule(
    "tensor_view.layout_dim",
    "a view without dimensions of its own has as many dimensions as the layout, whose span it uses",
    "001 8.X linearToViewCoord",
)

LAYOUT_TYPE = rule("tensor_layout.type", "the layout is a TensorLayout", "001 8.X coopMatLoadTensorNV")
VIEW_TYPE = rule("tensor_view.type", "the view is a TensorView or None", "001 8.X coopMatLoadTensorNV")
MATRIX_SHAPE = rule("matrix.shape", "a matrix has 1 .. 2^32-1 rows and columns", "001 8.X matrixCoordToLinear")

PARTIAL_BLOCK = rule(
    "tensor_layout.partial_block",
    "strides are set where a dimension is no multiple of its block size: some drivers round the implicit ones down",
    "000 OpTensorLayoutSetDimensionNV, measured",
    "lint",
)
MIRROR_OF_ONE = rule(
    "tensor_layout.mirror_of_one",
    "a mirrored dimension has more than one element: the formula takes a remainder by 2*dim-2",
    "000 3.X Tensor Clamp Mode, measured",
    "lint",
)
INNER_STRIDE = rule(
    "tensor_layout.inner_stride",
    "the innermost stride is 1: a driver gave wrong data for others",
    "001 8.X tensorCoordToLinear, measured",
    "lint",
)
BLOCK_SIZE_LATE = rule(
    "tensor_layout.block_size_late",
    "the block size is set before the dimensions, whose implicit strides depend on it",
    "001 4.1.X setTensorLayoutBlockSizeNV",
    "lint",
)
MATRIX_OVER_SPAN = rule(
    "tensor_layout.matrix_over_span",
    "the matrix is no larger than the span: past its end the span repeats, and a driver fills instead",
    "001 8.X linearToSpanCoord, measured",
    "lint",
)
STORES_ALIAS = rule(
    "tensor_layout.stores_alias",
    "every memory element is stored at most once: the order of the stores is not defined",
    "001 8.X coopMatStoreTensorNV",
    "lint",
)
OUT_OF_BOUNDS = rule(
    "tensor_layout.out_of_bounds",
    "with clamp mode undefined every coordinate is inside the layout",
    "000 3.X Tensor Clamp Mode",
    "lint",
)
CLIP_WRAP = rule(
    "tensor_view.clip_wrap",
    "clip offset + span stays below 2^32: the text's 32-bit sum would wrap and skip everything",
    "001 8.X matrixCoordToLinear, measured",
    "lint",
)
CLIP_EMPTY = rule(
    "tensor_view.clip_empty", "the clip region has elements: without, nothing is accessed", "001 8.X", "lint"
)
VIEW_IGNORED = rule(
    "tensor_view.dimension_ignored",
    "only a view that has dimensions is given dimensions and strides; others use the layout's span",
    "001 4.1.X tensorViewNV",
    "lint",
)
VIEW_WRAP = rule(
    "tensor_view.index_wrap",
    "the linear index of a view stays below 2^32: beyond, it wraps",
    "001 8.X viewCoordToLinear",
    "lint",
)
