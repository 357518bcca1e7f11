"""What an executor sees of the memref and group arguments of a launch.

Offset and strides count elements, from the first element of the array. Nothing here checks anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.arguments.memory import ElementView


@dataclass(slots=True, eq=False)
class BoundMemRef:
    """A memref argument: element (i, j, ...) is `elements.data[offset + i * strides[0] + j * strides[1] + ...]`.

    `elements` shows the bytes of the array as its element type (`elements.memory` has the bytes, and can show them as
    any other); it is None for a null pointer, whose dynamic modes have size 0. The offset is not 0 only in groups (003
    "Group type"): the memref starts that far after the array's first element but has the array's shape, so indices in
    bounds can still miss the memory. The stride of a mode of size 1 or less, or of any mode of an empty array, is the
    one in the type, or as if packed.
    """

    elements: ElementView | None
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(slots=True, eq=False)
class BoundGroup:
    """A group argument: its members, each already moved by `offset` elements; `null` for None."""

    members: tuple[BoundMemRef, ...]
    null: bool
    size: int
    offset: int
