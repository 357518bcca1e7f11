"""The types of shader code, as words: those of LLVM for scalars, and a few more.

i1 i8 i16 i32 i64 half float double     scalars; integers have no sign, operations have
bfloat f8e4m3 f8e5m2                    components of matrices only
ptr                                     a place in memory (`girih.back.spirv.code.memory`)
matrix COMPONENT ROWSxCOLUMNS USE SCOPE a cooperative matrix
layout DIM CLAMP_MODE                   a tensor layout (000)
view DIM HAS_DIMENSIONS P0 P1 ...       a tensor view (000)
"""

from __future__ import annotations

from functools import lru_cache

from girih.back.llvm.emit.text import bits
from girih.lazy_dataclass import dataclass

MATRIX, LAYOUT, VIEW = "matrix", "layout", "view"


@dataclass(frozen=True, slots=True)
class MatrixWords:
    """A cooperative matrix: use is `matrix_a`, `matrix_b` or `matrix_acc`, scope `subgroup` or `work_group`."""

    component: str
    rows: int
    columns: int
    use: str
    scope: str

    def __str__(self) -> str:
        return f"{MATRIX} {self.component} {self.rows}x{self.columns} {self.use} {self.scope}"


@lru_cache(maxsize=1024)
def matrix_words(type: str) -> MatrixWords:
    """The matrix type that a word says."""
    _, component, shape, use, scope = type.split(" ")
    rows, columns = map(int, shape.split("x"))
    return MatrixWords(component, rows, columns, use, scope)


def is_opaque(type: str) -> bool:
    """Whether a type is none of numbers: a matrix, a layout, a view."""
    return type.startswith((f"{MATRIX} ", f"{LAYOUT} ", f"{VIEW} "))


def is_float(type: str) -> bool:
    """Whether a type is that of a floating-point number."""
    return type in ("half", "float", "double", "bfloat", "f8e4m3", "f8e5m2")


def size_of(type: str) -> int:
    """The bytes that a scalar takes in memory."""
    return 1 if type in ("i1", "f8e4m3", "f8e5m2") else bits(type) // 8
