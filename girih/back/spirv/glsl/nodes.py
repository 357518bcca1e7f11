"""The instructions of shader code as GLSL: those that are expressions, and those that are statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderNode, ShaderRoutine
from girih.back.spirv.glsl.expression import PRIMARY, Expression, called, composed
from girih.back.spirv.glsl.function import WrittenFunction
from girih.back.spirv.glsl.memory import accessed_type, index, memory_of, touches
from girih.back.spirv.glsl.operations import CONVERSIONS, FORMS, applied, chosen, converted, form_of
from girih.back.spirv.glsl.together import (
    BARRIERS,
    EXTENDED_TYPES,
    SCOPED,
    SCOPES,
    SEMANTICS,
    STORAGE,
    SUBGROUP_EXTENSIONS,
    atomic,
    atomic_extensions,
    barrier_text,
    group_function,
)
from girih.back.spirv.glsl.types import SIGNED, as_type, with_sign, word
from girih.back.spirv.glsl.uses import nodes_of
from girih.back.spirv.passes.operations import PURE
from girih.diagnostics import InternalError

Expressed = Callable[[WrittenFunction, ShaderNode, Sequence[Expression]], Expression]
Effect = Callable[[WrittenFunction, ShaderNode], None]


def _operation(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    type = node.operands[0].type
    helper = form_of(node.op, type).helper
    if helper:
        function.module.help(helper, type)
    return applied(node.op, type, operands)


def _conversion(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    return converted(node.op, operands[0], node.operands[0].type, _result_type(node))


def _select(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    return chosen(operands[0], operands[1], operands[2])


def _result_type(node: ShaderNode) -> str:
    if node.result is None:
        raise InternalError(f"the instruction `{node.op}` of shader code has no result")
    return node.result.type


# --- memory --------------------------------------------------------------------------------------


def _element(function: WrittenFunction, node: ShaderNode, place: Expression) -> Expression:
    memory = memory_of(node)
    if memory is None:
        raise InternalError(f"the instruction `{node.op}` of shader code names no memory")
    type = accessed_type(node)
    if memory.kind in (MemoryKind.PRIVATE, MemoryKind.TABLE, MemoryKind.BLOCK):
        function.private[memory] = None
        type = function.module.memory.views[memory][0]
    if memory.block is not None:
        block = function.value(memory.block).text
        return composed(f"{block}.data[{index(place).text}]", function.module.type(type), PRIMARY, (place,))
    return function.module.memory.element(memory, function.module.type(type), place)


def _load(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    found = _element(function, node, operands[0])
    type = str(node.details[1])
    if found.type != accessed_type(node):
        return _seen_as(function, found, type)
    if type == "i1":
        return applied("ne", "i8", (found, Expression("0", "int", number=0)))
    return found


def _seen_as(function: WrittenFunction, one: Expression, type: str) -> Expression:
    """An element of private memory as a type that it was not declared with."""
    if one.type == "bool":
        return one
    declared = _KINDS[one.type]
    if type == "i1":
        return applied("ne", declared, (one, Expression("0", "int", number=0)))
    return converted("bitcast", one, declared, type)


_KINDS = {word(kind): kind for kind in ("i8", "i16", "i32", "i64", "half", "float", "double")}


def _store(function: WrittenFunction, node: ShaderNode) -> None:
    value, place = function.operands(node)
    target = _element(function, node, function.kept(node.operands[1], place))
    memory, type = node.details[0], str(node.details[1])
    if type == "i1":
        value = value if target.type == "bool" else called(target.type, target.type, value)
    elif target.type != accessed_type(node):
        value = converted("bitcast", value, type, _KINDS[target.type])
    assert isinstance(memory, ShaderMemory)
    function.settle(lambda other: touches(memory, other))
    if value.exact:
        function.module.memory.keep(memory, target.type)
    function.line(f"{target.text} = {as_type(value, target.type).text};")


def _atomic(function: WrittenFunction, node: ShaderNode) -> None:
    operands = [function.kept(value, one) for value, one in zip(node.operands, function.operands(node), strict=True)]
    element = _element(function, node, operands[0])
    made = atomic(node, element, [as_type(one, element.type) for one in operands[1:]])
    function.module.need(*atomic_extensions(node, element.type))
    memory = memory_of(node)
    function.settle_all() if node.details[4] else function.settle(
        lambda one: memory is not None and touches(memory, one)
    )
    if node.result is None or not function.uses.count(node.result):
        function.line(f"{made.text};")
    else:
        function.declare(node.result, made)


def _member(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    name, type = function.module.memory.members[str(node.details[0])]
    return Expression(name, function.module.type(type))


# --- where, and together ---------------------------------------------------------------------------

_BUILT_INS = {
    "work_group_id": "gl_WorkGroupID.{}",
    "num_work_groups": "gl_NumWorkGroups.{}",
    "subgroup_id": "gl_SubgroupID",
    "subgroup_local_id": "gl_SubgroupInvocationID",
}


def _built_in(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    name, axis = str(node.details[0]), int(str(node.details[1]))
    if name.startswith("subgroup"):
        function.module.need("GL_KHR_shader_subgroup_basic")
    return Expression(_BUILT_INS[name].format("xyz"[axis]), "uint")


def _barrier(function: WrittenFunction, node: ShaderNode) -> None:
    function.settle_all()
    scope = str(node.details[0])
    if not function.module.ordered:
        if scope == "subgroup":
            function.module.need("GL_KHR_shader_subgroup_basic")
        function.line("barrier();" if scope == "work_group" else "subgroupBarrier();")
        return
    name = BARRIERS[scope]
    function.module.need(SCOPED)
    function.module.helpers.setdefault((name, ""), barrier_text(name))
    function.line(f"{name}();")


def _fence(function: WrittenFunction, node: ShaderNode) -> None:
    function.settle_all()
    scope, ordering = map(str, node.details)
    function.module.need(SCOPED)
    function.line(f"memoryBarrier({SCOPES[scope]}, {STORAGE}, {SEMANTICS[ordering]});")


def _subgroup(function: WrittenFunction, node: ShaderNode) -> None:
    if node.result is None or not function.uses.count(node.result):
        return
    operands = [function.kept(value, one) for value, one in zip(node.operands, function.operands(node), strict=True)]
    first = as_type(operands[0], with_sign(operands[0].type, "signed"))
    function.module.need(SUBGROUP_EXTENSIONS[node.op], *filter(None, [EXTENDED_TYPES.get(first.type)]))
    if node.op in ("shuffle", "broadcast"):
        name = "subgroupShuffle" if node.op == "shuffle" else "subgroupBroadcast"
        lane = operands[1]
        made = called(name, first.type, first, as_type(lane, "uint") if lane.type in SIGNED.values() else lane)
    elif node.op == "vote":
        made = called("subgroupAll" if node.details[0] == "all" else "subgroupAny", "bool", first)
    else:
        made = called(group_function(str(node.details[0]), str(node.details[1])), first.type, first)
    function.declare(node.result, made)


def _call(function: WrittenFunction, node: ShaderNode) -> None:
    operands = [function.kept(value, one) for value, one in zip(node.operands, function.operands(node), strict=True)]
    routine = node.details[0]
    assert isinstance(routine, ShaderRoutine)
    signed = [as_type(one, with_sign(one.type, "signed")) for one in operands]
    type = word(node.result.type) if node.result is not None else "void"
    made = called(function.module.routines[routine], type, *signed)
    if all(one.op in PURE for one in nodes_of(routine.body)) and node.result is not None:
        if function.uses.count(node.result):
            function.give(node.result, replace(made, exact=False))
        return
    function.settle_all()
    if node.result is None or not function.uses.count(node.result):
        function.line(f"{made.text};")
    else:
        function.declare(node.result, made)


EXPRESSIONS: Mapping[str, Expressed] = {
    **dict.fromkeys((name.split(" ")[0] for name in FORMS), _operation),
    **dict.fromkeys(CONVERSIONS, _conversion),
    "select": _select,
    "load": _load,
    "member": _member,
    "built_in": _built_in,
}
"""The instructions that are expressions: they have no effects."""

EFFECTS: Mapping[str, Effect] = {
    "store": _store,
    "atomic": _atomic,
    "barrier": _barrier,
    "fence": _fence,
    **dict.fromkeys(SUBGROUP_EXTENSIONS, _subgroup),
    "call": _call,
}
"""The instructions that are statements."""
