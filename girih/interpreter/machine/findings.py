"""What checked execution finds, collected until the end of the launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.diagnostics import Finding
from girih.source import Span

KEPT = 100
"""How many findings are kept; later kinds are dropped."""

RUN_CODES = {
    "run.out_of_bounds": "an access outside the shape of a memref, a group or a subgroup",
    "run.uninitialized": "a read of memory that was never written",
    "run.null": "an access to a memref or group without memory (None)",
    "run.lifetime": "an access to local memory after its lifetime_stop",
    "run.not_uniform": "a value that must be the same for all work-items and is not",
    "run.divergent": "an instruction that all work-items must meet, met by some of them only",
    "run.tensor_layout": "numbers that a tensor layout or view cannot have",
    "run.undefined": "an access outside a tensor layout whose clamp mode is undefined",
    "run.misaligned": "a tensor whose base is no multiple of 16 bytes",
    "run.aliasing": "several components of a matrix stored to one element",
    "run.subview": "a slice that is negative, empty or outside the shape",
    "run.expand": "sizes whose product is not the size of the expanded mode",
    "run.fuse": "fused modes that do not lie without gaps in memory",
    "run.size": "shapes that do not fit each other at run time",
    "run.division_by_zero": "an integer divided by zero",
    "run.shift": "a shift by a negative amount or by the width of the type or more",
    "run.step": "a loop step that is not positive",
    "run.budget": "more instructions executed than the launch allows",
    "run.emit": "the target has no such output",
}
"""What a run can end with, by code."""

Key = tuple[str, Span]


class Findings:
    """One finding per code and place, with the number of occurrences."""

    def __init__(self) -> None:
        self._found: dict[Key, Finding] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, finding: Finding) -> None:
        """Keep the first of its kind, count the others."""
        key = (finding.code, finding.span)
        earlier = self._found.get(key)
        if earlier is not None:
            self._found[key] = replace(earlier, count=earlier.count + finding.count)
        elif len(self._found) < KEPT:
            self._found[key] = finding

    def all(self) -> Sequence[Finding]:
        """What was found, in source order."""
        return sorted(self._found.values(), key=lambda f: (f.span.start, f.code))
