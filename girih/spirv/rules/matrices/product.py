"""The product of cooperative matrices: uses, shapes, and how components are read (SPV_KHR_cooperative_matrix)."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.matrices.terms import (
    ACCUMULATOR,
    KHR,
    MATRIX_A,
    MATRIX_B,
    agree,
    has_use,
    is_matrix,
    matrix_named,
    part,
    word,
)  # fmt: skip
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Finds, Predicate, Subject
from girih.spirv.types import Int

MUL_ADD = "OpCooperativeMatrixMulAddKHR"
SOURCE = f"{KHR} {MUL_ADD}"

SIGNED = {
    "MatrixASignedComponentsKHR": "a",
    "MatrixBSignedComponentsKHR": "b",
    "MatrixCSignedComponentsKHR": "c",
    "MatrixResultSignedComponentsKHR": "result",
}
"""Bits of CooperativeMatrixOperands that say how the components of a matrix are read, with the matrix."""


def _given(subject: Subject[Facts], bit: str) -> bool:
    mask = subject.op.get("cooperative_matrix_operands")
    return isinstance(mask, int) and bool(mask & grammar().kinds["CooperativeMatrixOperands"].value(bit))


def _signed_floats(subject: Subject[Facts]) -> str | None:
    for bit, name in SIGNED.items():
        if _given(subject, bit):
            found = matrix_named(subject, name).component
            if not isinstance(found, Int):
                return f"{bit} with components that are {found.words}s"
    return None


def _saturated_floats(subject: Subject[Facts]) -> str | None:
    if not _given(subject, "SaturatingAccumulationKHR"):
        return None
    for name in ("a", "b", "c", "result"):
        found = matrix_named(subject, name).component
        if not isinstance(found, Int):
            return f"SaturatingAccumulationKHR, and the components of {word(name)} are {found.words}s"
    return None


def _matrix(name: str, use: int, words: str, beyond: str | None = None) -> tuple[SpirvRow, SpirvRow]:
    blames = "result_type" if name == "result" else name
    wanted = grammar().kinds["CooperativeMatrixUse"].name_of(use)
    return (
        rule(name, blames, is_matrix(name), f"a cooperative matrix as {words}", SOURCE),
        rule(
            f"{name}_use",
            blames,
            has_use(name, use),
            f"{wanted} as use of {words}",
            SOURCE,
            beyond=beyond,
        ),
    )


def shape_rows(*, fixed: bool) -> tuple[SpirvRow, ...]:
    """The rows about the shapes of a product; `fixed`: values of specialisation constants are not looked at."""

    def parts(field: str, *names: str) -> Predicate:
        return agree(*(part(name, field, fixed=fixed) for name in names))

    return (
        rule("scope", "a b c", parts("scope", "a", "b", "c", "result"), "matrices of one scope", SOURCE),
        rule(
            "rows", "a c", parts("rows", "a", "c", "result"), "A, C and the result with the same number of rows",
            SOURCE,
        ),
        rule(
            "columns", "b c", parts("columns", "b", "c", "result"),
            "B, C and the result with the same number of columns", SOURCE,
        ),
        rule(
            "inner", "a b", agree(part("a", "columns", fixed=fixed), part("b", "rows", fixed=fixed)),
            "as many columns of A as rows of B", SOURCE,
        ),
    )  # fmt: skip


FAMILIES = (
    family(
        MUL_ADD,
        *_matrix("a", MATRIX_A, "matrix A"),
        *_matrix("b", MATRIX_B, "matrix B"),
        *_matrix("c", ACCUMULATOR, "accumulator C"),
        *_matrix("result", ACCUMULATOR, "accumulator", "spirv-val does not look at the use of the result"),
        *shape_rows(fixed=False),
        rule(
            "signed", "cooperative_matrix_operands", Finds("signed components are integers", _signed_floats),
            "signed components only for matrices of integers", f"{KHR} 2.16.1",
            beyond="spirv-val does not look at these operands",
        ),
        rule(
            "saturating", "cooperative_matrix_operands", Finds("saturation is of integers", _saturated_floats),
            "saturating accumulation only for matrices of integers", SOURCE,
            beyond="spirv-val does not look at these operands",
        ),
    ),
)  # fmt: skip
