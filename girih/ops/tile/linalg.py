"""Collective linear algebra on memrefs (003 "Collective instructions")."""

from __future__ import annotations

from collections.abc import Sequence

from girih.ir.core import Op, RegionKind, Value
from girih.ir.define import Where, flag, integer, modifier, op, operand
from girih.ir.kinds import MEMREF, NUMBER, memref_of_order
from girih.ir.predicates import Comparable, Constantly, Promotable, equal
from girih.ir.surroundings import Subject
from girih.ir.terms import columns, element, order, promote, rows, shape
from girih.ir.types import MemRef, Number
from girih.ops.tile.language import TILE
from girih.ops.tile.memory import Expand, Fuse, Load, Subview
from girih.ops.tile.stored import computes_row
from girih.rules.predicates import Holds, When, at_least
from girih.rules.row import Row, Undetermined
from girih.rules.terms import Term

_TRANSPOSE = {"n": False, "t": True}
VECTOR = memref_of_order(1)
MATRIX = memref_of_order(2)


def _alpha_hint(s: Subject) -> str | None:
    alpha, target = s.op.alpha.type, s.op.a.type
    if not isinstance(alpha, Number) or not isinstance(target, MemRef):
        return None
    return (
        f"declare %{s.op.alpha.name} as {target.element}: alpha scales a product of {target.element} elements, "
        "whatever the type of the result"
    )


def _beta_hint(s: Subject) -> str | None:
    return "use `constant` 0 to overwrite or 1 to add, of the type of beta"


def scaling(section: str, product: Term, target: str) -> tuple[Row, ...]:
    """The rules of alpha, beta and the atomic flag, which all instructions of this file share."""
    return (
        Row("alpha_type", "alpha", Promotable(element("alpha"), product),
            "alpha promotes to the type of the product", section, _alpha_hint),
        Row("element_type", target, Promotable(product, element(target)),
            f"the product promotes to the element type of `{target}`", section),
        Row("beta_type", "beta", Promotable(element("beta"), element(target)),
            f"beta promotes to the element type of `{target}`", section),
        Row("atomic_beta", "beta", When("atomic", Constantly("beta", (0, 1))),
            "an atomic update has a beta that is the constant 0 or 1", section, _beta_hint),
    )  # fmt: skip


def _product(a: str, b: str, section: str) -> Row:
    return Row("promote", f"{a} {b}", Comparable(element(a), element(b)),
               f"the element type of `{a}` or `{b}` promotes to the other", section)  # fmt: skip


def same_view_has_meaning(op: Op) -> bool:
    """Whether an operand of an instruction may be the same view as its result: each element depends on itself only."""
    return isinstance(op, Hadamard) or (isinstance(op, Axpby) and not _turns(op))


def _turns(op: Axpby) -> bool:
    return op.transpose and isinstance(op.a.type, MemRef) and op.a.type.order == 2


def _is_same_view(s: Subject, a: Value, b: Value) -> bool:
    """Whether two memrefs are certainly the same view: one value, or views made alike of the same view."""
    a, b = _without_whole_slices(s, a), _without_whole_slices(s, b)
    if a is b:
        return True
    one, other = s.facts.definitions.get(a), s.facts.definitions.get(b)
    if isinstance(one, Subview) and isinstance(other, Subview):
        return _is_same_view(s, one.tensor, other.tensor) and _are_alike(s, _numbers(one), _numbers(other))
    if isinstance(one, Expand) and isinstance(other, Expand):
        return (
            one.mode == other.mode
            and _is_same_view(s, one.tensor, other.tensor)
            and _are_alike(s, one.sizes, other.sizes)
        )
    if isinstance(one, Fuse) and isinstance(other, Fuse):
        return (one.first, one.last) == (other.first, other.last) and _is_same_view(s, one.tensor, other.tensor)
    if isinstance(one, Load) and isinstance(other, Load):
        return one.tensor is other.tensor and _are_alike(s, one.indices, other.indices)
    return False


