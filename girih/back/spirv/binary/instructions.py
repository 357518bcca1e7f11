"""The operations of shader code that are more than numbers: memory, atomics, built-ins, barriers, subgroups, calls."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.binary.assembly import enumerant
from girih.back.spirv.binary.statements import Rule, StatementWriter
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderNode, ShaderRoutine

SCOPES = {"subgroup": "Subgroup", "work_group": "Workgroup", "device": "QueueFamily"}
"""The scopes of shader code. All invocations of a launch are of one queue family, which needs no capability."""

_SEMANTICS = {
    "": "",
    "acquire": "Acquire|MakeVisible",
    "release": "Release|MakeAvailable",
    "acq_rel": "AcquireRelease|MakeAvailable|MakeVisible",
    # Vulkan's memory model has no sequential consistency.
    "seq_cst": "AcquireRelease|MakeAvailable|MakeVisible",
}

ATOMICS = {
    "add": "OpAtomicIAdd",
    "smin": "OpAtomicSMin",
    "smax": "OpAtomicSMax",
    "umin": "OpAtomicUMin",
    "umax": "OpAtomicUMax",
    "and": "OpAtomicAnd",
    "or": "OpAtomicOr",
    "xor": "OpAtomicXor",
    "exchange": "OpAtomicExchange",
    "fadd": "OpAtomicFAddEXT",
}

_GROUP = {
    "add": "OpGroupNonUniformIAdd",
    "smin": "OpGroupNonUniformSMin",
    "smax": "OpGroupNonUniformSMax",
    "fadd": "OpGroupNonUniformFAdd",
    "fmin": "OpGroupNonUniformFMin",
    "fmax": "OpGroupNonUniformFMax",
}
GROUP_KINDS = {"reduce": "Reduce", "inclusive": "InclusiveScan", "exclusive": "ExclusiveScan"}

_BUILT_INS = {
    "work_group_id": ("WorkgroupId", 3),
    "num_work_groups": ("NumWorkgroups", 3),
    "subgroup_id": ("SubgroupId", 1),
    "subgroup_local_id": ("SubgroupLocalInvocationId", 1),
}


def scope_id(s: StatementWriter, scope: str) -> int:
    """The id of a scope."""
    return s.a.index(enumerant("Scope", SCOPES[scope]))


def semantics_id(s: StatementWriter, ordering: str, *memories: str) -> int:
    """The id of memory semantics for some kinds of memory: `UniformMemory` is that of buffers."""
    words = _SEMANTICS[ordering]
    if not words:
        return s.a.index(0)
    return s.a.index(enumerant("MemorySemantics", "|".join((words, *memories))))


def memory_of(node: ShaderNode) -> tuple[ShaderMemory, str]:
    """The memory of an access, and the type of the element."""
    memory, type = node.details[0], node.details[1]
    assert isinstance(memory, ShaderMemory) and isinstance(type, str)
    return memory, type


def load(s: StatementWriter, node: ShaderNode) -> None:
    """A load of an element."""
    memory, type = memory_of(node)
    pointer = s.memory.pointer(memory, type, node.operands[0])
    s.a.result("OpLoad", s.memory.element_type(type), pointer, *s.memory.operands(memory, type), into=node.result)


def store(s: StatementWriter, node: ShaderNode) -> None:
    """A store of an element."""
    memory, type = memory_of(node)
    value, element = node.operands
    pointer = s.memory.pointer(memory, type, element)
    s.a.emit("OpStore", pointer, s.a.id_of(value), *s.memory.operands(memory, type))


def atomic(s: StatementWriter, node: ShaderNode) -> None:
    """An atomic access."""
    a = s.a
    memory, type = memory_of(node)
    operation, scope, ordering = (str(one) for one in node.details[2:5])
    element, *values = node.operands
    where = s.memory.pointer(memory, type, element)
    kind = "WorkgroupMemory" if memory.kind is MemoryKind.SHARED else "UniformMemory"
    over, order = scope_id(s, scope), semantics_id(s, ordering, kind)
    if bits(type) == 64:
        a.capability("Int64Atomics")
    held = s.type(type)
    ids = [a.id_of(one) for one in values]
    if operation == "load":
        a.result("OpAtomicLoad", held, where, over, order, into=node.result)
    elif operation == "store":
        a.emit("OpAtomicStore", where, over, order, *ids)
    elif operation == "compare_exchange":
        unequal = semantics_id(s, "acquire" if ordering in ("acquire", "acq_rel", "seq_cst") else "", kind)
        expected, new = ids
        a.result("OpAtomicCompareExchange", held, where, over, order, unequal, new, expected, into=node.result)
    else:
        if operation == "fadd":
            a.capability(f"AtomicFloat{bits(type)}AddEXT")
            a.extension("SPV_EXT_shader_atomic_float_add")
        a.result(ATOMICS[operation], held, where, over, order, *ids, into=node.result)


def member(s: StatementWriter, node: ShaderNode) -> None:
    """A member of the parameters."""
    assert node.result is not None
    pointer = s.memory.member(str(node.details[0]))
    s.a.result("OpLoad", s.type(node.result.type), pointer, into=node.result)


def built_in(s: StatementWriter, node: ShaderNode) -> None:
    """A number of the invocation's place."""
    a = s.a
    name, axis = node.details
    word, count = _BUILT_INS[str(name)]
    if word.startswith("Subgroup"):
        a.capability("GroupNonUniform")
    unsigned = a.integer_type(32, signed=False)
    type = unsigned if count == 1 else a.declare("OpTypeVector", unsigned, count)
    pointer = a.pointer_type("Input", type)
    variable = s.input(word, pointer)
    held = a.result("OpLoad", type, variable)
    if count > 1:
        assert isinstance(axis, int)
        held = a.result("OpCompositeExtract", unsigned, held, axis)
    a.result("OpBitcast", a.type("i32"), held, into=node.result)


