"""The regions that share work out: `parallel`, `foreach` and `foreach_tile` (`girih.ops.tile.control`).

Subgroups are executed one after the other, as coroutines if they wait for each other. The points of a `foreach` are
dealt out to the lanes in rounds, of which only the last has a mask.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.analysis.uniformity import flat_modes
from girih.back.llvm.cpu.coroutine import run_as_coroutines
from girih.back.llvm.cpu.machine.capture import rewritten
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.machine.work_group import anyone_waits
from girih.back.llvm.emit.text import Operand, Val, integer, lanes, scalar, stored_bytes, stored_type, wide
from girih.back.llvm.lower.code import Held
from girih.back.llvm.lower.control import DUPLICATED, in_versions, region_size
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.points import ends, outer_loops, product, set_points, tile_loops
from girih.back.llvm.lower.tensor_values import LayoutHeld, ViewHeld
from girih.back.llvm.numbers.values import MemRefHeld, Scalar
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.uses import free_values
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach, ForeachTile, Parallel

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Parallel)
def parallel(code: CpuCode, op: Parallel) -> None:
    """Execute the region in one subgroup after the other; as coroutines if they wait for each other."""
    count = code.geometry.subgroups
    if count > 1 and anyone_waits(op):
        run_as_coroutines(code, op)
        return
    spilled = spill_wide(code, op)
    for_each_subgroup(code, count, lambda number: _subgroup(code, op.body, number, spilled))


def for_each_subgroup(code: CpuCode, count: int, body: Callable[[Operand], None]) -> None:
    """Write code for one subgroup after the other."""
    if count == 1:
        body(0)
        return
    with code.w.loop(0, count) as loop:
        body(loop.index)


def _subgroup(code: CpuCode, region: Region, number: Operand, spilled: Spilled) -> None:
    """Write a region for all work-items of one subgroup."""
    with code.at(kind=RegionKind.SPMD, lanes=code.geometry.subgroup_size, mask=None, subgroup=number):
        outer = reload_wide(code, number, spilled)
        code.region(region)
        code.env.update(outer)


@dataclass(frozen=True, slots=True)
class Spilled:
    """Values that differ between all work-items of the work-group, in memory, where subgroups pick theirs."""

    values: tuple[Value, ...]
    slots: dict[str, Val]


def spill_wide(code: CpuCode, op: Op) -> Spilled:
    """The memory of values with one element for each work-item of the work-group that an instruction's regions read."""
    if code.geometry.subgroups == 1:
        return Spilled((), {})
    w = code.w
    slots: dict[str, Val] = {}

    def keep(held: Val) -> Val:
        if lanes(held.type) == code.lanes and held.text[0] == "%" and held.text not in slots:
            slot = code.take(stored_bytes(held.type))
            is_bool = stored_type(held.type) != held.type
            w.store(w.convert("zext", held, "i8") if is_bool else held, slot, 1)
            slots[held.text] = slot
        return held

    kinds = Scalar | MemRefHeld | LayoutHeld | ViewHeld
    values = tuple(v for v in free_values(op) if isinstance(code.env.get(v), kinds))
    for value in values:
        rewritten(code.env[value], keep)
    return Spilled(values, slots)


def reload_wide(code: CpuCode, number: Operand, spilled: Spilled) -> dict[Value, Held]:
    """The spilled values as they were, after each of them is set to the subgroup's part."""
    w = code.w
    outer: dict[Value, Held] = {}

    def part(held: Val) -> Val:
        whole = code.geometry.subgroups * code.lanes
        if lanes(held.type) != whole or whole == code.lanes:
            return held
        narrow = wide(scalar(held.type), code.lanes)
        slot = spilled.slots.get(held.text)
        if slot is None:
            return Val(held.text, narrow, held.level)
        stored = stored_type(narrow)
        loaded = w.load(stored, w.at(slot, w.mul(number, stored_bytes(narrow))), 1)
        return w.convert("trunc", loaded, "i1") if stored != narrow else loaded

    for value in spilled.values:
        outer[value] = code.env[value]
        code.env[value] = rewritten(outer[value], part)
    return outer


# --- foreach -----------------------------------------------------------------------------------


@LOWERINGS.of(Foreach)
def foreach(code: CpuCode, op: Foreach) -> None:
    """Write loops over the outer modes; the points of the first modes are dealt out to the lanes in rounds."""
    in_versions(code, op, lambda: _foreach(code, op))


def _foreach(code: CpuCode, op: Foreach) -> None:
    starts = ends(code, op, "start")
    stops = ends(code, op, "stop")
    flat = flat_modes(op, code.constants, code.geometry.subgroup_size)
    dealt = max(1, len(flat))
    spilled = spill_wide(code, op)
    outer_loops(code, op, starts, stops, len(starts) - 1, dealt, lambda: _deal(code, op, starts, stops, flat, spilled))


def _deal(
    code: CpuCode,
    op: Foreach,
    starts: list[Val],
    stops: list[Val],
    flat: tuple[int, ...],
    spilled: Spilled,
) -> None:
    """Write rounds of as many points as there are lanes, the last one under a mask."""
    w = code.w
    width = code.geometry.subgroup_size
    first: Operand = integer(0) if flat else starts[0]
    end: Operand = integer(product(flat)) if flat else stops[0]
    first, end = w.value(first), w.value(end)
    whole_end = w.intrinsic("llvm.ssub.sat.i64", "i64", end, integer(width - 1))
    if first.literal is not None and end.literal is not None:
        whole_end = integer(max(end.literal - width + 1, -(2**63)))
    duplicate = not code.place.careful and region_size(op.body) <= 2 * DUPLICATED

    def points(base: Val, mask: Val | None) -> None:
        number = w.binary("udiv", w.sub(base, first), width)
        subgroup = w.binary("urem", number, code.geometry.subgroups)
        chosen: Operand = subgroup if code.geometry.subgroups > 1 else 0
        with code.at(kind=RegionKind.SPMD, lanes=width, mask=mask, subgroup=chosen):
            outer = reload_wide(code, chosen, spilled)
            set_points(code, op, starts, stops, base, flat)
            code.region(op.body)
            code.env.update(outer)

    def partial(base: Val) -> None:
        # Compared by distance: base plus lane may exceed the largest number.
        left = w.splat(w.sub(end, base), width)
        points(base, w.compare("ult", w.iota(width), left))

    even = first.literal is not None and end.literal is not None and (end.literal - first.literal) % width == 0
    if not (duplicate or even):
        with w.loop(first, end, width, saturate=True) as loop:
            partial(loop.index)
        return
    rest = first
    if _may_exceed(first, whole_end):
        with w.loop(first, whole_end, width, saturate=True) as loop:
            points(loop.index, None)
        rest = Val(loop.index.text, "i64", w.level)
    if even:
        return
    with w.when(w.compare("slt", rest, end)):
        partial(rest)


def _may_exceed(first: Val, end: Val) -> bool:
    return first.literal is None or end.literal is None or first.literal < end.literal


@LOWERINGS.of(ForeachTile)
def foreach_tile(code: CpuCode, op: ForeachTile) -> None:
    """Execute the region for one tile after the other, each by a subgroup."""
    starts, stops = ends(code, op, "start"), ends(code, op, "stop")
    spilled, count = spill_wide(code, op), code.geometry.subgroups

    def tile(number: Val) -> None:
        _subgroup(code, op.body, code.w.binary("urem", number, count) if count > 1 else 0, spilled)

    tile_loops(code, op, starts, stops, len(starts) - 1, integer(0), tile)
