"""Operations between the work-items of a subgroup (003 "Subgroup broadcast", "Subgroup operation")."""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, family, node, op, operand, result
from girih.ir.kinds import NUMBER, exactly
from girih.ir.predicates import equal
from girih.ir.terms import element, type_of
from girih.ir.types import I32
from girih.ops.tile.language import TILE
from girih.rules.predicates import Satisfies
from girih.rules.row import Row

BROADCAST = '003 "Subgroup broadcast"'
OPERATION = '003 "Subgroup operation"'


@op(TILE, "subgroup_broadcast", Where.SPMD, BROADCAST, "a , lane : result", tangled=True)
class SubgroupBroadcast(Op):
    """The value of one work-item, given to all of the subgroup."""

    a: Value = operand(NUMBER, "the value")
    lane: Value = operand(exactly(I32), "the work-item that has it; the same in the whole subgroup")
    result: Value = result(NUMBER, "that work-item's value")


TILE.rules(
    SubgroupBroadcast,
    Row("result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", BROADCAST),
)


@node
class SubgroupOperation(Op):
    """The base of scans and reductions over a subgroup."""

    a: Value = operand(NUMBER, "each work-item's contribution")
    result: Value = result(NUMBER, "what each work-item gets")


_REAL = Satisfies(element("a"), "is an integer or floating type", lambda t: t.family in ("integer", "floating"))

_SHAPES = {
    "exclusive_scan": "{what} over the work-items before this one; the identity for the first",
    "inclusive_scan": "{what} over the work-items up to this one",
    "reduce": "{what} over all work-items, the same for each",
}
_WHAT = {"add": "Sum", "max": "Maximum", "min": "Minimum"}


def _operation(shape: str, operator: str) -> type[SubgroupOperation]:
    mnemonic = f"subgroup_{shape}_{operator}"
    doc = _SHAPES[shape].format(what=_WHAT[operator]) + "."
    declared = family(TILE, SubgroupOperation, mnemonic, doc, Where.SPMD, OPERATION, "a : result", tangled=True)
    same = Row(
        "result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", OPERATION
    )
    ordered = Row(
        "type", "a", _REAL, "the value is of an integer or floating type: complex numbers have no order", OPERATION
    )
    TILE.rules(declared, *(() if operator == "add" else (ordered,)), same)
    return declared


OPERATIONS = {(shape, operator): _operation(shape, operator) for shape in _SHAPES for operator in _WHAT}
"""The nine classes by their two parts."""
