"""What a device has, as a table: what a module may use, and which shapes of matrices."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MatrixShape:
    """A product of cooperative matrices that a device has: M x K times K x N, by the words of component types.

    With `flexible` rows and columns may be any multiple of these (VK_NV_cooperative_matrix2), the work-group has one of
    `work_items`. `scope` is `subgroup` or `work_group`; `saturating` whether sums of integers may saturate.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    result: str
    scope: str = "subgroup"
    saturating: bool = False
    flexible: bool = False
    work_items: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """A device or a kind of them, by name.

    `features` are words of `girih.back.spirv.profiles.features.FEATURES`, which say what each permits. Sizes of
    subgroups lie between the least and the most, in powers of two, `subgroup_size` where nobody asks for one.
    """

    name: str
    says: str
    subgroup_size: int
    least_subgroup_size: int
    most_subgroup_size: int
    work_group_items: int
    shared_bytes: int
    push_bytes: int
    features: frozenset[str]
    matrices: tuple[MatrixShape, ...] = field(default=())
    environment: Literal["vulkan", "opencl"] = "vulkan"
    """What modules for the device are written for."""
    source: str = ""
    """Where the facts come from: driver, version, date."""

    def has(self, *features: str) -> bool:
        """Whether the device has all of some features."""
        return self.features.issuperset(features)
