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
from dataclasses import replace

from girih.analysis.uniformity import flat_modes
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.control import bound_of, in_versions, number_type, region_size
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane import sharing
from girih.back.llvm.lower.points import ends, outer_loops, set_points
from girih.back.llvm.numbers.values import Scalar
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.machine.neighbours import are_aligned, neighbours_of
from girih.ir.core import RegionKind
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach

_LONGEST_TWICE = 80
"""The instructions of the longest body that is written for threads in lines and for threads in a row."""

LOWERINGS = Lowerings[CudaCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Foreach)
def foreach(code: CudaCode, op: Foreach) -> None:
    """Lower loops over points; several points of a thread at once where that makes for wide accesses."""
    if flat_modes(op, code.constants, code.geometry.subgroup_size):
        sharing.foreach(code, op)
        return
    # Around both versions: one in each would leave unknown behind them that all have come together.
    code.barrier()
    in_versions(code, op, lambda: _foreach(code, op))
    code.barrier()


def _foreach(code: CudaCode, op: Foreach) -> None:
    nest = _Nest(code, op, ends(code, op, "start"), ends(code, op, "stop"))
    outer_loops(code, op, nest.starts, nest.stops, len(nest.starts) - 1, min(2, len(nest.starts)), nest.write)


@dataclass(frozen=True, slots=True)
class _Dealt:
    """How the points of a mode are dealt out: the first one of a thread, and the steps from one to the next."""

    first: Val
    step: Val
    shift: Val | None
    """The step as a power of two, if it is one whatever the sizes are."""
    most: int | None = None
    """The number that the step is, if that is known; the first point is less than a step from the begin."""


def _every(first: Val, step: int) -> _Dealt:
    power = step.bit_length() - 1
    return _Dealt(first, integer(step), integer(power) if step == 1 << power else None, step)


