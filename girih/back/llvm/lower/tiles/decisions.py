"""What is decided in front of a loop of the tiles that it accesses (`girih.back.llvm.lower.versions`).

Of a tile or a part of a memref: whether its first and last elements are inside, whatever the loop does. Of a tensor:
whether all of it lies in its memory, and whether the offsets of slices are numbers of 32 bits; where coordinates
outside of the tensor are an error, whether they are inside as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.tensor_values import I32_LOW, LayoutHeld, ViewHeld
from girih.back.llvm.lower.tiles.checks import whole_tensor_is_there
from girih.back.llvm.lower.tiles.tensor import WHOLE, TensorTile, base_of
from girih.back.llvm.lower.versions import Decided, LoopFacts
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.ranges.indices import Limits
from girih.back.llvm.ranges.intervals import Interval, IntervalEnd, between, exactly
from girih.back.llvm.ranges.nests import BlockedAccess, FoundAccess, TensorAccess
from girih.ir.core import Value
from girih.ir.types import ClampMode, CoopMatrix, MemRef
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixLoad,
    CooperativeMatrixStore,
    MatrixLoad,
    MatrixStore,
)
from girih.ops.tile.coopmatrix_tensor import (
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixLoadTensor,
    CooperativeMatrixStoreBlockedInterleaved,
    CooperativeMatrixStoreTensor,
    block_bytes,
)
from girih.ops.tile.memory import Subview
from girih.ops.tile.tensor_layout import TensorLayoutSlice

DECISIONS = Lowerings[KernelCode]()
"""The decisions of this file, for targets that write loops with tiles twice."""


# --- tiles of memrefs --------------------------------------------------------------------------


def _decide_tile(facts: LoopFacts, access: FoundAccess, decided: Decided) -> None:
    """Add the modes in which a tile must be, and is, inside of its memref."""
    op = access.op
    assert isinstance(op, MatrixLoad | MatrixStore)
    matrix = op.result if isinstance(op, MatrixLoad) else op.matrix
    assert isinstance(matrix.type, CoopMatrix)
    shape = matrix.type.shape[::-1] if op.transpose else matrix.type.shape
    checked = (op.checked.rows, op.checked.columns)
    limits, complete = facts.limits(access), True
    for number, index in enumerate((op.row, op.column)):
        mode = 1 - number if op.transpose else number
        if checked[mode]:
            continue
        extent, found = facts.extent(op.memory, number), facts.ranges.of(index, limits)
        tile = None if found is None else facts.ranges.arithmetic.add(found, between(0, shape[number] - 1))
        if extent is None or tile is None or not facts.decide_index((op, mode), tile, extent, decided):
            complete = False
        else:
            decided.saved += 1
    if complete:
        decided.saved += facts.decide_present(op.memory, decided)


DECISIONS.decide(_decide_tile, CooperativeMatrixLoad, CooperativeMatrixStore)


def _decide_blocks(facts: LoopFacts, access: FoundAccess, decided: Decided) -> None:
    """Add the offset of blocks that are all inside of their memref."""
    op = access.op
    assert isinstance(op, BlockedAccess)
    matrix = (op.result if isinstance(op, CooperativeMatrixLoadBlockedInterleaved) else op.matrix).type
    assert isinstance(matrix, CoopMatrix)
    extent, found = facts.extent(op.memory, 0), facts.ranges.of(op.offset, facts.limits(access))
    blocks = None if found is None else facts.ranges.arithmetic.add(found, between(0, matrix.rows * matrix.columns - 1))
    if extent is not None and blocks is not None and facts.decide_index((op, 0), blocks, extent, decided):
        decided.saved += 1 + facts.decide_present(op.memory, decided)


DECISIONS.decide(_decide_blocks, CooperativeMatrixLoadBlockedInterleaved, CooperativeMatrixStoreBlockedInterleaved)


def _decide_subview(facts: LoopFacts, access: FoundAccess, decided: Decided) -> None:
    """Add the modes in which the part of a memref that a view shows is inside, and not empty."""
    op, limits = access.op, facts.limits(access)
    assert isinstance(op, Subview)
    for number, part in enumerate(op.slices):
        length = exactly(1) if part.drops_mode or part.size is None else facts.ranges.of(part.size, limits)
        extent, found = facts.extent(op.tensor, number), facts.ranges.of(part.offset, limits)
        if extent is None or found is None or length is None or length.low.most < 1:
            continue
        reach = Interval(IntervalEnd.of(0), length.high.plus(-1), length.needs)
        if length.low.least < 1:
            reach = reach.needing(facts.code.w.compare("sgt", length.low.value(facts.code.w), 0))
        shown = facts.ranges.arithmetic.add(found, reach)
        if shown is not None and facts.decide_index((op, number), shown, extent, decided):
            decided.saved += (op, number) in decided.indices


DECISIONS.decide(_decide_subview, Subview)


# --- slices ------------------------------------------------------------------------------------


def _decide_slice(facts: LoopFacts, access: FoundAccess, decided: Decided) -> None:
    """Add the offsets of a slice that are numbers of 32 bits."""
    op, limits = access.op, facts.limits(access)
    assert isinstance(op, TensorLayoutSlice)
    for position, one in enumerate(op.slices):
        found = facts.ranges.of(one.offset, limits)
        moved = None if found is None else facts.ranges.arithmetic.add(found, exactly(-I32_LOW))
        if moved is not None and facts.decide_index((op, position), moved, integer(2**32), decided):
            decided.saved += moved.low.literal is None


DECISIONS.decide(_decide_slice, TensorLayoutSlice)


# --- tensors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SlicedLayout:
    """A layout as it is known in front of a loop, and between which numbers the offsets of its region lie in it."""

    layout: LayoutHeld
    offsets: tuple[Interval | None, ...]


def _layout(facts: LoopFacts, value: Value, limits: Limits) -> _SlicedLayout | None:
    """The layout that an access has, if nothing but the offsets of its region changes in the loop; None otherwise."""
    if not facts.nests.contains(facts.loop, value):
        held = facts.code.env.get(value)
        shared = isinstance(held, LayoutHeld) and _is_shared(held)
        if not isinstance(held, LayoutHeld) or not shared or not facts.code.writes_versions(facts.loop, value):
            return None
        return _SlicedLayout(held, tuple(_of_extent(facts, offset) for offset in held.offset))
    op = facts.nests.made[value]
    before = _layout(facts, op.layout, limits) if isinstance(op, TensorLayoutSlice) else None
    if before is None or not isinstance(op, TensorLayoutSlice):
        return None
    spans = tuple(one.size if isinstance(one.size, int) else _constant(facts, one.size) for one in op.slices)
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return None
    offsets = []
    for old, one in zip(before.offsets, op.slices, strict=True):
        move = facts.ranges.of(one.offset, limits)
        offsets.append(None if old is None or move is None else facts.ranges.arithmetic.add(old, move))
    return _SlicedLayout(replace(before.layout, span=tuple(known)), tuple(offsets))


def _constant(facts: LoopFacts, value: Value | None) -> int | None:
    return None if value is None else facts.code.constants.get(value)


def _of_extent(facts: LoopFacts, offset: Extent) -> Interval | None:
    return exactly(offset) if isinstance(offset, int) else facts.ranges.arithmetic.leaf(offset.part)


def _is_shared(held: LayoutHeld | ViewHeld) -> bool:
    """Whether the numbers of a layout or view are the same in all work-items."""
    numbers = [*held.dimension, *held.stride]
    numbers += [*held.block_size, *held.offset, *held.span] if isinstance(held, LayoutHeld) else held.clip
    return all(isinstance(n, int) or n.uniform for n in numbers)


def _decide_tensor(facts: LoopFacts, access: FoundAccess, decided: Decided) -> None:
    """Add that the whole tensor lies in its memory, and where it has to be, that the tile lies in the tensor."""
    op, limits = access.op, facts.limits(access)
    assert isinstance(op, TensorAccess)
    found, start = _layout(facts, op.layout, limits), facts.ranges.of(op.offset)
    if found is None or start is None or not start.single:
        return
    tensor = _tensor(facts, op, found.layout, start.low.value(facts.code.w))
    if tensor is None:
        return
    there = whole_tensor_is_there(tensor)
    if there.literal == 0:
        return
    if there.literal == 1 and not start.needs:
        decided.certain.add((op, WHOLE))
    else:
        decided.indices.add((op, WHOLE))
        decided.needs.update(dict.fromkeys((*start.needs, there)))
        decided.saved += 1
    decided.saved += facts.decide_present(op.memory, decided)
    if found.layout.mode is not ClampMode.UNDEFINED:
        # Tiles at the edge are often meant to be partly outside: only those inside would go the fast way.
        return
    for position, offset in enumerate(found.offsets):
        reach = tensor.largest(position)
        tile = None
        if offset is not None and isinstance(reach, int):
            tile = facts.ranges.arithmetic.add(offset, between(0, reach))
        end = as_scalar(tensor.end(position)).part
        if tile is not None and facts.decide_index((op, position), tile, end, decided):
            decided.saved += 1


DECISIONS.decide(_decide_tensor, CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor)


def _tensor(facts: LoopFacts, op: TensorAccess, layout: LayoutHeld, start: Val) -> TensorTile | None:
    """An access in a loop, as far as it is known in front of it; None where too much changes."""
    code, memref = facts.code, facts.held(op.memory)
    view = None
    if op.view is not None:
        known = not facts.nests.contains(facts.loop, op.view) and code.writes_versions(facts.loop, op.view)
        view = code.env.get(op.view) if known else None
        if not isinstance(view, ViewHeld) or not _is_shared(view) or view.lacks_dimensions:
            return None
    if memref is None or not memref.uniform or not layout.has_dimensions:
        return None
    matrix = op.result if isinstance(op, CooperativeMatrixLoadTensor) else op.matrix
    assert isinstance(matrix.type, CoopMatrix)
    unit = matrix.type.component.size
    if isinstance(op, CooperativeMatrixLoadTensor) and isinstance(op.block_type, MemRef):
        unit = block_bytes(op.block_type)
    return TensorTile(code, op, matrix.type, layout, view, memref, start, base_of(code, memref, start), unit)
