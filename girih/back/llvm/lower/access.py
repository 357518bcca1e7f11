"""Access to elements of a memref: addresses, checks, loads and stores of one element per work-item.

Elements that all work-items share are loaded once, neighbouring ones as a vector; those a few apart are picked from
vectors, and others come by the hardware's gathers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.emit.folding import lane_values
from girih.back.llvm.emit.text import Val, integer, lanes, wide, zero
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, index, memory_type
from girih.facts import findings, remarks
from girih.ir import core
from girih.ir.core import Op
from girih.ir.types import PARTS, Number
from girih.lazy_dataclass import dataclass

_WIDEST_SPACE = 4
"""Elements of lanes that lie at most this far apart are picked from vectors, and not gathered."""


@dataclass(frozen=True, slots=True)
class ElementPlace:
    """The place of elements: a pointer, or one per lane, and the number of elements from there.

    With `near`, each lane's element is a known number of elements from one offset that all lanes share.
    """

    pointer: Val
    offset: Scalar
    element: Number
    near: tuple[Val, tuple[int, ...]] | None = None
    name: str = ""
    unknown_distance: bool = False
    """Whether neighbouring lanes are neighbours along a mode whose stride is known only at run time."""

    @property
    def uniform(self) -> bool:
        """Whether all lanes have the same element."""
        return lanes(self.pointer.type) == 1 and self.offset.uniform

    @property
    def spaced(self) -> int | None:
        """The few elements from the one of a lane to that of the next, where each lane is that far from the last."""
        linear = self.offset.linear
        if lanes(self.pointer.type) > 1 or linear is None or not 1 < linear.stride <= _WIDEST_SPACE:
            return None
        return linear.stride

    @property
    def contiguous(self) -> bool:
        """Whether each lane has the element after that of the lane before."""
        linear = self.offset.linear
        return lanes(self.pointer.type) == 1 and linear is not None and linear.stride == 1


def part_type(element: Number) -> Number:
    """The type of the parts of an element: itself, or for a complex number that of its parts."""
    return PARTS.get(element, element)


def part_count(element: Number) -> int:
    """The number of parts of an element: two for a complex number, else one."""
    return 2 if element in PARTS else 1


def locate(code: KernelCode, op: Op, memref: MemRefHeld, indices: Sequence[core.Value | int]) -> ElementPlace:
    """The place of the elements that work-items access; every index is checked."""
    found = [code.index(i) for i in indices]
    check_null(code, op, memref)
    offset = code.offset_of(memref, found)
    if code.checks:
        _check_bounds(code, op, memref, found)
    unknown = any(held.linear is not None and not isinstance(s, int)
                  for held, s in zip(found, memref.strides, strict=True))  # fmt: skip
    near = _near(code, memref, found)
    return ElementPlace(memref.pointer, offset, memref.element, near, memref.name, unknown)


_LONGEST_RUN = 128
"""So many bytes are loaded to pick the elements of lanes from."""


def _near(code: KernelCode, memref: MemRefHeld, found: Sequence[Scalar]) -> tuple[Val, tuple[int, ...]] | None:
    """One offset that lanes share, and the known distances of their elements from it; None if they are not near."""
    if code.lanes == 1 or not memref.offset.uniform or lanes(memref.pointer.type) > 1 or code.mask is not None:
        return None
    w, steps = code.w, [0] * code.lanes
    first = memref.offset.part
    for held, stride in zip(found, memref.strides, strict=True):
        values = None if held.uniform or held.linear is not None else lane_values(held.part)
        if values is not None and isinstance(stride, int):
            steps = [a + b * stride for a, b in zip(steps, values, strict=True)]
        elif held.uniform and as_scalar(stride).uniform:
            first = w.add(first, w.mul(held.part, as_scalar(stride).part))
        else:
            return None
    low = min(steps)
    if not any(steps) or (max(steps) - low + 1) * memref.element.size > _LONGEST_RUN:
        return None
    return w.add(first, low), tuple(s - low for s in steps)


def shared_memref(code: KernelCode, op: Op, name: str, held: MemRefHeld) -> MemRefHeld:
    """The memref of the first active work-item; it is a finding if another one has a different one."""
    if held.uniform and code.lanes > 1:
        return held

    def one(extent: Extent) -> Extent:
        if isinstance(extent, int):
            return extent
        parts = code.agreed(op, name, extent)
        return extent if parts == extent.parts else addresses.as_extent(index(parts[0]))

    def first(value: Val) -> Val:
        return value if lanes(value.type) == 1 else code.w.extract(value, code.first_lane())

    return replace(
        held,
        pointer=first(held.pointer),
        offset=as_scalar(one(held.offset)),
        shape=tuple(map(one, held.shape)),
        strides=tuple(map(one, held.strides)),
    )


def check_null(code: KernelCode, op: Op, memref: MemRefHeld) -> None:
    """Find an access to a memref without memory."""
    if not memref.maybe_null or not code.checks:
        return
    # Of one pointer for all, it does not matter which of them are active.
    facts = [memref.pointer.text] if lanes(memref.pointer.type) == 1 else [memref.pointer.text, _mask_text(code)]
    if not code.w.first_time("null", *facts):
        return
    bad = code.w.compare("eq", memref.pointer, zero(memref.pointer.type))
    code.check(op, bad, findings.null(memref.name), argument=memref.name)


def _mask_text(code: KernelCode) -> str:
    return code.mask.text if code.mask is not None else ""


def _check_bounds(code: KernelCode, op: Op, memref: MemRefHeld, found: list[Scalar]) -> None:
    w = code.w
    bad: Val | None = None
    doubtful: Val | None = None
    for number, (held, size) in enumerate(zip(found, memref.shape, strict=True)):
        if (op, number) in code.place.inside:
            continue
        reached = _beyond(code, held, size)
        if reached is None:
            one = outside(code, held, size)
            bad = _either(code, bad, one)
            loop = None if (op, number) in code.place.doubtful else code.remarks.loop
            if one is not None and loop is not None and _changes(code, held):
                code.remarks.note(remarks.bounds(memref.name, computed=code.writes_versions(loop)), once=loop)
        else:
            doubtful = _either(code, doubtful, reached)
    if bad is not None:
        _find_outside(code, op, memref, found, bad)
    if doubtful is not None:
        # All lanes, now and later, stay below a bound: whether that is inside costs one comparison of numbers.
        w.unlikely(doubtful, lambda: _look_closely(code, op, memref, found), returns=True)


def _changes(code: KernelCode, held: Scalar) -> bool:
    """Whether an index is computed in the innermost loop around the code."""
    parts = held.parts if held.linear is None else (held.linear.base,)
    return any(part.level == code.w.level for part in parts if part.text[0] == "%")


def _beyond(code: KernelCode, held: Scalar, size: Extent) -> Val | None:
    """Whether the bound of a varying index is past the end; None if there is none, or if checking it costs as much."""
    extent = as_scalar(size)
    if held.uniform or held.below is None or not extent.uniform or _is_below(held.below, extent):
        return None
    return code.w.compare("sgt", held.below, extent.part)


def _look_closely(code: KernelCode, op: Op, memref: MemRefHeld, found: list[Scalar]) -> None:
    """Check each of some varying indices by itself."""
    bad: Val | None = None
    for held, size in zip(found, memref.shape, strict=True):
        bad = _either(code, bad, outside(code, held, size))
    if bad is not None:
        _find_outside(code, op, memref, found, bad)


def _find_outside(code: KernelCode, op: Op, memref: MemRefHeld, found: list[Scalar], bad: Val) -> None:
    if not code.w.first_time("bounds", bad.text, _mask_text(code)):
        return
    known = lanes(bad.type) > 1 or all(f.uniform for f in found)
    words = findings.outside(op, memref.name)
    code.check(op, bad, words, argument=memref.name, index=found, shape=memref.shape,
            exactly=None if known else lambda: first_outside(code, memref.shape, found))  # fmt: skip


def first_outside(code: KernelCode, shape: Sequence[Extent], found: Sequence[Scalar]) -> Val:
    """The first lane with an index outside, of indices that are uniform or grow evenly; all work-items are active."""
    w = code.w
    first = integer(code.lanes)
    for held, size in zip(found, shape, strict=True):
        if not held.uniform and held.linear is None:
            # Known to be inside, or there would be a condition for each lane.
            continue
        extent = as_scalar(size).part
        base, stride = (held.part, 0) if held.linear is None else (held.linear.base, held.linear.stride)
        passed = first
        if stride > 0:
            left = w.add(w.sub(extent, base), stride - 1)
            passed = left if stride == 1 else w.binary("udiv", left, stride)
        elif stride < 0:
            passed = w.add(w.binary("udiv", base, -stride), 1)
        lane = w.select(w.compare("uge", base, extent), integer(0), passed)
        first = w.smaller(first, lane)
    return first


def _either(code: KernelCode, a: Val | None, b: Val | None) -> Val | None:
    """The condition that one of two holds; None never holds."""
    if a is None or b is None:
        return b if a is None else a
    count = max(lanes(a.type), lanes(b.type))
    return code.w.binary("or", code.w.splat(a, count), code.w.splat(b, count))


def outside(code: KernelCode, held: Scalar, size: Extent) -> Val | None:
    """The condition that an index is negative or not below the size, one `i1` or one per lane; None never holds."""
    w = code.w
    extent = as_scalar(size)
    if _is_below(held.below, extent):
        return None
    if held.uniform and extent.uniform:
        known, most = held.part.literal, extent.part.literal
        if known is not None and most is not None:
            return None if 0 <= known < most else integer(1, "i1")
        return w.compare("uge", held.part, extent.part)
    if held.linear is not None and extent.uniform and code.mask is None and _grows_slowly(code, held.linear.stride):
        # From an index inside, no lane comes back after having passed an end: both ends tell of all lanes.
        base, stride = held.linear.base, held.linear.stride
        last = w.add(base, (code.lanes - 1) * stride)
        return w.binary("or", w.compare("uge", base, extent.part), w.compare("uge", last, extent.part))
    return w.compare("uge", addresses.vector(w, held, code.lanes), addresses.vector(w, extent, code.lanes))


def _grows_slowly(code: KernelCode, stride: int) -> bool:
    """Whether the indices of all lanes lie within a quarter of all numbers."""
    return abs(stride) * (code.lanes - 1) < 2**62


def _is_below(below: Val | None, extent: Scalar) -> bool:
    """Whether an upper bound is known to be at most an extent."""
    if below is None or not extent.uniform:
        return False
    bound, most = below.literal, extent.part.literal
    return below.text == extent.part.text or (bound is not None and most is not None and bound <= most)


# --- loads and stores --------------------------------------------------------------------------


def address(code: KernelCode, place: ElementPlace, part: int = 0) -> Val:
    """The address of a part of the elements: one, or one per lane if they are not neighbours."""
    size = place.element.size
    offset = place.offset
    held = offset.part if offset.uniform else addresses.vector(code.w, offset, code.lanes)
    moved = code.w.at(place.pointer, code.w.mul(held, integer(size, held.type)))
    return code.w.at(moved, part * part_type(place.element).size)


def first_address(code: KernelCode, place: ElementPlace) -> Val:
    """The address of the first lane's element if elements are neighbours."""
    if place.offset.linear is None:
        return address(code, place)
    return code.w.at(place.pointer, code.w.mul(place.offset.linear.base, place.element.size))


