"""Operations between the work-items of a subgroup, as shuffles of a vector (`girih.ops.tile.subgroup`).

Scans and reductions combine neighbours in a tree; every step rounds in the type.
"""

from __future__ import annotations

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Val, floating, integer, lanes, zero
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.values import Scalar, register, uniform
from girih.facts import findings
from girih.ir.types import I32, Number
from girih.ops.tile.subgroup import OPERATIONS, SubgroupBroadcast, SubgroupOperation

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

Parts = tuple[Val, ...]

_KINDS = {cls: parts for parts, cls in OPERATIONS.items()}


def _number(held: Scalar) -> Number:
    if not isinstance(held.type, Number):
        raise TypeError(f"{held.type} is no number type")
    return held.type


@LOWERINGS.of(SubgroupBroadcast)
def broadcast(code: CpuCode, op: SubgroupBroadcast) -> None:
    """Give one work-item's value to all work-items of its subgroup."""
    code.met_by_all(op)
    (lane,) = code.agreed(op, "lane", code.scalar(op.lane))
    bad = code.w.compare("uge", lane, integer(code.lanes, lane.type))
    source = uniform(I32, lane)
    words = findings.no_such_work_item()
    code.check(op, bad, words, argument=op.lane.name, index=(source,), shape=(code.lanes,))
    held = code.scalar(op.a)
    if held.uniform:
        code.set(op.result, held)
        return
    inside = code.w.binary("and", lane, integer(code.lanes - 1, lane.type))
    position = code.w.convert("zext", inside, "i64")
    code.set(op.result, uniform(held.type, *(code.w.extract(p, position) for p in code.vector(held))))


@LOWERINGS.of(*_KINDS)
def operation(code: CpuCode, op: SubgroupOperation) -> None:
    """Lower a scan or a reduction."""
    code.met_by_all(op)
    shape, operator = _KINDS[type(op)]
    held = code.scalar(op.a)
    type_ = _number(held)
    parts = code.vector(held)
    if shape == "reduce":
        code.set(op.result, uniform(type_, *reduce(code, operator, type_, parts)))
        return
    scanned = _scan(code, operator, type_, parts)
    if shape == "exclusive_scan":
        scanned = _shifted(code, operator, type_, scanned, 1)
    code.set(op.result, uniform(type_, *scanned))


def reduce(code: CpuCode, operator: str, type: Number, parts: Parts) -> Parts:
    """The combination of all elements of vectors, halves with halves."""
    while lanes(parts[0].type) > 1:
        half = lanes(parts[0].type) // 2
        low = tuple(code.w.part(p, 0, half) for p in parts)
        high = tuple(code.w.part(p, half, half) for p in parts)
        parts = arith.binary(code.w, code.features, operator, type, low, high)
    return parts


def _scan(code: CpuCode, operator: str, type: Number, parts: Parts) -> Parts:
    distance = 1
    while distance < code.lanes:
        moved = _from_below(code, operator, type, parts, distance)
        parts = arith.binary(code.w, code.features, operator, type, moved, parts)
        distance *= 2
    return parts


def _from_below(code: CpuCode, operator: str, type: Number, parts: Parts, distance: int) -> Parts:
    """The elements moved up by some lanes; those below are what leaves any element unchanged, NaN and -0.0 too."""
    if operator == "add":
        nothing = floating(-0.0, parts[0].type) if register(type) in ("float", "double") else zero(parts[0].type)
        picks = [k - distance if k >= distance else code.lanes + k for k in range(code.lanes)]
        return tuple(code.w.shuffle(p, nothing, picks) for p in parts)
    picks = [k - distance if k >= distance else k for k in range(code.lanes)]
    return tuple(code.w.shuffle(p, None, picks) for p in parts)


def _shifted(code: CpuCode, operator: str, type: Number, parts: Parts, distance: int) -> Parts:
    """The elements moved up by some lanes; those below are the identity."""
    count = code.lanes
    picks = [k - distance if k >= distance else count + k for k in range(count)]
    start = arith.identity(operator, type, count)
    return tuple(code.w.shuffle(p, start, picks) for p in parts)
