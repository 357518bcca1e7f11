"""`foreach` where each work-item is a thread of a GPU: neighbouring points in a thread, 16 bytes of memory at once.

Memory is fastest where each thread of a warp accesses 16 bytes. So where the accesses of a body are to neighbours along
the first mode, a thread computes as many neighbouring points as that takes, as vectors: the lowerings write code for
any number of lanes, which are points of one thread here. Points that are left, and short modes, are computed one by
one.

Points of a second mode go to other subgroups, where there are enough of them.
"""

from __future__ import annotations

from girih.analysis.uniformity import flat_modes
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.control import bound_of, in_versions, number_type
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane import sharing
from girih.back.llvm.lower.points import ends, outer_loops, set_points
from girih.back.llvm.numbers.values import Scalar
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.machine.neighbours import points_at_once
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
        alone = _Dealt(code.thread, integer(size * subgroups))
        if len(starts) < 2:
            return _Nest(code, op, starts, stops, alone, None)
        if subgroups == 1:
            return _Nest(code, op, starts, stops, alone, _Dealt(integer(0), integer(1)))
        few = w.compare_early("slt", w.sub(stops[1], starts[1]), integer(subgroups))
        lane = w.convert("zext", code.lane, "i64")
        inner = _Dealt(w.select(few, code.thread, lane), w.select(few, alone.step, integer(size)))
        outer = _Dealt(w.select(few, integer(0), code.subgroup), w.select(few, integer(1), integer(subgroups)))
        return _Nest(code, op, starts, stops, inner, outer)

    def write(self) -> None:
        """Write the loops."""
        if self.outer is None:
            self._write_row()
            return
        w, variable = self.code.w, self.op.variables[1]
        first = w.saturated(self.starts[1], self.outer.first)
        with w.loop(first, self.stops[1], self.outer.step, saturate=True) as loop:
            type = number_type(variable)
            counter = w.convert("trunc", loop.index, f"i{8 * type.size}")
            below = bound_of(self.code.scalar(self.op.start[1]), self.stops[1])
            self.code.set(variable, Scalar(type, (counter,), below=below))
            self._write_row()

    def _write_row(self) -> None:
        """Write the loop over points of the first mode: several at once, then those that are left."""
        w = self.code.w
        start, stop = self.starts[0], self.stops[0]
        at_once = points_at_once(self.code, self.op)
        if at_once > 1:
            count = w.sub(stop, start)
            # Of few points each goes to a thread of its own.
            enough = w.compare("sge", count, w.mul(self.inner.step, at_once))
            pieces = w.select(enough, w.binary("lshr", count, integer(at_once.bit_length() - 1)), integer(0))
            with w.loop(self.inner.first, pieces, self.inner.step) as loop:
                self._write_points(w.add(start, w.mul(loop.index, at_once)), at_once)
            start = w.add(start, w.mul(pieces, at_once))
        with w.loop(w.saturated(start, self.inner.first), stop, self.inner.step, saturate=True) as loop:
            self._write_points(loop.index, 1)

    def _write_points(self, base: Val, count: int) -> None:
        code = self.code
        used = code.frame.used
        with code.at(kind=RegionKind.SPMD, subgroup=code.subgroup, lanes=count):
            set_points(code, self.op, self.starts, self.stops, base, ())
            code.region(self.op.body)
        code.frame.used = used