def _numbers(op: Subview) -> tuple[Value | int | None, ...]:
    """The numbers of all slices, where a dropped mode has no size."""
    return tuple(n for x in op.slices for n in (x.offset, None if x.drops_mode else x.size))


def _are_alike(s: Subject, a: Sequence[Value | int | None], b: Sequence[Value | int | None]) -> bool:
    """Whether numbers are the same values, or the same constants."""
    return len(a) == len(b) and all(
        x is y or _known(s, x) == _known(s, y) is not None for x, y in zip(a, b, strict=True)
    )


def _known(s: Subject, number: Value | int | None) -> object:
    return s.facts.constants.get(number) if isinstance(number, Value) else number


def _without_whole_slices(s: Subject, value: Value) -> Value:
    """The memref that a value shows, where it is a `subview` of all of it."""
    while isinstance(op := s.facts.definitions.get(value), Subview):
        shape = op.tensor.type.shape if isinstance(op.tensor.type, MemRef) else ()
        slices = [(_known(s, x.offset), None if x.drops_mode else _known(s, x.size)) for x in op.slices]
        if slices != [(0, size) for size in shape] or None in shape:
            return value
        value = op.tensor
    return value


def _aliasing(sources: str, target: str, section: str, *, turned: bool = False) -> Row:
    """The row that a result is no operand; where `turned`, only of an instruction that transposes it."""

    def shared(s: Subject) -> list[str]:
        types = [getattr(s.op, name).type for name in (*sources.split(), target)]
        sound = all(isinstance(t, MemRef) and 0 not in t.shape for t in types) and s.facts.kind is RegionKind.COLLECTIVE
        if not sound or (turned and not _turns(s.op)):
            raise Undetermined
        result = getattr(s.op, target)
        return [name for name in sources.split() if _is_same_view(s, getattr(s.op, name), result)]

    what = f"op({sources})" if turned else " or ".join(f"`{name}`" for name in sources.split())
    return Row("aliasing", f"{sources} {target}",
               Holds(f"`{target}` is not the memory of {what}", lambda s: not shared(s),
                     lambda s: f"{', '.join(f'`{name}`' for name in shared(s))} and `{target}` are one view"),
               f"the result `{target}` shares no element with {what}", section,
               "write to other memory, and copy the result back with `axpby` where that is meant",
               severity="warning")  # fmt: skip


AXPBY = '003 "Axpby"'


@op(TILE, "axpby", Where.COLLECTIVE, AXPBY, "alpha , a , beta , b")
class Axpby(Op):
    """Add a scaled memref to a scaled memref: b := alpha op(a) + beta b, for scalars, vectors and matrices."""

    atomic: bool = flag("atomic", "update b atomically")
    transpose: bool = modifier(_TRANSPOSE, False, doc=".t transposes a matrix `a`")
    alpha: Value = operand(NUMBER, "factor of op(a)")
    a: Value = operand(memref_of_order(0, 1, 2), "source", reads=True)
    beta: Value = operand(NUMBER, "factor of b; the constant 0 does not read b")
    b: Value = operand(memref_of_order(0, 1, 2), "target", reads=True, writes=True)


TILE.rules(
    Axpby,
    computes_row("axpby", "alpha", "a", "beta", "b"),
    Row("shape", "a b", equal(shape("b"), shape("a", "transpose")), "b has the shape of op(a)", AXPBY),
    *scaling(AXPBY, element("a"), "b"),
    _aliasing("a", "b", AXPBY, turned=True),
)

CUMSUM = '003 "Cumulative sum"'


def _mode_exists(s: Subject) -> bool:
    return bool(0 <= s.op.mode < order("a").value(s))


