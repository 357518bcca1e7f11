"""Reaching elements of a memref: addresses, checks, loads and stores of one element per work-item.

Elements that all work-items share are loaded once, neighbouring ones as a vector, others one by one by the hardware's
gathers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from girih.back.llvm import addresses
from girih.back.llvm.addresses import Extent, as_scalar
from girih.back.llvm.cpu.lowering import Lowering
from girih.back.llvm.rounding import from_memory, to_memory
from girih.back.llvm.text import Val, integer, lanes, scalar, wide, zero
from girih.back.llvm.values import MemRefHeld, Scalar, memory_type
from girih.ir import core
from girih.ir.core import Op
from girih.ir.types import PARTS, Number


@dataclass(frozen=True, slots=True)
class Place:
    """Where the elements are: from a pointer, or one pointer per lane, so many elements on."""

    pointer: Val
    offset: Scalar
    element: Number

    @property
    def uniform(self) -> bool:
        """Whether it is one element for all."""
        return lanes(self.pointer.type) == 1 and self.offset.uniform

    @property
    def contiguous(self) -> bool:
        """Whether lane after lane has the next element."""
        linear = self.offset.linear
        return lanes(self.pointer.type) == 1 and linear is not None and linear.stride == 1


def part_type(element: Number) -> Number:
    """The type of what an element consists of: itself, or a part of a complex number."""
    return PARTS.get(element, element)


def part_count(element: Number) -> int:
    """Two for a complex number."""
    return 2 if element in PARTS else 1


def locate(l: Lowering, op: Op, memref: MemRefHeld, indices: Sequence[core.Value | int]) -> Place:
    """The elements that work-items access; every index is checked."""
    found = [l.index(i) for i in indices]
    check_null(l, op, memref)
    offset: Extent = addresses.as_extent(memref.offset)
    for number, stride in enumerate(memref.strides):
        step = addresses.multiply(l.w, addresses.as_extent(found[number]), stride, l.lanes)
        offset = addresses.add(l.w, offset, step, l.lanes)
    if l.checks:
        _check_bounds(l, op, memref, found, as_scalar(offset))
    return Place(memref.pointer, as_scalar(offset), memref.element)


def check_null(l: Lowering, op: Op, memref: MemRefHeld) -> None:
    """Find an access to a memref without memory."""
    if not memref.maybe_null or not l.checks or not l.w.first_time("null", memref.pointer.text, _mask_text(l)):
        return
    bad = l.w.compare("eq", memref.pointer, zero(memref.pointer.type))
    l.check(op, bad, "run.null", f"%{memref.name} has no memory behind it", argument=memref.name)


def _mask_text(l: Lowering) -> str:
    return l.mask.text if l.mask is not None else ""


def _check_bounds(l: Lowering, op: Op, memref: MemRefHeld, found: list[Scalar], offset: Scalar) -> None:
    w = l.w
    bad: Val | None = None
    doubtful: Val | None = None
    for held, size in zip(found, memref.shape, strict=True):
        reached = _beyond(l, held, size)
        if reached is None:
            bad = _either(l, bad, outside(l, held, size))
        else:
            doubtful = _either(l, doubtful, reached)
    if bad is not None:
        _find_outside(l, op, memref, found, bad)
    if doubtful is not None:
        # All lanes, now and later, stay below a bound: whether that is inside costs one comparison of numbers.
        w.unlikely(doubtful, lambda: _look_closely(l, op, memref, found), returns=True)
    if memref.limit is not None:
        flat = addresses.vector(w, offset, max(l.lanes if not offset.uniform else 1, lanes(memref.limit.type)))
        beyond = w.compare("uge", flat, w.splat(memref.limit, lanes(flat.type)))
        why = ", whose memory ends before its shape does (the offset of its group)"
        message = f"`{op.spec.mnemonic}` outside %{memref.name}{why}"
        l.check(op, beyond, "run.out_of_bounds", message, argument=memref.name, index=found, shape=memref.shape)


def _beyond(l: Lowering, held: Scalar, size: Extent) -> Val | None:
    """Whether the bound of a varying index is past the end; None where that says nothing, or costs no less."""
    extent = as_scalar(size)
    if held.uniform or held.below is None or not extent.uniform or _is_below(held.below, extent):
        return None
    return l.w.compare("sgt", held.below, extent.part)


def _look_closely(l: Lowering, op: Op, memref: MemRefHeld, found: list[Scalar]) -> None:
    """Check every index of varying ones."""
    bad: Val | None = None
    for held, size in zip(found, memref.shape, strict=True):
        bad = _either(l, bad, outside(l, held, size))
    if bad is not None:
        _find_outside(l, op, memref, found, bad)


def _find_outside(l: Lowering, op: Op, memref: MemRefHeld, found: list[Scalar], bad: Val) -> None:
    if not l.w.first_time("bounds", bad.text, _mask_text(l)):
        return
    known = lanes(bad.type) > 1 or all(f.uniform for f in found)
    message = f"`{op.spec.mnemonic}` outside %{memref.name}"
    l.check(op, bad, "run.out_of_bounds", message, argument=memref.name, index=found, shape=memref.shape,
            exactly=None if known else lambda: _first_outside(l, memref, found))  # fmt: skip


def _first_outside(l: Lowering, memref: MemRefHeld, found: list[Scalar]) -> Val:
    """The first lane with an index outside, of indices that are uniform or grow evenly; all work-items are active."""
    w = l.w
    first = integer(l.lanes)
    for held, size in zip(found, memref.shape, strict=True):
        if not held.uniform and held.linear is None:
            # Known to be inside, or there would be a condition for each lane.
            continue
        extent = as_scalar(size).part
        base, stride = (held.part, 0) if held.linear is None else (held.linear.base, held.linear.stride)
        passed = first
        if stride > 0:
            left = w.add(w.sub(extent, base), stride - 1)
            passed = w.pure("i64", f"udiv {left}, {stride}", (left,))
        elif stride < 0:
            passed = w.add(w.pure("i64", f"udiv {base}, {-stride}", (base,)), 1)
        lane = w.select(w.compare("uge", base, extent), integer(0), passed)
        first = w.smaller(first, lane)
    return first


def _either(l: Lowering, a: Val | None, b: Val | None) -> Val | None:
    """Where one of two conditions holds; None is nowhere."""
    if a is None or b is None:
        return b if a is None else a
    count = max(lanes(a.type), lanes(b.type))
    return l.w.binary("or", l.w.splat(a, count), l.w.splat(b, count))


def outside(l: Lowering, held: Scalar, size: Extent) -> Val | None:
    """Where an index is negative or not below the size, as one `i1` or one per lane; None for nowhere."""
    w = l.w
    extent = as_scalar(size)
    if _is_below(held.below, extent):
        return None
    if held.uniform and extent.uniform:
        known, most = held.part.literal, extent.part.literal
        if known is not None and most is not None:
            return None if 0 <= known < most else integer(1, "i1")
        return w.compare("uge", held.part, extent.part)
    if held.linear is not None and extent.uniform and l.mask is None:
        base, stride = held.linear.base, held.linear.stride
        last = w.add(base, (l.lanes - 1) * stride)
        return w.binary("or", w.compare("uge", base, extent.part), w.compare("uge", last, extent.part))
    return w.compare("uge", addresses.vector(w, held, l.lanes), addresses.vector(w, extent, l.lanes))


def _is_below(below: Val | None, extent: Scalar) -> bool:
    """Whether an upper bound is known to be at most an extent."""
    if below is None or not extent.uniform:
        return False
    bound, most = below.literal, extent.part.literal
    return below.text == extent.part.text or (bound is not None and most is not None and bound <= most)


# --- loads and stores --------------------------------------------------------------------------


def address(l: Lowering, place: Place, part: int = 0) -> Val:
    """The address of a part of the elements: one, or one per lane where they are not neighbours."""
    size = place.element.size
    offset = place.offset
    held = offset.part if offset.uniform else addresses.vector(l.w, offset, l.lanes)
    moved = l.w.at(place.pointer, l.w.mul(held, integer(size, held.type)))
    return l.w.at(moved, part * part_type(place.element).size)


def first_address(l: Lowering, place: Place) -> Val:
    """The address of the first lane's element, of neighbouring ones."""
    if place.offset.linear is None:
        return address(l, place)
    return l.w.at(place.pointer, l.w.mul(place.offset.linear.base, place.element.size))


