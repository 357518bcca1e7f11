"""Instructions that combine values of the work-items of a subgroup (003 "Subgroup broadcast", "Subgroup operation")."""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, family, node, op, operand, result
from girih.ir.kinds import NUMBER, exactly
from girih.ir.predicates import equal
from girih.ir.terms import element, type_of
from girih.ir.types import I32
from girih.ops.tile.language import TILE
from girih.ops.tile.stored import computes_row
from girih.rules.predicates import Satisfies
from girih.rules.row import Row

BROADCAST = '003 "Subgroup broadcast"'
OPERATION = '003 "Subgroup operation"'


@op(TILE, "subgroup_broadcast", Where.SPMD, BROADCAST, "a , lane : result", tangled=True)
class SubgroupBroadcast(Op):
    """The value that one work-item of the subgroup has, for all of them."""

    a: Value = operand(NUMBER, "the value")
    lane: Value = operand(
        exactly(I32), "the number of that work-item in the subgroup; the same in all of them", shared=True
    )
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
    "exclusive_scan": "The {what} of the values of the work-items before this one; the first gets {identity}",
    "inclusive_scan": "The {what} of the values of this work-item and those before it in the subgroup",
    "reduce": "The {what} of the values of all work-items of the subgroup; each gets the same",
}
_WHAT = {"add": "sum", "max": "maximum", "min": "minimum"}
_IDENTITIES = {
    "add": "0",
    "max": "-inf, or the smallest integer",
    "min": "inf, or the largest integer",
}


def _operation(shape: str, operator: str) -> type[SubgroupOperation]:
    mnemonic = f"subgroup_{shape}_{operator}"
    doc = _SHAPES[shape].format(what=_WHAT[operator], identity=_IDENTITIES[operator]) + "."
    declared = family(TILE, SubgroupOperation, mnemonic, doc, Where.SPMD, OPERATION, "a : result", tangled=True)
    same = Row(
        "result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", OPERATION
    )
    ordered = Row(
        "type", "a", _REAL, "the value is of an integer or floating type: complex numbers have no order", OPERATION
    )
    TILE.rules(declared, computes_row(mnemonic, "a"), *(() if operator == "add" else (ordered,)), same)
    return declared


OPERATIONS = {(shape, operator): _operation(shape, operator) for shape in _SHAPES for operator in _WHAT}
"""The classes of the nine instructions by the two parts of their mnemonics, such as `("reduce", "add")`."""

globals().update({declared.__name__: declared for declared in OPERATIONS.values()})