def full_mask(code: KernelCode) -> Val:
    """The active work-items as a vector."""
    return code.mask if code.mask is not None else integer(1, wide("i1", code.lanes))


def read(code: KernelCode, place: ElementPlace) -> Scalar:
    """The elements at a place."""
    one = part_type(place.element)
    type, size = memory_type(one), one.size
    count = part_count(place.element)
    if place.uniform:
        loaded = [code.w.load(type, address(code, place, k), size) for k in range(count)]
    elif place.contiguous and (count == 1 or code.mask is None):
        loaded = _read_neighbours(code, place, type, size, count)
    elif place.near is not None and count == 1:
        loaded = [_read_near(code, place, type, size, *place.near)]
    elif place.spaced is not None and count == 1:
        loaded = [_read_spaced(code, place, type, size, place.spaced)]
    else:
        _note_apart(code, place)
        vector = wide(type, code.lanes)
        mask = full_mask(code)
        loaded = [code.w.gather(vector, _pointers(code, place, k), mask, size, zero(vector)) for k in range(count)]
    return Scalar(place.element, tuple(from_memory(code.w, code.features, one, x) for x in loaded))


def _note_apart(code: KernelCode, place: ElementPlace) -> None:
    """Remark on elements that go one by one, where another order of them, or another type, would be better."""
    linear = place.offset.linear
    if linear is not None and linear.stride != 1:
        code.remarks.note(remarks.gather(place.name, linear.stride))
    elif linear is None and place.unknown_distance:
        code.remarks.note(remarks.gather(place.name, None))


