"""Numbers beside the operators of Python: conversions, choices, parts of complex numbers (003 "Mixed instructions")."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from girih.language.types import Block, Number, bool_
from girih.language.words import outside, word

E = TypeVar("E", bound=Number)
V = TypeVar("V", bound=Number | complex | Block[Any])

Use = Literal["matrix_a", "matrix_b", "matrix_acc"]
"""The position of a matrix in a product (003 "Cooperative matrix type")."""

MatrixScope = Literal["subgroup", "work_group"]
"""The work-items that hold a matrix together (001 "Overview")."""


@overload
def maximum(a: float, b: float) -> float: ...
@overload
def maximum(a: V | complex, b: V | complex) -> V: ...
@word
def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers of one type; if one is NaN, the other one. Of matrices, component by component."""
    outside("gl.maximum")


@overload
def minimum(a: float, b: float) -> float: ...
@overload
def minimum(a: V | complex, b: V | complex) -> V: ...
@word
def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers of one type; if one is NaN, the other one. Of matrices, component by component."""
    outside("gl.minimum")


@overload
def div(a: float, b: float) -> float: ...
@overload
def div(a: V | complex, b: V | complex) -> V: ...
@word
def div(a: Any, b: Any) -> Any:
    """The quotient of two numbers of one type; that of integers is truncated towards zero, where `//` floors."""
    outside("gl.div")


@overload
def rem(a: float, b: float) -> float: ...
@overload
def rem(a: V | complex, b: V | complex) -> V: ...
@word
def rem(a: Any, b: Any) -> Any:
    """The remainder of the division of `a` by `b`, with the sign of `a`, where that of `%` has the sign of `b`."""
    outside("gl.rem")


@word
def conj(x: V) -> V:
    """The complex conjugate (003 "Arithmetic (unary)")."""
    outside("gl.conj")


@word
def real(x: Any) -> Any:
    """The real part of a complex number; of a matrix, component by component (003 "Arithmetic (unary)")."""
    outside("gl.real")


@word
def imag(x: Any) -> Any:
    """The imaginary part of a complex number; of a matrix, component by component (003 "Arithmetic (unary)")."""
    outside("gl.imag")


@overload
def cast(x: Block[Any], dtype: type[E], use: Use | None = None) -> Block[E]: ...
@overload
def cast(x: Number | complex, dtype: type[E], use: Use | None = None) -> E: ...
@word
def cast(x: object, dtype: type[E], use: Use | None = None) -> Any:
    """The value in another number type; that of a matrix, component by component (003 "Cast").

    Rounded to nearest even; a float becomes an integer by truncation, and the nearest one where it is too large. A
    matrix keeps its use, or gets the given one if it is an accumulator. `gl.f32(x)` is the same for numbers.
    """
    outside("gl.cast")


@word
def bitcast(x: Number, dtype: type[E]) -> E:
    """The number of another type of the same size that has the same bits (SPIR-V "OpBitcast")."""
    outside("gl.bitcast")


@overload
def where(condition: bool | bool_, a: float, b: float) -> float: ...
@overload
def where(condition: bool | bool_, a: V | complex, b: V | complex) -> V: ...
@word
def where(condition: bool | bool_, a: Any, b: Any) -> Any:
    """`a` where the condition holds, otherwise `b`: numbers or truth values of one type (SPIR-V "OpSelect").

    Both are computed before, whatever the condition is.
    """
    outside("gl.where")


@word
def full(
    shape: tuple[int, int],
    value: Number | complex,
    dtype: type[E],
    use: Use = "matrix_acc",
    scope: MatrixScope = "subgroup",
) -> Block[E]:
    """A matrix with one number in every component; a literal, or a number that is the same in all work-items.

    `shape` are its rows and columns, which are constants (003 "Constant", "Cooperative matrix construct").
    """
    outside("gl.full")


@word
def zeros(shape: tuple[int, int], dtype: type[E], use: Use = "matrix_acc", scope: MatrixScope = "subgroup") -> Block[E]:
    """A matrix with 0 in every component; `shape` are its rows and columns, which are constants (003 "Constant")."""
    outside("gl.zeros")
