"""The values that regions use from outside."""

from __future__ import annotations

from girih.ir.core import Op, Value


def free_values(op: Op) -> list[Value]:
    """The values from outside that the regions of an instruction use, each once, in program order."""
    inner: set[Value] = set(op.bindings)
    found: dict[Value, None] = {}
    stack = [o for region in reversed(op.regions) for o in reversed(region.ops)]
    while stack:
        one = stack.pop()
        inner.update(one.bindings)
        inner.update(one.results)
        found.update((v, None) for v in one.operands)
        for region in reversed(one.regions):
            stack.extend(reversed(region.ops))
    return [v for v in found if v not in inner]
