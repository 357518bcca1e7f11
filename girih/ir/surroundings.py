"""The surroundings of an instruction, as the checker knows them while it walks a function."""

from __future__ import annotations

from dataclasses import field

from girih.ir.core import Function, Op, Region, RegionKind, Value
from girih.ir.limits import DeviceLimits
from girih.lazy_dataclass import dataclass
from girih.rules import row

Constant = bool | int | float | complex


@dataclass(slots=True)
class Surroundings:
    """The function, the definitions so far, and the place of the instruction that is being checked."""

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
        """The subgroup size that the function asks for, or else one that is tried out; None without either."""
        return self.function.subgroup_size or self.assumed_subgroup_size


Subject = row.Subject[Surroundings]
"""The instruction, function, parameter or type that a row of the ir is applied to, with its surroundings."""
