"""What a launch gives to an entry point: buffers by set and binding, and push constants (Vulkan 14, 15.1).

Variables of one set and binding are views of the same buffer, and stand for one parameter of a launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.declared.interfaces import used_by_entry_points
from girih.spirv.model.declared.resources import BLOCKS, storage_of
from girih.spirv.model.environment import Environment
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.model.memory.layout import Layouts, layouts
from girih.spirv.model.parts import data_type_of
from girih.spirv.module import Module
from girih.spirv.types import Array, RuntimeArray, Struct, Type
from girih.spirv.vocabulary import VARIABLES


@dataclass(frozen=True, slots=True, eq=False)
class BlockVariable:
    """A variable that is a block in memory: a buffer, or push constants. Names are empty where there are none.

    `fixed_bytes` is the size of the block without what a runtime array at its end holds; `step` is the stride of that
    array in bytes, None for a block of one size.
    """

    id: int
    name: str
    block_name: str
    struct: Struct
    fixed_bytes: int
    step: int | None
    read_only: bool
    member_names: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a launch may call it: the variable's, the block's, and that of its only member."""
        only = self.member_names if len(self.member_names) == 1 else ()
        return tuple(dict.fromkeys(name for name in (self.name, self.block_name, *only) if name))


@dataclass(frozen=True, slots=True, eq=False)
class ShaderResource:
    """A buffer, or an array of buffers, that a launch binds at a set and binding.

    `variables` are the variables there, in the order of their declarations. `count` is the number of buffers of an
    array, None for one without a size; `is_array` tells an array from a single buffer.
    """

    set: int
    binding: int
    variables: tuple[BlockVariable, ...]
    is_array: bool
    count: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a launch may call it."""
        return tuple(dict.fromkeys(name for one in self.variables for name in one.names))

    @property
    def read_only(self) -> bool:
        """Whether no variable lets the shader write to it."""
        return all(one.read_only for one in self.variables)

    @property
    def fixed_bytes(self) -> int:
        """The bytes that a buffer must have for every variable."""
        return max(one.fixed_bytes for one in self.variables)


@dataclass(frozen=True, eq=False)
class ShaderInterface:
    """What a launch gives to an entry point: its resources in order of (set, binding), and its push constants.

    `has_addresses` tells whether the module takes buffers by address as well (PhysicalStorageBuffer64). `declared` are
    the places (set, binding) of all variables, also of those that the entry point does not name.
    """

    facts: Facts
    entry: EntryPoint
    resources: tuple[ShaderResource, ...]
    push_constants: BlockVariable | None
    has_addresses: bool
    declared: frozenset[tuple[int, int]]

    def __reduce__(self) -> tuple[object, ...]:
        # Facts hold what they have worked out, which is much: another process works it out again.
        facts, index = self.facts, self.facts.entry_points.index(self.entry)
        return _interface_again, (facts.module.to_bytes(), facts.module.name, facts.environment, index)

    @cached_property
    def resource_of(self) -> Mapping[int, ShaderResource]:
        """The resource behind each variable, by the id of its OpVariable."""
        return {one.id: resource for resource in self.resources for one in resource.variables}


def _interface_again(data: bytes, name: str, environment: Environment, index: int) -> ShaderInterface:
    facts = Facts(Module.from_bytes(data, name), environment)
    return interface_of(facts, facts.entry_points[index])


def interface_of(facts: Facts, entry: EntryPoint) -> ShaderInterface:
    """What a launch gives to an entry point: the resources that its functions name.

    Sizes that no decoration tells count as 0. Images and samplers are left out.
    """
    used = facts.once(used_by_entry_points).get(entry.function, frozenset())
    variables = [one for one in facts.instructions if one.name in VARIABLES and one.result in used]
    pushed = [one for one in variables if storage_of(one) == "PushConstant"]
    blocks = [block for one in pushed if (block := block_of(facts, one)) is not None]
    addresses = facts.addressing_model == "PhysicalStorageBuffer64"
    return ShaderInterface(
        facts, entry, _resources(facts, variables), blocks[0] if blocks else None, addresses, _declared(facts)
    )


def _declared(facts: Facts) -> frozenset[tuple[int, int]]:
    notes = facts.annotations
    bindings = (
        (one.result, notes.parameter(one.result, "Binding")) for one in facts.instructions if one.name in VARIABLES
    )
    return frozenset(
        (notes.parameter(id, "DescriptorSet") or 0, binding) for id, binding in bindings if binding is not None
    )


def _resources(facts: Facts, variables: list[Instruction]) -> tuple[ShaderResource, ...]:
    found: dict[tuple[int, int], list[tuple[BlockVariable, Type]]] = {}
    for one in variables:
        binding = facts.annotations.parameter(one.result, "Binding")
        type, block = _data_type(facts, one), block_of(facts, one)
        if binding is not None and type is not None and block is not None and storage_of(one) in BLOCKS:
            place = (facts.annotations.parameter(one.result, "DescriptorSet") or 0, binding)
            found.setdefault(place, []).append((block, type))
    return tuple(_resource(place, found[place]) for place in sorted(found))


def _resource(place: tuple[int, int], views: list[tuple[BlockVariable, Type]]) -> ShaderResource:
    arrays = [type for _, type in views if isinstance(type, Array | RuntimeArray)]
    counts = [type.length for type in arrays if isinstance(type, Array) and type.length is not None]
    return ShaderResource(*place, tuple(block for block, _ in views), bool(arrays), max(counts, default=None))


def _data_type(facts: Facts, variable: Instruction) -> Type | None:
    try:
        return data_type_of(facts, variable.result)
    except Undetermined:
        return None


def block_of(facts: Facts, variable: Instruction) -> BlockVariable | None:
    """The block that a variable is, or that each member of an array of buffers is; None for what is no block."""
    type = _data_type(facts, variable)
    type = type.element if isinstance(type, Array | RuntimeArray) else type
    if not isinstance(type, Struct):
        return None
    notes, layout = facts.annotations, facts.once(layouts)
    numbers = range(len(type.members))
    uniform = storage_of(variable) != "StorageBuffer" and not notes.has(type.id, "BufferBlock")
    guarded = bool(numbers) and all(notes.has(type.id, "NonWritable", number) for number in numbers)
    return BlockVariable(
        variable.result,
        notes.names.get(variable.result, ""),
        notes.names.get(type.id, ""),
        type,
        _size(layout, type),
        _step(layout, type),
        uniform or guarded or notes.has(variable.result, "NonWritable"),
        tuple(notes.member_names.get((type.id, number), "") for number in numbers),
    )


def _size(layout: Layouts, type: Struct) -> int:
    try:
        return layout.size(type)
    except Undetermined:
        return 0


def _step(layout: Layouts, type: Struct) -> int | None:
    """The bytes from element to element of the runtime array at the end of a block; None where there is none."""
    last = type.members[-1] if type.members else None
    return layout.stride(last) if isinstance(last, RuntimeArray) else None
