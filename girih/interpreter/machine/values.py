"""The values that the machine computes with.

A scalar value is an array with axes [work_group, subgroup, lane], each of full size or 1 where the value does not vary.
A cooperative matrix is an array [work_group, subgroup, row, column]. Memrefs and groups are the classes below; their
offsets, sizes and strides are ints, or arrays like scalars where they vary.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.bound import BoundGroup, BoundMemRef
from girih.arguments.memory import ElementView, Memory, elements_of
from girih.arguments.views import address
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.addressing import TensorLayout, TensorMap, TensorView

_LARGEST = 16
"""The bytes of the largest element."""

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Varying = int | Array
"""An int, or an array of ints like a scalar value."""


@dataclass(slots=True, eq=False)
class Lifetime:
    """The mask of work-groups in which local memory is freed, None for none; a memory's views share it."""

    ended: Mask | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ViewedBytes:
    """What a view of bytes lies in: the element of the view's memory that it begins with, and how many bytes it has."""

    begin: Varying
    extent: Varying


@dataclass(slots=True, eq=False)
class MemRefValue:
    """A memref: element (i, j, ...) is `elements.data[offset + i * strides[0] + ...]`.

    `null` is true for work-items for which the memref has no memory; `broken` for those whose view was outside of the
    memref that it shows: their accesses do nothing, since the view itself was reported. `member` is the number of the
    memref in its group. `inside` is there for views of bytes that may reach out of them: each access has to look.
    `aligned` says that the first byte counts as aligned, wherever it lies.
    """

    elements: ElementView
    offset: Varying
    shape: tuple[Varying, ...]
    strides: tuple[Varying, ...]
    null: Mask | None = None
    broken: Mask | None = None
    lifetime: Lifetime = field(default_factory=Lifetime)
    member: Varying | None = None
    inside: ViewedBytes | None = None
    aligned: bool = False

    @property
    def name(self) -> str:
        return self.elements.name

    def name_for(self, bad: Mask) -> str:
        """The name of the buffer of the first work-item in a mask: of a group, with the number of the member."""
        if self.member is None:
            return self.name
        return f"{self.name}[{entry_of(self.member, bad)}]"


def entry_of(number: Varying, bad: Mask) -> int:
    """What a number is for the first work-item in a mask, which is not empty."""
    if isinstance(number, int):
        return number
    at = np.unravel_index(int(bad.argmax()), bad.shape)
    return int(number[tuple(min(int(i), n - 1) for i, n in zip(at, number.shape, strict=True))])


@dataclass(slots=True, eq=False)
class GroupValue:
    """A group of memrefs, which lie side by side in one memory."""

    elements: ElementView
    offsets: Array
    shapes: tuple[Array, ...]
    strides: tuple[Array, ...]
    nulls: Mask
    null: bool
    size: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ModelValue:
    """Tensor layouts or views, None for an illegal one, and the number of each work-item's one as a scalar value."""

    models: tuple[TensorLayout | TensorView | None, ...]
    which: Array


@dataclass(slots=True, eq=False)
class MapValue:
    """A tensor map, and the memory of its tensor, from the address of the map on."""

    tensor_map: TensorMap
    memory: Memory


Value = Array | MemRefValue | GroupValue | ModelValue | MapValue


def memref_value(bound: BoundMemRef, name: str, dtype: np.dtype[Any]) -> MemRefValue:
    """The value of a memref parameter; `dtype` is its element type, even if it has no memory."""
    if bound.elements is None:
        null = np.ones((1, 1, 1), np.bool_)
        nothing = Memory(np.zeros(0, np.uint8), None, name).view(dtype)
        return MemRefValue(nothing, 0, bound.shape, bound.strides, null)
    return MemRefValue(bound.elements, 0, bound.shape, bound.strides)


def group_value(bound: BoundGroup, name: str, order: int, dtype: np.dtype[Any]) -> tuple[GroupValue, list[Scatter]]:
    """The value of a group parameter, and how its memory goes back to its members after the run.

    The members lie side by side in one memory, so that work-groups that load different members still run together.
    """
    # Each begins where an element of any type may, so that bytes can be viewed as larger elements.
    position, apart = 0, max(1, _LARGEST // dtype.itemsize)
    bases: dict[tuple[int, ...], int] = {}
    scatters: list[Scatter] = []
    offsets = np.zeros(max(1, len(bound.members)), np.int64)
    for number, member in enumerate(bound.members):
        if member.elements is None:
            continue
        memory = member.elements.memory
        key = _identity(memory)
        if key not in bases:
            bases[key] = position
            scatters.append(Scatter(member, member.elements, position))
            position += -(-member.elements.data.size // apart) * apart
        offsets[number] = bases[key]
    elements = _side_by_side(scatters, position, dtype, name)
    shapes = tuple(_column(bound, "shape", k) for k in range(order))
    strides = tuple(_column(bound, "strides", k) for k in range(order))
    nulls = np.array([m.elements is None for m in bound.members] or [True])
    value = GroupValue(elements, offsets, shapes, strides, nulls, bound.null, bound.size, name)
    return value, scatters


@dataclass(slots=True, eq=False)
class Scatter:
    """The place in its group's memory, beginning at `first`, of the elements of a member."""

    member: BoundMemRef
    elements: ElementView
    first: int

    @property
    def part(self) -> slice:
        return slice(self.first, self.first + self.elements.data.size)

    def write_back(self, group: ElementView) -> None:
        """Copy the member's elements from the group's memory to the member; what lies between them stays."""
        if self.elements.data.flags.writeable:
            self._of_member(self.elements.data)[...] = self._of_member(group.data[self.part])
        for mine, theirs in ((self.elements.marks, group.marks), (self.elements.touched, group.touched)):
            if mine is not None and theirs is not None:
                self._of_member(mine)[...] = self._of_member(theirs[self.part])

    def _of_member(self, flat: Array) -> Array:
        """The entries of `flat`, which has one for each element of the memory, for the member's elements."""
        return elements_of(flat, self.member.shape, self.member.strides)


def _identity(memory: Memory) -> tuple[int, ...]:
    """A key that is equal for members with the same bytes, which are one memory of the group.

    Where the kernel writes, and its language leaves open what it would see, such members were refused.
    """
    return _address_range(memory) if memory.bytes.size else (id(memory),)


def _side_by_side(scatters: list[Scatter], size: int, dtype: np.dtype[Any], name: str) -> ElementView:
    """One memory of `size` elements for all members of a group."""
    count = size * dtype.itemsize
    marks = np.ones(count, np.bool_) if any(s.elements.marks is not None for s in scatters) else None
    touched = np.ones(count, np.bool_) if any(s.elements.touched is not None for s in scatters) else None
    group = Memory(np.zeros(count, np.uint8), marks, name, touched).view(dtype)
    for s in scatters:
        group.data[s.part] = s.elements.data
        for mine, theirs in ((s.elements.marks, group.marks), (s.elements.touched, group.touched)):
            if mine is not None and theirs is not None:
                theirs[s.part] = mine
    return group


def _column(bound: BoundGroup, name: str, mode: int) -> Array:
    return np.array([getattr(m, name)[mode] for m in bound.members] or [0], np.int64)


def _address_range(memory: Memory) -> tuple[int, int]:
    start = address(memory.bytes)
    return start, start + memory.bytes.size
