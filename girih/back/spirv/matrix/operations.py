"""The operations of shader code on matrices, tensor layouts and tensor views, and the words that nodes have for them.

Types are words of `girih.back.spirv.code.types`; a place in memory is said as for `load` and `store`: an element, or an
i64 address for memory of kind ADDRESS. `memory` is a `ShaderMemory`, `type` the type of the elements that it is seen
as, which need not be the component type of the matrix. All work-items of the matrix's scope come to each operation,
with the same operands but for those that are matrices or components.

Matrices (KHR_cooperative_matrix; those of 002 where they are named)
    matrix_splat        operands (component,)                    every component is this scalar of the component type
    matrix_load         details (memory, type, order)            operands (place, stride); order row or column; the
                                                                 stride counts elements between rows or columns
    matrix_store        details (memory, type, order)            operands (matrix, place, stride)
    matrix_load_blocked details (memory, type, order, blocks)    operands (place,); 64-byte blocks of 4 rows (002), of
                                                                 which `blocks` are interleaved; order row or column
    matrix_store_blocked details (memory, type, order, blocks)   operands (matrix, place)
    matrix_mul_add      details (signed, saturating)             operands (a, b, c): a b + c; `signed` has those of the
                                                                 words a b c result whose integers have a sign
    matrix_negate       details (operation,)                     operands (matrix,); neg fneg
    matrix_binary       details (operation,)                     operands (matrix, matrix); of one type: add sub mul
                                                                 sdiv udiv fadd fsub fmul fdiv
    matrix_scale        details (operation,)                     operands (matrix, component); mul fmul
    matrix_convert      details (operation,)                     operands (matrix,); to the type of the result, which
                                                                 may have another use (NV2, of accumulators only):
                                                                 trunc zext sext sitofp uitofp fptosi fptoui fptrunc
                                                                 fpext bitcast, and `use` where only the use changes
    matrix_length                                                operands (matrix,); i32: components of the work-item
    matrix_extract                                               operands (matrix, number); the work-item's component
    matrix_insert                                                operands (component, matrix, number)

NV_cooperative_matrix2 (001)
    matrix_load_tensor  details (memory, type, routine)          operands (object, place, layout) or (object, place,
                                                                 layout, view); what the view clips is as in the object;
                                                                 `routine` decodes components, or is None
    matrix_store_tensor details (memory, type)                   operands (matrix, place, layout) or (..., view)
    matrix_reduce       details (along, routine)                 operands (matrix,); along row column all 2x2
    matrix_per_element  details (routine,)                       operands (matrix, more...); more are matrices of its
                                                                 type or scalars
    matrix_transpose                                             operands (accumulator,); gives a right factor

Tensor layouts and views (000); all numbers are i32, one for each dimension, outermost first
    layout_create                                                block sizes 1, everything else 0
    layout_set_block_size, layout_set_dimension, layout_set_stride   operands (layout, numbers...)
    layout_slice                                                 operands (layout, offset, span, offset, span, ...)
    layout_set_clamp_value                                       operands (layout, bits)
    view_create                                                  dimensions and strides 0, nothing is clipped
    view_set_dimension, view_set_stride                          operands (view, numbers...)
    view_set_clip                                                operands (view, row, rows, column, columns)

Routines are `ShaderRoutine`s; those of their parameters and results that are components have the component type:

    decode      (block: `block ELEMENT COUNT`, the block's number and the coordinate in the block: i32 for each
                dimension) gives a component; it reads the block as memory of kind BLOCK
    reduce      (component, component) gives a component; in any order and grouping
    per element (row: i32, column: i32, component, one of each further operand) gives a component

The component types half, bfloat, f8e4m3 and f8e5m2 are those of scalars, too: in `fpext` and `fptrunc`, `bitcast`
to and from integers, and as operands of the operations above. What goes into them is exact, as registers hold floats
that are numbers of the narrow type.
"""

from __future__ import annotations

from typing import Literal

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.types import LAYOUT, MATRIX, VIEW
from girih.lazy_dataclass import dataclass

Order = Literal["row", "column"]
"""Whether the components of a row, or those of a column, lie side by side in memory."""


BLOCK = "block"
"""The word that types of blocks begin with."""

COMPONENT_OPERATIONS = frozenset({
    "matrix_splat", "matrix_load", "matrix_store", "matrix_load_blocked", "matrix_store_blocked", "matrix_mul_add",
    "matrix_negate", "matrix_binary", "matrix_scale", "matrix_convert", "matrix_length", "matrix_extract",
    "matrix_insert",
})  # fmt: skip
"""The operations on matrices that KHR_cooperative_matrix has; blocked ones need 002."""

TENSOR_OPERATIONS = frozenset({
    "matrix_load_tensor", "matrix_store_tensor", "matrix_reduce", "matrix_per_element", "matrix_transpose",
})  # fmt: skip
"""The operations on matrices that NV_cooperative_matrix2 adds."""

LAYOUT_OPERATIONS = frozenset({
    "layout_create", "layout_set_block_size", "layout_set_dimension", "layout_set_stride", "layout_slice",
    "layout_set_clamp_value", "view_create", "view_set_dimension", "view_set_stride", "view_set_clip",
})  # fmt: skip
"""The operations that make tensor layouts and views (000)."""

OPERATIONS = COMPONENT_OPERATIONS | TENSOR_OPERATIONS | LAYOUT_OPERATIONS
"""All operations of this file."""


def is_matrix(value: Val) -> bool:
    """Whether a value is a cooperative matrix."""
    return value.type.startswith(f"{MATRIX} ")


def layout_type(dim: int, clamp_mode: int) -> str:
    """The word of a tensor layout type; the clamp mode is the number that 000 gives to it."""
    return f"{LAYOUT} {dim} {clamp_mode}"


def view_type(dim: int, has_dimensions: bool, permutation: tuple[int, ...]) -> str:
    """The word of a tensor view type; `has_dimensions` is written as 0 or 1."""
    return " ".join(map(str, (VIEW, dim, int(has_dimensions), *permutation)))


@dataclass(frozen=True, slots=True)
class LayoutWords:
    """A tensor layout type."""

    dim: int
    clamp_mode: int


@dataclass(frozen=True, slots=True)
class ViewWords:
    """A tensor view type."""

    dim: int
    has_dimensions: bool
    permutation: tuple[int, ...]


def layout_words(type: str) -> LayoutWords:
    """The tensor layout type that a word says."""
    _, dim, clamp_mode = type.split(" ")
    return LayoutWords(int(dim), int(clamp_mode))


def view_words(type: str) -> ViewWords:
    """The tensor view type that a word says."""
    _, dim, has_dimensions, *permutation = type.split(" ")
    return ViewWords(int(dim), has_dimensions == "1", tuple(map(int, permutation)))


@dataclass(frozen=True, slots=True)
class BlockWords:
    """A block as a decode routine sees it: an array of `count` elements of a scalar type, of their size in bytes."""

    element: str
    count: int

    def __str__(self) -> str:
        return f"{BLOCK} {self.element} {self.count}"


def block_words(type: str) -> BlockWords:
    """The block that a word says."""
    _, element, count = type.split(" ")
    return BlockWords(element, int(count))
