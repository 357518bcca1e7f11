"""Rules of conversions between types of numbers, of bits, and between pointers and numbers (SPIR-V 3.42.11)."""

from __future__ import annotations

from dataclasses import replace

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.formats import MICROSCALING, encoding_of
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    Holds,
    OnlyWhere,
    Predicate,
    Satisfies,
    Subject,
    Term,
    Undetermined,
    count_of,
    is_integer,
    is_integer_or_vector,
    is_pointer,
    satisfies,
    scalar_of,
    type_of,
    width_of,
)
from girih.spirv.rules.values.operands import (
    ACCUMULATOR,
    FLOAT_ELEMENTS,
    INTEGER,
    INTEGER_ELEMENTS,
    NEWER,
    UNSIGNED_ELEMENTS,
    UNSIGNED_SCALAR,
    AcceptedTypes,
    Operands,
    difference_words,
    element_width,
    number_type,
    operands_are,
    operands_equal,
    result_is,
    same_components,
    same_shape,
    shape_difference,
)
from girih.spirv.types import CooperativeMatrix, Float, Int, Pointer, Type, Vector

SOURCE = "SPIR-V 3.42.11"


# Cooperative matrices


def _shape(name: str) -> SpirvRow:
    """The row `shape`: a converted cooperative matrix keeps its shape, or has it transposed where decorated so."""

    def difference(subject: Subject[Facts]) -> str | None:
        facts = subject.facts
        result = facts.type(subject.op.result_type)
        if not isinstance(result, CooperativeMatrix):
            return None
        type, swapped = facts.type_of(subject.op.id(name)), _is_transposed(subject)
        found = shape_difference(facts, result, type, swapped=swapped, use=False)
        return difference_words(facts, type_of(name).text, found) if found else None

    return rule(
        "shape",
        name,
        Finds("a cooperative matrix has the scope, rows and columns of Result Type", difference),
        "a cooperative matrix of the scope, the rows and the columns of the result, "
        "which CooperativeMatrixTransposeEXT swaps",
        "SPV_KHR_cooperative_matrix",
    )


def _is_transposed(subject: Subject[Facts]) -> bool:
    return subject.facts.annotations.has(subject.op.result, "CooperativeMatrixTransposeEXT")


def _use(name: str) -> SpirvRow:
    """The row `use`: a converted cooperative matrix keeps its use, or changes it as capabilities allow."""

    def difference(subject: Subject[Facts]) -> str | None:
        facts = subject.facts
        result = facts.type(subject.op.result_type)
        if not isinstance(result, CooperativeMatrix):
            return None
        type = facts.type_of(subject.op.id(name))
        if not isinstance(type, CooperativeMatrix) or None in (result.use, type.use):
            return None
        if _may_change_use(facts, type.use, result.use, transposed=_is_transposed(subject)):
            return None
        names = grammar().kinds["CooperativeMatrixUse"]
        came, wanted = (names.name_of(use) for use in (type.use, result.use) if use is not None)
        return f"{came} converted to {wanted}"

    return rule(
        "use",
        name,
        Finds("a cooperative matrix keeps its use, or is an accumulator and becomes A or B", difference),
        "a cooperative matrix of the use of the result; with CooperativeMatrixConversionsNV an accumulator "
        "may become A or B, with CooperativeMatrixConversionsEXT also these an accumulator",
        "SPV_NV_cooperative_matrix2, SPV_EXT_cooperative_matrix_maintenance1",
    )


def _may_change_use(facts: Facts, use: int | None, wanted: int | None, *, transposed: bool) -> bool:
    extended = facts.has("CooperativeMatrixConversionsEXT")
    if transposed and extended:
        return use == ACCUMULATOR and wanted in (0, 1)
    if use == wanted:
        return True
    if use == ACCUMULATOR and wanted in (0, 1):
        return extended or facts.has("CooperativeMatrixConversionsNV")
    return extended and wanted == ACCUMULATOR and use in (0, 1)


# Numbers


def _is_microscaling(type: Type) -> bool:
    return encoding_of(type) in MICROSCALING


def _no_microscaling(name: str) -> SpirvRow:
    """The row `microscaling`: Vulkan converts no microscaling formats from or to integers."""
    term = RESULT_TYPE if name == "result_type" else type_of(name)
    return rule(
        "microscaling",
        name,
        satisfies(term, "is of no microscaling format", lambda type: not _is_microscaling(type)),
        "a format of the core or Float8, which alone are converted from and to integers",
        "VUID-StandaloneSpirv-None-12465",
        vulkan=True,
        beyond=NEWER,
    )


def _other_width(name: str) -> SpirvRow:
    """The row `width`: the width changes."""
    holds = Operands((name,), "of another width than Result Type", lambda a, b: element_width(a) != element_width(b))
    return rule("width", name, holds, "components of another width than those of the result", SOURCE)