@op(TILE, "cumsum", Where.COLLECTIVE, CUMSUM, "alpha , a , mode , beta , b")
class Cumsum(Op):
    """Add up the elements along a mode, each with all before it: b := alpha (cumulative sum of a) + beta b."""

    atomic: bool = flag("atomic", "update b atomically")
    alpha: Value = operand(NUMBER, "factor of the sum")
    a: Value = operand(MEMREF, "source", reads=True)
    mode: int = integer("the mode to sum along, counted from 0")
    beta: Value = operand(NUMBER, "factor of b; the constant 0 does not read b")
    b: Value = operand(MEMREF, "target", reads=True, writes=True)


TILE.rules(
    Cumsum,
    computes_row("cumsum", "alpha", "a", "beta", "b"),
    Row("order", "a", at_least(order("a"), 1), "a has a mode to sum along", CUMSUM),
    Row("mode", "mode a", Holds("0 ≤ mode < order(a)", lambda s: order("a").value(s) == 0 or _mode_exists(s),
        lambda s: f"mode is {s.op.mode}, order(a) is {order('a').value(s)}"),
        "the mode exists; modes are counted from 0", CUMSUM),
    Row("shape", "a b", equal(shape("b"), shape("a")), "b has the shape of a", CUMSUM),
    *scaling(CUMSUM, element("a"), "b"),
    _aliasing("a", "b", CUMSUM),
)  # fmt: skip

SUM = '003 "Sum"'


@op(TILE, "sum", Where.COLLECTIVE, SUM, "alpha , a , beta , b")
class Sum(Op):
    """Add up each row of op(a), or all entries of a vector: b := alpha (sum of op(a)) + beta b."""

    atomic: bool = flag("atomic", "update b atomically")
    transpose: bool = modifier(_TRANSPOSE, False, doc=".t transposes a matrix `a`")
    alpha: Value = operand(NUMBER, "factor of the sum")
    a: Value = operand(memref_of_order(1, 2), "source", reads=True)
    beta: Value = operand(NUMBER, "factor of b; the constant 0 does not read b")
    b: Value = operand(memref_of_order(0, 1), "target", reads=True, writes=True)


TILE.rules(
    Sum,
    computes_row("sum", "alpha", "a", "beta", "b"),
    Row("order", "a b", Holds("order(a) = order(b) + 1", lambda s: order("a").value(s) == order("b").value(s) + 1,
        lambda s: f"order(a) is {order('a').value(s)}, order(b) is {order('b').value(s)}"),
        "a has one mode more than b", SUM),
    Row("rows", "a b", equal(rows("b"), rows("a", "transpose")), "b has as many rows as op(a)", SUM),
    *scaling(SUM, element("a"), "b"),
)  # fmt: skip

GEMM = '003 "GEMM"'


@op(TILE, "gemm", Where.COLLECTIVE, GEMM, "alpha , a , b , beta , c")
class Gemm(Op):
    """Multiply two matrices: c := alpha op1(a) op2(b) + beta c."""

    atomic: bool = flag("atomic", "update c atomically")
    transpose_a: bool = modifier(_TRANSPOSE, False, doc="first: .t transposes a")
    transpose_b: bool = modifier(_TRANSPOSE, False, doc="second: .t transposes b")
    alpha: Value = operand(NUMBER, "factor of the product")
    a: Value = operand(MATRIX, "M x K after op1", reads=True)
    b: Value = operand(MATRIX, "K x N after op2", reads=True)
    beta: Value = operand(NUMBER, "factor of c; the constant 0 does not read c")
    c: Value = operand(MATRIX, "M x N", reads=True, writes=True)


TILE.rules(
    Gemm,
    computes_row("gemm", "alpha", "a", "b", "beta", "c"),
    Row("k", "a b", equal(columns("a", "transpose_a"), rows("b", "transpose_b")),
        "columns of op1(a) equal rows of op2(b)", GEMM),
    Row("m", "a c", equal(rows("c"), rows("a", "transpose_a")), "rows of c equal rows of op1(a)", GEMM),
    Row("n", "b c", equal(columns("c"), columns("b", "transpose_b")), "columns of c equal columns of op2(b)", GEMM),
    _product("a", "b", GEMM),
    *scaling(GEMM, promote(element("a"), element("b")), "c"),
    _aliasing("a b", "c", GEMM),
)  # fmt: skip

