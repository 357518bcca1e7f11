"""Conditions in regions of components that are the same for a whole tile, most of the time: a tile need not ask them.

The region of an `apply` that compares rows and columns with scalars, as masks of attention do, has a condition that
holds for all components of most tiles. From its form follows a scalar that implies it: the extremes of the two sides.
A tile for which that scalar is true is computed by a simpler region.
"""

from __future__ import annotations

from dataclasses import replace

from girih.ir.build import RegionBuilder
from girih.ir.core import Op, Region, Value
from girih.ir.types import BOOL, I64, CoopMatrix, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import (
    Add,
    And,
    Cast,
    Comparison,
    Constant,
    GreaterThan,
    GreaterThanEqual,
    LessThan,
    LessThanEqual,
    Not,
    Or,
    Select,
    Sub,
)
from girih.ops.tile.control import If, Yield
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.tile.program import rewritten

_SMALLER_FIRST = {LessThan: True, LessThanEqual: True, GreaterThan: False, GreaterThanEqual: False}


@dataclass(frozen=True, slots=True, eq=False)
class SplitApply:
    """An `apply` without a condition, for tiles for which `holds` is true, which `scalars` compute.

    `element` is the number of the operand that the components are then, if they are as they were.
    """

    scalars: tuple[Op, ...]
    holds: Value
    simpler: CooperativeMatrixApply
    element: int | None


def split(op: CooperativeMatrixApply) -> SplitApply | None:
    """An `apply` with and without its conditions; None where it has none that a scalar implies."""
    search = _MaskSearch(op)
    conditions = [_condition(one) for one in op.body.ops if isinstance(one, If | Select)]
    known = {value: holds for value in conditions if value is not None and (holds := search.always(value)) is not None}
    if not known:
        return None
    if len(known) > 1:
        values = list(known.values())
        holds = values[0]
        for value in values[1:]:
            (holds,) = search.ops.add("and", BOOL, a=holds, b=value)
    else:
        (holds,) = known.values()
    body = _without(op.body, frozenset(known))
    last = body.terminator
    assert isinstance(last, Yield)
    element = op.elements.index(last.values[0]) if last.values[0] in op.elements else None
    return SplitApply(tuple(search.ops.ops), holds, replace(op, body=body), element)


def _condition(op: Op) -> Value | None:
    return op.condition if isinstance(op, If | Select) else None


def _without(region: Region, true: frozenset[Value]) -> Region:
    """A region in which some conditions are true, without what nobody reads then."""
    same: dict[Value, Value] = {}
    ops: list[Op] = []
    for op in region.ops:
        made = rewritten(op, same)
        if isinstance(made, Select) and made.condition in true:
            same[made.result] = made.a
        elif isinstance(made, If) and made.condition in true and isinstance(last := made.then.terminator, Yield):
            ops += made.then.ops[:-1]
            same.update(zip(made.results, last.values, strict=True))
        else:
            ops.append(made)
    used: set[Value] = set()
    kept: list[Op] = []
    for op in reversed(ops):
        if not op.results or not used.isdisjoint(op.results):
            kept.append(op)
            used.update(op.operands)
            used.update(v for inner in op.regions for o in inner.walk() for v in o.operands)
    return replace(region, ops=tuple(reversed(kept)))


class _MaskSearch:
    """Scalars outside of the region that imply conditions in it, computed by `ops` in 64 bits."""

    def __init__(self, op: CooperativeMatrixApply) -> None:
        result = op.result.type
        assert isinstance(result, CoopMatrix)
        self.ends = {op.row: result.rows - 1, op.column: result.columns - 1}
        self.elements = frozenset(op.elements)
        self.definitions = {value: one for one in op.body.ops for value in one.results}
        self.ops = RegionBuilder(TILE_LANGUAGE)

    def always(self, condition: Value) -> Value | None:
        """A scalar that is true only if a condition holds for all components; None where there is none to be seen."""
        op = self.definitions.get(condition)
        match op:
            case None:
                return condition if condition not in self.elements else None
            case And(a=a, b=b):
                left, right = self.always(a), self.always(b)
                return None if left is None or right is None else self.ops.add("and", BOOL, a=left, b=right)[0]
            case Or(a=a, b=b):
                left, right = self.always(a), self.always(b)
                if left is None or right is None:
                    return left or right
                return self.ops.add("or", BOOL, a=left, b=right)[0]
            case Not(a=a) if a not in self.definitions and a not in self.elements:
                return self.ops.add("not", BOOL, a=a)[0]
            case Comparison() if type(op) in _SMALLER_FIRST:
                return self._compared(op)
            case Constant(value=bool() as value):
                return self.ops.add("constant", BOOL, value=value)[0]
            case _:
                return None

    def _compared(self, op: Comparison) -> Value | None:
        smaller, larger = (op.a, op.b) if _SMALLER_FIRST[type(op)] else (op.b, op.a)
        most, least = self._extreme(smaller, most=True), self._extreme(larger, most=False)
        if most is None or least is None:
            return None
        strict = isinstance(op, LessThan | GreaterThan)
        return self.ops.add("less_than" if strict else "less_than_equal", BOOL, a=most, b=least)[0]

    def _extreme(self, value: Value, *, most: bool) -> Value | None:
        """The largest or smallest of what an integer is for the components, in 64 bits."""
        if not isinstance(value.type, Number) or value.type.family != "integer" or value in self.elements:
            return None
        if value in self.ends:
            return self.ops.add("constant", I64, value=self.ends[value] if most else 0)[0]
        op = self.definitions.get(value)
        match op:
            case None:
                return value if value.type == I64 else self.ops.add("cast", I64, a=value)[0]
            case Constant(value=int() as known) if not isinstance(known, bool):
                return self.ops.add("constant", I64, value=known)[0]
            case Cast(a=a) if isinstance(a.type, Number) and a.type.family == "integer":
                return self._extreme(a, most=most) if a.type.size <= value.type.size else None
            case Add(a=a, b=b):
                return self._sum("add", self._extreme(a, most=most), self._extreme(b, most=most))
            case Sub(a=a, b=b):
                return self._sum("sub", self._extreme(a, most=most), self._extreme(b, most=not most))
            case _:
                return None

    def _sum(self, mnemonic: str, a: Value | None, b: Value | None) -> Value | None:
        return None if a is None or b is None else self.ops.add(mnemonic, I64, a=a, b=b)[0]
