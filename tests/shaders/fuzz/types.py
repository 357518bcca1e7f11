"""Types of GLSL from which random shaders are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """A number or bool, by the word of GLSL; `kind` is `i`, `u`, `f` or `b`."""

    word: str
    kind: str
    bits: int
    prefix: str
    """What the words of its vectors begin with."""

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Vector:
    """A vector of two to four components."""

    scalar: Scalar
    size: int

    def __str__(self) -> str:
        return f"{self.scalar.prefix}vec{self.size}"


@dataclass(frozen=True)
class Matrix:
    """A matrix of 32-bit floats."""

    columns: int
    rows: int

    def __str__(self) -> str:
        return f"mat{self.columns}x{self.rows}"


@dataclass(frozen=True)
class Array:
    """An array of known length."""

    element: Type
    length: int

    def __str__(self) -> str:
        return f"{base_of(self)}{dimensions_of(self)}"


@dataclass(frozen=True)
class Struct:
    """A struct, whose members are pairs of a name and a type."""

    name: str
    members: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return self.name


Type = Scalar | Vector | Matrix | Array | Struct

BOOL = Scalar("bool", "b", 1, "b")
INT = Scalar("int", "i", 32, "i")
UINT = Scalar("uint", "u", 32, "u")
FLOAT = Scalar("float", "f", 32, "")
DOUBLE = Scalar("double", "f", 64, "d")
INT8 = Scalar("int8_t", "i", 8, "i8")
UINT8 = Scalar("uint8_t", "u", 8, "u8")
INT16 = Scalar("int16_t", "i", 16, "i16")
UINT16 = Scalar("uint16_t", "u", 16, "u16")
INT64 = Scalar("int64_t", "i", 64, "i64")
UINT64 = Scalar("uint64_t", "u", 64, "u64")
NARROW = (INT8, UINT8, INT16, UINT16)
WIDE = (INT64, UINT64)


def base_of(type: Type) -> Type:
    """What an array of arrays has as elements."""
    while isinstance(type, Array):
        type = type.element
    return type


def dimensions_of(type: Type) -> str:
    """The lengths of an array of arrays, as GLSL writes them."""
    return f"[{type.length}]{dimensions_of(type.element)}" if isinstance(type, Array) else ""


def declared(type: Type, name: str) -> str:
    """A declaration of a name."""
    return f"{base_of(type)} {name}{dimensions_of(type)}"


def scalars_of(type: Type) -> Iterator[Scalar]:
    """The scalars in a type, each as often as members and elements have it."""
    match type:
        case Scalar():
            yield type
        case Vector(scalar, size):
            yield from [scalar] * size
        case Matrix(columns, rows):
            yield from [FLOAT] * (columns * rows)
        case Array(element, length):
            yield from list(scalars_of(element)) * length
        case Struct(_, members):
            for _, member in members:
                yield from scalars_of(member)


def words_of(type: Type) -> int:
    """The number of scalars in a type."""
    return sum(1 for _ in scalars_of(type))
