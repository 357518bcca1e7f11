"""The descriptor of a tensor map in memory, for targets without one of their own: 8-byte signed integers.

Who launches a kernel writes it, from a map that is legal and suits every copy of the kernel; its slot has the address.

A row is what is contiguous in global and in local memory. Rows of a tiled copy are counted along `DIMENSIONS`
dimensions; those that there are not have one position, at coordinate 0. In im2col mode the dimensions are W, H, D, the
image, and the channel slice, which is one position. An operand is known by its position among the coordinates.
"""

from __future__ import annotations

from enum import IntEnum

DIMENSIONS = 5
SPATIAL = 3
"""The number of dimensions through which the cursor of im2col mode walks before the image changes."""
IMAGE, CHANNEL_SLICE = 3, 4
"""The numbers of the other two dimensions of im2col mode."""
NO_OPERAND = 8
"""The position of a coordinate that is 0: behind five coordinates and three offsets."""
OPERANDS = 9
"""The numbers of a copy in memory: five coordinates, three offsets, and a 0."""
FIRST_OFFSET = 5

FLIP_SHIFT = 3
"""What the swizzle that flips halves of 16 bytes shifts the line number by."""


class MapField(IntEnum):
    """The words before those of the dimensions."""

    ADDRESS = 0
    """The address of the map."""
    ROWS = 1
    """The rows of a copy, but for those that name four rows."""
    ROW_BYTES = 2
    """The bytes of a row in global memory."""
    PITCH = 3
    """The bytes from row to row in local memory."""
    START_OPERAND = 4
    """The coordinate at which a row begins, `NO_OPERAND` with interleave."""
    START_BITS = 5
    """The bits that one step of that coordinate is."""
    START_MULTIPLE = 6
    """What that coordinate is a multiple of, a power of two."""
    LOAD_EXTENT = 7
    """The bytes of dimension 0 in global memory that loads read, and that stores touch."""
    STORE_EXTENT = 8
    FILL = 9
    """The bytes of the fill."""
    TF32 = 10
    """1 where values are rounded to tf32."""
    PACKING = 11
    """A `Packing`."""
    SIGNED = 12
    """1 where elements are signed integers."""
    SWIZZLE_MASK = 13
    """The swizzle flips the bits `(line & mask) << shift` of an address in local memory, with the line of 128 bytes."""
    SWIZZLE_SHIFT = 14
    FLIP = 15
    """1 where halves of 16 bytes change places in odd lines."""


class Packing(IntEnum):
    """The way in which elements lie in local memory (004 5.5.1.1.1)."""

    NONE = 0
    EIGHT_BYTES = 1
    """Eight bytes of data in every 16."""
    TWELVE_BYTES = 2
    SIX_BITS = 3
    """Stores pack the low six bits of every byte."""


OPERAND, SIZE, STRIDE, COUNT, STEP, LOW, HIGH = range(7)
"""The words of a dimension: operand, elements, bytes from one to the next, positions, elements between positions, and
the first and last position of the pixel box."""
_WORDS_EACH = 7
WORDS = len(MapField) + DIMENSIONS * _WORDS_EACH


def dimension(number: int) -> int:
    """The first word of a dimension."""
    return len(MapField) + number * _WORDS_EACH
