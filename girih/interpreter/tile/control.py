"""The meaning of loops, branches and barriers, under masks of active work-items (`girih.ops.tile.control`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from girih.facts import findings
from girih.interpreter.machine import numbers
from girih.interpreter.machine.following import under_crew
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array, Mask
from girih.interpreter.races.order import GLOBAL, LOCAL
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.types import CoopMatrix, Number, Type
from girih.ops.tile.control import Barrier, For, Foreach, ForeachTile, If, Parallel, Yield


@meaning(Parallel)
def parallel(machine: Machine, op: Parallel) -> None:
    """Execute the region in every work-item."""
    machine.print_step += 1
    under_crew(machine, op, np.arange(machine.subgroups, dtype=np.int64)[None, :, None], machine.mask, op.body)


@meaning(Yield)
def yield_(machine: Machine, op: Yield) -> None:
    """Do nothing: the instruction that the region belongs to reads the values after it."""


def yielded(machine: Machine, region: Region) -> list[Array]:
    """The values that the `yield` of a region gave; empty without one."""
    last = region.terminator
    return [machine.array(v) for v in last.operands] if isinstance(last, Yield) else []


@meaning(Barrier)
def barrier(machine: Machine, op: Barrier) -> None:
    """Check that all work-items meet the barrier, and order what they did before it."""
    machine.together(op, 2)
    if machine.races is None:
        return
    if machine.kind is RegionKind.COLLECTIVE:
        machine.order_all()
        return
    fenced = (op.global_fence, GLOBAL), (op.local_fence, LOCAL)
    memories = tuple(memory for fence, memory in fenced if fence)
    machine.races.advance(memories, machine.active_groups(), copies=True)


def _condition(machine: Machine, op: Op, name: str, array: Array) -> Array:
    """A value that decides about control flow; in a collective region it is checked to be uniform."""
    return machine.uniform(op, name, array, 2) if machine.kind is RegionKind.COLLECTIVE else array


# --- if ------------------------------------------------------------------------------------


@meaning(If)
def if_(machine: Machine, op: If) -> None:
    """Execute both regions under complementary masks, or only one if all active work-items agree."""
    condition = _condition(machine, op, "condition", machine.array(op.condition)).astype(np.bool_, copy=False)
    outer = machine.mask
    there = condition if outer is None else condition & outer
    elsewhere = ~condition if outer is None else ~condition & outer
    if not elsewhere.any():
        machine.under(outer, op.then)
        _return(machine, op.results, yielded(machine, op.then))
        return
    if not there.any():
        values = []
        if op.otherwise is not None:
            machine.under(outer, op.otherwise)
            values = yielded(machine, op.otherwise)
        _return(machine, op.results, values)
        return
    machine.under(there, op.then)
    first = yielded(machine, op.then)
    second: list[Array] = []
    if op.otherwise is not None:
        machine.under(elsewhere, op.otherwise)
        second = yielded(machine, op.otherwise)
    merged = [select(machine, op, r.type, condition, a, b) for r, a, b in zip(op.results, first, second, strict=False)]
    _return(machine, op.results, merged)


def _return(machine: Machine, results: tuple[Value, ...], values: list[Array]) -> None:
    for result, value in zip(results, values, strict=False):
        machine.set(result, value)


def select(machine: Machine, op: Op, type: Type, condition: Mask, a: Array, b: Array) -> Array:
    """The value `a` for work-items for which the condition holds, `b` for the others.

    For a matrix, the condition must be the same for all work-items that hold it together.
    """
    if isinstance(type, CoopMatrix):
        whole = machine.uniform(op, "condition", condition, 2 if type.of_work_group else 1)
        return np.where(whole[..., None], a, b)
    return np.where(condition, a, b)


# --- for -----------------------------------------------------------------------------------


def _one(array: Array) -> int | None:
    """The number that all work-items have; None if it varies."""
    if array.size == 1:
        return int(array.flat[0])
    first = array.flat[0]
    return int(first) if bool((array == first).all()) else None


@meaning(For)
def for_(machine: Machine, op: For) -> None:
    """Execute one iteration after the other; work-items that have finished theirs wait for the others."""
    type = op.variable.type
    assert isinstance(type, Number)
    dtype = numbers.dtype(type)
    start = _condition(machine, op, "start", machine.array(op.start))
    stop = _condition(machine, op, "stop", machine.array(op.stop))
    step = np.ones((1, 1, 1), dtype) if op.step is None else _condition(machine, op, "step", machine.array(op.step))
    stop, step = _positive_step(machine, op, start, stop, step)
    carried = [machine.array(v) for v in op.initial]
    bounds = (_one(start), _one(stop), _one(step))
    if None not in bounds:
        first, end, distance = (b for b in bounds if b is not None)
        carried = _uniform_loop(machine, op, range(first, end, distance), carried, dtype)
    else:
        carried = _varying_loop(machine, op, start, stop, step, carried)
    _return(machine, op.results, carried)


def _positive_step(machine: Machine, op: For, start: Array, stop: Array, step: Array) -> tuple[Array, Array]:
    """The end and the step of a loop; a step that is not positive is found, and such a loop runs 0 times."""
    bad = step <= 0
    if not bad.any():
        return stop, step
    under = bad if machine.mask is None else bad & machine.mask
    if under.any():
        machine.find(findings.step(), op, under, argument=op.step.name if op.step else None)
    return np.where(bad, start, stop), np.where(bad, np.ones((), step.dtype), step)


def _uniform_loop(
    machine: Machine, op: For, trips: range, carried: list[Array], dtype: np.dtype[np.generic]
) -> list[Array]:
    """The last carried values of a loop in which all active work-items have the same iterations."""
    for trip in trips:
        machine.env[op.variable] = np.full((1, 1, 1), trip, dtype)
        machine.env.update(zip(op.carried, carried, strict=True))
        machine.under(machine.mask, op.body)
        carried = yielded(machine, op.body) or carried
    return carried


def _varying_loop(
    machine: Machine, op: For, start: Array, stop: Array, step: Array, carried: list[Array]
) -> list[Array]:
    """The last carried values of a loop that work-items leave at different times."""
    outer = machine.mask
    trip = start
    going = trip < stop if outer is None else (trip < stop) & outer
    while going.any():
        machine.env[op.variable] = trip
        machine.env.update(zip(op.carried, carried, strict=True))
        machine.under(None if going.all() else going, op.body)
        values = yielded(machine, op.body)
        pairs = zip(op.results, values, carried, strict=False)
        carried = [select(machine, op, result.type, going, new, old) for result, new, old in pairs]
        following = trip + step
        going = going & (following < stop) & (following > trip)
        trip = following
    return carried


# --- foreach -------------------------------------------------------------------------------


def _ranges(machine: Machine, op: Foreach | ForeachTile) -> tuple[list[Array], list[Array]]:
    """The first value and the end of each variable, for each work-group."""
    starts = [machine.uniform(op, "start", machine.array(v), 2) for v in op.start]
    stops = [machine.uniform(op, "stop", machine.array(v), 2) for v in op.stop]
    return starts, stops


def _wide(array: Array) -> Array:
    return array.astype(np.int64, copy=False)


_SHUFFLED = 2**20
"""Loops over more points keep their natural order: the budget ends them first, or nearly so."""

_COUNTED = 2**62
"""More points than any budget allows; counts end here, so that nothing overflows."""


def _distance(start: Array, stop: Array) -> Array:
    """The difference stop - start as i64, but 0 if it is negative, and at most `_COUNTED`."""
    low, high = _wide(start), _wide(stop)
    # The difference of any two i64 fits u64.
    apart = high.view(np.uint64) - low.view(np.uint64)
    return np.where(high > low, np.minimum(apart, np.uint64(_COUNTED)), np.uint64(0)).astype(np.int64)


def _product(sizes: list[Array]) -> Array:
    """The product of sizes, at most `_COUNTED`; 0 if one is 0."""
    total: Array = np.ones((1, 1, 1), np.int64)
    for size in sizes:
        safe = np.maximum(size, 1)
        total = np.where(total > _COUNTED // safe, _COUNTED, total * safe)
    for size in sizes:
        total = np.where(size == 0, 0, total)
    return total


def _points(
    machine: Machine, sizes: list[Array], workers: int, worker: Array
) -> Iterator[tuple[Array, list[Array], Mask | None]]:
    """The rounds of a loop over the points of a box: each worker's point, as one number and by modes, both counted from
    0, and the mask of the round.

    Workers are work-items or subgroups; `worker` has their numbers, `workers` is how many there are.
    """
    total = _product(sizes)
    if machine.mask is not None:
        total = np.where(machine.mask.any(axis=(1, 2), keepdims=True), total, 0)
    most = int(total.max())
    order = machine.choices.points(most) if most <= _SHUFFLED else None
    for begin in range(0, most, workers):
        linear = begin + worker
        active: Mask = linear < total
        if order is not None:
            linear = order[np.minimum(linear, most - 1)]
            active = (linear < total) & (begin + worker < most)
        if machine.mask is not None:
            active = active & machine.mask
        rest = linear
        point = []
        for size in sizes:
            safe = np.maximum(size, 1)
            point.append(rest % safe)
            rest = rest // safe
        yield linear, point, None if active.all() else active


@meaning(Foreach)
def foreach(machine: Machine, op: Foreach) -> None:
    """Execute the region for all points, which are dealt out to the work-items in rounds."""
    machine.print_step += 1
    starts, stops = _ranges(machine, op)
    counts = [_distance(a, b) for a, b in zip(starts, stops, strict=True)]
    lanes = np.arange(machine.subgroups * machine.lanes, dtype=np.int64).reshape(1, machine.subgroups, machine.lanes)
    _remember_points(machine, op, starts, counts)
    for number, point, mask in _points(machine, counts, lanes.size, lanes):
        for variable, first, offset in zip(op.variables, starts, point, strict=True):
            machine.env[variable] = (_wide(first) + offset).astype(first.dtype, copy=False)
        under_crew(machine, op, number, mask, op.body)


@meaning(ForeachTile)
def foreach_tile(machine: Machine, op: ForeachTile) -> None:
    """Execute the region for all tiles, which are dealt out to the subgroups in rounds."""
    machine.print_step += 1
    starts, stops = _ranges(machine, op)
    counts = [-(-_distance(a, b) // n) for a, b, n in zip(starts, stops, op.tile_shape, strict=True)]
    subgroups = np.arange(machine.subgroups, dtype=np.int64).reshape(1, machine.subgroups, 1)
    _remember_points(machine, op, starts, counts)
    for unit, point, mask in _points(machine, counts, machine.subgroups, subgroups):
        for number, (variable, size) in enumerate(zip(op.variables, op.sizes, strict=True)):
            first, tile = starts[number], op.tile_shape[number]
            offset = _wide(first) + point[number] * tile
            machine.env[variable] = offset.astype(first.dtype, copy=False)
            machine.env[size] = np.minimum(tile, _distance(offset, stops[number])).astype(first.dtype, copy=False)
        under_crew(machine, op, unit, mask, op.body)


def _remember_points(machine: Machine, op: Foreach | ForeachTile, starts: list[Array], counts: list[Array]) -> None:
    """Tell the search for races which point or tile is meant by a number."""
    if machine.races is not None:
        steps = op.tile_shape if isinstance(op, ForeachTile) else (1,) * len(counts)
        machine.races.points.remember(op, machine.races.order.tick, machine.group_numbers, starts, counts, steps)
