"""Which matrices of a tile program have the same numbers in all columns or rows, so that threads hold fewer of them."""

from __future__ import annotations

from collections.abc import Iterable

from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import And, Constant, Max, Min, Or
from girih.ops.tile.control import For, If, Yield
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixConstruct,
    CooperativeMatrixLoad,
    CooperativeMatrixMulAdd,
    CooperativeMatrixReduceAdd,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import Combined, CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.tile.form import Spread
from girih.tile.program import NoTileProgram, TileProgram, reads_column, reads_row

_BOTH = {(Spread.ROWS, Spread.COLUMNS), (Spread.COLUMNS, Spread.ROWS)}
_RANK = {Spread.ONE: 0, Spread.ROWS: 1, Spread.COLUMNS: 1, Spread.TILE: 2}


def joined(spreads: Iterable[Spread]) -> Spread:
    """The least spread that has room for what several have."""
    found = Spread.ONE
    for one in spreads:
        if (found, one) in _BOTH:
            found = Spread.TILE
        elif _RANK[one] > _RANK[found]:
            found = one
    return found


def spreads_of(program: TileProgram) -> dict[Value, Spread]:
    """The spread of every matrix of a program. Raises `NoTileProgram` for combinations of columns."""
    found: dict[Value, Spread] = {}
    changed = True
    while changed:
        before = dict(found)
        _SpreadSearch(found).ops(program.body)
        changed = before != found
    return found


class _SpreadSearch:
    """The spreads of what the instructions of a region make, from those of what is known so far."""

    def __init__(self, found: dict[Value, Spread]) -> None:
        self.found = found

    def ops(self, ops: Iterable[Op]) -> None:
        for op in ops:
            if isinstance(op, For):
                self._loop(op)
            elif isinstance(op, If):
                self._branch(op)
            else:
                self._set(op.results, [self._made(op)] * len(op.results))

    def _set(self, values: Iterable[Value], spreads: Iterable[Spread]) -> None:
        for value, spread in zip(values, spreads, strict=True):
            if isinstance(value.type, CoopMatrix):
                least = joined((spread, self.found.get(value, Spread.ONE)))
                self.found[value] = _within(least, value.type)

    def _of(self, values: Iterable[Value]) -> list[Spread]:
        return [self.found.get(value, Spread.ONE) for value in values]

    def _loop(self, op: For) -> None:
        self._set(op.carried, self._of(op.initial))
        self.ops(op.body.ops)
        last = op.body.terminator
        if isinstance(last, Yield):
            self._set(op.carried, self._of(last.values))
        self._set(op.results, self._of(op.carried))

    def _branch(self, op: If) -> None:
        for region in op.regions:
            self.ops(region.ops)
            last = region.terminator
            if isinstance(last, Yield):
                self._set(op.results, self._of(last.values))

    def _made(self, op: Op) -> Spread:
        matrices = [v for v in op.operands if isinstance(v.type, CoopMatrix)]
        match op:
            case Constant() | CooperativeMatrixConstruct():
                return Spread.ONE
            case CooperativeMatrixLoad() | CooperativeMatrixLoadTensor():
                return _of_shape(op.result.type)
            case CooperativeMatrixMulAdd():
                return joined(self._of(matrices)) if is_outer(op) else Spread.TILE
            case Reduce() | CooperativeMatrixCombine():
                source = matrices[0].type
                assert isinstance(source, CoopMatrix)
                if not along_row(op):
                    raise NoTileProgram(
                        "numbers of different rows are combined, which different warps hold", op.span,
                        "let rows of the matrix be what is combined: compute with the transpose",
                    )  # fmt: skip
                if source.rows == 1:
                    what = "the numbers of one row are combined, which are spread over all threads"
                    raise NoTileProgram(what, op.span, "let each row of the tile have a row of its own")
                return Spread.ROWS
            case CooperativeMatrixApply():
                own = [Spread.ROWS] if reads_row(op) else []
                own += [Spread.COLUMNS] if reads_column(op) else []
                return joined((*self._of(matrices), *own))
            case _:
                return joined(self._of(matrices))


def is_outer(op: CooperativeMatrixMulAdd) -> bool:
    """Whether a product is that of a column and a row, so that each component is the product of two numbers."""
    return isinstance(op.a.type, CoopMatrix) and op.a.type.columns == 1


def along_row(op: Reduce | CooperativeMatrixCombine) -> bool:
    """Whether the components of each row are combined."""
    return op.along_row if isinstance(op, Reduce) else op.along is Combined.ROW


def keeps_what_is_the_same(op: Reduce | CooperativeMatrixCombine) -> bool:
    """Whether several of the same number combine to that number: maxima and minima, bitwise and, or."""
    if isinstance(op, Reduce):
        return not isinstance(op, CooperativeMatrixReduceAdd)
    first, *rest = op.body.ops
    return (
        isinstance(first, Max | Min | And | Or)
        and {first.a, first.b} == {op.left, op.right}
        and all(isinstance(one, Yield) and one.values == (first.result,) for one in rest)
    )


def _of_shape(type: object) -> Spread:
    assert isinstance(type, CoopMatrix)
    return _within(Spread.TILE, type)


def _within(spread: Spread, type: CoopMatrix) -> Spread:
    """The spread of a matrix that has one row or one column, if it would be this one with more of them."""
    if type.rows == 1:
        spread = {Spread.TILE: Spread.COLUMNS, Spread.ROWS: Spread.ONE}.get(spread, spread)
    if type.columns == 1:
        spread = {Spread.TILE: Spread.ROWS, Spread.COLUMNS: Spread.ONE}.get(spread, spread)
    return spread
