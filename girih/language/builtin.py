"""The place of a work-item in the launch, and the sizes of the launch (003 "Builtin (mixed)", "Builtin (SPMD)")."""

from __future__ import annotations

from girih.language.types import index
from girih.language.words import outside, word


@word
def group_id(axis: int) -> index:
    """The number of the work-group along an axis of the grid, 0, 1 or 2, counted from 0."""
    outside("gl.group_id")
