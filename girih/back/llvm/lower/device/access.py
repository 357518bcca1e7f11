"""Access to numbers in memory that is bytes: several side by side, for all work-items at once.

What all work-items share is loaded once. What lies side by side in memory, work-item after work-item, is one vector,
from which each of several numbers is picked; all else comes by the hardware's gathers, numbers in pairs where these fit
a wider one.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.folding import lane_values
from girih.back.llvm.emit.text import Val, lanes, wide, zero
from girih.back.llvm.lower.access import full_mask
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type, scalar_type, uniform
from girih.ir.types import I8, Boolean, Number, Type
from girih.lazy_dataclass import dataclass

_GATHERED = 8
"""The bytes of the widest number that gathers take."""

_NEAR = 64
"""The bytes of the widest vector from which numbers at known distances are picked."""


@dataclass(frozen=True, slots=True)
class BytePlace:
    """Numbers side by side for each work-item, from a byte of some memory on.

    `pointer` is that of the memory, or one per lane; `offset` counts bytes. `element` is the type of each of `count`
    numbers in memory, where a bool is a byte.
    """

    pointer: Val
    offset: Scalar
    element: Number
    count: int
    alignment: int

    @property
    def size(self) -> int:
        """The bytes of the numbers of one work-item."""
        return self.element.size * self.count

    @property
    def uniform(self) -> bool:
        """Whether all work-items have the same numbers."""
        return lanes(self.pointer.type) == 1 and self.offset.uniform

    @property
    def contiguous(self) -> bool:
        """Whether the numbers of each work-item lie right behind those of the one before."""
        linear = self.offset.linear
        return lanes(self.pointer.type) == 1 and linear is not None and linear.stride == self.size

    @property
    def type(self) -> str:
        """The LLVM type of a number in memory."""
        return memory_type(self.element)


def element_of(type: Type) -> Number:
    """The type that a number or bool has in memory."""
    held = scalar_type(type)
    return I8 if isinstance(held, Boolean) else held


def read(code: KernelCode, place: BytePlace, type: Type) -> list[Scalar]:
    """The numbers at a place, each of `type`."""
    if place.uniform:
        found = _read_uniform(code, place)
    elif place.contiguous:
        found = _read_contiguous(code, place)
    else:
        found = _read_apart(code, place)
    return [_from_memory(code, type, part) for part in found]


def write(code: KernelCode, place: BytePlace, values: Sequence[Scalar]) -> None:
    """Store the numbers of each active work-item; of several that store to one place, the last wins."""
    if place.uniform:
        last = code.last_lane()
        pointer = code.w.at(place.pointer, place.offset.part)
        for number, held in enumerate(values):
            value = held if held.uniform else uniform(held.type, code.w.extract(code.vector(held)[0], last))
            at = code.w.at(pointer, number * place.element.size)
            code.w.store(_to_memory(code, value.type, value.part), at, _alignment(place, number))
        return
    parts = [_to_memory(code, held.type, code.vector(held)[0]) for held in values]
    if place.contiguous:
        _write_contiguous(code, place, parts)
    else:
        _write_apart(code, place, parts)


def _alignment(place: BytePlace, number: int) -> int:
    """The alignment of one of the numbers of a work-item."""
    distance = number * place.element.size
    return min(place.alignment, distance & -distance) if distance else place.alignment


def _from_memory(code: KernelCode, type: Type, part: Val) -> Scalar:
    held = scalar_type(type)
    if isinstance(held, Boolean):
        return uniform(held, code.w.compare("ne", part, zero(part.type)))
    return uniform(held, from_memory(code.w, code.features, held, part))


def _to_memory(code: KernelCode, type: Number | Boolean, part: Val) -> Val:
    if isinstance(type, Boolean):
        return code.w.convert("zext", part, "i8")
    return to_memory(code.w, code.features, type, part)


# --- loads -------------------------------------------------------------------------------------


def _read_uniform(code: KernelCode, place: BytePlace) -> list[Val]:
    # One by one: what goes to all lanes is broadcast by the load itself.
    w, pointer = code.w, code.w.at(place.pointer, place.offset.part)
    starts = range(0, place.size, place.element.size)
    return [w.load(place.type, w.at(pointer, at), _alignment(place, k)) for k, at in enumerate(starts)]


def _first(code: KernelCode, place: BytePlace) -> Val:
    """The address of the first lane's numbers, of those that lie side by side."""
    assert place.offset.linear is not None
    return code.w.at(place.pointer, place.offset.linear.base)


