"""Rules about pointers into composites: access chains, lengths of arrays, comparisons (SPIR-V 3.42.8)."""

from __future__ import annotations

from collections.abc import Callable

from girih.diagnostics import plural
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.memory.logical_pointers import LOGICAL_MODELS
from girih.spirv.model.parts import contains, data_type_of, element_of, member_type, pointer_type_of
from girih.spirv.rules.memory.words import (
    TYPED_RESULT,
    UNTYPED_RESULT,
    a_pointer,
    a_type,
    is_logical,
    is_typed_pointer,
    is_untyped_pointer,
    storage_class,
)
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    Predicate,
    Subject,
    Term,
    declared_type,
    is_32_bit_integer,
    is_integer,
    literal,
    present,
    satisfies,
    type_of,
)
from girih.spirv.types import Array, Bool, Int, Matrix, Opaque, Pointer, RuntimeArray, Struct, Type
from girih.spirv.vocabulary import BLOCK_DECORATIONS, LAID_OUT

TYPED = "OpAccessChain OpInBoundsAccessChain OpPtrAccessChain OpInBoundsPtrAccessChain"
UNTYPED = (
    "OpUntypedAccessChainKHR OpUntypedInBoundsAccessChainKHR OpUntypedPtrAccessChainKHR"
    " OpUntypedInBoundsPtrAccessChainKHR"
)
BY_ELEMENT = "OpPtrAccessChain OpInBoundsPtrAccessChain OpUntypedPtrAccessChainKHR OpUntypedInBoundsPtrAccessChainKHR"
COMPARISONS = "OpPtrEqual OpPtrNotEqual OpPtrDiff"

MOST_INDEXES = 255
"""Indexes of an access chain (SPIR-V 2.17)."""


def base_type_of(facts: Facts, one: Instruction) -> Type:
    """The type that the indexes of an access chain walk. Raises `Undetermined` where it is not known."""
    if one.get("base_type") is not None:
        type = facts.type(one.id("base_type"))
        if isinstance(type, Pointer):
            raise Undetermined
        return type
    return facts.pointee(facts.type_of(one.id("base")))


def walk(facts: Facts, one: Instruction) -> tuple[Type, str | None]:
    """The type that the indexes of an access chain select, and what is wrong on the way to it."""
    type = base_type_of(facts, one)
    for number, index in enumerate(one.ids("indexes")):
        if isinstance(type, Struct):
            wrong = _struct_index(facts, type, index)
            if wrong is not None:
                return type, f"index {number}: {wrong}"
            type = member_type(facts, type, facts.integer(index))
            continue
        element = element_of(type)
        if element is None:
            if isinstance(type, Opaque):
                raise Undetermined
            return type, f"index {number} into {type.words}"
        type = element
    return type, None


def _struct_index(facts: Facts, struct: Struct, index: int) -> str | None:
    made = facts.definition(index).name
    if not made.startswith("OpConstant") or facts.is_specialised(index):
        return f"a result of {made} into a struct"
    value, count = facts.integer(index), len(struct.members)
    return None if 0 <= value < count else f"{value} into a struct of {plural(count, 'member')}"


def _walks(subject: Subject[Facts]) -> str | None:
    _, wrong = walk(subject.facts, subject.op)
    return wrong


def _selected(subject: Subject[Facts]) -> Type:
    type, wrong = walk(subject.facts, subject.op)
    if wrong is not None:
        raise Undetermined
    return type


def _no_integer(subject: Subject[Facts]) -> str | None:
    types = (subject.facts.type_of(id) for id in subject.op.ids("indexes"))
    return next((type.words for type in types if not isinstance(type, Int)), None)


def _negative(subject: Subject[Facts]) -> str | None:
    """A negative constant among the indexes of a logical pointer."""
    facts, type = subject.facts, RESULT_TYPE.value(subject)
    if facts.addressing_model not in LOGICAL_MODELS or not is_logical(type):
        return None
    for id in subject.op.ids("indexes"):
        value = facts.declarations.values.get(id)
        if isinstance(value, int) and value < 0 and not facts.is_specialised(id):
            return str(value)
    return None


def _is_block(facts: Facts, type: Type) -> bool:
    return isinstance(type, Struct) and any(facts.annotations.has(type.id, name) for name in BLOCK_DECORATIONS)


def _is_block_array(facts: Facts, type: Type) -> bool:
    return isinstance(type, Array) and contains(facts, type, lambda part: _is_block(facts, part))


