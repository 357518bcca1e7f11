"""Rules about functions: their types and parameters, calls, what they return, and recursion (SPIR-V 2.4, 3.42.9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Function, called_from
from girih.spirv.model.memory.logical_pointers import LOGICAL_MODELS, variable_pointers
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    Subject,
    Term,
    names_type,
    present,
    satisfies,
)  # fmt: skip
from girih.spirv.types import FunctionType, Pointer, Type, Void

PASSED = frozenset({
    "UniformConstant", "Function", "Private", "Workgroup", "AtomicCounter", "TileImageEXT", "ShaderRecordBufferKHR",
    "StorageBuffer", "PhysicalStorageBuffer",
})  # fmt: skip
"""Storage classes of pointers that calls pass in logical addressing (SPIR-V 2.16.1)."""

MEMORY_OBJECTS = frozenset({"OpVariable", "OpUntypedVariableKHR", "OpFunctionParameter"})
"""The declarations of memory objects (SPIR-V 2.2.2)."""


def function_type_of(facts: Facts, function: int) -> FunctionType:
    """The type of a function. Raises `Undetermined` where the id is no function, or its type none of functions."""
    declared = facts.definition(function)
    type = facts.type(declared.id("function_type")) if declared.name == "OpFunction" else None
    if not isinstance(type, FunctionType):
        raise Undetermined
    return type


def positions(facts: Facts) -> Mapping[int, tuple[Function, int]]:
    """The function of each parameter and its place there, from 0, by the parameter's id."""
    return {
        one.result: (function, place)
        for function in facts.bodies.functions
        for place, one in enumerate(function.parameters)
    }


def _parameter_types(facts: Facts, type: FunctionType) -> list[Type]:
    ids = facts.definition(type.id).ids("parameters")
    if len(ids) != len(type.parameters):
        raise Undetermined
    return [known or facts.type(id) for known, id in zip(type.parameters, ids, strict=False)]


def _called(subject: Subject[Facts]) -> FunctionType:
    return function_type_of(subject.facts, present(subject, "function"))


def _no_function(subject: Subject[Facts]) -> str | None:
    made: str = subject.facts.definition(present(subject, "function")).name
    return None if made == "OpFunction" else f"a result of {made}"


def _pairs(subject: Subject[Facts]) -> Iterator[tuple[int, Type, Type]]:
    """The arguments of a call with their types and those of the parameters."""
    facts: Facts = subject.facts
    parameters = _parameter_types(facts, _called(subject))
    for id, wanted in zip(subject.op.ids("arguments"), parameters, strict=False):
        yield id, facts.type_of(id), wanted


def _argument_type(subject: Subject[Facts]) -> str | None:
    for number, (_, given, wanted) in enumerate(_pairs(subject)):
        if given is not wanted:
            return f"argument {number} is {given.words}, the parameter is {wanted.words}"
    return None


def _passed_pointers(subject: Subject[Facts]) -> Iterator[tuple[int, int, Pointer]]:
    """The logical pointers among the arguments of a call: number, id and the type of the parameter."""
    if subject.facts.addressing_model not in LOGICAL_MODELS:
        return
    for number, (id, _, wanted) in enumerate(_pairs(subject)):
        if isinstance(wanted, Pointer) and wanted.storage_class != "PhysicalStorageBuffer":
            yield number, id, wanted


