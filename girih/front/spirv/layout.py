"""Where the leaves of a type lie in memory that is bytes: as decorated, or with natural alignment.

Memory that others see has the layout that its decorations tell (SPIR-V 2.16.2). Variables of a work-group have none,
unless they are blocks (SPV_KHR_workgroup_memory_explicit_layout): each number is aligned to its size, a bool is a byte.
"""

from __future__ import annotations

from typing import NamedTuple

from girih.front.spirv.leaves import leaves
from girih.ir.types import Number
from girih.ir.types import Type as IrType
from girih.rules.row import Undetermined
from girih.spirv.model.facts import Facts
from girih.spirv.model.memory.layout import Alignment, Layouts, MatrixLayout, layouts
from girih.spirv.model.parts import member_type
from girih.spirv.types import Array, Bool, Matrix, Pointer, RuntimeArray, Struct, Type, Vector


class PlacedMember(NamedTuple):
    """A part of a composite: its offset in bytes, its type, and how the matrices in it lie."""

    offset: int
    type: Type
    matrix: MatrixLayout | None


class PlacedLeaf(NamedTuple):
    """A leaf in memory: its offset in bytes, and its type."""

    offset: int
    type: IrType


class ByteLayout:
    """The layout of the types of a module in memory of one kind: `natural` for variables of work-groups."""

    def __init__(self, facts: Facts, *, natural: bool = False) -> None:
        self._facts = facts
        self._explicit: Layouts = facts.once(layouts)
        self.natural = natural
        self._leaves: dict[tuple[int, MatrixLayout | None], tuple[PlacedLeaf, ...]] = {}

    def size(self, type: Type, matrix: MatrixLayout | None = None) -> int:
        """The bytes of a type, from the first to the last; 0 for a runtime array."""
        return self._extent(type)[0] if self.natural else self._explicit.size(type, matrix)

    def alignment(self, type: Type, matrix: MatrixLayout | None = None) -> int:
        """What the place of a type is a multiple of, at the least: the size of its largest number."""
        return self._extent(type)[1] if self.natural else self._explicit.alignment(type, Alignment.SCALAR, matrix)

    def stride(self, type: Type, matrix: MatrixLayout | None = None) -> int:
        """The bytes from one element of an array, vector or matrix to the next. Raises `Undetermined`."""
        match type:
            case Array() | RuntimeArray() if not self.natural:
                stride = self._explicit.stride(type)
                if stride is None:
                    raise Undetermined
                return stride
            case Array() | RuntimeArray():
                return _rounded(*self._extent(type.element))
            case Vector():
                return matrix.stride if matrix is not None and matrix.row_major else self.size(type.component)
            case Matrix() if matrix is not None and matrix.row_major:
                return self.size(type.column.component) if isinstance(type.column, Vector) else 0
            case Matrix():
                return matrix.stride if matrix is not None else self.size(type.column)
        raise Undetermined

    def pointer_stride(self, pointer: Type, pointee: Type) -> int:
        """The bytes that OpPtrAccessChain steps over: ArrayStride of the pointer's type, else those of an element."""
        stride = None if self.natural else self._explicit.stride(pointer)
        return _rounded(self.size(pointee), self.alignment(pointee)) if stride is None else stride

    def member(self, struct: Struct, index: int) -> PlacedMember:
        """A member of a struct. Raises `Undetermined` where no decoration tells its offset."""
        if self.natural:
            return PlacedMember(self._natural_offsets(struct)[index], member_type(self._facts, struct, index), None)
        found = self._explicit.members(struct)[index]
        if found.offset is None:
            raise Undetermined
        return PlacedMember(found.offset, found.type, found.matrix)

    def element(self, type: Type) -> tuple[Type, int | None]:
        """The type of the elements of an array, vector or matrix, and their number; None for a runtime array."""
        match type:
            case Array():
                return type.element, type.length
            case RuntimeArray():
                return type.element, None
            case Vector():
                return type.component, type.count
            case Matrix():
                return type.column, type.count
        raise Undetermined

    def leaves(self, type: Type, matrix: MatrixLayout | None = None) -> tuple[PlacedLeaf, ...]:
        """The leaves of a type, in order, with their offsets. Raises `Undetermined` for what has none in memory."""
        key = (type.id, matrix)
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = tuple(self._place(type, matrix))
        return found

    def _place(self, type: Type, matrix: MatrixLayout | None) -> list[PlacedLeaf]:
        if isinstance(type, Struct):
            members = (self.member(type, at) for at in range(len(type.members)))
            return [
                PlacedLeaf(member.offset + leaf.offset, leaf.type)
                for member in members
                for leaf in self.leaves(member.type, member.matrix)
            ]
        if isinstance(type, Array | Vector | Matrix):
            element, count = self.element(type)
            if count is None:
                raise Undetermined
            stride, inner = self.stride(type, matrix), self.leaves(element, matrix)
            return [PlacedLeaf(at * stride + leaf.offset, leaf.type) for at in range(count) for leaf in inner]
        (only,) = leaves(type)
        return [PlacedLeaf(0, only)]

    # --- natural alignment -----------------------------------------------------------------------

    def _extent(self, type: Type) -> tuple[int, int]:
        """The size and the alignment of a type of which nothing is decorated."""
        match type:
            case Bool():
                return 1, 1
            case Pointer():
                return 8, 8
            case Struct():
                ends = self._natural_offsets(type)
                parts = [self._extent(member_type(self._facts, type, at)) for at in range(len(type.members))]
                alignment = max((part[1] for part in parts), default=1)
                end = ends[-1] + parts[-1][0] if parts else 0
                return _rounded(end, alignment), alignment
            case Array() | Vector() | Matrix():
                element, count = self.element(type)
                size, alignment = self._extent(element)
                if count is None:
                    raise Undetermined
                return count * _rounded(size, alignment), alignment
        (only,) = leaves(type)
        if not isinstance(only, Number):
            raise Undetermined
        return only.size, only.size

    def _natural_offsets(self, struct: Struct) -> list[int]:
        offsets, at = [], 0
        for index in range(len(struct.members)):
            size, alignment = self._extent(member_type(self._facts, struct, index))
            offsets.append(_rounded(at, alignment))
            at = offsets[-1] + size
        return offsets


def runs_of(listed: tuple[PlacedLeaf, ...]) -> list[tuple[int, IrType, int]]:
    """Leaves that lie side by side, together: the offset of the first, their type, and their number."""
    made: list[tuple[int, IrType, int]] = []
    for offset, type in listed:
        if made:
            first, same, count = made[-1]
            if same == type and offset == first + count * bytes_of(type):
                made[-1] = (first, type, count + 1)
                continue
        made.append((offset, type, 1))
    return made


def bytes_of(type: IrType) -> int:
    """The bytes of a leaf in memory."""
    return type.size if isinstance(type, Number) else 1


def _rounded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
