"""Rules about words that do not fit the grammar (SPIR-V 2.3, 3)."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.rules.row import INSTRUCTION, SpirvRow, family, rule
from girih.spirv.rules.terms import Analysed


def _readable(id: str, says: str) -> SpirvRow:
    """The row of one way in which words do not fit the grammar."""

    def unreadable(facts: Facts) -> Faults:
        wrong = ((one.index, one.malformed) for one in facts.instructions if one.malformed is not None)
        return {index: Fault(malformed.found) for index, malformed in wrong if malformed.rule == id}

    return rule(id, "", Analysed(says, unreadable), says, "SPIR-V 2.3")


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