def _pointers(code: KernelCode, place: ElementPlace, part: int) -> Val:
    held = address(code, place, part)
    return code.w.splat(held, code.lanes)


def _read_neighbours(code: KernelCode, place: ElementPlace, type: str, size: int, count: int) -> list[Val]:
    w = code.w
    vector = wide(type, code.lanes * count)
    pointer = first_address(code, place)
    if code.mask is None:
        held = w.load(vector, pointer, size)
        if count == 1:
            return [held]
        return [w.shuffle(held, None, range(k, 2 * code.lanes, 2)) for k in range(2)]
    return [w.masked_load(vector, pointer, code.mask, size, zero(vector))]


def _read_near(code: KernelCode, place: ElementPlace, type: str, size: int, first: Val, steps: tuple[int, ...]) -> Val:
    """The elements of all lanes, picked from one vector that is loaded with all between them."""
    w = code.w
    vector = wide(type, max(2, max(steps) + 1))
    return w.shuffle(w.load(vector, w.at(place.pointer, w.mul(first, size)), size), None, steps)


def _read_spaced(code: KernelCode, place: ElementPlace, type: str, size: int, space: int) -> Val:
    """The elements of all lanes, each `space` elements after the last, picked from as many vectors."""
    w, count = code.w, code.lanes
    vector, first = wide(type, count), first_address(code, place)
    picked: Val | None = None
    for number in range(space):
        # The last vector ends with the last lane's element: there may be no memory behind it.
        start = min(number * count, (count - 1) * (space - 1))
        pointer = w.at(first, start * size)
        if code.mask is None:
            piece = w.load(vector, pointer, size)
        else:
            mask = _spaced_mask(code, code.mask, start, space)
            piece = w.masked_load(vector, pointer, mask, size, zero(vector))
        # The vectors overlap; a lane keeps what the last one with its element has.
        places = [count + space * k - start if space * k >= number * count else k for k in range(count)]
        picked = w.shuffle(piece if picked is None else picked, piece, [min(p, 2 * count - 1) for p in places])
    assert picked is not None
    return picked


