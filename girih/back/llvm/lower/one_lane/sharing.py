"""`parallel`, `foreach` and `foreach_tile` where each work-item is a thread (`girih.ops.tile.control`).

The threads come together before and after: what collective code around the region reads and writes is not overtaken.
The points of a `foreach` go to the work-items as on machines with lanes: subgroup after subgroup, lane after lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from girih.analysis.uniformity import flat_modes
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.control import in_versions
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.points import ends, outer_loops, product, set_points, tile_loops
from girih.ir.core import RegionKind
from girih.ops.tile.control import Foreach, ForeachTile, Parallel

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""


@contextmanager
def _by_work_items(code: OneLaneCode) -> Iterator[None]:
    with code.at(kind=RegionKind.SPMD, subgroup=code.subgroup):
        yield


@LOWERINGS.of(Parallel)
def parallel(code: OneLaneCode, op: Parallel) -> None:
    """Let every thread execute the region."""
    code.barrier()
    with _by_work_items(code):
        code.region(op.body)
    code.barrier()


@LOWERINGS.of(Foreach)
def foreach(code: OneLaneCode, op: Foreach) -> None:
    """Write loops over the outer modes; the points of the first modes are dealt out to the threads in turn."""
    in_versions(code, op, lambda: deal_out(code, op))


def deal_out(code: OneLaneCode, op: Foreach) -> None:
    """Write the loops of a `foreach`, with one point of a thread at a time."""
    w = code.w
    starts, stops = ends(code, op, "start"), ends(code, op, "stop")
    flat = flat_modes(op, code.constants, code.geometry.subgroup_size)
    threads = code.geometry.subgroups * code.geometry.subgroup_size

    def deal() -> None:
        first = code.thread if flat else w.saturated(starts[0], code.thread)
        end = integer(product(flat)) if flat else stops[0]
        with w.loop(first, end, threads, saturate=True) as loop, _by_work_items(code):
            set_points(code, op, starts, stops, loop.index, flat)
            code.region(op.body)

    code.barrier()
    outer_loops(code, op, starts, stops, len(starts) - 1, max(1, len(flat)), deal)
    code.barrier()


@LOWERINGS.of(ForeachTile)
def foreach_tile(code: OneLaneCode, op: ForeachTile) -> None:
    """Write a loop of all threads over the tiles, each of which the subgroup executes whose turn it is."""
    w = code.w
    starts, stops = ends(code, op, "start"), ends(code, op, "stop")

    def tile(number: Val) -> None:
        turn = w.binary("urem", number, code.geometry.subgroups)
        with w.when(w.compare("eq", turn, code.subgroup)), _by_work_items(code):
            code.region(op.body)

    code.barrier()
    tile_loops(code, op, starts, stops, len(starts) - 1, integer(0), tile)
    code.barrier()
