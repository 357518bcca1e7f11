"""What is imported from other modules, and what is exported to them (SPIR-V 2.16.1, LinkageAttributes)."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts


def is_imported(facts: Facts, id: int) -> bool:
    """Whether an id is decorated as imported."""
    wanted = grammar().kinds["LinkageType"].value("Import")
    return any(one.parameters[-1:] == (wanted,) for one in facts.annotations.of(id, "LinkageAttributes"))
