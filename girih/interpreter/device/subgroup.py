"""The meaning of operations on the active work-items of a subgroup (`girih.ops.device.subgroup`).

Arrays have the axes [work_group, subgroup, lane]; words of a ballot are such arrays, too. A value that is undefined
for a work-item is 0 there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from girih.facts import findings
from girih.interpreter.machine import numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import mark, may_be_undefined
from girih.interpreter.machine.values import Array, Mask
from girih.ir.core import Op, Value
from girih.ir.types import Boolean, Number
from girih.ops.device.subgroup import (
    WORDS,
    ActiveAll,
    ActiveAllEqual,
    ActiveAny,
    ActiveBallot,
    ActiveBroadcast,
    ActiveBroadcastFirst,
    ActiveElect,
    ActivePartition,
    ActiveQuadBroadcast,
    ActiveReduce,
    ActiveRotate,
    ActiveScan,
    ActiveShuffle,
    BallotBit,
    BallotCount,
    BallotFind,
    InverseBallot,
)

Moving = ActiveBroadcast | ActiveBroadcastFirst | ActiveShuffle | ActiveRotate | ActiveQuadBroadcast
_WORD_BITS = 32

may_be_undefined(
    BallotBit, BallotFind, ActiveBroadcast, ActiveBroadcastFirst, ActiveShuffle, ActiveRotate, ActiveQuadBroadcast
)


def _full(machine: Machine, array: Array) -> Array:
    """An array with an entry for each work-item."""
    return np.broadcast_to(array, machine.shape)


def _numbers(machine: Machine) -> Array:
    """The number of each work-item in its subgroup: an array [1, 1, lane]."""
    return np.arange(machine.lanes, dtype=np.int64)[None, None, :]


def _unsigned(machine: Machine, value: Value) -> Array:
    """An integer without its sign, as int64; what needs 64 bits is negative."""
    array = machine.array(value)
    kept: Array = array.view(np.dtype(f"u{array.itemsize}")).astype(np.int64)
    return kept


def _inside(machine: Machine, number: Array, size: int | None = None) -> Mask:
    """Whether numbers of work-items, or others below a size, exist."""
    exists: Mask = (number >= 0) & (number < (machine.lanes if size is None else size))
    return exists


# --- votes -----------------------------------------------------------------------------------


@meaning(ActiveElect)
def elect(machine: Machine, op: ActiveElect) -> None:
    """Choose the active work-item with the lowest number."""
    active = machine.active()
    machine.set(op.result, active & (_first(active) == _numbers(machine)))


def _first(active: Mask) -> Array:
    """The lowest number of an active work-item, an array [work_group, subgroup, 1]; 0 where none is."""
    first: Array = active.argmax(axis=2)[:, :, None]
    return first


@meaning(ActiveAll)
def all_(machine: Machine, op: ActiveAll) -> None:
    """Find out whether the condition holds for all active work-items."""
    machine.set(op.result, np.all(machine.array(op.a) | ~machine.active(), axis=2, keepdims=True))


@meaning(ActiveAny)
def any_(machine: Machine, op: ActiveAny) -> None:
    """Find out whether the condition holds for some active work-item."""
    machine.set(op.result, np.any(machine.array(op.a) & machine.active(), axis=2, keepdims=True))


@meaning(ActiveAllEqual)
def all_equal(machine: Machine, op: ActiveAllEqual) -> None:
    """Compare the values with that of the first active work-item."""
    active, a = machine.active(), _full(machine, machine.array(op.a))
    same = a == np.take_along_axis(a, _first(active), axis=2)
    machine.set(op.result, np.all(same | ~active, axis=2, keepdims=True))


# --- ballots ---------------------------------------------------------------------------------


def _words(bits: Mask) -> list[Array]:
    """The ballots of arrays of bits [..., lane]: words [...] of 32 bits."""
    lanes = bits.shape[-1]
    held = np.zeros((*bits.shape[:-1], WORDS * _WORD_BITS), np.bool_)
    held[..., :lanes] = bits
    packed = np.packbits(held, axis=-1, bitorder="little").view("<u4").astype(np.uint32)
    return [packed[..., k].view(np.int32) for k in range(WORDS)]


def _bits(machine: Machine, words: Sequence[Value]) -> Mask:
    """The bits of a ballot for the work-items of the subgroup, an axis more: [work_group, subgroup, lane, bit]."""
    arrays = np.broadcast_arrays(*(machine.array(word) for word in words))
    stacked = np.ascontiguousarray(np.stack(arrays, axis=-1)).astype("<i4", copy=False)
    held = np.unpackbits(stacked.view(np.uint8), axis=-1, bitorder="little")
    kept: Mask = held[..., : machine.lanes].astype(np.bool_)
    return kept


@meaning(ActiveBallot)
def ballot(machine: Machine, op: ActiveBallot) -> None:
    """Collect a condition of the active work-items."""
    held = _full(machine, machine.array(op.a)) & machine.active()
    for result, word in zip(op.results, _words(held), strict=True):
        machine.set(result, word[:, :, None])


@meaning(InverseBallot)
def inverse_ballot(machine: Machine, op: InverseBallot) -> None:
    """Give each work-item its own bit."""
    varying = [machine.common(machine.array(word), 1)[1] for word in op.ballot]
    for differs in varying:
        if differs is not None:
            machine.find(findings.not_uniform(op, "ballot", work_group=False), op, differs, argument=op.ballot[0].name)
            break
    bits = np.broadcast_to(_bits(machine, op.ballot), (*machine.shape, machine.lanes))
    machine.set(op.result, np.take_along_axis(bits, _numbers(machine)[..., None], axis=3)[..., 0])


@meaning(BallotBit)
def ballot_bit(machine: Machine, op: BallotBit) -> None:
    """Give the bit with some number."""
    number = _unsigned(machine, op.number)
    exists = _inside(machine, number)
    bits = _bits(machine, op.ballot)
    shape = np.broadcast_shapes(bits.shape[:3], number.shape)
    chosen = np.broadcast_to(np.where(exists, number, 0), shape)[..., None]
    bit = np.take_along_axis(np.broadcast_to(bits, (*shape, machine.lanes)), chosen, axis=3)[..., 0]
    _give(machine, op, bit & exists, exists)


@meaning(BallotCount)
def ballot_count(machine: Machine, op: BallotCount) -> None:
    """Count bits of all work-items of the subgroup, or of those up to each one."""
    bits = _bits(machine, op.ballot)
    if op.among != "reduce":
        below = _numbers(machine)[0, 0, :, None] >= _numbers(machine)[0, 0]
        if op.among == "exclusive":
            below = below & ~np.eye(machine.lanes, dtype=np.bool_)
        bits = bits & below
    machine.set(op.result, bits.sum(axis=3, dtype=np.int32))


@meaning(BallotFind)
def ballot_find(machine: Machine, op: BallotFind) -> None:
    """Find the first or last bit that is set."""
    bits = _bits(machine, op.ballot)
    lowest = bits.argmax(axis=3)
    number = lowest if op.end == "lowest" else machine.lanes - 1 - bits[..., ::-1].argmax(axis=3)
    some: Mask = np.any(bits, axis=3)
    _give(machine, op, np.where(some, number, 0).astype(np.int32), some)


# --- values of others ------------------------------------------------------------------------


def _give(machine: Machine, op: Op, array: Array, defined: Mask, others: Mask | None = None) -> None:
    """Set the result, which is undefined where a mask does not hold, where an operand is, or what `others` have."""
    (result,) = op.results
    machine.set(result, array)
    where: Mask | None = None if others is None else others
    if not defined.all():
        where = ~defined if where is None else where | ~defined
    for value in op.operands:
        mask = machine.undefined.get(value) if value is not getattr(op, "a", None) else None
        if mask is not None:
            where = mask if where is None else where | mask
    mark(machine, result, where)


def _from_others(machine: Machine, op: Moving, number: Array, defined: Mask | None = None) -> None:
    """Set the result to the values of other work-items by their numbers, where these are active and defined."""
    value = op.a
    a, active = _full(machine, machine.array(value)), machine.active()
    exists = _inside(machine, number) if defined is None else _inside(machine, number) & defined
    source = np.broadcast_to(np.where(exists, number, 0), machine.shape)
    exists = exists & np.take_along_axis(active, source, axis=2)
    taken = np.take_along_axis(a, source, axis=2)
    mask = machine.undefined.get(value)
    others = None if mask is None else np.take_along_axis(_full(machine, mask), source, axis=2)
    _give(machine, op, np.where(exists, taken, np.zeros((), taken.dtype)), exists, others)


def _agreed(machine: Machine, op: Op, name: str) -> Array:
    """An operand without its sign that the active work-items of a subgroup share: [work_group, subgroup, 1]."""
    return machine.uniform(op, name, _unsigned(machine, getattr(op, name)), 1)


@meaning(ActiveBroadcast)
def broadcast(machine: Machine, op: ActiveBroadcast) -> None:
    """Give one work-item's value to all active ones."""
    _from_others(machine, op, _agreed(machine, op, "lane"))


