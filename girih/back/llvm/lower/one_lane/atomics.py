"""Atomic loads and stores where other work-items are other threads: by atomic instructions, wherever the element is."""

from __future__ import annotations

from girih.back.llvm.lower.access import address, locate, part_count, part_type
from girih.back.llvm.lower.atomics import fence, fence_before_load
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type
from girih.ops.tile.memory import AtomicLoad, AtomicStore

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""


@LOWERINGS.of(AtomicLoad)
def atomic_load(code: OneLaneCode, op: AtomicLoad) -> None:
    """Lower an atomic load; the parts of a complex number are loaded by instructions of their own."""
    memref = code.memref(op.tensor)
    place = locate(code, op, memref, op.indices)
    scope = code.atomic_scope(op.scope, local=memref.local) or ""
    one = part_type(place.element)
    fence_before_load(code, op.semantics, scope)
    raw = [
        code.w.atomic_load(memory_type(one), address(code, place, k), one.size, scope)
        for k in range(part_count(place.element))
    ]
    fence(code, op.semantics, scope)
    code.set(op.result, Scalar(place.element, tuple(from_memory(code.w, code.features, one, x) for x in raw)))


@LOWERINGS.of(AtomicStore)
def atomic_store(code: OneLaneCode, op: AtomicStore) -> None:
    """Lower an atomic store; in a collective region one thread stores."""
    memref = code.memref(op.tensor)
    place = locate(code, op, memref, op.indices)
    scope = code.atomic_scope(op.scope, local=memref.local) or ""
    one = part_type(place.element)
    parts = code.vector(code.scalar(op.value))

    def store() -> None:
        for number, part in enumerate(parts):
            held = to_memory(code.w, code.features, one, part)
            code.w.atomic_store(held, address(code, place, number), one.size, scope)

    fence(code, op.semantics, scope)
    code.once(store, apart=code.varies(op.tensor, *op.indices))
