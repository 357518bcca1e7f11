"""Arguments as emitted kernels read them, and the findings records that launches leave."""

import struct
from typing import Literal

import numpy as np
import pytest

from girih.arguments.arrays import GroupClaim, accept, specifications
from girih.back.llvm.lower.sites import Site
from girih.back.spirv.machine import record
from girih.back.spirv.machine.emitted import EmittedKernel, EmittedMember
from girih.diagnostics import InternalError
from girih.ir.core import Function
from girih.ir.types import GroupType
from girih.program import parse
from girih.runtime.emitted.members import group_records, member_block
from girih.runtime.emitted.narrow import suits_narrow
from girih.runtime.emitted.record import RECORD_BYTES, finding_in
from girih.spirv.binary import Header
from girih.spirv.module import Module

TEXT = """
func @f(%n: index, %z: c32, %a: memref<f32x?x?>, %g: group<memref<f32x?,strided<?>>x?>, %e: i8) {
}
"""

What = Literal["value", "size", "stride", "associated"]


def _function() -> Function:
    return parse(TEXT).functions[0]


def _members(*described: tuple[str, str, int, What, int]) -> tuple[EmittedMember, ...]:
    made: list[EmittedMember] = []
    end = 0
    for name, type, parameter, what, part in described:
        size = 8 if type in ("i64", "double") else 4
        offset = -(-end // size) * size
        made.append(EmittedMember(name, type, offset, parameter, what, part))
        end = offset + size
    return tuple(made)


def _kernel(function: Function, members: tuple[EmittedMember, ...] = (), sites: tuple[Site, ...] = ()) -> EmittedKernel:
    size = max((one.offset + 8 for one in members), default=0)
    module = Module(Header((1, 6), 0, 1, 0), ())
    return EmittedKernel(function, module, "f", 32, 32, 0, False, (), members, size, False, sites)


def test_arguments_are_members_and_records() -> None:
    function = _function()
    a, first, second = np.zeros((3, 4), np.float32, order="F"), np.zeros(5, np.float32), np.zeros(8, np.float32)[::2]
    accepted = accept(specifications(function), [-3, 1.5 - 2j, a, [first, second, None], -1])
    members = _members(
        ("n", "i32", 0, "value", 0), ("n_wide", "i64", 0, "value", 0),
        ("z_re", "float", 1, "value", 0), ("z_im", "float", 1, "value", 1),
        ("a_size1", "i32", 2, "size", 1), ("a_stride1", "i64", 2, "stride", 1),
        ("a_associated", "i32", 2, "associated", 0),
        ("g_size", "i64", 3, "size", 0), ("e", "i32", 4, "value", 0),
    )  # fmt: skip
    block = member_block(_kernel(function, members), accepted)
    assert struct.unpack_from("<i4xqffi4xqi4xqi", block) == (-3, -3, 1.5, -2.0, 4, 3, 1, 3, -1)
    type, group = function.parameters[3].type, accepted[3]
    assert isinstance(type, GroupType) and isinstance(group, GroupClaim)
    words = struct.unpack("<9q", group_records(type.memref, group, lambda claim: claim.start))
    assert words == (first.ctypes.data, 5, 1, second.ctypes.data, 4, 2, 0, 0, 1)

    assert suits_narrow(function, (2**20 - 1, 1, 1), accepted)
    assert not suits_narrow(function, (1, 2**20, 1), accepted)
    accepted[0] = np.full((1, 1, 1), 2**28 + 1)
    assert not suits_narrow(function, (1, 1, 1), accepted)


def test_a_record_is_a_finding() -> None:
    function = _function()
    site = Site("run.bounds", "a read beyond the memref", (0, 4), "a", 2, 2)
    kernel = _kernel(function, sites=(site, site))
    words = [0] * record.RECORD_WORDS
    assert finding_in(struct.pack(f"<{len(words)}i", *words), kernel) is None
    assert len(words) * 4 == RECORD_BYTES
    words[: record.COUNT + 1] = [record.WRITTEN, 1, 3, 4, 5, -1, 7, 4]
    words[record.FIRST_VALUE : record.FIRST_VALUE + 8] = [-1, -1, 6, 0, 3, 0, 4, 0]
    found = finding_in(struct.pack(f"<{len(words)}i", *words), kernel)
    assert found is not None
    assert (found.index, found.shape, found.work_group, found.subgroup, found.lane) == (
        (-1, 6),
        (3, 4),
        (3, 4, 5),
        None,
        7,
    )
    words[record.SITE] = 2
    with pytest.raises(InternalError, match="makes no sense"):
        finding_in(struct.pack(f"<{len(words)}i", *words), kernel)