@meaning(ActiveBroadcastFirst)
def broadcast_first(machine: Machine, op: ActiveBroadcastFirst) -> None:
    """Give the first active work-item's value to all active ones."""
    _from_others(machine, op, _first(machine.active()))


@meaning(ActiveShuffle)
def shuffle(machine: Machine, op: ActiveShuffle) -> None:
    """Give each work-item the value of another one."""
    number, own = _unsigned(machine, op.number), _numbers(machine)
    near = _inside(machine, number)
    distance = np.where(near, number, 0)
    sources = {"at": number, "xor": own ^ distance, "up": own - distance, "down": own + distance}
    _from_others(machine, op, sources[op.by], near)


@meaning(ActiveRotate)
def rotate(machine: Machine, op: ActiveRotate) -> None:
    """Give each work-item the value of one some way further around in its cluster."""
    cluster, own = _cluster(machine, op, op.cluster), _numbers(machine)
    delta = _agreed(machine, op, "delta")
    _from_others(machine, op, (own & -cluster) | ((own + delta) & (cluster - 1)))


@meaning(ActiveQuadBroadcast)
def quad_broadcast(machine: Machine, op: ActiveQuadBroadcast) -> None:
    """Give each work-item the value of one of its quad."""
    number = _agreed(machine, op, "number")
    inside = _inside(machine, number, 4)
    _from_others(machine, op, (_numbers(machine) & -4) | np.where(inside, number, 0), inside)


