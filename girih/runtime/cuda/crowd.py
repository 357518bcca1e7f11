"""How many work-groups of a kernel are on a multiprocessor at a time, where that decides what stays in cache.

A kernel that goes over the memory of its work-group several times, as a softmax does over its column, finds it in the
cache the second time if the work-groups that are under way have no more together than the cache holds. So a launch asks
for so much shared memory for each that only as many run at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.arguments.arrays import Accepted, claims_of
from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.runtime.cuda.device import FREE_SHARED_BYTES, CudaDevice

Grid = tuple[int, int, int]

_PART = 1.0
"""What part of the cache the work-groups under way may have together."""

LEAST_THREADS = 320
"""Fewer threads of a multiprocessor would not keep memory busy."""

_RESERVED, _UNIT = 1024, 128
"""The bytes of shared memory that a CTA takes besides, and those that it is given out by (CUDA programming guide,
"Technical Specifications per Compute Capability")."""


def shared_bytes_of(kernel: PtxKernel, device: CudaDevice, grid: Grid, accepted: Sequence[Accepted]) -> int:
    """The bytes of shared memory that a launch asks for: those of the kernel, or more, to have fewer CTAs at once."""
    groups = grid[0] * grid[1] * grid[2]
    if not kernel.again or groups == 0:
        return kernel.shared_bytes
    claims = [claim for number in kernel.again for claim in claims_of(accepted[number])]
    bytes = sum(claim.extent * claim.dtype.itemsize for claim in claims)
    held = device.attribute("L2_CACHE_SIZE") * _PART / device.multiprocessors
    count = int(held * groups / max(1, bytes * kernel.packed))
    most = min(device.attribute("MAX_THREADS_PER_MULTIPROCESSOR") // kernel.threads,
               device.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"))  # fmt: skip
    if count >= most or count * kernel.threads < LEAST_THREADS:
        return kernel.shared_bytes
    shared = device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")
    wanted = (shared // count - _RESERVED) // _UNIT * _UNIT
    return max(kernel.shared_bytes, wanted) if wanted <= FREE_SHARED_BYTES else kernel.shared_bytes
