"""Whether a launch suits a module with narrow indices (docs/design/vulkan.md, "The interface")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from girih.arguments.arrays import Accepted, GroupClaim
from girih.arguments.claims import Claim, clusters
from girih.back.spirv.machine.parameters import EVEN, MOST_GRID, MOST_INDEX
from girih.ir.core import Function
from girih.ir.types import INDEX, MemRef
from girih.runtime.emitted.members import claims_of

MOST_BYTES = 2**31
"""A buffer has fewer bytes."""


def suits_narrow(function: Function, grid: tuple[int, int, int], accepted: Sequence[Accepted]) -> bool:
    """Whether all that a launch passes is within the limits of narrow modules."""
    if max(grid) >= MOST_GRID:
        return False
    claims = [claim for item in accepted for claim in claims_of(item)]
    if any(cluster.end - cluster.start >= MOST_BYTES for cluster in clusters(claims)):
        return False
    return all(
        _is_small(item) for one, item in zip(function.parameters, accepted, strict=True)
        if one.type == INDEX or not isinstance(item, np.ndarray)
    )  # fmt: skip


def are_even(function: Function, accepted: Sequence[Accepted]) -> bool:
    """Whether all sizes and strides that a launch passes for arrays are multiples of `EVEN`."""
    for parameter, item in zip(function.parameters, accepted, strict=True):
        if isinstance(item, Claim) and isinstance(parameter.type, MemRef):
            told = [*zip(parameter.type.shape, item.shape, strict=True),
                    *zip(parameter.type.strides, item.strides, strict=True)]  # fmt: skip
            if any(known is None and number % EVEN for known, number in told):
                return False
    return True


def _is_small(item: Accepted) -> bool:
    match item:
        case np.ndarray():
            return abs(int(item[0, 0, 0])) <= MOST_INDEX
        case GroupClaim():
            return item.size <= MOST_INDEX and all(map(_is_small, item.members))
        case Claim():
            return max((*item.shape, *item.strides), default=0) <= MOST_INDEX
        case _:
            return True
