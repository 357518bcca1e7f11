"""Rules about pointers wherever they stand: logical and variable pointers, storage classes of execution models."""

from __future__ import annotations

from collections.abc import Callable

from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, Faults
from girih.spirv.model.memory.logical_pointers import (
    LogicalPointers,
    has_matrix,
    is_block_array,
    logical_pointers,
    variable_pointers,
)
from girih.spirv.model.memory.storage_models import storage_faults
from girih.spirv.rules.row import INSTRUCTION, SpirvRow, family, rule
from girih.spirv.rules.terms import Analysed
from girih.spirv.types import Float, Pointer, Vector

COMPUTING = frozenset({
    "Conversion", "Arithmetic", "Relational_and_Logical", "Bit", "Composite", "Derivative", "Group", "Non-Uniform",
    "Barrier", "Primitive", "Control-Flow",
})  # fmt: skip
"""Classes of instructions that take values, not pointers, with the exceptions below."""

JUDGED = frozenset({"OpConvertPtrToU", "OpConvertUToPtr"})
"""Instructions about addresses, whose own rules say which pointers have one."""

TAKING = frozenset({"OpCopyObject", *JUDGED})
TAKING_VARIABLE = frozenset({
    "OpReturnValue", "OpPtrAccessChain", "OpSelect", "OpPhi", "OpVariable", "OpUntypedPtrAccessChainKHR",
})  # fmt: skip
"""Instructions that take variable pointers, and no other logical ones. Comparisons have a rule of their own."""

GIVING = frozenset({"OpCopyObject", "OpUndef", *JUDGED})
GIVING_VARIABLE = frozenset({
    "OpSelect", "OpPhi", "OpFunctionCall", "OpPtrAccessChain", "OpLoad", "OpConstantNull", "OpFunction",
    "OpUntypedPtrAccessChainKHR",
})  # fmt: skip
"""Instructions that make variable pointers, and no other logical ones."""

NEVER = frozenset({"OpInBoundsPtrAccessChain", "OpUntypedInBoundsPtrAccessChainKHR", "OpGenericPtrMemSemantics"})
"""Instructions about memory that neither take nor make logical pointers."""


def logical_faults(facts: Facts) -> FaultList:
    """What a module does with logical pointers and may not."""
    found = FaultList()
    pointers = facts.once(logical_pointers)
    for one in facts.instructions:
        if one.malformed is None and one.spec is not None:
            _check_operands(facts, pointers, one, found)
            _check_result(facts, pointers, one, found)
    for id in pointers.variable:
        _check_variable_pointer(facts, pointers, facts.module.definitions[id], found)
    return found


def _check_operands(facts: Facts, pointers: LogicalPointers, one: Instruction, found: FaultList) -> None:
    assert one.spec is not None
    name, types = one.name, pointers.types
    chosen = name in TAKING_VARIABLE
    if not chosen and name not in NEVER and (one.spec.family not in COMPUTING or name in TAKING):
        if name in ("OpArrayLength", "OpUntypedArrayLengthKHR", "OpLoad", "OpStore"):
            _check_access(facts, pointers, one, found)
        return
    for operand in one.operands:
        pointer = types.get(operand.value) if operand.is_id and isinstance(operand.value, int) else None
        if pointer is None or (chosen and variable_pointers(facts, pointer.storage_class)):
            continue
        found.add("logical_operand", one.index, Fault(pointer.words, (operand,), _hint(pointer) if chosen else None))
        return


def _check_access(facts: Facts, pointers: LogicalPointers, one: Instruction, found: FaultList) -> None:
    """Variable pointers have no array length; untyped ones load and store no matrices."""
    length = one.name.endswith(("ArrayLength", "ArrayLengthKHR"))
    name = "structure" if one.name == "OpArrayLength" else "pointer"
    operand = one.operand(name)
    if operand is None or not isinstance(operand.value, int) or operand.value not in pointers.variable:
        return
    if length:
        made = facts.defined_by(operand.value)
        found.add("variable_length", one.index, Fault(f"one that {made} makes", (operand,)))
    elif pointers.types[operand.value].pointee_id == 0:
        stored = facts.module.definitions.get(one.id("object"))
        data = one.result_type or (stored.result_type if stored else 0)
        type = facts.declarations.types.get(data)
        if type is not None and has_matrix(facts, type):
            found.add("variable_matrix", one.index, Fault(f"{type.words}", (operand,)))


