"""The failure record of a launch (`girih.back.llvm.lower.launch.record`) as a finding."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from girih.back.llvm.lower.launch import record as layout
from girih.back.llvm.lower.launch.found import finding_of
from girih.back.llvm.lower.sites import Site
from girih.diagnostics import Finding, InternalError
from girih.ir.core import Function


def finding_in(
    record: bytes, sites: Sequence[Site], function: Function, grid: Sequence[int], parts: Sequence[int] = (1, 1)
) -> Finding:
    """The finding that a filled record holds, in the interpreter's words.

    `sites` are the checks of the kernel, and `grid` the work-groups of the launch along x and y at least, each
    of which the device has executed in so many `parts`.
    """
    _, number = struct.unpack_from("=ii", record)
    if not 0 <= number < len(sites):
        raise InternalError(f"@{function.name} failed at check {number}, which it has not got")
    group, subgroup, lane = struct.unpack_from("=qqq", record, layout.RECORD_GROUP)
    values = struct.unpack_from(f"={layout.RECORD_VALUES}q", record, layout.RECORD_FIRST_VALUE)
    x, y = grid[0] * parts[0], grid[1] * parts[1]
    place = (group % x // parts[0], group // x % y // parts[1], group // (x * y))
    return finding_of(sites[number], function, values, place, subgroup, lane)