def _argument_storage(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    for number, _, wanted in _passed_pointers(subject):
        storage = wanted.storage_class
        if storage not in PASSED:
            return f"argument {number} in {storage}"
        if storage == "StorageBuffer" and not facts.has("VariablePointersStorageBuffer"):
            return f"argument {number} in {storage} without capability VariablePointersStorageBuffer"
    return None


def _argument_object(subject: Subject[Facts]) -> str | None:
    facts: Facts = subject.facts
    for number, id, wanted in _passed_pointers(subject):
        made, storage = facts.definition(id).name, wanted.storage_class
        if made not in MEMORY_OBJECTS and storage != "UniformConstant" and not variable_pointers(facts, storage):
            return f"argument {number}, which {made} makes"
    return None


def _function_at(subject: Subject[Facts]) -> Function:
    function = subject.facts.function_of(subject.op)
    if function is None:
        raise Undetermined
    return function


def _parameter_count(subject: Subject[Facts]) -> int:
    """The parameters of a function; undetermined for one without any that nothing calls."""
    function = _function_at(subject)
    if not function.parameters and function.id not in subject.facts.once(called_functions):
        raise Undetermined
    return len(function.parameters)


def _declared_type(subject: Subject[Facts]) -> FunctionType:
    """The type of the function that an instruction stands in, or declares."""
    return function_type_of(subject.facts, _function_at(subject).id)


def _place(subject: Subject[Facts]) -> tuple[Function, int]:
    places = subject.facts.once(positions)
    found: tuple[Function, int] | None = places.get(subject.op.result)
    if found is None:
        raise Undetermined
    return found


def _parameter_type(subject: Subject[Facts]) -> Type:
    function, place = _place(subject)
    types = _parameter_types(subject.facts, function_type_of(subject.facts, function.id))
    if place >= len(types):
        raise Undetermined
    return types[place]


def _returned_value(subject: Subject[Facts]) -> str | None:
    made: Instruction = subject.facts.definition(present(subject, "value"))
    if not made.result_type:
        return f"a result of {made.name}, which has no type"
    type: Type = subject.facts.type(made.result_type)
    return "void" if isinstance(type, Void) else None


def called_functions(facts: Facts) -> frozenset[int]:
    """The ids of functions that a call names."""
    calls = (one for one in facts.instructions if one.name == "OpFunctionCall" and not one.malformed)
    return frozenset(one.id("function") for one in calls)


def endless_functions(facts: Facts) -> frozenset[int]:
    """The ids of functions whose calls may not end: those of a circle of calls, and those that lead into one."""
    functions = facts.bodies.functions
    known = {function.id for function in functions}
    callers: dict[int, list[int]] = {id: [] for id in known}
    called: dict[int, int] = {}
    for function in functions:
        others = {id for block in function.blocks for one in block.body for id in _calls(one)} & known
        called[function.id] = len(others)
        for id in others:
            callers[id].append(function.id)
    ending = [id for id, count in called.items() if count == 0]
    while ending:
        id = ending.pop()
        known.discard(id)
        for caller in callers[id]:
            called[caller] -= 1
            if called[caller] == 0:
                ending.append(caller)
    return frozenset(known)


def _recursion(subject: Subject[Facts]) -> str | None:
    facts, entry = subject.facts, present(subject, "entry_point")
    if entry not in facts.once(endless_functions):
        return None
    reached = called_from(entry, facts.bodies.functions)
    circle = [id for id in reached if _calls_itself(facts, id)]
    names = [facts.annotations.names[id] for id in circle if id in facts.annotations.names]
    return "a circle of calls" + (f": {', '.join(names)}" if names else "")


def _calls_itself(facts: Facts, id: int) -> bool:
    """Whether a call of a function may lead back to it."""
    function = next(function for function in facts.bodies.functions if function.id == id)
    called = {other for block in function.blocks for one in block.body for other in _calls(one)}
    return any(id in called_from(other, facts.bodies.functions) for other in called)


def _calls(one: Instruction) -> tuple[int, ...]:
    """The function of a plain call; circles through operands of cooperative matrices have rules of their own."""
    return (one.id("function"),) if one.name == "OpFunctionCall" else ()


def _entry_called(subject: Subject[Facts]) -> str | None:
    return "a call of it" if present(subject, "entry_point") in subject.facts.once(called_functions) else None


_ARGUMENTS = Term("number of Arguments", lambda s: len(s.op.ids("arguments")))
_CALLED = Term("the function's return type", lambda s: s.facts.type_of(present(s, "function")))
_VALUE_TYPE = Term("the type of Value", lambda s: s.facts.type_of(present(s, "value")))
_RETURNED = Term("the function's return type", lambda s: s.facts.type(_function_at(s).declaration.result_type))

FAMILIES = (
    family(
        "OpFunction",
        rule("function_type", "function_type",
             names_type("function_type", "is a type of functions", lambda type: isinstance(type, FunctionType)),
             "a type of functions", "SPIR-V 3.42.9"),
        rule("result", "result_type function_type",
             Equal(RESULT_TYPE, Term("the type's return type", lambda s: _declared_type(s).returned)),
             "the return type of the function type", "SPIR-V 3.42.9"),
        rule("parameters", "function_type",
             Equal(Term("number of OpFunctionParameter", _parameter_count),
                   Term("parameters of Function Type", lambda s: len(_declared_type(s).parameters))),
             "as many OpFunctionParameter as the type has parameters", "SPIR-V 2.4",
             beyond="spirv-val counts the parameters of calls and the surplus ones"),
    ),
    family(
        "OpFunctionParameter",
        rule("result", "result_type", Equal(RESULT_TYPE, Term("the parameter of Function Type", _parameter_type)),
             "the type that the function type has for this parameter", "SPIR-V 3.42.9"),
    ),
    family(
        "OpFunctionCall",
        rule("function", "function", Finds("Function is an OpFunction", _no_function), "a function", "SPIR-V 3.42.9"),
        rule("result", "result_type", Equal(RESULT_TYPE, _CALLED),
             "the return type of the function", "SPIR-V 3.42.9"),
        rule("argument_count", "arguments",
             Equal(_ARGUMENTS, Term("parameters of the function", lambda s: len(_called(s).parameters))),
             "as many arguments as the function has parameters", "SPIR-V 3.42.9"),
        rule("argument_types", "arguments", Finds("each argument is of its parameter's type", _argument_type),
             "arguments of the types of the parameters", "SPIR-V 3.42.9"),
        rule("argument_storage", "arguments", Finds("pointers that calls pass", _argument_storage),
             "pointers in UniformConstant, Function, Private, Workgroup or AtomicCounter, or with variable pointers in"
             " StorageBuffer", "SPIR-V 2.16.1",
             hint="copy what the pointer points to into a variable of the function, and pass that"),
        rule("argument_object", "arguments", Finds("pointers are variables or parameters", _argument_object),
             "as pointer a variable or a parameter, not a pointer into one", "SPIR-V 2.16.1",
             hint="copy what the pointer points to into a variable of the function, and pass that"),
    ),
    family(
        "OpReturnValue",
        rule("returned", "value", Finds("Value has a type and is not void", _returned_value), "a value",
             "SPIR-V 3.42.17"),
        rule("returned_type", "value", Equal(_VALUE_TYPE, _RETURNED), "a value of the function's return type",
             "SPIR-V 3.42.17"),
    ),
    family(
        "OpReturn",
        rule("void", "", satisfies(_RETURNED, "is void", lambda type: isinstance(type, Void)),
             "OpReturnValue: the function returns a value", "SPIR-V 3.42.17"),
    ),
    family(
        "OpEntryPoint",
        rule("called", "entry_point", Finds("no call of the entry point", _entry_called),
             "a function that no OpFunctionCall names", "SPIR-V 2.16.1"),
        rule("recursion", "entry_point", Finds("calls end", _recursion),
             "functions that do not call themselves, nor each other in a circle",
             "VUID-StandaloneSpirv-None-04634", vulkan=True),
    ),
)  # fmt: skip
