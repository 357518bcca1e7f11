"""Shader code as a SPIR-V module for OpenCL: version 1.2, a kernel with parameters, addresses of 64 bits.

Version 1.2 is what OpenCL 2.2 takes, and every driver of OpenCL 2.1 and later that takes modules at all. Operations of
subgroups are those of `Groups` and of SPV_INTEL_subgroups.
"""

from __future__ import annotations

from girih.back.spirv.binary.assembly import Assembly
from girih.back.spirv.binary.opencl_leaving import LeavingWriter
from girih.back.spirv.binary.opencl_memory import OpenClMemory
from girih.back.spirv.binary.opencl_numbers import number_rules
from girih.back.spirv.binary.opencl_rules import OPENCL_RULES
from girih.back.spirv.code.nodes import ShaderCode
from girih.spirv.module import Module


class OpenClAssembly(Assembly):
    """A module for OpenCL, whose integers have no sign (OpenCL SPIR-V Environment, "Validation Rules")."""

    version = (1, 2)
    function_set = "OpenCL.std"
    # The translator from SPIR-V to LLVM that drivers have in them reads two words of OpSource, takes the next for an
    # instruction, and ends the process.
    contains_sources = False

    def integer_type(self, width: int, *, signed: bool) -> int:
        """The id of an integer type."""
        return super().integer_type(width, signed=False)

    def integer(self, value: int, width: int = 32, *, signed: bool = True) -> int:
        """The id of an integer constant."""
        return super().integer(value, width, signed=False)


def write_opencl_module(code: ShaderCode, bindings: int, record_words: int | None = None) -> Module:
    """The module of shader code, whose kernel has a pointer for each of `bindings`, and then the members by value.

    With checks the last binding is the findings record, of `record_words` words, with 16 bytes behind it for work-items
    that have left.
    """
    a = OpenClAssembly()
    a.capability("Addresses", "Kernel")
    memory = OpenClMemory(a, code, bindings, record_words)
    rules = {**number_rules(), **OPENCL_RULES}
    s = LeavingWriter(a, memory, rules, memory.type, {**code.names, **memory.names})
    entry = a.fresh()
    a.name(entry, code.name)
    s.function(entry, a.type("void"), memory.parameters, code.body)
    a.functions += a.function
    a.mode(entry, "LocalSize", code.local_size, 1, 1)
    a.capability("SubgroupDispatch")
    a.mode(entry, "SubgroupSize", code.subgroup_size)
    # Products and sums are rounded one by one; where they may be rounded together, `opencl_numbers` writes so.
    a.mode(entry, "ContractionOff")
    return a.module(entry, code.name, "Kernel", ("Physical64", "OpenCL"), f"<{code.name}>")
