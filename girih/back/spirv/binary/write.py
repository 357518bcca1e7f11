"""Shader code as a SPIR-V module for Vulkan: version 1.6, Vulkan's memory model, one entry point."""

from __future__ import annotations

from girih.back.spirv.binary.assembly import VERSION, Assembly
from girih.back.spirv.binary.instructions import RULES
from girih.back.spirv.binary.matrices import MATRIX_RULES, MatrixTypes
from girih.back.spirv.binary.memory import VulkanMemory
from girih.back.spirv.binary.statements import StatementWriter
from girih.back.spirv.code.memory import MemoryKind
from girih.back.spirv.code.nodes import ShaderCode
from girih.back.spirv.profiles.features import FLOAT_CONTROLS
from girih.back.spirv.profiles.profile import Profile
from girih.spirv.module import Module

__all__ = ["VERSION", "write_module"]


def write_module(code: ShaderCode, profile: Profile) -> Module:
    """The module of shader code; it asks for the controls of floats that a profile has."""
    a = Assembly()
    a.capability("Shader", "VulkanMemoryModel")
    memory = VulkanMemory(a, code)
    s = StatementWriter(a, memory, {**RULES, **MATRIX_RULES}, MatrixTypes(a).type, code.names)
    entry = a.fresh()
    a.name(entry, code.name)
    s.function(entry, a.type("void"), (), code.body)
    a.functions += a.function
    a.mode(entry, "LocalSize", code.local_size, 1, 1)
    for width in (16, 32, 64):
        if a.has_float(width):
            for feature, mode in FLOAT_CONTROLS.items():
                if profile.has(f"{feature}{width}"):
                    a.capability(mode)
                    a.mode(entry, mode, width)
    addresses = any(one.kind in (MemoryKind.ADDRESS, MemoryKind.BLOCK) for one in code.memories)
    model = "PhysicalStorageBuffer64" if addresses else "Logical"
    if addresses:
        a.capability("PhysicalStorageBufferAddresses")
    return a.module(entry, code.name, "GLCompute", (model, "Vulkan"), f"<{code.name}>")
