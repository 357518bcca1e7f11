"""Up to where the values of a function are needed."""

from __future__ import annotations

from girih.ir.core import Function, Op, Region, Value


def last_uses(function: Function) -> dict[Value, Op]:
    """The last instruction, in program order, that reads each value; its region's owner if it stands in an inner one.

    An instruction in a region other than the value's own counts as the instruction of the value's region around it.
    """
    found: dict[Value, Op] = {}
    home: dict[Value, Region] = {p.value: function.body for p in function.parameters}

    def visit(region: Region, owners: dict[Region, Op]) -> None:
        for op in region.ops:
            for value in op.operands:
                inner = home.get(value)
                found[value] = op if inner is region or inner is None else owners.get(inner, op)
            for own in op.regions:
                for value in op.bindings:
                    home[value] = own
                visit(own, {**owners, region: op})
            for value in op.results:
                home[value] = region

    visit(function.body, {})
    return found