def _repeated(code: KernelCode, mask: Val, count: int) -> Val:
    """A mask in which each lane stands `count` times."""
    return code.w.shuffle(mask, None, [k // count for k in range(code.lanes * count)])


def _read_contiguous(code: KernelCode, place: BytePlace) -> list[Val]:
    w, count = code.w, place.count
    vector, pointer = wide(place.type, code.lanes * count), _first(code, place)
    if code.mask is None:
        held = w.load(vector, pointer, place.alignment)
    else:
        held = w.masked_load(vector, pointer, _repeated(code, code.mask, count), place.alignment, zero(vector))
    if count == 1:
        return [held]
    return [w.shuffle(held, None, range(k, code.lanes * count, count)) for k in range(count)]


def _addresses(code: KernelCode, place: BytePlace) -> Val:
    """The address of each work-item's first number."""
    w = code.w
    held = place.offset.part if place.offset.uniform else addresses.vector(w, place.offset, code.lanes)
    return w.splat(w.at(place.pointer, held), code.lanes)


def _paired(place: BytePlace) -> int:
    """How many neighbouring numbers a gather takes at once."""
    size = place.element.size
    return next(n for n in (8, 4, 2, 1) if n * size <= _GATHERED and place.count % n == 0)


def _read_near(code: KernelCode, place: BytePlace) -> list[Val] | None:
    """Numbers at distances that are known and small, from one vector with all of them; None elsewhere."""
    w, size = code.w, place.element.size
    if code.mask is not None or lanes(place.pointer.type) > 1 or place.offset.uniform:
        return None
    known = lane_values(addresses.vector(w, place.offset, code.lanes))
    if known is None:
        return None
    first = min(known)
    steps = [n - first for n in known]
    count = (max(steps) + place.size) // size
    if count * size > _NEAR or any(n % size for n in steps):
        return None
    held = w.load(wide(place.type, count), w.at(place.pointer, first), min(place.alignment, size))
    return [w.shuffle(held, None, [n // size + k for n in steps]) for k in range(place.count)]


def _read_apart(code: KernelCode, place: BytePlace) -> list[Val]:
    near = _read_near(code, place)
    if near is not None:
        return near
    w, taken, mask = code.w, _paired(place), full_mask(code)
    pointers, size = _addresses(code, place), place.element.size
    found: list[Val] = []
    for number in range(0, place.count, taken):
        at, alignment = w.at(pointers, number * size), _alignment(place, number)
        type = place.type if taken == 1 else f"i{8 * size * taken}"
        vector = wide(type, code.lanes)
        held = w.gather(vector, at, mask, alignment, zero(vector))
        if taken == 1:
            found.append(held)
            continue
        split = w.convert("bitcast", held, wide(place.type, code.lanes * taken))
        found += [w.shuffle(split, None, range(k, code.lanes * taken, taken)) for k in range(taken)]
    return found


# --- stores ------------------------------------------------------------------------------------


def _woven(code: KernelCode, parts: Sequence[Val]) -> Val:
    """The vector with the first lane of each of some vectors, then the second of each, and so on."""
    w, count = code.w, code.lanes
    if len(parts) == 1:
        return parts[0]
    joined = list(parts)
    while len(joined) > 1:
        joined = [w.join(joined[k : k + 2]) for k in range(0, len(joined), 2)]
    places = [number * count + lane for lane in range(count) for number in range(len(parts))]
    return w.shuffle(joined[0], None, places)


def _write_contiguous(code: KernelCode, place: BytePlace, parts: Sequence[Val]) -> None:
    w, pointer = code.w, _first(code, place)
    held = _woven(code, parts)
    if code.mask is None:
        w.store(held, pointer, place.alignment)
    else:
        w.masked_store(held, pointer, _repeated(code, code.mask, place.count), place.alignment)


def _write_apart(code: KernelCode, place: BytePlace, parts: Sequence[Val]) -> None:
    w, taken, mask = code.w, _paired(place), full_mask(code)
    pointers, size = _addresses(code, place), place.element.size
    for number in range(0, place.count, taken):
        held = _woven(code, parts[number : number + taken])
        if taken > 1:
            held = w.convert("bitcast", held, wide(f"i{8 * size * taken}", code.lanes))
        w.scatter(held, w.at(pointers, number * size), mask, _alignment(place, number))
