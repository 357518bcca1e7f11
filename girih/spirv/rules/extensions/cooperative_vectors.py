"""Rules about cooperative vectors: loads, stores, products with matrices, and sums (SPV_NV_cooperative_vector)."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import words_of
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    Predicate,
    Subject,
    Term,
    Undetermined,
    instruction_of,
    is_bool,
    present,
    satisfies,
    scalar_of,
    type_of,
)
from girih.spirv.types import Array, Float, Int, Pointer, RuntimeArray, Type, Vector
from girih.spirv.values import ALL_CONSTANTS

NV = "SPV_NV_cooperative_vector"
LOAD, STORE = "OpCooperativeVectorLoadNV", "OpCooperativeVectorStoreNV"
MUL, MUL_ADD = "OpCooperativeVectorMatrixMulNV", "OpCooperativeVectorMatrixMulAddNV"
OUTER_PRODUCT, REDUCE_SUM = "OpCooperativeVectorOuterProductAccumulateNV", "OpCooperativeVectorReduceSumAccumulateNV"

STORAGE = ("Workgroup", "StorageBuffer", "PhysicalStorageBuffer")
PACKED = (1000491000, 1000491001)
"""ComponentType SignedInt8PackedNV and UnsignedInt8PackedNV: four components in one of the vector."""


# Vectors


def is_cooperative_vector(type: Type) -> bool:
    """Whether a type is an OpTypeCooperativeVectorNV."""
    return isinstance(type, Vector) and type.cooperative


def _vector(term: Term) -> Predicate:
    return satisfies(term, "is a cooperative vector", is_cooperative_vector)


def _operand(name: str) -> SpirvRow:
    return rule(name, name, _vector(type_of(name)), f"a cooperative vector as {words_of(name)}", NV)


RESULT = rule("result", "result_type", _vector(RESULT_TYPE), "a cooperative vector as result", NV)


def _named(subject: Subject[Facts], name: str) -> Vector:
    facts = subject.facts
    found = facts.type(subject.op.result_type) if name == "result" else facts.type_of(present(subject, name))
    if not isinstance(found, Vector):
        raise Undetermined
    return found


def _is_product(type: Type) -> bool:
    part = scalar_of(type)
    if isinstance(part, Int):
        return part.width == 32
    return isinstance(part, Float) and part.width in (16, 32) and part.encoding is None


def _other_component(subject: Subject[Facts]) -> str | None:
    a, b = _named(subject, "a").component, _named(subject, "b").component
    return None if a is b else f"{a.words}s and {b.words}s"


def _fixed(facts: Facts, id: int) -> int:
    """The value of a constant. Raises `Undetermined` where it is not known, or may become another one."""
    if facts.rests_on_default(id):
        raise Undetermined
    return facts.integer(id)


def _count(subject: Subject[Facts], name: str) -> int:
    """The components of a vector. Raises `Undetermined` where their number may become another one."""
    vector = _named(subject, name)
    if not vector.cooperative:
        return vector.count or 0
    return _fixed(subject.facts, subject.facts.definition(vector.id).id("component_count"))


def _other_rows(subject: Subject[Facts]) -> str | None:
    count, rows = _count(subject, "result"), _fixed(subject.facts, present(subject, "m"))
    return None if count == rows else f"{count} components of the result, M is {rows}"


def _other_columns(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    if _fixed(facts, present(subject, "input_interpretation")) in PACKED:
        return None
    count, columns = _count(subject, "input"), _fixed(facts, present(subject, "k"))
    return None if count == columns else f"{count} components of Input, K is {columns}"


# Memory


def _no_array(name: str) -> Predicate:
    def find(subject: Subject[Facts]) -> str | None:
        facts = subject.facts
        type = facts.type_of(present(subject, name))
        if not isinstance(type, Pointer) or not type.pointee_id:
            return type.words
        if type.storage_class not in STORAGE:
            return type.words
        held = facts.pointee(type)
        numbers = isinstance(held, Array | RuntimeArray) and isinstance(scalar_of(held.element), Int | Float)
        return None if numbers else f"a pointer to {held.words}"

    return Finds(f"{words_of(name)} points to an array of numbers in {', '.join(STORAGE)}", find)


def _pointer(name: str) -> SpirvRow:
    says = f"a pointer to an array of numbers or vectors, in {', '.join(STORAGE[:-1])} or {STORAGE[-1]}"
    return rule(name, name, _no_array(name), says, NV)


# Numbers


def _integer(name: str, *widths: int) -> SpirvRow:
    words = f"an integer of {' or '.join(map(str, widths))} bits"
    holds = satisfies(type_of(name), f"is {words}", lambda type: isinstance(type, Int) and type.width in widths)
    return rule(name, name, holds, f"{words} as {words_of(name)}", NV)


def _constants(*names: str) -> SpirvRow:
    def find(subject: Subject[Facts]) -> str | None:
        one = instruction_of(subject)
        made = ((name, subject.facts.defined_by(one.id(name))) for name in names if one.id(name))
        wrong = next(((name, by) for name, by in made if by and by not in ALL_CONSTANTS), None)
        return f"{words_of(wrong[0])} is the result of {wrong[1]}" if wrong else None

    words = ", ".join(map(words_of, names))
    return rule("constants", " ".join(names), Finds(f"{words} are constants", find), f"constants as {words}", NV)


INTERPRETATIONS = ("input_interpretation", "matrix_interpretation", "bias_interpretation")

FAMILIES = (
    family(LOAD, RESULT),
    family(STORE, _operand("object")),
    family(f"{LOAD} {STORE} {OUTER_PRODUCT} {REDUCE_SUM}", _pointer("pointer"), _integer("offset", 32, 64)),
    family(
        OUTER_PRODUCT,
        _operand("a"),
        _operand("b"),
        rule("components", "a b", Finds("A and B have the same components", _other_component),
             "vectors of the same components", NV),
        *(_integer(name, 32) for name in ("memory_layout", "matrix_interpretation", "matrix_stride")),
    ),
    family(REDUCE_SUM, _operand("v")),
    family(
        f"{MUL} {MUL_ADD}",
        RESULT,
        rule("component", "result_type", satisfies(RESULT_TYPE, "has 32-bit integers, or floats of 16 or 32 bits",
                                                   _is_product),
             "32-bit integers, or floats of 16 or 32 bits, as components of the result", NV),
        _pointer("matrix"),
        _integer("matrix_offset", 32, 64),
        *(_integer(name, 32) for name in (*INTERPRETATIONS[:2], "m", "k", "memory_layout")),
        rule("transpose", "transpose", satisfies(type_of("transpose"), "is a boolean", is_bool),
             "a boolean as Transpose", NV),
        _constants(*INTERPRETATIONS, "m", "k", "memory_layout", "transpose"),
        rule("rows", "result_type m", Finds("components of Result Type = M", _other_rows),
             "a result of as many components as the matrix has rows", NV),
        rule("columns", "input k", Finds("components of Input = K, unless they are packed", _other_columns),
             "an input of as many components as the matrix has columns", NV),
    ),
    family(MUL_ADD, _pointer("bias"), _integer("bias_offset", 32, 64), _integer("bias_interpretation", 32)),
)  # fmt: skip
