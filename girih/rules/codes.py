"""Codes as they can be looked up: the meaning of each and, for the code of a row, what the row demands and why.

The generated reference and `girih explain` show these words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from girih.lazy_dataclass import dataclass
from girih.rules.row import Row

WIDTH = 100
"""The characters of a line that `girih explain` prints."""


@dataclass(frozen=True, slots=True)
class Code:
    """A code of a diagnostic or a finding."""

    code: str
    severity: str
    says: str
    rule: str | None = None
    blames: str | None = None
    source: str | None = None
    needs: str | None = None

    @property
    def owner(self) -> str:
        """The owner of the rule, such as a mnemonic: the code without the rule's id."""
        return self.code.rpartition(".")[0]

    @property
    def id(self) -> str:
        """The id of the rule: the code without its owner."""
        return self.code.rpartition(".")[2]


def codes_of(owner: str, rows: Iterable[Row]) -> list[Code]:
    """The codes of an owner's rows: `owner.rule-id`."""
    return [_code_of(owner, row) for row in rows]


def _code_of(owner: str, row: Row) -> Code:
    blames = ", ".join(row.blames.split()) or None
    return Code(f"{owner}.{row.id}", row.severity, row.says, row.holds.text, blames, row.source, row.needs)


def explained(code: Code) -> list[str]:
    """The explanation of a code, as lines of text."""
    lines = [f"{code.code} ({code.severity})", "", *wrapped(code.says), ""]
    told = {"rule": code.rule, "blames": code.blames, "source": code.source, "needs": code.needs}
    return [*lines, *(line for title, text in told.items() if text for line in entry(title, text))]


def listed(code: Code) -> list[str]:
    """The lines of a code in a list of many."""
    severity = "" if code.severity == "error" else f" ({code.severity})"
    return textwrap.wrap(f"{code.code}{severity}: {code.says}", WIDTH, initial_indent="  ", subsequent_indent=" " * 6)


def wrapped(text: str) -> list[str]:
    """The lines of an indented paragraph."""
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="  ", subsequent_indent="  ")


def entry(title: str, text: str) -> list[str]:
    """The lines of a text beside its title, which has at most eight letters."""
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {title:<8}", subsequent_indent=" " * 10,
                         break_long_words=False)  # fmt: skip
