"""Rules about variables: where they may stand, what they hold, and how they are initialised (SPIR-V 3.42.8, 2.16)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import called_from
from girih.spirv.model.memory.logical_pointers import LOGICAL_MODELS, variable_pointers
from girih.spirv.model.parts import data_type_of, member_type, parts_of, unwrapped
from girih.spirv.rules.memory.words import TYPED_RESULT, UNTYPED_RESULT, a_type
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    OnlyWhere,
    Predicate,
    Subject,
    Term,
    enumerant,
    one_of,
    present,
    satisfies,
    type_of,
)
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
)
from girih.spirv.values import CONSTANTS, SPEC_CONSTANTS
from girih.spirv.vocabulary import IMAGE_TYPES, LAID_OUT, RESOURCES, VARIABLES

STORAGE = enumerant("storage_class", "StorageClass")

DATA = Term("the type of the variable", lambda s: data_type_of(s.facts, s.op.result))

LOCAL = ("Function", "Private")
"""Storage classes of what one invocation has for itself."""

WITHOUT_INITIALIZER = frozenset({
    "Input", "TaskPayloadWorkgroupEXT", "HitObjectAttributeNV", "HitObjectAttributeEXT",
})  # fmt: skip

WITHOUT_BOOL = frozenset({"Uniform", "StorageBuffer", "PushConstant", "PhysicalStorageBuffer", "AtomicCounter", "Image",
                          "Generic", "ShaderRecordBufferKHR", "Input", "Output"})  # fmt: skip
"""Storage classes that are seen from outside the shader: a boolean has no bits there (SPIR-V 2.16.1)."""

HANDLES = frozenset({
    *IMAGE_TYPES, "OpTypeTensorARM", "OpTypeAccelerationStructureKHR",
})  # fmt: skip

FITTING: Mapping[str, tuple[str | None, str | None]] = {
    "StorageBuffer": ("StorageBuffer8BitAccess", "StorageBuffer16BitAccess"),
    "PhysicalStorageBuffer": ("StorageBuffer8BitAccess", "StorageBuffer16BitAccess"),
    "Uniform": ("UniformAndStorageBuffer8BitAccess", "UniformAndStorageBuffer16BitAccess"),
    "PushConstant": ("StoragePushConstant8", "StoragePushConstant16"),
    "Input": (None, "StorageInputOutput16"),
    "Output": (None, "StorageInputOutput16"),
    "Workgroup": ("WorkgroupMemoryExplicitLayout8BitAccessKHR", "WorkgroupMemoryExplicitLayout16BitAccessKHR"),
}
"""The capabilities with which a storage class holds 8-bit and 16-bit numbers (SPIR-V 3.31)."""


def _is_local(subject: Subject[Facts]) -> bool:
    return STORAGE.value(subject) in LOCAL


def _in(*names: str) -> Callable[[Subject[Facts]], bool]:
    return lambda subject: STORAGE.value(subject) in names


def _initialised(subject: Subject[Facts]) -> bool:
    return subject.op.get("initializer") is not None


def _bad_initializer(subject: Subject[Facts]) -> str | None:
    """What an initializer is that is neither a constant nor a variable of the module."""
    facts, id = subject.facts, subject.op.id("initializer")
    if not id:
        return None
    made = facts.definition(id)
    if made.name in CONSTANTS or made.name in SPEC_CONSTANTS or made.name.startswith(("OpConstant", "OpSpecConstant")):
        return None
    if made.name in VARIABLES and STORAGE.value(Subject(made, facts)) != "Function":
        return None
    return f"a result of {made.name}"


def _initializer_storage(subject: Subject[Facts]) -> str | None:
    storage: str = STORAGE.value(subject)
    return storage if _initialised(subject) and storage not in ("Output", "Workgroup", *LOCAL) else None


def _workgroup_initializer(subject: Subject[Facts]) -> str | None:
    if not _initialised(subject) or STORAGE.value(subject) != "Workgroup":
        return None
    made: str = subject.facts.definition(present(subject, "initializer")).name
    return None if made == "OpConstantNull" else f"a result of {made}"


def _initializer_nowhere(subject: Subject[Facts]) -> str | None:
    storage: str = STORAGE.value(subject)
    return storage if _initialised(subject) and storage in WITHOUT_INITIALIZER else None


def _visible_bool(subject: Subject[Facts]) -> str | None:
    """A boolean in memory that is seen from outside the shader; built-in variables may be booleans."""
    facts, storage = subject.facts, STORAGE.value(subject)
    if storage not in WITHOUT_BOOL:
        return None
    built_in = storage in ("Input", "Output")
    if built_in and facts.annotations.has(subject.op.result, "BuiltIn"):
        return None
    for part in parts_of(facts, DATA.value(subject)):
        if built_in and _is_built_in(facts, part):
            return None
        if isinstance(part, Bool):
            return f"a boolean in {storage}"
    return None


def _is_built_in(facts: Facts, type: Type) -> bool:
    return any(one.name == "BuiltIn" for one in facts.annotations.by_target.get(type.id, ()))


def _place(subject: Subject[Facts]) -> str | None:
    inside = subject.facts.function_of(subject.op) is not None
    storage: str = STORAGE.value(subject)
    if inside == (storage == "Function"):
        return None
    return f"{storage} {'inside' if inside else 'outside'} a function"


def _held_pointer(subject: Subject[Facts]) -> str | None:
    """A pointer that a variable holds and that the module may not store."""
    facts: Facts = subject.facts
    for part in _logical_pointers(subject):
        if not variable_pointers(facts, part.storage_class):
            return part.words
    return None


def _logical_pointers(subject: Subject[Facts]) -> Iterator[Pointer]:
    """The pointers without an address in what a variable holds."""
    facts: Facts = subject.facts
    if facts.addressing_model not in LOGICAL_MODELS:
        return
    for part in parts_of(facts, DATA.value(subject)):
        if isinstance(part, Pointer) and part.storage_class != "PhysicalStorageBuffer":
            yield part


def _pointers_elsewhere(subject: Subject[Facts]) -> str | None:
    return None if _is_local(subject) or not any(_logical_pointers(subject)) else str(STORAGE.value(subject))


def _only_locally(test: Callable[[Type], bool]) -> Callable[[Subject[Facts]], str | None]:
    """A search for a part of a variable that only Function and Private may hold."""

    def search(subject: Subject[Facts]) -> str | None:
        if _is_local(subject):
            return None
        part = next((part for part in parts_of(subject.facts, DATA.value(subject)) if test(part)), None)
        return f"{part.words} in {STORAGE.value(subject)}" if part else None

    return search


def _is_matrix(type: Type) -> bool:
    return isinstance(type, CooperativeMatrix) or (
        isinstance(type, Opaque) and type.name == "OpTypeCooperativeMatrixNV"
    )


def _is_cooperative_vector(subject: Subject[Facts]) -> str | None:
    """A vector with a count by id where it may not stand: long vectors may stand in more storage classes."""
    if subject.facts.has("LongVectorEXT"):
        return None
    return _only_locally(lambda part: isinstance(part, Vector) and part.cooperative)(subject)


def _is_tiny(type: Type) -> bool:
    """Whether a type is a float of less than a byte."""
    return isinstance(type, Float) and type.width < 8


WITH_LAYOUT = LAID_OUT | {"ShaderRecordBufferKHR"}


def _long_vector(subject: Subject[Facts]) -> str | None:
    """A vector of more than four components where long vectors may not stand."""
    if not subject.facts.has("LongVectorEXT") or STORAGE.value(subject) in (*WITH_LAYOUT, *LOCAL, "Workgroup"):
        return None
    for part in parts_of(subject.facts, DATA.value(subject)):
        if isinstance(part, Vector) and (part.count or 0) > 4:
            return f"{part.words} in {STORAGE.value(subject)}"
    return None


def _long_vector_count(subject: Subject[Facts]) -> str | None:
    """A vector whose count is a specialisation constant, where the layout must be known."""
    facts, type, storage = subject.facts, DATA.value(subject), STORAGE.value(subject)
    in_block = storage == "Workgroup" and facts.annotations.has(type.id, "Block")
    if not facts.has("LongVectorEXT") or not (storage in WITH_LAYOUT or in_block):
        return None
    for part in parts_of(facts, type):
        if isinstance(part, Vector) and part.cooperative:
            count = facts.definition(part.id).id("component_count")
            if facts.is_specialised(count):
                return f"{part.words} by a specialisation constant"
    return None


def _buffer_type(subject: Subject[Facts]) -> str | None:
    type = DATA.value(subject)
    return None if isinstance(unwrapped(type), Struct) else str(type.words)


def _push_constant_type(subject: Subject[Facts]) -> str | None:
    type: Type = DATA.value(subject)
    return None if isinstance(type, Struct) else type.words


def _handle_type(subject: Subject[Facts]) -> str | None:
    type: Type = DATA.value(subject)
    inner = unwrapped(type)
    return None if isinstance(inner, Opaque) and inner.name in HANDLES else type.words


def _no_block(subject: Subject[Facts]) -> str | None:
    """The decoration that the struct of a resource lacks."""
    facts: Facts = subject.facts
    storage, type = STORAGE.value(subject), DATA.value(subject)
    struct = type if storage == "PushConstant" else unwrapped(type)
    if not isinstance(struct, Struct):
        raise Undetermined
    wanted = ("Block", "BufferBlock") if storage == "Uniform" else ("Block",)
    if any(facts.annotations.has(struct.id, name) for name in wanted):
        return None
    old = facts.annotations.has(struct.id, "BufferBlock")
    return f"a struct with BufferBlock in {storage}" if old else f"a struct without it in {storage}"


def _invariant(subject: Subject[Facts]) -> str | None:
    """Invariant on a variable that no stage of a pipeline passes on, or on a member of its struct."""
    facts, storage = subject.facts, STORAGE.value(subject)
    if storage in ("Input", "Output"):
        return None
    wrong = facts.annotations.has(subject.op.result, "Invariant")
    if not wrong and subject.op.get("data_type" if "Untyped" in subject.op.name else "result_type"):
        decorations = facts.annotations.by_target.get(DATA.value(subject).id, ())
        wrong = any(one.name == "Invariant" for one in decorations)
    return f"Invariant in {storage}" if wrong else None


def _runtime_array(subject: Subject[Facts]) -> str | None:
    """A runtime array that a variable is, where descriptors are not unbounded."""
    type, storage = DATA.value(subject), STORAGE.value(subject)
    if not isinstance(type, RuntimeArray):
        return None
    if not subject.facts.has("RuntimeDescriptorArray"):
        return "a runtime array without capability RuntimeDescriptorArray"
    return None if storage in RESOURCES else f"a runtime array in {storage}"


def _runtime_array_struct(subject: Subject[Facts]) -> str | None:
    """A struct that ends in a runtime array, where its size is not known from a buffer."""
    facts, type, storage = subject.facts, DATA.value(subject), STORAGE.value(subject)
    if not isinstance(type, Struct):
        return None
    members = (member_type(facts, type, index) for index in range(len(type.members)))
    if not any(isinstance(member, RuntimeArray) for member in members) or storage == "Uniform":
        return None
    if storage not in ("StorageBuffer", "PhysicalStorageBuffer"):
        return f"{storage}"
    return None if facts.annotations.has(type.id, "Block") else f"{storage}, and a struct without Block"


def _small(width: int) -> Callable[[Subject[Facts]], str | None]:
    """A search for numbers of a width that the module neither computes with nor stores in that storage class."""

    def search(subject: Subject[Facts]) -> str | None:
        facts: Facts = subject.facts
        if not facts.has("Shader"):
            return None
        restricted = {(Int, 8): "Int8", (Int, 16): "Int16", (Float, 16): "Float16"}

        def is_wrong(part: Type) -> bool:
            if not isinstance(part, Int | Float) or part.width != width:
                return False
            plain = not isinstance(part, Float) or part.encoding is None
            capability = restricted.get((type(part), width))
            return plain and capability is not None and not facts.has(capability)

        part = next((part for part in parts_of(facts, DATA.value(subject)) if is_wrong(part)), None)
        storage = STORAGE.value(subject)
        return None if part is None or _fits(subject, storage, width) else f"{part.words} in {storage}"

    return search


def _fits(subject: Subject[Facts], storage: str, width: int) -> bool:
    """Whether a storage class holds numbers of 8 or 16 bits, by the module's capabilities."""
    facts: Facts = subject.facts
    eight, sixteen = FITTING.get(storage, (None, None))
    capability = eight if width == 8 else sixteen
    if capability is None:
        return False
    if facts.has(capability):
        return True
    if storage != "Uniform":
        return False
    struct = unwrapped(DATA.value(subject))
    buffers = "StorageBuffer8BitAccess" if width == 8 else "StorageBuffer16BitAccess"
    return facts.has(buffers) and facts.annotations.has(struct.id, "BufferBlock")


