"""What the generator of programs knows about the values and memories of a program it builds.

A number has an interval where it is an integer with known bounds, a bound of its magnitude, and a looseness: 0 where
every execution gives the same bits, otherwise how far two may be apart, relative to the magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import IntEnum

from girih.addressing import TensorLayout, TensorView
from girih.ir.build import RegionBuilder
from girih.ir.core import RegionKind, Value
from girih.ir.types import BF16, C32, C64, F8E4M3, F8E5M2, F16, F32, F64, CoopMatrix, GroupType, MemRef, Number, Type

LARGEST = {F8E4M3: 440.0, F8E5M2: 50000.0, F16: 60000.0, BF16: 1e38, F32: 1e38, F64: 1e300, C32: 1e37, C64: 1e300}
"""Magnitudes that leave room below the largest value of a type."""

EPSILON = {
    F8E4M3: 2.0**-4,
    F8E5M2: 2.0**-3,
    F16: 2.0**-11,
    BF16: 2.0**-8,
    F32: 2.0**-24,
    F64: 2.0**-53,
    C32: 2.0**-23,
    C64: 2.0**-52,
}
"""Half a unit in the last place, relative; a little more for the complex types."""

Interval = tuple[int, int]


class Alike(IntEnum):
    """Between which work-items a value is the same."""

    NOBODY = 0
    SUBGROUP = 1
    WORK_GROUP = 2


@dataclass(frozen=True, slots=True)
class Tracked:
    """A scalar or a cooperative matrix."""

    value: Value
    interval: Interval | None = None
    magnitude: float = math.inf
    looseness: float = 0.0
    alike: Alike = Alike.WORK_GROUP
    constant: bool | int | float | complex | None = None

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def exact(self) -> bool:
        return self.looseness == 0.0


@dataclass(slots=True, eq=False)
class Memory:
    """Memory behind memrefs: what it may hold, and whether the program may read or write it from here on."""

    name: str
    element: Number
    writable: bool
    readable: bool = True
    magnitude: float = math.inf
    looseness: float = 0.0
    tolerance: float = 0.0
    update: str | None = None
    alive: bool = True
    local: bool = False

    def take(self, magnitude: float, looseness: float) -> None:
        """Something was written."""
        self.magnitude = max(self.magnitude, magnitude)
        self.looseness = max(self.looseness, looseness)
        if looseness:
            self.tolerance = max(self.tolerance, looseness * magnitude)

    @property
    def known(self) -> bool:
        """Whether what is read from it is the same in every execution, or apart by a known bound."""
        return not self.looseness or math.isfinite(self.magnitude)


@dataclass(frozen=True, slots=True)
class Reference:
    """A memref: its value, what is behind it, and its shape and strides as they are at run time."""

    value: Value
    memory: Memory
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alike: Alike = Alike.WORK_GROUP

    @property
    def type(self) -> MemRef:
        found = self.value.type
        assert isinstance(found, MemRef)
        return found


@dataclass(frozen=True, slots=True)
class GroupReference:
    """A group and the memref that each member is."""

    value: Value
    memory: Memory
    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def type(self) -> GroupType:
        found = self.value.type
        assert isinstance(found, GroupType)
        return found


@dataclass(frozen=True, slots=True)
class Laid:
    """A tensor layout: its value, and the model with the dimensions and strides that it has at run time.

    `exact` says whether the accessed region is known too, `inside` whether it is within the tensor in any case.
    """

    value: Value
    model: TensorLayout
    exact: bool = True
    inside: bool = True
    alike: Alike = Alike.WORK_GROUP

    @property
    def extent(self) -> int:
        """How many components, or blocks, from the base on the tensor takes."""
        return 1 + sum(
            (-(-n // b) - 1) * s
            for n, b, s in zip(self.model.dimension, self.model.block_size, self.model.stride, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Viewed:
    """A tensor view and its model."""

    value: Value
    model: TensorView


@dataclass(slots=True)
class Accesses:
    """The memories that a loop or a parallel region reads and writes: none is both, whatever the order."""

    read: set[Memory] = field(default_factory=set)
    written: set[Memory] = field(default_factory=set)
    trips: int = 1


@dataclass(slots=True)
class Scope:
    """A region under construction, what is visible in it, and what its instructions may do."""

    builder: RegionBuilder
    numbers: list[Tracked] = field(default_factory=list)
    matrices: list[Tracked] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    groups: list[GroupReference] = field(default_factory=list)
    layouts: list[Laid] = field(default_factory=list)
    views: list[Viewed] = field(default_factory=list)
    accesses: tuple[Accesses, ...] = ()
    depth: int = 0
    inside_apply: bool = False
    closed: bool = False
    inside_foreach: bool = False
    repeated: bool = False
    inside_tiles: bool = False
    alike: Alike = Alike.WORK_GROUP
    own: list[tuple[Reference, tuple[Value, ...]]] = field(default_factory=list)
    own_tiles: list[tuple[Reference, tuple[Value, ...], CoopMatrix]] = field(default_factory=list)

    @property
    def collective(self) -> bool:
        return self.builder.kind is RegionKind.COLLECTIVE

    def inner(self, kind: RegionKind | None = None) -> Scope:
        """A region inside this one that sees what this one sees."""
        return replace(
            self,
            builder=self.builder.inner(kind),
            numbers=list(self.numbers),
            matrices=list(self.matrices),
            references=list(self.references),
            groups=list(self.groups),
            layouts=list(self.layouts),
            views=list(self.views),
            depth=self.depth + 1,
        )

    def narrow(self, alike: Alike) -> None:
        """From here on only so many work-items come by; matrices of the work-group need all of them."""
        self.alike = min(self.alike, alike)
        if self.alike is not Alike.WORK_GROUP:
            self.matrices = [m for m in self.matrices if not of_work_group(m.type)]

    def separately(self, trips: int = 1) -> Accesses:
        """From here on no memory is both read and written."""
        accesses = Accesses(trips=trips)
        self.accesses = (*self.accesses, accesses)
        return accesses

    def may_read(self, memory: Memory) -> bool:
        return memory.readable and memory.alive and all(memory not in a.written for a in self.accesses)

    def may_write(self, memory: Memory) -> bool:
        touched = [a.read if self.collective else a.read | a.written for a in self.accesses]
        return memory.writable and memory.alive and memory.update is None and not any(memory in t for t in touched)

    def reads(self, memory: Memory) -> None:
        for accesses in self.accesses:
            accesses.read.add(memory)

    def writes(self, memory: Memory) -> None:
        for accesses in self.accesses:
            accesses.written.add(memory)

    @property
    def together(self) -> bool:
        """Whether all work-items of a subgroup come by."""
        return not self.inside_apply and not self.inside_foreach and self.alike >= Alike.SUBGROUP

    @property
    def trips(self) -> int:
        return math.prod(a.trips for a in self.accesses)


def of_work_group(type: Type) -> bool:
    """Whether a type is that of a matrix that the whole work-group holds."""
    return isinstance(type, CoopMatrix) and type.of_work_group


def needed(type: Type) -> Alike:
    """Between which work-items that must be the same from which a matrix of a type is made."""
    return Alike.WORK_GROUP if of_work_group(type) else Alike.SUBGROUP


def number_limit(type: Type) -> float:
    """The magnitude that a sum in a type may reach; integers wrap and have no limit."""
    return LARGEST.get(type, math.inf) if isinstance(type, Number) else math.inf


def epsilon(type: Type) -> float:
    """How far two roundings may be apart; 0 for integers."""
    return EPSILON.get(type, 0.0) if isinstance(type, Number) else 0.0
