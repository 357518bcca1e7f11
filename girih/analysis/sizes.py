"""The sizes of subgroups and work-groups that suit a kernel (003 "Execution model", "Functions")."""

from __future__ import annotations

from collections.abc import Iterable

from girih.diagnostics import Diagnostic
from girih.ir.core import Function, Op
from girih.ir.limits import DeviceLimits
from girih.ir.types import CoopMatrix, Type
from girih.ops.tile.control import ForeachTile
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixExtract,
    CooperativeMatrixInsert,
    CooperativeMatrixMulAdd,
    Reduce,
)
from girih.ops.tile.coopmatrix_layout import layout_of
from girih.source import Span

PREFERRED_SUBGROUP_SIZES = (32, 16, 8, 64)
"""What is chosen first where a kernel leaves the subgroup size open."""


def _fits(op: Op, size: int) -> bool:
    """Whether an instruction can be executed with a subgroup size (the rules that need one)."""
    match op:
        case ForeachTile():
            return op.tile_shape[0] % size == 0
        case CooperativeMatrixMulAdd():
            return all(_suits(t, size) for t in (op.a.type, op.c.type))
        case Reduce():
            return _suits(op.a.type, size)
        case CooperativeMatrixExtract() | CooperativeMatrixInsert():
            layout = layout_of(op.matrix.type, size) if isinstance(op.matrix.type, CoopMatrix) else None
            return layout is not None and op.index < layout.components
        case _:
            return True


def _suits(type: Type, size: int) -> bool:
    """Whether a subgroup can compute with a matrix; one that the work-group holds suits every size."""
    return isinstance(type, CoopMatrix) and (type.of_work_group or type.rows % size == 0)


def possible_subgroup_sizes(function: Function, limits: DeviceLimits) -> list[int]:
    """The subgroup sizes that suit the kernel."""
    ops = list(function.walk())
    return [n for n in _asked_sizes(function, limits) if all(_fits(op, n) for op in ops)]


def _asked_sizes(function: Function, limits: DeviceLimits) -> list[int]:
    """The subgroup sizes that suit what the kernel asks for."""
    wanted = function.subgroup_size
    sizes = limits.subgroup_sizes if wanted is None else (wanted,)
    if function.work_group_size is not None:
        sizes = tuple(n for n in sizes if function.work_group_size[0] % n == 0)
    return list(sizes)


def no_subgroup_size(function: Function, limits: DeviceLimits) -> Diagnostic:
    """What to say where no subgroup size is possible: bind.subgroup_size, at the instruction that leaves none."""
    left = _asked_sizes(function, limits)
    said = f"no subgroup size of {_listed(left or limits.subgroup_sizes)} suits all instructions of @{function.name}"
    labels: list[tuple[Span, str]] = []
    for op in function.walk():
        fitting = [n for n in left if _fits(op, n)]
        if len(fitting) < len(left):
            labels.append((op.span, f"suits {_listed(fitting)}" if fitting else f"suits none of {_listed(left)}"))
            left = fitting
    span = labels[-1][0] if labels else function.span
    hint = "rows of matrices in mul_add and reduce and the first entry of a tile shape are multiples of it"
    return Diagnostic("bind.subgroup_size", said, span, labels=tuple(reversed(labels)), hint=hint)


def _listed(sizes: Iterable[int]) -> str:
    return ", ".join(map(str, sizes))


def preferred_subgroup_size(possible: list[int]) -> int:
    """The first of the preferred sizes that is possible."""
    return next((n for n in PREFERRED_SUBGROUP_SIZES if n in possible), possible[0])