def _small_hint(width: int) -> Callable[[Subject[Facts]], str | None]:
    def hint(subject: Subject[Facts]) -> str | None:
        eight, sixteen = FITTING.get(STORAGE.value(subject), (None, None))
        capability = eight if width == 8 else sixteen
        return f"declare capability {capability}" if capability else None

    return hint


def _second_push_constants(subject: Subject[Facts]) -> str | None:
    name: str | None = subject.facts.once(surplus_push_constants).get(subject.op.result)
    return f"a second one of entry point {name}" if name is not None else None


def surplus_push_constants(facts: Facts) -> Mapping[int, str]:
    """The variables in PushConstant that an entry point uses besides an earlier one, with that entry point's name."""
    wanted = grammar().kinds["StorageClass"].value("PushConstant")
    variables = [
        one for one in facts.instructions
        if one.name in VARIABLES and not one.malformed and one.id("storage_class") == wanted
    ]  # fmt: skip
    surplus: dict[int, str] = {}
    if len(variables) < 2 or facts.has("PushConstantBanksNV"):
        return surplus
    users = {one.result: _using_functions(facts, one) for one in variables}
    for entry in facts.entry_points:
        reached = called_from(entry.function, facts.bodies.functions)
        used = [one.result for one in variables if not users[one.result].isdisjoint(reached)]
        for id in used[1:]:
            surplus.setdefault(id, entry.name)
    return surplus


