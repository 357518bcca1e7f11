"""Why work-items part, or have different values, in words: labels from an instruction back to what tells them apart."""

from __future__ import annotations

from collections.abc import Mapping

from girih.analysis.suspicions import Turn
from girih.analysis.uniformity import Uniformities, Uniformity, bounds
from girih.ir.core import Op, Value
from girih.ops.tile.builtin import SubgroupId, SubgroupLinearId, SubgroupLocalId
from girih.ops.tile.control import For, Foreach, ForeachTile, If
from girih.ops.tile.coopmatrix import CooperativeMatrixExtract
from girih.ops.tile.memory import AtomicLoad, AtomicUpdate, Load
from girih.ops.tile.subgroup import SubgroupOperation
from girih.source import Span

Label = tuple[Span, str]

_SOURCES: Mapping[type[Op], str] = {
    SubgroupLocalId: "each work-item of a subgroup has another number",
    SubgroupId: "each subgroup has another number",
    SubgroupLinearId: "each subgroup has another number",
    CooperativeMatrixExtract: "each work-item has components of its own",
    AtomicLoad: "what one work-item loads, another may change before the next one loads",
    AtomicUpdate: "each work-item gets another old value",
    SubgroupOperation: "each work-item gets its own result",
    Foreach: "each point has other coordinates",
    ForeachTile: "each subgroup has other tiles",
}
"""What the instructions do that tell work-items apart, by their classes or the bases of these."""

_WAYS_OUT: Mapping[type[Op], str] = {
    If: "move it out of the `if`, or decide by what all of them share",
    For: "let all make as many iterations, and put what only some do into an `if`",
    Foreach: "share the work out by hand in `parallel`",
    ForeachTile: "share the work out by hand in `parallel`",
}


def way_out(turn: Turn) -> str:
    """What to do about a place at which work-items part."""
    return _WAYS_OUT[type(turn.op)]


def reasons_of_turn(turn: Turn, uniformities: Uniformities, enough: Uniformity, group: str) -> list[Label]:
    """The place at which work-items of a `group` part, and why; `enough` uniformity would keep them together."""
    op = turn.op
    match op:
        case If():
            said = f"this condition differs between the work-items of the {group}"
            return [(_use(op, "condition"), said), *reasons_of_value(op.condition, uniformities, enough)]
        case For():
            value = next(v for v in bounds(op) if uniformities.of(v) > enough)
            name = next(n for n in ("start", "stop", "step") if getattr(op, n) is value)
            said = f"so often as this says, which differs between the work-items of the {group}"
            return [(_use(op, name), said), *reasons_of_value(value, uniformities, enough)]
        case Foreach():
            return [(op.span, "a work-item comes in here once for each point that it gets, which may be none")]
        case ForeachTile():
            return [(op.span, "a subgroup comes in here once for each tile that it gets, which may be none")]


def reasons_of_value(value: Value, uniformities: Uniformities, enough: Uniformity) -> list[Label]:
    """Why a value is less uniform than is `enough`: the loads and branches on the way, and what tells them apart."""
    labels: list[Label] = []
    path = uniformities.reasons(value, Uniformity(enough + 1))
    for number, (op, _) in enumerate(path):
        following = path[number + 1][1] if number + 1 < len(path) else None
        label = _label(op, following)
        if label is not None and label not in labels:
            labels.append(label)
    return labels


def _label(op: Op, following: Value | None) -> Label | None:
    """The words about an instruction on the way, whose operand `following` is the next reason; None for arithmetic."""
    if following is None:
        words = next((_SOURCES[base] for base in type(op).__mro__ if base in _SOURCES), "it differs from here on")
        return op.span, words
    if isinstance(op, Load | AtomicLoad):
        return op.span, f"loaded from a place that depends on %{following.name}"
    if isinstance(op, If) and following is op.condition:
        return _use(op, "condition"), "this condition decides which of two values it is"
    if isinstance(op, For) and following in bounds(op):
        name = next(n for n in ("start", "stop", "step") if getattr(op, n) is following)
        return _use(op, name), "this says how often the loop changes it"
    return None


def _use(op: Op, name: str) -> Span:
    """The place where an operand is named."""
    spans = op.uses.get(name)
    return spans[0] if spans else op.span
