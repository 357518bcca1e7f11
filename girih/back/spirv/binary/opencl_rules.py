"""The operations of shader code that are more than numbers, for OpenCL: see `instructions` for Vulkan's."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.spirv.binary.assembly import enumerant
from girih.back.spirv.binary.instructions import ATOMICS, GROUP_KINDS, call, memory_of
from girih.back.spirv.binary.statements import Rule, StatementWriter
from girih.back.spirv.code.memory import MemoryKind
from girih.back.spirv.code.nodes import ShaderNode
from girih.back.spirv.code.types import is_float
from girih.diagnostics import CompileError, Diagnostic
from girih.facts.findings import NOT_ON_TARGET

_SCOPES = {"subgroup": "Subgroup", "work_group": "Workgroup", "device": "Device"}

_SEMANTICS = {
    "": "",
    "acquire": "Acquire",
    "release": "Release",
    "acq_rel": "AcquireRelease",
    "seq_cst": "SequentiallyConsistent",
}

_GROUP = {
    "add": "OpGroupIAdd",
    "smin": "OpGroupSMin",
    "smax": "OpGroupSMax",
    "umin": "OpGroupUMin",
    "umax": "OpGroupUMax",
    "fadd": "OpGroupFAdd",
    "fmin": "OpGroupFMin",
    "fmax": "OpGroupFMax",
}

_BUILT_INS = {
    "work_group_id": ("WorkgroupId", 3),
    "num_work_groups": ("NumWorkgroups", 3),
    "subgroup_id": ("SubgroupId", 1),
    "subgroup_local_id": ("SubgroupLocalInvocationId", 1),
}


def _scope(s: StatementWriter, scope: str) -> int:
    return s.a.index(enumerant("Scope", _SCOPES[scope]))


def _semantics(s: StatementWriter, ordering: str, *memories: str) -> int:
    word = _SEMANTICS[ordering]
    return s.a.index(enumerant("MemorySemantics", "|".join((word, *memories))) if word else 0)


def load(s: StatementWriter, node: ShaderNode) -> None:
    """A load of an element; a condition is a byte that is not 0."""
    a = s.a
    memory, type = memory_of(node)
    pointer = s.memory.pointer(memory, type, node.operands[0])
    held, operands = s.memory.element_type(type), s.memory.operands(memory, type)
    if type == "i1":
        byte = a.result("OpLoad", held, pointer, *operands)
        a.result("OpINotEqual", a.type("i1"), byte, a.integer(0, 8), into=node.result)
    else:
        a.result("OpLoad", held, pointer, *operands, into=node.result)


def store(s: StatementWriter, node: ShaderNode) -> None:
    """A store of an element; of a condition as 0 or 1."""
    a = s.a
    memory, type = memory_of(node)
    value, element = node.operands
    pointer = s.memory.pointer(memory, type, element)
    held = a.id_of(value)
    if type == "i1":
        held = a.result("OpSelect", a.type("i8"), held, a.integer(1, 8), a.integer(0, 8))
    a.emit("OpStore", pointer, held, *s.memory.operands(memory, type))


def atomic(s: StatementWriter, node: ShaderNode) -> None:
    """An atomic access. Raises `CompileError` for elements of 8 or 16 bits."""
    a = s.a
    memory, type = memory_of(node)
    operation, scope, ordering = (str(one) for one in node.details[2:5])
    if bits(type) < 32:
        message = f"OpenCL has no atomic accesses to elements of {bits(type)} bits"
        hint = "let the element have 32 or 64 bits"
        raise CompileError([Diagnostic(NOT_ON_TARGET, message, node.span, hint=hint)])
    element, *values = node.operands
    as_bits = is_float(type) and operation != "fadd"
    # Drivers move integers atomically, and doubles not.
    word = f"i{bits(type)}" if as_bits else type
    where = s.memory.pointer(memory, word, element)
    kind = "WorkgroupMemory" if memory.kind is MemoryKind.SHARED else "CrossWorkgroupMemory"
    over, order = _scope(s, scope), _semantics(s, ordering, kind)
    if word == "i64":
        a.capability("Int64Atomics")
    held, ids = s.type(word), [a.id_of(one) for one in values]
    if as_bits:
        ids = [a.result("OpBitcast", held, one) for one in ids]
    result = None if as_bits else node.result
    made = 0
    match operation:
        case "load":
            made = a.result("OpAtomicLoad", held, where, over, order, into=result)
        case "store":
            a.emit("OpAtomicStore", where, over, order, *ids)
        case "compare_exchange":
            unequal = _semantics(s, "acquire" if ordering in ("acquire", "acq_rel", "seq_cst") else "", kind)
            expected, new = ids
            name = "OpAtomicCompareExchange"
            made = a.result(name, held, where, over, order, unequal, new, expected, into=result)
        case "fadd":
            a.capability(f"AtomicFloat{bits(type)}AddEXT")
            a.extension("SPV_EXT_shader_atomic_float_add")
            made = a.result("OpAtomicFAddEXT", held, where, over, order, *ids, into=result)
        case _:
            made = a.result(ATOMICS[operation], held, where, over, order, *ids, into=result)
    if as_bits and node.result is not None:
        a.result("OpBitcast", s.type(type), made, into=node.result)


def member(s: StatementWriter, node: ShaderNode) -> None:
    """A member of the parameters."""
    assert node.result is not None
    held = s.memory.member(str(node.details[0]))
    s.a.result("OpCopyObject", s.type(node.result.type), held, into=node.result)


def built_in(s: StatementWriter, node: ShaderNode) -> None:
    """A number of the work-item's place; those of work-groups have 64 bits."""
    a = s.a
    name, axis = node.details
    word, count = _BUILT_INS[str(name)]
    number = a.type("i32" if count == 1 else "i64")
    type = number if count == 1 else a.declare("OpTypeVector", number, count)
    variable = s.input(word, a.pointer_type("Input", type))
    if count == 1:
        a.result("OpLoad", type, variable, into=node.result)
        return
    assert isinstance(axis, int)
    held = a.result("OpCompositeExtract", number, a.result("OpLoad", type, variable), axis)
    a.result("OpUConvert", a.type("i32"), held, into=node.result)


