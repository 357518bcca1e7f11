"""Rules of declarations of types (SPIR-V 3.42.6, 2.8, 2.16.1)."""

from __future__ import annotations

from collections.abc import Callable

from girih.diagnostics import plural
from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.declared.resources import storage_name
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.model.parts import parts_of, types_containing
from girih.spirv.model.uniqueness import declared_again, uses_of_function_types
from girih.spirv.rules.row import INSTRUCTION, SpirvRow, family, rule
from girih.spirv.rules.terms import (
    Analysed,
    Faulting,
    Finds,
    Holds,
    OnlyWhere,
    Satisfies,
    Subject,
    Term,
    Undetermined,
    instruction_of,
    is_scalar,
    literal,
    present,
    words_of,
)
from girih.spirv.rules.values.operands import id_of, label_of, listed, operands_of
from girih.spirv.types import (
    Bool,
    CooperativeMatrix,
    Float,
    Int,
    Opaque,
    Pointer,
    RuntimeArray,
    Struct,
    TensorLayout,
    TensorView,
    Type,
    Vector,
    Void,
)  # fmt: skip
from girih.spirv.vocabulary import IMAGE_TYPES, STORED_16

SOURCE = "SPIR-V 3.42.6"
UNIVERSAL = "SPIR-V 2.16.1"
RUNTIME_ARRAYS = "VUID-StandaloneSpirv-OpTypeRuntimeArray-04680"


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredTypes(Faulting):
    """The predicate that operands are types, and that each passes a test."""

    names: tuple[str, ...]
    words: str
    test: Callable[[Type], bool]

    @property
    def text(self) -> str:
        return f"{listed(self.names)}: {self.words}"

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        for operand in operands_of(subject, self.names):
            made = subject.facts.module.definitions.get(id_of(operand))
            if made is None or made.malformed is not None:
                continue
            if not made.name.startswith("OpType"):
                return Fault(f"{label_of(subject, operand)} is made by {made.name}", (operand,))
            type = subject.facts.declarations.types.get(made.result)
            if type is not None and not self.test(type):
                return Fault(f"{label_of(subject, operand)} is {type}", (operand,))
        return None


def types_are(id: str, words: str, test: Callable[[Type], bool], *names: str, source: str = SOURCE) -> SpirvRow:
    """The row that operands are types of a kind; `words` have an article."""
    holds = DeclaredTypes(names, f"each {words}", test)
    return rule(id, " ".join(names), holds, f"{words} as {listed(names)}", source)


def _is_any(_: Type) -> bool:
    return True


def _is_no_void(type: Type) -> bool:
    return not isinstance(type, Void)


# Numbers

STORED_8 = (
    "StorageBuffer8BitAccess", "UniformAndStorageBuffer8BitAccess", "StoragePushConstant8",
    "WorkgroupMemoryExplicitLayout8BitAccessKHR",
)  # fmt: skip
INTEGER_WIDTHS = {8: ("Int8", *STORED_8), 16: ("Int16", *STORED_16), 32: (), 64: ("Int64",)}
"""The widths of integers, with the capabilities of which one allows them."""
FLOAT_WIDTHS = {16: ("Float16", "Float16Buffer", *STORED_16), 64: ("Float64",)}
HALF_EXTENSIONS = frozenset({"SPV_AMD_gpu_shader_half_float", "SPV_AMD_gpu_shader_half_float_fetch"})
ENCODINGS = {
    4: ("Float4E2M1EXT",),
    6: ("Float6E2M3EXT", "Float6E3M2EXT"),
    8: ("Float8E4M3EXT", "Float8E5M2EXT", "Float8UnsignedE8M0EXT", "MXInt8EXT"),
    16: (None, "BFloat16KHR"),
    32: (None,),
    64: (None,),
}
"""The widths of floats, with their encodings; None is IEEE 754."""


def _is_integer_width(subject: Subject[Facts]) -> bool:
    width, facts = present(subject, "width"), subject.facts
    arbitrary = facts.has("ArbitraryPrecisionIntegersALTERA") and width > 0
    return width in INTEGER_WIDTHS or arbitrary or (width == 4 and facts.has("Int4TypeINTEL"))


