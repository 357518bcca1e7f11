"""Instructions that compute each element of a vector or matrix by itself: axpby, hadamard and ger, 16 bytes a thread.

Elements along the first mode go to threads in pieces, those along the second mode to groups of threads. A thread reads
several pieces before it writes the first one, so that enough bytes are on their way to keep the memory busy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.linalg.dealing import deal, thread_count
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.nvptx.collective.pieces import (
    ACCESS,
    in_two_ways,
    is_aligned,
    read_piece,
    result_piece,
    store_piece,
    suits,
)
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.lazy_dataclass import dataclass

MOST_BYTES = 32
"""The bytes of a piece of the widest elements, where others are narrower."""

_BATCH = 2
"""How many pieces a thread reads before it writes."""

Result = Callable[[list[Val], int], Val]
"""What the elements of the operands, `count` neighbours each, give for the target, but for alpha."""


@dataclass(frozen=True, slots=True)
class PointwiseOperand:
    """An operand with an element for each of the target, or for each position of one of its modes."""

    view: View
    mode: int | None = None

    def read(self, target: ScaledTarget, at: Sequence[Operand], count: int) -> Val:
        """The numbers for `count` neighbours from an index of the target on; one number where they share it."""
        view, w = self.view, target.numbers.code.w
        index = list(at) if self.mode is None else [at[self.mode]]
        if self.mode == 1:
            count = 1
        return read_piece(target.numbers, view, view.address(w, *index), count)

    @property
    def is_wide(self) -> bool:
        """Whether neighbours of the target have neighbours of it."""
        return self.mode != 1


def pointwise(
    code: CudaCode,
    target: ScaledTarget,
    operands: Sequence[PointwiseOperand],
    result: Result,
    otherwise: Callable[[], None],
) -> None:
    """Compute a target with one or two modes; `otherwise` writes code for memory that has no aligned neighbours."""
    wide = [target.view, *(one.view for one in operands if one.is_wide)]
    every = [target.view, *(one.view for one in operands)]
    if target.atomic or not suits(*every) or len(target.view.shape) not in (1, 2):
        otherwise()
        return
    if any(isinstance(view.strides[0], int) and view.strides[0] != 1 for view in wide):
        otherwise()
        return
    near: Val | None = None
    for view in wide:
        if not isinstance(view.strides[0], int):
            near = code.w.both(near, code.w.compare("eq", view.strides[0], integer(1)))
    target = replace(target, view=_of_neighbours(target.view))
    operands = [replace(one, view=_of_neighbours(one.view)) if one.is_wide else one for one in operands]
    wide = [target.view, *(one.view for one in operands if one.is_wide)]
    every = [target.view, *(one.view for one in operands)]
    flat = all(_is_dense(view) for view in wide) and len(wide) == len(every)
    if flat:
        target, operands = _flattened(target), [PointwiseOperand(_line(one.view)) for one in operands]
        wide = [target.view, *(one.view for one in operands)]
    sizes = [view.element.size for view in wide]
    count = max(1, min(ACCESS // min(sizes), MOST_BYTES // max(sizes)))
    if isinstance(target.view.shape[0], int) and target.view.shape[0] < count:
        otherwise()
        return
    aligned = near
    for view in wide:
        aligned = code.w.both(aligned, is_aligned(code, view, count))

    def piece(at: Sequence[Operand], count: int) -> tuple[Val, Val]:
        held = [one.read(target, at, count) for one in operands]
        place = target.view.address(code.w, *at)
        return result_piece(target, result(held, count), place, count), place

    nest = _PieceLoops(code, target, piece, count)
    in_two_ways(code, aligned, nest.write, otherwise)


def _of_neighbours(view: View) -> View:
    """The view of memory whose elements along the first mode are neighbours."""
    return replace(view, strides=(1, *view.strides[1:]))


def _is_dense(view: View) -> bool:
    """Whether a vector, or a matrix of known sizes, has no gaps."""
    if len(view.shape) == 1:
        return True
    return all(isinstance(n, int) for n in view.shape) and view.strides[1] == view.shape[0]


def _line(view: View) -> View:
    """A dense vector or matrix as a vector."""
    extent: Operand = 1
    for one in view.shape:
        extent = extent * one if isinstance(extent, int) and isinstance(one, int) else one
    return View(view.element, view.pointer, (extent,), (1,), view.name, view.local)


def _flattened(target: ScaledTarget) -> ScaledTarget:
    view = _line(target.view)
    return ScaledTarget(target.numbers, view, target.alpha, target.beta, target.reads, target.atomic)


@dataclass(frozen=True, slots=True)
class _PieceLoops:
    """The loops of the threads over the pieces of a target."""

    code: CudaCode
    target: ScaledTarget
    piece: Callable[[Sequence[Operand], int], tuple[Val, Val]]
    count: int

    def write(self) -> None:
        """Write the loops: over whole pieces, and over elements that are left."""
        w, shape = self.code.w, self.target.view.shape
        pieces = w.binary("lshr", w.value(shape[0]), integer(self.count.bit_length() - 1))
        threads = thread_count(self.code)
        if len(shape) == 1:
            self._line(self.code.thread, pieces, integer(threads), lambda number: [w.mul(number, self.count)])
        else:
            self._matrix(pieces, w.value(shape[1]))
        first = w.mul(pieces, self.count)
        left = w.sub(shape[0], first)
        if left.literal == 0:
            return
        deal(self.code, [left, *shape[1:]], lambda at: self._single([w.add(first, at[0]), *at[1:]]))

    def _single(self, at: Sequence[Operand]) -> None:
        held, place = self.piece(at, 1)
        store_piece(self.target, held, place, 1)

    def _matrix(self, pieces: Val, columns: Val) -> None:
        """Lanes take pieces of a column, and subgroups columns, unless there are fewer columns than subgroups."""
        code, w = self.code, self.code.w
        size, subgroups = code.geometry.subgroup_size, code.geometry.subgroups
        lane = w.convert("zext", code.lane, "i64")
        few = w.compare("slt", columns, subgroups)
        across, step = w.select(few, code.thread, lane), w.select(few, integer(size * subgroups), integer(size))
        first = w.select(few, integer(0), code.subgroup)
        others = w.select(few, integer(1), integer(subgroups))
        with w.loop(across, pieces, step) as loop:
            row = w.mul(loop.index, self.count)
            self._line(first, columns, others, lambda column: [row, column])

    def _line(self, first: Val, stop: Val, step: Val, index: Callable[[Val], list[Operand]]) -> None:
        """A loop over `first`, `first + step`, ... below `stop`, several at a time, then one by one."""
        w = self.code.w
        batch = w.mul(step, _BATCH)
        full = w.mul(w.binary("udiv", stop, batch), batch)
        with w.loop(first, full, batch) as loop:
            made = [self.piece(index(w.add(loop.index, w.mul(step, k))), self.count) for k in range(_BATCH)]
            for held, place in made:
                store_piece(self.target, held, place, self.count)
        with w.loop(w.add(full, first), stop, step) as loop:
            self.code.writer.note_few()
            held, place = self.piece(index(loop.index), self.count)
            store_piece(self.target, held, place, self.count)
