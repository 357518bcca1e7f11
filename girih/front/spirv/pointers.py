"""Pointers while a shader is translated: what they point to is known before anything runs, but for offsets and indices.

No value of the ir is a pointer. A pointer that is loaded from memory, or given as a number, is an address (i64).
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.ir.core import Value
from girih.spirv.instruction import Instruction
from girih.spirv.model.memory.layout import MatrixLayout
from girih.spirv.types import Type


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
    """

    pointee: Type
    variable: Instruction
    leaf: int | Value


@dataclass(frozen=True, slots=True, eq=False)
class BuiltInPointer:
    """A pointer to a built-in variable (SPIR-V 3.21), or one component of it, whose number may be computed."""

    pointee: Type
    name: str
    component: int | Value | None = None


Pointer = BytePointer | AddressPointer | VariablePointer | BuiltInPointer
