"""Where the parts of types stand in memory with an explicit layout: sizes, alignments, offsets, strides, in bytes.

The numbers are those of the decorations Offset, ArrayStride, MatrixStride, RowMajor and ColMajor (SPIR-V 2.16.2, 3.20);
alignments are those of Vulkan (15.8.4 Offset and Stride Assignment). A function that cannot tell raises `Undetermined`:
of a boolean, a handle or a cooperative matrix, and where a decoration is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.model.annotations import Decoration
from girih.spirv.model.facts import Facts
from girih.spirv.model.parts import member_type
from girih.spirv.types import Array, Float, Int, Matrix, Pointer, RuntimeArray, Struct, Type, Vector

DEEPEST = 255
"""Levels of composites within each other (SPIR-V 2.17, structure nesting depth)."""


class Alignment(Enum):
    """The three rules of alignment."""

    SCALAR = "scalar"
    BASE = "standard"
    EXTENDED = "extended"


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """How the matrices of a member are laid out: bytes from column to column, or from row to row."""

    stride: int
    row_major: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a struct: its number and type, and what its decorations tell; None for what they do not.

    `has_offset` and `has_order` tell whether the decorations are there at all, with values or without.
    """

    number: int
    type: Type
    offset: int | None
    matrix: MatrixLayout | None
    has_offset: bool
    has_order: bool


