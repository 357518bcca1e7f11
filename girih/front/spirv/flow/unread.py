"""Loads of variables whose values nobody reads, although an instruction names them: matrices before they are filled.

OpCooperativeMatrixLoadTensorNV names the matrix that was there before, for the components that a view clips. Where the
module clips none, what was there before is not needed, and a loop need not carry it.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts

FILL = "OpCooperativeMatrixLoadTensorNV"


def unread_loads(facts: Facts, instructions: Sequence[Instruction]) -> frozenset[int]:
    """The results of OpLoad, among the instructions of a function, that are nothing but the matrix before a load."""
    before = {one.id("object") for one in instructions if one.name == FILL}
    if not before or any(one.name == "OpTensorViewSetClipNV" for one in facts.instructions):
        return frozenset()
    for one in instructions:
        before.difference_update(
            operand.value
            for operand in one.operands
            if operand.is_id and isinstance(operand.value, int) and (one.name, operand.name) != (FILL, "object")
        )
    return frozenset(one.result for one in instructions if one.name == "OpLoad" and one.result in before)
