"""The last uses of a function's values."""

from __future__ import annotations

from girih.ir.core import Function, Op, Region, Value


def last_uses(function: Function) -> dict[Value, Op]:
    """The last instruction, in program order, that reads each value.

    An instruction in an inner region counts as the instruction of the value's own region that holds it.
    """
    last: dict[Value, Op] = {}
    home: dict[Value, Region] = {p.value: function.body for p in function.parameters}

    def visit(region: Region, owners: dict[Region, Op]) -> None:
        for op in region.ops:
            for value in op.operands:
                inner = home.get(value)
                last[value] = op if inner is region or inner is None else owners.get(inner, op)
            for own in op.regions:
                for value in op.bindings:
                    home[value] = own
                visit(own, {**owners, region: op})
            for value in op.results:
                home[value] = region

    visit(function.body, {})
    return last
