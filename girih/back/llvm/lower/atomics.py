"""Atomic loads, stores and updates (`girih.ops.tile.memory`).

The active work-items update one after the other, each rounding in the element type; each gets the value from before its
own update. Memory that no other thread sees, and scopes within a work-group, need no atomic instruction if one thread
executes a work-group. The parts of complex numbers are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, bits, integer, is_pointer, poison, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.access import address, full_mask, locate, part_count, part_type, read, write
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type, uniform
from girih.ir.types import BF16, F16, MemRef, Number
from girih.ops.tile.memory import (
    AtomicAdd,
    AtomicLoad,
    AtomicMax,
    AtomicMin,
    AtomicStore,
    AtomicUpdate,
    Semantics,
)

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""

OPERATORS: dict[type[AtomicUpdate], str] = {AtomicAdd: "add", AtomicMin: "min", AtomicMax: "max"}

_ORDERING = {
    Semantics.RELAXED: "",
    Semantics.ACQUIRE: "acquire",
    Semantics.RELEASE: "release",
    Semantics.ACQUIRE_RELEASE: "acq_rel",
    Semantics.SEQUENTIALLY_CONSISTENT: "seq_cst",
}


def fence(code: KernelCode, semantics: Semantics, scope: str | None) -> None:
    """Order the accesses around an atomic one."""
    ordering = _ORDERING[semantics]
    if ordering:
        code.w.fence(ordering, scope or "")


def fence_before_load(code: KernelCode, semantics: Semantics, scope: str | None) -> None:
    """Order what was stored before a load that is sequentially consistent: no other load needs anything there.

    A fence before such stores and behind such loads alone would let a load pass the store before it.
    """
    if semantics is Semantics.SEQUENTIALLY_CONSISTENT:
        fence(code, semantics, scope)


@LOWERINGS.of(AtomicLoad)
def atomic_load(code: KernelCode, op: AtomicLoad) -> None:
    """Lower an atomic load; an element of at most eight bytes is loaded by one instruction."""
    memref = code.memref(op.tensor)
    place = locate(code, op, memref, op.indices)
    scope = code.atomic_scope(op.scope, local=memref.local) or ""
    fence_before_load(code, op.semantics, scope)
    if place.uniform:
        one = part_type(place.element)
        raw = [
            code.w.atomic_load(memory_type(one), address(code, place, k), one.size, scope)
            for k in range(part_count(place.element))
        ]
        held = Scalar(place.element, tuple(from_memory(code.w, code.features, one, x) for x in raw))
    else:
        held = read(code, place)
    fence(code, op.semantics, scope)
    code.set(op.result, held)


@LOWERINGS.of(AtomicStore)
def atomic_store(code: KernelCode, op: AtomicStore) -> None:
    """Lower an atomic store; an element of at most eight bytes is stored by one instruction."""
    memref = code.memref(op.tensor)
    place = locate(code, op, memref, op.indices)
    fence(code, op.semantics, code.atomic_scope(op.scope, local=memref.local))
    apart = code.varies(op.tensor, *op.indices)
    code.once(lambda: write(code, place, code.scalar(op.value)), apart=apart)


@LOWERINGS.of(AtomicAdd, AtomicMin, AtomicMax)
def atomic_update(code: KernelCode, op: AtomicUpdate) -> None:
    """Lower an atomic update by every active work-item, also in a collective region."""
    memref = code.memref(op.tensor)
    if not isinstance(op.tensor.type, MemRef):
        raise TypeError("an atomic update is of a memref")
    place = locate(code, op, memref, op.indices)
    operator = OPERATORS[op.__class__]
    scope = code.atomic_scope(op.scope, local=memref.local)
    code.in_step()
    fence(code, op.semantics, scope)
    parts = code.vector(code.scalar(op.value))
    one = part_type(place.element)
    olds = []
    for number, part in enumerate(parts):
        pointers = address(code, place, number)
        olds.append(each_lane(code, pointers, [part], lambda p, v: update(code, operator, one, p, v, scope)))
    fence(code, op.semantics, scope)
    code.in_step()
    code.set(op.result, uniform(place.element, *olds))


def each_lane(code: KernelCode, pointers: Val, values: Sequence[Val], body: Callable[..., Val]) -> Val:
    """What `body` gives for the pointer and the values of each active work-item, one after the other.

    It gives a number of the type that the values have.
    """
    if code.lanes == 1:
        return body(pointers, *values)
    w = code.w
    count = code.lanes
    element = scalar(values[0].type)
    size = bits(element) // 8
    held, found = [code.scratch(count * size) for _ in values], code.scratch(count * size)
    for given, memory in zip(values, held, strict=True):
        w.store(given, memory, size)
    w.store(zero(values[0].type), found, size)
    where: Val | None = None
    if not is_pointer(pointers.type):
        where = code.scratch(count * 8)
        w.store(pointers, where, 8)
    active: Val | None = None
    if code.mask is not None:
        active = code.scratch(count)
        w.store(w.convert("zext", full_mask(code), "i8"), active, 1)
    with w.loop(0, count) as loop:
        lane = loop.index

        def one() -> None:
            offset = w.mul(lane, size)
            pointer = pointers if where is None else w.load(scalar(pointers.type), w.at(where, w.mul(lane, 8)), 8)
            given = [w.load(element, w.at(memory, offset), size) for memory in held]
            w.store(body(pointer, *given), w.at(found, offset), size)

        if active is None:
            one()
        else:
            flag = w.load("i8", w.at(active, lane), 1)
            with w.when(w.compare("ne", flag, integer(0, "i8"))):
                one()
    return w.load(wide(element, count), found, size)


_NARROW_FLOATS = {F16: "half", BF16: "bfloat"}
"""LLVM's types for floats that are integers in memory."""


