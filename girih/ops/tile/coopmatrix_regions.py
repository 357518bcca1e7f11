"""Functions of the components of cooperative matrices, written as regions (003, 001 8.X).

A region is called for each component by itself, as often and in whatever order a target likes: no instruction in it may
need several work-items at once. Regions that some targets make functions of see only their arguments and constants.
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
from girih.ir.types import ERROR, I32, CoopMatrix, MatrixScope, Type, Use, element_type
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
    result = s.op.result.type
    region: Region | None = s.op.body
    if region is None or not isinstance(result, CoopMatrix) or any(o.spec.terminator for o in region.ops[:-1]):
        raise Undetermined
    last = region.terminator
    if last is None or not last.spec.terminator:
        return False
    values = tuple(last.operands)
    return len(values) == 1 and values[0].type in (result.component, ERROR)


def _yielded_words(s: Subject) -> str:
    last = s.op.body.terminator
    if last is None or not last.spec.terminator:
        return "it does not end with a yield"
    return "yields (" + ", ".join(str(v.type) for v in last.operands) + ")"


def _inner_ops(s: Subject) -> list[Op]:
    """The instructions of the region at any depth, in program order."""
    region: Region | None = s.op.body
    stack = list(reversed(region.ops)) if region is not None else []
    instructions: list[Op] = []
    while stack:
        instruction: Op = stack.pop()
        instructions.append(instruction)
        for inner in reversed(instruction.regions):
            stack.extend(reversed(inner.ops))
    return instructions


def _tangled_op(s: Subject) -> Op | None:
    return next(filter(inside_apply, _inner_ops(s)), None)


def _tangled_words(s: Subject) -> str:
    tangled = _tangled_op(s)
    return f"`{tangled.spec.word}` stands in it" if tangled else ""


def region_rows(section: str) -> tuple[Row, ...]:
    """The rules that the region yields one component, and that no tangled instruction stands in it."""
    return (
        Row("yield", "", Holds("the region yields one value of the component type", _yields_component, _yielded_words),
            "the region yields one value of the component type", section, "end the region with `yield (%x)`",
            at=_yield_place),
        Row("tangled", "", Holds("no barrier, print, subgroup or matrix instruction in the region",
            lambda s: _tangled_op(s) is None, _tangled_words),
            "the region is called for each component alone: no barrier, print, subgroup or matrix instruction in it",
            TANGLED, at=lambda s: tangled.span if (tangled := _tangled_op(s)) else None),
    )  # fmt: skip


def _yield_place(s: Subject) -> Span | None:
    return yield_place("body")(s) if s.op.body is not None else None


def _seen(s: Subject) -> Value | None:
    """The first value from outside the region that is not a constant."""
    return next((v for v in free_values(s.op) if v not in s.facts.constants and v.type != ERROR), None)


def _place_of_seen(s: Subject) -> Span | None:
    wanted = _seen(s)
    for instruction in _inner_ops(s):
        for name, spans in instruction.uses.items():
            operand = getattr(instruction, name, None)
            values = operand if isinstance(operand, tuple) else (operand,)
            for value, span in zip(values, spans, strict=False):
                if value is wanted:
                    return span
    return None


def closed_row(section: str) -> Row:
    """The rule that the region uses only its arguments and constants."""
    return Row("closed", "", Holds("every value from outside is a constant", lambda s: _seen(s) is None,
        lambda s: f"%{outside.name} comes from outside" if (outside := _seen(s)) else ""),
        "the region uses its arguments and constants only: it becomes a function of its own", section,
        "a region of `cooperative_matrix_apply` may use what all work-items agree on", at=_place_of_seen)  # fmt: skip


def _writing_op(s: Subject) -> Op | None:
    return next((instruction for instruction in _inner_ops(s) if instruction.spec.writes), None)


def read_only_row(section: str) -> Row:
    """The rule that no instruction in the region writes memory."""
    return Row("read_only", "", Holds("no instruction in the region writes memory", lambda s: _writing_op(s) is None,
        lambda s: f"`{writing.spec.word}` stands in it" if (writing := _writing_op(s)) else ""),
        "the region only reads the block: nothing in it writes memory", section,
        at=lambda s: writing.span if (writing := _writing_op(s)) else None)  # fmt: skip


# --- apply ----------------------------------------------------------------------------------


def _component_of(fields: Mapping[str, Any], name: str) -> Type:
    matrix = fields.get(name)
    scalar = element_type(matrix.type) if isinstance(matrix, Value) else None
    return scalar if scalar is not None else ERROR


def _apply_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    scalars = [element_type(v.type) or ERROR for v in fields["matrices"]]
    missing = [ERROR] * max(0, names["elements"] - len(scalars))
    return {"row": (I32,), "column": (I32,), "elements": (*scalars, *missing)[: names["elements"]]}


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
    """A matrix whose components the region computes, each from its row, its column and the operands' components there.

    A matrix of one column stands for one with that column everywhere, and a matrix of one row for one with that row
    everywhere. The region is called for the components in any order.
    """

    row: Value = binding("row, from 0")
    column: Value = binding("column, from 0")
    elements: tuple[Value, ...] = binding("component of each matrix at that place", many=True)
    matrices: tuple[Value, ...] = operands(COOPMATRIX, "matrices M x N, M x 1 or 1 x N, at least one of them M x N")
    result: Value = result(COOPMATRIX, "the matrix of what the region yields, M x N")
    body: Region = body(RegionKind.SPMD, "yields the new component")


def _kind_of_components(type: CoopMatrix) -> tuple[Type, Use, MatrixScope]:
    return type.component, type.use, type.scope


def _matrix_types(s: Subject) -> list[CoopMatrix]:
    return [v.type for v in s.op.matrices if isinstance(v.type, CoopMatrix)]


def _result_matrix(s: Subject) -> CoopMatrix:
    type_ = s.op.result.type
    if not isinstance(type_, CoopMatrix):
        raise Undetermined
    return type_


def _same_but_for_shapes(s: Subject) -> bool:
    return len({_kind_of_components(type_) for type_ in _matrix_types(s)}) <= 1


def _result_type_is(s: Subject) -> bool:
    result = _kind_of_components(_result_matrix(s))
    return all(_kind_of_components(type_) == result for type_ in _matrix_types(s)[:1])


def _fits(type: CoopMatrix, result: CoopMatrix) -> bool:
    return type.shape in (result.shape, (result.rows, 1), (1, result.columns))


def _misfits(s: Subject) -> list[CoopMatrix]:
    return [type_ for type_ in _matrix_types(s) if not _fits(type_, _result_matrix(s))]


def _shape_words(type: CoopMatrix) -> str:
    return f"{type.rows}x{type.columns}"


def _misfit_words(s: Subject) -> str:
    shapes = " and ".join(dict.fromkeys(map(_shape_words, _misfits(s))))
    return f"the matrices have {shapes} components, the result {_shape_words(_result_matrix(s))}"


def _is_decided(s: Subject) -> bool:
    if _misfits(s) or len(_matrix_types(s)) < len(s.op.matrices):
        raise Undetermined
    return any(type_.shape == _result_matrix(s).shape for type_ in _matrix_types(s))


TILE.rules(
    CooperativeMatrixApply,
    Row("count", "elements matrices", equal(count("elements"), count("matrices")),
        "there is one component for each matrix", '001 8.X "coopMatPerElementNV"'),
    Row("same", "matrices", Holds("all matrices have one component type, use and scope", _same_but_for_shapes,
        lambda s: " and ".join(sorted({str(type_) for type_ in _matrix_types(s)}))),
        "the matrices have one component type, use and scope", '001 8.X "coopMatPerElementNV"'),
    Row("result_type", "result matrices", Holds("the result has component type, use and scope of matrices[0]",
        _result_type_is, lambda s: f"the result is {s.op.result.type}, the matrix {s.op.matrices[0].type}"),
        "the result has component type, use and scope of the matrices", APPLY),
    Row("shape", "result matrices", Holds("each matrix is M x N, M x 1 or 1 x N, where the result is M x N",
        lambda s: not _misfits(s), _misfit_words),
        "each matrix has the shape of the result, or is one row or one column of it", APPLY),
    Row("broadcast", "result matrices", Holds("a matrix has the shape of the result", _is_decided,
        lambda s: "all matrices are single rows or columns: "
        + ", ".join(map(_shape_words, _matrix_types(s))) + f" for {_shape_words(_result_matrix(s))}"),
        "at least one matrix has the shape of the result", APPLY,
        "begin with a `constant` of the result's type, as one more matrix"),
    *region_rows(APPLY),
)  # fmt: skip

# --- combine --------------------------------------------------------------------------------

_ACCUMULATOR = matrix(Use.ACC)
COMBINE = '001 8.X "coopMatReduceNV"'


class Combined(Enum):
    """The components that are combined with each other (001 "gl_CooperativeMatrixReduce")."""

    ROW = "row"
    COLUMN = "column"
    ALL = "all"
    BLOCK = "2x2"


def _combine_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    scalar = _component_of(fields, "matrix")
    return {"left": (scalar,), "right": (scalar,)}


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

    The region combines two components, or combinations of some. The order is free, so that the result is certain only
    if what the region computes is associative and commutative.
    """

    along: Combined = modifier({c.value: c for c in Combined}, required=True, doc="what is combined")
    left: Value = binding("a component or a combination")
    right: Value = binding("another one")
    matrix: Value = operand(_ACCUMULATOR, "M x N")
    result: Value = result(_ACCUMULATOR, "M rows for .row, N columns for .column, any for .all, M/2 x N/2 for .2x2")
    body: Region = body(RegionKind.SPMD, "yields the combination of two")


def combined_columns(along: Combined, result: CoopMatrix) -> int:
    """How many combinations stand in a row of the result, without those that repeat them.

    The combination of a row is that of the component (row, 0), of a column (0, column), and of all (0, 0).
    """
    return result.columns if along in {Combined.COLUMN, Combined.BLOCK} else 1


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
