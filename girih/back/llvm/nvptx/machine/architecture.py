"""NVIDIA's architectures: what code for each may use, and how much of it a work-group has.

Numbers are those of the CUDA programming guide, table "Technical Specifications per Compute Capability"; versions of
PTX those of the PTX ISA, "Release History". Names that end in `a` have instructions that later architectures lack.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NvidiaArchitecture:
    """An architecture by its name in PTX, such as `sm_90a`."""

    name: str
    capability: tuple[int, int]
    """The compute capability of devices that run its code; those of the same major number and a larger minor one run
    it too, unless `specific`."""
    shared_bytes: int
    """The shared memory that a work-group may have, after it is asked for."""
    ptx: int
    """The version of PTX in which code is written, 80 for 8.0: the first one that has all that is used."""
    specific: bool = False
    """Whether only devices of exactly this capability run its code."""
    warps: int = 64
    """The warps that a multiprocessor has at a time."""
    work_groups: int = 32
    """The work-groups that it has at a time."""
    registers: int = 64 * 1024
    """The registers of 32 bits that they share."""

    @property
    def copies(self) -> bool:
        """Whether tensors are copied by an engine of its own (PTX ISA "cp.async.bulk.tensor")."""
        return self.capability >= (9, 0)

    @property
    def gathers(self) -> bool:
        """Whether that engine gathers and scatters four rows, and has types of less than a byte."""
        return self.specific and (10, 0) <= self.capability < (12, 0)

    @property
    def wide_products(self) -> bool:
        """Whether four subgroups multiply matrices together (PTX ISA "wgmma")."""
        return self.name == "sm_90a"

    def suits(self, capability: tuple[int, int]) -> bool:
        """Whether a device of a compute capability runs the code."""
        if self.specific:
            return capability == self.capability
        return capability[0] == self.capability[0] and capability[1] >= self.capability[1]


_KIB = 1024

ARCHITECTURES: Mapping[str, NvidiaArchitecture] = {
    one.name: one
    for one in (
        NvidiaArchitecture("sm_80", (8, 0), 163 * _KIB, 80),
        NvidiaArchitecture("sm_86", (8, 6), 99 * _KIB, 80, warps=48, work_groups=16),
        NvidiaArchitecture("sm_87", (8, 7), 163 * _KIB, 80, warps=48, work_groups=16),
        NvidiaArchitecture("sm_89", (8, 9), 99 * _KIB, 84, warps=48, work_groups=24),
        NvidiaArchitecture("sm_90", (9, 0), 227 * _KIB, 84),
        NvidiaArchitecture("sm_90a", (9, 0), 227 * _KIB, 84, specific=True),
        NvidiaArchitecture("sm_100", (10, 0), 227 * _KIB, 86),
        NvidiaArchitecture("sm_100a", (10, 0), 227 * _KIB, 86, specific=True),
        NvidiaArchitecture("sm_103", (10, 3), 227 * _KIB, 88),
        NvidiaArchitecture("sm_103a", (10, 3), 227 * _KIB, 88, specific=True),
        NvidiaArchitecture("sm_120", (12, 0), 99 * _KIB, 87, warps=48, work_groups=24),
        NvidiaArchitecture("sm_120a", (12, 0), 99 * _KIB, 87, specific=True, warps=48, work_groups=24),
    )
}
"""The architectures by name, older ones first."""


def architecture_named(name: str) -> NvidiaArchitecture:
    """The architecture of a name. Raises `ValueError` for one that is not known."""
    found = ARCHITECTURES.get(name)
    if found is None:
        raise ValueError(f"there is no architecture {name!r}; known are {', '.join(ARCHITECTURES)}")
    return found


def architecture_of(capability: tuple[int, int]) -> NvidiaArchitecture | None:
    """The best architecture whose code a device of a compute capability runs; None for devices before sm_80."""
    suitable = [one for one in ARCHITECTURES.values() if one.suits(capability)]
    return max(suitable, key=lambda one: (one.capability, one.specific), default=None)
