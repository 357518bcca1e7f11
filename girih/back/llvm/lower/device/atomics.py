"""Atomic accesses to memory that is bytes (`girih.ops.device.atomics`): one active work-item after the other.

Where no other thread can interfere, no atomic instruction is needed.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.atomics import compare_and_swap, each_lane, fence, fence_before_load
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.device.access import BytePlace, read, write
from girih.back.llvm.lower.device.bounds import accessed, place_of
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import addresses, arith
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type, scalar_type, uniform
from girih.ir.core import Value
from girih.ir.types import Number
from girih.ops.device.atomics import (
    AtomicAccess,
    ByteAtomicCompareExchange,
    ByteAtomicLoad,
    ByteAtomicStore,
    ByteAtomicUpdate,
)

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""

_OPCODES = {
    "add": "add",
    "signed_min": "min",
    "signed_max": "max",
    "unsigned_min": "umin",
    "unsigned_max": "umax",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
"""The operators of `atomicrmw` on integers."""

_INTRINSICS = {"signed_min": "smin", "signed_max": "smax", "unsigned_min": "umin", "unsigned_max": "umax"}


def _accessed(
    code: KernelCode, op: AtomicAccess, value: Value, access: Callable[[BytePlace], list[Val]]
) -> Scalar | None:
    """What an access to a number gives, which lies inside the memory; None for what gives nothing."""
    memory = code.memref(op.memory)
    place = place_of(code, op, memory, value.type, 1)
    found = accessed(code, op, memory, place, access)
    return uniform(scalar_type(value.type), found[0]) if found else None


def _scope(code: KernelCode, op: AtomicAccess) -> str | None:
    return code.atomic_scope(op.scope, local=code.memref(op.memory).local)


def _pointers(code: KernelCode, place: BytePlace) -> Val:
    """The address of the number: one, or one for each lane."""
    if place.uniform:
        return code.w.at(place.pointer, place.offset.part)
    return code.w.at(place.pointer, addresses.vector(code.w, place.offset, code.lanes))


@LOWERINGS.of(ByteAtomicLoad)
def atomic_load(code: KernelCode, op: ByteAtomicLoad) -> None:
    """Lower an atomic load; a number is loaded by one instruction."""
    scope = _scope(code, op)
    fence_before_load(code, op.semantics, scope)

    def load(place: BytePlace) -> list[Val]:
        if not place.uniform:
            return [held.part for held in read(code, place, op.result.type)]
        type = place.element
        raw = code.w.atomic_load(memory_type(type), _pointers(code, place), type.size, scope or "")
        return [from_memory(code.w, code.features, type, raw)]

    held = _accessed(code, op, op.result, load)
    fence(code, op.semantics, scope)
    code.set(op.result, held)


@LOWERINGS.of(ByteAtomicStore)
def atomic_store(code: KernelCode, op: ByteAtomicStore) -> None:
    """Lower an atomic store; a number is stored by one instruction."""

    def store(place: BytePlace) -> list[Val]:
        write(code, place, [code.scalar(op.value)])
        return []

    fence(code, op.semantics, _scope(code, op))
    _accessed(code, op, op.value, store)


@LOWERINGS.of(ByteAtomicUpdate)
def atomic_update(code: KernelCode, op: ByteAtomicUpdate) -> None:
    """Lower an update by every active work-item."""

    def update(type: Number, pointer: Val, scope: str | None, *operands: Val) -> Val:
        return _updated(code, op.operator, type, pointer, scope, operands[0])

    _replace(code, op, update, op.value)


@LOWERINGS.of(ByteAtomicCompareExchange)
def atomic_compare_exchange(code: KernelCode, op: ByteAtomicCompareExchange) -> None:
    """Lower a replacement of what is as expected, by every active work-item."""

    def exchange(type: Number, pointer: Val, scope: str | None, *operands: Val) -> Val:
        return _exchanged(code, type, pointer, scope, *operands)

    _replace(code, op, exchange, op.value, op.comparator)


def _replace(
    code: KernelCode,
    op: ByteAtomicUpdate | ByteAtomicCompareExchange,
    replace: Callable[..., Val],
    *operands: Value,
) -> None:
    """Write code that replaces a number for one lane after the other; the result has the numbers before."""
    scope = _scope(code, op)
    given = [code.vector(code.scalar(operand))[0] for operand in operands]

    def each(place: BytePlace) -> list[Val]:
        type = place.element
        return [
            each_lane(code, _pointers(code, place), given, lambda pointer, *one: replace(type, pointer, scope, *one))
        ]

    fence(code, op.semantics, scope)
    held = _accessed(code, op, op.value, each)
    fence(code, op.semantics, scope)
    code.set(op.result, held)


def _combined(code: KernelCode, operator: str, type: Number, a: Val, b: Val) -> Val:
    if operator == "exchange":
        return b
    name = _INTRINSICS.get(operator)
    if name is not None:
        return code.w.overloaded(name, a, b)
    (new,) = arith.binary(code.w, code.features, operator, type, (a,), (b,))
    return new


def _updated(code: KernelCode, operator: str, type: Number, pointer: Val, scope: str | None, value: Val) -> Val:
    """The number at an address before it is replaced by its combination with another one, in their register form."""
    w, features, stored = code.w, code.features, memory_type(type)
    if scope is None:
        old = from_memory(w, features, type, w.load(stored, pointer, type.size))
        w.store(to_memory(w, features, type, _combined(code, operator, type, old, value)), pointer, type.size)
        return old
    if operator == "exchange":
        whole = f"i{8 * type.size}"
        new = w.convert("bitcast", to_memory(w, features, type, value), whole)
        found = w.convert("bitcast", w.atomic_update("xchg", pointer, new, type.size, scope), stored)
        return from_memory(w, features, type, found)
    if type.family == "integer":
        return w.atomic_update(_OPCODES[operator], pointer, value, type.size, scope)

    def combined(old: Val) -> Val:
        new = _combined(code, operator, type, from_memory(w, features, type, old), value)
        return to_memory(w, features, type, new)

    return from_memory(w, features, type, compare_and_swap(w, stored, type.size, pointer, combined, scope))


def _exchanged(code: KernelCode, type: Number, pointer: Val, scope: str | None, value: Val, comparator: Val) -> Val:
    """The number at an address before it is replaced, if its bits are those of the comparator."""
    w, features, stored = code.w, code.features, memory_type(type)
    whole = f"i{8 * type.size}"
    new, expected = (w.convert("bitcast", to_memory(w, features, type, held), whole) for held in (value, comparator))
    if scope is None:
        old = w.load(whole, pointer, type.size)
        w.store(w.select(w.compare("eq", old, expected), new, old), pointer, type.size)
    else:
        old = w.found(w.compare_exchange(pointer, expected, new, type.size, scope), whole)
    return from_memory(w, features, type, w.convert("bitcast", old, stored))
