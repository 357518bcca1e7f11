"""The places of a kernel as tables that arrays of stamps look up, and the names of what lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from girih.analysis.accesses import Place
from girih.arguments.memory import ElementView
from girih.arguments.views import address as address_of
from girih.ir.core import Op, Value
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Scope

Ints = tuple[int, ...]

PLAIN, SUBGROUP, WORK_GROUP, DEVICE = range(4)
"""How far an access is atomic, `PLAIN` for one that is not."""

WRITES = 4
"""What distinguishes the sort of a write from that of a read."""

_REACH = {
    None: PLAIN,
    Scope.SUBGROUP: SUBGROUP,
    Scope.WORK_GROUP: WORK_GROUP,
    Scope.DEVICE: DEVICE,
    Scope.CROSS_DEVICE: DEVICE,
}


def reach_of(op: Op) -> int:
    """How far the scope of an instruction reaches."""
    return _REACH[getattr(op, "scope", None)]


class PlaceTable:
    """What stamps say of their accesses, by the number of the place; entry 0 is no place."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        self.writes = np.array([False, *(place.writes for place in places)])
        self.copies = np.array([False, *(place.is_copy for place in places)])
        self.reach = np.array([PLAIN, *(_REACH[place.scope] for place in places)], np.int8)
        self.sorts = self.reach + WRITES * self.writes
        """Accesses of one sort conflict with the same ones: the reach, and `WRITES` more for a write.

        Whoever conflicts with a write of some sort conflicts with one of a smaller sort by the same item, too.
        """
        self.has_copies = bool(self.copies.any())
        self.has_atomics = bool(self.reach.any())
        self.narrowest = min((reach for reach in self.reach.tolist() if reach != PLAIN), default=DEVICE)
        """The smallest reach of all atomic accesses of the kernel."""

    def __getitem__(self, number: int) -> Place:
        return self.places[number - 1]


@dataclass(frozen=True, slots=True)
class _Piece:
    """An array in a memory: its address, and strides in bytes; `period` bytes for each work-group, 0 for once."""

    begin: int
    shape: Ints
    strides: Ints
    size: int
    period: int = 0

    def index(self, address: int) -> Ints | None:
        """The index of the element that the byte at an address belongs to; None where it belongs to none."""
        rest = address - self.begin
        if rest < 0 or 0 in self.shape:
            return None
        if self.period:
            rest %= self.period
        index = [0] * len(self.shape)
        for mode in sorted(range(len(self.shape)), key=lambda k: -self.strides[k]):
            if self.shape[mode] > 1:
                index[mode], rest = divmod(rest, self.strides[mode])
        inside = rest < self.size and all(i < n for i, n in zip(index, self.shape, strict=True))
        return tuple(index) if inside else None


class ArrayNames:
    """The arrays of parameters and allocations, to say which element a byte of their memory is.

    With `members`, what lies in a group has the name of the group and the number of the member.
    """

    def __init__(self, *, members: bool) -> None:
        self._members = members
        self._pieces: dict[Value, list[_Piece]] = {}
        self._numbers: dict[Value, Sequence[int]] = {}

    def enter(self, root: Value, view: ElementView, arrays: Sequence[tuple[int, Ints, Ints]]) -> None:
        """Enter the arrays of a memref or group: the first element, the shape, and the strides in elements."""
        self._pieces[root] = [_piece(view, first, shape, strides) for first, shape, strides in arrays]

    def enter_group(
        self, root: Value, view: ElementView, arrays: Sequence[tuple[int, Ints, Ints]], numbers: Sequence[int]
    ) -> None:
        """Enter the arrays of the members of a group, by their numbers."""
        self.enter(root, view, arrays)
        self._numbers[root] = numbers

    def enter_bytes(self, root: Value, view: ElementView, size: int, shape: Ints, strides: Ints) -> None:
        """Enter an array of elements of `size` bytes, whose strides are in bytes."""
        self._pieces[root] = [_Piece(address_of(view.data), shape, strides, size)]

    def enter_local(self, root: Value, view: ElementView, shape: Ints, strides: Ints, begin: int, period: int) -> None:
        """Enter local memory, which each work-group has once in `period` bytes, from byte `begin` on."""
        piece = _piece(view, 0, shape, strides)
        self._pieces[root] = [replace(piece, begin=piece.begin + begin, period=period)]

    def name(self, root: Value, address: int) -> str:
        """The name of the array that the byte at an address belongs to."""
        if self._members and root in self._numbers:
            for number, piece in zip(self._numbers[root], self._pieces[root], strict=True):
                if piece.index(address) is not None:
                    return f"{root.name}[{number}]"
        return root.name

    def index(self, root: Value, address: int) -> tuple[Ints, Ints]:
        """The index of the element that the byte at an address belongs to, and the shape of its array.

        A byte that belongs to no element is counted from the first one.
        """
        pieces = self._pieces.get(root, ())
        for piece in pieces:
            index = piece.index(address)
            if index is not None:
                return index, piece.shape
        return (address - min((piece.begin for piece in pieces), default=0),), ()


def _piece(view: ElementView, first: int, shape: Ints, strides: Ints) -> _Piece:
    size = view.data.itemsize
    return _Piece(address_of(view.data) + first * size, shape, tuple(stride * size for stride in strides), size)
