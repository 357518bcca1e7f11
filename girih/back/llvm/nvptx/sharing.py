"""`foreach` where each work-item is a thread of a GPU: neighbouring points in a thread, 16 bytes of memory at once.

Memory is fastest where each thread of a warp accesses 16 bytes. So where the accesses of a body are to neighbours along
the first mode, a thread computes as many neighbouring points as that takes, as vectors: the lowerings write code for
any number of lanes, which are points of one thread here. Points that are left, and short modes, are computed one by
one.

Points of a second mode go to other subgroups, where there are enough of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from girih.analysis.uniformity import flat_modes
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.control import bound_of, in_versions, number_type
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane import sharing
from girih.back.llvm.lower.points import ends, outer_loops, set_points
from girih.back.llvm.numbers.values import Scalar
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.machine.neighbours import are_aligned, neighbours_of
from girih.ir.core import RegionKind
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach

LOWERINGS = Lowerings[CudaCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Foreach)
def foreach(code: CudaCode, op: Foreach) -> None:
    """Lower loops over points; several points of a thread at once where that makes for wide accesses."""
    in_versions(code, op, lambda: _foreach(code, op))


def _foreach(code: CudaCode, op: Foreach) -> None:
    if flat_modes(op, code.constants, code.geometry.subgroup_size):
        sharing.deal_out(code, op)
        return
    nest = _Nest.of(code, op)
    code.barrier()
    outer_loops(code, op, nest.starts, nest.stops, len(nest.starts) - 1, min(2, len(nest.starts)), nest.write)
    code.barrier()


@dataclass(frozen=True, slots=True)
class _Dealt:
    """How the points of a mode are dealt out: the first one of a thread, and the steps from one to the next."""

    first: Val
    step: Val
    shift: Val | None
    """The step as a power of two, if it is one whatever the sizes are."""


def _every(first: Val, step: int) -> _Dealt:
    power = step.bit_length() - 1
    return _Dealt(first, integer(step), integer(power) if step == 1 << power else None)


@dataclass(frozen=True, slots=True)
class _Nest:
    """The loops over the first two modes."""

    code: CudaCode
    op: Foreach
    starts: list[Val]
    stops: list[Val]
    inner: _Dealt
    outer: _Dealt | None

    @staticmethod
    def of(code: CudaCode, op: Foreach) -> _Nest:
        """The loops with the points of a second mode dealt out to subgroups, if it has one for each of them."""
        w = code.w
        starts, stops = ends(code, op, "start"), ends(code, op, "stop")
        size, subgroups = code.geometry.subgroup_size, code.geometry.subgroups
        alone, one = _every(code.thread, size * subgroups), _every(integer(0), 1)
        if len(starts) < 2:
            return _Nest(code, op, starts, stops, alone, None)
        if subgroups == 1:
            return _Nest(code, op, starts, stops, alone, one)
        few = w.compare_early("slt", w.sub(stops[1], starts[1]), integer(subgroups))
        lanes = _every(w.convert("zext", code.lane, "i64"), size)
        inner = _either(code, few, alone, lanes)
        return _Nest(code, op, starts, stops, inner, _either(code, few, one, _every(code.subgroup, subgroups)))

    def write(self) -> None:
        """Write the loops."""
        if self.outer is None:
            self._write_row()
            return
        w, variable = self.code.w, self.op.variables[1]
        with self._dealt(self.starts[1], self.stops[1], self.outer) as index:
            type = number_type(variable)
            counter = w.convert("trunc", index, f"i{8 * type.size}")
            below = bound_of(self.code.scalar(self.op.start[1]), self.stops[1])
            self.code.set(variable, Scalar(type, (counter,), below=below))
            self._write_row()

    def _write_row(self) -> None:
        """Write the loop over points of the first mode: several at once, then those that are left."""
        w = self.code.w
        start, stop = self.starts[0], self.stops[0]
        found = neighbours_of(self.code, self.op)
        at_once = found.count
        if at_once > 1:
            count = w.sub(stop, start)
            # Of few points each goes to a thread of its own. The distance between far ends may wrap around.
            enough = w.compare("sge", count, w.mul(self.inner.step, at_once))
            enough = w.binary("and", enough, w.compare("slt", start, stop))
            enough = w.binary("and", enough, are_aligned(self.code, found, start))
            pieces = w.select(enough, w.binary("lshr", count, integer(at_once.bit_length() - 1)), integer(0))
            with self._dealt(integer(0), pieces, self.inner) as piece, self.code.writer.wide_accesses():
                self._write_points(w.add(start, w.mul(piece, at_once)), at_once)
            start = w.add(start, w.mul(pieces, at_once))
        with self._dealt(start, stop, self.inner) as point:
            self._write_points(point, 1)

    @contextmanager
    def _dealt(self, start: Val, stop: Val, dealt: _Dealt) -> Iterator[Val]:
        """A loop over the points of a thread, counted in front of it: LLVM knows how to unroll that.

        No sum is beyond the end, so none is beyond the largest number.
        """
        w = self.code.w
        left = w.sub(stop, start)
        rest = w.sub(w.sub(left, dealt.first), 1)
        steps = w.binary("udiv", rest, dealt.step) if dealt.shift is None else w.binary("lshr", rest, dealt.shift)
        some = w.binary("and", w.compare("slt", start, stop), w.compare("ult", dealt.first, left))
        count = w.add(steps, 1)
        # More than can be counted are more than anybody waits for.
        count = w.select(w.compare("slt", count, integer(0)), integer(2**63 - 1), count)
        with w.loop(0, w.select(some, count, integer(0))) as loop:
            yield w.add(start, w.add(dealt.first, w.mul(loop.index, dealt.step)))

    def _write_points(self, base: Val, count: int) -> None:
        code = self.code
        used = code.frame.used
        with code.at(kind=RegionKind.SPMD, subgroup=code.subgroup, lanes=count):
            set_points(code, self.op, self.starts, self.stops, base, ())
            code.region(self.op.body)
        code.frame.used = used


def _either(code: CudaCode, condition: Val, a: _Dealt, b: _Dealt) -> _Dealt:
    w = code.w
    shift = None if a.shift is None or b.shift is None else w.select(condition, a.shift, b.shift)
    return _Dealt(w.select(condition, a.first, b.first), w.select(condition, a.step, b.step), shift)
