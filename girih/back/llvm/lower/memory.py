"""Allocation, loads, stores and views (`girih.ops.tile.memory`)."""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.emit.text import Val, integer, lanes, wide, zero
from girih.back.llvm.lower.access import first_outside, full_mask, locate, outside, read, write
from girih.back.llvm.lower.code import KernelCode, memref_type
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_extent, as_scalar
from girih.back.llvm.numbers.values import GroupHeld, MemRefHeld, Scalar, index, uniform
from girih.facts import findings
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.types import BOOL, GroupType, MemRef
from girih.ops.tile.memory import (
    Alloca,
    Associated,
    Expand,
    Fuse,
    LifetimeStop,
    Load,
    Size,
    Store,
    Subview,
)
from girih.ops.tile.tensor_map import alignment_of

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Alloca)
def alloca(code: KernelCode, op: Alloca) -> None:
    """Lower an `alloca` to a piece of local memory."""
    type = memref_type(op.result)
    shape = tuple(n or 0 for n in type.shape)
    strides = tuple(n or 0 for n in type.strides)
    elements = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    alignment = max(alignment_of(op), DEFAULT_LIMITS.alignment)
    pointer = code.local(elements * type.element.size, alignment)
    held = MemRefHeld(type, pointer, index(0), shape, strides, op.result.name, alignment, maybe_null=False)
    code.set(op.result, held)


@LOWERINGS.of(LifetimeStop)
def lifetime_stop(code: KernelCode, op: LifetimeStop) -> None:
    """Do nothing: memory stays until the end of its region."""


@LOWERINGS.of(Load)
def load(code: KernelCode, op: Load) -> None:
    """Lower the load of an element of a memref, or of a memref of a group."""
    if isinstance(op.tensor.type, GroupType):
        code.set(op.result, _member(code, op, code.group_of(op.tensor)))
        return
    code.set(op.result, read(code, locate(code, op, code.memref(op.tensor), op.indices)))


@LOWERINGS.of(Store)
def store(code: KernelCode, op: Store) -> None:
    """Lower the store of an element of a memref."""
    place = locate(code, op, code.memref(op.tensor), op.indices)
    apart = code.varies(op.tensor, *op.indices)
    code.once(lambda: write(code, place, code.scalar(op.value)), apart=apart)


def check_member(code: KernelCode, op: Load, group: GroupHeld) -> None:
    """Check that a group has the member that a load picks."""
    w = code.w
    where = code.index(op.indices[0])
    bad = w.compare("eq", group.table, zero("ptr"))
    code.check(op, bad, findings.null(group.name), argument=group.name)
    size: Extent = group.size if isinstance(group.size, int) else index(group.size)
    over = outside(code, where, size)
    if over is not None:
        known = lanes(over.type) > 1 or where.uniform
        code.check(op, over, findings.outside(op, group.name), argument=group.name, index=(where,), shape=(size,),
                   exactly=None if known else lambda: first_outside(code, (size,), (where,)))  # fmt: skip


def _member(code: KernelCode, op: Load, group: GroupHeld) -> MemRefHeld:
    """The memref that each work-item picks from a group."""
    w, where = code.w, code.index(op.indices[0])
    check_member(code, op, group)
    held = where.part if where.uniform else addresses.vector(w, where, code.lanes)
    record = w.at(group.table, w.mul(held, integer(group.record_bytes, held.type)))
    field = _Fields(code, record)
    pointer = field.next("ptr")
    shape = tuple(index(field.next("i64")) if n is None else n for n in group.memref.shape)
    strides = tuple(index(field.next("i64")) if n is None else n for n in group.memref.strides)
    return MemRefHeld(group.memref, pointer, index(0), shape, strides, group.name, group.align)


class _Fields:
    """A reader of the fields of a group's record, one after the other."""

    def __init__(self, code: KernelCode, record: Val) -> None:
        self._code, self._record, self._offset = code, record, 0

    def next(self, type: str) -> Val:
        """The value of the next field."""
        code = self._code
        w = code.w
        address = w.at(self._record, self._offset)
        self._offset += 8
        count = lanes(address.type)
        if count == 1:
            return w.load(type, address, 8)
        return w.gather(wide(type, count), address, full_mask(code), 8, zero(wide(type, count)))


@LOWERINGS.of(Associated)
def associated(code: KernelCode, op: Associated) -> None:
    """Lower the question whether a memref or group has memory."""
    held = code.env[op.tensor]
    pointer = held.table if isinstance(held, GroupHeld) else held.pointer
    code.set(op.result, uniform(BOOL, code.w.compare("ne", pointer, zero(pointer.type))))


@LOWERINGS.of(Size)
def size(code: KernelCode, op: Size) -> None:
    """Lower the size of a mode of a memref, or of a group."""
    held = code.env[op.tensor]
    if isinstance(held, GroupHeld):
        code.set(op.result, index(held.size))
        return
    code.set(op.result, as_scalar(held.shape[op.mode]))


# --- views -------------------------------------------------------------------------------------


@LOWERINGS.of(Subview)
def subview(code: KernelCode, op: Subview) -> None:
    """Lower a view of a part of a memref; a slice that is out of bounds is a finding."""
    memref = code.memref(op.tensor)
    offset: Extent = as_extent(memref.offset)
    shape: list[Extent] = []
    strides: list[Extent] = []
    for number, (part, extent, stride) in enumerate(zip(op.slices, memref.shape, memref.strides, strict=True)):
        first = as_extent(code.index(part.offset))
        length: Extent = 1 if part.size is None or part.drops_mode else as_extent(code.index(part.size))
        _check_slice(code, op, memref, number, first, length, extent)
        offset = addresses.add(code.w, offset, addresses.multiply(code.w, first, stride, code.lanes), code.lanes)
        if not part.drops_mode:
            shape.append(length)
            strides.append(stride)
    type = memref_type(op.result)
    code.set(op.result, _view(memref, type, as_scalar(offset), shape, strides))


