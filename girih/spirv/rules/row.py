"""Rows about instructions of a module, and the families of instructions that share them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from girih.lazy_dataclass import dataclass
from girih.rules.row import Predicate, Row, Subject

MODULE = "module"
"""The owner of rules about a module as a whole; their subject is an instruction that stands for its header."""
INSTRUCTION = "instruction"
"""The owner of rules that every instruction has; a diagnostic names the instruction itself."""


@dataclass(frozen=True, slots=True, eq=False)
class SpirvRow(Row):
    """A rule of SPIR-V.

    `vulkan`: only Vulkan demands it. `beyond`: why spirv-val does not reject what this row rejects, where it does not.
    """

    vulkan: bool = False
    beyond: str | None = None


def rule(
    id: str,
    blames: str,
    holds: Predicate,
    says: str,
    source: str,
    *,
    hint: str | Callable[[Subject[Any]], str | None] | None = None,
    severity: Literal["error", "warning"] = "error",
    vulkan: bool = False,
    beyond: str | None = None,
) -> SpirvRow:
    """A rule: its id, the operands it blames, what must hold, what is expected in words, and its source."""
    return SpirvRow(id, blames, holds, says, source, hint, severity, None, None, vulkan, beyond)


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Instructions that share rows. `opcodes` are names; `("module",)` and `("instruction",)` stand for more."""

    opcodes: tuple[str, ...]
    rows: tuple[SpirvRow, ...]


def family(opcodes: str, *rows: SpirvRow) -> Family:
    """A family; its opcodes are separated by spaces."""
    return Family(tuple(opcodes.split()), rows)