def _reinterpreted_blocks(subject: Subject[Facts]) -> str | None:
    """An array of blocks that an untyped access chain reads as something else, or something else as one."""
    facts, base = subject.facts, subject.op.id("base")
    read = declared_type("base_type").value(subject)
    for _ in range(len(facts.instructions)):
        made = facts.definition(base)
        if made.name != "OpCopyObject":
            break
        base = made.id("operand")
    if made.name not in ("OpVariable", "OpUntypedVariableKHR"):
        return None
    held = data_type_of(facts, base)
    if held is read or not (_is_block_array(facts, read) or _is_block_array(facts, held)):
        return None
    return f"{read.words}, and the variable is {held.words}"


def _element_of_block(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    value = facts.integer(present(subject, "element"))
    return str(value) if value != 0 and _is_block(facts, base_type_of(facts, subject.op)) else None


def _no_stride(subject: Subject[Facts]) -> str | None:
    facts, pointer = subject.facts, pointer_type_of(subject.facts, present(subject, "base"))
    explicit = LAID_OUT | ({"Workgroup"} if facts.has("WorkgroupMemoryExplicitLayoutKHR") else set())
    if not facts.has("Shader") or pointer.storage_class not in explicit:
        return None
    strides = ("ArrayStride", "ArrayStrideIdEXT")
    given = any(one.name in strides for one in facts.annotations.by_target.get(pointer.id, ()))
    return None if given else f"{pointer.words} without one"


def _struct_of(subject: Subject[Facts]) -> Struct:
    type = _length_type(subject)
    if not isinstance(type, Struct):
        raise Undetermined
    return type


def _length_type(subject: Subject[Facts]) -> Type:
    """The type whose last member an array length is about."""
    facts: Facts = subject.facts
    if subject.op.get("pointer") is not None:
        return facts.type(present(subject, "structure"))
    return facts.pointee(facts.type_of(present(subject, "structure")))


def _no_untyped_pointer(subject: Subject[Facts]) -> str | None:
    made: Instruction = subject.facts.definition(present(subject, "pointer"))
    if not made.result_type:
        return f"a result of {made.name}"
    type: Type = subject.facts.type(made.result_type)
    return None if is_untyped_pointer(type) else type.words


def _last_member(subject: Subject[Facts]) -> Type:
    struct = _struct_of(subject)
    return member_type(subject.facts, struct, len(struct.members) - 1)


def _uniform_length(subject: Subject[Facts]) -> str | None:
    name = "structure" if subject.op.get("pointer") is None else "pointer"
    uniform = pointer_type_of(subject.facts, present(subject, name)).storage_class == "Uniform"
    block = subject.facts.annotations.has(_struct_of(subject).id, "Block")
    return "a block in Uniform" if uniform and block else None


def _compared_storage(subject: Subject[Facts]) -> str | None:
    """A storage class whose pointers are not compared."""
    facts, storage = subject.facts, pointer_type_of(subject.facts, present(subject, "operand_1")).storage_class
    if facts.addressing_model not in LOGICAL_MODELS:
        return "PhysicalStorageBuffer" if storage == "PhysicalStorageBuffer" else None
    if storage == "PhysicalStorageBuffer":
        return storage
    if not facts.has("VariablePointersStorageBuffer"):
        return f"{storage} without a capability for variable pointers"
    if facts.addressing_model != "Logical":
        return None
    if storage == "Workgroup" and not facts.has("VariablePointers"):
        return "Workgroup without capability VariablePointers"
    return None if storage in ("Workgroup", "StorageBuffer") else storage


def _compared_types(subject: Subject[Facts]) -> str | None:
    left, right = (pointer_type_of(subject.facts, present(subject, name)) for name in ("operand_1", "operand_2"))
    if left is right:
        return None
    untyped = not left.pointee_id or not right.pointee_id
    if untyped and subject.op.name != "OpPtrDiff" and left.storage == right.storage:
        return None
    return f"{left.words} and {right.words}, which are not the same type"


_BASE = Term("the type of Base", lambda s: s.facts.type_of(present(s, "base")))
_SAME_STORAGE = Equal(storage_class(RESULT_TYPE), storage_class(_BASE))
_INDEXES = Term("number of Indexes", lambda s: len(s.op.ids("indexes")))
_POINTEE = Term("the type behind Result Type", lambda s: s.facts.pointee(RESULT_TYPE.value(s)))
_NOT_POINTER = satisfies(declared_type("base_type"), "is not a pointer", lambda type: not isinstance(type, Pointer))


def _is_length(type: Type) -> bool:
    return isinstance(type, Int) and not type.signed and type.width in (32, 64)


def _word(name: str) -> Predicate:
    return satisfies(type_of(name), "is a 32-bit integer scalar", is_32_bit_integer)


def _raw_pointee(subject: Subject[Facts]) -> str | None:
    type = _POINTEE.value(subject)
    return type.words if isinstance(type, Array | Matrix | Struct) else None


def _stride_constant(subject: Subject[Facts]) -> str | None:
    facts, id = subject.facts, present(subject, "byte_stride")
    made, type = facts.definition(id).name, facts.type_of(id)
    if made != "OpConstant":
        return f"a result of {made}"
    return None if isinstance(type, Int) else type.words


def _robustness(find: Callable[[Subject[Facts], bool, bool], str | None]) -> Callable[[Subject[Facts]], str | None]:
    """A search that knows which of the two kinds of robustness a raw access chain asks for."""

    def search(subject: Subject[Facts]) -> str | None:
        mask = present(subject, "raw_access_chain_operands")
        return find(subject, bool(mask & 1), bool(mask & 2))

    return search


def _zero_stride(subject: Subject[Facts], _: bool, per_element: bool) -> str | None:
    return "0" if per_element and subject.facts.integer(present(subject, "byte_stride")) == 0 else None


def _physical_robustness(subject: Subject[Facts], per_component: bool, per_element: bool) -> str | None:
    storage: str = storage_class(RESULT_TYPE).value(subject)
    return storage if (per_component or per_element) and storage == "PhysicalStorageBuffer" else None


def _both_robust(_: Subject[Facts], per_component: bool, per_element: bool) -> str | None:
    return "both" if per_component and per_element else None


_RAW_STORAGE = ("StorageBuffer", "PhysicalStorageBuffer", "Uniform")
_RAW = "SPV_NV_raw_access_chains"
_MASK = "raw_access_chain_operands"

FAMILIES = (
    family(TYPED, rule("result", "result_type", TYPED_RESULT, "a pointer to a type as result", "SPIR-V 3.42.8")),
    family(
        UNTYPED,
        rule("result", "result_type", UNTYPED_RESULT, "an untyped pointer as result", "SPV_KHR_untyped_pointers"),
        rule("is_type", "base_type", a_type("base_type"), "a type", "SPV_KHR_untyped_pointers"),
        rule("base_type", "base_type", _NOT_POINTER, "a type that is not a pointer", "SPV_KHR_untyped_pointers"),
        rule("base", "base", a_pointer("base"), "a pointer", "SPV_KHR_untyped_pointers"),
        rule("blocks", "base_type", Finds("an array of blocks as it is", _reinterpreted_blocks),
             "the type of the variable, where one of the two is an array of blocks", "SPV_KHR_untyped_pointers"),
    ),
    family(
        TYPED,
        rule("base", "base", satisfies(_BASE, "is a pointer to a type", is_typed_pointer), "a pointer to a type",
             "SPIR-V 3.42.8"),
    ),
    family(
        f"{TYPED} {UNTYPED}",
        rule("storage_class", "result_type", _SAME_STORAGE, "the storage class of the base", "SPIR-V 3.42.8"),
        rule("index_count", "indexes", satisfies(_INDEXES, f"≤ {MOST_INDEXES}", lambda count: count <= MOST_INDEXES),
             f"at most {MOST_INDEXES} indexes", "SPIR-V 2.17"),
        rule("index_type", "indexes", Finds("each index is an integer scalar", _no_integer), "integer scalars",
             "SPIR-V 3.42.8"),
        rule("negative_index", "indexes", Finds("no index is negative", _negative),
             "indexes that are not negative: the pointer is logical", "SPIR-V 2.16.1"),
        rule("indexes", "indexes", Finds("each index selects a part", _walks),
             "indexes into composites: of a struct a constant, which is the number of a member", "SPIR-V 3.42.8",
             hint="a specialisation constant is no index of a struct"),
    ),
    family(
        TYPED,
        rule("pointee", "result_type", Equal(_POINTEE, Term("the type that the indexes select", _selected)),
             "a pointer to the type that the indexes select", "SPIR-V 3.42.8"),
    ),
    family(
        BY_ELEMENT,
        rule("element", "element", satisfies(type_of("element"), "is an integer scalar", is_integer),
             "an integer scalar", "SPIR-V 3.42.8"),
        rule("element_of_block", "element", Finds("Element is 0 of a block", _element_of_block),
             "0: a block is no element of an array", "SPIR-V 3.42.8"),
        rule("array_stride", "base", Finds("the type of Base has an ArrayStride", _no_stride),
             "a pointer type decorated with ArrayStride, the step from element to element", "SPIR-V 2.16.2",
             hint="decorate the type of the pointer with ArrayStride"),
    ),
    family(
        "OpRawAccessChainNV",
        rule("result", "result_type", TYPED_RESULT, "a pointer to a type as result", _RAW),
        rule("storage_class", "result_type",
             satisfies(storage_class(RESULT_TYPE), "is that of a buffer", lambda name: name in _RAW_STORAGE),
             "a pointer in StorageBuffer, PhysicalStorageBuffer or Uniform", _RAW),
        rule("pointee", "result_type", Finds("no array, matrix or struct", _raw_pointee),
             "a pointer to a scalar or vector", _RAW),
        rule("stride", "byte_stride", Finds("an integer OpConstant", _stride_constant), "an integer OpConstant", _RAW),
        rule("index", "element_index", _word("element_index"), "a 32-bit integer scalar", _RAW),
        rule("offset", "byte_offset", _word("byte_offset"), "a 32-bit integer scalar", _RAW),
        rule("robust_both", _MASK, Finds("one kind of robustness", _robustness(_both_robust)),
             "robustness by component or by element, not both", _RAW),
        rule("robust_stride", "byte_stride", Finds("a stride with elements", _robustness(_zero_stride)),
             "a stride that is not 0, since robustness is by element", _RAW),
        rule("robust_storage", _MASK, Finds("no addresses", _robustness(_physical_robustness)),
             "a pointer into a buffer whose size is known, not PhysicalStorageBuffer", _RAW),
    ),
    family(
        "OpArrayLength OpUntypedArrayLengthKHR",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is an unsigned integer of 32 or 64 bits", _is_length),
             "an unsigned integer of 32 or 64 bits as result", "SPIR-V 3.42.8"),
        rule("structure", "structure",
             satisfies(Term("the type behind Structure", _length_type), "is a struct",
                       lambda type: isinstance(type, Struct)), "a pointer to a struct", "SPIR-V 3.42.8"),
        rule("runtime_array", "structure",
             satisfies(Term("the last member", _last_member), "is a runtime array",
                       lambda type: isinstance(type, RuntimeArray)),
             "a struct whose last member is a runtime array", "SPIR-V 3.42.8"),
        rule("member", "array_member",
             Equal(literal("array_member"), Term("the last member's number", lambda s: len(_struct_of(s).members) - 1)),
             "the number of the last member", "SPIR-V 3.42.8"),
        rule("uniform", "structure", Finds("no block in Uniform", _uniform_length),
             "a block that is not in Uniform, where the size of an array is not known",
             "VUID-StandaloneSpirv-OpArrayLength-11805", vulkan=True),
    ),
    family(
        "OpArrayLength",
        rule("pointer", "structure", satisfies(type_of("structure"), "is a pointer to a type", is_typed_pointer),
             "a pointer to a struct", "SPIR-V 3.42.8"),
    ),
    family(
        "OpUntypedArrayLengthKHR",
        rule("pointer", "pointer", Finds("Pointer is an untyped pointer", _no_untyped_pointer),
             "an untyped pointer", "SPV_KHR_untyped_pointers"),
    ),
    family(
        "OpPtrEqual OpPtrNotEqual",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is a boolean", lambda type: isinstance(type, Bool)),
             "a boolean as result", "SPIR-V 3.42.8"),
    ),
    family(
        "OpPtrDiff",
        rule("result", "result_type", satisfies(RESULT_TYPE, "is an integer scalar", is_integer),
             "an integer scalar as result", "SPIR-V 3.42.8"),
    ),
    family(
        COMPARISONS,
        rule("operand_1", "operand_1", a_pointer("operand_1"), "a pointer", "SPIR-V 3.42.8"),
        rule("operand_2", "operand_2", a_pointer("operand_2"), "a pointer", "SPIR-V 3.42.8"),
        rule("operand_types", "operand_1 operand_2", Finds("pointers of one type", _compared_types),
             "pointers of the same type", "SPIR-V 3.42.8"),
        rule("operand_storage", "operand_1", Finds("variable pointers", _compared_storage),
             "pointers in StorageBuffer or Workgroup, with capabilities for variable pointers", "SPIR-V 2.16.1",
             hint="declare capability VariablePointersStorageBuffer or VariablePointers"),
    ),
)  # fmt: skip
