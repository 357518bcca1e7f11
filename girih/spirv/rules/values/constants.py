"""Rules of constants, specialisation constants and undefined values (SPIR-V 3.42.7, 3.42.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.model.parts import parts_of, types_containing
from girih.spirv.model.small_numbers import MAKERS, small_types, small_uses
from girih.spirv.rules.row import INSTRUCTION, SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Analysed,
    Faulting,
    Finds,
    Holds,
    Satisfies,
    Subject,
    Term,
    Undetermined,
    present,
    satisfies,
)
from girih.spirv.rules.values.operands import BOOL, NEWER, AcceptedTypes, id_of, label_of, operands_of, result_is
from girih.spirv.types import (
    Array,
    Bool,
    CooperativeMatrix,
    Float,
    Int,
    Matrix,
    Opaque,
    Pointer,
    Struct,
    Type,
    Vector,
    Void,
)
from girih.spirv.values import SPEC_CONSTANTS, component_count, component_type

SOURCE = "SPIR-V 3.42.7"
NUMBER = AcceptedTypes("an integer or floating-point scalar", lambda type: isinstance(type, Int | Float))


# Literals


def _words(subject: Subject[Facts]) -> tuple[int, ...]:
    value = subject.op.get("value")
    if not isinstance(value, tuple):
        raise Undetermined
    return value


def _width(subject: Subject[Facts]) -> int:
    type = RESULT_TYPE.value(subject)
    if not isinstance(type, Int | Float):
        raise Undetermined
    return type.width


def _fills_words(subject: Subject[Facts]) -> bool:
    return len(_words(subject)) == (_width(subject) + 31) // 32


def _high_bits(subject: Subject[Facts]) -> str | None:
    """The last word of a literal whose bits above the type's width do not extend it (SPIR-V 2.2.1)."""
    words, type = _words(subject), RESULT_TYPE.value(subject)
    used = _width(subject) % 32
    if used == 0 or not words:
        return None
    last = words[-1]
    negative = isinstance(type, Int) and type.signed and last >> (used - 1) & 1
    expected = (1 << 32 - used) - 1 if negative else 0
    return None if last >> used == expected else f"the word {last:#010x} for {type}"


LITERALS = (
    result_is(NUMBER, SOURCE),
    rule("size", "value",
         Holds("as many words as the type has", _fills_words,
               lambda s: f"{len(_words(s))} words for {RESULT_TYPE.value(s)}"),
         "one word for each 32 bits of the type", "SPIR-V 2.2.1"),
    rule("high_bits", "value", Finds("the bits above the type's width extend the number", _high_bits),
         "a number extended to 32 bits by its sign, or by zeros if it is unsigned or a float", "SPIR-V 2.2.1"),
)  # fmt: skip


# Composites


def _is_composite(type: Type) -> bool:
    if isinstance(type, Opaque):
        return _is_shaped_tensor(type)
    return isinstance(type, Vector | Matrix | Array | Struct | CooperativeMatrix)


def _is_shaped_tensor(type: Opaque) -> bool:
    return type.name == "OpTypeTensorARM" and type.instruction.id("shape") != 0


COMPOSITE = AcceptedTypes("a vector, a matrix, an array, a struct or a cooperative matrix", _is_composite)


def known_count(facts: Facts, type: Type) -> int:
    """The constituents of a composite.

    Raises `Undetermined` where their number is not known: also where it rests on the default of a specialisation
    constant, since the module may be meant for another value.
    """
    count = component_count(type)
    if count is None or (isinstance(type, Array) and facts.rests_on_default(type.length_id)):
        raise Undetermined
    return count


def _counts_constituents(subject: Subject[Facts]) -> bool:
    return len(subject.op.ids("constituents")) == known_count(subject.facts, RESULT_TYPE.value(subject))


def count_words(subject: Subject[Facts]) -> str:
    """The number of constituents that came, beside the type that is made of them."""
    return f"{len(subject.op.ids('constituents'))} constituents for {RESULT_TYPE.value(subject)}"


