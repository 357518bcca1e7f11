"""Cooperative matrices, each held together by the work-items of a subgroup or work-group (003 "SPMD instructions")."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from girih.ir.core import Op, Value
from girih.ir.define import Where, family, integer, modifier, node, op, operand, result
from girih.ir.kinds import COOPMATRIX, INDEXES, NUMBER, matrix, memref_of_order
from girih.ir.predicates import Comparable, Promotable, equal
from girih.ir.surroundings import Subject
from girih.ir.terms import columns, component, element, promote, rows, scope, shape, subgroup_size, type_of, use
from girih.ir.types import F16, F32, CoopMatrix, MatrixScope, Number, Use, element_type
from girih.ir.types import promote as promoted
from girih.ops.tile.coopmatrix_layout import layout_of
from girih.ops.tile.language import TILE
from girih.ops.tile.memory import SCOPES, SEMANTICS, Scope, Semantics
from girih.ops.tile.stored import STORED, computes_row, is_stored_only
from girih.rules.predicates import Divides, Holds, Satisfies, at_least
from girih.rules.row import Row, Undetermined
from girih.rules.terms import Term, computed, held, number

MATRIX = memref_of_order(2)
_TRANSPOSE = {"n": False, "t": True}


class Checked(Enum):
    """Which out-of-bounds elements a load or store leaves out (003 "Cooperative matrix load")."""

    NONE = "none"
    ROWS = "rows_checked"
    COLUMNS = "cols_checked"
    BOTH = "both_checked"

    @property
    def rows(self) -> bool:
        return self in (Checked.ROWS, Checked.BOTH)

    @property
    def columns(self) -> bool:
        return self in (Checked.COLUMNS, Checked.BOTH)


SCOPE = '001 "Overview", 003 "Cooperative matrix type"'

_CHECKED = {c.value: c for c in Checked if c is not Checked.NONE}


def _transpose() -> Any:
    return modifier(_TRANSPOSE, False, doc=".t transposes: position, shape and stride of the memref swap")


def _checked() -> Any:
    return modifier(_CHECKED, Checked.NONE, doc="elements outside are 0 on loading and left out on storing")


# --- access ------------------------------------------------------------------------------


@node
class MatrixAccess(Op):
    """The base of all accesses to a tile of a memref."""

    transpose: bool = _transpose()
    checked: Checked = _checked()


@node
class AtomicAccess(MatrixAccess):
    """The base of all atomic accesses to a tile of a memref."""

    scope: Scope = modifier(SCOPES, Scope.WORK_GROUP, doc="the work-items between which each access is atomic")
    semantics: Semantics = modifier(SEMANTICS, Semantics.RELAXED, doc="memory order")


@node
class MatrixLoad(MatrixAccess):
    """The base of the loads that are not atomic."""

    memory: Value = operand(MATRIX, "memref", reads=True)
    row: Value = operand(INDEXES, "first row of the tile in the memref", shared=True)
    column: Value = operand(INDEXES, "first column of the tile in the memref", shared=True)
    result: Value = result(COOPMATRIX, "the tile")


@node
class MatrixStore(MatrixAccess):
    """The base of the stores that are not atomic."""

    matrix: Value = operand(COOPMATRIX, "the tile")
    memory: Value = operand(MATRIX, "memref", writes=True)
    row: Value = operand(INDEXES, "first row of the tile in the memref", shared=True)
    column: Value = operand(INDEXES, "first column of the tile in the memref", shared=True)


def _element_row(name: str, section: str) -> Row:
    return Row("component_type", f"{name} memory", equal(component(name), element("memory")),
               "the components have the element type of the memref", section)  # fmt: skip


def _subgroup_row(name: str, section: str) -> Row:
    return Row("scope", name, equal(scope(name), number(MatrixScope.SUBGROUP)),
               f"`{name}` is a matrix of subgroup scope", section)  # fmt: skip


def same_scope(*names: str) -> Row:
    """The rule that some matrices are held by the same work-items; `names` are their fields."""

    def scopes(s: Subject) -> list[MatrixScope]:
        return [scope(name).value(s) for name in names]

    return Row("scope", " ".join(names), Holds(" = ".join(f"scope({name})" for name in names),
        lambda s: len(set(scopes(s))) == 1,
        lambda s: ", ".join(f"scope({n}) is {of.value}" for n, of in zip(names, scopes(s), strict=True))),
        "the matrices have one scope", SCOPE)  # fmt: skip


LOAD = '003 "Cooperative matrix load"'
_LOAD_FORMAT = "memory [ row , column ] : result"
_STORE_FORMAT = "matrix , memory [ row , column ]"


@op(TILE, "cooperative_matrix_load", Where.SPMD, LOAD, _LOAD_FORMAT, tangled=True)
class CooperativeMatrixLoad(MatrixLoad):
    """Load a tile of a memref as a matrix.

    Component (i, j) of the matrix is memory[row + i, column + j]; with .t, memory[row + j, column + i].
    """


TILE.rules(CooperativeMatrixLoad, _element_row("result", LOAD))

STORE = '003 "Cooperative matrix store"'


@op(TILE, "cooperative_matrix_store", Where.SPMD, STORE, _STORE_FORMAT, tangled=True)
class CooperativeMatrixStore(MatrixStore):
    """Store a matrix to a tile of a memref.

    Component (i, j) of the matrix goes to memory[row + i, column + j]; with .t, to memory[row + j, column + i].
    """


TILE.rules(CooperativeMatrixStore, _element_row("matrix", STORE))

ATOMIC_LOAD = '003 "Cooperative matrix atomic load"'


@op(TILE, "cooperative_matrix_atomic_load", Where.SPMD, ATOMIC_LOAD, _LOAD_FORMAT, tangled=True)
class CooperativeMatrixAtomicLoad(AtomicAccess):
    """Load a tile of a memref as a matrix, each component atomically."""

    memory: Value = operand(MATRIX, "memref", reads=True)
    row: Value = operand(INDEXES, "first row of the tile in the memref", shared=True)
    column: Value = operand(INDEXES, "first column of the tile in the memref", shared=True)
    result: Value = result(COOPMATRIX, "the tile")


TILE.rules(
    CooperativeMatrixAtomicLoad,
    computes_row("cooperative_matrix_atomic_load", "memory", "result"),
    _element_row("result", ATOMIC_LOAD),
    _subgroup_row("result", ATOMIC_LOAD),
)

ATOMIC_STORE = '003 "Cooperative matrix atomic store"'


@op(TILE, "cooperative_matrix_atomic_store", Where.SPMD, ATOMIC_STORE, _STORE_FORMAT, tangled=True)
class CooperativeMatrixAtomicStore(AtomicAccess):
    """Store a matrix to a tile of a memref, each component atomically."""

    matrix: Value = operand(COOPMATRIX, "the tile")
    memory: Value = operand(MATRIX, "memref", writes=True)
    row: Value = operand(INDEXES, "first row of the tile in the memref", shared=True)
    column: Value = operand(INDEXES, "first column of the tile in the memref", shared=True)


TILE.rules(
    CooperativeMatrixAtomicStore,
    computes_row("cooperative_matrix_atomic_store", "matrix", "memory"),
    _element_row("matrix", ATOMIC_STORE),
    _subgroup_row("matrix", ATOMIC_STORE),
)

ATOMIC_UPDATE = '003 "Cooperative matrix atomic update"'


@node
class MatrixAtomicUpdate(AtomicAccess):
    """The base of the atomic updates of a tile of a memref."""

    matrix: Value = operand(COOPMATRIX, "second operands of the updates")
    memory: Value = operand(MATRIX, "memref", reads=True, writes=True)
    row: Value = operand(INDEXES, "first row of the tile in the memref", shared=True)
    column: Value = operand(INDEXES, "first column of the tile in the memref", shared=True)
    result: Value = result(COOPMATRIX, "the elements before the update; 0 where a check leaves them out")


_ORDERED = Satisfies(component("matrix"), "is an integer or floating type", lambda t: t.family != "complex")


def _matrix_update(mnemonic: str, doc: str, *more: Row) -> type[MatrixAtomicUpdate]:
    declared = family(
        TILE, MatrixAtomicUpdate, mnemonic, doc, Where.SPMD, ATOMIC_UPDATE, _STORE_FORMAT + " : result", tangled=True
    )
    same = equal(type_of("result"), type_of("matrix"))
    TILE.rules(
        declared,
        computes_row(mnemonic, "matrix", "memory"),
        _element_row("matrix", ATOMIC_UPDATE),
        _subgroup_row("matrix", ATOMIC_UPDATE),
        Row("result_type", "result matrix", same, "the result has the type of the matrix", ATOMIC_UPDATE),
        *more,
    )
    return declared


_NO_COMPLEX = Row(
    "ordered",
    "matrix",
    _ORDERED,
    "the components are of an integer or floating type: complex numbers have no order",
    ATOMIC_UPDATE,
)
CooperativeMatrixAtomicAdd = _matrix_update(
    "cooperative_matrix_atomic_add", "Add a matrix to a tile of a memref, each component atomically."
)
CooperativeMatrixAtomicMax = _matrix_update(
    "cooperative_matrix_atomic_max",
    "Replace each element of a tile by the component of a matrix if that is larger, each atomically.",
    _NO_COMPLEX,
)
CooperativeMatrixAtomicMin = _matrix_update(
    "cooperative_matrix_atomic_min",
    "Replace each element of a tile by the component of a matrix if that is smaller, each atomically.",
    _NO_COMPLEX,
)

PREFETCH = '003 "Cooperative matrix prefetch"'


@op(
    TILE,
    "cooperative_matrix_prefetch",
    Where.SPMD,
    PREFETCH,
    "level , memory [ row , column ] , rows , columns",
    tangled=True,
)
class CooperativeMatrixPrefetch(Op):
    """Ask for a tile of a memref to be brought into a cache. It is a hint that changes no value."""

    level: int = integer("0 for the cache closest to the core")
    memory: Value = operand(MATRIX, "memref")
    row: Value = operand(INDEXES, "first row", shared=True)
    column: Value = operand(INDEXES, "first column", shared=True)
    rows: int = integer("number of rows")
    columns: int = integer("number of columns")


TILE.rules(
    CooperativeMatrixPrefetch,
    Row("level", "level", at_least(held("level"), 0), "the cache level is not negative", PREFETCH),
    Row("size", "rows columns", Holds("rows > 0 and columns > 0", lambda s: s.op.rows > 0 and s.op.columns > 0,
        lambda s: f"the size is {s.op.rows} x {s.op.columns}"), "the size is positive", PREFETCH),
)  # fmt: skip

# --- construction and elements -----------------------------------------------------------

CONSTRUCT = '003 "Cooperative matrix construct"'


@op(TILE, "cooperative_matrix_construct", Where.SPMD, CONSTRUCT, "a : result", tangled=True)
class CooperativeMatrixConstruct(Op):
    """A matrix with the same number in every component."""

    a: Value = operand(NUMBER, "the number; the same in the whole subgroup", shared=True)
    result: Value = result(COOPMATRIX, "the matrix")


TILE.rules(
    CooperativeMatrixConstruct,
    Row("component_type", "a result", equal(component("result"), element("a")),
        "the number has the component type of the matrix", CONSTRUCT),
)  # fmt: skip

EXTRACT = '003 "Cooperative matrix extract"'
INSERT = '003 "Cooperative matrix insert"'


def _layout(s: Subject) -> tuple[CoopMatrix, int]:
    matrix, size = s.op.matrix.type, s.facts.subgroup_size
    if not isinstance(matrix, CoopMatrix) or min(matrix.shape) < 1 or size is None or size <= 0:
        raise Undetermined
    return matrix, size


def _components(s: Subject) -> int:
    layout = layout_of(*_layout(s))
    if layout is None:
        raise Undetermined
    return layout.components


def _element_rows(section: str) -> tuple[Row, ...]:
    return (
        _subgroup_row("matrix", section),
        Row("index", "index", at_least(held("index"), 0), "the index is not negative", section),
        Row("length", "index matrix", Holds("index < length of the work-item vector",
            lambda s: s.op.index < 0 or s.op.index < _components(s),
            lambda s: f"with subgroup size {s.facts.subgroup_size} a work-item holds {_components(s)} components"),
            "the index is inside the work-item's vector", section, needs="subgroup_size"),
        Row("layout", "matrix", Holds("rows ≤ subgroup_size, or rows mod subgroup_size = 0",
            lambda s: layout_of(*_layout(s)) is not None,
            lambda s: f"{s.op.matrix.type.rows} rows, subgroup size {s.facts.subgroup_size}"),
            "the matrix has a layout for the subgroup size", section, needs="subgroup_size"),
    )  # fmt: skip


@op(TILE, "cooperative_matrix_extract", Where.SPMD, EXTRACT, "matrix [ index ] : result", tangled=True)
class CooperativeMatrixExtract(Op):
    """The component at an index of the part of a matrix that the work-item holds."""

    matrix: Value = operand(COOPMATRIX, "the matrix")
    index: int = integer("number of the component in the work-item's part, from 0")
    result: Value = result(NUMBER, "the component; 0 where the layout pads the columns")


TILE.rules(
    CooperativeMatrixExtract,
    *_element_rows(EXTRACT),
    Row("result_type", "result matrix", equal(type_of("result"), component("matrix")),
        "the result has the component type of the matrix", EXTRACT),
)  # fmt: skip


@op(TILE, "cooperative_matrix_insert", Where.SPMD, INSERT, "a , matrix [ index ] : result", tangled=True)
class CooperativeMatrixInsert(Op):
    """A copy of a matrix in which each work-item has replaced one of the components that it holds."""

    a: Value = operand(NUMBER, "the new component")
    matrix: Value = operand(COOPMATRIX, "the matrix")
    index: int = integer("number of the component in the work-item's part, from 0")
    result: Value = result(COOPMATRIX, "the copy")


TILE.rules(
    CooperativeMatrixInsert,
    *_element_rows(INSERT),
    Row("component_type", "a matrix", equal(type_of("a"), component("matrix")),
        "the number has the component type of the matrix", INSERT),
    Row("result_type", "result matrix", equal(type_of("result"), type_of("matrix")),
        "the result has the type of the matrix", INSERT),
)  # fmt: skip

# --- arithmetic --------------------------------------------------------------------------

MUL_ADD = '003 "Cooperative matrix mul add"'


def _keeps_parts(s: Subject, name: str) -> bool:
    """Whether a cast from an operand's component type to the result's loses no imaginary parts."""
    source, target = element_type(getattr(s.op, name).type), element_type(s.op.result.type)
    if not isinstance(source, Number) or not isinstance(target, Number):
        raise Undetermined
    return source.family != "complex" or target.family == "complex"


def _rows_held(name: str) -> Term:
    """The rows of a matrix of subgroup scope; undetermined for work-group scope, which no subgroup size restricts."""

    def value(s: Subject) -> int | None:
        if scope(name).value(s) is MatrixScope.WORK_GROUP:
            raise Undetermined
        count: int | None = rows(name).value(s)
        return count

    return Term(f"rows({name})", value)


def _rows_multiple(name: str, section: str) -> Row:
    return Row(f"rows_{name}", name, Divides(subgroup_size(), _rows_held(name)),
               f"the rows of `{name}` are a multiple of the subgroup size", section, needs="subgroup_size")  # fmt: skip


@op(TILE, "cooperative_matrix_mul_add", Where.SPMD, MUL_ADD, "a , b , c : result", tangled=True)
class CooperativeMatrixMulAdd(Op):
    """The product of two matrices plus a third: a b + c."""

    a: Value = operand(matrix(Use.A), "M x K")
    b: Value = operand(matrix(Use.B), "K x N")
    c: Value = operand(matrix(Use.ACC), "M x N")
    result: Value = result(matrix(Use.ACC), "M x N")


_COMPARABLE = Comparable(component("a"), component("b"))


def _both_eight_bits(s: Subject) -> bool:
    return is_stored_only(s.op.a) and is_stored_only(s.op.b)


def _eight_bits_together(s: Subject) -> bool:
    if _both_eight_bits(s):
        return bool(component("c").value(s) == F32)
    return not is_stored_only(s.op.a) and not is_stored_only(s.op.b)


def _components_came(s: Subject) -> str:
    return ", ".join(f"component_type({name}) is {component(name).value(s)}" for name in ("a", "b", "c"))


def _eight_bits_hint(s: Subject) -> str:
    if _both_eight_bits(s):
        return f"take an accumulator of f32: {replace(s.op.c.type, component=F32)}"
    factor, other = (s.op.a, s.op.b) if is_stored_only(s.op.a) else (s.op.b, s.op.a)
    wanted = promoted(factor.type.component, other.type.component) or F16
    return f"cast to f16 or f32 first: `%wide = cast %{factor.name} : {replace(factor.type, component=wanted)}`"


TILE.rules(
    CooperativeMatrixMulAdd,
    _rows_multiple("a", MUL_ADD),
    _rows_multiple("c", MUL_ADD),
    same_scope("a", "b", "c", "result"),
    Row("k", "a b", equal(columns("a"), rows("b")), "columns of a equal rows of b", MUL_ADD),
    Row("m", "a c", equal(rows("c"), rows("a")), "rows of c equal rows of a", MUL_ADD),
    Row("n", "b c", equal(columns("c"), columns("b")), "columns of c equal columns of b", MUL_ADD),
    Row("shape", "result c", equal(shape("result"), shape("c")), "the result has the shape of c", MUL_ADD),
    Row("f8", "a b c", Holds("a and b are both f8e4m3 or f8e5m2 and component_type(c) = f32, or neither is",
        _eight_bits_together, _components_came),
        "matrices of f8e4m3 and f8e5m2 are multiplied with each other and added up in f32", STORED, _eight_bits_hint),
    Row("promote", "a b", Holds(f"{_COMPARABLE.text}, or both are f8e4m3 or f8e5m2",
        lambda s: _both_eight_bits(s) or _COMPARABLE.holds(s), _COMPARABLE.came),
        "the component type of `a` or `b` promotes to the other", MUL_ADD),
    Row("component_type", "a b c", Promotable(promote(component("a"), component("b")), component("c")),
        "the type of the product promotes to the component type of c", MUL_ADD),
    Row("cast", "result c", Holds("component_type(c) casts to component_type(result)",
        lambda s: _keeps_parts(s, "c"),
        lambda s: f"{element_type(s.op.c.type)} does not cast to {element_type(s.op.result.type)}"),
        "the component type of c can be cast to that of the result", MUL_ADD),
)  # fmt: skip

SCALE = '003 "Cooperative matrix scale"'


@op(TILE, "cooperative_matrix_scale", Where.SPMD, SCALE, "a , matrix : result", tangled=True)
class CooperativeMatrixScale(Op):
    """The product of a number and a matrix, component by component."""

    a: Value = operand(NUMBER, "the number; the same in the whole subgroup", shared=True)
    matrix: Value = operand(COOPMATRIX, "the matrix")
    result: Value = result(COOPMATRIX, "their product")


TILE.rules(
    CooperativeMatrixScale,
    computes_row("cooperative_matrix_scale", "a", "matrix"),
    Row("component_type", "a matrix", equal(type_of("a"), component("matrix")),
        "the number has the component type of the matrix", SCALE),
    Row("result_type", "result matrix", equal(type_of("result"), type_of("matrix")),
        "the result has the type of the matrix", SCALE),
)  # fmt: skip

REDUCE = '003 "Cooperative matrix reduce"'


@node
class Reduce(Op):
    """The base of the reductions of rows or columns."""

    along_row: bool = modifier({"row": True, "column": False}, required=True, doc="what is reduced to one component")
    a: Value = operand(COOPMATRIX, "M x N")
    result: Value = result(COOPMATRIX, "M x 1 for .row, 1 x N for .column")


def _reduced(s: Subject) -> tuple[int, int]:
    source = s.op.a.type
    if not isinstance(source, CoopMatrix):
        raise Undetermined
    return (source.rows, 1) if s.op.along_row else (1, source.columns)


def _reduce(mnemonic: str, doc: str, *more: Row) -> type[Reduce]:
    declared = family(TILE, Reduce, mnemonic, doc, Where.SPMD, REDUCE, "a : result", tangled=True)
    TILE.rules(
        declared,
        computes_row(mnemonic, "a"),
        _rows_multiple("a", REDUCE),
        same_scope("result", "a"),
        Row("shape", "result", equal(shape("result"), computed("the reduced shape", _reduced)),
            "the result of .row is M x 1, of .column 1 x N", REDUCE),
        Row("component_type", "result a", equal(component("result"), component("a")),
            "the result has the component type of the matrix", REDUCE),
        Row("use", "result a", equal(use("result"), use("a")), "the result has the use of the matrix", REDUCE),
        *more,
    )  # fmt: skip
    return declared


_REAL = Row(
    "type", "a",
    Satisfies(component("a"), "is an integer or floating type", lambda t: t.family != "complex"),
    "the components are of an integer or floating type: complex numbers have no order", REDUCE,
)  # fmt: skip
CooperativeMatrixReduceAdd = _reduce(
    "cooperative_matrix_reduce_add", "The matrix of the sums of all rows, or of all columns."
)
CooperativeMatrixReduceMax = _reduce(
    "cooperative_matrix_reduce_max", "The matrix of the maxima of all rows, or of all columns.", _REAL
)
CooperativeMatrixReduceMin = _reduce(
    "cooperative_matrix_reduce_min", "The matrix of the minima of all rows, or of all columns.", _REAL
)

_ACCUMULATOR, _RIGHT_FACTOR = matrix(Use.ACC), matrix(Use.B)
TRANSPOSE = '001 "coopMatTransposeNV"'


@op(TILE, "cooperative_matrix_transpose", Where.SPMD, TRANSPOSE, "matrix : result", tangled=True)
class CooperativeMatrixTranspose(Op):
    """The transpose of an accumulator, for use as the right factor of `cooperative_matrix_mul_add`."""

    matrix: Value = operand(_ACCUMULATOR, "M x N")
    result: Value = result(_RIGHT_FACTOR, "N x M: element (i, j) is (j, i) of the matrix")


TILE.rules(
    CooperativeMatrixTranspose,
    Row("shape", "result matrix", equal(shape("result"), computed("shape(matrix) swapped",
        lambda s: shape("matrix").value(s)[::-1])), "the result has the shape of the matrix, swapped", TRANSPOSE),
    same_scope("result", "matrix"),
    Row("complex", "result matrix", Holds("complex goes to complex only", lambda s: _keeps_parts(s, "matrix"),
        lambda s: f"{component('matrix').value(s)} to {component('result').value(s)}"),
        "a complex component type stays complex", TRANSPOSE, "take a part with `re`, `im` or `abs` before"),
    Row("component_type", "result matrix", equal(component("result"), component("matrix")),
        "the result has the component type of the matrix, as 001 asks; components of another type are converted",
        TRANSPOSE, "`cast` the matrix first: that says what happens", severity="warning"),
)  # fmt: skip
