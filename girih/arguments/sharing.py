"""Members of groups that share memory which the kernel writes: such a launch is refused, on every target alike.

The language leaves open what a kernel would see then, and executors need not agree: the interpreter lays the members of
a group side by side. Arrays that lie between each other's elements share nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.claims import Claim, Cluster, clusters
from girih.arguments.memory import bytes_of
from girih.arguments.report import ArgumentReport

_READ, _WRITTEN, _READ_MEMBER, _WRITTEN_MEMBER = 1, 2, 4, 8
_CONFLICTS = {
    _READ: _WRITTEN_MEMBER,
    _WRITTEN: _READ_MEMBER | _WRITTEN_MEMBER,
    _READ_MEMBER: _WRITTEN | _WRITTEN_MEMBER,
    _WRITTEN_MEMBER: _READ | _WRITTEN | _READ_MEMBER | _WRITTEN_MEMBER,
}
"""The uses of a byte that conflict with each use by an argument."""


def refuse_shared_members(claims: Sequence[Claim], members: Collection[Claim], report: ArgumentReport) -> None:
    """Report a member of a group that shares memory with another argument, where the kernel writes to that memory."""
    if not any(claim.written for claim in claims):
        return
    of_groups = frozenset(members)
    for cluster in clusters(claims):
        if len(cluster.claims) > 1 and any(c.written for c in cluster.claims):
            _look_closely(cluster, of_groups, report)


def _look_closely(cluster: Cluster, members: frozenset[Claim], report: ArgumentReport) -> None:
    """Report the conflicts among arrays whose ranges of addresses overlap, byte by byte."""
    uses = np.zeros(cluster.end - cluster.start, np.uint8)
    seen: list[Claim] = []
    for claim in cluster.claims:
        use = _use(claim, members)
        mine = _bytes(uses, claim, cluster)
        if (mine & _CONFLICTS[use]).any():
            _report(claim, next(other for other in seen if _conflict(claim, other, cluster, members)), members, report)
            return
        mine |= use
        seen.append(claim)


def _use(claim: Claim, members: frozenset[Claim]) -> int:
    if claim in members:
        return _WRITTEN_MEMBER if claim.written else _READ_MEMBER
    return _WRITTEN if claim.written else _READ


def _bytes(flags: NDArray[Any], claim: Claim, cluster: Cluster) -> NDArray[Any]:
    """The flags of an array's elements out of those for the bytes of a cluster."""
    return bytes_of(flags[claim.start - cluster.start :], claim.shape, claim.strides, claim.dtype.itemsize)


def _conflict(claim: Claim, other: Claim, cluster: Cluster, members: frozenset[Claim]) -> bool:
    """Whether two arrays conflict in some byte."""
    if not _CONFLICTS[_use(claim, members)] & _use(other, members):
        return False
    flags = np.zeros(cluster.end - cluster.start, np.bool_)
    _bytes(flags, claim, cluster)[...] = True
    return bool(_bytes(flags, other, cluster).any())


def _report(claim: Claim, other: Claim, members: frozenset[Claim], report: ArgumentReport) -> None:
    member, other = (claim, other) if claim in members else (other, claim)
    message = f"it shares memory with {other.place.called}, and the kernel writes to that memory"
    hint = "pass arrays that share no memory, or one array with one axis more, which is no group"
    report.add("bind.overlap", member.place, message, hint)
