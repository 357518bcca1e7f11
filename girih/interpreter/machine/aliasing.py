"""Operands of a collective instruction that share elements with its result, work-group by work-group.

Memories that differ are told apart at once, and boxes whose ranges of addresses do not meet by two comparisons for all
work-groups; the others are looked at once for each distance between them.
"""

from __future__ import annotations

import numpy as np

from girih.arguments.views import address
from girih.facts.overlap import byte_box, first_shared, index_at
from girih.interpreter.machine.values import Array, Mask, MemRefValue
from girih.lazy_dataclass import dataclass

Ints = tuple[int, ...]


@dataclass(slots=True)
class Box:
    """A memref with one shape and one set of strides for some work-groups, and its first element in each."""

    memref: MemRefValue
    offsets: Array
    shape: Ints
    strides: Ints

    def shows_what(self, other: Box) -> bool:
        """Whether another box that begins at the same address is the same view: of one type, shape and strides."""
        pairs = zip(self.shape, self.strides, other.strides, strict=False)
        same_type = self.memref.elements.data.dtype == other.memref.elements.data.dtype
        return same_type and self.shape == other.shape and all(a == b for size, a, b in pairs if size > 1)


@dataclass(frozen=True, slots=True)
class SharedElements:
    """The work-groups, as a mask, in which a result shares elements with an operand; the first shared index of one."""

    groups: Mask
    index: Ints


def shared_elements(result: Box, other: Box, among: Mask, *, same_view_is_fine: bool) -> SharedElements | None:
    """Where a result shares elements with another operand, among some work-groups; None where it does not.

    With `same_view_is_fine`, an operand that is the same view as the result counts as apart.
    """
    mine, its = result.memref.elements.data, other.memref.elements.data
    if not np.may_share_memory(mine, its):
        return None
    box = byte_box(result.shape, result.strides, mine.itemsize)
    other_box = byte_box(other.shape, other.strides, its.itemsize)
    if box is None or other_box is None:
        return None
    distances = address(its) - address(mine) + other.offsets * its.itemsize - result.offsets * mine.itemsize
    near = among & (distances < box.span) & (distances > -other_box.span)
    if same_view_is_fine and result.shows_what(other):
        near &= distances != 0
    if not near.any():
        return None
    shared = {int(d): first_shared(int(d), box, other_box) for d in np.unique(distances[near])}
    met = near & np.isin(distances, [d for d, byte in shared.items() if byte is not None])
    if not met.any():
        return None
    byte = shared[int(distances[met.argmax()])]
    assert byte is not None
    return SharedElements(met, index_at(byte, result.shape, result.strides, mine.itemsize))