CONSTITUENT_COUNT = rule(
    "count", "constituents", Holds("as many constituents as the type has", _counts_constituents, count_words),
    "a constituent for each component, column, element or member; one for a cooperative matrix", SOURCE,
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Constituents(Faulting):
    """The predicate that constituents have the types of the composite's parts, in order."""

    name: str = "constituents"

    @property
    def text(self) -> str:
        return "each constituent of the type of its part"

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        type = RESULT_TYPE.value(subject)
        for index, operand in enumerate(operands_of(subject, (self.name,))):
            wanted = component_type(type, index)
            try:
                came = subject.facts.type_of(id_of(operand))
            except Undetermined:
                continue
            if wanted is not None and came is not wanted:
                another = "another " if str(came) == str(wanted) else ""
                label = label_of(subject, operand)
                return Fault(f"the type of {label} is {another}{came}, its part is {wanted}", (operand,))
        return None


CONSTITUENT_TYPES = rule(
    "constituents", "constituents", Constituents(), "constituents of the types of the parts", SOURCE
)


def replicated_type(subject: Subject[Facts]) -> str | None:
    """The type of a value to replicate that is not the type of each part of the result."""
    type, value = RESULT_TYPE.value(subject), subject.facts.type_of(present(subject, "value"))
    parts = type.members if isinstance(type, Struct) else (component_type(type, 0),)
    wrong = next((part for part in parts if part is not None and part is not value), None)
    return None if wrong is None else f"the type of Value is {value}, a part is {wrong}"


@dataclass(frozen=True, slots=True, eq=False)
class MadeBy(Faulting):
    """The predicate that operands are made by instructions whose names pass a test."""

    name: str
    words: str
    test: Callable[[str], bool]

    @property
    def text(self) -> str:
        return self.words

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        for operand in operands_of(subject, (self.name,)):
            made = subject.facts.defined_by(id_of(operand))
            if made and not self.test(made):
                return Fault(f"{label_of(subject, operand)} is made by {made}", (operand,))
        return None


def is_constant(name: str) -> bool:
    """Whether an instruction makes a constant, or an undefined value, which may stand for one."""
    return name in ("OpUndef", "OpPoisonKHR") or name.startswith(("OpConstant", "OpSpecConstant", "OpGraphConstant"))


def _constants(name: str) -> SpirvRow:
    return rule(
        "constant", name, MadeBy(name, "made by instructions of constants, or by OpUndef", is_constant),
        "constants or undefined values", SOURCE,
    )  # fmt: skip


def _not_specialised(name: str) -> SpirvRow:
    holds = MadeBy(name, "made by no instruction of specialisation constants", lambda made: made not in SPEC_CONSTANTS)
    return rule("specialised", name, holds, "constants that are no specialisation constants", SOURCE, beyond=NEWER)


CONSTANT = {name: _constants(name) for name in ("constituents", "value")}
COMPOSITE_RESULT = result_is(COMPOSITE, SOURCE)
COMPOSITES = (COMPOSITE_RESULT, CONSTITUENT_COUNT, CONSTITUENT_TYPES, CONSTANT["constituents"])
REPLICATED = (
    COMPOSITE_RESULT,
    rule("value_type", "value", Finds("each part has the type of Value", replicated_type),
         "a Value of the type of each part", "SPV_EXT_replicated_composites", beyond=NEWER),
    CONSTANT["value"],
)  # fmt: skip


# Null

NULLABLE_OPAQUE = frozenset({
    "OpTypeEvent", "OpTypeDeviceEvent", "OpTypeReserveId", "OpTypeQueue",
})  # fmt: skip


def _has_null(subject: Subject[Facts]) -> str | None:
    """The part of a type that has no null value."""
    type = RESULT_TYPE.value(subject)
    if type.id not in subject.facts.once(_types_without_null):
        return None
    wrong = next((part for part in parts_of(subject.facts, type) if not _is_nullable(part)), type)
    return f"Result Type is {type}" if wrong is type else f"Result Type is {type}, which contains {wrong}"


def _types_without_null(facts: Facts) -> frozenset[int]:
    return types_containing(facts, lambda part: not _is_nullable(part))


def _is_nullable(type: Type) -> bool:
    match type:
        case Pointer():
            return type.storage != PHYSICAL
        case Opaque():
            return type.name in NULLABLE_OPAQUE or _is_shaped_tensor(type)
    return isinstance(type, Bool | Int | Float | Vector | Matrix | Array | Struct | CooperativeMatrix)


PHYSICAL = 5349
"""StorageClass PhysicalStorageBuffer."""


# Operations on specialisation constants

SHADER_OPERATIONS = frozenset({
    "OpSConvert", "OpUConvert", "OpFConvert", "OpQuantizeToF16", "OpSNegate", "OpNot", "OpIAdd", "OpISub", "OpIMul",
    "OpUDiv", "OpSDiv", "OpUMod", "OpSRem", "OpSMod", "OpShiftRightLogical", "OpShiftRightArithmetic",
    "OpShiftLeftLogical", "OpBitwiseOr", "OpBitwiseXor", "OpBitwiseAnd", "OpVectorShuffle", "OpCompositeExtract",
    "OpCompositeInsert", "OpLogicalOr", "OpLogicalAnd", "OpLogicalNot", "OpLogicalEqual", "OpLogicalNotEqual",
    "OpSelect", "OpIEqual", "OpINotEqual", "OpULessThan", "OpSLessThan", "OpUGreaterThan", "OpSGreaterThan",
    "OpULessThanEqual", "OpSLessThanEqual", "OpUGreaterThanEqual", "OpSGreaterThanEqual",
    "OpCooperativeMatrixLengthNV", "OpCooperativeMatrixLengthKHR",
})  # fmt: skip
KERNEL_OPERATIONS = frozenset({
    "OpConvertFToS", "OpConvertSToF", "OpConvertFToU", "OpConvertUToF", "OpConvertPtrToU", "OpConvertUToPtr",
    "OpGenericCastToPtr", "OpPtrCastToGeneric", "OpBitcast", "OpFNegate", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv",
    "OpFRem", "OpFMod", "OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpInBoundsPtrAccessChain",
    "OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR", "OpUntypedPtrAccessChainKHR",
    "OpUntypedInBoundsPtrAccessChainKHR",
})  # fmt: skip
OPCODE = Term("the operation", lambda s: _operation(present(s, "opcode")))


def _operation(opcode: int) -> str:
    spec = grammar().opcode(opcode)
    return spec.name if spec else str(opcode)


def _kernel_only(subject: Subject[Facts]) -> str | None:
    name = OPCODE.value(subject)
    return name if name in KERNEL_OPERATIONS and not subject.facts.has("Kernel") else None


def _early_conversion(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    early = facts.module.header.version < (1, 4) and not facts.has("Kernel")
    allowed = "SPV_AMD_gpu_shader_int16" in facts.extensions
    return "OpUConvert" if OPCODE.value(subject) == "OpUConvert" and early and not allowed else None


OPERATIONS = (
    rule("operation", "opcode",
         Satisfies(OPCODE, "may be computed", (SHADER_OPERATIONS | KERNEL_OPERATIONS).__contains__),
         "an operation that specialisation constants may be computed by", SOURCE),
    rule("kernel", "opcode", Finds("operations of kernels stand in kernels", _kernel_only),
         "an operation on integers, booleans or composites; others need capability Kernel", SOURCE),
    rule("unsigned_conversion", "opcode", Finds("OpUConvert needs version 1.4", _early_conversion),
         "SPIR-V 1.4 or SPV_AMD_gpu_shader_int16 for OpUConvert", SOURCE),
)  # fmt: skip


# Small numbers


def _small_result(subject: Subject[Facts]) -> str | None:
    if subject.op.result_type not in subject.facts.once(small_types):
        return None
    return f"Result Type is {RESULT_TYPE.value(subject)}"


SMALL_SOURCE = "SPV_KHR_8bit_storage, SPV_KHR_16bit_storage"
SMALL_RESULT = rule(
    "small_type", "result_type", Finds("no number of 8 or 16 bits that the module may only store", _small_result),
    "capability Int8, Int16 or Float16 to compute with numbers of 8 or 16 bits", SMALL_SOURCE,
)  # fmt: skip
SMALL_USE = rule(
    "small_use", "", Analysed("numbers of 8 or 16 bits without capability are stored and converted", small_uses),
    "capability Int8, Int16 or Float16 to compute with numbers of 8 or 16 bits, which without it are loaded, "
    "stored, copied, and converted to another width", SMALL_SOURCE,
)  # fmt: skip

NOT_VOID = rule(
    "void", "result_type", satisfies(RESULT_TYPE, "is not void", lambda type: not isinstance(type, Void)),
    "a type other than void", "SPIR-V 3.42.1",
)  # fmt: skip


# Data of arrays


def _is_integer_array(type: Type) -> bool:
    return isinstance(type, Array) and isinstance(type.element, Int)


def _data_size(subject: Subject[Facts]) -> str | None:
    type, words = RESULT_TYPE.value(subject), len(subject.op.ids("data"))
    if not isinstance(type, Array) or not isinstance(type.element, Int):
        raise Undetermined
    length = known_count(subject.facts, type)
    wanted = (type.element.width // 8 * length + 3) // 4
    return None if words == wanted else f"{words} words for {length} times {type.element.width} bits"


DATA = (
    replace(result_is(AcceptedTypes("an array of integers", _is_integer_array), "SPV_KHR_constant_data"), beyond=NEWER),
    rule("size", "data", Finds("as many words as the array fills", _data_size),
         "the words that the array fills", "SPV_KHR_constant_data", beyond=NEWER),
)  # fmt: skip

FAMILIES = (
    family("OpConstantTrue OpConstantFalse OpSpecConstantTrue OpSpecConstantFalse", result_is(BOOL, SOURCE)),
    family("OpConstant OpSpecConstant", *LITERALS),
    family("OpConstantComposite", *COMPOSITES, _not_specialised("constituents")),
    family("OpSpecConstantComposite", *COMPOSITES),
    family("OpConstantCompositeReplicateEXT", *REPLICATED, _not_specialised("value")),
    family("OpSpecConstantCompositeReplicateEXT", *REPLICATED),
    family(
        "OpConstantNull",
        rule("result", "result_type", Finds("each part of Result Type has a null value", _has_null),
             "a type with a null value: a number, a boolean, a composite of these, or a pointer that is no address",
             SOURCE),
    ),
    family(
        "OpConstantSampler",
        result_is(AcceptedTypes("a sampler", lambda type: isinstance(type, Opaque) and type.name == "OpTypeSampler"),
                  SOURCE),
    ),
    family("OpSpecConstantOp", *OPERATIONS),
    family("OpConstantDataKHR OpSpecConstantDataKHR", *DATA),
    family("OpUndef OpCopyObject", NOT_VOID),
    family(" ".join(sorted(MAKERS)), SMALL_RESULT),
    family(INSTRUCTION, SMALL_USE),
)  # fmt: skip