def _width(subject: Subject[Facts]) -> str:
    return f"{present(subject, 'width')} bits"


def _has_integer_capability(subject: Subject[Facts]) -> bool:
    return _has_any(subject.facts, INTEGER_WIDTHS.get(present(subject, "width"), ()))


def _has_any(facts: Facts, capabilities: tuple[str, ...]) -> bool:
    return not capabilities or any(facts.has(one) for one in capabilities)


def _wanted_for(table: dict[int, tuple[str, ...]]) -> Callable[[Subject[Facts]], str | None]:
    """The hint that names the capability to declare for a width."""

    def hint(subject: Subject[Facts]) -> str | None:
        wanted = table.get(present(subject, "width"))
        return f"declare OpCapability {wanted[0]}" if wanted else None

    return hint


def _encoding(one: Instruction) -> str | None:
    value = one.get("floating_point_encoding")
    return grammar().kinds["FPEncoding"].name_of(value) if isinstance(value, int) else None


def _encoding_fault(subject: Subject[Facts]) -> str | None:
    encoding = _encoding(subject.op)
    if encoding in ENCODINGS.get(present(subject, "width"), (encoding,)):
        return None
    return f"{present(subject, 'width')} bits, {encoding or 'no encoding'}"


def _has_float_capability(subject: Subject[Facts]) -> bool:
    if _encoding(subject.op) is not None:
        return True
    width, facts = present(subject, "width"), subject.facts
    if width == 16 and not HALF_EXTENSIONS.isdisjoint(facts.extensions):
        return True
    return _has_any(facts, FLOAT_WIDTHS.get(width, ()))


NUMBERS = (
    family(
        "OpTypeInt",
        rule("width", "width", Holds("Width is 8, 16, 32 or 64", _is_integer_width, _width),
             "8, 16, 32 or 64 bits", UNIVERSAL),
        rule("width_capability", "width", Holds("a capability allows Width", _has_integer_capability, _width),
             "a capability for the width: Int8, Int16, Int64, or one to store numbers of 8 or 16 bits", UNIVERSAL,
             hint=_wanted_for(INTEGER_WIDTHS)),
        rule("signedness", "signedness", Satisfies(literal("signedness"), "is 0 or 1", lambda value: value in (0, 1)),
             "0 (unsigned) or 1 (signed)", SOURCE),
    ),
    family(
        "OpTypeFloat",
        rule("width", "width", Satisfies(literal("width"), "is 4, 6, 8, 16, 32 or 64", ENCODINGS.__contains__),
             "16, 32 or 64 bits, or 4, 6 or 8 with an encoding", UNIVERSAL),
        rule("width_capability", "width", Holds("a capability allows Width", _has_float_capability, _width),
             "a capability for the width: Float16, Float64, or one to store numbers of 16 bits", UNIVERSAL,
             hint=_wanted_for(FLOAT_WIDTHS)),
        rule("encoding", "width floating_point_encoding",
             Finds("the encoding is one of the width's", _encoding_fault),
             "an encoding of the width: none, or BFloat16KHR of 16 bits, Float8 of 8, Float6 of 6, Float4 of 4",
             "SPV_KHR_bfloat16, SPV_EXT_float8"),
    ),
)  # fmt: skip


# Vectors and matrices


def _is_count(subject: Subject[Facts]) -> bool:
    count = present(subject, "component_count")
    return count in (2, 3, 4, 8, 16) or (count > 0 and subject.facts.has("LongVectorEXT"))


def _has_wide_vectors(subject: Subject[Facts]) -> bool:
    facts = subject.facts
    return present(subject, "component_count") not in (8, 16) or facts.has("Vector16") or facts.has("LongVectorEXT")


def _components(subject: Subject[Facts]) -> str:
    return plural(present(subject, "component_count"), "component")


def _is_float_vector(type: Type) -> bool:
    return isinstance(type, Vector) and isinstance(type.component, Float)


def is_constant_instruction(name: str) -> bool:
    """Whether an instruction makes a constant or a specialisation constant."""
    return name.startswith(("OpConstant", "OpSpecConstant", "OpGraphConstant", "OpAsm"))


