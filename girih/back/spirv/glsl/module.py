"""A shader that is being written as GLSL: what its functions share, and what they turn out to need."""

from __future__ import annotations

from dataclasses import field

from girih.back.spirv.code.nodes import ShaderCode, ShaderNode, ShaderRoutine
from girih.back.spirv.glsl.memory import MemoryNames
from girih.back.spirv.glsl.names import Names
from girih.back.spirv.glsl.operations import HELPERS, helper_text
from girih.back.spirv.glsl.together import BARRIERS, is_ordered
from girih.back.spirv.glsl.types import EXTENSIONS, SIGNED
from girih.back.spirv.glsl.uses import nodes_of
from girih.lazy_dataclass import dataclass


@dataclass(slots=True)
class GlslModule:
    """The shader: names, memory, extensions, and functions that are written before the others.

    `ordered` says that it is in the memory model of Vulkan; `helpers` are texts of functions by what they are for.
    `types` are the scalar types of values. `asked_by` has the instructions on matrices that call routines.
    """

    code: ShaderCode
    names: Names = field(default_factory=Names)
    extensions: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    helpers: dict[tuple[str, str], str] = field(default_factory=dict)
    routines: dict[ShaderRoutine, str] = field(default_factory=dict)
    asked_by: dict[ShaderRoutine, ShaderNode] = field(default_factory=dict)
    ordered: bool = False
    memory: MemoryNames = field(init=False)

    def __post_init__(self) -> None:
        """Name what the shader declares."""
        self.ordered = is_ordered(self.code)
        for name in (*BARRIERS.values(), *HELPERS):
            self.names.take(name)
        self.memory = MemoryNames(self.code, self.names, self.ordered)
        for routine in self.code.routines:
            self.routines[routine] = self.names.take(routine.name)
        for node in (node for block in self.code.blocks() for node in nodes_of(block)):
            if node.op.startswith("matrix"):
                self.asked_by.update({one: node for one in node.details if isinstance(one, ShaderRoutine)})

    def need(self, *extensions: str) -> None:
        """Note that the shader needs extensions."""
        self.extensions.update(extensions)

    def type(self, glsl: str) -> str:
        """A type, with a note of the extension that it needs."""
        self.types.add(glsl)
        extension = EXTENSIONS.get(SIGNED.get(glsl, glsl))
        if extension is not None:
            self.need(extension)
        return glsl

    def help(self, name: str, type: str) -> None:
        """Note that the shader calls a helper of `operations` for a type of shader code."""
        if name == "float_remainder":
            self.need("GL_EXT_spirv_intrinsics")
        self.helpers.setdefault((name, type), helper_text(name, type))
