"""The sizes of subgroups and work-groups that suit a kernel (003 "Execution model", "Functions")."""

from __future__ import annotations

from collections.abc import Iterable

from girih.diagnostics import Diagnostic
from girih.ir.core import Function, Op
from girih.ir.limits import DeviceLimits
from girih.ir.surroundings import Subject, Surroundings
from girih.ir.types import CoopMatrix, PrivateArrayType
from girih.ir.types import Type as IrType
from girih.rules.row import Row, Undetermined
from girih.source import Span

PREFERRED_SUBGROUP_SIZES = (32, 16, 8, 64)
"""The sizes that are tried, in this order, where a kernel leaves the subgroup size open."""

WIDEST_WORK_GROUP = 256
"""Work-groups of up to so many work-items may be compiled as one subgroup."""

Question = tuple[Op, tuple[Row, ...]]
"""An instruction, and its rules that need to know the subgroup size."""


def _questions(function: Function) -> list[Question]:
    """The instructions that do not suit every subgroup size, with their rules on it."""
    rows: dict[str, tuple[Row, ...]] = {}
    questions: list[Question] = []
    for op in function.walk():
        name = op.spec.mnemonic
        if name not in rows:
            rows[name] = tuple(row for row in function.language.rules[name] if row.needs == "subgroup_size")
        if rows[name]:
            questions.append((op, rows[name]))
    return questions


def _fits(function: Function, question: Question, size: int, limits: DeviceLimits) -> bool:
    """Whether the rules of an instruction hold, or say nothing, with a subgroup size."""
    op, rows = question
    subject = Subject(op, Surroundings(function, limits, assumed_subgroup_size=size))
    return all(_holds(row, subject) for row in rows)


def _holds(row: Row, subject: Subject) -> bool:
    try:
        return row.holds.holds(subject)
    except Undetermined:
        return True


def possible_subgroup_sizes(function: Function, limits: DeviceLimits) -> list[int]:
    """The subgroup sizes that suit the kernel."""
    questions = _questions(function)
    sizes = _asked_sizes(function, limits)
    return [size for size in sizes if all(_fits(function, question, size, limits) for question in questions)]


def _asked_sizes(function: Function, limits: DeviceLimits) -> list[int]:
    """The sizes that there are, or the one that the kernel asks for, that divide its work-group."""
    wanted = function.subgroup_size
    sizes = _all_sizes(function, limits) if wanted is None else (wanted,)
    if function.work_group_size is not None:
        sizes = tuple(n for n in sizes if function.work_group_size[0] % n == 0)
    return list(sizes)


def _all_sizes(function: Function, limits: DeviceLimits) -> tuple[int, ...]:
    """The sizes of the function's language, or else of the target."""
    return function.language.subgroup_sizes or limits.subgroup_sizes


def no_subgroup_size(function: Function, limits: DeviceLimits) -> Diagnostic:
    """The diagnostic `bind.subgroup_size` of a kernel that no size suits, at the instruction that leaves none."""
    left = _asked_sizes(function, limits)
    sizes = _listed(left or _all_sizes(function, limits))
    said = f"no subgroup size of {sizes} suits all instructions of {function.called}"
    labels: list[tuple[Span, str]] = []
    for op, rows in _questions(function):
        fitting = [n for n in left if _fits(function, (op, rows), n, limits)]
        if len(fitting) < len(left):
            labels.append((op.span, f"suits {_listed(fitting)}" if fitting else f"suits none of {_listed(left)}"))
            left = fitting
    span = labels[-1][0] if labels else function.span
    hint = "rows of matrices in mul_add and reduce and the first entry of a tile shape are multiples of it"
    return Diagnostic("bind.subgroup_size", said, span, labels=tuple(reversed(labels)), hint=hint)


def _listed(sizes: Iterable[int]) -> str:
    return ", ".join(map(str, sizes))


def preferred_subgroup_size(possible: list[int]) -> int:
    """The first of the preferred sizes that is possible; the largest where none is."""
    return next((n for n in PREFERRED_SUBGROUP_SIZES if n in possible), max(possible))


def compiled_subgroup_size(function: Function, possible: list[int]) -> int:
    """The subgroup size that a kernel is compiled for, one of the possible ones or that of the whole work-group.

    Each subgroup computes the matrices of its work-group, so that one subgroup is best where the kernel has such
    matrices, leaves the size open and cannot tell it.
    """
    size, items = function.work_group_size, 0
    if function.subgroup_size is None and size is not None:
        items = size[0] * size[1]
    if not max(possible) < items <= WIDEST_WORK_GROUP and items not in possible:
        return preferred_subgroup_size(possible)
    return items if _has_work_group_matrices(function) else preferred_subgroup_size(possible)


def _has_work_group_matrices(function: Function) -> bool:
    """Whether there are matrices of the work-group, and nothing that differs with the size of subgroups."""
    met = False
    for op in function.walk():
        if op.spec.exchanges or "subgroup" in op.spec.mnemonic:
            return False
        for value in (*op.operands, *op.results):
            matrix = _matrix_of(value.type)
            if matrix is not None and not matrix.of_work_group:
                return False
            met = met or matrix is not None
    return met


def _matrix_of(type: IrType) -> CoopMatrix | None:
    element = type.element if isinstance(type, PrivateArrayType) else type
    return element if isinstance(element, CoopMatrix) else None
