"""Places in memory that is bytes, and the checks that go with them: outside of the memory, less aligned than promised.

An offset that may be linear in the lanes is told apart here, once for both the check and the access.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from girih.back.llvm.emit.text import Val, integer, lanes
from girih.back.llvm.lower.access import check_null, first_outside, outside
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.device.access import BytePlace, element_of
from girih.back.llvm.lower.device.buffers import AddressedBytes, MemberBytes, numbered_name, search
from girih.back.llvm.lower.device.narrow import narrow_offset
from girih.back.llvm.lower.sites import MEMBER
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.values import Linear, MemRefHeld, Scalar, index, natural
from girih.facts import memory as findings
from girih.ir.core import Op
from girih.ir.types import INDEX, Type
from girih.ops.device.atomics import AtomicAccess
from girih.ops.device.memory import ByteLoad, ByteStore

Accessing = ByteLoad | ByteStore | AtomicAccess


def place_of(code: KernelCode, op: Accessing, memory: MemRefHeld, type: Type, count: int) -> BytePlace:
    """The place of `count` numbers of a type in a memory, which is there; whether they lie in it is not checked yet."""
    check_null(code, op, memory)
    alignment = min(memory.align, op.alignment)
    # Blocks that a region decodes begin somewhere in their memory, each lane's elsewhere where lanes have other blocks.
    pointer = code.w.at(memory.pointer, natural(code.w, memory.offset, code.lanes)[0])
    return BytePlace(pointer, code.scalar(op.offset), element_of(type), count, alignment)


def accessed(
    code: KernelCode,
    op: Accessing,
    memory: MemRefHeld,
    place: BytePlace,
    access: Callable[[BytePlace], list[Val]],
) -> list[Val]:
    """What an access to a place gives, all of which is checked to lie inside the memory.

    An offset that may turn out to be linear is accessed in both ways, of which the place's own is rare.
    """
    _check_address(code, op, memory)
    near, nearly = _nearby(place), place.offset.nearly
    if near is None or nearly is None or not memory.uniform:
        return access(check_inside(code, op, memory, place))
    fine = nearly.holds
    if code.checks and not _is_found(op, memory):
        bad = ends_outside(code, nearly.linear, _ends(code, memory.shape[0], place.size))
        fine = code.w.binary("and", fine, code.w.negated(bad))

    def far() -> list[Val]:
        return access(check_inside(code, op, memory, place))

    return code.w.either(fine, lambda: access(near), far, rare=True)


def _nearby(place: BytePlace) -> BytePlace | None:
    """The place as it is where its offset is linear, if that makes one vector of it, or one number."""
    if place.offset.nearly is None:
        return None
    linear = place.offset.nearly.linear
    if linear.stride == 0:
        return replace(place, offset=index(linear.base))
    near = replace(place, offset=Scalar(INDEX, (), linear))
    return near if near.contiguous else None


def check_inside(code: KernelCode, op: Accessing, memory: MemRefHeld, place: BytePlace) -> BytePlace:
    """Find numbers that do not all lie inside their memory: the place, to be accessed behind the check."""
    if not code.checks or _is_found(op, memory):
        return place
    ends = _ends(code, memory.shape[0], place.size)
    narrow = narrow_offset(code, op.offset) if place.offset.nearly is None and as_scalar(ends).uniform else None
    if narrow is None:
        check_lanes(code, place.offset, ends, lambda: _find_outside(code, op, memory, place, ends))
        return place
    w, found = code.w, narrow
    doubtful = found.may_be_outside(code, as_scalar(ends).part)
    if code.mask is not None:
        doubtful = w.binary("and", doubtful, code.mask)

    def closely() -> list[Val]:
        copy = found.copy(code)
        _find_outside(code, op, memory, replace(place, offset=found.offsets(code, copy)), ends)
        return [copy]

    (behind,) = w.either(w.negated(w.any(doubtful)), lambda: [found.index], closely, rare=True)
    return replace(place, offset=found.offsets(code, behind))


def check_lanes(code: KernelCode, held: Scalar, ends: Extent, find: Callable[[], None]) -> None:
    """Write `find`, which looks at each lane of an index, only for where the first and last one do not tell of all.

    The index is to be below `ends`. Where all lanes are active and grow evenly, `find` itself asks the first and last.
    """
    w, linear = code.w, held.linear if held.nearly is None else held.nearly.linear
    if linear is None or not as_scalar(ends).uniform or (held.linear is not None and code.mask is None):
        find()
        return
    doubtful = ends_outside(code, linear, ends)
    if held.nearly is not None:
        doubtful = w.binary("or", doubtful, w.negated(held.nearly.holds))
    w.unlikely(doubtful, find, returns=True)


def _check_offset(code: KernelCode, op: Op, memory: MemRefHeld, offset: Scalar, alignment: int) -> None:
    """Find an offset in a buffer, all of which begin at large powers of two, that is less aligned than promised."""
    w, held = code.w, natural(code.w, offset, code.lanes)[0]
    bad = w.compare("ne", w.binary("and", held, integer(alignment - 1, held.type)), integer(0, held.type))
    name, member = name_of(memory)
    words = findings.bytes_misaligned(op, alignment, name)
    code.check(op, bad, words, argument=name, index=(offset,), shape=memory.shape, member=member)


def ends_outside(code: KernelCode, linear: Linear, ends: Extent) -> Val:
    """Whether the first or the last lane of all, active or not, has an offset outside."""
    w, extent = code.w, as_scalar(ends).part
    last = w.add(linear.base, (code.lanes - 1) * linear.stride)
    return w.binary("or", w.compare("uge", linear.base, extent), w.compare("uge", last, extent))


def _find_outside(code: KernelCode, op: Op, memory: MemRefHeld, place: BytePlace, ends: Extent) -> None:
    bad = outside(code, place.offset, ends)
    if bad is None:
        return
    name, member = name_of(memory)
    words = findings.bytes_outside(op, place.size, name)
    known = lanes(bad.type) > 1 or place.offset.uniform
    code.check(op, bad, words, argument=name, index=(place.offset,), shape=memory.shape, member=member,
            exactly=None if known else lambda: first_outside(code, (ends,), (place.offset,)))  # fmt: skip


def name_of(memory: MemRefHeld) -> tuple[str, Scalar | None]:
    """The name of a memory in findings, with the number of a buffer that is known at run time only."""
    if isinstance(memory, MemberBytes) and memory.member is not None:
        return f"{memory.name}[{MEMBER}]", memory.member
    return memory.name, None


def _is_found(op: Op, memory: MemRefHeld) -> bool:
    """Whether the buffer was found by the bytes that are accessed."""
    return isinstance(memory, AddressedBytes) and getattr(op, "offset", None) is memory.offset_of_address


def _check_address(code: KernelCode, op: Accessing, memory: MemRefHeld) -> None:
    """Find an access through an address that is less aligned than the access promises."""
    alignment = op.alignment
    if alignment == 1 or not isinstance(memory, AddressedBytes) or not code.checks:
        return
    if not _is_found(op, memory):
        _check_offset(code, op, memory, code.scalar(op.offset), alignment)
        return
    address, buffers = memory.address, memory.buffers
    assert address is not None and buffers is not None
    w, low = code.w, alignment - 1
    linear = address.linear
    held = linear.base if linear is not None and linear.stride % alignment == 0 else natural(w, address, code.lanes)[0]
    bad = w.compare("ne", w.binary("and", held, integer(low, held.type)), integer(0, held.type))
    if lanes(bad.type) > 1 and code.mask is not None:
        bad = w.binary("and", bad, code.mask)

    def report() -> None:
        lane = code.trailing_zeros(bad) if lanes(bad.type) > 1 else code.first_lane()
        where = w.extract(natural(w, address, code.lanes)[0], lane)
        number = search(code, buffers, where, 1)
        name = numbered_name(buffers.group)
        code.check(op, integer(1, "i1"), findings.bytes_misaligned(op, alignment, name), argument=name,
                   index=(index(w.sub(where, buffers.address(w, number))),), shape=(index(buffers.size(w, number)),),
                   member=index(number), exactly=lambda: lane)  # fmt: skip
        w.unreachable()

    w.unlikely(w.any(bad), report)


def _ends(code: KernelCode, size: Extent, bytes: int) -> Extent:
    """The number of offsets from which so many bytes lie inside a memory of a size."""
    if isinstance(size, int):
        return max(size - bytes + 1, 0)
    if bytes == 1:
        return size
    w, part = code.w, size.part
    return index(w.larger(w.sub(part, integer(bytes - 1, part.type)), integer(0, part.type)))
