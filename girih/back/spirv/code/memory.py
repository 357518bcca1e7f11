"""The memory of shader code: variables, and places in them as values.

A place is a value of type `ptr`: a memory and a number of bytes from its begin. Loads and stores name the element, not
the byte; the type of the elements is the access's, so that one memory may be seen as several types.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from girih.back.llvm.emit.text import Val
from girih.lazy_dataclass import dataclass


class MemoryKind(Enum):
    """The kinds of memory that shader code reaches."""

    BUFFER = "buffer"
    """A storage buffer: a block with one runtime array."""
    PUSH = "push"
    """The push constants: members, no array."""
    SHARED = "shared"
    """An array that the work-group shares."""
    PRIVATE = "private"
    """An array of each work-item."""
    TABLE = "table"
    """An array of constants."""
    ADDRESS = "address"
    """What a 64-bit address points to."""
    BLOCK = "block"
    """An array that the first parameter of a decode routine points to (001)."""


@dataclass(eq=False, slots=True)
class ShaderMemory:
    """A variable, or all that is reached by addresses.

    `binding` is that of a buffer. `size` are the bytes of shared and private memory and of a block, which are of
    `element` from their declaration on where that is given. `types` are the element types of all accesses, in the order
    in which they came; `written` and `atomic` whether there are such accesses. `aligned` is the alignment of the
    memory, in bytes.
    """

    kind: MemoryKind
    name: str
    binding: int = -1
    size: int = 0
    element: str = ""
    types: dict[str, None] = field(default_factory=dict)
    values: tuple[int, ...] = ()
    """The words of a table, of 32 bits."""
    written: bool = False
    atomic: bool = False
    aligned: int = 4
    block: Val | None = None
    """The parameter that points to a block."""


@dataclass(frozen=True, slots=True)
class ShaderPlace:
    """A place in memory: `offset` bytes from the begin, or from `address`, an i64, in memory of kind ADDRESS."""

    memory: ShaderMemory
    offset: Val
    address: Val | None = None
    missing: Val | None = None
    """Whether there is no memory, an i1; None where there always is."""