def constant_size(name: str, source: str, *, width: int | None = None) -> tuple[SpirvRow, SpirvRow, SpirvRow]:
    """The rows of a size that is the id of a constant: that it is one, its type, and that it is at least 1."""
    words = words_of(name)
    bits = f"{width}-bit " if width else ""

    def is_integer(subject: Subject[Facts]) -> bool:
        type = subject.facts.type_of(present(subject, name))
        return isinstance(type, Int) and width in (None, type.width)

    def type_words(subject: Subject[Facts]) -> str:
        return f"{words} is {subject.facts.type_of(present(subject, name))}"

    made = Term(words, lambda s: s.facts.definition(present(s, name)).name)

    def size_of(subject: Subject[Facts]) -> int:
        facts, id = subject.facts, present(subject, name)
        if facts.defined_by(id) == "OpSpecConstantOp" and facts.rests_on_default(id):
            raise Undetermined  # Defaults are often placeholders; what is computed of them is judged with values given.
        return facts.integer(id)

    value = Term(words, size_of)
    return (
        rule(f"{name}_constant", name, Satisfies(made, "is made by a constant instruction", is_constant_instruction),
             f"a constant or a specialisation constant as {words}", source),
        rule(f"{name}_type", name, Holds(f"{words} is {bits}integer", is_integer, type_words),
             f"{'a' if bits else 'an'} {bits}integer as {words}", source),
        rule(f"{name}_value", name, Satisfies(value, "≥ 1", lambda number: number >= 1),
             f"at least 1 as {words}", source),
    )  # fmt: skip


VECTORS = (
    family(
        "OpTypeVector",
        rule("component_type", "component_type", OnlyWhere(
                 "without capability MaskedGatherScatterINTEL", lambda s: not s.facts.has("MaskedGatherScatterINTEL"),
                 DeclaredTypes(("component_type",), "a scalar", is_scalar)),
             "a scalar as Component Type", SOURCE),
        rule("component_count", "component_count",
             Holds("Component Count is 2, 3, 4, 8 or 16, or any with LongVectorEXT", _is_count, _components),
             "2, 3 or 4 components, or more with capability Vector16 or LongVectorEXT", UNIVERSAL),
        rule("count_capability", "component_count",
             Holds("8 and 16 components need Vector16 or LongVectorEXT", _has_wide_vectors, _components),
             "capability Vector16 or LongVectorEXT for 8 or 16 components", UNIVERSAL),
    ),
    family(
        "OpTypeCooperativeVectorNV",
        types_are("component_type", "a scalar", is_scalar, "component_type", source="SPV_NV_cooperative_vector"),
        rule("boolean", "component_type",
             OnlyWhere("without capability LongVectorEXT", lambda s: not s.facts.has("LongVectorEXT"),
                   Satisfies(Term("Component Type", lambda s: s.facts.type(present(s, "component_type"))),
                             "is a number", lambda type: not isinstance(type, Bool))),
             "capability LongVectorEXT for components that are booleans", "SPV_EXT_long_vector"),
        *constant_size("component_count", "SPV_NV_cooperative_vector", width=32),
    ),
    family(
        "OpTypeMatrix",
        types_are("column_type", "a vector", lambda type: isinstance(type, Vector), "column_type"),
        types_are("component_type", "a vector of floating-point components", _is_float_vector, "column_type",
                  source=UNIVERSAL),
        rule("column_count", "column_count",
             Satisfies(literal("column_count"), "is 2, 3 or 4", lambda count: count in (2, 3, 4)),
             "2, 3 or 4 columns", UNIVERSAL),
    ),
)  # fmt: skip


# Arrays and structs

ELEMENT_TYPE = types_are("element_type", "a type other than void", _is_no_void, "element_type")
NO_RUNTIME_ELEMENT = rule(
    "runtime_element",
    "element_type",
    Satisfies(
        Term("Element Type", lambda s: s.facts.type(present(s, "element_type"))),
        "is no runtime array",
        lambda type: not isinstance(type, RuntimeArray),
    ),
    "elements of a known size",
    RUNTIME_ARRAYS,
    vulkan=True,
)