def update(code: KernelCode, operator: str, type: Number, pointer: Val, value: Val, scope: str | None) -> Val:
    """The number at an address before it is replaced by its combination with a value, both in their register form.

    `scope` is one that `Executing.atomic_scope` gives: for None, accesses are not atomic.
    """
    w = code.w
    features = code.features
    stored = memory_type(type)

    def combined(old: Val) -> Val:
        (new,) = arith.binary(w, features, operator, type, (from_memory(w, features, type, old),), (value,))
        return to_memory(w, features, type, new)

    if scope is None:
        before = w.load(stored, pointer, type.size)
        w.store(combined(before), pointer, type.size)
        return from_memory(w, features, type, before)
    if type.family == "integer":
        return w.atomic_update(operator, pointer, value, type.size, scope)
    if operator == "add":
        summed = _NARROW_FLOATS.get(type, stored)
        given = w.convert("bitcast", to_memory(w, features, type, value), summed)
        old = w.atomic_sum(summed, pointer, given, scope)
        if old is not None:
            return from_memory(w, features, type, w.convert("bitcast", old, stored))
    return from_memory(w, features, type, compare_and_swap(w, stored, type.size, pointer, combined, scope))


def compare_and_swap(
    w: Writer, stored: str, size: int, pointer: Val, combined: Callable[[Val], Val], scope: str
) -> Val:
    """The value before a replacement that is tried until no other thread has written in between."""
    whole = f"i{8 * size}"
    first = w.atomic_load(whole, pointer, size, scope)
    return _replaced(w, stored, size, pointer, first, combined, scope)


def exchange_halves(w: Writer, stored: str, pointer: Val, combined: Callable[[Val], Val], scope: str) -> None:
    """Replace 16 bytes, tried until no other thread has written in between; for machines that can exchange as many.

    What is there at first is read as two halves: where another thread writes between them, the exchange fails.
    """
    low, high = (w.atomic_load("i64", w.at(pointer, half), 8, scope) for half in (0, 8))
    pair = w.insert(w.insert(poison("<2 x i64>"), low, 0), high, 1)
    _replaced(w, stored, 16, pointer, w.convert("bitcast", pair, "i128"), combined, scope)


def _replaced(
    w: Writer, stored: str, size: int, pointer: Val, first: Val, combined: Callable[[Val], Val], scope: str
) -> Val:
    whole = f"i{8 * size}"

    def again(values: tuple[Val, ...]) -> list[Val]:
        guess, _ = values
        new = w.convert("bitcast", combined(w.convert("bitcast", guess, stored)), whole)
        pair = w.compare_exchange(pointer, guess, new, size, scope)
        old, won = w.found(pair, whole), w.exchanged(pair)
        return [old, w.failed(won)]

    results = w.repeat([first, integer(1, "i1")], lambda values: values[1], again)
    return w.convert("bitcast", results[0], stored)
