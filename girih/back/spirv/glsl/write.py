"""Shader code as GLSL 4.60 for Vulkan 1.3, to be read and pasted: `write_glsl`.

The text says in comments which kernel it is, what its pipeline and launch need, and which line of the kernel's text a
statement comes from. It asks for the extensions that it uses, and no others; glslang compiles it
(`glslang -V --target-env vulkan1.3`).
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderBlock, ShaderCode, ShaderRoutine
from girih.back.spirv.glsl.function import WrittenFunction
from girih.back.spirv.glsl.matrices import parameters_of, refuse_matrices, type_of
from girih.back.spirv.glsl.memory import described
from girih.back.spirv.glsl.module import GlslModule
from girih.back.spirv.glsl.statements import write_block
from girih.back.spirv.glsl.types import as_type, word
from girih.back.spirv.glsl.uses import Uses, nodes_of
from girih.back.spirv.profiles.features import FLOAT_CONTROLS
from girih.back.spirv.profiles.profile import Profile
from girih.spirv.grammar import grammar


def write_glsl(code: ShaderCode, profile: Profile | None = None) -> str:
    """The text of a shader; for a profile it names it, and asks for the controls of floats that it has.

    Raises `CompileError` for matrices of components that GLSL's have not, and `InternalError` for operations and types
    that it has no form for.
    """
    refuse_matrices(code)
    module = GlslModule(code)
    routines = _routines(module)
    body = _body(module, code.body, Uses(code.body))
    declarations = list(module.memory.declarations())
    for types in module.memory.views.values():
        for type in types:
            module.type(type)
    for one in code.members:
        module.type(word(one.type))
    modes = [] if profile is None else list(_modes(module, profile))
    parts = [
        list(_header(code, profile)),
        list(_beginning(module)),
        modes,
        [f"layout(local_size_x = {code.local_size}) in;"],
        declarations,
        *([text] for text in module.helpers.values()),
        *routines,
        ["void main() {", *body, "}"],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _body(module: GlslModule, block: ShaderBlock, uses: Uses) -> list[str]:
    function = WrittenFunction(module, uses)
    write_block(function, block)
    return [*(f"    {one}" for one in module.memory.private(function.private)), *function.lines]


def _routines(module: GlslModule) -> list[list[str]]:
    """The functions of the shader; those that are the same are one."""
    written: dict[tuple[str, ...], str] = {}
    texts = []
    for routine in module.code.routines:
        type, *rest = _routine(module, routine)
        name = written.setdefault((type, *rest), module.routines[routine])
        if name == module.routines[routine]:
            texts.append([f"{type} {name}({rest[0]}) {{", *rest[1:], "}"])
        module.routines[routine] = name
    return texts


def _routine(module: GlslModule, routine: ShaderRoutine) -> list[str]:
    """The type of a function, its parameters, and its lines."""
    function = WrittenFunction(module, Uses(routine.body, routine.result))
    listed = parameters_of(function, routine)
    write_block(function, routine.body)
    type = "void"
    if routine.result is not None:
        type = module.type(type_of(module, routine.result.type))
        given = function.kept(routine.result, function.value(routine.result))
        function.line(f"return {as_type(given, type).text};")
    private = [f"    {one}" for one in module.memory.private(function.private)]
    return [type, ", ".join(listed), *private, *function.lines]


def _modes(module: GlslModule, profile: Profile) -> Iterator[str]:
    """How floats are rounded and kept: execution modes, for which GLSL has no words of its own."""
    for type, width in (("float16_t", 16), ("float", 32), ("double", 64)):
        if type not in module.types:
            continue
        for feature, name in FLOAT_CONTROLS.items():
            if profile.has(f"{feature}{width}"):
                module.need("GL_EXT_spirv_intrinsics")
                kinds = grammar().kinds
                capability, mode = kinds["Capability"].value(name), kinds["ExecutionMode"].value(name)
                yield f"spirv_execution_mode(capabilities = [{capability}], {mode}, {width}); // {name}"


def _header(code: ShaderCode, profile: Profile | None) -> Iterator[str]:
    """The version, and comments for those who launch the shader."""
    yield "#version 460"
    yield f"// The kernel @{code.name}: a work-group of {code.local_size} work-items for each of the grid's."
    if profile is not None:
        yield f"// Made for {profile.name}: {profile.says}."
    if _has_subgroups(code):
        yield f"// Its pipeline has full subgroups of {code.subgroup_size} work-items, which it has to require."
    buffers: dict[int, list[ShaderMemory]] = {}
    for one in code.memories:
        if one.kind is MemoryKind.BUFFER:
            buffers.setdefault(one.binding, []).append(one)
    if buffers:
        yield "//"
    for binding, memories in sorted(buffers.items()):
        yield f"// binding {binding}: {memories[0].name}, {described(memories[0])}"
    if code.members:
        where = "push constants" if code.parameters_at is None else f"binding {code.parameters_at}"
        listed = ", ".join(f"{one.name} at {one.offset}" for one in code.members)
        yield f"// {where}: {listed}"


def _has_subgroups(code: ShaderCode) -> bool:
    named = ("shuffle", "broadcast", "vote", "group")
    for node in (node for block in code.blocks() for node in nodes_of(block)):
        if node.op in named or node.op.startswith("matrix"):
            return True
        if node.op in ("built_in", "barrier") and str(node.details[0]).startswith("subgroup"):
            return True
    return False


def _beginning(module: GlslModule) -> Iterator[str]:
    if module.ordered:
        yield "#pragma use_vulkan_memory_model"
    for one in sorted(module.extensions | module.memory.extensions):
        yield f"#extension {one} : require"
