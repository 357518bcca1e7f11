"""Loads and stores of cooperative matrices, row by row or column by column (SPV_KHR_cooperative_matrix)."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.matrices.access import IN_MATRIX_MEMORY, INTO_ARRAY, STORAGE_VUID, pointer_row
from girih.spirv.rules.matrices.terms import KHR, constant_int32, is_matrix, shown, type_named, with_article
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import Finds, Subject, Term, is_integer, present, satisfies
from girih.spirv.types import Float, Int, Pointer, Vector

LOAD, STORE = "OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixStoreKHR"
WITH_STRIDE = frozenset({"RowMajorKHR", "ColumnMajorKHR"})
"""Layouts in which rows, or columns, stand a stride apart."""


def layout_name(subject: Subject[Facts]) -> str:
    """The name of the CooperativeMatrixLayout that an access has, its number where it has no name."""
    value = subject.facts.integer(present(subject, "memory_layout"))
    return grammar().kinds["CooperativeMatrixLayout"].name_of(value)


def _no_numbers(subject: Subject[Facts]) -> str | None:
    pointer = type_named(subject, "pointer")
    if not isinstance(pointer, Pointer) or not pointer.pointee_id:
        return None
    pointee = subject.facts.pointee(pointer)
    part = pointee.component if isinstance(pointee, Vector) and not pointee.cooperative else pointee
    return None if isinstance(part, Int | Float) else f"a pointer to {with_article(pointee.words)}"


def _unknown_layout(subject: Subject[Facts]) -> str | None:
    name = layout_name(subject)
    if name in grammar().kinds["CooperativeMatrixLayout"].by_name:
        return None
    return f"Memory Layout is {shown(subject.facts, present(subject, 'memory_layout'), name)}"


def _stride_missing(subject: Subject[Facts]) -> str | None:
    name = layout_name(subject)
    return f"{name} without it" if name in WITH_STRIDE and subject.op.get("stride") is None else None


def _stride_below(subject: Subject[Facts], least: int) -> str | None:
    if layout_name(subject) not in WITH_STRIDE:
        return None
    id = present(subject, "stride")
    value = subject.facts.integer(id)
    return f"Stride is {shown(subject.facts, id, value)}" if value < least else None


POINTEE = rule(
    "pointee", "pointer", Finds("Pointer points to a number, or a vector of numbers", _no_numbers),
    "a pointer to a number or to a vector of numbers", f"{KHR} {LOAD}",
)  # fmt: skip
STRIDE = rule(
    "stride", "stride",
    satisfies(Term("the type of Stride", lambda s: type_named(s, "stride")), "is an integer", is_integer),
    "an integer as stride", f"{KHR} {LOAD}",
)  # fmt: skip

_SHARED = (
    pointer_row(untyped=True),
    rule(
        "storage_class", "pointer", IN_MATRIX_MEMORY,
        "a pointer in Workgroup, StorageBuffer or PhysicalStorageBuffer", STORAGE_VUID, vulkan=True,
    ),
    INTO_ARRAY,
    POINTEE,
    rule(
        "memory_layout", "memory_layout", constant_int32("memory_layout"),
        "a constant of a 32-bit integer type as memory layout", f"{KHR} {LOAD}",
    ),
    rule(
        "memory_layout_value", "memory_layout", Finds("Memory Layout is a CooperativeMatrixLayout", _unknown_layout),
        "a memory layout that there is", f"{KHR} {LOAD}", beyond="spirv-val does not look at the value",
    ),
    STRIDE,
    rule(
        "stride_present", "stride", Finds("with RowMajorKHR, ColumnMajorKHR: a stride", _stride_missing),
        "a stride", f"{KHR} 3.X Cooperative Matrix Layout",
    ),
)  # fmt: skip

FAMILIES = (
    family(
        LOAD,
        rule("result", "result_type", is_matrix("result"), "a cooperative matrix as result", f"{KHR} {LOAD}"),
        *_SHARED,
        rule(
            "stride_value", "stride", Finds("Stride ≥ 0", lambda s: _stride_below(s, 0)),
            "a stride that is not negative", f"{KHR} 3.X Cooperative Matrix Layout",
            beyond="spirv-val does not look at the number",
        ),
    ),
    family(
        STORE,
        rule("object", "object", is_matrix("object"), "a cooperative matrix as object", f"{KHR} {STORE}"),
        *_SHARED,
        rule(
            "stride_value", "stride", Finds("Stride > 0", lambda s: _stride_below(s, 1)),
            "a stride of at least 1, so that rows (or columns) do not overwrite one another",
            f"{KHR} 3.X Cooperative Matrix Layout", beyond="spirv-val does not look at the number",
        ),
    ),
)  # fmt: skip
