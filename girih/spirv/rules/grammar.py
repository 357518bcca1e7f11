"""Rules that follow from the grammar: words that can be read, ids, capabilities, versions, extensions (SPIR-V 2, 3)."""

from __future__ import annotations

from girih.spirv.rules.row import INSTRUCTION, SpirvRow, family, rule
from girih.spirv.rules.terms import Holds, Subject


def _readable(id: str, says: str) -> SpirvRow:
    """The row of one way in which words do not fit the grammar."""

    def reads(subject: Subject[object]) -> bool:
        wrong = subject.op.malformed
        return wrong is None or wrong.rule != id

    def found(subject: Subject[object]) -> str:
        return str(subject.op.malformed.found)

    return rule(id, "", Holds(says, reads, found), says, "SPIR-V 2.3")


FAMILIES = (
    family(
        INSTRUCTION,
        _readable("opcode", "an opcode of the grammar"),
        _readable("missing", "all operands that the grammar declares"),
        _readable("surplus", "no words after the last operand"),
        _readable("string", "a string that ends with a zero byte within the instruction"),
        _readable("enumerant", "a value that the operand kind has"),
    ),
)
