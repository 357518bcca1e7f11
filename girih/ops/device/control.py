"""Control flow that is left from inside: `block`, `loop`, `branch`, `leave`, and places that are never reached.

This is the shape of structured control flow in SPIR-V (2.11): a merge block is the end of a `block`, a back edge is a
`leave` of the `loop` around it. Work-items that leave a construct wait at its end for the others that are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from girih.ir.core import Op, Region, Value
from girih.ir.define import Where, binding, body, integer, op, operand, operands, results, text
from girih.ir.kinds import BOOLEAN, CARRIED
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.types import ERROR, Type
from girih.ops.device.language import DEVICE
from girih.ops.tile.control import show_types
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined
from girih.rules.terms import count

STRUCTURED = 'SPIR-V 2.11 "Structured Control Flow"'
UNREACHABLE = "SPIR-V 3.52.17 OpUnreachable"


def _loop_bindings(fields: Mapping[str, Any], names: Mapping[str, int]) -> dict[str, tuple[Type, ...]]:
    return {"carried": tuple(value.type for value in fields["initial"])}


@op(DEVICE, "block", Where.SPMD, STRUCTURED, "<< -> ( results ) >> body")
class Block(Op):
    """Execute the region once. A `leave` inside ends it early; the results are what each work-item left with.

    Work-items that come to the end of the region leave without values: then the block has no results.
    """

    results: tuple[Value, ...] = results(CARRIED, "what the work-items left with")
    body: Region = body(doc="what is left with the results")


@op(DEVICE, "loop", Where.SPMD, STRUCTURED, "<< init ( carried=initial ) >> body", binding_types=_loop_bindings)
class Loop(Op):
    """Execute the region again and again: a `leave` of the loop itself begins the next iteration with its values.

    A work-item is through with the loop when it leaves a construct around it, or comes to the end of the region.
    """

    carried: tuple[Value, ...] = binding("values that go from one iteration to the next", many=True)
    initial: tuple[Value, ...] = operands(CARRIED, "their first values")
    body: Region = body(doc="one iteration")


@op(DEVICE, "branch", Where.SPMD, STRUCTURED, "condition then << else otherwise >>")
class Branch(Op):
    """Execute the first region where the condition holds, the second one, if there is one, elsewhere.

    It is no construct that can be left, and gives no values: regions leave a `block` around it with them.
    """

    condition: Value = operand(BOOLEAN, "which region is executed")
    then: Region = body(doc="executed where the condition holds")
    otherwise: Region | None = body(doc="executed where it does not", optional=True)


@op(DEVICE, "leave", Where.SPMD, STRUCTURED, "depth << ( values ) >>", terminator=True)
class Leave(Op):
    """Leave the construct, a `block` or `loop`, that is the `depth`-th around this place; 0 is the innermost.

    A block ends with the values as results. A loop begins its next iteration with the values as carried ones.
    """

    depth: int = integer("how many constructs around this place lie inside the one that is left")
    values: tuple[Value, ...] = operands(CARRIED, "the results of the block, or the carried values of the loop")


@op(DEVICE, "unreachable", Where.SPMD, UNREACHABLE, "text", terminator=True)
class Unreachable(Op):
    """A place that no work-item comes to. One that does has undefined behaviour: run.undefined_operation."""

    text: str = text("what the place is, for the finding")


# --- what leaves what ------------------------------------------------------------------------


Construct = Block | Loop
"""What a `leave` can leave."""


def constructs_around(parents: list[Op]) -> list[Construct]:
    """The constructs around a place that can be left from there, from inside to outside; `parents` end innermost.

    A region that belongs to another instruction, such as that of a `cooperative_matrix_apply`, is not left.
    """
    found: list[Construct] = []
    for parent in reversed(parents):
        if isinstance(parent, Block | Loop):
            found.append(parent)
        elif not isinstance(parent, Branch):
            break
    return found


def given_by(construct: Construct) -> tuple[Value, ...]:
    """What the values of a `leave` of a construct become: results of a block, or carried values of a loop."""
    return construct.results if isinstance(construct, Block) else construct.carried


def comes_to_its_end(region: Region) -> bool:
    """Whether some work-item may come to the end of a region, as its last instruction tells."""
    last = region.terminator
    match last:
        case Leave() | Unreachable():
            return False
        case Branch():
            return last.otherwise is None or comes_to_its_end(last.then) or comes_to_its_end(last.otherwise)
        case Block():
            return comes_to_its_end(last.body) or any(depth == 0 for depth in depths_left(last.body))
        case Loop():
            return comes_to_its_end(last.body)
        case _:
            return True


def depths_left(region: Region) -> Iterator[int]:
    """How many constructs around a region lie inside the one that each `leave` in it leaves.

    What is left inside of the region does not count.
    """
    pending = [(region, 0)]
    while pending:
        inner, inside = pending.pop()
        for one in inner.ops:
            if isinstance(one, Leave) and one.depth >= inside:
                yield one.depth - inside
            elif isinstance(one, Block | Loop):
                pending.append((one.body, inside + 1))
            elif isinstance(one, Branch):
                pending += [(side, inside) for side in one.regions]


# --- rules -----------------------------------------------------------------------------------


def _target(s: Subject) -> Construct:
    around = constructs_around(s.facts.parents)
    if not 0 <= s.op.depth < len(around):
        raise Undetermined
    return around[int(s.op.depth)]


def _exists(s: Subject) -> bool:
    return 0 <= int(s.op.depth) < len(constructs_around(s.facts.parents))


def _is_last(s: Subject) -> bool:
    return s.facts.last


def _agree(left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(a.type == b.type or ERROR in (a.type, b.type) for a, b in pairs)


LAST = Holds("it is the last instruction of its region", _is_last, lambda s: "others follow it")

DEVICE.rules(
    Block,
    Row("end", "results", Holds("a block with results is left with a `leave` everywhere",
        lambda s: not s.op.results or not comes_to_its_end(s.op.body), lambda s: "its region may come to its end"),
        "a block that has results is left with values", STRUCTURED, "end the region with a `leave`"),
)  # fmt: skip
DEVICE.rules(
    Loop,
    Row("init_count", "carried initial", equal(count("carried"), count("initial")),
        "there is one first value for each carried one", STRUCTURED),
    Row("init_type", "initial", Holds("type(initial[i]) = type(carried[i])",
        lambda s: len(s.op.initial) != len(s.op.carried) or _agree(s.op.initial, s.op.carried),
        lambda s: f"{show_types(s.op.initial)} for {show_types(s.op.carried)}"),
        "a carried value starts with a value of its type", STRUCTURED),
)  # fmt: skip
DEVICE.rules(
    Leave,
    Row("depth", "", Holds("`depth` constructs, and one more, are around it", _exists,
        lambda s: f"depth is {s.op.depth}, and {len(constructs_around(s.facts.parents))} are around it"),
        "a `leave` leaves a block or loop around it", STRUCTURED,
        "0 is the innermost; a `branch` is none, and what computes components is not left"),
    Row("types", "values", Holds("the values have the types of what they become",
        lambda s: _agree(s.op.values, given_by(_target(s))),
        lambda s: f"{show_types(s.op.values)} for {show_types(given_by(_target(s)))}"),
        "a block is left with its results, a loop with its carried values", STRUCTURED),
    Row("last", "", LAST, "a `leave` is the last instruction of its region", STRUCTURED),
)  # fmt: skip
DEVICE.rules(
    Unreachable,
    Row("last", "", LAST, "`unreachable` is the last instruction of its region", UNREACHABLE),
)  # fmt: skip
