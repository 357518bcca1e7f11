"""A kernel as PTX, and what a launch must know of it."""

from __future__ import annotations

from girih.back.llvm.lower.sites import Site
from girih.diagnostics import Diagnostic
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CudaVariant:
    """What the code of a kernel takes for granted, and a launch looks at.

    `narrow`: sizes, strides and arguments of index type fit 32 bits. `disjoint`: no argument shares memory with one
    that the kernel writes, so that what is read may be read early.
    """

    narrow: bool = True
    disjoint: bool = True


USUAL = CudaVariant()
"""What nearly all launches are, and emitted forms."""


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel in PTX, before it is assembled.

    `entry` is its name there. A launch has `threads` threads along x in each work-group and `shared_bytes` of dynamic
    shared memory. Its first parameter are `parameter_bytes` bytes: slots as `girih.back.llvm.lower.launch.slots` lists
    them. The others are the addresses that the slots with the numbers `pointers` have, each as a parameter of its own:
    of these alone LLVM can know that they share no memory. `sites` are the checks by their number in the failure record
    (`girih.back.llvm.lower.launch.record`).
    """

    name: str
    entry: str
    ptx: str
    architecture: str
    threads: int
    subgroup_size: int
    shared_bytes: int
    parameter_bytes: int
    pointers: tuple[int, ...]
    sites: tuple[Site, ...]
    remarks: tuple[Diagnostic, ...] = ()
