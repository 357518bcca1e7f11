"""Operations between the work-items of a subgroup where each is a thread, by exchange (`girih.ops.tile.subgroup`).

Scans and reductions combine neighbours in a tree, as the CPU's do with the halves of a vector: results are the same bit
for bit, and all work-items get the same result of a reduction.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.values import uniform
from girih.facts import findings
from girih.ir.types import I32, Number
from girih.ops.tile.subgroup import OPERATIONS, SubgroupBroadcast, SubgroupOperation

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

Parts = tuple[Val, ...]

_KINDS = {cls: kind for kind, cls in OPERATIONS.items()}


@LOWERINGS.of(SubgroupBroadcast)
def broadcast(code: OneLaneCode, op: SubgroupBroadcast) -> None:
    """Give one work-item's value to all work-items of its subgroup."""
    code.met_by_all(op)
    size = code.geometry.subgroup_size
    (lane,) = code.agreed(op, "lane", code.scalar(op.lane))
    bad = code.w.compare("uge", lane, integer(size, lane.type))
    words = findings.no_such_work_item()
    code.check(op, bad, words, argument=op.lane.name, index=(uniform(I32, lane),), shape=(size,))
    inside = code.w.binary("and", lane, integer(size - 1, lane.type))
    held = code.scalar(op.a)
    code.set(op.result, uniform(held.type, *_from(code, held.parts, inside)))


@LOWERINGS.of(*_KINDS)
def operation(code: OneLaneCode, op: SubgroupOperation) -> None:
    """Lower a scan or a reduction."""
    code.met_by_all(op)
    shape, operator = _KINDS[type(op)]
    held = code.scalar(op.a)
    assert isinstance(held.type, Number)
    if shape == "reduce":
        code.set(op.result, uniform(held.type, *reduced(code, operator, held.type, held.parts)))
        return
    parts = scanned(code, operator, held.type, held.parts)
    if shape == "exclusive_scan":
        nothing = arith.identity(operator, held.type, 1)
        parts = _from_below(code, parts, 1, tuple(nothing for _ in parts))
    code.set(op.result, uniform(held.type, *parts))


def _from(code: OneLaneCode, parts: Parts, lane: Val) -> Parts:
    """The parts that another work-item of the subgroup has."""
    source = code.w.convert("sext" if bits(lane.type) < 32 else "trunc", lane, "i32")
    return tuple(code.exchanged(part, source) for part in parts)


def reduced(code: OneLaneCode, operator: str, type: Number, parts: Parts) -> Parts:
    """The combination of all work-items' parts: each with its partner's in the other half, the lower half's first.

    Of sums and of integers it does not matter which of two is the first.
    """
    at_once = code.reduced_at_once(operator, type, parts)
    if at_once is not None:
        return at_once
    w, distance = code.w, code.geometry.subgroup_size // 2
    while distance:
        low, high = parts, tuple(code.across(part, distance) for part in parts)
        if operator != "add" and type.family != "integer":
            upper = w.compare("ne", w.binary("and", code.lane, integer(distance, "i32")), integer(0, "i32"))
            low, high = (
                tuple(w.select(upper, b, a) for a, b in zip(first, second, strict=True))
                for first, second in ((low, high), (high, low))
            )
        parts = arith.binary(w, code.features, operator, type, low, high)
        distance //= 2
    return parts


def scanned(code: OneLaneCode, operator: str, type: Number, parts: Parts) -> Parts:
    """The combination of each work-item's part with those of the work-items below it."""
    w, distance = code.w, 1
    while distance < code.geometry.subgroup_size:
        moved = tuple(code.below(part, distance) for part in parts)
        sums = arith.binary(w, code.features, operator, type, moved, parts)
        far = w.compare("uge", code.lane, integer(distance, "i32"))
        parts = tuple(w.select(far, new, old) for new, old in zip(sums, parts, strict=True))
        distance *= 2
    return parts


def _from_below(code: OneLaneCode, parts: Parts, distance: int, otherwise: Parts) -> Parts:
    """The parts of the work-item `distance` lanes below; `otherwise` if there is none."""
    w = code.w
    far = w.compare("uge", code.lane, integer(distance, "i32"))
    theirs = [code.below(part, distance) for part in parts]
    return tuple(w.select(far, new, old) for new, old in zip(theirs, otherwise, strict=True))
