"""Loops, branches, regions that share work out to work-items (003 "For", "If", "Foreach", "Parallel"), and prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from girih.ir.core import Dictionary, Op, Region, RegionKind, Value
from girih.ir.define import (
    Expect,
    Where,
    attributes,
    binding,
    body,
    flag,
    integers,
    op,
    operand,
    operands,
    results,
    text,
)
from girih.ir.hints import LOOP_HINTS
from girih.ir.kinds import BOOLEAN, CARRIED, INTEGER
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.types import ERROR, CoopMatrix, Number, Type
from girih.ops.tile.language import TILE
from girih.rules.predicates import Holds, each_at_least
from girih.rules.row import Row, Undetermined
from girih.rules.terms import count, held
from girih.source import Span

FOREACH = '003 "Foreach"'
FOREACH_TILE = '003 "Foreach tile"'
PARALLEL = '003 "Parallel"'
FOR = '003 "For"'
IF = '003 "If"'
YIELD = '003 "Yield"'
BARRIER = '003 "Barrier"'
PRINT = 'SPIR-V "NonSemantic.DebugPrintf"'


def _types_of(values: tuple[Value, ...], length: int) -> tuple[Type, ...]:
    types = [v.type for v in values[:length]]
    return (*types, *([ERROR] * (length - len(types))))


def _foreach_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    return {binding: _types_of(fields["start"], length) for binding, length in names.items()}


@op(
    TILE,
    "foreach",
    Where.COLLECTIVE,
    FOREACH,
    "( variables ) = ( start ) , ( stop ) body",
    binding_types=_foreach_bindings,
)
class Foreach(Op):
    """Execute the region once for each point of a box, from `start` to before `stop` in each variable.

    The points are shared out to the work-items of the work-group; their order is free.
    """

    variables: tuple[Value, ...] = binding("the coordinates of the point", many=True)
    start: tuple[Value, ...] = operands(INTEGER, "first value of each variable")
    stop: tuple[Value, ...] = operands(INTEGER, "end of each variable, not included")
    body: Region = body(RegionKind.SPMD, "what a work-item does at a point")


@op(
    TILE,
    "foreach_tile",
    Where.COLLECTIVE,
    FOREACH_TILE,
    "( variables ) = ( start ) , ( stop ) as ( sizes ) <= ( tile_shape ) body",
    binding_types=_foreach_bindings,
)
class ForeachTile(Op):
    """Cut a box, from `start` to before `stop` in each variable, into tiles; execute the region once for each of them.

    The tiles are shared out to the subgroups: all work-items of one execute the region together. The order is free.
    """

    variables: tuple[Value, ...] = binding("the first point of the tile", many=True)
    start: tuple[Value, ...] = operands(INTEGER, "first value of each variable")
    stop: tuple[Value, ...] = operands(INTEGER, "end of each variable, not included")
    sizes: tuple[Value, ...] = binding("the tile's size, smaller than tile_shape only at the end", many=True)
    tile_shape: tuple[int, ...] = integers("the tile's full size")
    body: Region = body(RegionKind.SPMD, "what a subgroup does with a tile")


def _pairs_match(s: Subject) -> bool:
    pairs = [(a.type, b.type) for a, b in zip(s.op.start, s.op.stop, strict=False)]
    return all(a == b or ERROR in (a, b) for a, b in pairs)


def _range_rows(section: str) -> tuple[Row, ...]:
    return (
        Row("count_start", "variables start", equal(count("start"), count("variables")),
            "there is one first value for each variable", section),
        Row("count_stop", "variables stop", equal(count("stop"), count("variables")),
            "there is one end for each variable", section),
        Row("pair", "start stop", Holds("type(start[i]) = type(stop[i])", _pairs_match,
            lambda s: ", ".join(f"{a.type} and {b.type}" for a, b in zip(s.op.start, s.op.stop, strict=False)
                                if a.type != b.type)),
            "the two ends of a range have one integer type", section),
    )  # fmt: skip


def _tile_divides(s: Subject) -> bool:
    size = s.facts.subgroup_size
    if size is None or size <= 0 or not s.op.tile_shape or s.op.tile_shape[0] < 1:
        raise Undetermined
    return bool(s.op.tile_shape[0] % size == 0)


def _tile_fits(s: Subject) -> bool:
    sizes = zip(s.op.tile_shape, s.op.start, strict=False)
    return all(n < 2 ** (8 * v.type.size - 1) for n, v in sizes if isinstance(v.type, Number))


TILE.rules(Foreach, *_range_rows(FOREACH))
TILE.rules(
    ForeachTile,
    *_range_rows(FOREACH_TILE),
    Row("count_sizes", "variables sizes", equal(count("sizes"), count("variables")),
        "there is one size for each variable", FOREACH_TILE),
    Row("count_tile_shape", "variables tile_shape", equal(count("tile_shape"), count("variables")),
        "there is one entry of the tile shape for each variable", FOREACH_TILE),
    Row("tile_shape", "tile_shape", each_at_least(held("tile_shape"), 1), "a tile has a positive size", FOREACH_TILE),
    Row("tile_type", "tile_shape", Holds("tile_shape[i] is in the range of type(start[i])", _tile_fits,
        lambda s: f"({', '.join(map(str, s.op.tile_shape))}) for {show_types(s.op.start)}"),
        "the entries of the tile shape are in the range of the loop's types", FOREACH_TILE),
    Row("subgroup_size", "tile_shape", Holds("tile_shape[0] mod subgroup_size = 0", _tile_divides,
        lambda s: f"{s.op.tile_shape[0]} is not a multiple of {s.facts.subgroup_size}"),
        "the first entry of the tile shape is a multiple of the subgroup size", FOREACH_TILE, needs="subgroup_size"),
)  # fmt: skip


@op(TILE, "parallel", Where.COLLECTIVE, PARALLEL, "body")
class Parallel(Op):
    """Execute the region once in each work-item of the work-group."""

    body: Region = body(RegionKind.SPMD, "what each work-item does")


def _for_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    return {"variable": (fields["start"].type,), "carried": _types_of(fields.get("results", ()), names["carried"])}


@op(
    TILE,
    "for",
    Where.MIXED,
    FOR,
    "variable = start , stop << , step >> << init ( carried=initial ) -> ( results ) >> body << attributes hints >>",
    binding_types=_for_bindings,
)
class For(Op):
    """Execute the region for start, start + step, ... below stop, one after the other.

    Values may be carried along: each iteration starts with those that the one before yielded, and the results are those
    that the last one yielded, or the initial ones if there was no iteration.
    """

    variable: Value = binding("the loop variable: start, start + step, ...")
    start: Value = operand(INTEGER, "first value", shared=True)
    stop: Value = operand(INTEGER, "end, not included", shared=True)
    carried: tuple[Value, ...] = binding("values that go from one iteration to the next", many=True)
    initial: tuple[Value, ...] = operands(CARRIED, "their first values")
    results: tuple[Value, ...] = results(CARRIED, "their last values")
    body: Region = body(doc="one iteration")
    step: Value | None = operand(
        INTEGER, "distance from one iteration to the next, 1 if left out", optional=True, shared=True
    )
    hints: Dictionary = attributes(
        {"unroll": Expect.BOOLEAN_OR_INTEGER, **LOOP_HINTS}, "advice to targets, which changes no result"
    )


def _one_type(s: Subject) -> bool:
    types = {v.type for v in (s.op.start, s.op.stop, s.op.step) if v is not None} - {ERROR}
    return len(types) <= 1


def _positive(s: Subject) -> bool:
    step = s.facts.constants.get(s.op.step) if s.op.step is not None else None
    if not isinstance(step, int):
        raise Undetermined
    return step > 0


def _same_types(left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
    pairs = zip(left, right, strict=False)
    return all(a.type == b.type or ERROR in (a.type, b.type) for a, b in pairs)


def show_types(values: tuple[Value, ...]) -> str:
    """The types of values in parentheses, as they are written in a program."""
    return "(" + ", ".join(str(v.type) for v in values) + ")"


def yielded(region: Region | None) -> Op | None:
    """The `yield` that ends a region; None if it ends otherwise."""
    last = region.terminator if region else None
    return last if last is not None and last.spec.terminator else None


def yields(region: str) -> Holds:
    """The predicate that a region ends with a `yield` of values of the result types; `region` names the field."""

    def test(s: Subject) -> bool:
        owned: Region | None = getattr(s.op, region)
        wanted = s.op.results
        if owned is None or any(o.spec.terminator for o in owned.ops[:-1]):
            raise Undetermined
        last = yielded(owned)
        if last is None:
            return not wanted
        values = tuple(last.operands)
        return len(values) == len(wanted) and _same_types(values, wanted)

    def came(s: Subject) -> str:
        last = yielded(getattr(s.op, region))
        return f"yields {show_types(tuple(last.operands))}" if last else "it does not end with a yield"

    def mend(s: Subject) -> str:
        return f"end the region with a `yield` of {show_types(s.op.results)}"

    return Holds(f"`{region}` yields the result types", test, came, mend)


def yield_place(region: str) -> Callable[[Subject], Span | None]:
    """The function that finds where a region yields: its `yield`, or without one its closing brace."""

    def place(s: Subject) -> Span | None:
        owned: Region = getattr(s.op, region)
        last = yielded(owned)
        if last is not None:
            return last.span
        end = owned.span.end
        return Span(owned.span.source, max(owned.span.start, end - 1), end)

    return place


TILE.rules(
    For,
    Row("range", "start stop step", Holds("start, stop and step have one type", _one_type,
        lambda s: ", ".join(str(v.type) for v in (s.op.start, s.op.stop, s.op.step) if v is not None)),
        "start, stop and step have one integer type", FOR),
    Row("step_positive", "step", Holds("step > 0", _positive, lambda s: f"step is {s.facts.constants[s.op.step]}"),
        "a constant step is positive", FOR),
    Row("init_count", "carried initial", equal(count("carried"), count("results")),
        "there is one type for each carried value", FOR),
    Row("init_type", "initial results", Holds("type(initial[i]) = type(result[i])",
        lambda s: _same_types(s.op.initial, s.op.results),
        lambda s: f"{show_types(s.op.initial)} for {show_types(s.op.results)}"),
        "a carried value starts with a value of its type", FOR),
    Row("yield", "", yields("body"), "the region yields one value of each carried type", FOR, at=yield_place("body")),
)  # fmt: skip


@op(TILE, "if", Where.MIXED, IF, "condition << -> ( results ) >> then << else otherwise >>")
class If(Op):
    """Execute the first region if the condition is true, otherwise the second one if there is one.

    The results are what the executed region yields.
    """

    condition: Value = operand(BOOLEAN, "which region is executed", shared=True)
    results: tuple[Value, ...] = results(CARRIED, "what the region yields")
    then: Region = body(doc="executed where the condition is true")
    otherwise: Region | None = body(doc="executed where it is false", optional=True)


TILE.rules(
    If,
    Row("else", "results", Holds("an `if` with results has an `else`",
        lambda s: not s.op.results or s.op.otherwise is not None, lambda s: "there is none"),
        "an `if` that returns values has both regions", IF, "add `else { ... yield (...) }`"),
    Row("then_yield", "", yields("then"), "the first region yields the result types", IF, at=yield_place("then")),
    Row("else_yield", "", yields("otherwise"), "the second region yields the result types", IF,
        at=yield_place("otherwise")),
)  # fmt: skip

YIELDING = (
    "for", "if", "cooperative_matrix_apply", "cooperative_matrix_combine", "cooperative_matrix_load_tensor",
)  # fmt: skip
"""The instructions whose regions end with a `yield`."""

_YIELDING_WORDS = ", ".join(f"`{m}`" for m in YIELDING[:-1]) + f" or `{YIELDING[-1]}`"


@op(TILE, "yield", Where.MIXED, YIELD, "( values )", terminator=True)
class Yield(Op):
    """End a region, and give values to the instruction that the region belongs to."""

    values: tuple[Value, ...] = operands(CARRIED, "the values")


def _yield_last(s: Subject) -> bool:
    return s.facts.last


def _yield_parent(s: Subject) -> bool:
    parent = s.facts.parent
    return parent is not None and parent.spec.mnemonic in YIELDING


TILE.rules(
    Yield,
    Row("parent", "", Holds(f"the region belongs to {', '.join(YIELDING)}", _yield_parent,
        lambda s: f"it stands in `{s.facts.parent.spec.mnemonic}`" if s.facts.parent else "it stands in the function"),
        f"a `yield` ends the region of a {_YIELDING_WORDS}", YIELD),
    Row("last", "", Holds("it is the last instruction of its region", _yield_last, lambda s: "others follow it"),
        "a `yield` is the last instruction of its region", YIELD),
)  # fmt: skip


@op(TILE, "barrier", Where.MIXED, BARRIER, "", tangled=True, by_work_group=True)
class Barrier(Op):
    """Wait until all work-items of the work-group have come here.

    With `.global` or `.local`, what they wrote to that memory before the barrier is seen by all of them after it.
    """

    global_fence: bool = flag("global", "global memory becomes visible to the work-group")
    local_fence: bool = flag("local", "local memory becomes visible to the work-group")


@op(TILE, "print", Where.MIXED, PRINT, "text << , values >>", tangled=True)
class Print(Op):
    """Write a line to standard output: a text, and values behind it.

    In a collective region each work-group writes one line, in an SPMD region each active work-item writes one. A line
    with matrices is one for the subgroup, or work-group, that holds these; all of it comes to the instruction. Lines
    begin with their place and come when the launch has ended, in an order that is always the same: by work-group; in it
    as the program goes; in a region of work-items, by subgroup and lane, or by point of a `foreach`.
    """

    text: str = text("what the line says before the values")
    values: tuple[Value, ...] = operands(
        CARRIED, "what it shows; of matrices, type and some components, and beside these what all agree on", shared=True
    )


def _matrices(s: Subject) -> list[CoopMatrix]:
    return [v.type for v in s.op.values if isinstance(v.type, CoopMatrix)]


def _allowed_around(s: Subject) -> tuple[str, ...]:
    """The instructions in whose regions whoever holds the matrices may be whole."""
    return ("parallel",) if any(m.of_work_group for m in _matrices(s)) else ("parallel", "foreach_tile")


def _around(s: Subject) -> str | None:
    """The instruction that shares out the work around; None in a collective region."""
    known = ("parallel", "foreach", "foreach_tile")
    return next((p.spec.mnemonic for p in s.facts.parents if p.spec.mnemonic in known), None)


def _is_whole(s: Subject) -> bool:
    return not _matrices(s) or _around(s) in _allowed_around(s)


TILE.rules(
    Print,
    Row("scope", "values", Holds("all matrices have one scope", lambda s: len({m.scope for m in _matrices(s)}) <= 1,
        lambda s: " and ".join(sorted({m.scope.value for m in _matrices(s)}))),
        "the matrices of a line are held by a subgroup, or all by the work-group", PRINT, "print them one by one"),
    Row("whole", "values", Holds("matrices are printed in parallel, and those of a subgroup in foreach_tile", _is_whole,
        lambda s: f"it stands in `{around}`" if (around := _around(s)) else "it stands in a collective region"),
        "a matrix is printed where all of its subgroup, or work-group, may be", PRINT),
)  # fmt: skip


def inside_apply(op: Op) -> bool:
    """Whether an instruction has a cooperative matrix among its values, or needs several work-items at once.

    Such an instruction may not stand in a region that is called for each component of a matrix.
    """
    values = (*op.operands, *op.results)
    return op.spec.tangled or any(isinstance(v.type, CoopMatrix) for v in values)
