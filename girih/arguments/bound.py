"""The memref and group arguments of a launch as an executor sees them. Nothing here checks anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.arguments.memory import ElementView
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.addressing import TensorMap


@dataclass(slots=True, eq=False)
class BoundMemRef:
    """A memref argument: element (i, j, ...) is `elements.data[i * strides[0] + j * strides[1] + ...]`.

    `elements` shows the bytes of the array as its element type (`elements.memory` has the bytes, and can show them as
    any other); it is None for a null pointer, whose dynamic modes have size 0. Every element is there. The stride of a
    mode of size 1 or less, or of any mode of an empty array, is the one in the type, or as if packed.
    """

    elements: ElementView | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(slots=True, eq=False)
class BoundGroup:
    """A group argument: the memrefs in its members, behind the offset of its type; `null` where it is None."""

    members: tuple[BoundMemRef, ...]
    null: bool
    size: int


@dataclass(slots=True, eq=False)
class BoundMap:
    """A tensor map argument: the map, and the bytes of its tensor from the address of the map on."""

    tensor_map: TensorMap
    elements: ElementView
