"""Tensor layouts and views: where the components of a matrix lie in a tensor of up to five dimensions (000, 001 4.1.X).

Both are values; each method returns another one. Numbers may be known only at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Literal, ParamSpec, SupportsIndex, TypeVar, overload

from girih.language.types import Array, Block, Number, i32
from girih.language.words import outside, word

E = TypeVar("E", bound=Number)
D = TypeVar("D", bound=Number)
P = ParamSpec("P")
"""The coordinates of a block and the position in it, which a decode function gets behind the block."""

ClampMode = Literal["undefined", "constant", "clamp_to_edge", "repeat", "mirror_repeat"]
"""What a load gets outside of the tensor (000 3.X "Tensor Clamp Mode")."""

_Slice = tuple[SupportsIndex, SupportsIndex]


class TensorLayout:
    """The place of a tensor in memory, and the region of it that is accessed (001 4.1.X); from `gl.tensor_layout`."""

    @word
    def set_block_size(self, *sizes: SupportsIndex) -> TensorLayout:
        """The layout of a tensor that is stored in blocks of these numbers of elements; strides then count blocks.

        It comes before `set_dimension`, whose implicit strides depend on it (000 "OpTensorLayoutSetBlockSizeNV").
        """
        outside("TensorLayout.set_block_size")

    @word
    def set_dimension(self, *sizes: SupportsIndex) -> TensorLayout:
        """The layout with these dimensions, outermost first, the strides of a dense tensor, and all of it accessed.

        (000 "OpTensorLayoutSetDimensionNV")
        """
        outside("TensorLayout.set_dimension")

    @word
    def set_stride(self, *strides: SupportsIndex) -> TensorLayout:
        """The layout with these strides, in elements, or in blocks (000 "OpTensorLayoutSetStrideNV")."""
        outside("TensorLayout.set_stride")

    @word
    def slice(self, *slices: _Slice) -> TensorLayout:
        """The layout whose accessed region is moved and cut: a pair of offset and span for each dimension.

        The region may lie outside of the tensor (000 "OpTensorLayoutSliceNV").
        """
        outside("TensorLayout.slice")

    @word
    def set_clamp_value(self, bits: i32 | int) -> TensorLayout:
        """The layout whose loads give the low bits of a number outside of the tensor, in clamp mode "constant".

        (000 "OpTensorLayoutSetClampValueNV")
        """
        outside("TensorLayout.set_clamp_value")


class TensorView:
    """Another reading of the region that a layout accesses (001 4.1.X); from `gl.tensor_view`."""

    @word
    def set_dimension(self, *sizes: SupportsIndex) -> TensorView:
        """The view with these dimensions, and the strides of a dense array (000 "OpTensorViewSetDimensionNV")."""
        outside("TensorView.set_dimension")

    @word
    def set_stride(self, *strides: SupportsIndex) -> TensorView:
        """The view with these strides, in elements of the accessed region (000 "OpTensorViewSetStrideNV")."""
        outside("TensorView.set_stride")

    @word
    def set_clip(self, rows: _Slice, columns: _Slice) -> TensorView:
        """The view that accesses these rows and columns of the matrix only, pairs of offset and span.

        A load leaves the other components as they are, a store does not write them (000 "OpTensorViewSetClipNV").
        """
        outside("TensorView.set_clip")


@word
def tensor_layout(dim: int, clamp_mode: ClampMode = "undefined") -> TensorLayout:
    """A layout of 1 to 5 dimensions, all of whose numbers are to be set (000 "OpCreateTensorLayoutNV")."""
    outside("gl.tensor_layout")


@word
def tensor_view(dim: int, has_dimensions: bool = False, permutation: tuple[int, ...] | None = None) -> TensorView:
    """A view of 1 to 5 dimensions, with sizes of its own or those of the layout (000 "OpCreateTensorViewNV").

    `permutation` is the order in which the dimensions are read, which stays if it is left out.
    """
    outside("gl.tensor_view")


@overload
def load_tensor(
    init: Block[E], array: Array[Any, Any], layout: TensorLayout, view: TensorView | None = None, *, offset: Any = 0
) -> Block[E]: ...
@overload
def load_tensor(
    init: Block[E],
    array: Array[Any, Any],
    layout: TensorLayout,
    view: TensorView | None = None,
    *,
    offset: Any = 0,
    decode: Callable[Concatenate[Array[D, Any], P], E],
    block_dtype: type[D],
    block_shape: int | tuple[int, ...],
) -> Block[E]: ...
@overload
def load_tensor(
    init: Block[E],
    array: Array[Any, Any],
    layout: TensorLayout,
    view: TensorView | None = None,
    *,
    offset: Any = 0,
    decode: Callable[..., Any],
    block_dtype: type[Number],
    block_shape: int | tuple[int, ...],
) -> Block[E]: ...
@word
def load_tensor(
    init: Block[E],
    array: Array[Any, Any],
    layout: TensorLayout,
    view: TensorView | None = None,
    *,
    offset: Any = 0,
    decode: Callable[..., Any] | None = None,
    block_dtype: type[Number] | None = None,
    block_shape: int | tuple[int, ...] | None = None,
) -> Block[E]:
    """The matrix that a layout, and a view where there is one, read from a tensor (001 8.X "coopMatLoadTensorNV").

    The tensor begins at `array[offset]`; the array has one axis and no gaps. What the view clips is as in `init`. With
    a `decode` function the layout counts blocks of `block_shape` elements of `block_dtype`, in order F; the function is
    given the block as an array, its coordinates, and the position in it, and returns the component.
    """
    outside("gl.load_tensor")


@word
def store_tensor(
    matrix: Block[Any], array: Array[Any, Any], layout: TensorLayout, view: TensorView | None = None, *, offset: Any = 0
) -> None:
    """Store a matrix where a layout, and a view where there is one, say (001 8.X "coopMatStoreTensorNV").

    Components outside of the layout, or that the view clips, are dropped.
    """
    outside("gl.store_tensor")
