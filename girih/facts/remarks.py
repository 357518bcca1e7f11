"""The words of what a launch remarks: nothing is wrong, but it may not be what was meant."""

from __future__ import annotations

import math
from collections.abc import Sequence

from girih.diagnostics import Diagnostic, plural
from girih.source import Span

RUN_REMARKS = {
    "run.untouched": "some elements of an argument that the kernel writes were written by no work-group",
}
"""The codes of the remarks of a launch, each with its meaning."""


def untouched(
    name: str,
    span: Span,
    count: int,
    first: Sequence[int],
    shape: Sequence[int],
    others: int,
    grid: tuple[int, int, int],
) -> Diagnostic:
    """The remark on an array of which `count` elements were not written; `first` is one of them.

    `others` counts further members of the same group that were not written everywhere.
    """
    numbers, sizes = (", ".join(map(str, values)) for values in (first, shape))
    which = f"{count} of {plural(math.prod(shape), 'element')}" if shape else "its element"
    place = f", the first at index ({numbers}) of shape ({sizes})" if shape else ""
    message = f"no work-group wrote {which} of %{name}{place}"
    if others:
        message += f"; likewise in {plural(others, 'other array')} of the group"
    ran = f"{' x '.join(map(str, grid))} work-groups"
    hint = f"if the kernel should write all of it, {ran} are too few, or each writes too little"
    return Diagnostic("run.untouched", message, span, "remark", hint=hint)
