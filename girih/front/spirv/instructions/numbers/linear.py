"""Vectors and matrices: products, transposes, determinants and inverses (SPIR-V 3.52.13, GLSL.std.450).

A matrix is its columns one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.handlers import translates, translates_function
from girih.front.spirv.instructions.numbers.builders import NumberBuilder
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import BF16, F16, F32, F64, CoopMatrix, Number
from girih.ir.types import Type as IrType
from girih.spirv.instruction import Instruction
from girih.spirv.types import Matrix

Columns = list[tuple[Value, ...]]

WIDER: dict[IrType, Number] = {F16: F32, F32: F64}
"""The types in which determinants and inverses are computed, whose terms cancel each other."""


@translates("OpVectorTimesScalar", "OpMatrixTimesScalar")
def scaled(t: Translation, one: Instruction) -> None:
    """Each component times a number."""
    scalar = t.leaf(one.id("scalar"))
    parts = t.leaves(one.id("vector" if one.name == "OpVectorTimesScalar" else "matrix"))
    if isinstance(parts[0].type, CoopMatrix):
        t.give(one, [t.one("cooperative_matrix_scale", parts[0].type, a=scalar, matrix=parts[0])])
        return
    t.give(one, [NumberBuilder(t).mul(part, scalar) for part in parts])


@translates("OpDot")
def dot(t: Translation, one: Instruction) -> None:
    """The sum of products, from the first to the last; that of bf16 in f32, rounded once."""
    n = NumberBuilder(t)
    a, b = t.leaves(one.id("vector_1")), t.leaves(one.id("vector_2"))
    if a[0].type != BF16:
        t.give(one, [n.dot(a, b)])
        return
    wide = [[n.converted("cast", x, F32) for x in vector] for vector in (a, b)]
    t.give(one, [n.converted("cast", n.dot(*wide), BF16)])


def columns(t: Translation, id: int) -> Columns:
    """The columns of a matrix."""
    type, parts = t.type_of(id), t.leaves(id)
    assert isinstance(type, Matrix)
    rows = len(parts) // type.count
    return [parts[first : first + rows] for first in range(0, len(parts), rows)]


def transposed(matrix: Sequence[tuple[Value, ...]]) -> Columns:
    """The rows of a matrix, from its columns."""
    return list(zip(*matrix, strict=True))


@translates("OpTranspose")
def transpose(t: Translation, one: Instruction) -> None:
    """Rows become columns."""
    t.give(one, [part for row in transposed(columns(t, one.id("matrix"))) for part in row])


@translates("OpVectorTimesMatrix")
def vector_times_matrix(t: Translation, one: Instruction) -> None:
    """The products of a row and each column."""
    vector = t.leaves(one.id("vector"))
    t.give(one, [NumberBuilder(t).dot(vector, column) for column in columns(t, one.id("matrix"))])


@translates("OpMatrixTimesVector")
def matrix_times_vector(t: Translation, one: Instruction) -> None:
    """The products of each row and a column."""
    vector = t.leaves(one.id("vector"))
    t.give(one, [NumberBuilder(t).dot(row, vector) for row in transposed(columns(t, one.id("matrix")))])


@translates("OpMatrixTimesMatrix")
def matrix_times_matrix(t: Translation, one: Instruction) -> None:
    """The products of each row and each column."""
    rows = transposed(columns(t, one.id("left_matrix")))
    t.give(one, [NumberBuilder(t).dot(row, column) for column in columns(t, one.id("right_matrix")) for row in rows])


@translates("OpOuterProduct")
def outer_product(t: Translation, one: Instruction) -> None:
    """A column times a row."""
    column, row = t.leaves(one.id("vector_1")), t.leaves(one.id("vector_2"))
    t.give(one, [NumberBuilder(t).mul(a, b) for b in row for a in column])


class Minors:
    """The determinants of parts of a matrix, each computed once."""

    def __init__(self, n: NumberBuilder, matrix: Columns) -> None:
        self._n = n
        self._matrix = matrix
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Value] = {}

    def of(self, rows: tuple[int, ...], chosen: tuple[int, ...]) -> Value:
        """The determinant of some rows and columns, developed along the first of these columns."""
        if len(rows) == 1:
            return self._matrix[chosen[0]][rows[0]]
        found = self._known.get((rows, chosen))
        if found is None:
            first, rest = chosen[0], chosen[1:]
            found = self._n.mul(self._matrix[first][rows[0]], self.of(rows[1:], rest))
            for at, row in enumerate(rows[1:], 1):
                term = self._n.mul(self._matrix[first][row], self.of((*rows[:at], *rows[at + 1 :]), rest))
                found = self._n.binary("sub" if at % 2 else "add", found, term)
            self._known[rows, chosen] = found
        return found

    def without(self, row: int, column: int) -> Value:
        """The determinant of what is left without a row and a column."""
        every = range(len(self._matrix))
        return self.of(tuple(k for k in every if k != row), tuple(k for k in every if k != column))


@translates_function("GLSL.std.450", "Determinant")
def determinant(t: Translation, one: Instruction) -> None:
    """The determinant of a square matrix, computed in a wider type and rounded once."""
    n, matrix = NumberBuilder(t), columns(t, one.id("x"))
    every, type = tuple(range(len(matrix))), matrix[0][0].type
    t.give(one, [_rounded(n, Minors(n, _widened(n, matrix)).of(every, every), type)])


@translates_function("GLSL.std.450", "MatrixInverse")
def inverse(t: Translation, one: Instruction) -> None:
    """The cofactors of the transpose, divided by the determinant, computed in a wider type and rounded once."""
    n, matrix = NumberBuilder(t), columns(t, one.id("x"))
    minors, every, type = Minors(n, _widened(n, matrix)), tuple(range(len(matrix))), matrix[0][0].type
    whole = minors.of(every, every)

    def cofactor(row: int, column: int) -> Value:
        found = minors.without(row, column)
        return n.unary("neg", found) if (row + column) % 2 else found

    found = [n.div(cofactor(column, row), whole) for column in every for row in every]
    t.give(one, [_rounded(n, value, type) for value in found])


def _widened(n: NumberBuilder, matrix: Columns) -> Columns:
    """A matrix in the type in which its determinant is computed."""
    wider = WIDER.get(matrix[0][0].type)
    return matrix if wider is None else [tuple(n.converted("cast", x, wider) for x in column) for column in matrix]


def _rounded(n: NumberBuilder, value: Value, type: IrType) -> Value:
    """A number in the type of the matrix that it was computed from."""
    return value if value.type == type or not isinstance(type, Number) else n.converted("cast", value, type)
