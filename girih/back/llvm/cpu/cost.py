"""About how long a work-group takes, from the text alone: only to tell grids that are not worth waking threads for.

What is not known is taken to be large, so that a small estimate is one to rely on.
"""

from __future__ import annotations

from math import prod

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.control import For, Foreach, ForeachTile
from girih.ops.coopmatrix import CooperativeMatrixMulAdd

_WORTH = 5_000.0
"""Nanoseconds of work that are not worth sharing out."""

_UNKNOWN = 1_000.0
_FLOPS = 50.0
"""Operations in a nanosecond, of products."""


def serial_groups(function: Function, constants: dict[Value, int], lanes: int) -> int:
    """How many work-groups are done before another thread would have begun."""
    estimate = _region(function.body, constants, lanes)
    return max(1, int(_WORTH / max(estimate, 1.0)))


def _region(region: Region, constants: dict[Value, int], lanes: int) -> float:
    return sum(_op(op, constants, lanes) for op in region.ops)


def _op(op: Op, constants: dict[Value, int], lanes: int) -> float:
    inner = sum(_region(r, constants, lanes) for r in op.regions)
    match op:
        case For():
            return _trips(op.start, op.stop, constants) * inner
        case Foreach():
            points = prod(_trips(a, b, constants) for a, b in zip(op.start, op.stop, strict=True))
            return points / lanes * inner + inner
        case ForeachTile():
            pairs = zip(op.start, op.stop, op.tile_shape, strict=True)
            return prod(_trips(a, b, constants) / n + 1 for a, b, n in pairs) * inner
        case CooperativeMatrixMulAdd():
            return _size(op.a) * _size(op.c) / max(1, _rows(op.c)) / _FLOPS
        case _:
            return max((_size(v) for v in op.operands), default=1.0) / 8 + 1.0 + inner


def _trips(start: Value, stop: Value, constants: dict[Value, int]) -> float:
    if start in constants and stop in constants:
        return max(0, constants[stop] - constants[start])
    return _UNKNOWN


def _size(value: Value) -> float:
    """The elements of what an instruction works on as a whole."""
    match value.type:
        case MemRef(shape=shape):
            return prod(_UNKNOWN if n is None else n for n in shape)
        case CoopMatrix(rows=rows, columns=columns):
            return rows * columns
        case _:
            return 1.0


def _rows(value: Value) -> int:
    return value.type.rows if isinstance(value.type, CoopMatrix) else 1