def _using_functions(facts: Facts, variable: Instruction) -> frozenset[int]:
    functions = (facts.function_of(use.instruction) for use in facts.uses.get(variable.result, ()))
    return frozenset(function.id for function in functions if function is not None)


def _no_data_type(subject: Subject[Facts]) -> str | None:
    without = subject.op.get("data_type") is None
    return (
        f"{STORAGE.value(subject)} without one" if without and STORAGE.value(subject) in (*LOCAL, "Workgroup") else None
    )


def _no_data_type_in_vulkan(subject: Subject[Facts]) -> str | None:
    without = subject.op.get("data_type") is None
    return f"{STORAGE.value(subject)} without one" if without and STORAGE.value(subject) != "UniformConstant" else None


def _untyped_workgroup(subject: Subject[Facts]) -> str | None:
    """A type that has no layout in Workgroup, where untyped pointers need one."""
    facts: Facts = subject.facts
    if STORAGE.value(subject) != "Workgroup" or not facts.has("Shader"):
        return None
    listed = any(subject.op.result in entry.interface for entry in facts.entry_points)
    if not listed and not facts.is_vulkan:
        return None
    type: Type = DATA.value(subject)
    if isinstance(type, Struct) and facts.annotations.has(type.id, "Block"):
        return None
    return type.words


