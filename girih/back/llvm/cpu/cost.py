"""An estimate of the time of a work-group from the text alone, to tell grids that are not worth waking threads for.

Unknown numbers are assumed to be large, so that a small estimate is reliable; `CostFacts.unknown` is how large.
"""

from __future__ import annotations

from math import prod

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For, Foreach, ForeachTile
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd

_WORTH = 5_000.0
"""Nanoseconds of work that are not worth sharing out."""

_LIKELY = 1_000.0
"""What a number that is not known will be like."""

_BOUNDLESS = 1e9
"""A number that is not known, where time counts that must not pass."""

_FLOPS = 50.0
"""Operations in a nanosecond, of products."""


def serial_groups(function: Function, constants: dict[Value, int], lanes: int) -> int:
    """The number of work-groups that are done before another thread would have begun."""
    return _affordable(function, CostFacts(constants, lanes, _LIKELY))


def untimed_groups(function: Function, constants: dict[Value, int], lanes: int) -> int:
    """The number of work-groups that are certainly done before anyone could ask for an end; 1 if none is certain."""
    return _affordable(function, CostFacts(constants, lanes, _BOUNDLESS))


def may_not_end(function: Function) -> bool:
    """Whether a function has a loop that ends only when its work-items leave it, which those of shaders do."""
    return any(op.spec.mnemonic == "loop" for op in function.walk())


@dataclass(frozen=True, slots=True)
class CostFacts:
    """The facts that are known of a kernel, and the number that stands for each unknown one."""

    constants: dict[Value, int]
    lanes: int
    unknown: float


def _affordable(function: Function, facts: CostFacts) -> int:
    return max(1, int(_WORTH / max(_region(function.body, facts), 1.0)))


def _region(region: Region, facts: CostFacts) -> float:
    return sum(_op(op, facts) for op in region.ops)


def _op(op: Op, facts: CostFacts) -> float:
    inner = sum(_region(r, facts) for r in op.regions)
    match op:
        case For():
            # Even a loop around nothing takes its time.
            return _trips(op.start, op.stop, facts) * max(inner, 1.0)
        case Foreach():
            points = prod(_trips(a, b, facts) for a, b in zip(op.start, op.stop, strict=True))
            return points / facts.lanes * inner + inner
        case ForeachTile():
            pairs = zip(op.start, op.stop, op.tile_shape, strict=True)
            return prod(_trips(a, b, facts) / n + 1 for a, b, n in pairs) * inner
        case CooperativeMatrixMulAdd():
            return _size(op.a, facts) * _size(op.c, facts) / max(1, _rows(op.c)) / _FLOPS
        case _:
            return max((_size(v, facts) for v in op.operands), default=1.0) / 8 + 1.0 + inner


def _trips(start: Value, stop: Value, facts: CostFacts) -> float:
    if start in facts.constants and stop in facts.constants:
        return max(0, facts.constants[stop] - facts.constants[start])
    return facts.unknown


def _size(value: Value, facts: CostFacts) -> float:
    """The number of elements of an operand that an instruction works on as a whole."""
    match value.type:
        case MemRef(shape=shape):
            return prod(facts.unknown if n is None else n for n in shape)
        case CoopMatrix(rows=rows, columns=columns):
            return rows * columns
        case _:
            return 1.0


def _rows(value: Value) -> int:
    return value.type.rows if isinstance(value.type, CoopMatrix) else 1
