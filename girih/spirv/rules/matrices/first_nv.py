"""Cooperative matrices of SPV_NV_cooperative_matrix, which have no use: what differs from KHR's."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.rules.matrices.access import IN_MATRIX_MEMORY, STORAGE_VUID, pointer_row
from girih.spirv.rules.matrices.declared import LENGTH_RESULT
from girih.spirv.rules.matrices.memory import POINTEE, STRIDE
from girih.spirv.rules.matrices.product import shape_rows
from girih.spirv.rules.matrices.terms import is_first_matrix, word
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Finds, Subject, present
from girih.spirv.types import Bool
from girih.spirv.values import ALL_CONSTANTS

FIRST = "SPV_NV_cooperative_matrix"


def _not_constant_bool(subject: Subject[Facts]) -> str | None:
    id = present(subject, "column_major")
    type, made = subject.facts.type_of(id), subject.facts.defined_by(id)
    if not isinstance(type, Bool):
        return type.words
    return None if made in ALL_CONSTANTS else f"the result of {made}"


def _matrix(name: str) -> SpirvRow:
    blames = "result_type" if name == "result" else name
    return rule(name, blames, is_first_matrix(name), f"a cooperative matrix of {FIRST} as {word(name)}", FIRST)


def _no_type(subject: Subject[Facts]) -> str | None:
    made = subject.facts.defined_by(present(subject, "type"))
    return None if made == "OpTypeCooperativeMatrixNV" else f"the result of {made}"


FAMILIES = (
    family("OpCooperativeMatrixLoadNV", _matrix("result")),
    family("OpCooperativeMatrixStoreNV", _matrix("object")),
    family(
        "OpCooperativeMatrixLoadNV OpCooperativeMatrixStoreNV",
        pointer_row(untyped=False),
        rule(
            "storage_class", "pointer", IN_MATRIX_MEMORY,
            "a pointer in Workgroup, StorageBuffer or PhysicalStorageBuffer", STORAGE_VUID,
        ),
        POINTEE,
        STRIDE,
        rule(
            "column_major", "column_major", Finds("Column Major is a constant boolean", _not_constant_bool),
            "a constant of type bool: whether columns are contiguous", FIRST,
        ),
    ),
    family(
        "OpCooperativeMatrixMulAddNV",
        *(_matrix(name) for name in ("a", "b", "c", "result")),
        *shape_rows(fixed=True),
    ),
    family(
        "OpCooperativeMatrixLengthNV",
        LENGTH_RESULT,
        rule("matrix", "type", Finds("Type is a cooperative matrix", _no_type), f"a type of {FIRST}", FIRST),
    ),
)  # fmt: skip
