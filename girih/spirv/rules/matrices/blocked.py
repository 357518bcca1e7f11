"""Matrices in blocks of 64 bytes (002, SPV_ARM_cooperative_matrix_layouts, revisions 1 and 2).

Revision 1 ties rows and columns to the stride. Revision 2 (2025-11-10) also demands that the stride stands there, is a
constant, and is 1, 2 or 4; spirv-val holds modules to it, and so do these rules: what it forbids has no meaning in
revision 1 either, where blocks are interleaved in groups of `stride`.
"""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.rules.matrices.access import matrix_operand
from girih.spirv.rules.matrices.memory import LOAD, STORE, layout_name
from girih.spirv.rules.matrices.terms import known, matrix_named, shown
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import Finds, Subject, present
from girih.spirv.types import Float, Int
from girih.spirv.values import ALL_CONSTANTS

BLOCKED = ("RowBlockedInterleavedARM", "ColumnBlockedInterleavedARM")
ROWS_OF_BLOCK, BYTES_OF_BLOCK_ROW = 4, 16
"""A block has 4 rows of 16 bytes (002 3.X Cooperative Matrix Layout)."""
STRIDES = (1, 2, 4)
"""Strides of revision 2 (002, revision 2, 2.16.1)."""
REVISION_1, REVISION_2 = "002 2.16.1 (revision 1)", "002 2.16.1 (revision 2)"


def _is_blocked(subject: Subject[Facts]) -> bool:
    return layout_name(subject) in BLOCKED


def _undeclared(subject: Subject[Facts]) -> str | None:
    if not _is_blocked(subject) or subject.facts.has("CooperativeMatrixLayoutsARM"):
        return None
    return f"{layout_name(subject)} without capability CooperativeMatrixLayoutsARM"


def _stride_missing(subject: Subject[Facts]) -> str | None:
    return f"{layout_name(subject)} without it" if _is_blocked(subject) and not subject.op.id("stride") else None


def _stride_not_constant(subject: Subject[Facts]) -> str | None:
    made = subject.facts.definition(present(subject, "stride")).name
    return None if made in ALL_CONSTANTS or not _is_blocked(subject) else f"the result of {made}"


def _wrong_stride(subject: Subject[Facts]) -> str | None:
    id = present(subject, "stride")
    value = subject.facts.integer(id)
    return None if value in STRIDES or not _is_blocked(subject) else shown(subject.facts, id, value)


def _stride(subject: Subject[Facts]) -> int:
    """The stride as far as it is known: 1 where it is not, which every stride is a multiple of."""
    value = subject.facts.declarations.values.get(subject.op.id("stride"))
    return value if isinstance(value, int) and value > 0 else 1


def _wrong_rows(subject: Subject[Facts]) -> str | None:
    rows = known(matrix_named(subject, matrix_operand(subject)).rows)
    needed = ROWS_OF_BLOCK * (_stride(subject) if layout_name(subject) == BLOCKED[1] else 1)
    if not _is_blocked(subject) or rows % needed == 0:
        return None
    return f"{rows} rows, no multiple of {needed}"


def _wrong_columns(subject: Subject[Facts]) -> str | None:
    matrix = matrix_named(subject, matrix_operand(subject))
    columns, component = known(matrix.columns), matrix.component
    if not _is_blocked(subject) or not isinstance(component, Int | Float) or not component.width:
        return None
    of_block = max(BYTES_OF_BLOCK_ROW * 8 // component.width, 1)
    needed = of_block * (_stride(subject) if layout_name(subject) == BLOCKED[0] else 1)
    return None if columns % needed == 0 else f"{columns} columns of {component.words}s, no multiple of {needed}"


FAMILIES = (
    family(
        f"{LOAD} {STORE}",
        rule(
            "blocked_capability", "memory_layout",
            Finds("with a blocked layout, CooperativeMatrixLayoutsARM is declared", _undeclared),
            "capability CooperativeMatrixLayoutsARM for a blocked layout", "002 3.X Cooperative Matrix Layout",
        ),
        rule(
            "blocked_stride", "stride", Finds("with a blocked layout: a stride", _stride_missing),
            "a stride: the number of blocks that are interleaved", REVISION_2,
        ),
        rule(
            "blocked_stride_constant", "stride",
            Finds("with a blocked layout, Stride is constant", _stride_not_constant),
            "a constant as stride of a blocked layout", REVISION_2,
        ),
        rule(
            "blocked_stride_value", "stride", Finds("with a blocked layout, Stride is 1, 2 or 4", _wrong_stride),
            "1, 2 or 4 as stride of a blocked layout", REVISION_2,
        ),
        rule(
            "blocked_rows", "result_type object",
            Finds("rows mod 4 = 0; with ColumnBlockedInterleavedARM rows mod 4·Stride = 0", _wrong_rows),
            "a matrix of whole blocks: rows are a multiple of 4, in ColumnBlockedInterleavedARM of 4 times the stride",
            REVISION_1,
        ),
        rule(
            "blocked_columns", "result_type object",
            Finds(
                "columns mod (16 / size) = 0; with RowBlockedInterleavedARM columns mod (16 / size · Stride) = 0",
                _wrong_columns,
            ),
            "a matrix of whole blocks: columns are a multiple of 16 bytes, in RowBlockedInterleavedARM of 16 bytes "
            "times the stride", REVISION_1,
        ),
    ),
)  # fmt: skip
