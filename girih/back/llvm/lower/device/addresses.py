"""Buffers by their addresses (`girih.ops.device.memory.BufferAt`).

The work-items of a subgroup nearly always meet in one buffer, that of the first active work-item. Where they do not,
each has its own; if all accesses are those that the instruction was asked for, offsets are counted from the first one's
memory all the same, so that they go from one pointer.
"""

from __future__ import annotations

from functools import lru_cache

from girih.back.llvm.emit.text import Val, integer, wide
from girih.back.llvm.lower.code import KernelCode, memref_type
from girih.back.llvm.lower.device.bounds import ends_outside
from girih.back.llvm.lower.device.buffers import (
    AddressedBuffers,
    AddressedBytes,
    find_buffer,
    report_missing,
)
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.values import Linear, Nearly, Scalar, index
from girih.ir.core import Function, Value
from girih.ir.types import INDEX
from girih.ops.device.memory import BufferAt

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@LOWERINGS.of(BufferAt)
def buffer_at(code: KernelCode, op: BufferAt) -> None:
    """Lower the search for the buffer of an address."""
    w, buffers, address = code.w, AddressedBuffers.of(code, op), code.scalar(op.address)
    (first,) = code.one(address)
    number = find_buffer(code, op, buffers, first)
    pointer, size = buffers.pointer(w, number), buffers.size(w, number)
    known = op.memory not in _read_elsewhere(code.function)
    if address.uniform:
        _set(code, op, buffers, pointer, index(size), index(number), known=known)
        code.set(op.offset, index(w.sub(first, buffers.address(w, number))))
        return
    search = _LaneSearch(code, op, buffers, address, number, pointer)
    if known:
        code.set(op.offset, search.offsets_from_first())
        _set(code, op, buffers, pointer, index(size), index(number), known=True)
        return
    pointers, sizes, numbers, offsets = search.each()
    _set(code, op, buffers, pointers, index(sizes), index(numbers), known=False)
    code.set(op.offset, index(offsets))


def _set(
    code: KernelCode,
    op: BufferAt,
    buffers: AddressedBuffers,
    pointer: Val,
    size: Scalar,
    number: Scalar,
    *,
    known: bool,
) -> None:
    """Set the buffer that was found."""
    type, name = memref_type(op.memory), buffers.group.name
    shape, strides = (size,), (1,)
    held = AddressedBytes(type, pointer, index(0), shape, strides, name, 1, False, number,
                          code.scalar(op.address), buffers, op.offset if known else None)  # fmt: skip
    code.set(op.memory, held)


@lru_cache(maxsize=16)
def _read_elsewhere(function: Function) -> frozenset[Value]:
    """The buffers found at addresses that are accessed, or viewed, at other offsets than those of the addresses too."""
    own = {op.memory: op.offset for op in function.walk() if isinstance(op, BufferAt)}
    elsewhere = set()
    for op in function.walk():
        for value in op.operands:
            if value in own and getattr(op, "offset", None) is not own[value]:
                elsewhere.add(value)
    return frozenset(elsewhere)


class _LaneSearch:
    """The search for the buffer of each work-item, which the buffer of the first one nearly always is."""

    def __init__(
        self, code: KernelCode, op: BufferAt, buffers: AddressedBuffers, address: Scalar, number: Val, pointer: Val
    ) -> None:
        self._code, self._op, self._buffers, self._address = code, op, buffers, address
        self._number, self._pointer = number, pointer

    def offsets_from_first(self) -> Scalar:
        """The offset of each address from the memory of the first work-item's buffer, wherever its own lies."""
        code, w = self._code, self._code.w
        begin = self._buffers.address(w, self._number)
        linear, holds = self._linear()
        ends = self._buffers.ends(w, self._number, self._op.bytes)
        there = w.sub(addresses.vector(w, self._address, code.lanes), w.splat(begin, code.lanes))
        if linear is None:
            inside = w.compare("ult", there, w.splat(ends, code.lanes))
            if code.mask is not None:
                inside = w.binary("or", inside, w.negated(code.mask))
            together = w.all(inside)
        else:
            linear = Linear(w.sub(linear.base, begin), linear.stride)
            inside = w.negated(ends_outside(code, linear, index(ends)))
            together = inside if holds is None else w.binary("and", holds, inside)
        (offsets,) = w.either(together, lambda: [there], lambda: [self._apart()], rare=True)
        return Scalar(INDEX, (offsets,), nearly=None if linear is None else Nearly(linear, together))

    def _linear(self) -> tuple[Linear | None, Val | None]:
        if self._address.linear is not None:
            return self._address.linear, None
        nearly = self._address.nearly
        return (None, None) if nearly is None else (nearly.linear, nearly.holds)

    def _apart(self) -> Val:
        """The offsets from the first one's memory, each by way of a work-item's own buffer."""
        w = self._code.w
        pointers, _, _, offsets = self.each()
        first = w.pure("i64", f"ptrtoint {self._pointer} to i64", (self._pointer,))
        own = w.pure(
            wide("i64", self._code.lanes), f"ptrtoint {pointers} to {wide('i64', self._code.lanes)}", (pointers,)
        )
        return w.add(offsets, w.sub(own, w.splat(first, self._code.lanes)))

    def each(self) -> tuple[Val, Val, Val, Val]:
        """The memory, the bytes, the number and the offset of each work-item's own buffer; one without is found."""
        code, w, op, buffers = self._code, self._code.w, self._op, self._buffers
        count, wanted = code.lanes, addresses.vector(self._code.w, self._address, self._code.lanes)
        nothing = integer(0, wide("i64", count))
        numbers = integer(-1, wide("i64", count))
        pointers = w.splat(self._pointer, count)
        with w.loop(0, buffers.count, 1, [pointers, nothing, numbers, nothing]) as loop:
            number = loop.index
            offset = w.sub(wanted, w.splat(buffers.address(w, number), count))
            here = w.compare("ult", offset, w.splat(buffers.ends(w, number, op.bytes), count))
            found = (buffers.pointer(w, number), buffers.size(w, number), number, offset)
            loop.following = [
                w.select(here, w.splat(new, count), old) for new, old in zip(found, loop.values, strict=True)
            ]
        pointers, sizes, numbers, offsets = loop.results
        if code.checks:
            self._check(numbers)
        return pointers, sizes, numbers, offsets

    def _check(self, numbers: Val) -> None:
        code, w = self._code, self._code.w
        bad = w.compare("slt", numbers, integer(0, numbers.type))
        if code.mask is not None:
            bad = w.binary("and", bad, code.mask)

        def report() -> None:
            lane = code.trailing_zeros(bad)
            address = w.extract(addresses.vector(w, self._address, code.lanes), lane)
            report_missing(code, self._op, self._buffers, address, lane)

        w.unlikely(w.any(bad), report)
