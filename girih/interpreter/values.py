"""What the machine computes with, besides NumPy arrays.

A scalar value is an array with axes [work_group, subgroup, lane], each of full size or 1 where the value does not vary.
A cooperative matrix is an array [work_group, subgroup, row, column]. Memrefs and groups are the classes below; their
offsets, sizes and strides are ints, or arrays like scalars where they vary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.interpreter.bound import BoundGroup, BoundMemRef, Memory

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Varying = int | Array
"""An int, or an array of ints like a scalar value."""


@dataclass(slots=True, eq=False)
class MemRefValue:
    """A memref: element (i, j, ...) is `memory.data[offset + i * strides[0] + ...]`.

    `null` is true where there is no memory behind it; `broken` where a view that made it was outside what it shows:
    accesses there do nothing, since the view itself was reported.
    """

    memory: Memory
    offset: Varying
    shape: tuple[Varying, ...]
    strides: tuple[Varying, ...]
    null: Mask | None = None
    broken: Mask | None = None
    freed: list[bool] = field(default_factory=lambda: [False])

    @property
    def name(self) -> str:
        return self.memory.name


@dataclass(slots=True, eq=False)
class GroupValue:
    """A group: its members side by side in one memory."""

    memory: Memory
    offsets: Array
    shapes: tuple[Array, ...]
    strides: tuple[Array, ...]
    nulls: Mask
    null: bool
    size: int
    name: str


Value = Array | MemRefValue | GroupValue

_NOTHING = np.zeros(0)


def memref_value(bound: BoundMemRef, name: str) -> MemRefValue:
    """A memref parameter."""
    if bound.memory is None:
        null = np.ones((1, 1, 1), np.bool_)
        memory = Memory(_NOTHING, None, name)
        return MemRefValue(memory, 0, bound.shape, bound.strides, null)
    return MemRefValue(bound.memory, bound.offset, bound.shape, bound.strides)


def group_value(bound: BoundGroup, name: str, order: int, dtype: np.dtype[Any]) -> tuple[GroupValue, list[Scatter]]:
    """A group parameter, and how its memory goes back to its members after the run.

    The members are laid side by side, so that work-groups that load different members still run together.
    """
    position = 0
    parts: list[Array] = []
    bases: dict[int, int] = {}
    scatters: list[Scatter] = []
    offsets = np.zeros(max(1, len(bound.members)), np.int64)
    for number, member in enumerate(bound.members):
        memory = member.memory
        if memory is None:
            continue
        if id(memory) not in bases:
            bases[id(memory)] = position
            parts.append(memory.data)
            scatters.append(Scatter(memory, position))
            position += memory.data.size
        offsets[number] = bases[id(memory)] + member.offset
    data = np.concatenate(parts) if parts else np.zeros(0, dtype)
    members = Memory(data, _joined(scatters, "written", data.size, whole=True), name,
                     _joined(scatters, "elements", data.size, whole=True))  # fmt: skip
    shapes = tuple(_column(bound, "shape", k) for k in range(order))
    strides = tuple(_column(bound, "strides", k) for k in range(order))
    nulls = np.array([m.memory is None for m in bound.members] or [True])
    value = GroupValue(members, offsets, shapes, strides, nulls, bound.null, bound.size, name)
    return value, scatters


@dataclass(slots=True, eq=False)
class Scatter:
    """Where a member's elements lie in the memory of its group."""

    memory: Memory
    position: int

    def write_back(self, group: Memory) -> None:
        """Copy what the kernel left in the group's memory to the member."""
        part = slice(self.position, self.position + self.memory.data.size)
        if self.memory.data.flags.writeable:
            self.memory.data[:] = group.data[part]
        if self.memory.written is not None and group.written is not None:
            self.memory.written[:] = group.written[part]


def _joined(scatters: list[Scatter], name: str, size: int, *, whole: bool) -> Mask | None:
    """One map of all members' maps; a member without one counts as `whole` everywhere."""
    if all(getattr(s.memory, name) is None for s in scatters):
        return None
    found = np.full(size, whole)
    for s in scatters:
        part = getattr(s.memory, name)
        if part is not None:
            found[s.position : s.position + s.memory.data.size] = part
    return found


def _column(bound: BoundGroup, name: str, mode: int) -> Array:
    return np.array([getattr(m, name)[mode] for m in bound.members] or [0], np.int64)


def groups_share_memory(groups: list[BoundGroup], others: list[BoundMemRef]) -> bool:
    """Whether a member of a group overlaps another argument or another member that is not the same memory."""
    memories: dict[int, Memory] = {}
    owners: dict[int, set[int]] = {}
    for owner, members in enumerate([*(g.members for g in groups), *((m,) for m in others)]):
        for member in members:
            if member.memory is not None and member.memory.data.size:
                memories[id(member.memory)] = member.memory
                owners.setdefault(id(member.memory), set()).add(owner)
    if any(len(found) > 1 for found in owners.values()):
        return True
    spans = sorted(_address_range(m) for m in memories.values())
    return any(a[1] > b[0] for a, b in pairwise(spans))


def _address_range(memory: Memory) -> tuple[int, int]:
    start = int(memory.data.__array_interface__["data"][0])
    return start, start + memory.data.nbytes
