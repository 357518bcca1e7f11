"""What loads and stores of cooperative matrices share: the pointer. Memory operands are a chapter of memory."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.model.matrices.pointers import points_into_array
from girih.spirv.model.parts import pointer_type_of
from girih.spirv.rules.matrices.terms import KHR, is_specific, type_named, with_article
from girih.spirv.rules.row import SpirvRow, rule
from girih.spirv.rules.terms import Finds, Subject, Term, is_pointer, present, satisfies
from girih.spirv.types import Pointer

LOADS = frozenset({"OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixLoadTensorNV"})

MATRIX_MEMORY = ("Workgroup", "StorageBuffer", "PhysicalStorageBuffer")
"""Storage classes of memory with matrices (Vulkan; for tensors SPV_NV_cooperative_matrix2)."""


def matrix_operand(subject: Subject[Facts]) -> str:
    """The matrix of an access: the result of a load, the object of a store."""
    return "result" if subject.op.name in LOADS else "object"


def _outside_array(subject: Subject[Facts]) -> str | None:
    facts, pointer = subject.facts, present(subject, "pointer")
    type = pointer_type_of(facts, pointer)
    if not type.pointee_id or not facts.has("Shader") or points_into_array(facts, pointer):
        return None
    return f"{with_article(type.words)} that points to no array, and into none"


STORAGE_VUID = "VUID-StandaloneSpirv-OpCooperativeMatrixLoadKHR-08973"
IN_MATRIX_MEMORY = is_specific("pointer", *MATRIX_MEMORY)


def pointer_row(*, untyped: bool) -> SpirvRow:
    """The row that the pointer of an access is one, and whether it may be untyped."""
    kind = "a pointer" if untyped else "a pointer to a type"
    return rule(
        "pointer", "pointer",
        satisfies(
            Term("the type of Pointer", lambda s: type_named(s, "pointer")), f"is {kind}",
            is_pointer if untyped else lambda type: isinstance(type, Pointer) and type.pointee_id != 0,
        ),
        kind, f"{KHR} OpCooperativeMatrixLoadKHR",
    )  # fmt: skip


INTO_ARRAY = rule(
    "array", "pointer", Finds("with Shader, Pointer points into an array", _outside_array), "a pointer into an array",
    f"{KHR} OpCooperativeMatrixLoadKHR", beyond="spirv-val does not follow the pointer to what it points into",
)  # fmt: skip
