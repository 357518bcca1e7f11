"""What an analysis of a module finds wrong: by instruction, since rules are about instructions.

An analysis is a function of the facts, asked for by `facts.once`; a row (`girih.spirv.rules.terms.Analysed`) looks its
faults up. So a rule about places costs one pass over the module, and nothing for instructions that are right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Operand

if TYPE_CHECKING:
    from girih.spirv.model.facts import Facts


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an instruction: the words for what came, the operands at fault, and the fix if known."""

    came: str
    operands: tuple[Operand, ...] = ()
    hint: str | None = None


Faults = Mapping[int, Fault]
"""Faults by the index of the instruction."""

Analysis = Callable[["Facts"], Faults]


class FaultList:
    """Faults while they are collected, by rule; several of one rule about one instruction become one."""

    def __init__(self) -> None:
        self._made: dict[str, dict[int, Fault]] = {}

    def add(self, rule: str, index: int, fault: Fault) -> None:
        """Take up a fault about the instruction of an index."""
        of_rule = self._made.setdefault(rule, {})
        known = of_rule.get(index)
        if known is not None:
            came = known.came if fault.came in known.came else f"{known.came}; {fault.came}"
            fault = Fault(came, known.operands + fault.operands, known.hint or fault.hint)
        of_rule[index] = fault

    def of(self, rule: str) -> Faults:
        """The faults of a rule."""
        return self._made.get(rule, {})


def words_of_one(name: str, position: int) -> str:
    """The words for one of several operands of a name, counted from 0: `Constituent 2`, `Index 0`, `Block Size 1`."""
    words = words_of(name)
    return f"{_SINGULARS.get(words, words)} {position}"


_SINGULARS = {
    "Arguments": "Argument", "Components": "Component", "Constituents": "Constituent", "Indexes": "Index",
    "Members": "Member", "Operands": "Operand", "Parameters": "Parameter",
}  # fmt: skip
"""Words for operands that the grammar calls by a plural, with those for one of them."""


def words_of(name: str) -> str:
    """The words for an operand: `Tensor Layout` for `tensor_layout`, an enumerant's name as it is."""
    return " ".join(part.capitalize() for part in name.split("_")) if name.islower() else name