NUMBERS = ("float_value", "signed_value", "unsigned_value")
COMMON = {name: (same_components(SOURCE, name), _shape(name), _use(name)) for name in NUMBERS}
FLOAT_OPERAND = operands_are(FLOAT_ELEMENTS, SOURCE, "float_value", id="operand")
FLOAT_RESULT = result_is(FLOAT_ELEMENTS, SOURCE)
INTEGER_RESULT = result_is(INTEGER_ELEMENTS, SOURCE)
UNSIGNED_RESULT = result_is(UNSIGNED_ELEMENTS, SOURCE)
INTEGER_OPERAND = {
    name: operands_are(INTEGER_ELEMENTS, SOURCE, name, id="operand") for name in ("signed_value", "unsigned_value")
}
NO_MICROSCALING_OPERAND = _no_microscaling("float_value")
NO_MICROSCALING_RESULT = _no_microscaling("result_type")


def _to_integer(result: SpirvRow) -> tuple[SpirvRow, ...]:
    return result, FLOAT_OPERAND, *COMMON["float_value"], NO_MICROSCALING_OPERAND


def _to_float(name: str) -> tuple[SpirvRow, ...]:
    return FLOAT_RESULT, INTEGER_OPERAND[name], *COMMON[name], NO_MICROSCALING_RESULT


def _resized(result: SpirvRow, name: str) -> tuple[SpirvRow, ...]:
    return result, INTEGER_OPERAND[name], *COMMON[name], _other_width(name)


def _differ(result: Type, type: Type) -> bool:
    return number_type(result) is not number_type(type)


OTHER_FORMAT = rule(
    "format", "float_value", Operands(("float_value",), "of other components than Result Type", _differ),
    "components of another type than those of the result", SOURCE,
)  # fmt: skip
MICROSCALING_RESULT = rule(
    "microscaling",
    "result_type",
    satisfies(RESULT_TYPE, "is of no microscaling format", lambda type: not _is_microscaling(type)),
    "a format of the core, BFloat16KHR or Float8 as Result Type",
    "VUID-StandaloneSpirv-None-12466",
    vulkan=True,
    beyond=NEWER,
)


def _is_wide_float(type: Type) -> bool:
    part = scalar_of(type)
    return isinstance(part, Float) and part.width == 32


# Pointers


def _in_physical_buffers(subject: Subject[Facts]) -> bool:
    return subject.facts.addressing_model == "PhysicalStorageBuffer64"


def _without_vectors_of_pointers(subject: Subject[Facts]) -> bool:
    return not subject.facts.has("MaskedGatherScatterINTEL")


def _scalar(predicate: Predicate) -> OnlyWhere:
    """A predicate about scalars, where SPV_INTEL_masked_gather_scatter does not allow vectors of them."""
    return OnlyWhere("without capability MaskedGatherScatterINTEL", _without_vectors_of_pointers, predicate)


def _pointer_rows(
    pointer: Term, pointer_name: str, number: Term, number_name: str, kind: AcceptedTypes
) -> tuple[SpirvRow, ...]:
    """The rows of conversions between addresses and numbers, of which one is the result."""
    is_address = satisfies(pointer, "is in PhysicalStorageBuffer", lambda type: storage_of(type) == PHYSICAL_STORAGE)
    is_64_bit = satisfies(number, "has 64 bits", lambda type: width_of(type) == 64)
    physical = "with addressing model PhysicalStorageBuffer64"
    return (
        rule("number", number_name, _scalar(satisfies(number, f"is {kind.words}", kind.test)),
             f"{kind.words} as {number.text}", SOURCE),
        rule("pointer", pointer_name, _scalar(satisfies(pointer, "is a pointer", is_pointer)),
             f"a pointer as {pointer.text}", SOURCE),
        rule("addressing", "", Satisfies(ADDRESSING, "is not Logical", lambda name: name != "Logical"),
             "an addressing model with addresses, such as PhysicalStorageBuffer64", SOURCE),
        rule("storage_class", pointer_name, OnlyWhere(physical, _in_physical_buffers, is_address),
             "a pointer in PhysicalStorageBuffer", "SPV_KHR_physical_storage_buffer"),
        rule("width", number_name, OnlyWhere(physical, _in_physical_buffers, is_64_bit),
             "an integer of 64 bits", "VUID-StandaloneSpirv-PhysicalStorageBuffer64-04710", vulkan=True),
    )  # fmt: skip


ADDRESSING = Term("the addressing model", lambda subject: subject.facts.addressing_model)
PHYSICAL_STORAGE = 5349
"""StorageClass PhysicalStorageBuffer."""


def storage_of(type: Type) -> int | None:
    """The storage class of a pointer; None for what is none."""
    return type.storage if isinstance(type, Pointer) else None


# Bits


def _is_bits(type: Type) -> bool:
    return is_pointer(type) or isinstance(number_type(type), Int | Float)


BITS = AcceptedTypes("a pointer, or a number, a vector or a cooperative matrix of numbers", _is_bits)


def _is_cooperative_alike(subject: Subject[Facts]) -> bool:
    facts = subject.facts
    types = RESULT_TYPE.value(subject), facts.type_of(subject.op.id("operand"))
    matrices = [isinstance(type, CooperativeMatrix) for type in types]
    vectors = [isinstance(type, Vector) and type.cooperative for type in types]
    return matrices[0] == matrices[1] and (vectors[0] == vectors[1] or facts.has("LongVectorEXT"))