def _view(memref: MemRefHeld, type: MemRef, offset: Scalar, shape: list[Extent], strides: list[Extent]) -> MemRefHeld:
    return replace(
        memref,
        type=type,
        offset=offset,
        shape=tuple(held if n is None else n for n, held in zip(type.shape, shape, strict=True)),
        strides=tuple(held if n is None else n for n, held in zip(type.strides, strides, strict=True)),
        align=memref.element.size,
    )


def _is_inside(first: Extent, length: Extent, extent: Extent) -> bool:
    """Whether a slice is known to lie in its mode."""
    if isinstance(first, Scalar) or isinstance(length, Scalar) or isinstance(extent, Scalar):
        return False
    return first >= 0 and length >= 1 and first + length <= extent


def _check_slice(
    code: KernelCode, op: Subview, memref: MemRefHeld, number: int, first: Extent, length: Extent, extent: Extent
) -> None:
    if not code.checks or (op, number) in code.place.inside:
        return
    if _is_inside(first, length, extent):
        return
    w = code.w
    begin, count, end = (as_scalar(x) for x in (first, length, extent))
    width = 1 if begin.uniform and count.uniform and end.uniform else code.lanes
    a, n, m = (addresses.vector(w, x, width) for x in (begin, count, end))
    zeros = integer(0, a.type)
    bad = w.binary("or", w.compare("slt", a, zeros), w.compare("slt", n, integer(1, n.type)))
    bad = w.binary("or", bad, w.compare("sgt", a, w.sub(m, n)))
    words = findings.wrong_slice(number, memref.name)
    code.check(op, bad, words, argument=memref.name, index=(first, length), shape=(extent,))


@LOWERINGS.of(Expand)
def expand(code: KernelCode, op: Expand) -> None:
    """Lower a view in which one mode is split into several."""
    memref = code.memref(op.tensor)
    sizes = [as_extent(code.index(size)) for size in op.sizes]
    extent, stride = memref.shape[op.mode], memref.strides[op.mode]
    _check_product(code, op, memref, sizes, extent)
    new: list[Extent] = []
    for held in sizes:
        new.append(stride)
        stride = addresses.multiply(code.w, stride, held, code.lanes)
    shape = [*memref.shape[: op.mode], *sizes, *memref.shape[op.mode + 1 :]]
    strides = [*memref.strides[: op.mode], *new, *memref.strides[op.mode + 1 :]]
    code.set(op.result, _view(memref, memref_type(op.result), memref.offset, shape, strides))


def _check_product(code: KernelCode, op: Expand, memref: MemRefHeld, sizes: list[Extent], extent: Extent) -> None:
    """Find sizes that are negative, or whose exact product is not the extent."""
    if not code.checks:
        return
    w = code.w
    scalars = [as_scalar(x) for x in (*sizes, extent)]
    width = 1 if all(s.uniform for s in scalars) else code.lanes
    *factors, target = (addresses.vector(w, s, width) for s in scalars)
    bad = integer(0, wide("i1", width))
    empty = bad
    one = integer(1, target.type)
    for held in factors:
        bad = w.binary("or", bad, w.compare("slt", held, integer(0, held.type)))
        empty = w.binary("or", empty, w.compare("eq", held, integer(0, held.type)))
    product = one
    for held in factors:
        factor = w.larger(held, one)
        pair = w.multiplied(product, factor)
        bad = w.binary("or", bad, w.binary("and", w.overflows(pair, product, factor), w.negated(empty)))
        product = w.product(pair, factor.type)
    total = w.select(empty, integer(0, product.type), product)
    bad = w.binary("or", bad, w.compare("ne", total, target))
    words = findings.wrong_sizes(op.mode, memref.name)
    code.check(op, bad, words, argument=memref.name, index=sizes, shape=(extent,))


@LOWERINGS.of(Fuse)
def fuse(code: KernelCode, op: Fuse) -> None:
    """Lower a view in which several modes are joined into one."""
    memref = code.memref(op.tensor)
    fused: Extent = memref.shape[op.first]
    for k in range(op.first, op.last):
        _check_gap(code, op, memref, k)
        fused = addresses.multiply(code.w, fused, memref.shape[k + 1], code.lanes)
    shape = [*memref.shape[: op.first], fused, *memref.shape[op.last + 1 :]]
    strides = [*memref.strides[: op.first + 1], *memref.strides[op.last + 1 :]]
    code.set(op.result, _view(memref, memref_type(op.result), memref.offset, shape, strides))


def _check_gap(code: KernelCode, op: Fuse, memref: MemRefHeld, k: int) -> None:
    w = code.w
    step = as_scalar(addresses.multiply(w, memref.strides[k], memref.shape[k], code.lanes))
    following = as_scalar(memref.strides[k + 1])
    size = as_scalar(memref.shape[k])
    width = 1 if step.uniform and following.uniform and size.uniform else code.lanes
    differs = w.compare("ne", addresses.vector(w, step, width), addresses.vector(w, following, width))
    # Nothing lies in an empty mode, whose stride may be any.
    bad = w.binary("and", differs, w.compare("ne", addresses.vector(w, size, width), zero(wide("i64", width))))
    code.check(op, bad, findings.gap(k, memref.name), argument=memref.name)
