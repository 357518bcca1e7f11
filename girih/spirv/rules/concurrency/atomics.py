"""Rules about atomic instructions: types, memory that they may access, scopes and semantics (SPIR-V 3.42.18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.concurrency.scopes import MEMORY_SCOPE, has, needs
from girih.spirv.rules.concurrency.semantics import OF_EXCHANGE, OF_LOAD, OF_STORE, SEMANTICS
from girih.spirv.rules.formats import ENCODING, MICROSCALING, encoding_of
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    OnlyWhere,
    Predicate,
    Subject,
    Term,
    Undetermined,
    is_32_bit_integer,
    is_integer,
    is_pointer,
    one_of,
    present,
    same,
    satisfies,
    type_of,
)  # fmt: skip
from girih.spirv.types import Bool, Float, Int, Pointer, Type, Vector

_SECTION = "SPIR-V 3.42.18"

_UNIVERSAL = (
    "Uniform", "StorageBuffer", "Workgroup", "CrossWorkgroup", "Generic", "AtomicCounter", "Image", "Function",
    "PhysicalStorageBuffer", "TaskPayloadWorkgroupEXT",
)  # fmt: skip
_VULKAN = ("Uniform", "StorageBuffer", "Workgroup", "Image", "PhysicalStorageBuffer", "TaskPayloadWorkgroupEXT")

_FLAGS = ("OpAtomicFlagTestAndSet", "OpAtomicFlagClear")


def _pointer(subject: Subject[Facts]) -> Pointer:
    found = subject.facts.type_of(present(subject, "pointer"))
    if not isinstance(found, Pointer):
        raise Undetermined
    return found


def _accessed(subject: Subject[Facts]) -> Type:
    """The type of what is accessed: the pointee, or what the instruction says where the pointer is untyped."""
    pointer = _pointer(subject)
    if pointer.pointee_id:
        return subject.facts.pointee(pointer)
    if subject.op.name == "OpAtomicStore":
        return subject.facts.type_of(present(subject, "value"))
    if subject.op.name in _FLAGS:
        raise Undetermined
    return subject.facts.type(subject.op.result_type)


_ACCESSED = Term("the type that Pointer points to", _accessed)

_STORAGE = Term(
    "the storage class of Pointer", lambda s: grammar().kinds["StorageClass"].name_of(_pointer(s).storage)
)  # fmt: skip


def _in_storage(names: tuple[str, ...]) -> Predicate:
    return satisfies(_STORAGE, f"is {one_of(names)}", names.__contains__)


def _is_half_vector(type: Type) -> bool:
    """Whether a type is a vector of 2 or 4 floats of 16 bits, which SPV_NV_shader_atomic_fp16_vector has."""
    return isinstance(type, Vector) and type.count in (2, 4) and _is_float(type.component, 16)


def _is_float(type: Type, *widths: int) -> bool:
    return isinstance(type, Float) and (not widths or type.width in widths)


def _is_number(type: Type) -> bool:
    return isinstance(type, Int | Float)


def _is_long(type: Type) -> bool:
    return isinstance(type, Int) and type.width == 64


def _result(words: str, test: Callable[[Type], bool], *, vectors: bool = False) -> SpirvRow:
    """The row of the result's type; `vectors` of 16-bit floats are allowed where the module has their capability."""

    def wrong(subject: Subject[Facts]) -> str | None:
        type = subject.facts.type(subject.op.result_type)
        with_vectors = vectors and subject.facts.has("AtomicFloat16VectorNV")
        return None if test(type) or (with_vectors and _is_half_vector(type)) else f"Result Type is {type.words}"

    more = ", or with capability AtomicFloat16VectorNV a vector of 2 or 4 16-bit floats" if vectors else ""
    return rule("result", "result_type", Finds(f"Result Type is {words}{more}", wrong), f"{words} as result", _SECTION)


_TO_SHARED = (
    rule("pointer_type", "pointer", satisfies(type_of("pointer"), "is a pointer", is_pointer), "a pointer as Pointer",
         _SECTION),
    rule("int64", "pointer",
         OnlyWhere("for integers of 64 bits", lambda s: _is_long(_accessed(s)), needs("Int64Atomics")),
         "capability Int64Atomics for integers of 64 bits", _SECTION),
    rule("storage", "pointer", _in_storage(_UNIVERSAL), "a pointer to memory that atomics may access", "SPIR-V 2.16.1"),
    rule("storage_shader", "pointer",
         OnlyWhere("with capability Shader", has("Shader"),
               satisfies(_STORAGE, "is not Function", lambda name: name != "Function")),
         "another storage class than Function in a shader", "SPIR-V 2.16.1"),
    rule("storage_vulkan", "pointer", OnlyWhere("with capability Shader", has("Shader"), _in_storage(_VULKAN)),
         "a pointer to memory that atomics may access in Vulkan", "VUID-StandaloneSpirv-None-04686", vulkan=True),
)  # fmt: skip
"""The rows of every atomic instruction."""

_DATA = (
    rule("data", "pointer result_type", same(_ACCESSED, RESULT_TYPE), "a pointer to Result Type", _SECTION),
    *MEMORY_SCOPE,
)  # fmt: skip

