"""Atomic loads, stores and updates (`girih.ops.tile.memory`).

The active work-items update one after the other, each rounding in the element type; all get the value that they found.
Memory that no other thread sees, and scopes within a work-group, need no atomic instruction: a work-group is executed
by one thread. The parts of complex numbers are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from girih.back.llvm.emit.text import Val, bits, integer, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.access import address, full_mask, locate, part_count, part_type, read, write
from girih.back.llvm.lower.code import Lowering, lowering
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type, uniform
from girih.ir.core import Function
from girih.ir.types import MemRef, Number
from girih.ops.tile.memory import (
    AtomicAdd,
    AtomicLoad,
    AtomicMax,
    AtomicMin,
    AtomicStore,
    AtomicUpdate,
    Scope,
    Semantics,
)

OPERATORS: dict[type[AtomicUpdate], str] = {AtomicAdd: "add", AtomicMin: "min", AtomicMax: "max"}

_ORDERING = {
    Semantics.RELAXED: "",
    Semantics.ACQUIRE: "acquire",
    Semantics.RELEASE: "release",
    Semantics.ACQUIRE_RELEASE: "acq_rel",
    Semantics.SEQUENTIALLY_CONSISTENT: "seq_cst",
}


def fence(code: Lowering, semantics: Semantics) -> None:
    """Order the accesses around an atomic one."""
    ordering = _ORDERING[semantics]
    if ordering:
        code.w.line(f"fence {ordering}")


def is_private(code: Lowering, local: bool) -> bool:
    """Whether only this thread can meet an access: local memory, or a kernel without wider scopes."""
    return local or not _has_wide_scope(code.function)


@lru_cache(maxsize=64)
def _has_wide_scope(function: Function) -> bool:
    wide = (Scope.DEVICE, Scope.CROSS_DEVICE)
    return any(getattr(op, "scope", None) in wide for op in function.walk())


@lowering(AtomicLoad)
def atomic_load(code: Lowering, op: AtomicLoad) -> None:
    """Elements of at most eight bytes are loaded whole."""
    memref = code.memref(op.tensor)
    place = locate(code, op, memref, op.indices)
    if place.uniform:
        one = part_type(place.element)
        raw = [
            _load(code.w, memory_type(one), address(code, place, k), one.size) for k in range(part_count(place.element))
        ]
        held = Scalar(place.element, tuple(from_memory(code.w, code.target.features, one, x) for x in raw))
    else:
        held = read(code, place)
    fence(code, op.semantics)
    code.set(op.result, held)


def _load(w: Writer, type: str, pointer: Val, size: int) -> Val:
    return w.effect(type, f"load atomic {type}, {pointer} monotonic, align {size}")


@lowering(AtomicStore)
def atomic_store(code: Lowering, op: AtomicStore) -> None:
    """Elements of at most eight bytes are stored whole."""
    place = locate(code, op, code.memref(op.tensor), op.indices)
    fence(code, op.semantics)
    write(code, place, code.scalar(op.value))


@lowering(AtomicAdd, AtomicMin, AtomicMax)
def atomic_update(code: Lowering, op: AtomicUpdate) -> None:
    """Every active work-item updates once, also in a collective region."""
    memref = code.memref(op.tensor)
    if not isinstance(op.tensor.type, MemRef):
        raise TypeError("an atomic update is of a memref")
    place = locate(code, op, memref, op.indices)
    operator = OPERATORS[op.__class__]
    private = is_private(code, memref.local)
    fence(code, op.semantics)
    parts = code.vector(code.scalar(op.value))
    one = part_type(place.element)
    olds = []
    for number, part in enumerate(parts):
        pointers = address(code, place, number)
        olds.append(_each_lane(code, pointers, part, one, lambda p, v: update(code, operator, one, p, v, private)))
    fence(code, op.semantics)
    code.set(op.result, uniform(place.element, *olds))


def _each_lane(code: Lowering, pointers: Val, values: Val, type: Number, body: Callable[[Val, Val], Val]) -> Val:
    """Call `body` with the pointer and value of one active work-item after the other; the values that it gives."""
    w = code.w
    count = code.lanes
    element = scalar(values.type)
    size = bits(element) // 8
    held, found = code.take(count * size), code.take(count * size)
    w.store(values, held, size)
    w.store(zero(values.type), found, size)
    where: Val | None = None
    if pointers.type != "ptr":
        where = code.take(count * 8)
        w.store(pointers, where, 8)
    active: Val | None = None
    if code.mask is not None:
        active = code.take(count)
        w.store(w.convert("zext", full_mask(code), "i8"), active, 1)
    with w.loop(0, count) as loop:
        lane = loop.index

        def one() -> None:
            offset = w.mul(lane, size)
            pointer = pointers if where is None else w.load("ptr", w.at(where, w.mul(lane, 8)), 8)
            value = w.load(element, w.at(held, offset), size)
            w.store(body(pointer, value), w.at(found, offset), size)

        if active is None:
            one()
        else:
            flag = w.load("i8", w.at(active, lane), 1)
            with w.when(w.compare("ne", flag, integer(0, "i8"))):
                one()
    return w.load(wide(element, count), found, size)


def update(code: Lowering, operator: str, type: Number, pointer: Val, value: Val, private: bool) -> Val:
    """Replace what lies at an address by its combination with a value, both in registers; what it was before."""
    w = code.w
    features = code.target.features
    stored = memory_type(type)

    def combined(old: Val) -> Val:
        (new,) = arith.binary(w, features, operator, type, (from_memory(w, features, type, old),), (value,))
        return to_memory(w, features, type, new)

    if private:
        old = w.load(stored, pointer, type.size)
        w.store(combined(old), pointer, type.size)
        return from_memory(w, features, type, old)
    if type.family == "integer":
        text = f"atomicrmw {operator} {pointer}, {value} monotonic, align {type.size}"
        return w.effect(stored, text)
    return from_memory(w, features, type, _compare_and_swap(w, stored, type.size, pointer, combined))


def _compare_and_swap(w: Writer, stored: str, size: int, pointer: Val, combined: Callable[[Val], Val]) -> Val:
    """Try until nobody else came in between."""
    whole = f"i{8 * size}"
    first = _load(w, whole, pointer, size)

    def again(values: tuple[Val, ...]) -> list[Val]:
        guess, _ = values
        new = w.convert("bitcast", combined(w.convert("bitcast", guess, stored)), whole)
        text = f"cmpxchg {pointer}, {guess}, {new} monotonic monotonic, align {size}"
        pair = w.effect(f"{{ {whole}, i1 }}", text)
        old = w.effect(whole, f"extractvalue {pair}, 0")
        won = w.effect("i1", f"extractvalue {pair}, 1")
        return [old, w.effect("i1", f"xor {won}, true")]

    results = w.repeat([first, integer(1, "i1")], lambda values: values[1], again)
    return w.convert("bitcast", results[0], stored)
