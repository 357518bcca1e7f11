"""Rules about explicit layout: offsets, strides and alignments of what stands in buffers (SPIR-V 2.16.2)."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Faults
from girih.spirv.model.memory.explicit_layout import layout_faults
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Analysed

VULKAN = "Vulkan 15.8.4"
"""Offset and Stride Assignment."""


def _row(id: str, blames: str, says: str, source: str = "SPIR-V 2.16.2", *,
         hint: str | None = None, vulkan: bool = False, beyond: str | None = None) -> SpirvRow:  # fmt: skip
    def analysis(facts: Facts) -> Faults:
        return facts.once(layout_faults).of(id)

    return rule(id, blames, Analysed(says, analysis), says, source, hint=hint, vulkan=vulkan, beyond=beyond)


FAMILIES = (
    family(
        "OpTypeStruct",
        _row("offset", "members", "an Offset of each member: the struct stands in a buffer"),
        _row("matrix_order", "members", "RowMajor or ColMajor of each member with matrices"),
        _row("matrix_stride", "members", "a MatrixStride of each member with matrices"),
        _row("runtime_array_end", "members", "a runtime array at the end of the block",
             "VUID-StandaloneSpirv-OpTypeRuntimeArray-04680"),
        _row("overlap", "members", "members that do not overlap"),
        _row("alignment", "members", "members at multiples of their alignments", VULKAN, vulkan=True),
        _row("straddle", "members", "vectors that do not cross a boundary of 16 bytes", VULKAN, vulkan=True),
    ),
    family(
        "OpTypeArray OpTypeRuntimeArray",
        _row("array_stride", "element_type", "an ArrayStride of the array: it stands in a buffer",
             hint="decorate the array with ArrayStride"),
        _row("array_stride_zero", "element_type", "an ArrayStride that is not 0"),
        _row("array_stride_alignment", "element_type", "an ArrayStride that is a multiple of the alignment", VULKAN,
             vulkan=True),
        _row("array_stride_size", "element_type", "an ArrayStride of at least the bytes of an element"),
    ),
    family(
        "OpTypeMatrix",
        _row("matrix_stride_alignment", "", "a MatrixStride that is a multiple of the alignment", VULKAN, vulkan=True),
        _row("matrix_stride_size", "", "a MatrixStride of at least the bytes of a column, or of a row if RowMajor",
             beyond="spirv-val 2025.5 compares this stride with alignments only"),
    ),
    family(
        "OpVariable OpUntypedVariableKHR",
        _row("no_layout", "result_type data_type", "a type without decorations of layout, since it has none there",
             "VUID-StandaloneSpirv-None-10684", vulkan=True),
        _row("descriptor_stride", "result_type data_type",
             "an array of descriptors without ArrayStride: they do not stand in memory",
             "VUID-StandaloneSpirv-None-10684", vulkan=True),
    ),
)  # fmt: skip
