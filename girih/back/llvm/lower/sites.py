"""The checks of a kernel: what to say where one fails. The messages are not in the code but beside it, as a table."""

from __future__ import annotations

from dataclasses import dataclass

MOST_VALUES = 28
"""How many numbers, of index and shape together, a finding keeps."""


@dataclass(frozen=True, slots=True)
class Site:
    """A check of the kernel, and what to say where it fails.

    `span` holds the start and end of the instruction in the text of the function. `place` puts index and shape into
    words, as in `Machine.find` of the interpreter. `by_lane` is false for what a subgroup does as one. Where the
    lanes are components of a matrix, `columns` of them are a row; elsewhere `columns` is 0.
    """

    code: str
    message: str
    span: tuple[int, int]
    argument: str | None = None
    index_count: int = 0
    shape_count: int = 0
    place: str = "index ({}) of shape ({})"
    by_lane: bool = True
    columns: int = 0