_VALUE = (
    rule("value_type", "value", same(type_of("value"), RESULT_TYPE), "Value of the type of the result", _SECTION),
)

_CAPABILITIES: Mapping[str, Mapping[int, str]] = {
    "add": {16: "AtomicFloat16AddEXT", 32: "AtomicFloat32AddEXT", 64: "AtomicFloat64AddEXT"},
    "min_max": {16: "AtomicFloat16MinMaxEXT", 32: "AtomicFloat32MinMaxEXT", 64: "AtomicFloat64MinMaxEXT"},
}
"""The capabilities of atomic arithmetic on floats by their widths: SPV_EXT_shader_atomic_float_add and ..._min_max."""


def _float_capability(kind: str, source: str) -> tuple[SpirvRow, ...]:
    def missing(subject: Subject[Facts]) -> str | None:
        type = subject.facts.type(subject.op.result_type)
        wanted = _CAPABILITIES[kind].get(type.width) if isinstance(type, Float) else None
        return None if wanted is None or subject.facts.has(wanted) else f"{type.words} without {wanted}"

    words = ", ".join(f"{name} for {width} bits" for width, name in _CAPABILITIES[kind].items())
    holds = OnlyWhere("with capability Shader", has("Shader"), Finds(f"the module has capability {words}", missing))
    return (rule("capability_of_width", "result_type", holds, "the capability of floats of this width", source),)


_INTEGER = _result("an integer", is_integer)
_FLOAT = _result("a float", _is_float, vectors=True)

_EXCHANGING = "OpAtomicCompareExchange OpAtomicCompareExchangeWeak"
_COUNTING = "OpAtomicIIncrement OpAtomicIDecrement"
_WITH_INTEGERS = (
    "OpAtomicIAdd OpAtomicISub OpAtomicSMin OpAtomicUMin OpAtomicSMax OpAtomicUMax OpAtomicAnd OpAtomicOr OpAtomicXor"
)  # fmt: skip
_WITH_FLOATS = "OpAtomicFAddEXT OpAtomicFMinEXT OpAtomicFMaxEXT"
_RETURNING = f"OpAtomicLoad OpAtomicExchange {_EXCHANGING} {_COUNTING} {_WITH_INTEGERS} {_WITH_FLOATS}"

FAMILIES = (
    family("OpAtomicLoad", _result("an integer or a float", _is_number), ENCODING),
    family("OpAtomicExchange",
           _result("an integer or a float", _is_number, vectors=True), ENCODING),
    family(f"{_EXCHANGING} {_COUNTING} {_WITH_INTEGERS}", _INTEGER),
    family(_WITH_FLOATS, _FLOAT, ENCODING),
    family("OpAtomicFlagTestAndSet", _result("a boolean", lambda type: isinstance(type, Bool))),
    family(" ".join(_FLAGS),
           rule("untyped", "pointer",
                satisfies(Term("the pointee of Pointer", lambda s: _pointer(s).pointee_id), "is a type", bool),
                "a typed pointer as Pointer of a flag", "SPV_KHR_untyped_pointers")),
    family(f"{_RETURNING} OpAtomicStore {' '.join(_FLAGS)}", *_TO_SHARED),
    family("OpAtomicFAddEXT", *_float_capability("add", "SPV_EXT_shader_atomic_float_add")),
    family("OpAtomicFMinEXT OpAtomicFMaxEXT", *_float_capability("min_max", "SPV_EXT_shader_atomic_float_min_max")),
    family(_RETURNING, *_DATA),
    family("OpAtomicStore",
           rule("data", "pointer", satisfies(_ACCESSED, "is an integer or a float", _is_number),
                "a pointer to an integer or a float", _SECTION),
           *MEMORY_SCOPE, *SEMANTICS, *OF_STORE,
           rule("value_type", "value pointer", same(type_of("value"), _ACCESSED),
                "Value of the type that Pointer points to", _SECTION),
           rule("encoding", "value",
                satisfies(type_of("value"), "has no microscaling format",
                          lambda type: encoding_of(type) not in MICROSCALING),
                "numbers of a format that is not for scaling blocks", "SPV_EXT_ocp_microscaling_types",
                beyond="the spirv-val of 2025 does not know these formats")),
    family(" ".join(_FLAGS),
           rule("data", "pointer", satisfies(_ACCESSED, "is a 32-bit integer", is_32_bit_integer),
                "a pointer to a 32-bit integer", _SECTION),
           *MEMORY_SCOPE, *SEMANTICS),
    family("OpAtomicFlagClear", *OF_STORE),
    family(_RETURNING, *SEMANTICS),
    family("OpAtomicLoad", *OF_LOAD),
    family(_EXCHANGING, *OF_EXCHANGE),
    family(f"OpAtomicExchange {_EXCHANGING} {_WITH_INTEGERS} {_WITH_FLOATS}", *_VALUE),
    family(_EXCHANGING,
           rule("comparator_type", "comparator", same(type_of("comparator"), RESULT_TYPE),
                "Comparator of the type of the result", _SECTION)),
)  # fmt: skip
