"""Rows applied to a subject: every row is tried, and all that fail are reported.

A row that is undetermined says nothing, and neither does one about an operand that an earlier row found in error: one
mistake gives one diagnostic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from girih.diagnostics import Diagnostic
from girih.rules.row import Row, Subject, Undetermined
from girih.source import Span

Label = tuple[Span, str]

Labels = Callable[[Row, Subject[Any]], tuple[Sequence[Label], Sequence[Label]]]
"""A function from a failing row to the guilty places, the first of which is the diagnostic's, and to further places."""


Blames = Callable[[Row, Subject[Any]], Iterable[str]]
"""A function from a row to the names of the operands that it blames, should the subject fail it."""


def named_operands(row: Row, _: Subject[Any]) -> Iterable[str]:
    """The operands that a row names."""
    return row.blames.split()


def failures(
    owner: str,
    rows: Iterable[Row],
    subject: Subject[Any],
    span: Span,
    labels: Labels,
    blames: Blames = named_operands,
) -> list[Diagnostic]:
    """The diagnostics of the rows of an owner (a mnemonic) that a subject fails; `span` is the whole subject's."""
    diagnostics: list[Diagnostic] = []
    wrong: frozenset[str] = frozenset()
    for row in rows:
        try:
            if wrong and not wrong.isdisjoint(blames(row, subject)):
                continue
            if row.holds.holds(subject):
                continue
            diagnostics.append(diagnose(owner, row, subject, span, labels))
        except Undetermined:
            continue
        if row.severity == "error":
            wrong = wrong.union(blames(row, subject))
    return diagnostics


def diagnose(owner: str, row: Row, subject: Subject[Any], span: Span, labels: Labels) -> Diagnostic:
    """The diagnostic of a row that does not hold."""
    guilty, further = labels(row, subject)
    came = row.holds.came(subject)
    message = f"expected: {row.says}" + (f"; found: {came}" if came else "")
    hint = row.hint(subject) if callable(row.hint) else row.hint
    first = guilty[0][0] if guilty else span
    return Diagnostic(
        f"{owner}.{row.id}", message, first, row.severity, (*guilty, *further), hint or row.holds.hint(subject)
    )
