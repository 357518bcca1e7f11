"""Rules about debug information: what operands name, and lines that the source text has.

NonSemantic.Shader.DebugInfo.100 and later, and OpenCL.DebugInfo.100.
"""

from __future__ import annotations

from girih.spirv.model.debug import LARGEST_VECTOR, ROLES, DebugRole, debug_faults, takers
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Analysis, Faults
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Analysed

SOURCE = "NonSemantic.Shader.DebugInfo"

BEYOND = {
    "class": "spirv-val reads DebugTypeInheritance as OpenCL.DebugInfo.100 has it, with one more operand",
    "shape": "spirv-val of 2025 does not know release 101 of the set",
    "release": "spirv-val of 2025 does not know release 101 of the set",
    "in_text": "spirv-val of 2025 does not look into the text",
}
"""Why spirv-val judges otherwise, by the ids of faults."""


def _faults(id: str) -> Analysis:
    def found(facts: Facts) -> Faults:
        return facts.once(debug_faults).of(id)

    return found


def _role(role: DebugRole) -> SpirvRow:
    """The row of what some operands have to name."""
    return rule(
        f"debug_{role.id}", "", Analysed(f"{', '.join(takers(role.id))}: {role.words}", _faults(role.id)), role.words,
        f"{SOURCE} 4", beyond=BEYOND.get(role.id),
    )  # fmt: skip


def _row(id: str, words: str, says: str) -> SpirvRow:
    return rule(f"debug_{id}", "", Analysed(words, _faults(id)), says, f"{SOURCE} 4", beyond=BEYOND.get(id))


FAMILIES = (
    family(
        "OpExtInst OpExtInstWithForwardRefsKHR",
        _row("result", "Result Type of a debug instruction is OpTypeVoid", "OpTypeVoid as result type"),
        *map(_role, ROLES),
        _row("components", f"vectors and matrices have 1 to {LARGEST_VECTOR} components",
             f"1 to {LARGEST_VECTOR} components"),
        _row("fixed_count", "with OpenCL.DebugInfo.100 the elements of an array are an OpConstant above 0",
             "an OpConstant above 0 as number of elements"),
        _row("release", "the imported release of the set has the instruction",
             "an instruction of the release that the module imports"),
        _row("line_range", "a DebugLine begins at line 1 or later, and ends where it begins or later",
             "a line from 1 on, and an end that is not before it"),
        _row("in_text", "lines and columns are in the text of the source", "a place in the text of its DebugSource"),
        _row("entry_block", "a DebugFunctionDefinition stands in the first block", "the first block of the function"),
        _row("own_function", "a DebugFunctionDefinition names the function in which it stands",
             "the function in which it stands"),
    ),
)  # fmt: skip
