"""Where diagnostics about a module point: into the source that debug information names, else into the module's text.

What reads debug information and texts is loaded with the first diagnostic: a module that is right needs neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from girih.rules.row import Row, Subject
from girih.source import Span
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.module import Module
from girih.spirv.rules.terms import Faulting

if TYPE_CHECKING:
    from girih.rules.apply import Label
    from girih.spirv.lines import SourceLines
    from girih.spirv.listing import Listing

GLSL = frozenset({0, 1, 2})
"""SourceLanguage Unknown, ESSL and GLSL (SPIR-V 3.2)."""


class Places:
    """The places of a module's instructions; nothing is worked out before the first diagnostic."""

    def __init__(self, module: Module) -> None:
        self._module = module

    @property
    def listing(self) -> Listing:
        """The text that the module was read from, else its disassembly."""
        return self._module.shown

    @cached_property
    def _lines(self) -> SourceLines:
        from girih.spirv.lines import SourceLines

        return SourceLines(self._module)

    def of(self, one: Instruction) -> Span:
        """The place of an instruction in the text of the module."""
        return self.listing.span(one.index)

    def labels(self, row: Row, subject: Subject[Any]) -> tuple[Sequence[Label], Sequence[Label]]:
        """The place in the source, where the module tells it; those of the operands that a row blames in its text."""
        one: Instruction = subject.op
        if one.index < 0:
            return [], []
        blamed = blamed_by(row, subject)
        words = self._in_glsl(one, blamed[0] if blamed else None)
        guilty = [(self.listing.operand_span(one.index, operand.word), "") for operand in blamed]
        in_text = guilty or [(self.of(one), "")]
        source = self._lines.of(one.index)
        if source is not None:
            return [(source, words)], in_text
        return [(in_text[0][0], words), *in_text[1:]], []

    def _in_glsl(self, one: Instruction, operand: Operand | None) -> str:
        """The words of GLSL for what is wrong, unless the module comes from another language."""
        from girih.spirv.glsl_names import in_glsl

        return in_glsl(one, operand) if self._is_glsl else ""

    @cached_property
    def _is_glsl(self) -> bool:
        known = [one.id("source_language") for one in self._module.instructions if one.name == "OpSource"]
        return all(language in GLSL for language in known)


def blamed_by(row: Row, subject: Subject[Any]) -> Sequence[Operand]:
    """The operands that a failing row blames: those that it names, or those of the fault."""
    if isinstance(row.holds, Faulting):
        fault = row.holds.fault(subject)
        return fault.operands if fault else ()
    one: Instruction = subject.op
    return [operand for name in row.blames.split() for operand in one.operands if operand.name == name]


def names_blamed_by(row: Row, subject: Subject[Any]) -> Sequence[str]:
    """The names of the operands that a row blames."""
    if isinstance(row.holds, Faulting):
        return [operand.name for operand in blamed_by(row, subject)]
    return row.blames.split()