def _no_heap(subject: Subject[Facts]) -> str | None:
    """An untyped variable of handles that is not a heap of descriptors."""
    if subject.op.get("data_type") is not None or STORAGE.value(subject) != "UniformConstant":
        return None
    kind = grammar().kinds["BuiltIn"]
    built_in = subject.facts.annotations.parameter(subject.op.result, "BuiltIn")
    heaps = [kind.value(name) for name in ("SamplerHeapEXT", "ResourceHeapEXT") if name in kind.by_name]
    return None if built_in in heaps else "UniformConstant without one"


def _needs(
    words: str, where: Callable[[Subject[Facts]], bool], find: Callable[[Subject[Facts]], str | None]
) -> Predicate:
    return OnlyWhere(words, where, Finds("the type fits", find))


def _type(id: str, says: str, find: Callable[[Subject[Facts]], str | None], source: str, *,
          vulkan: bool = False, beyond: str | None = None,
          hint: str | Callable[[Subject[Facts]], str | None] | None = None) -> SpirvRow:  # fmt: skip
    """A rule about the type of what a variable holds."""
    return rule(id, "result_type data_type", Finds(says, find), says, source, vulkan=vulkan, beyond=beyond, hint=hint)


def _pointer(subject: Subject[Facts]) -> Pointer:
    type = RESULT_TYPE.value(subject)
    if not isinstance(type, Pointer):
        raise Undetermined
    return type