@dataclass(frozen=True, slots=True)
class _Nest:
    """The loops over the first two modes."""

    code: CudaCode
    op: Foreach
    starts: list[Val]
    stops: list[Val]

    def write(self) -> None:
        """Write the loops, with the points of a second mode dealt out to subgroups, if it has one for each of them."""
        code, w = self.code, self.code.w
        starts, stops = self.starts, self.stops
        size, subgroups = code.geometry.subgroup_size, code.geometry.subgroups
        alone, one = _every(code.thread, size * subgroups), _every(integer(0), 1)
        if len(starts) < 2 or subgroups == 1:
            self._write(alone, None if len(starts) < 2 else one)
            return
        enough = w.compare_early("sge", w.sub(stops[1], starts[1]), integer(subgroups))
        lanes, lines = _every(w.convert("zext", code.lane, "i64"), size), _every(code.subgroup, subgroups)
        if code.place.careful or region_size(self.op.body) > _LONGEST_TWICE:
            self._write(_either(code, enough, lanes, alone), _either(code, enough, lines, one))
            return

        def loops(inner: _Dealt, outer: _Dealt) -> list[Val]:
            self._write(inner, outer)
            return []

        w.either(enough, lambda: loops(lanes, lines), lambda: loops(alone, one), rare=True)

    def _write(self, inner: _Dealt, outer: _Dealt | None) -> None:
        """Write the loops: over points of the first mode, several at once, then those that are left.

        The loop over the second mode is inside: there a thread does the same for each line, so that several lines are
        under way at once, where it often has one piece of a line.
        """
        w = self.code.w
        start, stop = self.starts[0], self.stops[0]
        found = neighbours_of(self.code, self.op)
        at_once = found.count
        if at_once > 1:
            count = w.sub(stop, start)
            # Of few points each goes to a thread of its own. The distance between far ends may wrap around.
            enough = w.compare("sge", count, w.mul(inner.step, at_once))
            enough = w.binary("and", enough, w.compare("slt", start, stop))
            enough = w.binary("and", enough, are_aligned(self.code, found, start))
            pieces = w.select(enough, w.binary("lshr", count, integer(at_once.bit_length() - 1)), integer(0))
            with self._dealt(integer(0), pieces, inner) as piece, self.code.writer.wide_accesses():
                self._write_lines(w.add(start, w.mul(piece, at_once)), at_once, outer)
            start = w.add(start, w.mul(pieces, at_once))
        with self._dealt(start, stop, inner) as point:
            self._write_lines(point, 1, outer)

    def _write_lines(self, base: Val, count: int, outer: _Dealt | None) -> None:
        """Write the loop over the second mode for points of the first one."""
        if outer is None:
            self._write_points(base, count)
            return
        code, variable = self.code, self.op.variables[1]
        with self._dealt(self.starts[1], self.stops[1], outer) as index:
            type = number_type(variable)
            counter = code.w.convert("trunc", index, f"i{8 * type.size}")
            below = bound_of(code.scalar(self.op.start[1]), self.stops[1])
            code.set(variable, Scalar(type, (counter,), below=below))
            self._write_points(base, count)

    @contextmanager
    def _dealt(self, start: Val, stop: Val, dealt: _Dealt) -> Iterator[Val]:
        """A loop over the points of a thread, counted in front of it: LLVM knows how to unroll that.

        Points are found by sums, whatever the step is, and addresses with them. A sum that is used is not beyond the
        end, so that none of these is beyond the largest number.
        """
        w = self.code.w
        left = w.sub(stop, start)
        rest = w.sub(w.sub(left, dealt.first), 1)
        steps = w.binary("udiv", rest, dealt.step) if dealt.shift is None else w.binary("lshr", rest, dealt.shift)
        some = w.binary("and", w.compare("slt", start, stop), w.compare("ult", dealt.first, left))
        count = w.add(steps, 1)
        # More than can be counted are more than anybody waits for.
        count = w.select(w.compare("slt", count, integer(0)), integer(2**63 - 1), count)
        count = w.select(some, count, integer(0))
        if left.literal is not None and dealt.most is not None and left.literal % dealt.most == 0:
            # There are as many for each thread.
            count = integer(max(0, left.literal) // dealt.most)
        with w.loop(0, count, carried=[w.add(start, dealt.first)]) as loop:
            self.code.writer.note_few()
            yield loop.values[0]
            loop.following = [w.add(loop.values[0], dealt.step)]

    def _write_points(self, base: Val, count: int) -> None:
        """Write the body for a point, or for several: together as far as that goes, then one after the other."""
        code, op = self.code, self.op
        used = code.frame.used
        together = neighbours_of(code, op).together if count > 1 else 0
        if count == 1 or together == len(op.body.ops):
            with code.at(kind=RegionKind.SPMD, subgroup=code.subgroup, lanes=count):
                set_points(code, op, self.starts, self.stops, base, ())
                code.region(op.body)
            code.frame.used = used
            return
        first, rest = op.body.ops[:together], op.body.ops[together:]
        with code.at(kind=RegionKind.SPMD, subgroup=code.subgroup, lanes=count):
            set_points(code, op, self.starts, self.stops, base, ())
            for one in first:
                code.lower(one)
        held = {value: code.scalar(value) for value in (op.variables[0], *(v for one in first for v in one.results))}
        for number in range(count):
            for value, several in held.items():
                code.set(value, _picked(code, several, number))
            with code.at(kind=RegionKind.SPMD, subgroup=code.subgroup):
                for one in rest:
                    code.lower(one)
        code.frame.used = used


def _picked(code: CudaCode, held: Scalar, number: int) -> Scalar:
    """The scalar of one of several points."""
    if held.linear is None:
        return replace(held, parts=tuple(code.w.extract(part, number) for part in held.parts), nearly=None)
    base, stride = held.linear.base, held.linear.stride
    return Scalar(held.type, (code.w.add(base, integer(number * stride, base.type)),), below=held.below)


def _either(code: CudaCode, condition: Val, a: _Dealt, b: _Dealt) -> _Dealt:
    w = code.w
    shift = None if a.shift is None or b.shift is None else w.select(condition, a.shift, b.shift)
    return _Dealt(w.select(condition, a.first, b.first), w.select(condition, a.step, b.step), shift)
