"""Functions over the components of cooperative matrices, written as regions (003, 001 8.X).

A region is called for components alone, how often and in which order is free: it may hold no instruction that needs
several work-items at once. Regions that become functions of their own elsewhere see their arguments and constants only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.define import Where, binding, body, modifier, op, operand, operands, result
from girih.ir.kinds import COOPMATRIX, matrix
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import component
from girih.ir.types import ERROR, I32, CoopMatrix, Type, Use, element_type
from girih.ir.uses import free_values
from girih.ops.tile.control import inside_apply, yield_place
from girih.ops.tile.coopmatrix import same_scope
from girih.ops.tile.language import TILE
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined
from girih.rules.terms import count
from girih.source import Span

APPLY = '003 "Cooperative matrix apply"'
TANGLED = '001 8.X "tangled instructions"'

# --- what every such region keeps to --------------------------------------------------------


def _yields_component(s: Subject) -> bool:
    found = s.op.result.type
    region: Region | None = s.op.body
    if region is None or not isinstance(found, CoopMatrix) or any(o.spec.terminator for o in region.ops[:-1]):
        raise Undetermined
    last = region.terminator
    if last is None or not last.spec.terminator:
        return False
    values = tuple(last.operands)
    return len(values) == 1 and values[0].type in (found.component, ERROR)


def _yielded_words(s: Subject) -> str:
    last = s.op.body.terminator
    if last is None or not last.spec.terminator:
        return "it does not end with a yield"
    return "yields (" + ", ".join(str(v.type) for v in last.operands) + ")"


def _inner_ops(s: Subject) -> list[Op]:
    """The instructions of the region at any depth, in program order."""
    region: Region | None = s.op.body
    stack = list(reversed(region.ops)) if region is not None else []
    found: list[Op] = []
    while stack:
        one: Op = stack.pop()
        found.append(one)
        for inner in reversed(one.regions):
            stack.extend(reversed(inner.ops))
    return found


def _tangled_op(s: Subject) -> Op | None:
    return next(filter(inside_apply, _inner_ops(s)), None)


def _tangled_words(s: Subject) -> str:
    found = _tangled_op(s)
    return f"`{found.spec.word}` stands in it" if found else ""


def region_rows(section: str) -> tuple[Row, ...]:
    """The region yields one component and holds no tangled instruction."""
    return (
        Row("yield", "", Holds("the region yields one value of the component type", _yields_component, _yielded_words),
            "the region yields one value of the component type", section, "end the region with `yield (%x)`",
            at=_yield_place),
        Row("tangled", "", Holds("no barrier, subgroup or matrix instruction in the region",
            lambda s: _tangled_op(s) is None, _tangled_words),
            "the region is called for each component alone: no barrier, subgroup or matrix instruction in it",
            TANGLED, at=lambda s: found.span if (found := _tangled_op(s)) else None),
    )  # fmt: skip


def _yield_place(s: Subject) -> Span | None:
    return yield_place("body")(s) if s.op.body is not None else None


def _seen(s: Subject) -> Value | None:
    """The first value from outside that is no constant."""
    return next((v for v in free_values(s.op) if v not in s.facts.constants and v.type != ERROR), None)


def _place_of_seen(s: Subject) -> Span | None:
    wanted = _seen(s)
    for one in _inner_ops(s):
        for name, spans in one.uses.items():
            held = getattr(one, name, None)
            values = held if isinstance(held, tuple) else (held,)
            for value, span in zip(values, spans, strict=False):
                if value is wanted:
                    return span
    return None


def closed_row(section: str) -> Row:
    """The region sees its arguments and constants only."""
    return Row("closed", "", Holds("every value from outside is a constant", lambda s: _seen(s) is None,
        lambda s: f"%{found.name} comes from outside" if (found := _seen(s)) else ""),
        "the region uses its arguments and constants only: it becomes a function of its own", section,
        "a region of `cooperative_matrix_apply` may use what all work-items agree on", at=_place_of_seen)  # fmt: skip


def _writing_op(s: Subject) -> Op | None:
    return next((one for one in _inner_ops(s) if one.spec.writes), None)


def read_only_row(section: str) -> Row:
    """The region writes no memory."""
    return Row("read_only", "", Holds("no instruction in the region writes memory", lambda s: _writing_op(s) is None,
        lambda s: f"`{found.spec.word}` stands in it" if (found := _writing_op(s)) else ""),
        "the region only reads the block: nothing in it writes memory", section,
        at=lambda s: found.span if (found := _writing_op(s)) else None)  # fmt: skip


# --- apply ----------------------------------------------------------------------------------


def _component_of(fields: Mapping[str, Any], name: str) -> Type:
    held = fields.get(name)
    found = element_type(held.type) if isinstance(held, Value) else None
    return found if found is not None else ERROR


def _apply_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    found = [element_type(v.type) or ERROR for v in fields["matrices"]]
    missing = [ERROR] * max(0, names["elements"] - len(found))
    return {"row": (I32,), "column": (I32,), "elements": (*found, *missing)[: names["elements"]]}


@op(
    TILE,
    "cooperative_matrix_apply",
    Where.SPMD,
    APPLY,
    "( row , column , elements ) = matrices -> result body",
    binding_types=_apply_bindings,
    tangled=True,
)
class CooperativeMatrixApply(Op):
    """A matrix whose components the region computes from row, column and the components there, in any order."""

    row: Value = binding("row, from 0")
    column: Value = binding("column, from 0")
    elements: tuple[Value, ...] = binding("component of each matrix at that place", many=True)
    matrices: tuple[Value, ...] = operands(COOPMATRIX, "matrices of one type")
    result: Value = result(COOPMATRIX, "the matrix of what the region yields")
    body: Region = body(RegionKind.SPMD, "yields the new component")


def _types_of_matrices(s: Subject) -> set[str]:
    return {str(v.type) for v in s.op.matrices if v.type != ERROR}


def _result_type_is(s: Subject) -> bool:
    return all(v.type in (s.op.result.type, ERROR) for v in s.op.matrices[:1])


TILE.rules(
    CooperativeMatrixApply,
    Row("count", "elements matrices", equal(count("elements"), count("matrices")),
        "there is one component for each matrix", '001 8.X "coopMatPerElementNV"'),
    Row("same", "matrices", Holds("all matrices have one type", lambda s: len(_types_of_matrices(s)) <= 1,
        lambda s: " and ".join(sorted(_types_of_matrices(s)))),
        "the matrices have one type", '001 8.X "coopMatPerElementNV"'),
    Row("result_type", "result matrices", Holds("type(result) = type(matrices[0])", _result_type_is,
        lambda s: f"the result is {s.op.result.type}, the matrix {s.op.matrices[0].type}"),
        "the result has the type of the matrices", APPLY),
    *region_rows(APPLY),
)  # fmt: skip

# --- combine --------------------------------------------------------------------------------

_ACCUMULATOR = matrix(Use.ACC)
COMBINE = '001 8.X "coopMatReduceNV"'


class Combined(Enum):
    """What is combined with each other (001 "gl_CooperativeMatrixReduce")."""

    ROW = "row"
    COLUMN = "column"
    ALL = "all"
    BLOCK = "2x2"


def _combine_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    found = _component_of(fields, "matrix")
    return {"left": (found,), "right": (found,)}


@op(
    TILE,
    "cooperative_matrix_combine",
    Where.SPMD,
    COMBINE,
    "( left , right ) = matrix -> result body",
    binding_types=_combine_bindings,
    tangled=True,
)
class CooperativeMatrixCombine(Op):
    """A matrix in which every component is the combination of its row, its column, all components, or its 2 x 2 block.

    The region combines two components, or combinations, in any order: what it computes is associative and commutative
    where the result is to be the same everywhere.
    """

    along: Combined = modifier({c.value: c for c in Combined}, required=True, doc="what is combined")
    left: Value = binding("a component or a combination")
    right: Value = binding("another one")
    matrix: Value = operand(_ACCUMULATOR, "M x N")
    result: Value = result(_ACCUMULATOR, "M rows for .row, N columns for .column, any for .all, M/2 x N/2 for .2x2")
    body: Region = body(RegionKind.SPMD, "yields the combination of two")


def _shapes(s: Subject) -> tuple[CoopMatrix, CoopMatrix]:
    source, target = s.op.matrix.type, s.op.result.type
    if not isinstance(source, CoopMatrix) or not isinstance(target, CoopMatrix):
        raise Undetermined
    return source, target


_SHAPES: dict[Combined, Callable[[CoopMatrix, CoopMatrix], bool]] = {
    Combined.ROW: lambda m, r: r.rows == m.rows,
    Combined.COLUMN: lambda m, r: r.columns == m.columns,
    Combined.ALL: lambda m, r: True,
    Combined.BLOCK: lambda m, r: (2 * r.rows, 2 * r.columns) == m.shape,
}

_SHAPE_WORDS = {
    Combined.ROW: "the rows of the matrix",
    Combined.COLUMN: "the columns of the matrix",
    Combined.ALL: "any shape",
    Combined.BLOCK: "half the rows and half the columns of the matrix",
}


def _shape_came(s: Subject) -> str:
    source, target = _shapes(s)
    along: Combined = s.op.along
    return (
        f"{target.rows}x{target.columns} for {source.rows}x{source.columns}, "
        f"where .{along.value} gives {_SHAPE_WORDS[along]}"
    )


TILE.rules(
    CooperativeMatrixCombine,
    Row("shape", "result matrix", Holds("the result has the shape that is left",
        lambda s: _SHAPES[s.op.along](*_shapes(s)), _shape_came),
        "the result has the rows of the matrix for .row, its columns for .column, half of both for .2x2", COMBINE),
    Row("component_type", "result matrix", equal(component("result"), component("matrix")),
        "the result has the component type of the matrix", COMBINE),
    same_scope("result", "matrix"),
    *region_rows(COMBINE),
    closed_row(COMBINE),
)  # fmt: skip
