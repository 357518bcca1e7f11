"""What the checker knows around an instruction while it walks a function."""

from __future__ import annotations

from dataclasses import dataclass, field

from girih.ir.core import Function, Op, Region, RegionKind, Value

Constant = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a target can do; the defaults hold where no target is named."""

    subgroup_sizes: tuple[int, ...] = (8, 16, 32, 64)
    work_group_items: int = 1024
    local_memory_bytes: int = 64 * 1024
    alignment: int = 128


@dataclass(slots=True)
class Surroundings:
    """The function, the constants defined so far, and the place of the instruction in hand."""

    function: Function
    limits: DeviceLimits = DeviceLimits()
    constants: dict[Value, Constant] = field(default_factory=dict)
    definitions: dict[Value, Op] = field(default_factory=dict)
    region: Region | None = None
    parents: list[Op] = field(default_factory=list)
    last: bool = False

    @property
    def kind(self) -> RegionKind:
        return self.region.kind if self.region else RegionKind.COLLECTIVE

    @property
    def parent(self) -> Op | None:
        return self.parents[-1] if self.parents else None

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size where the function fixes it."""
        return self.function.subgroup_size
