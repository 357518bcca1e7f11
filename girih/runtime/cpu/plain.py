"""A launch in Python alone: a slow and readable form of the functions in LLVM IR beside this file.

A compiled kernel is called through ctypes, on the calling thread, a few work-groups at a time. That is how kernels are
launched where the process does not offer what those functions need (`launcher.launcher`), and tests compare them with
it: results, findings and refusals must be equal. Python's lock is free while the kernel runs; signal handlers
run between two calls.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from math import prod

import numpy as np

from girih.back.llvm.cpu.machine.abi import WORKSPACE_ALIGNMENT, CompiledKernel
from girih.back.llvm.lower.launch.record import NO_FAILURE, RECORD_BYTES
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.lazy_dataclass import dataclass

__all__ = ["PlainLaunch"]

_MOST_GROUPS = 2**63 - 1
_MOST_BYTES = 2**62
"""A number of bytes that exceeds any address space, and that NumPy can still ask for."""

_Execute = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
"""The C type of a kernel: `girih.back.llvm.cpu.machine.abi`."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainLaunch:
    """A kernel at an address in `code`, which stays loaded as long as this object."""

    execute: Callable[[int, int, int, int], None]
    workspace_bytes: int
    groups_at_once: int
    code: object

    @staticmethod
    def make(compiled: CompiledKernel, address: int, code: object) -> PlainLaunch:
        """The launch of a compiled kernel that lies at an address."""
        return PlainLaunch(_Execute(address), compiled.workspace_bytes, max(compiled.untimed_groups, 1), code)

    def run(self, grid: tuple[int, int, int], address: int) -> object:
        """Execute the work-groups of a grid with the slots at an address, whose parameters are filled.

        Returns, as `KernelEntry.run` does, None where the kernel has run, the failure record where a check has failed,
        False for want of memory for the workspace, and NotImplemented for more work-groups than can be counted.
        Raises what a signal handler raises; the other work-groups are not executed then.
        """
        groups = prod(grid)
        if groups > _MOST_GROUPS:
            return NotImplemented
        if groups == 0:
            return None
        try:
            workspace = np.empty(min(self.workspace_bytes, _MOST_BYTES) + WORKSPACE_ALIGNMENT, np.int8)
        except MemoryError:
            return False
        record = ctypes.create_string_buffer(RECORD_BYTES)
        (ctypes.c_int64 * FIRST_PARAMETER).from_address(address)[:] = [*grid, ctypes.addressof(record)]
        for first in range(0, groups, self.groups_at_once):
            last = min(first + self.groups_at_once, groups)
            self.execute(address, _aligned(workspace.ctypes.data), first, last)
            (state,) = struct.unpack_from("=i", record)
            if state != NO_FAILURE:
                return record.raw
        return None


def _aligned(address: int) -> int:
    """The first address from here on at which a workspace may begin."""
    return -(-address // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
