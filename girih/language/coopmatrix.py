"""Matrices that the work-items of a subgroup, or of a work-group, hold together (003 "SPMD instructions", 001).

They stand in `gl.parallel` or `gl.foreach_tile`, where all come to them who hold the matrix. `a @ b + c`, and sums,
differences, products and quotients of matrices component by component, are written with operators; `alpha * m` scales.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from girih.language.arith import MatrixScope, Use
from girih.language.types import Array, Block, Number, i32
from girih.language.words import outside, word

E = TypeVar("E", bound=Number)
C = TypeVar("C", bound=Number)
V = TypeVar("V", bound=Array[Any, Any] | Block[Any])

Checked = Literal["rows", "columns", "both"]
"""The directions in which a tile may reach over the edge of its array."""


@word
def load(
    view: Array[E, Any],
    use: Use = "matrix_acc",
    scope: MatrixScope = "subgroup",
    *,
    checked: Checked | None = None,
) -> Block[E]:
    """The matrix of a tile: `gl.load(A[i : i + 32, k : k + 16], "matrix_a")` (003 "Cooperative matrix load").

    The sizes of the view are constants. Components outside of the array in a direction that is `checked` are 0.
    """
    outside("gl.load")


@word
def store(matrix: Block[E], view: Array[E, Any], *, checked: Checked | None = None) -> None:
    """Store a matrix to a tile of its shape: `gl.store(m, C[i : i + 32, j : j + 16])`.

    `C[i : i + 32, j : j + 16] = m` is the same (003 "Cooperative matrix store"). Components outside of the array in a
    direction that is `checked` are left out.
    """
    outside("gl.store")


@word
def prefetch(view: Array[Any, Any], level: int = 0) -> None:
    """Ask for a tile to be brought into a cache, 0 being the closest (003 "Cooperative matrix prefetch").

    It changes no value.
    """
    outside("gl.prefetch")


@overload
def dot(a: Block[Any] | Array[Any, Any], b: Block[Any] | Array[Any, Any], c: Block[C]) -> Block[C]: ...
@overload
def dot(
    a: Block[Any] | Array[Any, Any], b: Block[Any] | Array[Any, Any], c: Block[Any] | None = None, *, dtype: type[E]
) -> Block[E]: ...
@overload
def dot(a: Block[Any] | Array[Any, Any], b: Block[Any] | Array[Any, Any], c: None = None) -> Block[Any]: ...
@word
def dot(
    a: Block[Any] | Array[Any, Any],
    b: Block[Any] | Array[Any, Any],
    c: Block[Any] | None = None,
    *,
    dtype: type[Number] | None = None,
) -> Any:
    """The product of a matrix_a (M x K) and a matrix_b (K x N), plus an accumulator c (M x N), where there is one.

    `dtype` is the type of the result's components, that of c where it is left out; without c, f32 for floats of up to
    32 bits, i32 for integers of up to 32 bits, otherwise the type of the operands (003 "Cooperative matrix mul add").
    """
    outside("gl.dot")


@word
def extract(matrix: Block[E], index: int) -> E:
    """The component at a constant index of the part that the work-item holds (003 "Cooperative matrix extract")."""
    outside("gl.extract")


@word
def insert(value: E | complex, matrix: Block[E], index: int) -> Block[E]:
    """A copy in which each work-item has replaced a component that it holds (003 "Cooperative matrix insert")."""
    outside("gl.insert")


@overload
def sum(matrix: Block[E], /, *, axis: int) -> Block[E]: ...
@overload
def sum(
    alpha: Number | complex,
    a: Array[Any, Any],
    beta: Number | complex,
    b: Array[Any, Any],
    /,
    *,
    atomic: bool = False,
) -> None: ...
@word
def sum(*operands: Any, axis: int | None = None, atomic: bool = False) -> Any:
    """The sums of the components of a matrix along an axis, or sums in memory.

    `gl.sum(m, axis=1)` is the matrix of the sums of all rows, M x 1; with `axis=0` that of the columns, 1 x N (003
    "Cooperative matrix reduce"). `gl.sum(alpha, a, beta, b)` is collective: b := alpha (sums of the rows of a) +
    beta b, for a matrix a and a vector b; for a vector a and an array b without axes, the sum of all (003 "Sum").
    """
    outside("gl.sum")


@word
def max(matrix: Block[E], axis: int) -> Block[E]:
    """The matrix of the maxima of all rows, M x 1, with `axis=1`, or of all columns, 1 x N, with `axis=0`.

    Components are integers or floats (003 "Cooperative matrix reduce").
    """
    outside("gl.max")


@word
def min(matrix: Block[E], axis: int) -> Block[E]:
    """The matrix of the minima of all rows, M x 1, with `axis=1`, or of all columns, 1 x N, with `axis=0`.

    Components are integers or floats (003 "Cooperative matrix reduce").
    """
    outside("gl.min")


@word
def transpose(x: V, dtype: type[Number] | None = None) -> V:
    """The transpose: of an array a view, which copies nothing; of an accumulator a matrix_b (001 "coopMatTransposeNV").

    `x.T` is the same. The components of a matrix may be of another type, `dtype`, to which they are cast.
    """
    outside("gl.transpose")


@overload
def apply(function: Callable[[E], E], a: Block[E], /, *, index: Literal[False] = False) -> Block[E]: ...
@overload
def apply(function: Callable[[E, E], E], a: Block[E], b: Block[E], /, *, index: Literal[False] = False) -> Block[E]: ...
@overload
def apply(
    function: Callable[[E, E, E], E], a: Block[E], b: Block[E], c: Block[E], /, *, index: Literal[False] = False
) -> Block[E]: ...
@overload
def apply(function: Callable[[i32, i32, E], E], a: Block[E], /, *, index: Literal[True]) -> Block[E]: ...
@overload
def apply(
    function: Callable[[i32, i32, E, E], E], a: Block[E], b: Block[E], /, *, index: Literal[True]
) -> Block[E]: ...
@overload
def apply(
    function: Callable[[i32, i32, E, E, E], E], a: Block[E], b: Block[E], c: Block[E], /, *, index: Literal[True]
) -> Block[E]: ...
@overload
def apply(function: Callable[..., Any], /, *matrices: Block[E], index: bool = False) -> Block[E]: ...
@word
def apply(function: Callable[..., Any], /, *matrices: Block[E], index: bool = False) -> Block[E]:
    """The matrix of what a function makes of the components of matrices at each place (003 "Cooperative matrix apply").

    The function is a lambda or a function of one component of each matrix; with `index=True` the row and the column, of
    type i32, come first. Matrices of one row or one column are broadcast, as NumPy does. The function is called in any
    order; it may use numbers from outside that are the same in all work-items.
    """
    outside("gl.apply")


@word
def combine(
    function: Callable[[E, E], E], matrix: Block[E], axis: int | None = None, shape: tuple[int, int] | None = None
) -> Block[E]:
    """A matrix whose components are combinations of a row (`axis=1`), of a column (`axis=0`), or of all (`axis=None`).

    The function combines two components, or combinations of some; it uses nothing from outside but constants, and is
    associative and commutative, since the order is free. The result has the shape of the matrix, or `shape`, with the
    rows of the matrix for `axis=1` and its columns for `axis=0` (001 8.X "coopMatReduceNV").
    """
    outside("gl.combine")


@word
def combine_2x2(function: Callable[[E, E], E], matrix: Block[E]) -> Block[E]:
    """A matrix of half the rows and columns, whose components combine 2 x 2 blocks (001 8.X "coopMatReduceNV")."""
    outside("gl.combine_2x2")


@word
def load_blocked_interleaved(
    array: Array[E, Any],
    stride: int,
    shape: tuple[int, int],
    *,
    order: Literal["row", "column"],
    offset: Any = 0,
    use: Use = "matrix_acc",
    scope: MatrixScope = "subgroup",
) -> Block[E]:
    """A matrix from interleaved blocks of 64 bytes, each of 4 rows of 16 bytes, which begin at `array[offset]`.

    `stride` is how many blocks are interleaved, word by word of 4 bytes; `order` is that of the blocks. The array has
    one axis and no gaps (002 3.X "Cooperative Matrix Layout").
    """
    outside("gl.load_blocked_interleaved")


@word
def store_blocked_interleaved(
    matrix: Block[E], array: Array[E, Any], stride: int, *, order: Literal["row", "column"], offset: Any = 0
) -> None:
    """Store a matrix in interleaved blocks, as `gl.load_blocked_interleaved` reads them (002 3.X)."""
    outside("gl.store_blocked_interleaved")