def _is_block(facts: Facts, type: Type) -> bool:
    return any(facts.annotations.has(type.id, name) for name in ("Block", "BufferBlock"))


def _strides_blocks(subject: Subject[Facts]) -> str | None:
    facts = subject.facts
    type = facts.type(present(subject, "element_type"))
    if not facts.has("Shader") or not isinstance(type, Struct) or not _is_block(facts, type):
        return None
    stride = facts.annotations.parameter(subject.op.result, "ArrayStride")
    return None if stride is None else f"ArrayStride {stride} on an array of blocks"


BLOCK_STRIDE = rule(
    "block_stride", "element_type", Finds("an array of blocks has no ArrayStride", _strides_blocks),
    "no ArrayStride on an array of Block or BufferBlock structs, each a resource of its own", "SPIR-V 3.20 ArrayStride",
)  # fmt: skip

ARRAYS = (
    family("OpTypeArray", ELEMENT_TYPE, NO_RUNTIME_ELEMENT, *constant_size("length", SOURCE), BLOCK_STRIDE),
    family("OpTypeRuntimeArray", ELEMENT_TYPE, NO_RUNTIME_ELEMENT, BLOCK_STRIDE),
)


def _struct(subject: Subject[Facts]) -> Struct:
    type = subject.facts.type(subject.op.result)
    if not isinstance(type, Struct):
        raise Undetermined
    return type


HEAPS = ("ResourceHeapEXT", "SamplerHeapEXT")


def _built_in_members(facts: Facts, struct: Struct) -> set[int]:
    """The members of a struct that are built-in variables."""
    heaps = {grammar().kinds["BuiltIn"].value(name) for name in HEAPS}
    of_struct = facts.annotations.by_target.get(struct.id, ())
    return {
        one.member for one in of_struct
        if one.member is not None and one.name == "BuiltIn" and heaps.isdisjoint(one.parameters)
    }  # fmt: skip


def _built_in_mix(subject: Subject[Facts]) -> str | None:
    struct = _struct(subject)
    built_in = _built_in_members(subject.facts, struct)
    if len(built_in) in (0, len(struct.members)):
        return None
    return f"BuiltIn on {len(built_in)} of {len(struct.members)} members"


@dataclass(frozen=True, slots=True, eq=False)
class StructMembers(Faulting):
    """The predicate that a search finds nothing wrong with a member of a struct, which it is given with its index."""

    words: str
    find: Callable[[Facts, Struct, int, Type], str | None]

    @property
    def text(self) -> str:
        return self.words

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        struct = _struct(subject)
        for index, (member, operand) in enumerate(zip(struct.members, _member_operands(subject), strict=False)):
            found = None if member is None else self.find(subject.facts, struct, index, member)
            if found is not None:
                return Fault(f"member {index} is {found}", (operand,))
        return None


def _member_operands(subject: Subject[Facts]) -> list[Operand]:
    return [operand for operand in instruction_of(subject).operands if operand.name == "members"]


def _has_built_ins(facts: Facts, _: Struct, __: int, member: Type) -> str | None:
    has = isinstance(member, Struct) and bool(_built_in_members(facts, member))
    return "a struct of built-in variables" if has else None


def _runtime_array_inside(_: Facts, struct: Struct, index: int, member: Type) -> str | None:
    is_inside = isinstance(member, RuntimeArray) and index < len(struct.members) - 1
    return f"a runtime array, and {len(struct.members) - 1} the last" if is_inside else None


def _runtime_array_outside_block(facts: Facts, struct: Struct, _: int, member: Type) -> str | None:
    is_bare = isinstance(member, RuntimeArray) and not _is_block(facts, struct)
    return "a runtime array in a struct that is no block" if is_bare else None


def _blocks_inside(facts: Facts, struct: Struct, _: int, member: Type) -> str | None:
    inside = member.id in facts.once(_types_with_blocks) and _is_block(facts, struct)
    return "or holds a block" if inside else None


def _types_with_blocks(facts: Facts) -> frozenset[int]:
    return types_containing(facts, lambda part: isinstance(part, Struct) and _is_block(facts, part))


