"""Factors of a product on their way to shared memory, where they lie in the type in which the product is computed, or
as they are.

Threads load several pieces before they store the first one, so that many bytes are on their way at a time. What is
copied as it is may go past registers (PTX ISA "cp.async"), and come in stages, so that a product begins with the first
steps of its depth while the others are on their way. Where the number of pieces is no multiple of the number of
threads, the last ones copy the last piece again through registers: a branch would cost more. So all threads of the
work-group must execute the copy, and nothing else may write there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace

from girih.back.llvm.emit.text import Operand, Val, integer, wide
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.linalg.target import CollectiveNumbers
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.collective.pieces import ACCESS, at_once, in_two_ways, is_aligned, suits
from girih.back.llvm.nvptx.collective.tiles import FactorLayout
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.lazy_dataclass import dataclass

FACTORS = "factors"
"""The array of a work-group with copies of factors, whole ones or blocks."""

_LOADS = 16
"""How many pieces a thread loads before it stores them."""

_MOST_STEPS = 64
"""So many pieces of a thread are written out; more are a loop."""

_COPY = "llvm.nvvm.cp.async.cg.shared.global.16"
_COMMIT = "llvm.nvvm.cp.async.commit.group"
_WAIT = "llvm.nvvm.cp.async.wait.group"

_NARROW = 4
"""How many elements a thread loads at once where they go one by one."""


@dataclass(frozen=True, slots=True)
class CopiedFactor:
    """A factor with `lines` and `depth` as its modes, and the place of its copy.

    The copy is in the type in which the product is computed, unless it is copied as it is.
    """

    view: View
    layout: FactorLayout
    place: Val
    as_is: bool = False
    part: int | None = None
    """The steps of the depth that are copied; all of them if None."""

    @property
    def depth(self) -> int:
        """The steps of the depth that are copied."""
        return self.layout.depth if self.part is None else self.part

    def steps_of_depth(self, code: CudaCode, begin: int, end: int) -> CopiedFactor:
        """The copy of some steps of the depth only."""
        source = self.view.address(code.w, 0, begin)
        goal = code.w.at(self.place, self.layout.offset(0, begin))
        return replace(self, view=replace(self.view, pointer=source), place=goal, part=end - begin)

    @property
    def near(self) -> int:
        """The mode whose elements are neighbours in the copy."""
        return 1 if self.layout.along_depth else 0

    @property
    def run(self) -> int:
        """How many neighbours there are along a line, or from line to line."""
        return self.depth if self.layout.along_depth else self.layout.lines

    @property
    def runs(self) -> tuple[int, int]:
        """How many elements lie one behind the other in both memories, and how many such runs there are."""
        layout, run, strides = self.layout, self.run, self.view.strides
        count = layout.lines if layout.along_depth else self.depth
        whole = run == layout.pitch and strides[self.near] == 1 and strides[1 - self.near] == run
        return (run * count, 1) if whole else (run, count)

    @property
    def wide(self) -> int:
        """How many elements are copied at once where addresses are aligned."""
        neighbours = suits(self.view) and self.view.strides[self.near] == 1
        return at_once(self.view.element, self.runs[0]) if neighbours else 1

    def without_gaps(self) -> CopiedFactor | None:
        """The factor for memory without gaps between runs, where only a launch knows of these.

        None where they are known, or where wide pieces do not need it.
        """
        far = self.view.strides[1 - self.near]
        if isinstance(far, int) or self.run != self.layout.pitch or self.view.strides[self.near] != 1:
            return None
        strides = (self.run, 1) if self.near else (1, self.run)
        dense = replace(self, view=replace(self.view, strides=strides))
        return dense if dense.wide > self.wide else None

    def is_aligned(self, code: CudaCode) -> Val:
        """Whether its pieces are aligned."""
        view = self.view
        if self.runs[1] == 1:
            view = View(view.element, view.pointer, (), (), view.name, view.local)
        elif self.near:
            view = view.turned(True)
        return is_aligned(code, view, self.wide)

    def steps(self, count: int, threads: int) -> int:
        """How many pieces of `count` elements a thread copies."""
        run, runs = self.runs
        return -(-run * runs // (count * threads))

    def places(self, code: CudaCode, number: Val, count: int) -> tuple[Val, Val]:
        """The place of a piece in memory, and where it goes."""
        w, (run, runs), element = code.w, self.runs, self.view.element
        if runs == 1:
            position, line = w.mul(number, count), w.value(0)
        else:
            position = w.mul(w.binary("urem", number, w.value(run // count)), count)
            line = w.binary("udiv", number, w.value(run // count))
        here = w.add(w.mul(position, self._step), w.mul(line, self.view.strides[1 - self.near]))
        source = w.at(self.view.pointer, w.mul(here, element.size))
        return source, w.at(self.place, w.mul(w.add(position, w.mul(line, self.layout.pitch)), self.layout.size))

    def load(self, code: CudaCode, number: Val, count: int) -> tuple[Val, Val]:
        """A piece as it is in memory, and where it goes."""
        element = self.view.element
        source, goal = self.places(code, number, count)
        return code.w.load(wide(memory_type(element), count), source, min(ACCESS, count * element.size)), goal

    @property
    def _step(self) -> Operand:
        return self.view.strides[self.near]

    def store(self, numbers: CollectiveNumbers, held: Val, goal: Val, count: int) -> None:
        """Store a piece."""
        code, element = numbers.code, self.view.element
        if self.as_is:
            code.w.store(held, goal, min(ACCESS, count * element.size))
            return
        (part,) = numbers.widened(element, (from_memory(code.w, code.features, element, held),))
        code.w.store(part, goal, min(ACCESS, count * self.layout.size))


def copy(
    code: CudaCode, numbers: CollectiveNumbers, factors: Sequence[CopiedFactor], threads: int,
    stages: Sequence[int] = (),
) -> None:  # fmt: skip
    """Let the threads copy factors; they have to come together before they read the copies.

    With `stages`, the ends of ranges of the depth, copies are only under way then (`wait_for_copies`).
    """
    w, aligned = code.w, None
    pieces: list[tuple[CopiedFactor, int]] = []
    for one in factors:
        dense = one.without_gaps()
        if dense is not None:
            aligned = w.both(aligned, w.compare("eq", one.view.strides[1 - one.near], one.run))
        pieces.append((dense or one, (dense or one).wide))
        if pieces[-1][1] > 1:
            aligned = w.both(aligned, pieces[-1][0].is_aligned(code))

    def together() -> None:
        if stages:
            _begin_copies(code, [one for one, _ in pieces], threads, stages)
        else:
            copy_pieces(code, numbers, pieces, threads)

    in_two_ways(
        code,
        aligned,
        together,
        lambda: copy_pieces(code, numbers, [(one, 1) for one in factors], threads, few=aligned is not None),
    )


def may_come_in_stages(factors: Sequence[CopiedFactor], threads: int) -> bool:
    """Whether factors can be copied past registers, all lines or steps of the depth in pieces of 16 bytes, by code that
    is not too long."""
    whole = all(
        one.as_is and not one.view.local and one.wide == one.layout.wide and one.run % one.wide == 0 for one in factors
    )
    return whole and sum(one.steps(one.wide, threads) for one in factors) <= _MOST_STEPS


def _begin_copies(code: CudaCode, factors: Sequence[CopiedFactor], threads: int, stages: Sequence[int]) -> None:
    """Begin copies of pieces of 16 bytes, a group for each stage (PTX ISA "cp.async")."""
    w = code.w
    code.module.declare(_COPY, "void", ("ptr addrspace(3)", "ptr addrspace(1)"))
    code.module.declare(_COMMIT, "void", ())
    for begin, end in zip((0, *stages), stages, strict=False):
        for one in factors:
            part = one.steps_of_depth(code, begin, end)
            count = part.wide
            pieces = part.runs[0] * part.runs[1] // count
            for first in range(0, pieces, threads):
                piece = w.add(code.thread, first)
                # No two copies may write one place before somebody has waited for them.
                inside = w.compare("slt", piece, pieces)
                with nullcontext() if first + threads <= pieces else w.when(inside):
                    source, goal = part.places(code, piece, count)
                    w.run(_COPY, goal, w.convert("addrspacecast", source, "ptr addrspace(1)"))
        w.run(_COMMIT)


def wait_for_copies(code: CudaCode, left: int) -> None:
    """Let each thread wait for its own copies but those of so many stages, the last ones."""
    code.module.declare(_WAIT, "void", ("i32",))
    code.w.run(_WAIT, integer(left, "i32"))


def copy_pieces(
    code: CudaCode, numbers: CollectiveNumbers, factors: Sequence[tuple[CopiedFactor, int]], threads: int,
    *, few: bool = False,
) -> None:  # fmt: skip
    """Copy factors in pieces of so many elements each; with `few`, in short code."""
    w = code.w
    steps = [one.steps(count, threads) for one, count in factors]
    most = _NARROW if few else _LOADS
    if sum(steps) <= (most if few else _MOST_STEPS):
        loads = [
            _load(code, one, count, w.add(code.thread, number * threads), last=number == total - 1)
            for (one, count), total in zip(factors, steps, strict=True)
            for number in range(total)
        ]
        _in_batches(numbers, loads, most)
        return
    for (one, count), total in zip(factors, steps, strict=True):
        with w.loop(0, total, most) as loop:
            first = w.add(code.thread, w.mul(loop.index, threads))
            loads = [_load(code, one, count, w.add(first, k * threads), last=True) for k in range(most)]
            _in_batches(numbers, loads, most)


Loading = Callable[[], tuple[Val, Val, CopiedFactor, int]]
"""A piece that is loaded, where it goes, and the factor and the number of elements that it is of."""


def _load(code: CudaCode, one: CopiedFactor, count: int, number: Val, *, last: bool) -> Loading:
    run, runs = one.runs

    def loaded() -> tuple[Val, Val, CopiedFactor, int]:
        inside = code.w.smaller(number, run * runs // count - 1) if last else number
        return (*one.load(code, inside, count), one, count)

    return loaded


def _in_batches(numbers: CollectiveNumbers, loads: Sequence[Loading], most: int) -> None:
    for begin in range(0, len(loads), most):
        for held, goal, one, count in [load() for load in loads[begin : begin + most]]:
            one.store(numbers, held, goal, count)
