"""Control flow that is left from inside: `block`, `loop`, `branch`, `leave`, and places that are never reached.

This is the shape of structured control flow in SPIR-V (2.11): a merge block is the end of a `block`, a back edge is a
`leave` of the `loop` around it. Work-items that leave a construct wait at its end for the others that are in it.
"""

from __future__ import annotations

from girih.ir.core import Op, Region, Value
from girih.ir.define import Where, binding, body, integer, op, operand, operands, results, text
from girih.ir.kinds import BOOLEAN, CARRIED
from girih.ops.device.language import DEVICE

STRUCTURED = 'SPIR-V 2.11 "Structured Control Flow"'


@op(DEVICE, "block", Where.SPMD, STRUCTURED, "<< -> ( results ) >> body")
class Block(Op):
    """Execute the region once. A `leave` inside ends it early; the results are what each work-item left with.

    Work-items that come to the end of the region leave without values: then the block has no results.
    """

    results: tuple[Value, ...] = results(CARRIED, "what the work-items left with")
    body: Region = body(doc="what is left with the results")


@op(DEVICE, "loop", Where.SPMD, STRUCTURED, "<< init ( carried=initial ) >> body")
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


@op(DEVICE, "unreachable", Where.SPMD, "SPIR-V 3.52.17 OpUnreachable", "text", terminator=True)
class Unreachable(Op):
    """A place that no work-item comes to. One that does has undefined behaviour: run.undefined_operation."""

    text: str = text("what the place is, for the finding")
