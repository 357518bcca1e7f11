"""The findings of checked execution, collected until the end of the launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.diagnostics import Finding
from girih.source import Span

KEPT = 100
"""How many findings are kept; later kinds are dropped."""

Key = tuple[str, frozenset[Span]]


class Findings:
    """One finding per code and place, a race per pair of places, with the number of occurrences."""

    def __init__(self) -> None:
        self._found: dict[Key, Finding] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, finding: Finding) -> None:
        """Add a finding: the first of a code and place is kept, the others are counted."""
        places = {finding.span} if finding.other is None else {finding.span, finding.other.span}
        key = (finding.code, frozenset(places))
        earlier = self._found.get(key)
        if earlier is not None:
            self._found[key] = replace(earlier, count=earlier.count + finding.count)
        elif len(self._found) < KEPT:
            self._found[key] = finding

    def all(self) -> Sequence[Finding]:
        """The findings in source order."""
        return sorted(self._found.values(), key=lambda f: (f.span.start, f.code, f.other.span.start if f.other else 0))
