"""The values that regions use from outside."""

from __future__ import annotations

from girih.ir.core import Op, Value


def free_values(op: Op) -> list[Value]:
    """The values from outside that the regions of an instruction use, each once, in program order."""
    inner: set[Value] = set(op.bindings)
    used: dict[Value, None] = {}
    stack = [o for region in reversed(op.regions) for o in reversed(region.ops)]
    while stack:
        instruction = stack.pop()
        inner.update(instruction.bindings)
        inner.update(instruction.results)
        used.update((v, None) for v in instruction.operands)
        for region in reversed(instruction.regions):
            stack.extend(reversed(region.ops))
    return [v for v in used if v not in inner]