def _types(subject: Subject[Facts]) -> str:
    return f"the type of Operand is {type_of('operand').value(subject)}, Result Type is {RESULT_TYPE.value(subject)}"


def _is_pointer_or_bits(subject: Subject[Facts]) -> bool:
    """Whether a pointer is cast to or from a pointer, an integer, or, with addresses, a vector of 32-bit integers."""
    facts = subject.facts
    types = RESULT_TYPE.value(subject), facts.type_of(subject.op.id("operand"))
    for type, other in (types, types[::-1]):
        if is_pointer(type) and not is_pointer(other) and not is_integer(other):
            as_vector = facts.module.header.version >= (1, 5) or "SPV_KHR_physical_storage_buffer" in facts.extensions
            return as_vector and is_integer_or_vector(other) and width_of(other) == 32
    return True


def _has_same_size(subject: Subject[Facts]) -> bool:
    types = RESULT_TYPE.value(subject), type_of("operand").value(subject)
    return any(map(is_pointer, types)) or _bits(types[0]) == _bits(types[1])


def _bits(type: Type) -> int:
    """The bits of a value; of a cooperative matrix those of a component."""
    count = 1 if isinstance(type, CooperativeMatrix) else count_of(type)
    if count is None:
        raise Undetermined
    return element_width(type) * count


BITCAST = (
    result_is(BITS, SOURCE),
    operands_are(BITS, SOURCE, "operand", id="operand"),
    rule("cooperative", "result_type operand",
         Holds("a cooperative matrix or vector is cast to another one", _is_cooperative_alike, _types),
         "two cooperative matrices, or none; likewise of cooperative vectors", "SPV_KHR_cooperative_matrix"),
    same_shape("SPV_KHR_cooperative_matrix", "operand"),
    rule("pointer", "result_type operand",
         Holds("a pointer is cast to or from a pointer or integers", _is_pointer_or_bits, _types),
         "a pointer or an integer scalar opposite to a pointer; from SPIR-V 1.5 on also a vector of 32-bit integers",
         SOURCE),
    rule("size", "operand", Holds("as many bits as Result Type", _has_same_size, _types),
         "as many bits in Operand as in the result", SOURCE),
)  # fmt: skip

NUMBER_VECTOR = AcceptedTypes("a number or a vector of numbers", lambda type: isinstance(scalar_of(type), Int | Float))
BELOW_BYTE = frozenset({4223, 4224, 4225})
"""FPEncodings of fewer than 8 bits: Float6E2M3EXT, Float6E3M2EXT, Float4E2M1EXT."""

EXTRACT_SOURCE = "SPV_EXT_ocp_microscaling_types"
EXTRACT = (
    result_is(NUMBER_VECTOR, EXTRACT_SOURCE),
    rule("narrow_result", "result_type",
         satisfies(RESULT_TYPE, "is Float4 or Float6", lambda type: encoding_of(type) in BELOW_BYTE),
         "a format of fewer than 8 bits as Result Type", "VUID-StandaloneSpirv-Result-12468", vulkan=True),
    operands_are(NUMBER_VECTOR, EXTRACT_SOURCE, "base", id="base"),
    rule("integer_base", "base", satisfies(type_of("base"), "is an integer", is_integer_or_vector),
         "an integer scalar or vector as Base", "VUID-StandaloneSpirv-Base-12469", vulkan=True),
    same_components(EXTRACT_SOURCE, "base"),
    rule("width", "base",
         Operands(("base",), "wider components than Result Type", lambda a, b: element_width(b) > element_width(a)),
         "wider components in Base than in the result", EXTRACT_SOURCE),
    operands_are(INTEGER, EXTRACT_SOURCE, "offset", id="offset"),
)  # fmt: skip

FAMILIES = (
    family("OpConvertFToU", *_to_integer(UNSIGNED_RESULT)),
    family("OpConvertFToS", *_to_integer(INTEGER_RESULT)),
    family("OpConvertSToF", *_to_float("signed_value")),
    family("OpConvertUToF", *_to_float("unsigned_value")),
    family("OpUConvert", *_resized(UNSIGNED_RESULT, "unsigned_value")),
    family("OpSConvert", *_resized(INTEGER_RESULT, "signed_value")),
    family("OpFConvert", FLOAT_RESULT, FLOAT_OPERAND, *COMMON["float_value"], OTHER_FORMAT, MICROSCALING_RESULT),
    family(
        "OpQuantizeToF16",
        result_is(AcceptedTypes("a 32-bit floating-point scalar or vector", _is_wide_float), SOURCE),
        operands_equal(SOURCE, "value", id="operand"),
    ),
    family(
        "OpConvertPtrToU", *_pointer_rows(type_of("pointer"), "pointer", RESULT_TYPE, "result_type", UNSIGNED_SCALAR)
    ),
    family(
        "OpConvertUToPtr",
        *_pointer_rows(RESULT_TYPE, "result_type", type_of("integer_value"), "integer_value", INTEGER),
    ),
    family("OpBitcast", *BITCAST),
    family("OpBitcastExtractEXT", *(replace(row, beyond=NEWER) for row in EXTRACT)),
)
