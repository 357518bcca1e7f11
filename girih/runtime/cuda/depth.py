"""Memory for the sums of parts of the depth of a launch, which the last CTA of each work-group adds up.

A stream has memory for its launches, which come one after the other: counters are zero between them, as each launch
leaves them. What a CUDA graph has captured may run beside others of its stream, so that it takes memory of its own each
time; so do the streams of threads that have one handle.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from girih.back.llvm.nvptx.machine.kernel import COUNTER_BYTES, PtxKernel
from girih.runtime.cuda.copies.lines import NoRoomError, pool_of
from girih.runtime.cuda.device import CudaDevice
from girih.runtime.cuda.driver import CudaFault, call
from girih.runtime.cuda.streams import LaunchStream, is_capturing

_BYTES_OF_EACH = 128 * 1024
"""The sums of a tile of 128 x 256. Launches with parts of the depth have a CTA for each multiprocessor at most."""

_PER_THREAD = 2
"""The handle of a stream that each thread has of its own (CUDA driver API 13.0, cuda.h, `CU_STREAM_PER_THREAD`)."""


def has_room(kernel: PtxKernel, work_groups: int, device: CudaDevice) -> bool:
    """Whether a stream of a device has memory for the sums of a launch, if that shares out the depth."""
    if kernel.deep is None or kernel.depth_parts == 1:
        return True
    needed = kernel.deep.needed(work_groups)
    return needed is not None and needed <= _bytes(device)


def _bytes(device: CudaDevice) -> int:
    """The bytes that a stream has."""
    return COUNTER_BYTES + device.multiprocessors * _BYTES_OF_EACH


def keeps_sums(stream: LaunchStream) -> bool:
    """Whether the memory of a stream is for what is launched there now: whose launches run one after the other."""
    return stream.handle != _PER_THREAD and not is_capturing(stream.handle)


@contextmanager
def sums_of_parts(stream: LaunchStream, kernel: PtxKernel, work_groups: int) -> Iterator[int]:
    """The address of memory with counters at zero for what the block asks a stream for: a launch of a kernel.

    The device is the thread's current one. Raises `NoRoomError` before anything else was asked for, and `CudaFault`.
    """
    assert kernel.deep is not None
    needed = kernel.deep.needed(work_groups)
    assert needed is not None, "there are counters for all work-groups"
    if keeps_sums(stream):
        yield _of_stream(stream)
        return
    try:
        taken = int(call("cuMemAllocFromPoolAsync", needed, pool_of(stream.device.number), stream.handle))
    except CudaFault as fault:
        raise _no_room(fault) from None
    try:
        call("cuMemsetD8Async", taken, 0, COUNTER_BYTES, stream.handle)
        yield taken
    finally:
        call("cuMemFreeAsync", taken, stream.handle)


def _of_stream(stream: LaunchStream) -> int:
    with stream.lock:
        if not stream.sums:
            try:
                stream.sums = int(call("cuMemAlloc", _bytes(stream.device)))
            except CudaFault as fault:
                raise _no_room(fault) from None
            call("cuMemsetD8Async", stream.sums, 0, COUNTER_BYTES, stream.handle)
        return stream.sums


def _no_room(fault: CudaFault) -> Exception:
    """What a fault is to who can do without memory."""
    known = fault.error in ("CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED")
    return NoRoomError(str(fault)) if known else fault