class Layouts:
    """The layout of the types of a module."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._members: dict[int, tuple[Member, ...]] = {}
        self._depths: dict[int, int] = {}
        for one in facts.instructions:
            if one.name.startswith("OpType") and one.name != "OpTypePointer":
                parts = (o.value for o in one.operands if o.kind == "IdRef")
                depths = (self._depths.get(part, 0) for part in parts if isinstance(part, int))
                self._depths[one.result] = 1 + max(depths, default=0)

    def members(self, struct: Struct) -> tuple[Member, ...]:
        """The members of a struct, in the order of their declaration."""
        found = self._members.get(struct.id)
        if found is None:
            found = self._members[struct.id] = self._gather(struct)
        return found

    def _gather(self, struct: Struct) -> tuple[Member, ...]:
        by_member: dict[int, dict[str, Decoration]] = {}
        for one in self._facts.annotations.by_target.get(struct.id, ()):
            if one.member is not None:
                by_member.setdefault(one.member, {})[one.name] = one
        types = [member_type(self._facts, struct, number) for number in range(len(struct.members))]
        return tuple(self._member(number, type, by_member.get(number, {})) for number, type in enumerate(types))

    def _member(self, number: int, type: Type, named: Mapping[str, Decoration]) -> Member:
        stated = named.get("Offset") or named.get("OffsetIdEXT")
        stride = self._number(named.get("MatrixStride"))
        matrix = MatrixLayout(stride, "RowMajor" in named) if stride else None
        has_order = "RowMajor" in named or "ColMajor" in named
        return Member(number, type, self._number(stated), matrix, stated is not None, has_order)

    def _number(self, decoration: Decoration | None) -> int | None:
        """The number that a decoration states, itself or by a constant; a specialised one is the device's to know."""
        if decoration is None or not decoration.parameters:
            return None
        stated = decoration.parameters[0]
        if isinstance(stated, int) and decoration.name.endswith("IdEXT"):
            value = self._facts.declarations.values.get(stated)
            return value if isinstance(value, int) and not self._facts.is_specialised(stated) else None
        return stated if isinstance(stated, int) else None

    def stride_decoration(self, type: Type) -> Decoration | None:
        """The decoration that tells the stride of an array, or of what a pointer steps over."""
        strides = ("ArrayStride", "ArrayStrideIdEXT")
        return next((one for one in self._facts.annotations.by_target.get(type.id, ()) if one.name in strides), None)

    def stride(self, type: Type) -> int | None:
        """The bytes from element to element of an array; None where no decoration tells."""
        return self._number(self.stride_decoration(type))

    def size(self, type: Type, matrix: MatrixLayout | None = None) -> int:
        """The bytes from the first to the last of a type; a runtime array has none.

        `matrix` is the layout that the member of a struct states for the matrices in it.
        """
        if self._depths.get(type.id, 0) > DEEPEST:
            raise Undetermined
        match type:
            case Int() | Float():
                return type.width // 8
            case Vector() if type.count is not None:
                return type.count * self.size(type.component)
            case Matrix() if matrix is not None:
                return self._matrix_size(type, matrix)
            case Array():
                stride = self.stride(type)
                element = self.size(type.element, matrix)
                if stride is None or type.length is None:
                    raise Undetermined
                return (type.length - 1) * stride + element
            case RuntimeArray():
                return 0
            case Struct():
                return max((self._end(member) for member in self.members(type)), default=0)
            case Pointer():
                return self._address(type)
        raise Undetermined

    def _matrix_size(self, type: Matrix, matrix: MatrixLayout) -> int:
        column = type.column
        if not isinstance(column, Vector) or column.count is None:
            raise Undetermined
        width = self.size(column.component)
        lines, along = (column.count, type.count) if matrix.row_major else (type.count, column.count)
        return (lines - 1) * matrix.stride + along * width

    def _end(self, member: Member) -> int:
        if member.offset is None:
            raise Undetermined
        return member.offset + self.size(member.type, member.matrix)

    def _address(self, type: Pointer) -> int:
        if self._facts.addressing_model == "Physical32":
            return 4
        if self._facts.addressing_model == "Logical":
            raise Undetermined
        return 8

    def alignment(
        self, type: Type, rules: Alignment, matrix: MatrixLayout | None = None, *, relaxed: bool = False
    ) -> int:
        """The alignment of a type; `relaxed` lets a vector that is itself a member be aligned as its components."""
        if self._depths.get(type.id, 0) > DEEPEST:
            raise Undetermined
        match type:
            case Int() | Float():
                return max(type.width // 8, 1)
            case Vector() if type.count is not None:
                component = self.alignment(type.component, rules)
                scalar = rules is Alignment.SCALAR or relaxed
                return component if scalar else component * _rounded(type.count)
            case Matrix():
                return self._matrix_alignment(type, rules, matrix)
            case Array() | RuntimeArray():
                return _extended(self.alignment(type.element, rules, matrix), rules)
            case Struct():
                of_members = (self.alignment(m.type, rules, m.matrix, relaxed=relaxed) for m in self.members(type))
                return _extended(max(of_members, default=1), rules)
            case Pointer():
                return self._address(type)
        raise Undetermined

    def _matrix_alignment(self, type: Matrix, rules: Alignment, matrix: MatrixLayout | None) -> int:
        column = type.column
        if not isinstance(column, Vector) or column.count is None:
            raise Undetermined
        component = self.alignment(column.component, rules)
        if rules is Alignment.SCALAR:
            return component
        along = type.count if matrix is not None and matrix.row_major else column.count
        return _extended(component * _rounded(along), rules)


def _rounded(count: int) -> int:
    """The components whose size is the alignment of a vector: 4 of a vector of 3, or of more than 4."""
    return 4 if count == 3 or count > 4 else max(count, 1)


def _extended(alignment: int, rules: Alignment) -> int:
    """An alignment, rounded up to 16 bytes under the extended rules."""
    return -(-alignment // 16) * 16 if rules is Alignment.EXTENDED else alignment


def layouts(facts: Facts) -> Layouts:
    """The layout of the types of a module; ask for it by `facts.once(layouts)`."""
    return Layouts(facts)


def alignment_of_storage(storage: str, layout: str, *, buffer_block: bool = False) -> Alignment:
    """The rules of alignment that a device with a block layout (one of `BLOCK_LAYOUTS`) has for a storage class."""
    if layout == "scalar":
        return Alignment.SCALAR
    return Alignment.EXTENDED if storage == "Uniform" and not buffer_block else Alignment.BASE
