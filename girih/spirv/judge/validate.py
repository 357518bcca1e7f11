"""The judgement of a module: all rows on all instructions, and what fails as diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from girih.diagnostics import CompileError, Diagnostic
from girih.rules.apply import failures
from girih.rules.row import Subject
from girih.source import Source, Span
from girih.spirv.instruction import Instruction
from girih.spirv.judge.places import Places, names_blamed_by
from girih.spirv.model.environment import BLOCK_LAYOUTS, ENVIRONMENTS
from girih.spirv.model.facts import Facts
from girih.spirv.module import Module
from girih.spirv.rules.book import rows, rows_outside_vulkan
from girih.spirv.rules.row import INSTRUCTION, MODULE, SpirvRow
from girih.spirv.rules.terms import Analysed
from girih.spirv.specialise import ids_defined, with_values


def validate(
    module: Module | bytes,
    environment: str = "vulkan1.4",
    definitions: Mapping[int | str, object] | None = None,
    *,
    block_layout: str = BLOCK_LAYOUTS[0],
) -> list[Diagnostic]:
    """Every rule that a module breaks, and warnings for what is likely wrong, in the order of its instructions.

    `environment` is a version of Vulkan ("vulkan1.3") or of SPIR-V ("universal1.6", also "spv1.6").
    `definitions` are values of specialisation constants by SpecId or name, as for `Module.specialise`; the others have
    their defaults. `block_layout` are the rules of alignment for buffers: "scalar", "relaxed" or "standard". Raises
    `ValueError` for an unknown environment or layout; bytes that are not a module give diagnostics.
    """
    environment = environment.replace("spv1.", "universal1.") if environment.startswith("spv1.") else environment
    if environment not in ENVIRONMENTS:
        raise ValueError(f"environment: expected one of {', '.join(ENVIRONMENTS)}; found: {environment!r}")
    if block_layout not in BLOCK_LAYOUTS:
        raise ValueError(f"block_layout: expected one of {', '.join(BLOCK_LAYOUTS)}; found: {block_layout!r}")
    given: frozenset[int] = frozenset()
    try:
        if not isinstance(module, Module):
            module = Module.from_bytes(module)
        if definitions:
            module = with_values(module, definitions)
            given = ids_defined(module, definitions)
    except CompileError as error:
        return list(error.diagnostics)
    return _Judgement(Facts(module, ENVIRONMENTS[environment], block_layout, given)).diagnostics()


_ADDRESSES = ("AccessChain", "AccessChainKHR")
"""Ends of the names of address computations: as operations of specialisation constants only kernels have them."""


class _Judgement:
    """The judgement of one module: which rows are tried on which instruction."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._places = Places(facts.module)
        self._nowhere = Span(Source("", facts.module.name), 0, 0)
        self._rows = rows() if facts.is_vulkan else rows_outside_vulkan()

    def diagnostics(self) -> list[Diagnostic]:
        """All that is wrong with the module."""
        header = Instruction(-1, 0, (self._facts.module.header.bound,), None)
        found = self._judged(header, self._rows.get(MODULE, ()), MODULE)
        suspected = self._suspected()
        for one in self._facts.instructions:
            listed = suspected.get(one.index, ())
            if one.malformed is None:
                listed += self._rows.get(one.name, ())
            if listed:
                found += self._judged(one, listed, one.name)
            inner = one.computed
            if inner is not None and not inner.name.endswith(_ADDRESSES):
                found += self._judged(inner, self._rows.get(inner.name, ()), inner.name)
        return found

    def _suspected(self) -> Mapping[int, tuple[SpirvRow, ...]]:
        """The rows of every instruction, by the instructions about which their analyses have faults."""
        made: dict[int, tuple[SpirvRow, ...]] = {}
        for row in self._rows[INSTRUCTION]:
            assert isinstance(row.holds, Analysed), row.id
            for index in self._facts.once(row.holds.analysis):
                made[index] = (*made.get(index, ()), row)
        return made

    def _judged(self, one: Instruction, listed: Sequence[SpirvRow], owner: str) -> list[Diagnostic]:
        subject = Subject(one, self._facts)
        return failures(f"spirv.{owner}", listed, subject, self._nowhere, self._places.labels, names_blamed_by)
