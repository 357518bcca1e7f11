"""The types of the tensor language (003 "Types"): immutable values that print as they are written.

A mode size or stride is an int, or None where the text has `?` (known only at run time). A memref without strides and
one with those of the packed layout are one type, as 003 "Memref type" asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from girih.lazy_dataclass import dataclass

Extent = int | None
"""A mode size, stride, group size or offset; None stands for `?`, known only at run time."""


class Type:
    """The base of all types."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Boolean(Type):
    """The type `bool`, which takes one byte in memory."""

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Number(Type):
    """A number type: its name, its family (integer, floating or complex), its size in bytes (003 "Scalar types")."""

    name: str
    family: Literal["integer", "floating", "complex"]
    size: int

    def __str__(self) -> str:
        return self.name


BOOL = Boolean()
I8 = Number("i8", "integer", 1)
I16 = Number("i16", "integer", 2)
I32 = Number("i32", "integer", 4)
I64 = Number("i64", "integer", 8)
INDEX = Number("index", "integer", 8)
F8E4M3 = Number("f8e4m3", "floating", 1)
F8E5M2 = Number("f8e5m2", "floating", 1)
BF16 = Number("bf16", "floating", 2)
F16 = Number("f16", "floating", 2)
F32 = Number("f32", "floating", 4)
F64 = Number("f64", "floating", 8)
C32 = Number("c32", "complex", 8)
C64 = Number("c64", "complex", 16)

NUMBERS = {t.name: t for t in (I8, I16, I32, I64, INDEX, F8E4M3, F8E5M2, BF16, F16, F32, F64, C32, C64)}
"""Every number type by name."""

SCALARS: dict[str, Number | Boolean] = {**NUMBERS, "bool": BOOL}
"""Every scalar type by name."""

EIGHT_BIT_FLOATS = frozenset((F8E4M3, F8E5M2))
"""The types of OCP OFP8: they are stored, moved, cast and multiplied as matrices, but not computed with otherwise."""

PARTS = {C32: F32, C64: F64}
"""The type of the real and imaginary part of a complex type."""

# 003 "Scalar types", the relation matrix; its blank cells, and index, as settled for girih: i32 is not exact in f32.
_PROMOTIONS = {
    "i8": "i8 i16 i32 i64 index bf16 f16 f32 f64 c32 c64",
    "i16": "i16 i32 i64 index f32 f64 c32 c64",
    "i32": "i32 i64 index f64 c64",
    "i64": "i64",
    "index": "index",
    "f8e4m3": "f8e4m3 bf16 f16 f32 f64 c32 c64",
    "f8e5m2": "f8e5m2 bf16 f16 f32 f64 c32 c64",
    "bf16": "bf16 f32 f64 c32 c64",
    "f16": "f16 f32 f64 c32 c64",
    "f32": "f32 f64 c32 c64",
    "f64": "f64 c64",
    "c32": "c32 c64",
    "c64": "c64",
}
_PROMOTABLE = frozenset((NUMBERS[a], NUMBERS[b]) for a, row in _PROMOTIONS.items() for b in row.split())


def promotable(a: Number, b: Number) -> bool:
    """Whether every value of `a` is exact in `b` (003 "Scalar types", the partial order)."""
    return (a, b) in _PROMOTABLE


def promote(a: Number, b: Number) -> Number | None:
    """The one of two number types that the other promotes to; None if neither promotes to the other."""
    return b if promotable(a, b) else a if promotable(b, a) else None


def _extent(value: Extent) -> str:
    return "?" if value is None else str(value)


def packed_strides(shape: Sequence[Extent]) -> tuple[Extent, ...]:
    """The strides, in elements, of the packed dense layout, whose first mode is contiguous (003 "Strided layout")."""
    strides: list[Extent] = []
    stride: Extent = 1
    for size in shape:
        strides.append(stride)
        stride = None if stride is None or size is None else stride * size
    return tuple(strides)