OPAQUE = frozenset({
    *IMAGE_TYPES, "OpTypeOpaque", "OpTypeEvent", "OpTypeDeviceEvent",
    "OpTypeReserveId", "OpTypeQueue", "OpTypePipe", "OpTypePipeStorage", "OpTypeNamedBarrier",
})  # fmt: skip
DESCRIPTORS = frozenset({"OpTypeImage", "OpTypeSampler"})


def _opaque_inside(facts: Facts, _: Struct, __: int, member: Type) -> str | None:
    return "or holds an opaque type" if member.id in facts.once(_opaque_types) else None


def _opaque_types(facts: Facts) -> frozenset[int]:
    """The types that no struct may hold in Vulkan."""
    allowed = (IMAGE_TYPES if facts.has("BindlessTextureNV") else frozenset()) | (
        DESCRIPTORS if facts.has("DescriptorHeapEXT") else frozenset()
    )
    forbidden = OPAQUE - allowed
    return types_containing(facts, lambda part: isinstance(part, Opaque) and part.name in forbidden)


STRUCTS = (
    family(
        "OpTypeStruct",
        types_are("member_types", "a type other than void", _is_no_void, "members"),
        rule("built_in_member", "members", StructMembers("no member is a struct of built-in variables", _has_built_ins),
             "members that are no structs with BuiltIn members", "SPIR-V 3.21"),
        rule("built_in_mix", "", Finds("all members are BuiltIn, or none", _built_in_mix),
             "BuiltIn on all members, or on none", "SPIR-V 3.21"),
        rule("nested_block", "members", StructMembers("a block holds no block", _blocks_inside),
             "no Block or BufferBlock struct within another one", "SPIR-V 3.20 Block"),
        rule("runtime_array_last", "members",
             StructMembers("only the last member is a runtime array", _runtime_array_inside),
             "a runtime array as last member only", RUNTIME_ARRAYS, vulkan=True),
        rule("runtime_array_block", "members",
             StructMembers("a struct with a runtime array is a block", _runtime_array_outside_block),
             "Block or BufferBlock on a struct that has a runtime array", RUNTIME_ARRAYS, vulkan=True),
        rule("opaque", "members", StructMembers("no member holds an opaque type", _opaque_inside),
             "members without images, samplers and other opaque types", "VUID-StandaloneSpirv-None-04667", vulkan=True),
    ),
)  # fmt: skip


# Pointers and functions

VULKAN_STORAGE = frozenset({
    "UniformConstant", "Uniform", "StorageBuffer", "Input", "Output", "Image", "Workgroup", "Private", "Function",
    "PushConstant", "PhysicalStorageBuffer", "RayPayloadKHR", "IncomingRayPayloadKHR", "HitAttributeKHR",
    "CallableDataKHR", "IncomingCallableDataKHR", "ShaderRecordBufferKHR", "TaskPayloadWorkgroupEXT",
    "HitObjectAttributeNV", "HitObjectAttributeEXT", "TileImageEXT", "NodePayloadAMDX", "TileAttachmentQCOM",
})  # fmt: skip
UNTYPED_STORAGE = {
    "StorageBuffer": None, "PhysicalStorageBuffer": None, "Uniform": None, "PushConstant": None,
    "Workgroup": "WorkgroupMemoryExplicitLayoutKHR", "UniformConstant": "DescriptorHeapEXT",
    "Image": "DescriptorHeapEXT",
}  # fmt: skip
"""Storage classes of untyped pointers in Vulkan, with the capability that each needs."""

STORAGE_CLASS = Term("Storage Class", lambda s: storage_name(present(s, "storage_class")))
FORWARD_POINTER = Term("the pointer", lambda s: _forward_pointer(s))


def _has_layout(subject: Subject[Facts]) -> bool:
    name = storage_name(present(subject, "storage_class"))
    wanted = UNTYPED_STORAGE.get(name, "")
    return wanted is None or (wanted != "" and subject.facts.has(wanted))


def _forward_pointer(subject: Subject[Facts]) -> Pointer:
    type = subject.facts.type(present(subject, "pointer_type"))
    if not isinstance(type, Pointer):
        raise Undetermined
    return type


