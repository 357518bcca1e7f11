"""The buffers that have addresses: which of them has the bytes at an address, and how far away the nearest one is."""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.sites import MEMBER
from girih.back.llvm.numbers.values import GroupHeld, MemRefHeld, Scalar, index
from girih.facts import memory as findings
from girih.ir.core import Value
from girih.lazy_dataclass import dataclass
from girih.ops.device.memory import BufferAt

NO_BUFFER = -1
"""The number of no buffer."""


@dataclass(frozen=True, slots=True)
class AddressedBuffers:
    """All buffers that have addresses: the table of their memory, that of their addresses, and their number."""

    group: GroupHeld
    addresses: Val
    count: Val

    @staticmethod
    def of(code: KernelCode, op: BufferAt) -> AddressedBuffers:
        """The buffers that an instruction searches."""
        group, table = code.group_of(op.buffers), code.memref(op.addresses)
        return AddressedBuffers(
            group, code.w.at(table.pointer, code.w.mul(table.offset.part, 8)), code.w.value(group.size)
        )

    def pointer(self, w: Writer, number: Val) -> Val:
        """The memory of a buffer."""
        return w.load("ptr", w.at(self.group.table, w.mul(number, self.group.record_bytes)), 8)

    def size(self, w: Writer, number: Val) -> Val:
        """The bytes that a buffer has."""
        fixed = self.group.memref.shape[0]
        if fixed is not None:
            return integer(fixed)
        return w.load("i64", w.at(w.at(self.group.table, w.mul(number, self.group.record_bytes)), 8), 8)

    def address(self, w: Writer, number: Val) -> Val:
        """The address that a buffer has for the program."""
        return w.load("i64", w.at(self.addresses, w.mul(number, 8)), 1)

    def ends(self, w: Writer, number: Val, bytes: int) -> Val:
        """The number of offsets from which a buffer has so many bytes; one that is missing has none."""
        count = w.larger(w.sub(self.size(w, number), bytes - 1), 0)
        return w.select(w.compare("eq", self.pointer(w, number), zero("ptr")), integer(0), count)

    def has(self, w: Writer, number: Val, address: Val, bytes: int) -> Val:
        """Whether a buffer has so many bytes at an address."""
        return w.compare("ult", w.sub(address, self.address(w, number)), self.ends(w, number, bytes))


@dataclass(frozen=True, slots=True)
class MemberBytes(MemRefHeld):
    """A buffer of a group, and its number, for findings."""

    member: Scalar | None = None

    @staticmethod
    def of(held: MemRefHeld, member: Scalar) -> MemberBytes:
        """A buffer of a group with its number."""
        extents = held.shape, held.strides
        return MemberBytes(
            held.type, held.pointer, held.offset, *extents, held.name, held.align, held.maybe_null, member
        )


@dataclass(frozen=True, slots=True)
class AddressedBytes(MemberBytes):
    """The buffer that was found at an address.

    With `offset_of_address`, that is where all accesses are, and their bytes are known to be there: where work-items
    have several buffers, the memory, number and size are those of the first active one's.
    """

    address: Scalar | None = None
    buffers: AddressedBuffers | None = None
    offset_of_address: Value | None = None


# --- the search --------------------------------------------------------------------------------


def find_buffer(code: KernelCode, op: BufferAt, buffers: AddressedBuffers, address: Val) -> Val:
    """The number of the buffer with the bytes at one address; without one, that is a finding of the first work-item.

    The buffer that was found here before is tried first. Where there was none, that place has any number.
    """
    w, last = code.w, code.scratch(8, 8)
    held = w.load("i64", last, 8)
    guess = w.select(w.compare("ult", held, buffers.count), held, integer(0))
    if code.checks:
        none = w.compare("eq", buffers.count, 0)
        w.unlikely(none, lambda: report_missing(code, op, buffers, address))

    def everywhere() -> list[Val]:
        number = search(code, buffers, address, op.bytes)
        if code.checks:
            w.unlikely(w.compare("eq", number, NO_BUFFER), lambda: report_missing(code, op, buffers, address))
        w.store(number, last, 8)
        return [number]

    (number,) = w.either(buffers.has(w, guess, address, op.bytes), lambda: [guess], everywhere, rare=True)
    return number


def numbered_name(group: GroupHeld) -> str:
    """The name of a member of a group whose number is known only at run time."""
    return f"{group.name}[{MEMBER}]"


def search(code: KernelCode, buffers: AddressedBuffers, address: Val, bytes: int) -> Val:
    """The number of the buffer with the bytes at an address, `NO_BUFFER` without one, by looking at all of them."""
    w = code.w
    with w.loop(0, buffers.count, 1, [integer(NO_BUFFER)]) as loop:
        here = buffers.has(w, loop.index, address, bytes)
        loop.following = [w.select(here, loop.index, loop.values[0])]
    return loop.results[0]


def report_missing(
    code: KernelCode, op: BufferAt, buffers: AddressedBuffers, address: Val, lane: Operand | None = None
) -> None:
    """End the launch with what is known of an address at which no buffer has the bytes: how far the nearest one is.

    `lane` is that of the work-item with the address, the first active one where it is not given.
    """
    w, count, where = code.w, buffers.count, index(address)
    exactly = None if lane is None else lambda: lane
    code.check(op, w.compare("eq", address, 0), findings.address_is_null(op), exactly=exactly)
    nobody = [integer(NO_BUFFER), integer(-1), integer(0)]
    with w.loop(0, count, 1, nobody) as loop:
        nearest, gap, side = loop.values
        distance, there = _distance(w, buffers, loop.index, address)
        present = w.compare("ne", buffers.pointer(w, loop.index), zero("ptr"))
        # Unsigned, the gap that stands for nobody is the largest.
        nearer = w.binary("and", present, w.compare("ult", distance, gap))
        new = (loop.index, distance, there)
        loop.following = [w.select(nearer, a, b) for a, b in zip(new, (nearest, gap, side), strict=True)]
    number, gap, side = loop.results
    nowhere = w.compare("eq", number, NO_BUFFER)
    code.check(op, nowhere, findings.address_without_buffer(op), index=(where,), shape=(0,), exactly=exactly)
    size, begin = buffers.size(w, number), buffers.address(w, number)
    inside = w.sub(w.add(begin, size), address)
    name = numbered_name(buffers.group)
    for kind, words, distance in (
        (0, findings.address_at_the_end(op, name), inside),
        (1, findings.address_before(op, name), gap),
        (2, findings.address_behind(op, name), gap),
    ):
        shape, here = (index(distance), index(size)), w.compare("eq", side, kind)
        code.check(op, here, words, argument=name, index=(where,), shape=shape, member=index(number), exactly=exactly)
    w.unreachable()


def _distance(w: Writer, buffers: AddressedBuffers, number: Val, address: Val) -> tuple[Val, Val]:
    """How far an address is from a buffer, and where it is: 0 for inside, 1 for before, 2 for behind."""
    begin = buffers.address(w, number)
    end = w.add(begin, buffers.size(w, number))
    before = w.compare("ult", address, begin)
    behind = w.binary("and", w.negated(before), w.compare("uge", address, end))
    distance = w.select(before, w.sub(begin, address), w.select(behind, w.sub(address, end), integer(0)))
    return distance, w.select(before, integer(1), w.select(behind, integer(2), integer(0)))
