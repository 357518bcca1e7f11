"""What work-items do together in GLSL: barriers, atomics and subgroup operations.

Atomics without an order are GLSL's own; with one, and barriers that make writes to buffers visible, they are those of
GL_KHR_memory_scope_semantics in the memory model of Vulkan, as girih's modules have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderCode, ShaderNode
from girih.back.spirv.glsl.expression import PRIMARY, Expression, composed
from girih.back.spirv.glsl.uses import nodes_of
from girih.diagnostics import InternalError

SCOPES = {"subgroup": "gl_ScopeSubgroup", "work_group": "gl_ScopeWorkgroup", "device": "gl_ScopeDevice"}
SEMANTICS = {
    "acquire": "gl_SemanticsAcquire | gl_SemanticsMakeVisible",
    "release": "gl_SemanticsRelease | gl_SemanticsMakeAvailable",
    "acq_rel": "gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible",
    "seq_cst": "gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible",
}
"""The semantics of orders; Vulkan's memory model has none that is sequentially consistent."""

STORAGE = "gl_StorageSemanticsBuffer | gl_StorageSemanticsShared"
BARRIERS = {"work_group": "work_group_barrier", "subgroup": "subgroup_barrier"}
"""The functions of barriers that make writes to buffers visible."""

SCOPED = "GL_KHR_memory_scope_semantics"

_ATOMICS = {
    "add": "atomicAdd", "sub": "atomicAdd", "smin": "atomicMin", "umin": "atomicMin", "smax": "atomicMax",
    "umax": "atomicMax", "and": "atomicAnd", "or": "atomicOr", "xor": "atomicXor", "exchange": "atomicExchange",
    "compare_exchange": "atomicCompSwap", "fadd": "atomicAdd", "load": "atomicLoad", "store": "atomicStore",
}  # fmt: skip

_GROUPS = {
    "add": "Add",
    "fadd": "Add",
    "smin": "Min",
    "fmin": "Min",
    "smax": "Max",
    "fmax": "Max",
}
_KINDS = {"reduce": "", "inclusive": "Inclusive", "exclusive": "Exclusive"}

SUBGROUP_EXTENSIONS = {
    "shuffle": "GL_KHR_shader_subgroup_shuffle",
    "broadcast": "GL_KHR_shader_subgroup_ballot",
    "vote": "GL_KHR_shader_subgroup_vote",
    "group": "GL_KHR_shader_subgroup_arithmetic",
}
EXTENDED_TYPES = {
    "int8_t": "GL_EXT_shader_subgroup_extended_types_int8",
    "int16_t": "GL_EXT_shader_subgroup_extended_types_int16",
    "int64_t": "GL_EXT_shader_subgroup_extended_types_int64",
    "float16_t": "GL_EXT_shader_subgroup_extended_types_float16",
}
"""What subgroup operations on a type need."""


def is_ordered(code: ShaderCode) -> bool:
    """Whether a shader needs Vulkan's memory model: for matrices, or to make writes to buffers visible on its way."""
    outside = (MemoryKind.BUFFER, MemoryKind.ADDRESS)
    written = any(one.kind in outside and (one.written or one.atomic) for one in code.memories)
    for node in (node for block in code.blocks() for node in nodes_of(block)):
        if (node.op == "barrier" and written) or node.op == "fence" or node.op.startswith("matrix"):
            return True
        if node.op == "atomic" and node.details[4]:
            return True
    return False


def barrier_text(name: str) -> str:
    """The function of a barrier that makes all writes visible to the scope."""
    scope = SCOPES[next(scope for scope, function in BARRIERS.items() if function == name)]
    return (
        f"void {name}() {{\n    controlBarrier({scope}, {scope}, {STORAGE},\n"
        f"                   {SEMANTICS['acq_rel']});\n}}"
    )


def atomic(node: ShaderNode, element: Expression, values: Sequence[Expression]) -> Expression:
    """The call of an atomic; `values` have the type of the element."""
    _, _, operation, scope, ordering = node.details
    if operation not in _ATOMICS:
        raise InternalError(f"GLSL has no form for the atomic `{operation}`")
    listed = [one.text for one in values]
    if operation == "sub":
        listed = [f"-{values[0].within(PRIMARY)}"]
    if ordering or operation in ("load", "store"):
        order = {"load": "acquire", "store": "release"}.get(str(operation), str(ordering)) if ordering else ""
        listed += [SCOPES[str(scope)], *_semantics(order)]
        if operation == "compare_exchange":
            listed += _semantics("" if order in ("", "release") else "acquire")
    name = _ATOMICS[str(operation)]
    return composed(f"{name}({', '.join([element.text, *listed])})", element.type, PRIMARY, (element, *values))


def _semantics(order: str) -> list[str]:
    return [STORAGE, SEMANTICS[order]] if order else ["0", "gl_SemanticsRelaxed"]


def atomic_extensions(node: ShaderNode, type: str) -> list[str]:
    """What an atomic on elements of a type of GLSL needs."""
    needed = [SCOPED] if node.details[4] or node.details[2] in ("load", "store") else []
    if type in ("float", "double"):
        needed.append("GL_EXT_shader_atomic_float")
    if type in ("int64_t", "uint64_t"):
        needed.append("GL_EXT_shader_atomic_int64")
    return needed


def group_function(operation: str, kind: str) -> str:
    """The function of a reduction or scan of a subgroup."""
    return f"subgroup{_KINDS[kind]}{_GROUPS[operation]}"


def overlaps(one: ShaderMemory) -> bool:
    """Whether other work-items may reach a memory."""
    return one.kind not in (MemoryKind.PUSH, MemoryKind.PRIVATE)