def _pointee(subject: Subject[Facts]) -> Type:
    return subject.facts.pointee(_forward_pointer(subject))


def _is_declared_storage(subject: Subject[Facts]) -> bool:
    return _forward_pointer(subject).storage == present(subject, "storage_class")


def _other_use(subject: Subject[Facts]) -> str | None:
    """The name of an instruction that uses a function type in another way, as a part of a type or as a result type."""
    return subject.facts.once(uses_of_function_types).get(subject.op.result)


def _opaque_at_address(subject: Subject[Facts]) -> str | None:
    """What a pointer in PhysicalStorageBuffer points to that has no form in memory."""
    if STORAGE_CLASS.value(subject) != "PhysicalStorageBuffer":
        return None
    facts = subject.facts
    for part in parts_of(facts, facts.type(present(subject, "type"))):
        if isinstance(part, CooperativeMatrix | TensorLayout | TensorView):
            return part.words
    return None


POINTERS = (
    family(
        "OpTypePointer",
        types_are("pointee", "a type", _is_any, "type"),
        rule("storage_class", "storage_class",
             Satisfies(STORAGE_CLASS, "is one of Vulkan", VULKAN_STORAGE.__contains__),
             "a storage class that Vulkan has", "VUID-StandaloneSpirv-None-04643", vulkan=True),
        rule("opaque", "type", Finds("no address of a matrix, a tensor layout or a view", _opaque_at_address),
             "no cooperative matrix, tensor layout or view at an address: they stand in Function or Private alone",
             "000 2.2.2", beyond="spirv-val asks variables alone what they hold, and an address is none"),
    ),
    family(
        "OpTypeUntypedPointerKHR",
        rule("storage_class", "storage_class",
             Holds("the storage class has an explicit layout", _has_layout, lambda s: STORAGE_CLASS.value(s)),
             "StorageBuffer, PhysicalStorageBuffer, Uniform, PushConstant, or Workgroup with capability "
             "WorkgroupMemoryExplicitLayoutKHR", "VUID-StandaloneSpirv-OpTypeUntypedPointerKHR-11417", vulkan=True),
    ),
    family(
        "OpTypeForwardPointer",
        types_are("pointer_type", "a pointer", lambda type: isinstance(type, Pointer), "pointer_type"),
        rule("storage_class", "storage_class",
             Holds("the pointer is declared with the same storage class", _is_declared_storage,
                   lambda s: f"{STORAGE_CLASS.value(s)}, the pointer in {_forward_pointer(s).storage_class}"),
             "the storage class of the pointer", SOURCE),
        rule("pointee", "pointer_type",
             Satisfies(Term("what it points to", _pointee), "is a struct", lambda type: isinstance(type, Struct)),
             "a pointer to a struct", SOURCE),
        rule("physical", "storage_class", Satisfies(STORAGE_CLASS, "is PhysicalStorageBuffer",
                                                    lambda name: name == "PhysicalStorageBuffer"),
             "PhysicalStorageBuffer as Storage Class", "VUID-StandaloneSpirv-OpTypeForwardPointer-04711", vulkan=True),
    ),
    family(
        "OpTypeFunction",
        types_are("return_type", "a type", _is_any, "return_type"),
        types_are("parameters", "a type other than void", _is_no_void, "parameters"),
        rule("parameter_count", "parameters",
             Satisfies(Term("number of parameters", lambda s: len(s.op.ids("parameters"))), "≤ 255",
                       lambda count: count <= 255),
             "at most 255 parameters", "SPIR-V 2.17"),
        rule("use", "", Finds("only OpFunction uses it", _other_use), "a use by OpFunction only", SOURCE),
    ),
)  # fmt: skip

UNIQUE = family(
    INSTRUCTION,
    rule("declared_once", "", Analysed("no other declaration is the same", declared_again),
         "one declaration for each type that is no aggregate and no pointer", "SPIR-V 2.8",
         hint="use the id of the first declaration"),
)  # fmt: skip

FAMILIES = (UNIQUE, *NUMBERS, *VECTORS, *ARRAYS, *STRUCTS, *POINTERS)