def full_mask(l: Lowering) -> Val:
    """The active work-items as a vector."""
    return l.mask if l.mask is not None else integer(1, wide("i1", l.lanes))


def read(l: Lowering, place: Place) -> Scalar:
    """The elements at a place."""
    one = part_type(place.element)
    type, size = memory_type(one), one.size
    count = part_count(place.element)
    if place.uniform:
        loaded = [l.w.load(type, address(l, place, k), size) for k in range(count)]
    elif place.contiguous and (count == 1 or l.mask is None):
        loaded = _read_neighbours(l, place, type, size, count)
    else:
        vector = wide(type, l.lanes)
        mask = full_mask(l)
        loaded = [l.w.gather(vector, _pointers(l, place, k), mask, size, zero(vector)) for k in range(count)]
    return Scalar(place.element, tuple(from_memory(l.w, l.target.features, one, x) for x in loaded))


def _pointers(l: Lowering, place: Place, part: int) -> Val:
    held = address(l, place, part)
    return l.w.splat(held, l.lanes)


def _read_neighbours(l: Lowering, place: Place, type: str, size: int, count: int) -> list[Val]:
    w = l.w
    vector = wide(type, l.lanes * count)
    pointer = first_address(l, place)
    if l.mask is None:
        held = w.load(vector, pointer, size)
        if count == 1:
            return [held]
        return [w.shuffle(held, None, range(k, 2 * l.lanes, 2)) for k in range(2)]
    return [w.masked_load(vector, pointer, l.mask, size, zero(vector))]


def write(l: Lowering, place: Place, value: Scalar) -> None:
    """Store one element per active work-item; of several that store to one place, the last wins."""
    one = part_type(place.element)
    count = part_count(place.element)
    features = l.target.features
    if place.uniform:
        last = l.last_lane()
        held = value.parts if value.uniform else tuple(l.w.extract(p, last) for p in l.vector(value))
        for number, x in enumerate(held):
            l.w.store(to_memory(l.w, features, one, x), address(l, place, number), one.size)
        return
    parts = [to_memory(l.w, features, one, x) for x in l.vector(value)]
    if place.contiguous and (count == 1 or l.mask is None):
        _write_neighbours(l, place, parts, one.size)
        return
    mask = full_mask(l)
    for number, x in enumerate(parts):
        l.w.scatter(x, _pointers(l, place, number), mask, one.size)


def _write_neighbours(l: Lowering, place: Place, parts: list[Val], size: int) -> None:
    w = l.w
    pointer = first_address(l, place)
    if len(parts) == 2:
        pairs = [k // 2 + (k % 2) * l.lanes for k in range(2 * l.lanes)]
        w.store(w.shuffle(parts[0], parts[1], pairs), pointer, size)
    elif l.mask is None:
        w.store(parts[0], pointer, size)
    else:
        w.masked_store(parts[0], pointer, l.mask, size)


def element_bits(type: str) -> str:
    """The integer type with the size of an element in memory."""
    return {"float": "i32", "double": "i64"}.get(scalar(type), scalar(type))