class AddressSpace(Enum):
    """The memory that a memref lies in (003 "Memref type")."""

    GLOBAL = "global"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class MemRef(Type):
    """The type `memref<...>`: element type, mode sizes, strides in elements, address space (003 "Memref type")."""

    element: Number
    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...]
    space: AddressSpace = AddressSpace.GLOBAL

    @staticmethod
    def packed(element: Number, shape: Sequence[Extent], space: AddressSpace = AddressSpace.GLOBAL) -> MemRef:
        """A memref in the packed dense layout."""
        return MemRef(element, tuple(shape), packed_strides(shape), space)

    @property
    def order(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        text = "memref<" + "x".join([self.element.name, *map(_extent, self.shape)])
        if self.strides != packed_strides(self.shape):
            text += f",strided<{','.join(map(_extent, self.strides))}>"
        if self.space is AddressSpace.LOCAL:
            text += ",local"
        return text + ">"


@dataclass(frozen=True, slots=True)
class GroupType(Type):
    """The type `group<memref x size, offset: n>`: memrefs, each moved by `offset` elements (003 "Group type")."""

    memref: MemRef
    size: Extent
    offset: Extent = 0

    def __str__(self) -> str:
        offset = "" if self.offset == 0 else f",offset:{_extent(self.offset)}"
        return f"group<{self.memref}x{_extent(self.size)}{offset}>"


class Use(Enum):
    """The position of a cooperative matrix in a multiplication (003 "Cooperative matrix type")."""

    A = "matrix_a"
    B = "matrix_b"
    ACC = "matrix_acc"


class MatrixScope(Enum):
    """The work-items that hold a cooperative matrix together (001 "Overview")."""

    SUBGROUP = "subgroup"
    WORK_GROUP = "work_group"


@dataclass(frozen=True, slots=True)
class CoopMatrix(Type):
    """The type `coopmatrix<...>`: a matrix that the work-items of a subgroup, or of a work-group, hold together."""

    component: Number
    rows: int
    columns: int
    use: Use
    scope: MatrixScope = MatrixScope.SUBGROUP

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def of_work_group(self) -> bool:
        """Whether the whole work-group holds one matrix."""
        return self.scope is MatrixScope.WORK_GROUP

    def __str__(self) -> str:
        scope = f",{self.scope.value}" if self.of_work_group else ""
        return f"coopmatrix<{self.component}x{self.rows}x{self.columns},{self.use.value}{scope}>"


class ClampMode(Enum):
    """The treatment of coordinates outside a tensor layout (000 3.X "Tensor Clamp Mode")."""

    UNDEFINED = "undefined"
    CONSTANT = "constant"
    CLAMP_TO_EDGE = "clamp_to_edge"
    REPEAT = "repeat"
    MIRROR_REPEAT = "mirror_repeat"


@dataclass(frozen=True, slots=True)
class TensorLayoutType(Type):
    """The type `tensor_layout<...>`: the place of a tensor in memory and its accessed region (001 4.1.X)."""

    dim: int
    clamp_mode: ClampMode = ClampMode.UNDEFINED

    def __str__(self) -> str:
        mode = "" if self.clamp_mode is ClampMode.UNDEFINED else f",{self.clamp_mode.value}"
        return f"tensor_layout<{self.dim}{mode}>"


@dataclass(frozen=True, slots=True)
class TensorViewType(Type):
    """The type `tensor_view<...>`: another reading of a tensor layout's accessed region (001 4.1.X).

    Without a permutation the dimensions keep their order.
    """

    dim: int
    has_dimensions: bool = False
    permutation: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.permutation:
            # A view of many dimensions is refused by the rules for types: no tuple of a million entries is made for it.
            object.__setattr__(self, "permutation", tuple(range(max(0, min(self.dim, 8)))))

    def __str__(self) -> str:
        words = [str(self.dim), str(self.has_dimensions).lower(), *map(str, self.permutation)]
        return f"tensor_view<{','.join(words)}>"


class MapMode(Enum):
    """The way in which tensor copies go through a tensor map (004 5.5.2)."""

    TILED = "tiled"
    IM2COL = "im2col"


@dataclass(frozen=True, slots=True)
class TensorMapType(Type):
    """The type `tensor_map<...>`: a tensor in global memory and the box of it that one copy moves (004 5.5).

    `element` is the number type that has the width of the tensor's elements.
    """

    element: Number
    rank: int
    mode: MapMode

    def __str__(self) -> str:
        return f"tensor_map<{self.element},{self.rank},{self.mode.value}>"


@dataclass(frozen=True, slots=True)
class PrivateArrayType(Type):
    """The type `private<...>`: an array that each work-item, or each holder of a matrix, has for itself.

    The elements are numbers, booleans or cooperative matrices; an array of matrices belongs to those who hold them.
    """

    element: Number | Boolean | CoopMatrix
    size: int

    def __str__(self) -> str:
        return f"private<{self.element}x{self.size}>"


@dataclass(frozen=True, slots=True)
class ErrorType(Type):
    """The type of a value whose type cannot be known because of an error that is reported already."""

    def __str__(self) -> str:
        return "<error>"


ERROR = ErrorType()


def element_type(type: Type) -> Number | Boolean | None:
    """The scalar type itself, a memref's element type, or a matrix's component type; None for other types."""
    match type:
        case Number() | Boolean():
            return type
        case MemRef():
            return type.element
        case CoopMatrix():
            return type.component
        case _:
            return None