FAMILIES = (
    family("OpVariable", rule("result", "result_type", TYPED_RESULT, "a pointer to a type as result",
                              "SPIR-V 3.42.8")),
    family(
        "OpUntypedVariableKHR",
        rule("result", "result_type", UNTYPED_RESULT, "an untyped pointer as result", "SPV_KHR_untyped_pointers"),
        rule("is_type", "data_type", a_type("data_type"), "a type as data type", "SPV_KHR_untyped_pointers"),
        rule("data_type", "storage_class", Finds("a data type", _no_data_type),
             "a data type, which Function, Private and Workgroup need", "SPV_KHR_untyped_pointers"),
        rule("data_type_vulkan", "storage_class", Finds("a data type", _no_data_type_in_vulkan),
             "a data type, which Vulkan needs but in UniformConstant",
             "VUID-StandaloneSpirv-OpUntypedVariableKHR-11167", vulkan=True),
        _type("untyped_workgroup", "a struct decorated with Block in Workgroup", _untyped_workgroup,
              "SPV_KHR_untyped_pointers"),
        rule("heap", "storage_class", Finds("a data type", _no_heap),
             "a data type, or one of the built-in heaps of descriptors",
             "VUID-StandaloneSpirv-OpUntypedVariableKHR-11347", vulkan=True),
    ),
    family(
        "OpVariable OpUntypedVariableKHR",
        rule("initializer", "initializer", Finds("a constant, or a variable of the module", _bad_initializer),
             "a constant, or a variable outside of functions", "SPIR-V 3.42.8"),
        rule("initializer_type", "initializer",
             OnlyWhere("with an initializer", _initialised, Equal(type_of("initializer"), DATA)),
             "an initializer of the type of the variable", "SPIR-V 3.42.8"),
        rule("initializer_nowhere", "initializer", Finds("no initializer", _initializer_nowhere),
             f"no initializer in {one_of(sorted(WITHOUT_INITIALIZER))}", "SPIR-V 3.42.8"),
        rule("initializer_storage", "initializer", Finds("no initializer", _initializer_storage),
             "no initializer but in Output, Private, Function or Workgroup", "VUID-StandaloneSpirv-OpVariable-04651",
             vulkan=True),
        rule("initializer_workgroup", "initializer", Finds("OpConstantNull", _workgroup_initializer),
             "OpConstantNull as initializer in Workgroup", "VUID-StandaloneSpirv-OpVariable-04734", vulkan=True),
        rule("generic", "storage_class", satisfies(STORAGE, "is not Generic", lambda name: name != "Generic"),
             "a storage class of variables: Generic is one of pointers", "SPIR-V 3.7"),
        rule("physical", "storage_class",
             satisfies(STORAGE, "is not PhysicalStorageBuffer", lambda name: name != "PhysicalStorageBuffer"),
             "a storage class of variables: PhysicalStorageBuffer is one of addresses",
             "SPV_KHR_physical_storage_buffer"),
        rule("place", "storage_class", Finds("Function inside functions, and nowhere else", _place),
             "Function inside a function, another storage class outside", "SPIR-V 2.4"),
        rule("storage_class", "storage_class",
             Equal(STORAGE, Term("that of Result Type", lambda s: _pointer(s).storage_class)),
             "the storage class of the result type", "SPIR-V 3.42.8"),
        rule("push_constants", "storage_class", Finds("one push constant block an entry point", _second_push_constants),
             "one push constant block for each entry point", "VUID-StandaloneSpirv-OpEntryPoint-06674", vulkan=True),
        _type("bool", "no boolean in memory that is seen from outside the shader, but for built-ins", _visible_bool,
              "SPIR-V 2.16.1", hint="store it as an integer"),
        _type("pointer", "no pointer but in StorageBuffer or Workgroup, with capabilities for variable pointers",
              _held_pointer, "SPIR-V 2.16.1",
              hint="declare capability VariablePointersStorageBuffer or VariablePointers"),
        _type("pointer_storage", "pointers only in Function or Private", _pointers_elsewhere, "SPIR-V 2.16.1"),
        _type("matrix", "cooperative matrices only in Function or Private", _only_locally(_is_matrix),
              "SPV_KHR_cooperative_matrix"),
        _type("vector", "vectors with a count by id only in Function or Private", _is_cooperative_vector,
              "SPV_NV_cooperative_vector"),
        _type("opaque", "tensor layouts and views only in Function or Private",
              _only_locally(lambda part: isinstance(part, TensorLayout | TensorView)), "000 2.2.2",
              beyond="spirv-val does not ask where tensor layouts and views are stored"),
        _type("long_vector", "vectors of more than 4 components only in storage classes that hold them", _long_vector,
              "VUID-StandaloneSpirv-OpTypeVector-12297", vulkan=True,
              beyond="spirv-val 2025.5 does not know long vectors"),
        _type("long_vector_count", "vectors of a fixed size where the layout is explicit", _long_vector_count,
              "VUID-StandaloneSpirv-OpTypeVectorIdEXT-12294", vulkan=True,
              beyond="spirv-val 2025.5 does not know long vectors"),
        _type("eight_bit", "8-bit numbers only where a capability lets the storage class hold them", _small(8),
              "SPIR-V 2.16.1", hint=_small_hint(8)),
        _type("sixteen_bit", "16-bit numbers only where a capability lets the storage class hold them", _small(16),
              "SPIR-V 2.16.1", hint=_small_hint(16)),
        _type("tiny", "floats of less than a byte only in Function or Private", _only_locally(_is_tiny),
              "SPV_EXT_ocp_microscaling_types", beyond="spirv-val 2025.5 does not know these floats"),
        rule("push_constant", "result_type data_type",
             _needs("in PushConstant", _in("PushConstant"), _push_constant_type),
             "a struct in PushConstant", "VUID-StandaloneSpirv-PushConstant-06808", vulkan=True),
        rule("buffer", "result_type data_type",
             _needs("in Uniform or StorageBuffer", _in("Uniform", "StorageBuffer"), _buffer_type),
             "a struct, or an array of structs, in Uniform and StorageBuffer", "VUID-StandaloneSpirv-Uniform-06807",
             vulkan=True),
        rule("uniform_constant", "result_type data_type",
             _needs("in UniformConstant", _in("UniformConstant"), _handle_type),
             "the handle of a resource, or an array of them, in UniformConstant",
             "VUID-StandaloneSpirv-UniformConstant-04655", vulkan=True),
        rule("block_decoration", "result_type data_type",
             _needs("in PushConstant, StorageBuffer, Uniform", _in("PushConstant", "StorageBuffer", "Uniform"),
                    _no_block),
             "a struct decorated with Block (in Uniform with Block or BufferBlock)",
             "VUID-StandaloneSpirv-PushConstant-06675", vulkan=True,
             hint="decorate the struct with Block"),
        _type("invariant", "Invariant only in Input and Output", _invariant,
              "VUID-StandaloneSpirv-Invariant-04677", vulkan=True),
        _type("runtime_array", "a runtime array only as descriptors, with capability RuntimeDescriptorArray",
              _runtime_array, "VUID-StandaloneSpirv-OpTypeRuntimeArray-04680", vulkan=True),
        _type("runtime_array_struct",
              "a struct with a runtime array only as a block in StorageBuffer, or in Uniform", _runtime_array_struct,
              "VUID-StandaloneSpirv-OpTypeRuntimeArray-04680", vulkan=True),
    ),
)  # fmt: skip