def _spaced_mask(code: KernelCode, mask: Val, start: int, space: int) -> Val:
    """The elements from `start` on that belong to an active lane, where every `space`th belongs to one."""
    count = code.lanes
    places = range(start, start + count)
    picks = [p // space if p % space == 0 and p // space < count else count for p in places]
    return code.w.shuffle(mask, zero(mask.type), picks)


def write(code: KernelCode, place: ElementPlace, value: Scalar) -> None:
    """Store one element per active work-item; of several that store to one element, the last wins."""
    one = part_type(place.element)
    count = part_count(place.element)
    features = code.features
    if place.uniform:
        last = code.last_lane()
        held = value.parts if value.uniform else tuple(code.w.extract(p, last) for p in code.vector(value))
        for number, x in enumerate(held):
            code.w.store(to_memory(code.w, features, one, x), address(code, place, number), one.size)
        return
    parts = [to_memory(code.w, features, one, x) for x in code.vector(value)]
    if place.contiguous and (count == 1 or code.mask is None):
        _write_neighbours(code, place, parts, one.size)
        return
    if place.spaced is not None and count == 1:
        _write_spaced(code, place, parts[0], one.size, place.spaced)
        return
    _note_apart(code, place)
    mask = full_mask(code)
    for number, x in enumerate(parts):
        code.w.scatter(x, _pointers(code, place, number), mask, one.size)


def _write_spaced(code: KernelCode, place: ElementPlace, value: Val, size: int, space: int) -> None:
    """Store the elements of all lanes, each `space` elements after the last, as so many vectors with holes."""
    w, count = code.w, code.lanes
    first = first_address(code, place)
    for number in range(space):
        start = number * count
        spread = w.shuffle(value, None, [(start + k) // space for k in range(count)])
        w.masked_store(spread, w.at(first, start * size), _spaced_mask(code, full_mask(code), start, space), size)


def _write_neighbours(code: KernelCode, place: ElementPlace, parts: list[Val], size: int) -> None:
    w = code.w
    pointer = first_address(code, place)
    if len(parts) == 2:
        pairs = [k // 2 + (k % 2) * code.lanes for k in range(2 * code.lanes)]
        w.store(w.shuffle(parts[0], parts[1], pairs), pointer, size)
    elif code.mask is None:
        w.store(parts[0], pointer, size)
    else:
        w.masked_store(parts[0], pointer, code.mask, size)