def _check_result(facts: Facts, pointers: LogicalPointers, one: Instruction, found: FaultList) -> None:
    assert one.spec is not None
    type = pointers.types.get(one.result) if one.result else None
    if one.name == "OpFunction" and pointers.types is not None:
        returned = facts.declarations.types.get(one.result_type)
        type = returned if isinstance(returned, Pointer) and _is_logical(facts, returned) else None
    if type is None:
        return
    if one.name in GIVING_VARIABLE:
        if not variable_pointers(facts, type.storage_class):
            found.add("logical_result", one.index, Fault(type.words, _result(one), _hint(type)))
    elif one.name in NEVER or (one.spec.family in COMPUTING and one.name not in GIVING):
        found.add("logical_result", one.index, Fault(type.words, _result(one)))


def _is_logical(facts: Facts, type: Pointer) -> bool:
    logical = facts.addressing_model in ("Logical", "PhysicalStorageBuffer64")
    return logical and type.storage_class != "PhysicalStorageBuffer"


def _result(one: Instruction) -> tuple[Operand, ...]:
    operand = one.operand("result_type")
    return (operand,) if operand else ()


def _hint(type: Pointer) -> str | None:
    names = {"StorageBuffer": "VariablePointersStorageBuffer", "Workgroup": "VariablePointers"}
    name = names.get(type.storage_class)
    return f"declare capability {name}" if name else None


def _check_variable_pointer(facts: Facts, pointers: LogicalPointers, one: Instruction, found: FaultList) -> None:
    """What a variable pointer may not point to, and what it may not choose between."""
    id, type = one.result, pointers.types[one.result]
    choosing = one.name in ("OpSelect", "OpPhi")
    if choosing and not facts.has("VariablePointers") and len(pointers.origins.get(id, ())) > 1:
        fault = Fault("pointers into two variables", (), "declare capability VariablePointers")
        found.add("variable_origin", one.index, fault)
    if not type.pointee_id:
        if id in pointers.within_matrix:
            found.add("variable_matrix", one.index, Fault("a pointer into a matrix", _result(one)))
        if id in pointers.block_arrays:
            found.add("variable_blocks", one.index, Fault("a pointer to an array of blocks", _result(one)))
        return
    try:
        pointee = facts.pointee(type)
    except Undetermined:
        return
    scalar = pointee.component if isinstance(pointee, Vector) else pointee
    if is_block_array(facts, pointee):
        found.add("variable_blocks", one.index, Fault("a pointer to an array of blocks", _result(one)))
    elif has_matrix(facts, pointee):
        found.add("variable_matrix", one.index, Fault(f"a pointer to {pointee.words}", _result(one)))
    elif isinstance(scalar, Float) and id in pointers.within_matrix:
        found.add("variable_matrix", one.index, Fault("a pointer into a matrix", _result(one)))


def _row(
    id: str,
    says: str,
    source: str = "SPIR-V 2.16.1",
    faults: Callable[[Facts], FaultList] = logical_faults,
    *,
    vulkan: bool = False,
) -> SpirvRow:
    def analysis(facts: Facts) -> Faults:
        return facts.once(faults).of(id)

    return rule(id, "", Analysed(says, analysis), says, source, vulkan=vulkan)


FAMILIES = (
    family(
        INSTRUCTION,
        _row("logical_operand", "no logical pointer, but variable pointers where they may be used"),
        _row("logical_result", "no logical pointer as result, but variable pointers where they may be made"),
        _row("variable_length", "a pointer that is not a variable pointer"),
        _row("variable_origin", "variable pointers into one variable, without capability VariablePointers"),
        _row("variable_matrix", "a variable pointer to what has no matrix and is in none"),
        _row("storage_model", "a storage class that the execution model has", "SPIR-V 3.7", storage_faults),
        _row("storage_model_vulkan", "a storage class that Vulkan's execution model has",
             "VUID-StandaloneSpirv-None-04644", storage_faults, vulkan=True),
        _row("variable_blocks", "a variable pointer to one block, not to an array of blocks"),
    ),
)  # fmt: skip
