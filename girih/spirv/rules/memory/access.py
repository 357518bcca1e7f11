"""Rules about loads, stores and copies (SPIR-V 3.42.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.rules.row import Undetermined
from girih.spirv.model.facts import Facts
from girih.spirv.model.parts import (
    contains,
    data_type_of,
    is_restricted_number,
    parts_of,
    pointer_type_of,
    unwrapped,
)
from girih.spirv.rules.memory.operands import COPIES, LOADS, STORES, accesses
from girih.spirv.rules.memory.words import READ_ONLY, a_pointer, is_typed_pointer, storage_class
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    OnlyWhere,
    Predicate,
    Subject,
    Term,
    is_integer,
    one_of,
    present,
    satisfies,
    type_of,
)
from girih.spirv.types import Float, Int, Matrix, Opaque, Pointer, RuntimeArray, Type, Vector, Void
from girih.spirv.vocabulary import IMAGE_TYPES

MADE_LOGICALLY = frozenset({
    "OpVariable", "OpUntypedVariableKHR", "OpAccessChain", "OpInBoundsAccessChain", "OpUntypedAccessChainKHR",
    "OpUntypedInBoundsAccessChainKHR", "OpBufferPointerEXT", "OpFunctionParameter", "OpImageTexelPointer",
    "OpUntypedImageTexelPointerEXT", "OpCopyObject", "OpRawAccessChainNV", "OpAllocateNodePayloadsAMDX",
})  # fmt: skip
"""Instructions that make pointers in logical addressing (SPIR-V 2.16.1)."""

MADE_VARIABLY = MADE_LOGICALLY | {
    "OpSelect", "OpPhi", "OpFunctionCall", "OpPtrAccessChain", "OpUntypedPtrAccessChainKHR", "OpLoad", "OpConstantNull",
}  # fmt: skip
"""The same with a capability of variable pointers."""

HANDLES = IMAGE_TYPES | {"OpTypeAccelerationStructureKHR"}

MADE_BY = Term("the instruction that makes Pointer", lambda s: s.facts.definition(present(s, "pointer")).name)


def _second_access(number: int, bit: str) -> Callable[[Subject[Facts]], str | None]:
    """A search for a bit in the first or second of two accesses of a copy."""

    def search(subject: Subject[Facts]) -> str | None:
        found = list(accesses(subject))
        return bit if len(found) == 2 and bit in found[number].bits else None

    return search


def _restricted(term: Term) -> Predicate:
    """The predicate that a type holds restricted numbers only as a scalar, vector or matrix."""

    def search(subject: Subject[Facts]) -> str | None:
        type = term.value(subject)
        if isinstance(type, Int | Float | Vector | Matrix | Pointer) or not subject.facts.has("Shader"):
            return None
        return _restricted_part(subject.facts, type)

    return Finds("8-bit and 16-bit numbers alone, in vectors or in matrices", search)


def _restricted_part(facts: Facts, type: Type) -> str | None:
    restricted = is_restricted_number(facts)
    part = next((part for part in parts_of(facts, type) if restricted(part)), None)
    return f"{type.brief} with {part.words}" if part else None


def _pointee(name: str) -> Term:
    """What the type of a pointer points to; undetermined for an untyped one."""
    words = f"the type behind {name.capitalize()}"
    return Term(words, lambda s: s.facts.pointee(pointer_type_of(s.facts, present(s, name))))


def _uniform_block(subject: Subject[Facts]) -> str | None:
    """The block that a store into storage class Uniform writes."""
    facts, id = subject.facts, present(subject, "pointer")
    if pointer_type_of(facts, id).storage_class != "Uniform":
        return None
    for _ in facts.instructions:
        made = facts.definition(id)
        if made.name == "OpVariable":
            block = unwrapped(data_type_of(facts, id))
            return "a store into a uniform block" if facts.annotations.has(block.id, "Block") else None
        id = made.id("base") or made.id("operand")
        if made.name not in MADE_LOGICALLY or not id:
            break
    raise Undetermined


def _handle(subject: Subject[Facts]) -> str | None:
    for part in parts_of(subject.facts, subject.facts.type_of(present(subject, "object"))):
        if isinstance(part, Opaque) and part.name in HANDLES:
            return part.words
    return None


def _object_type(subject: Subject[Facts]) -> Type:
    made = subject.facts.definition(present(subject, "object"))
    return subject.facts.type(made.result_type) if made.result_type else Void(0)


def _logically(subject: Subject[Facts]) -> bool:
    facts: Facts = subject.facts
    return facts.addressing_model == "Logical"


def _makers(facts: Facts) -> frozenset[str]:
    variable = facts.has("VariablePointersStorageBuffer") or facts.has("VariablePointers")
    return MADE_VARIABLY if variable else MADE_LOGICALLY


def _made_otherwise(subject: Subject[Facts]) -> str | None:
    made: str = MADE_BY.value(subject)
    return f"one that {made} makes" if made not in _makers(subject.facts) else None


def _either_typed(subject: Subject[Facts]) -> str | None:
    types = [subject.facts.type_of(present(subject, name)) for name in ("target", "source")]
    return None if any(is_typed_pointer(type) for type in types) else "two untyped pointers"


def _size(subject: Subject[Facts]) -> str | None:
    facts, id = subject.facts, present(subject, "size")
    value = facts.integer(id)
    return str(value) if value <= 0 and not facts.is_specialised(id) else None


SMALL_STORAGE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "StorageBuffer": (("StorageBuffer8BitAccess", "UniformAndStorageBuffer8BitAccess"),
                      ("StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess")),
    "Uniform": (("UniformAndStorageBuffer8BitAccess",), ("UniformAndStorageBuffer16BitAccess",)),
    "PushConstant": (("StoragePushConstant8",), ("StoragePushConstant16",)),
    "Input": ((), ("StorageInputOutput16",)),
    "Output": ((), ("StorageInputOutput16",)),
    "Workgroup": (("WorkgroupMemoryExplicitLayout8BitAccessKHR",), ("WorkgroupMemoryExplicitLayout16BitAccessKHR",)),
}  # fmt: skip
"""The capabilities, one of which lets a storage class hold 8-bit numbers, and those for 16-bit numbers."""


def _smallest_size(subject: Subject[Facts]) -> str | None:
    facts, value = subject.facts, subject.facts.integer(present(subject, "size"))
    if not facts.has("Shader") or value % 4 == 0:
        return None
    classes = [pointer_type_of(facts, present(subject, name)).storage_class for name in ("target", "source")]

    def allowed(bits: int) -> bool:
        names = [SMALL_STORAGE.get(storage, ((), ())) for storage in classes]
        ways = [(*eight, *(sixteen if bits == 16 else ())) for eight, sixteen in names]
        computing = facts.has("Int8") or (bits == 16 and facts.has("Int16"))
        return computing or all(any(facts.has(name) for name in way) for way in ways)

    return None if allowed(8 if value % 2 else 16) else f"{value} bytes between {' and '.join(classes)}"


def _restricted_copy(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    type: Type = facts.type_of(present(subject, "target"))
    while isinstance(type, Pointer):
        pointee = facts.pointee(type)
        if pointee.id == type.id:
            raise Undetermined
        type = pointee
    return _restricted_part(facts, type) if facts.has("Shader") else None


_TARGET_STORAGE = storage_class(type_of("target"))
_POINTER_STORAGE = storage_class(type_of("pointer"))


def _writable(term: Term) -> Predicate:
    return satisfies(term, f"is none of {one_of(sorted(READ_ONLY))}", lambda name: name not in READ_ONLY)


def _runtime_array(subject: Subject[Facts]) -> str | None:
    type: Type = RESULT_TYPE.value(subject)
    return type.words if contains(subject.facts, type, lambda part: isinstance(part, RuntimeArray)) else None


def _too_old(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    version = facts.module.header.version
    return "two" if subject.op.get("memory_access2") is not None and version < (1, 4) else None


def _no_void(term: Term) -> Predicate:
    return satisfies(term, "is not void", lambda type: not isinstance(type, Void))


_OBJECT = Term("the type of Object", _object_type)

FAMILIES = (
    family(
        f"{LOADS} {STORES}",
        rule("pointer_source", "pointer",
             OnlyWhere("in logical addressing", _logically, Finds("Pointer is made logically", _made_otherwise)),
             "a pointer that logical addressing can make: a variable, a parameter, or an access chain into one",
             "SPIR-V 2.16.1",
             hint="other ways to make pointers need capability VariablePointers or VariablePointersStorageBuffer"),
    ),
    family("OpLoad OpStore", rule("pointer", "pointer", a_pointer("pointer"), "a pointer", "SPIR-V 3.42.8")),
    family(
        "OpLoad",
        rule("result", "result_type", Equal(RESULT_TYPE, _pointee("pointer")),
             "the type that the pointer points to", "SPIR-V 3.42.8"),
        rule("runtime_array", "result_type", Finds("Result Type has no runtime array", _runtime_array),
             "a type of known size", "SPIR-V 3.42.8"),
        rule("restricted_type", "result_type", _restricted(RESULT_TYPE),
             "8-bit and 16-bit numbers alone, in vectors or in matrices", "SPIR-V 2.16.1",
             hint="load the members one by one, or declare Int8, Int16 or Float16"),
    ),
    family(
        "OpStore",
        rule("object", "object", _no_void(_OBJECT), "a value", "SPIR-V 3.42.8"),
        rule("void", "pointer object", _no_void(_pointee("pointer")), "a pointer to a type with values",
             "SPIR-V 3.42.8"),
        rule("object_type", "object", Equal(_OBJECT, _pointee("pointer")),
             "a value of the type that the pointer points to", "SPIR-V 3.42.8"),
        rule("read_only", "pointer", _writable(_POINTER_STORAGE), "a storage class that can be written", "SPIR-V 3.7"),
        rule("uniform_block", "pointer", Finds("no store into a uniform block", _uniform_block),
             "memory that can be written: a uniform block is read-only", "VUID-StandaloneSpirv-Uniform-06925",
             vulkan=True),
        rule("handle", "object", Finds("no image, sampler or acceleration structure", _handle),
             "a value that is not the handle of a resource", "VUID-StandaloneSpirv-OpTypeImage-06924", vulkan=True),
    ),
    family(
        COPIES,
        rule("target", "target", a_pointer("target"), "a pointer", "SPIR-V 3.42.8"),
        rule("source", "source", a_pointer("source"), "a pointer", "SPIR-V 3.42.8"),
    ),
    family(
        "OpCopyMemory",
        rule("typed", "target source", Finds("one pointer is to a type", _either_typed),
             "a typed pointer as target or as source: it tells the size", "SPV_KHR_untyped_pointers"),
        rule("target_void", "target", _no_void(_pointee("target")), "a pointer to a type with values",
             "SPIR-V 3.42.8"),
        rule("source_void", "source", _no_void(_pointee("source")), "a pointer to a type with values",
             "SPIR-V 3.42.8"),
        rule("same_type", "target source", Equal(_pointee("target"), _pointee("source")),
             "pointers to the same type", "SPIR-V 3.42.8"),
    ),
    family(
        "OpCopyMemorySized",
        rule("size", "size", satisfies(type_of("size"), "is an integer scalar", is_integer), "an integer scalar",
             "SPIR-V 3.42.8"),
        rule("size_value", "size", Finds("Size is positive", _size), "a positive number of bytes", "SPIR-V 3.42.8"),
        rule("size_multiple", "size", Finds("Size is a multiple of 4", _smallest_size),
             "a multiple of 4, or of what both storage classes can hold",
             "VUID-StandaloneSpirv-OpCopyMemorySized-11165",
             hint="sizes that are no multiple of 4 need capabilities for 8-bit or 16-bit numbers"),
    ),
    family(
        COPIES,
        rule("read_only", "target", _writable(_TARGET_STORAGE), "a storage class that can be written", "SPIR-V 3.7",
             beyond="spirv-val asks this of OpStore alone"),
        rule("two_accesses", "memory_access2", Finds("SPIR-V 1.4 for two memory operands", _too_old),
             "one memory operand before SPIR-V 1.4", "SPIR-V 3.42.8"),
        rule("target_visible", "memory_access", Finds("no MakePointerVisible", _second_access(0, "MakePointerVisible")),
             "no MakePointerVisible among the memory operands of the target", "SPIR-V 3.42.8"),
        rule("source_available", "memory_access2",
             Finds("no MakePointerAvailable", _second_access(1, "MakePointerAvailable")),
             "no MakePointerAvailable among the memory operands of the source", "SPIR-V 3.42.8"),
        rule("restricted_type", "target", Finds("no restricted numbers", _restricted_copy),
             "no 8-bit or 16-bit numbers without capability Int8, Int16 or Float16", "SPIR-V 2.16.1"),
    ),
)  # fmt: skip
