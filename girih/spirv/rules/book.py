"""All rules of SPIR-V: the rows of each instruction, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from girih.spirv.grammar import grammar
from girih.spirv.rules.row import INSTRUCTION, MODULE, Family, SpirvRow

CHAPTERS = ("grammar",)
"""The modules below this room that have `FAMILIES`, in the order in which their rows are tried."""


@cache
def families() -> tuple[Family, ...]:
    """The families of all chapters."""
    chapters = (import_module(f"girih.spirv.rules.{name}") for name in CHAPTERS)
    return tuple(family for chapter in chapters for family in chapter.FAMILIES)


@cache
def rows() -> Mapping[str, tuple[SpirvRow, ...]]:
    """The rows by the first name of their instruction, and by `module` and `instruction`."""
    made: dict[str, list[SpirvRow]] = {}
    for one in families():
        for name in one.opcodes:
            owner = name if name in (MODULE, INSTRUCTION) else grammar().named(name).name
            made.setdefault(owner, []).extend(one.rows)
    return {owner: tuple(listed) for owner, listed in made.items()}
