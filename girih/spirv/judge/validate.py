"""The judgement of a module: all rows on all instructions, and what fails as diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from girih.diagnostics import CompileError, Diagnostic
from girih.rules.apply import failures
from girih.rules.row import Subject
from girih.source import Source, Span
from girih.spirv.instruction import Instruction
from girih.spirv.judge.places import Places
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import Facts
from girih.spirv.module import Module
from girih.spirv.rules.book import rows
from girih.spirv.rules.row import INSTRUCTION, MODULE, SpirvRow
from girih.spirv.specialise import with_values


def validate(
    module: Module | bytes,
    environment: str = "vulkan1.4",
    definitions: Mapping[int | str, object] | None = None,
) -> list[Diagnostic]:
    """Every rule that a module breaks, and warnings for what is likely wrong, in the order of its instructions.

    `definitions` are values of specialisation constants by SpecId or name, as for `Module.specialise`; the others have
    their defaults. Raises `ValueError` for an unknown environment; bytes that are not a module give diagnostics.
    """
    if environment not in ENVIRONMENTS:
        raise ValueError(f"environment: expected one of {', '.join(ENVIRONMENTS)}; found: {environment!r}")
    try:
        if not isinstance(module, Module):
            module = Module.from_bytes(module)
        if definitions:
            module = with_values(module, definitions)
    except CompileError as error:
        return list(error.diagnostics)
    facts = Facts(module, ENVIRONMENTS[environment])
    places = Places(module)
    found = _judge(facts, places, _header(module), rows().get(MODULE, ()), MODULE)
    everywhere = rows()[INSTRUCTION]
    for one in module.instructions:
        wrong = _judge(facts, places, one, everywhere, one.name)
        if one.malformed is None:
            wrong += _judge(facts, places, one, rows().get(one.name, ()), one.name)
        found += wrong
    return found


def _judge(
    facts: Facts, places: Places, one: Instruction, listed: tuple[SpirvRow, ...], owner: str
) -> list[Diagnostic]:
    wanted = listed if facts.is_vulkan else tuple(row for row in listed if not row.vulkan)
    if not wanted:
        return []
    span = Span(Source("", facts.module.name), 0, 0)
    return failures(f"spirv.{owner}", wanted, Subject(one, facts), span, places.labels)


def _header(module: Module) -> Instruction:
    """An instruction that stands for the header of a module."""
    return Instruction(-1, 0, (module.header.bound,), None)
