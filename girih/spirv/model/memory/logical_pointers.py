"""Logical pointers: where they come from, and which of them are variable pointers (SPIR-V 2.2.2, 2.16.1).

In addressing models with logical pointers, all pointers but those in PhysicalStorageBuffer are logical: they have no
bits, and a module may do little with them. A variable pointer is one that the flow of control or of data chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.parts import contains, data_type_of, element_of, member_type
from girih.spirv.types import Array, Matrix, Pointer, RuntimeArray, Struct, Type
from girih.spirv.vocabulary import BLOCK_DECORATIONS, VARIABLES

LOGICAL_MODELS = frozenset({"Logical", "PhysicalStorageBuffer64"})
"""Addressing models with logical pointers."""

CHAINS = frozenset({
    "OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpInBoundsPtrAccessChain",
    "OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR", "OpUntypedPtrAccessChainKHR",
    "OpUntypedInBoundsPtrAccessChainKHR",
})  # fmt: skip

CHOOSING = frozenset({
    "OpPtrAccessChain", "OpUntypedPtrAccessChainKHR", "OpUntypedInBoundsPtrAccessChainKHR", "OpLoad", "OpSelect",
    "OpPhi", "OpFunctionCall", "OpConstantNull",
})  # fmt: skip
"""Instructions whose results, where they are logical pointers, are variable pointers."""


def variable_pointers(facts: Facts, storage: str) -> bool:
    """Whether pointers in a storage class may be chosen at run time (capabilities VariablePointers, ...)."""
    if storage == "StorageBuffer":
        return facts.has("VariablePointersStorageBuffer")
    return storage == "Workgroup" and facts.has("VariablePointers")


@dataclass
class LogicalPointers:
    """The logical pointers of a module, by id, and how they flow.

    `sources` are the pointers that a pointer may be, or be made of: the base of an access chain, arguments of a
    parameter, what a variable has been stored. `variable` are the variable pointers, `within_matrix` those into
    a matrix, `block_arrays` those to a variable that is an array of blocks, `origins` the buffers and Workgroup
    variables that they point into, at most two of each.
    """

    types: dict[int, Pointer] = field(default_factory=dict)
    sources: dict[int, list[int]] = field(default_factory=dict)
    variable: set[int] = field(default_factory=set)
    within_matrix: set[int] = field(default_factory=set)
    block_arrays: set[int] = field(default_factory=set)
    origins: dict[int, frozenset[int]] = field(default_factory=dict)


def logical_pointers(facts: Facts) -> LogicalPointers:
    """The logical pointers of a module; none in other addressing models."""
    made = LogicalPointers()
    if facts.addressing_model not in LOGICAL_MODELS:
        return made
    for one in facts.instructions:
        type = facts.declarations.types.get(one.result_type) if one.result else None
        if isinstance(type, Pointer) and type.storage_class != "PhysicalStorageBuffer" and one.name != "OpFunction":
            made.types[one.result] = type
    made.variable = _variable_pointers(facts, made.types)
    if made.variable:
        made.sources = _sources(facts, made.types)
        users = _inverse(made.sources)
        made.within_matrix = _reached(users, (id for id in made.types if _passes_matrix(facts, id)))
        made.block_arrays = _reached(
            {id: [user for user in found if facts.defined_by(user) not in CHAINS] for id, found in users.items()},
            (id for id in made.types if facts.defined_by(id) in VARIABLES and _is_block_array(facts, id)),
        )
        made.origins = _origins(facts, made.types, users)
    return made


def _variable_pointers(facts: Facts, types: Mapping[int, Pointer]) -> set[int]:
    """The pointers that are chosen at run time, and what is made of them."""
    positions = _arguments(facts)
    waiting = [id for id in types if facts.defined_by(id) in CHOOSING]
    found: set[int] = set()
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        found.add(id)
        for use in facts.uses.get(id, ()):
            one = use.instruction
            if one.name == "OpFunctionCall":
                parameters = positions.get(one.id("function"), ())
                given = zip(one.ids("arguments"), parameters, strict=False)
                waiting += [parameter for argument, parameter in given if argument == id and parameter in types]
            elif one.result in types and use.operand.kind == "IdRef":
                waiting.append(one.result)
    return found


def _arguments(facts: Facts) -> Mapping[int, tuple[int, ...]]:
    """The ids of the parameters of each function."""
    return {function.id: tuple(one.result for one in function.parameters) for function in facts.bodies.functions}


def _sources(facts: Facts, types: Mapping[int, Pointer]) -> dict[int, list[int]]:
    made: dict[int, list[int]] = {}
    parameters = _arguments(facts)
    returned: dict[int, list[int]] = {}
    for function in facts.bodies.functions:
        ends = (block.terminator for block in function.blocks)
        returned[function.id] = [end.id("value") for end in ends if end is not None and end.name == "OpReturnValue"]
    for one in facts.instructions:
        if one.malformed is not None:
            continue
        if one.name == "OpFunctionCall":
            given = zip(parameters.get(one.id("function"), ()), one.ids("arguments"), strict=False)
            for parameter, argument in given:
                made.setdefault(parameter, []).append(argument)
        if one.name == "OpStore" and one.id("object") in types:
            root = _root(facts, one.id("pointer"))
            if root:
                made.setdefault(root, []).append(one.id("object"))
        if one.result in types:
            made.setdefault(one.result, []).extend(_made_of(one, returned))
    return made


def _made_of(one: Instruction, returned: Mapping[int, list[int]]) -> list[int]:
    """The pointers that an instruction makes its pointer of."""
    if one.name in CHAINS:
        return [one.id("base")]
    match one.name:
        case "OpPhi":
            return [operand.value for operand in one.operands[2::2] if isinstance(operand.value, int)]
        case "OpSelect":
            return [one.id("object_1"), one.id("object_2")]
        case "OpCopyObject":
            return [one.id("operand")]
        case "OpLoad":
            return [one.id("pointer")]
        case "OpVariable" | "OpUntypedVariableKHR":
            return [one.id("initializer")] if one.get("initializer") else []
        case "OpFunctionCall":
            return returned.get(one.id("function"), [])
    return []


def _root(facts: Facts, pointer: int) -> int:
    """The variable that access chains lead into; 0 where they lead elsewhere."""
    seen: set[int] = set()
    while pointer not in seen:
        seen.add(pointer)
        made = facts.module.definitions.get(pointer)
        if made is None or made.name not in CHAINS | VARIABLES | {"OpCopyObject"}:
            return 0
        if made.name in VARIABLES:
            return pointer
        pointer = made.id("base") or made.id("operand")
    return 0


def _inverse(sources: Mapping[int, list[int]]) -> dict[int, list[int]]:
    users: dict[int, list[int]] = {}
    for id, found in sources.items():
        for source in found:
            users.setdefault(source, []).append(id)
    return users


def _reached(users: Mapping[int, list[int]], start: Iterator[int]) -> set[int]:
    """The pointers that are made of some, these included."""
    waiting, found = list(start), set[int]()
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += users.get(id, ())
    return found


def _origins(facts: Facts, types: Mapping[int, Pointer], users: Mapping[int, list[int]]) -> dict[int, frozenset[int]]:
    found: dict[int, frozenset[int]] = {}
    waiting = []
    for id, type in types.items():
        if facts.defined_by(id) in VARIABLES and type.storage_class in ("StorageBuffer", "Workgroup"):
            found[id] = frozenset({id})
            waiting.append(id)
    while waiting:
        id = waiting.pop()
        for user in users.get(id, ()):
            before = found.get(user, frozenset())
            after = before | found[id]
            if len(before) < 2 and after != before:
                found[user] = frozenset(sorted(after)[:2])
                waiting.append(user)
    return found


def _passes_matrix(facts: Facts, id: int) -> bool:
    """Whether an access chain starts at a matrix, or comes through one."""
    one = facts.module.definitions[id]
    if one.name not in CHAINS:
        return False
    try:
        typed = one.get("base_type") is None
        type: Type = facts.pointee(facts.type_of(one.id("base"))) if typed else facts.type(one.id("base_type"))
        for index in one.ids("indexes"):
            if isinstance(type, Matrix):
                return True
            element = element_of(type)
            if element is None:
                if not isinstance(type, Struct):
                    return False
                element = member_type(facts, type, facts.integer(index))
            type = element
    except Undetermined:
        return False
    return isinstance(type, Matrix)


def _is_block_array(facts: Facts, variable: int) -> bool:
    try:
        return is_block_array(facts, data_type_of(facts, variable))
    except Undetermined:
        return False


def is_block_array(facts: Facts, type: Type) -> bool:
    """Whether a type is an array of structs with Block or BufferBlock."""
    if not isinstance(type, Array | RuntimeArray) or not isinstance(type.element, Struct):
        return False
    return any(facts.annotations.has(type.element.id, name) for name in BLOCK_DECORATIONS)


def has_matrix(facts: Facts, type: Type) -> bool:
    """Whether a type is or contains a matrix."""
    return contains(facts, type, lambda part: isinstance(part, Matrix))