def barrier(s: StatementWriter, node: ShaderNode) -> None:
    """A barrier for all memory that the work-group shares."""
    scope = _scope(s, str(node.details[0]))
    s.a.emit("OpControlBarrier", scope, scope, _semantics(s, "acq_rel", "WorkgroupMemory", "CrossWorkgroupMemory"))


def fence(s: StatementWriter, node: ShaderNode) -> None:
    """An order of the accesses before and after."""
    scope, ordering = (str(one) for one in node.details)
    order = _semantics(s, ordering, "WorkgroupMemory", "CrossWorkgroupMemory")
    s.a.emit("OpMemoryBarrier", _scope(s, scope), order)


def shuffle(s: StatementWriter, node: ShaderNode) -> None:
    """The value of a lane (SPV_INTEL_subgroups)."""
    value, lane = node.operands
    assert node.result is not None
    s.a.capability("SubgroupShuffleINTEL")
    s.a.extension("SPV_INTEL_subgroups")
    ids = (s.a.id_of(value), _word(s, lane))
    s.a.result("OpSubgroupShuffleINTEL", s.type(node.result.type), *ids, into=node.result)


def _word(s: StatementWriter, lane: Val) -> int:
    """The id of a lane's number, with 32 bits."""
    if lane.literal is not None:
        return s.a.id_of(integer(lane.literal, "i32"))
    return s.a.id_of(lane) if lane.type == "i32" else s.a.result("OpUConvert", s.a.type("i32"), s.a.id_of(lane))


def _over_subgroup(s: StatementWriter, node: ShaderNode, name: str, *operands: int) -> None:
    assert node.result is not None
    s.a.capability("Groups")
    s.a.result(name, s.type(node.result.type), _scope(s, "subgroup"), *operands, into=node.result)


def broadcast(s: StatementWriter, node: ShaderNode) -> None:
    """The value of a lane that is one for all."""
    value, lane = node.operands
    _over_subgroup(s, node, "OpGroupBroadcast", s.a.id_of(value), _word(s, lane))


def vote(s: StatementWriter, node: ShaderNode) -> None:
    """Whether a condition holds for any, or for all, of the subgroup."""
    name = {"any": "OpGroupAny", "all": "OpGroupAll"}[str(node.details[0])]
    _over_subgroup(s, node, name, s.a.id_of(node.operands[0]))


def group(s: StatementWriter, node: ShaderNode) -> None:
    """A reduction or a scan of the subgroup."""
    operation, kind = (str(one) for one in node.details)
    how = enumerant("GroupOperation", GROUP_KINDS[kind])
    _over_subgroup(s, node, _GROUP[operation], how, s.a.id_of(node.operands[0]))


OPENCL_RULES: dict[str, Rule] = {
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
