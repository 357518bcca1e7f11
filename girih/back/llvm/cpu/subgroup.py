"""Operations between the work-items of a subgroup, as shuffles of a vector (`girih.ops.subgroup`).

Scans and reductions combine neighbours in a tree; every step rounds in the type.
"""

from __future__ import annotations

from girih.back.llvm import arith
from girih.back.llvm.cpu.lowering import Lowering, lowering
from girih.back.llvm.text import Val, floating, integer, lanes
from girih.back.llvm.values import Scalar, register, uniform, vector_of
from girih.ir.types import Number
from girih.ops.subgroup import OPERATIONS, SubgroupBroadcast, SubgroupOperation

Parts = tuple[Val, ...]

_KINDS = {cls: parts for parts, cls in OPERATIONS.items()}


def _number(held: Scalar) -> Number:
    if not isinstance(held.type, Number):
        raise TypeError(f"{held.type} is no number type")
    return held.type


@lowering(SubgroupBroadcast)
def broadcast(l: Lowering, op: SubgroupBroadcast) -> None:
    """One work-item's value for all."""
    l.met_by_all(op)
    (lane,) = l.agreed(op, "lane", l.scalar(op.lane))
    bad = l.w.compare("uge", lane, integer(l.lanes, lane.type))
    l.check(op, bad, "run.out_of_bounds", "`subgroup_broadcast` from a work-item that does not exist",
            argument=op.lane.name, index=(uniform(_number(l.scalar(op.lane)), lane),), shape=(l.lanes,))  # fmt: skip
    held = l.scalar(op.a)
    if held.uniform:
        l.set(op.result, held)
        return
    inside = l.w.binary("and", lane, integer(l.lanes - 1, lane.type))
    position = l.w.convert("zext", inside, "i64")
    l.set(op.result, uniform(held.type, *(l.w.extract(p, position) for p in l.vector(held))))


@lowering(*_KINDS)
def operation(l: Lowering, op: SubgroupOperation) -> None:
    """A scan or a reduction."""
    l.met_by_all(op)
    shape, operator = _KINDS[type(op)]
    held = l.scalar(op.a)
    type_ = _number(held)
    parts = l.vector(held)
    if shape == "reduce":
        l.set(op.result, uniform(type_, *reduce(l, operator, type_, parts)))
        return
    scanned = _scan(l, operator, type_, parts)
    if shape == "exclusive_scan":
        scanned = _shifted(l, operator, type_, scanned, 1)
    l.set(op.result, uniform(type_, *scanned))


def reduce(l: Lowering, operator: str, type: Number, parts: Parts) -> Parts:
    """All elements of vectors combined: halves with halves."""
    while lanes(parts[0].type) > 1:
        half = lanes(parts[0].type) // 2
        low = tuple(l.w.part(p, 0, half) for p in parts)
        high = tuple(l.w.part(p, half, half) for p in parts)
        parts = arith.binary(l.w, l.target.features, operator, type, low, high)
    return parts


def _scan(l: Lowering, operator: str, type: Number, parts: Parts) -> Parts:
    distance = 1
    while distance < l.lanes:
        moved = _shifted(l, operator, type, parts, distance)
        parts = arith.binary(l.w, l.target.features, operator, type, moved, parts)
        distance *= 2
    return parts


def _shifted(l: Lowering, operator: str, type: Number, parts: Parts, distance: int) -> Parts:
    """The elements moved up by some lanes; the identity comes in from below."""
    count = l.lanes
    picks = [k - distance if k >= distance else count + k for k in range(count)]
    start = identity(operator, type, count)
    return tuple(l.w.shuffle(p, start, picks) for p in parts)


def identity(operator: str, type: Number, count: int) -> Val:
    """What changes nothing, in every lane (of every part)."""
    vector = vector_of(type, count)
    if register(type) in ("float", "double"):
        return floating({"add": 0.0, "max": float("-inf"), "min": float("inf")}[operator], vector)
    least = -(1 << 8 * type.size - 1)
    return integer({"add": 0, "max": least, "min": -least - 1}[operator], vector)
