"""What instructions do to memory: what one writes, and what a kernel reads and writes through all views of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from girih.ir.core import Function, Op, Value
from girih.ir.define import Operand
from girih.ir.types import GroupType, MemRef


def writes(op: Op) -> bool:
    """Whether an instruction writes to memory, itself or in a region."""
    return op.spec.writes or any(writes(inner) for region in op.regions for inner in region.ops)


@dataclass(slots=True)
class MemoryCounts:
    """Static counts: instructions that read or write a value's memory, and that name the value at all."""

    reads: int = 0
    writes: int = 0


@dataclass(slots=True)
class MemoryUse:
    """By value: memory uses of what is allocated or passed in, and how often each value is named."""

    memory: dict[Value, MemoryCounts] = field(default_factory=dict)
    uses: Counter[Value] = field(default_factory=Counter)


def memory_use(function: Function) -> MemoryUse:
    """The reads and writes of every parameter and allocation of a function."""
    found = MemoryUse({p.value: MemoryCounts() for p in function.parameters if isinstance(p.type, MemRef | GroupType)})
    roots = {value: value for value in found.memory}
    for op in function.walk():
        found.uses.update(op.operands)
        _count(op, roots, found)
        for result in op.results:
            if isinstance(result.type, MemRef | GroupType):
                source = next((roots[v] for v in op.operands if v in roots), None)
                roots[result] = result if source is None else source
                found.memory.setdefault(roots[result], MemoryCounts())
    return found


def written_parameters(function: Function) -> set[Value]:
    """The parameters whose memory the kernel may write, also through views and groups."""
    memory = memory_use(function).memory
    return {p.value for p in function.parameters if p.value in memory and memory[p.value].writes}


def _count(op: Op, roots: dict[Value, Value], found: MemoryUse) -> None:
    # Loading a memref out of a group reads a pointer, not the memory behind it.
    pointer = any(isinstance(result.type, MemRef) for result in op.results)
    for name, role in op.spec.roles.items():
        value = getattr(op, name) if isinstance(role, Operand) else None
        if not isinstance(role, Operand) or not isinstance(value, Value) or value not in roots:
            continue
        use = found.memory[roots[value]]
        use.reads += role.reads and not pointer
        use.writes += role.writes
