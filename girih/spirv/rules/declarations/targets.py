"""What a decoration may decorate: a table, and the tests in it (SPIR-V 3.20; Vulkan, "Standalone SPIR-V")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.annotations import Decoration
from girih.spirv.model.declared.resources import pointers_to_resources, storage_of
from girih.spirv.model.extended import is_extended
from girih.spirv.model.facts import Facts
from girih.spirv.model.grammar.ids import is_type
from girih.spirv.types import Pointer, Void
from girih.spirv.values import ALL_CONSTANTS
from girih.spirv.vocabulary import VARIABLES

Test = Callable[[Facts, Instruction, Decoration], bool]


class Bearer(NamedTuple):
    """What a decoration may be on: in words, and as a test of the decorated instruction."""

    words: str
    test: Test


def made_by(*names: str) -> Test:
    """The test for instructions of some names."""
    return lambda _, one, __: one.name in names


def pointer_of(facts: Facts, one: Instruction) -> Pointer:
    """The type of an instruction whose result is a pointer. Raises `Undetermined` for others."""
    found = facts.type(one.result_type)
    if not isinstance(found, Pointer):
        raise Undetermined
    return found


MEMORY_OBJECTS = frozenset({*VARIABLES, "OpFunctionParameter", "OpRawAccessChainNV", "OpBufferPointerEXT"})
"""Instructions whose result is an object in memory, and not a part of one."""


def _memory_object(facts: Facts, one: Instruction, _: Decoration) -> bool:
    return one.name in MEMORY_OBJECTS and isinstance(facts.type(one.result_type), Pointer)


def _component(facts: Facts, one: Instruction, decoration: Decoration) -> bool:
    storage = storage_of(one) if one.name in VARIABLES else "Input"
    return _memory_object(facts, one, decoration) and storage in ("Input", "Output")


def _built_in(facts: Facts, one: Instruction, decoration: Decoration) -> bool:
    size = grammar().kinds["BuiltIn"].value("WorkgroupSize")
    if decoration.parameters[:1] == (size,) and facts.has("Shader"):
        return one.name in ALL_CONSTANTS
    return one.name in VARIABLES


def _accessed(facts: Facts, one: Instruction, decoration: Decoration) -> bool:
    """NonWritable and NonReadable: objects in memory that are bound, or variables that are only read."""
    if one.name not in MEMORY_OBJECTS:
        return False
    only_read = decoration.name == "NonWritable"
    if one.name == "OpBufferPointerEXT":
        return not only_read or pointer_of(facts, one).storage_class != "Uniform"
    if one.name == "OpRawAccessChainNV" or one.result_type in facts.once(pointers_to_resources):
        return True
    if one.name not in VARIABLES:
        return False
    own = only_read and facts.module.header.version >= (1, 4)
    return storage_of(one) == "TileAttachmentQCOM" or (own and storage_of(one) in ("Function", "Private"))


def _object(facts: Facts, one: Instruction, _: Decoration) -> bool:
    return bool(one.result_type) and not isinstance(facts.type(one.result_type), Void)


CONVERSIONS = ("OpConvertFToU", "OpConvertFToS", "OpConvertSToF", "OpConvertUToF", "OpFConvert")


def _rounded(facts: Facts, one: Instruction, _: Decoration) -> bool:
    """FPRoundingMode: conversions between widths in shaders, conversions of floats in kernels."""
    if facts.has("Shader") and one.name != "OpFConvert":
        return False
    if not facts.has("Kernel") or one.name in CONVERSIONS:
        return True
    root = is_extended(one) and facts.module.set_name(one.id("set")) == "OpenCL.std"
    return (root or one.name == "OpFDiv") and facts.has("RoundedDivideSqrtINTEL")


_STRUCT = Bearer("a struct", made_by("OpTypeStruct"))
_VARIABLE = Bearer("a variable", made_by(*VARIABLES))
_MEMORY = Bearer("a variable, or a function's parameter, that is a pointer", _memory_object)
_MEMBER = Bearer("a member of a struct", lambda *_: False)
_OBJECT = Bearer("a value that is not void", _object)
_WRAPPED = Bearer(
    "an addition, subtraction, product, shift to the left, negation or extended instruction",
    lambda _, one, __: (
        is_extended(one) or one.name in ("OpIAdd", "OpISub", "OpIMul", "OpShiftLeftLogical", "OpSNegate")
    ),
)
_BOUND = Bearer("a variable that is bound, or, NonWritable from version 1.4 on, one in Function or Private", _accessed)

TARGETS: Mapping[str, Bearer] = {
    "SpecId": Bearer(
        "a scalar specialisation constant",
        made_by("OpSpecConstantTrue", "OpSpecConstantFalse", "OpSpecConstant", "OpSpecConstantDataKHR"),
    ),
    **dict.fromkeys(("Block", "BufferBlock", "GLSLShared", "GLSLPacked", "CPacked"), _STRUCT),
    "ArrayStride": Bearer(
        "an array or a pointer type",
        made_by("OpTypeArray", "OpTypeRuntimeArray", "OpTypePointer", "OpTypeUntypedPointerKHR"),
    ),
    **dict.fromkeys(("RowMajor", "ColMajor", "MatrixStride", "OffsetIdEXT"), _MEMBER),
    "BuiltIn": Bearer("a variable, or for WorkgroupSize a constant", _built_in),
    **dict.fromkeys(
        (
            "NoPerspective", "Flat", "Patch", "Centroid", "Sample", "Restrict", "Aliased", "Volatile", "Coherent",
            "XfbBuffer", "XfbStride", "Stream", "RestrictPointer", "AliasedPointer", "PerPrimitiveEXT",
        ),
        _MEMORY,
    ),
    **dict.fromkeys(("NonWritable", "NonReadable"), _BOUND),
    "Component": Bearer("a variable in Input or Output", _component),
    **dict.fromkeys(
        ("Invariant", "Constant", "Location", "Index", "Binding", "DescriptorSet", "InputAttachmentIndex"), _VARIABLE
    ),
    **dict.fromkeys(("Uniform", "UniformId"), _OBJECT),
    **dict.fromkeys(("NoSignedWrap", "NoUnsignedWrap"), _WRAPPED),
    "FPRoundingMode": Bearer("a conversion between floats of different widths", _rounded),
    "RelaxedPrecision": Bearer("a value", lambda _, one, __: not is_type(one)),
}  # fmt: skip
"""What decorations may decorate. Those that are not here may decorate anything."""


def in_storage(*classes: str) -> Test:
    """The test for pointers in some storage classes; a pointer to no type may be in any."""

    def test(facts: Facts, one: Instruction, _: Decoration) -> bool:
        if facts.defined_by(one.result_type) == "OpTypeUntypedPointerKHR":
            return True
        return pointer_of(facts, one).storage_class in classes

    return test


_RAY_CLASSES = (
    "RayPayloadKHR", "IncomingRayPayloadKHR", "HitAttributeKHR", "CallableDataKHR", "IncomingCallableDataKHR",
    "ShaderRecordBufferKHR", "HitObjectAttributeNV", "HitObjectAttributeEXT", "TileImageEXT",
)  # fmt: skip

IN_VULKAN: Mapping[str, Bearer] = {
    **dict.fromkeys(
        ("Location", "Component"),
        Bearer("one in Input, Output or a storage class of ray tracing", in_storage("Input", "Output", *_RAY_CLASSES)),
    ),
    "Index": Bearer("one in Output", in_storage("Output")),
    **dict.fromkeys(
        ("Binding", "DescriptorSet"),
        Bearer(
            "one in StorageBuffer, Uniform or UniformConstant",
            in_storage("StorageBuffer", "Uniform", "UniformConstant", "TileAttachmentQCOM"),
        ),
    ),
    "InputAttachmentIndex": Bearer("one in UniformConstant", in_storage("UniformConstant")),
    **dict.fromkeys(
        ("Flat", "NoPerspective", "Centroid", "Sample"), Bearer("one in Input or Output", in_storage("Input", "Output"))
    ),
    "PerVertexKHR": Bearer("one in Input", in_storage("Input")),
    **dict.fromkeys(("GLSLShared", "GLSLPacked"), Bearer("nothing in Vulkan", lambda *_: False)),
}
"""In which storage classes Vulkan has the targets of decorations (VUID-StandaloneSpirv-Location-06672 and others)."""