def barrier(s: StatementWriter, node: ShaderNode) -> None:
    """A barrier that makes available and visible what lies in buffers and shared memory."""
    scope = scope_id(s, str(node.details[0]))
    s.a.emit("OpControlBarrier", scope, scope, semantics_id(s, "acq_rel", "UniformMemory", "WorkgroupMemory"))


def fence(s: StatementWriter, node: ShaderNode) -> None:
    """An order of the accesses before and after."""
    scope, ordering = (str(one) for one in node.details)
    s.a.emit("OpMemoryBarrier", scope_id(s, scope), semantics_id(s, ordering, "UniformMemory", "WorkgroupMemory"))


def _over_subgroup(s: StatementWriter, node: ShaderNode, name: str, capability: str, *operands: int) -> None:
    assert node.result is not None
    s.a.capability("GroupNonUniform", capability)
    s.a.result(name, s.type(node.result.type), scope_id(s, "subgroup"), *operands, into=node.result)


def shuffle(s: StatementWriter, node: ShaderNode) -> None:
    """The value of a lane."""
    value, lane = node.operands
    _over_subgroup(s, node, "OpGroupNonUniformShuffle", "GroupNonUniformShuffle", s.a.id_of(value), _unsigned(s, lane))


def broadcast(s: StatementWriter, node: ShaderNode) -> None:
    """The value of a lane that is one for all."""
    value, lane = node.operands
    _over_subgroup(s, node, "OpGroupNonUniformBroadcast", "GroupNonUniformBallot", s.a.id_of(value), _unsigned(s, lane))


def _unsigned(s: StatementWriter, value: Val) -> int:
    """The id of a number of 32 bits as an unsigned one."""
    if value.literal is not None:
        return s.a.index(value.literal)
    return s.a.result("OpBitcast", s.a.integer_type(32, signed=False), s.a.id_of(value))


def vote(s: StatementWriter, node: ShaderNode) -> None:
    """Whether a condition holds for any, or for all, of the subgroup."""
    name = {"any": "OpGroupNonUniformAny", "all": "OpGroupNonUniformAll"}[str(node.details[0])]
    _over_subgroup(s, node, name, "GroupNonUniformVote", s.a.id_of(node.operands[0]))


def group(s: StatementWriter, node: ShaderNode) -> None:
    """A reduction or a scan of the subgroup."""
    operation, kind = (str(one) for one in node.details)
    how = enumerant("GroupOperation", GROUP_KINDS[kind])
    value = s.a.id_of(node.operands[0])
    _over_subgroup(s, node, _GROUP[operation], "GroupNonUniformArithmetic", how, value)


def call(s: StatementWriter, node: ShaderNode) -> None:
    """A call of a routine."""
    routine = node.details[0]
    assert isinstance(routine, ShaderRoutine)
    type = s.type("void" if routine.result is None else routine.result.type)
    s.a.result("OpFunctionCall", type, s.routine(routine), *(s.a.id_of(one) for one in node.operands), into=node.result)


RULES: dict[str, Rule] = {
    "load": load,
    "store": store,
    "atomic": atomic,
    "member": member,
    "built_in": built_in,
    "barrier": barrier,
    "fence": fence,
    "shuffle": shuffle,
    "broadcast": broadcast,
    "vote": vote,
    "group": group,
    "call": call,
}
"""How each operation is written."""
