"""The walk of im2col mode: which pixel of which image each row of the column reads (004 5.5.4).

The cursor starts at the coordinates of the instruction, which lie in the bounding box, and steps by the traversal
strides: past the upper corner of W it goes back to the lower corner and H advances, then D, then the image. A pixel is
read at the cursor plus the offsets. Measured on an NVIDIA H200.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def corners(sizes: Sequence[int], lower: Sequence[int], upper: Sequence[int]) -> list[tuple[int, int]]:
    """First and last cursor position in W, H, D: the upper corner counts from the last pixel (004 5.5.4.1)."""
    return [(low, size - 1 + high) for size, low, high in zip(sizes, lower, upper, strict=True)]


def walk(
    pixels: int,
    start: Sequence[int | NDArray[np.int64]],
    box: Sequence[tuple[int, int]],
    strides: Sequence[int],
    image_start: int | NDArray[np.int64],
    image_stride: int,
) -> NDArray[np.int64]:
    """The cursor at each of `pixels` pixels: int64 `[pixels, spatial dimensions + 1]`, columns W, H, D, N.

    `start`, `box` (first and last position, both inside) and `strides` run over W, H, D; the start lies in the box.
    Starts that are arrays have a last axis of size 1; axes before it come before that of the pixels.
    Source: 004 5.5.4.1 and 5.5.4.2.
    """
    steps = np.broadcast_to(np.arange(pixels, dtype=np.int64), (*np.shape(image_start)[:-1], pixels))
    columns = []
    for position, (low, high), stride in zip(start, box, strides, strict=True):
        first, whole = (high - position) // stride + 1, (high - low) // stride + 1
        carry, within = np.divmod(steps - first, whole)
        begun = steps < first
        columns.append(np.where(begun, position + steps * stride, low + within * stride))
        steps = np.where(begun, 0, carry + 1)
    return np.stack([*columns, image_start + steps * image_stride], axis=-1)
