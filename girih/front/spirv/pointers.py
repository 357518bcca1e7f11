"""Pointers while a shader is translated: what they point to is known before anything runs, but for offsets and indices.

No value of the ir is a pointer. A pointer that is loaded from memory, or given as a number, is an address (i64).
"""

from __future__ import annotations

from girih.ir.core import Value
from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction
from girih.spirv.model.memory.layout import MatrixLayout
from girih.spirv.types import Type

BEST_ALIGNMENT = 16
"""What the beginning of each buffer, and of memory of a work-group, is a multiple of, in bytes."""


TABLE = "table"
"""What stands for the storage class of a variable that is a table (`girih.front.spirv.tables`)."""


@dataclass(frozen=True, slots=True, eq=False)
class BytePointer:
    """A pointer into memory that is bytes: a buffer, push constants, memory of the work-group, what an address names.

    `memory` is a memref of bytes, `offset` an index in bytes; `matrix` is how a matrix of `pointee` lies (MatrixStride,
    RowMajor). `alignment` is a power of two that the place is known to be a multiple of.
    """

    pointee: Type
    storage: str
    memory: Value
    offset: Value
    alignment: int
    matrix: MatrixLayout | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorsPointer:
    """A pointer to an array of buffers: members of a group, from the one with the number `first` on."""

    pointee: Type
    storage: str
    group: Value
    first: int


@dataclass(frozen=True, slots=True, eq=False)
class AddressPointer:
    """A pointer to physical memory that was not looked up yet: an address and what is added to it, in bytes (both i64).

    The buffer is found for each access, which says how many bytes it needs.
    """

    pointee: Type
    address: Value
    alignment: int
    matrix: MatrixLayout | None = None


@dataclass(frozen=True, slots=True, eq=False)
class VariablePointer:
    """A pointer to a variable of the work-item, or a part of one: the first leaf, which may be computed.

    `variable` is its OpVariable; `leaf` is the number of the first leaf, a value of index type where it is not known.
    With a `component`, which is of index type, it points to a component of the matrix that is the leaf: the number of
    one of those that the work-item holds.
    """

    pointee: Type
    variable: Instruction
    leaf: int | Value
    component: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BuiltInPointer:
    """A pointer to a built-in variable (SPIR-V 3.21), or one component of it, whose number may be computed."""

    pointee: Type
    name: str
    component: int | Value | None = None


Pointer = BytePointer | DescriptorsPointer | AddressPointer | VariablePointer | BuiltInPointer


def common(alignment: int, step: int) -> int:
    """The largest power of two that divides both numbers; the first is a power of two."""
    return alignment if step % alignment == 0 else step & -step
