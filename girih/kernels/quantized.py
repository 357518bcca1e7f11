"""Weights in blocks of 32 with a common scale, as `gemv_q4_0` and its relatives take them: to blocks and back.

A block starts with its scale d, of type f16. In q4_0 follow 16 bytes, 18 in all: byte k holds weight k in its low half
and weight k + 16 in its high half, and a weight is (q - 8) d. In q8_0 follow 32 signed bytes, 34 in all, and a weight
is q d.

Arrays of blocks are in the layout of the language: bytes of a block x blocks of a row x rows, the bytes contiguous, and
rows one after the other, as they are in files. Importing this module does not import NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

WEIGHTS = 32
"""The weights of a block."""
_SCALE = 2
"""The bytes of a scale."""


@dataclass(frozen=True, slots=True)
class Format:
    """The form of a block: its size in bytes, and the functions for its scale and for its bytes, there and back."""

    size: int
    scale: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    """The function from blocks `[..., 32]` of weights to their scales `[..., 1]`."""
    pack: Callable[[NDArray[np.float32]], NDArray[np.uint8]]
    """The function from weights that were divided by the scale to the bytes behind the scale."""
    unpack: Callable[[NDArray[np.uint8]], NDArray[np.int8]]
    """The function from the bytes behind the scale to the integers by which the scale is multiplied."""


def _scale_q4_0(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scale by which the weight of largest magnitude becomes -8, the end of the range that reaches farther."""
    import numpy as np

    at = np.abs(weights).argmax(axis=-1, keepdims=True)
    return np.take_along_axis(weights, at, axis=-1) / np.float32(-8)


def _pack_q4_0(divided: NDArray[np.float32]) -> NDArray[np.uint8]:
    import numpy as np

    numbers = np.minimum(np.trunc(divided + np.float32(8.5)), 15).astype(np.uint8)
    packed: NDArray[np.uint8] = numbers[..., :16] | numbers[..., 16:] << 4
    return packed


def _unpack_q4_0(packed: NDArray[np.uint8]) -> NDArray[np.int8]:
    import numpy as np

    return np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.int8) - np.int8(8)


def _scale_q8_0(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    largest: NDArray[np.float32] = np.abs(weights).max(axis=-1, keepdims=True) / np.float32(127)
    return largest


def _pack_q8_0(divided: NDArray[np.float32]) -> NDArray[np.uint8]:
    import numpy as np

    # Halves are rounded away from zero; rint would round them to even.
    rounded = np.trunc(divided + np.copysign(np.float32(0.5), divided))
    return rounded.astype(np.int8).view(np.uint8)


def _unpack_q8_0(packed: NDArray[np.uint8]) -> NDArray[np.int8]:
    import numpy as np

    return packed.view(np.int8)


FORMATS = {
    "q4_0": Format(18, _scale_q4_0, _pack_q4_0, _unpack_q4_0),
    "q8_0": Format(34, _scale_q8_0, _pack_q8_0, _unpack_q8_0),
}


def quantize(weights: ArrayLike, format: str) -> NDArray[np.int8]:
    """The blocks of a matrix M x K of numbers, rounded to nearest: an int8 array of bytes x K / 32 x M.

    `format` is "q4_0" (18 bytes) or "q8_0" (34 bytes). Each block is divided by its scale before the scale is rounded
    to f16. Raises `ValueError` for another format, for `weights` that are not a matrix of real numbers, for a K that is
    not a multiple of 32, and for weights that are not finite or whose scale exceeds f16.
    """
    import numpy as np

    known = _format(format)
    matrix = np.asarray(weights)
    if matrix.ndim != 2:
        raise ValueError(f"quantize: weights are a matrix M x K; found {matrix.ndim} dimensions, {matrix.shape}")
    if not _is_real(matrix):
        raise ValueError(f"quantize: weights are real numbers; found the type {matrix.dtype}")
    if matrix.shape[1] % WEIGHTS:
        raise ValueError(f"quantize: K must be a multiple of {WEIGHTS}, the weights of a block; found {matrix.shape[1]}"
                         f" columns: append {-matrix.shape[1] % WEIGHTS} columns of zeros")  # fmt: skip
    with np.errstate(over="ignore"):  # Infinity is refused below.
        blocks = matrix.astype(np.float32).reshape(matrix.shape[0], matrix.shape[1] // WEIGHTS, WEIGHTS)
    scale, divided = _divided(known, blocks)
    content = np.empty((*blocks.shape[:2], known.size), np.uint8)
    content[..., :_SCALE] = scale.view(np.uint8)
    content[..., _SCALE:] = known.pack(divided)
    return content.view(np.int8).T


def dequantize(blocks: NDArray[Any], format: str) -> NDArray[np.float32]:
    """The float32 matrix M x K that blocks stand for, exactly: each number is a scale times a small integer.

    `blocks` is an array of bytes x K / 32 x M, int8 or uint8, as `quantize` gives it; `format` is "q4_0" or "q8_0".
    Raises `ValueError` for another format, another number of bytes, and `blocks` that are not such an array.
    """
    import numpy as np

    known = _format(format)
    if not isinstance(blocks, np.ndarray) or blocks.dtype not in (np.int8, np.uint8) or blocks.ndim != 3:
        found = f"{blocks.dtype} {blocks.shape}" if isinstance(blocks, np.ndarray) else type(blocks).__name__
        raise ValueError(f"dequantize: blocks are an array {known.size} x K / 32 x M of int8; found {found}")
    if blocks.shape[0] != known.size:
        raise ValueError(f"dequantize: a block of {format} has {known.size} bytes; found {blocks.shape[0]} in the "
                         f"first dimension of {blocks.shape}")  # fmt: skip
    content = np.ascontiguousarray(blocks.T).view(np.uint8)
    scale = np.ascontiguousarray(content[..., :_SCALE]).view(np.float16).astype(np.float32)
    numbers = known.unpack(content[..., _SCALE:]).astype(np.float32)
    return (numbers * scale).reshape(blocks.shape[2], blocks.shape[1] * WEIGHTS)


def _format(format: str) -> Format:
    if format not in FORMATS:
        raise ValueError(f"there is no format {format!r}; it must be one of {', '.join(FORMATS)}")
    return FORMATS[format]


def _is_real(matrix: NDArray[Any]) -> bool:
    """Whether a matrix holds integers or floating-point numbers, of NumPy or narrower ones that cast to f32."""
    import numpy as np

    return matrix.dtype.kind in "fiu" or (matrix.dtype.kind == "V" and np.can_cast(matrix.dtype, np.float32))


def _divided(known: Format, blocks: NDArray[np.float32]) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """The scale of each block, and the block divided by it before it was rounded."""
    import numpy as np

    if not np.isfinite(blocks).all():
        raise ValueError("quantize: weights are finite numbers of f32; found infinity or NaN")
    exact = known.scale(blocks)
    largest = float(np.finfo(np.float16).max)
    if (np.abs(exact) > largest).any():
        raise ValueError(f"quantize: the scale of a block is a number of f16, up to {largest:g}; the largest weight is "
                         f"{np.abs(blocks).max():g}: scale the weights")  # fmt: skip
    scale = exact.astype(np.float16)
    # A scale that is rounded to 0 turns all weights into zeros.
    inverse = np.divide(np.float32(1), exact, out=np.zeros_like(exact), where=scale != 0)
    return scale, blocks * inverse
