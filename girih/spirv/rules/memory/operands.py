"""Rules about the memory operands of loads, stores and copies, those of matrices included (SPIR-V 3.26, 2.16.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.parts import parts_of, pointer_type_of
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Finds, Subject, one_of, present
from girih.spirv.types import Float, Int, Pointer, Type

LOADS = (
    "OpLoad OpCooperativeMatrixLoadKHR OpCooperativeMatrixLoadTensorNV OpCooperativeMatrixLoadNV"
    " OpCooperativeVectorLoadNV OpPredicatedLoadINTEL"
)
STORES = (
    "OpStore OpCooperativeMatrixStoreKHR OpCooperativeMatrixStoreTensorNV OpCooperativeMatrixStoreNV"
    " OpCooperativeVectorStoreNV OpPredicatedStoreINTEL"
)
COPIES = "OpCopyMemory OpCopyMemorySized"

MASKS = ("memory_access", "memory_operand", "memory_access2")
"""The names of memory operands in the grammar."""

NON_PRIVATE = (
    "Uniform", "Workgroup", "CrossWorkgroup", "Generic", "Image", "StorageBuffer", "PhysicalStorageBuffer",
)  # fmt: skip
"""Storage classes with memory that other invocations see (SPIR-V 3.26, NonPrivatePointer)."""


@dataclass(frozen=True, slots=True)
class AccessOperands:
    """A memory access: the names of its bits, the parameters of these, and the types of the pointers it is about."""

    bits: frozenset[str]
    parameters: Mapping[str, int]
    pointers: tuple[Pointer, ...]


def accesses(subject: Subject[Facts]) -> Iterator[AccessOperands]:
    """The memory accesses of an instruction: one, or two of a copy that says more of its target and its source."""
    one: Instruction = subject.op
    pointers = [pointer_type_of(subject.facts, id) for name in ("pointer", "target", "source") if (id := one.id(name))]
    masks = [operand for operand in one.operands if operand.kind == "MemoryAccess"]
    if not masks:
        yield AccessOperands(frozenset(), {}, tuple(pointers))
    kind = grammar().kinds["MemoryAccess"]
    for number, mask in enumerate(masks):
        end = masks[number + 1].word if number + 1 < len(masks) else len(one.words)
        inside = [operand for operand in one.operands if mask.word < operand.word < end]
        value = mask.value if isinstance(mask.value, int) else 0
        parameters = {o.name: o.value for o in inside if isinstance(o.value, int) and o.name in kind.by_name}
        about = tuple(pointers) if len(masks) == 1 else tuple(pointers[number : number + 1])
        yield AccessOperands(frozenset(kind.name_of(value).split("|")), parameters, about)


Search = Callable[[Subject[Facts], AccessOperands], str | None]
"""A search for what is wrong with an access."""


def _access(find: Search, *, unstated: bool) -> Callable[[Subject[Facts]], str | None]:
    """A search in all accesses of an instruction; where it has no memory operands only if `unstated`."""

    def search(subject: Subject[Facts]) -> str | None:
        if not unstated and not any(subject.op.get(name) for name in MASKS):
            return None
        found = (find(subject, access) for access in accesses(subject))
        return next((one for one in found if one is not None), None)

    return search


def _not_non_private(_: Subject[Facts], access: AccessOperands) -> str | None:
    makers = sorted(access.bits & {"MakePointerAvailable", "MakePointerVisible"})
    return f"{makers[0]} alone" if makers and "NonPrivatePointer" not in access.bits else None


def _private_storage(_: Subject[Facts], access: AccessOperands) -> str | None:
    if "NonPrivatePointer" not in access.bits:
        return None
    wrong = (pointer.words for pointer in access.pointers if pointer.storage_class not in NON_PRIVATE)
    return next(wrong, None)


def _physical_not_aligned(_: Subject[Facts], access: AccessOperands) -> str | None:
    physical = any(pointer.storage_class == "PhysicalStorageBuffer" for pointer in access.pointers)
    return "no Aligned" if physical and "Aligned" not in access.bits else None


def _no_power_of_two(_: Subject[Facts], access: AccessOperands) -> str | None:
    given = access.parameters.get("Aligned")
    return None if given is None or given.bit_count() == 1 else f"Aligned {given}"


def _too_little_aligned(subject: Subject[Facts], access: AccessOperands) -> str | None:
    given = access.parameters.get("Aligned")
    physical = [pointer for pointer in access.pointers if pointer.storage_class == "PhysicalStorageBuffer"]
    if given is None or not physical:
        return None
    facts: Facts = subject.facts
    needed = max(_largest_scalar(facts, _accessed(subject, pointer)) for pointer in physical)
    return f"Aligned {given}, and a scalar of {needed} bytes" if given < needed else None


def _accessed(subject: Subject[Facts], pointer: Pointer) -> Type:
    """What an access reads or writes: the pointee; of an untyped pointer the value that is loaded or stored."""
    if pointer.pointee_id:
        return subject.facts.pointee(pointer)
    if subject.op.result_type:
        return subject.facts.type(subject.op.result_type)
    return subject.facts.type_of(present(subject, "object"))


def _largest_scalar(facts: Facts, type: Type) -> int:
    """The bytes of the largest number or address in a type."""
    return max((_bytes(part) for part in parts_of(facts, type)), default=0)


def _bytes(type: Type) -> int:
    if isinstance(type, Int | Float):
        return type.width // 8
    return 8 if isinstance(type, Pointer) and type.storage_class == "PhysicalStorageBuffer" else 0


def _scopes(access: AccessOperands) -> Iterator[int]:
    return (id for name, id in access.parameters.items() if name in ("MakePointerAvailable", "MakePointerVisible"))


def _scope_type(subject: Subject[Facts], access: AccessOperands) -> str | None:
    facts: Facts = subject.facts
    for id in _scopes(access):
        type = facts.type_of(id)
        if not isinstance(type, Int) or type.width != 32:
            return type.words
        if facts.has("Shader") and not _is_plain_constant(facts, id):
            return "a value that is no constant"
    return None


def _is_plain_constant(facts: Facts, id: int) -> bool:
    made = facts.defined_by(id)
    special = facts.has("CooperativeMatrixNV") and made.startswith("OpSpecConstant")
    return made in ("OpConstant", "OpConstantNull") or special


def _scope_value(subject: Subject[Facts], access: AccessOperands) -> str | None:
    facts: Facts = subject.facts
    kind = grammar().kinds["Scope"]
    for id in _scopes(access):
        value = facts.integer(id)
        name = kind.name_of(value)
        if value not in kind.by_value:
            return f"{value}, which is no scope"
        if name == "QueueFamily" and not facts.has("VulkanMemoryModel"):
            return "QueueFamily without capability VulkanMemoryModel"
        if name == "Device" and facts.has("VulkanMemoryModel") and not facts.has("VulkanMemoryModelDeviceScope"):
            return "Device without capability VulkanMemoryModelDeviceScope"
    return None


def _scope_of_vulkan(subject: Subject[Facts], access: AccessOperands) -> str | None:
    facts: Facts = subject.facts
    names = (grammar().kinds["Scope"].name_of(facts.integer(id)) for id in _scopes(access))
    return next((name for name in names if name == "CrossDevice"), None)


def _has(bit: str) -> Search:
    """A search for accesses with a bit."""
    return lambda _, access: bit if bit in access.bits else None


def _operand(
    id: str, says: str, find: Search, source: str, *, unstated: bool = False, vulkan: bool = False
) -> SpirvRow:
    """A rule about the memory operands of any access; `unstated`: also of one that has none."""
    return rule(id, " ".join(MASKS), Finds(says, _access(find, unstated=unstated)), says, source, vulkan=vulkan)


FAMILIES = (
    family(
        LOADS,
        _operand("available", "no MakePointerAvailable: a load makes nothing available", _has("MakePointerAvailable"),
                 "SPIR-V 3.26"),
    ),
    family(
        STORES,
        _operand("visible", "no MakePointerVisible: a store makes nothing visible", _has("MakePointerVisible"),
                 "SPIR-V 3.26"),
    ),
    family(
        f"{LOADS} {STORES} {COPIES}",
        _operand("non_private", "NonPrivatePointer together with MakePointerAvailable or MakePointerVisible",
                 _not_non_private, "SPIR-V 3.26"),
        _operand("non_private_storage", f"NonPrivatePointer only for a pointer in {one_of(NON_PRIVATE)}",
                 _private_storage, "SPIR-V 3.26"),
        _operand("access_scope", "as scope a 32-bit integer constant", _scope_type, "SPIR-V 2.16.2"),
        _operand("access_scope_value", "a scope that the memory model has", _scope_value, "SPIR-V 3.27"),
        _operand("access_scope_vulkan",
                 "Device, QueueFamily, Workgroup, ShaderCallKHR, Subgroup or Invocation as scope",
                 _scope_of_vulkan, "VUID-StandaloneSpirv-None-04638", vulkan=True),
        _operand("aligned", "Aligned, since a pointer is in PhysicalStorageBuffer", _physical_not_aligned,
                 "VUID-StandaloneSpirv-PhysicalStorageBuffer64-04708", unstated=True),
        _operand("alignment", "as alignment a power of two", _no_power_of_two, "SPIR-V 3.26"),
        _operand("alignment_size", "an alignment of at least the largest number behind the pointer",
                 _too_little_aligned, "VUID-StandaloneSpirv-PhysicalStorageBuffer64-06314"),
    ),
)  # fmt: skip
