"""A kernel as PTX, and what a launch must know of it."""

from __future__ import annotations

from girih.back.llvm.lower.sites import Site
from girih.diagnostics import Diagnostic
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel in PTX, before it is assembled.

    `entry` is its name there. A launch has `threads` threads along x in each work-group and `shared_bytes` of dynamic
    shared memory. Its only parameter are `parameter_bytes` bytes: slots as `girih.back.llvm.lower.launch.slots` lists
    them. `sites` are the checks by their number in the failure record (`girih.back.llvm.lower.launch.record`).
    """

    name: str
    entry: str
    ptx: str
    architecture: str
    threads: int
    subgroup_size: int
    shared_bytes: int
    parameter_bytes: int
    sites: tuple[Site, ...]
    remarks: tuple[Diagnostic, ...] = ()
