"""Kinds of types: the sets of types that operands may have, with the words for each."""

from __future__ import annotations

from collections.abc import Callable

from girih.ir.types import (
    I8,
    INDEX,
    Boolean,
    CoopMatrix,
    GroupType,
    MemRef,
    Number,
    PrivateArrayType,
    TensorLayoutType,
    TensorMapType,
    TensorViewType,
    Type,
    Use,
)
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class TypeKind:
    """A set of types, with the words for it."""

    words: str
    accepts: Callable[[Type], bool]


def _scalar_in(*families: str) -> Callable[[Type], bool]:
    return lambda t: isinstance(t, Number) and t.family in families


NUMBER = TypeKind("a number", lambda t: isinstance(t, Number))
BOOLEAN = TypeKind("of type bool", lambda t: isinstance(t, Boolean))
SCALAR = TypeKind("a number or bool", lambda t: isinstance(t, Number | Boolean))
INTEGER = TypeKind("an integer", _scalar_in("integer"))
INDEXES = TypeKind("of index type", lambda t: t == INDEX)
MEMREF = TypeKind("a memref", lambda t: isinstance(t, MemRef))
MEMREF_OR_GROUP = TypeKind("a memref or a group", lambda t: isinstance(t, MemRef | GroupType))
NUMBER_OR_MEMREF = TypeKind("a number or a memref", lambda t: isinstance(t, Number | MemRef))
COOPMATRIX = TypeKind("a cooperative matrix", lambda t: isinstance(t, CoopMatrix))
NUMBER_OR_COOPMATRIX = TypeKind("a number or a cooperative matrix", lambda t: isinstance(t, Number | CoopMatrix))
TENSOR_LAYOUT = TypeKind("a tensor layout", lambda t: isinstance(t, TensorLayoutType))
TENSOR_VIEW = TypeKind("a tensor view", lambda t: isinstance(t, TensorViewType))
TENSOR_MAP = TypeKind("a tensor map", lambda t: isinstance(t, TensorMapType))
CARRIED = TypeKind("a number, bool or cooperative matrix", lambda t: isinstance(t, Number | Boolean | CoopMatrix))

PRIVATE_ARRAY = TypeKind("a private array", lambda t: isinstance(t, PrivateArrayType))
BYTES = TypeKind(
    "a memref of bytes with one mode", lambda t: isinstance(t, MemRef) and t.element == I8 and t.strides == (1,)
)


def memref_of_order(*orders: int) -> TypeKind:
    """The kind of memrefs that have one of the given orders (numbers of modes)."""
    words = " or ".join(map(str, orders))
    return TypeKind(f"a memref of order {words}", lambda t: isinstance(t, MemRef) and t.order in orders)


def exactly(type: Type) -> TypeKind:
    """The kind that has a single type."""
    return TypeKind(f"of type {type}", lambda t: t == type)


def matrix(use: Use) -> TypeKind:
    """The kind of cooperative matrices of one use."""
    return TypeKind(f"a cooperative matrix with use {use.value}", lambda t: isinstance(t, CoopMatrix) and t.use is use)
