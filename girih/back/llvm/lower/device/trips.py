"""How often loops of shaders are executed at most, where constants tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from girih.analysis.constructs import Constructs
from girih.ir.core import Op, Region, Value
from girih.ops.device.control import Block, Branch, Leave, Loop
from girih.ops.tile.arith import Binary, Comparison, Unary

_THROUGH = {"less_than": False, "greater_than_equal": True}
"""Comparisons of a counter with its end, and what they give where the loop is through."""


def most_trips(op: Loop, known: Constructs, constants: Mapping[Value, int]) -> int | None:
    """The number of iterations that a loop with a counter between constants has at most; None for other loops.

    The first branch of an iteration leaves the loop where the counter is not below a constant, and each iteration adds
    the same constant to the counter.
    """
    made = {result: inner for inner in inside(op.body) for result in inner.results}
    compared = _condition(op, known, made)
    if compared is None or compared.a not in op.carried or compared.b not in constants:
        return None
    at = op.carried.index(compared.a)
    first = constants.get(op.initial[at])
    steps = {_step(made.get(leave.values[at]), compared.a, constants) for leave in known.leaves[op]}
    step = steps.pop() if len(steps) == 1 else None
    if first is None or step is None or step <= 0:
        return None
    return max(0, -((first - constants[compared.b]) // step))


def inside(region: Region) -> Iterator[Op]:
    """The instructions of a region, and of those within it."""
    pending = [region]
    while pending:
        one = pending.pop()
        yield from one.ops
        pending += [inner for op in one.ops for inner in op.regions]


def _condition(op: Loop, known: Constructs, made: Mapping[Value, Op]) -> Comparison | None:
    """The comparison by which the first branch of each iteration leaves a loop."""
    region = op.body
    while (control := next((one for one in region.ops if one.regions), None)) is not None:
        if isinstance(control, Block):
            region = control.body
            continue
        if not isinstance(control, Branch):
            return None
        last = control.then.terminator
        if not isinstance(last, Leave) or op not in known.through[last]:
            return None
        found, through = made.get(control.condition), True
        if isinstance(found, Unary) and found.spec.mnemonic == "not":
            found, through = made.get(found.a), False
        if isinstance(found, Comparison) and _THROUGH.get(found.spec.mnemonic) is through:
            return found
        return None
    return None


def _step(following: Op | None, counter: Value, constants: Mapping[Value, int]) -> int | None:
    """What is added to a counter, if that is how its next value is made."""
    if not isinstance(following, Binary) or following.spec.mnemonic != "add" or following.a is not counter:
        return None
    return constants.get(following.b)