GEMV = '003 "GEMV"'


@op(TILE, "gemv", Where.COLLECTIVE, GEMV, "alpha , a , b , beta , c")
class Gemv(Op):
    """Multiply a matrix by a vector: c := alpha op1(a) b + beta c."""

    atomic: bool = flag("atomic", "update c atomically")
    transpose: bool = modifier(_TRANSPOSE, False, doc=".t transposes a")
    alpha: Value = operand(NUMBER, "factor of the product")
    a: Value = operand(MATRIX, "M x K after op1", reads=True)
    b: Value = operand(VECTOR, "K", reads=True)
    beta: Value = operand(NUMBER, "factor of c; the constant 0 does not read c")
    c: Value = operand(VECTOR, "M", reads=True, writes=True)


TILE.rules(
    Gemv,
    computes_row("gemv", "alpha", "a", "b", "beta", "c"),
    Row("k", "a b", equal(columns("a", "transpose"), rows("b")), "columns of op1(a) equal rows of b", GEMV),
    Row("m", "a c", equal(rows("c"), rows("a", "transpose")), "rows of c equal rows of op1(a)", GEMV),
    _product("a", "b", GEMV),
    *scaling(GEMV, promote(element("a"), element("b")), "c"),
    _aliasing("b", "c", GEMV),
)

GER = '003 "GER"'


@op(TILE, "ger", Where.COLLECTIVE, GER, "alpha , a , b , beta , c")
class Ger(Op):
    """Multiply each entry of a vector by each of another (outer product): c := alpha a b^T + beta c."""

    atomic: bool = flag("atomic", "update c atomically")
    alpha: Value = operand(NUMBER, "factor of the product")
    a: Value = operand(VECTOR, "M", reads=True)
    b: Value = operand(VECTOR, "N", reads=True)
    beta: Value = operand(NUMBER, "factor of c; the constant 0 does not read c")
    c: Value = operand(MATRIX, "M x N", reads=True, writes=True)


TILE.rules(
    Ger,
    computes_row("ger", "alpha", "a", "b", "beta", "c"),
    Row("m", "a c", equal(rows("c"), rows("a")), "rows of c equal rows of a", GER),
    Row("n", "b c", equal(columns("c"), rows("b")), "columns of c equal rows of b", GER),
    _product("a", "b", GER),
    *scaling(GER, promote(element("a"), element("b")), "c"),
)

HADAMARD = '003 "Hadamard product"'


@op(TILE, "hadamard", Where.COLLECTIVE, HADAMARD, "alpha , a , b , beta , c")
class Hadamard(Op):
    """Multiply two vectors or matrices entry by entry: c := alpha a * b + beta c."""

    atomic: bool = flag("atomic", "update c atomically")
    alpha: Value = operand(NUMBER, "factor of the product")
    a: Value = operand(memref_of_order(1, 2), "first factor", reads=True)
    b: Value = operand(memref_of_order(1, 2), "second factor", reads=True)
    beta: Value = operand(NUMBER, "factor of c; the constant 0 does not read c")
    c: Value = operand(memref_of_order(1, 2), "target", reads=True, writes=True)


TILE.rules(
    Hadamard,
    computes_row("hadamard", "alpha", "a", "b", "beta", "c"),
    Row("shape_b", "a b", equal(shape("b"), shape("a")), "b has the shape of a", HADAMARD),
    Row("shape_c", "a c", equal(shape("c"), shape("a")), "c has the shape of a", HADAMARD),
    _product("a", "b", HADAMARD),
    *scaling(HADAMARD, promote(element("a"), element("b")), "c"),
)