def _cluster(machine: Machine, op: Op, cluster: int) -> int:
    """The size of the clusters of an instruction; one that is larger than the subgroup is found."""
    return min(cluster, machine.lanes) or machine.lanes


# --- combinations ----------------------------------------------------------------------------

Combining = Callable[[Array, Array], Array]


def _without_sign(function: Callable[[Array, Array], Array]) -> Combining:
    def combine(a: Array, b: Array) -> Array:
        unsigned = np.dtype(f"u{a.itemsize}")
        return function(np.ascontiguousarray(a).view(unsigned), np.ascontiguousarray(b).view(unsigned)).view(a.dtype)

    return combine


_INTEGERS: dict[str, Combining] = {
    "signed_min": np.minimum,
    "signed_max": np.maximum,
    "unsigned_min": _without_sign(np.minimum),
    "unsigned_max": _without_sign(np.maximum),
}


def combining(operator: str, type: Number | Boolean) -> Combining:
    """The function of two arrays of a type that an operator is."""
    known = _INTEGERS.get(operator)
    return known if known is not None else partial(_binary, numbers.BINARY[operator], type)


def _binary(function: Callable[..., Array], type: Number | Boolean, a: Array, b: Array) -> Array:
    return function(a, b, type)


def identity(operator: str, type: Number | Boolean) -> Any:
    """The value from which a scan starts (SPIR-V 3.52.24), as a NumPy scalar of the type."""
    dtype = numbers.dtype(type)
    if isinstance(type, Boolean):
        return np.bool_(operator == "and")
    if type.family == "floating":
        return dtype.type({"add": 0.0, "mul": 1.0, "min": np.inf, "max": -np.inf}[operator])
    least, most = numbers.limits(type)
    values = {"mul": 1, "and": -1, "signed_min": most, "signed_max": least, "unsigned_min": -1}
    return dtype.type(values.get(operator, 0))


