"""What the checker knows around an instruction while it walks a function."""

from __future__ import annotations

from dataclasses import dataclass, field

from girih.ir.core import Function, Op, Region, RegionKind, Value
from girih.ir.limits import DeviceLimits
from girih.rules import row

Constant = bool | int | float | complex


@dataclass(slots=True)
class Surroundings:
    """The function, the constants defined so far, and the place of the instruction in hand."""

    function: Function
    limits: DeviceLimits = field(default_factory=DeviceLimits)
    constants: dict[Value, Constant] = field(default_factory=dict)
    definitions: dict[Value, Op] = field(default_factory=dict)
    region: Region | None = None
    parents: list[Op] = field(default_factory=list)
    last: bool = False
    assumed_subgroup_size: int | None = None

    @property
    def kind(self) -> RegionKind:
        return self.region.kind if self.region else self.function.language.body

    @property
    def parent(self) -> Op | None:
        return self.parents[-1] if self.parents else None

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size where the function fixes it, or one is assumed to see whether it suits."""
        return self.function.subgroup_size or self.assumed_subgroup_size


Subject = row.Subject[Surroundings]
"""What a row of the ir is applied to."""
