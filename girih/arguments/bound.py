"""What an executor sees of the memref and group arguments of a launch.

Addresses are flat: counted in elements from the first element of an array. Nothing here checks anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Memory:
    """One flat run of elements, from the first to the last element of an array, in units of elements.

    `data` has one dimension; it is read-only where the kernel does not write. `written` is None where everything may
    be read, else one bool per element: whether it has a value. Arrays that share memory share `written` too, so a store
    through one of them counts for all. `elements` is None, except for a member of a group with an offset whose array
    has gaps: there it says which entries of `data` are elements of the array; others must not be accessed.
    """

    data: NDArray[Any]
    written: NDArray[np.bool_] | None
    name: str
    elements: NDArray[np.bool_] | None = None


@dataclass(slots=True, eq=False)
class BoundMemRef:
    """A memref argument: element (i, j, ...) is `memory.data[offset + i * strides[0] + j * strides[1] + ...]`.

    `memory` is None for a null pointer, whose dynamic modes have size 0. Offset and strides count elements. The offset
    is not 0 only in groups (003 "Group type"): the memref starts that far after the array's first element but has the
    array's shape, so indices in bounds can still miss `memory.data`. The stride of a mode of size 1 or less, or of any
    mode of an empty array, is the one in the type, or as if packed.
    """

    memory: Memory | None
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