def _nothing(operator: str, type: Number | Boolean) -> Any:
    """The value that changes no other, to the last bit: -0.0 for sums, NaN for the minimum of floats."""
    if isinstance(type, Number) and type.family == "floating" and operator != "mul":
        return numbers.dtype(type).type(-0.0 if operator == "add" else np.nan)
    return identity(operator, type)


@meaning(ActiveReduce)
def reduce(machine: Machine, op: ActiveReduce) -> None:
    """Combine the values of the active work-items of each cluster, or of each part of a partition."""
    if op.partition:
        members = _members(machine, op.partition)
        machine.set(op.result, _in_order(machine, op, members))
        return
    cluster, combine = _cluster(machine, op, op.cluster), combining(op.operator, _type(op))
    a = _contributions(machine, op)
    if machine.choices.way("subgroup_sums") == "sequence":
        total, first = a, np.arange(machine.lanes) & -cluster
        for place in range(cluster):
            total = combine(total, a[:, :, first + place]) if place else a[:, :, first]
        machine.set(op.result, total)
        return
    order = machine.choices.summands(machine.lanes) if cluster == machine.lanes else None
    if order is not None:
        a = a[:, :, order]
    own, distance = np.arange(machine.lanes), cluster // 2
    while distance:
        a = combine(a, a[:, :, own ^ distance])
        distance //= 2
    machine.set(op.result, a[:, :, :1] if cluster == machine.lanes else a)


def _type(op: ActiveReduce | ActiveScan) -> Number | Boolean:
    type = op.a.type
    assert isinstance(type, Number | Boolean)
    return type


def _contributions(machine: Machine, op: ActiveReduce | ActiveScan) -> Array:
    """The values of the active work-items, and for others what changes nothing."""
    a = _full(machine, machine.array(op.a))
    return a if machine.mask is None else np.where(machine.mask, a, _nothing(op.operator, _type(op)))


@meaning(ActiveScan)
def scan(machine: Machine, op: ActiveScan) -> None:
    """Combine the values of the active work-items up to each one."""
    type, lanes = _type(op), machine.lanes
    if op.partition:
        own = np.arange(lanes)
        before = own[:, None] >= own if op.among == "inclusive" else own[:, None] > own
        machine.set(op.result, _in_order(machine, op, _members(machine, op.partition) & before))
        return
    a, combine, distance = _contributions(machine, op), combining(op.operator, type), 1
    if machine.choices.way("subgroup_sums") == "sequence":
        a, distance = a.copy(), lanes
        for lane in range(1, lanes):
            a[:, :, lane : lane + 1] = combine(a[:, :, lane - 1 : lane], a[:, :, lane : lane + 1])
    while distance < lanes:
        further = a.copy()
        further[:, :, distance:] = combine(a[:, :, :-distance], a[:, :, distance:])
        a, distance = further, 2 * distance
    if op.among == "exclusive":
        begins = _first(machine.active()) >= _numbers(machine)
        a = np.where(begins, identity(op.operator, type), np.roll(a, 1, axis=2))
    machine.set(op.result, a)


# --- partitions ------------------------------------------------------------------------------


@meaning(ActivePartition)
def partition(machine: Machine, op: ActivePartition) -> None:
    """Find the active work-items with the same value."""
    a, active = _full(machine, machine.array(op.a)), machine.active()
    same = (a[:, :, :, None] == a[:, :, None, :]) & active[:, :, None, :]
    for result, word in zip(op.results, _words(same), strict=True):
        machine.set(result, word)


def _members(machine: Machine, words: Sequence[Value]) -> Mask:
    """The active work-items that each one combines with: [work_group, subgroup, lane, other lane]."""
    members: Mask = _bits(machine, words) & machine.active()[:, :, None, :]
    return members


def _in_order(machine: Machine, op: ActiveReduce | ActiveScan, members: Mask) -> Array:
    """The combination of the values of the members of each work-item, in the order of their numbers."""
    type = _type(op)
    a, combine = _full(machine, machine.array(op.a)), combining(op.operator, type)
    total = np.full(machine.shape, _nothing(op.operator, type))
    for lane in range(machine.lanes):
        element = np.ascontiguousarray(_full(machine, a[:, :, lane : lane + 1]))
        total = np.where(members[..., lane], combine(total, element), total)
    return np.where(members.any(axis=3), total, identity(op.operator, type))
