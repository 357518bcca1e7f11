"""The findings record of a launch (`girih.back.spirv.machine.record`) as a finding."""

from __future__ import annotations

import struct

from girih.back.llvm.lower.launch.found import finding_of
from girih.back.spirv.machine import record
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.diagnostics import Finding, InternalError

RECORD_BYTES = 4 * record.RECORD_WORDS
"""The bytes of a record, all 0 before the launch."""


def finding_in(content: bytes, kernel: EmittedKernel) -> Finding | None:
    """The finding of a record, as the launch left it; None where nothing was found."""
    words = struct.unpack_from(f"<{record.RECORD_WORDS}i", content)
    if words[record.STATE] == record.NOTHING:
        return None
    number, count = words[record.SITE], words[record.COUNT]
    kept = (record.RECORD_WORDS - record.FIRST_VALUE) // 2
    if words[record.STATE] != record.WRITTEN or not 0 <= number < len(kernel.sites) or not 0 <= count <= kept:
        raise InternalError(f"@{kernel.function.name} left a findings record that makes no sense: {words[:8]}")
    values = struct.unpack_from(f"<{count}q", content, 4 * record.FIRST_VALUE)
    x, y, z = words[record.GROUP : record.GROUP + 3]
    lane, subgroup = words[record.LANE], words[record.SUBGROUP]
    return finding_of(kernel.sites[number], kernel.function, values, (x, y, z), subgroup, lane)
