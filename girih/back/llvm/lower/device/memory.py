"""Memory as bytes: loads, stores, views and indices of arrays (`girih.ops.device.memory`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from girih.back.llvm.emit.text import Val, bits, integer, lanes
from girih.back.llvm.lower.access import check_null, first_outside, outside, shared_memref
from girih.back.llvm.lower.code import KernelCode, memref_type
from girih.back.llvm.lower.device.access import BytePlace, read, write
from girih.back.llvm.lower.device.bounds import accessed, check_lanes, place_of
from girih.back.llvm.lower.device.widened import keep_linear
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.addresses import Extent, as_extent, as_scalar
from girih.back.llvm.numbers.values import BytesHeld, MemRefHeld, Scalar, index, natural, scalar_type, uniform
from girih.facts import memory as findings
from girih.ir.core import Value
from girih.ir.types import INDEX, MemRef
from girih.ops.device.memory import ArrayIndex, ByteLoad, ByteStore, ByteView

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@LOWERINGS.of(ByteLoad)
def byte_load(code: KernelCode, op: ByteLoad) -> None:
    """Lower the load of numbers that lie side by side."""
    memory, type = code.memref(op.memory), op.results[0].type
    place = place_of(code, op, memory, type, len(op.results))
    _volatile(code, op)
    loaded = accessed(code, op, memory, place, lambda there: [held.part for held in read(code, there, type)])
    for result, part in zip(op.results, loaded, strict=True):
        code.set(result, uniform(scalar_type(type), part))
    _volatile(code, op)


@LOWERINGS.of(ByteStore)
def byte_store(code: KernelCode, op: ByteStore) -> None:
    """Lower the store of numbers side by side."""
    memory, values = code.memref(op.memory), [code.scalar(value) for value in op.values]
    place = place_of(code, op, memory, op.values[0].type, len(op.values))

    def store(there: BytePlace) -> list[Val]:
        code.once(lambda: write(code, there, values), apart=code.varies(op.memory, op.offset))
        return []

    _volatile(code, op)
    accessed(code, op, memory, place, store)
    _volatile(code, op)


def _volatile(code: KernelCode, op: ByteLoad | ByteStore) -> None:
    """Keep a volatile access where it is: LLVM moves none over a fence, which for one thread is no instruction."""
    if op.volatile:
        code.w.fence("seq_cst", "singlethread")


@LOWERINGS.of(ArrayIndex)
def array_index(code: KernelCode, op: ArrayIndex) -> None:
    """Lower an index into an array of fixed size to the number itself. What robust access defines is not looked for."""
    code.set(op.result, _as_index(code, code.scalar(op.index)))
    keep_linear(code, op.index, op.result, signed=True)
    if not code.checks or op.robust:
        return
    held = code.scalar(op.result)

    def find() -> None:
        bad = outside(code, held, op.size)
        if bad is not None:
            known = lanes(bad.type) > 1 or held.uniform
            code.check(op, bad, findings.element_outside(op), index=(held,), shape=(op.size,),
                    exactly=None if known else lambda: first_outside(code, (op.size,), (held,)))  # fmt: skip

    check_lanes(code, held, op.size, find)


def _as_index(code: KernelCode, held: Scalar) -> Scalar:
    """A signed integer as an index."""
    linear = held.linear
    if linear is not None and (linear.exact or bits(linear.base.type) == 64):
        return replace(held, type=INDEX, linear=replace(linear, base=code.w.convert("sext", linear.base, "i64")))
    return uniform(INDEX, code.w.convert("sext", natural(code.w, held, code.lanes)[0], "i64"))


@LOWERINGS.of(ByteView)
def byte_view(code: KernelCode, op: ByteView) -> None:
    """Lower a view of bytes as numbers to a memref like any other, which begins at the offset."""
    memory = shared_memref(code, op, "memory", code.memref(op.memory))
    check_null(code, op, memory)
    (offset,) = code.agreed(op, "offset", code.scalar(op.offset))
    type = memref_type(op.result)
    size = type.element.size
    _check_view(code, op, memory, offset, size)
    strides = _filled(type.strides, [_shared(code, op, "strides", value) for value in op.strides])
    sizes = [_shared(code, op, "sizes", value) for value in op.sizes]
    reaches = None in type.shape and not sizes
    if reaches:
        sizes = [_reach(code, memory, offset, type, strides)]
    shape, pointer = _filled(type.shape, sizes), code.w.at(memory.pointer, code.w.add(memory.offset.part, offset))
    view = MemRefHeld(type, pointer, index(0), shape, strides, memory.name, min(memory.align, size), memory.maybe_null)
    code.set(op.result, view if reaches else BytesHeld.of(view, offset, as_scalar(memory.shape[0]).part))


def _shared(code: KernelCode, op: ByteView, name: str, value: Value) -> Extent:
    return as_extent(index(code.agreed(op, name, code.scalar(value))[0]))


def _filled(extents: Sequence[int | None], given: Sequence[Extent]) -> tuple[Extent, ...]:
    """The extents of a type, with what is given for those that it leaves open."""
    following = iter(given)
    return tuple(next(following) if extent is None else extent for extent in extents)


def _check_view(code: KernelCode, op: ByteView, memory: MemRefHeld, offset: Val, size: int) -> None:
    """Find a view that begins outside of its memory, or not at a multiple of the size of its numbers."""
    where: dict[str, Any] = {"argument": memory.name, "index": (index(offset),), "shape": memory.shape}
    bad = code.w.compare("ugt", offset, as_scalar(memory.shape[0]).part)
    code.check(op, bad, findings.bytes_outside(op, 1, memory.name), **where)
    if size > 1:
        bad = code.w.compare("ne", code.w.binary("and", offset, integer(size - 1)), integer(0))
        code.check(op, bad, findings.bytes_misaligned(op, size, memory.name), **where)


def _reach(code: KernelCode, memory: MemRefHeld, offset: Val, type: MemRef, strides: Sequence[Extent]) -> Extent:
    """The size of the last mode with which all elements of a view lie between an offset and the end of the memory."""
    w = code.w
    left: Val = w.binary("sdiv", w.sub(as_scalar(memory.shape[0]).part, offset), integer(type.element.size))
    for size, stride in zip(type.shape[:-1], strides, strict=False):
        left = w.sub(left, w.mul(as_scalar(stride).part, (size or 0) - 1))
    step = w.larger(as_scalar(strides[-1]).part, 1)
    count = w.binary("sdiv", w.add(left, w.sub(step, 1)), step)
    return as_extent(index(w.larger(count, 0)))
