"""Kernels of the tensor language on a GPU, launched on NumPy arrays that are copied there and back.

A launch whose check fails raises `KernelError` and leaves the caller's arrays as they were.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from girih.arguments import arrays
from girih.arguments.arrays import Accepted, GroupClaim
from girih.arguments.claims import Claim, clusters
from girih.back.llvm.lower.launch import record as layout
from girih.back.llvm.lower.launch.found import finding_of
from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.diagnostics import Diagnostic, KernelError, LaunchError
from girih.ir.core import Function
from girih.runtime.cpu import slots
from girih.runtime.cuda.assembler import assemble
from girih.runtime.cuda.device import CudaDevice, current_number, opened
from girih.runtime.cuda.driver import CudaFault, NoCudaError, call
from girih.runtime.emitted.members import claims_of, group_records


class CudaKernel:
    """A kernel as PTX, assembled and loaded where a launch needs it."""

    def __init__(self, function: Function, kernel: PtxKernel) -> None:
        self.function, self.kernel = function, kernel
        self._specs = arrays.specifications(function)
        self._types = [p.type for p in function.parameters]
        self._cubin: bytes | None = None

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        accepted = arrays.accept(self._specs, arguments)
        if 0 in grid:
            return
        device = opened(current_number())
        with device.current():
            self._launch(device, grid, accepted)

    def _launch(self, device: CudaDevice, grid: tuple[int, int, int], accepted: Sequence[Accepted]) -> None:
        if self._cubin is None:
            self._cubin = assemble(self.kernel.ptx, self.kernel.architecture)
        function = device.function(self._cubin, self.kernel.entry, self.kernel.shared_bytes)
        claims = [claim for item in accepted for claim in claims_of(item)]
        taken: list[Any] = []

        def take(size: int) -> int:
            made = call("cuMemAlloc", max(size, 1))
            taken.append(made)
            return int(made)

        try:
            places: dict[int, int] = {}
            regions = []
            for cluster in clusters(claims):
                size = cluster.end - cluster.start
                phase = cluster.start % 256
                begin = take(size + phase) + phase
                call("cuMemcpyHtoD", begin, cluster.start, size)
                regions.append((cluster, begin))
                for claim in cluster.claims:
                    places[id(claim)] = begin + claim.start - cluster.start
            for claim in claims:
                if claim.array is not None and not claim.extent:
                    places[id(claim)] = take(1)
            record = take(layout.RECORD_BYTES)
            call("cuMemsetD8", record, 0, layout.RECORD_BYTES)
            filled = slots.fill(self._types, [_moved(item, places) for item in accepted])
            words = filled.words
            words[:4] = [*grid, record]
            number = 4
            for type, item in zip(self._types, accepted, strict=True):
                if isinstance(item, GroupClaim) and not item.null:
                    data = group_records(type.memref, item, lambda c: places.get(id(c), 0)) or b"\0"
                    table = take(len(data))
                    call("cuMemcpyHtoD", table, data, len(data))
                    words[number] = table
                number += _count(type, item)
            begin = int(words.ctypes.data)
            listed = (ctypes.c_void_p * (1 + len(self.kernel.pointers)))(
                begin, *(begin + 8 * k for k in self.kernel.pointers)
            )
            call("cuLaunchKernel", function, *grid, self.kernel.threads, 1, 1, self.kernel.shared_bytes, 0,
                 ctypes.addressof(listed), 0)  # fmt: skip
            call("cuCtxSynchronize")
            found = np.zeros(layout.RECORD_BYTES, np.uint8)
            call("cuMemcpyDtoH", found.ctypes.data, record, layout.RECORD_BYTES)
            self._raise(found.tobytes(), grid)
            for cluster, _ in regions:
                for claim in cluster.claims:
                    if claim.written and claim.array is not None and claim.extent:
                        room = np.empty(claim.extent * claim.dtype.itemsize, np.uint8)
                        call("cuMemcpyDtoH", room.ctypes.data, places[id(claim)], room.nbytes)
                        np.copyto(claim.array, claim.of_array(room.view(claim.dtype)))
        finally:
            for one in taken:
                call("cuMemFree", one)

    def _raise(self, content: bytes, grid: tuple[int, int, int]) -> None:
        state, number = struct.unpack_from("=ii", content)
        if state == layout.NO_FAILURE:
            return
        group, subgroup, lane = struct.unpack_from("=3q", content, layout.RECORD_GROUP)
        site = self.kernel.sites[number]
        count = site.index_count + site.shape_count
        values = struct.unpack_from(f"={count}q", content, layout.RECORD_FIRST_VALUE)
        x, y, _ = grid
        where = (group % x, group // x % y, group // (x * y))
        raise KernelError([finding_of(site, self.function, values, where, subgroup, lane)])


def _count(type: Any, item: Accepted) -> int:
    return len(slots.fill([type], [item]).words) - 4


def _moved(item: Accepted, places: Mapping[int, int]) -> Accepted:
    if isinstance(item, Claim) and id(item) in places:
        made = Claim(item.place, item.dtype, None, item.shape, item.strides, item.written, item.uninitialized)
        made.start = places[id(item)]
        return made
    return item


class CudaExecutor:
    """A kernel on a GPU of this machine."""

    def __init__(self, function: Function, kernel: PtxKernel) -> None:
        self._kernel = CudaKernel(function, kernel)
        self.call: Callable[..., object] = self._call
        self.subgroup_size = kernel.subgroup_size

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """None: no launch leaves any."""
        return ()

    def with_options(self, options: Mapping[str, Any]) -> CudaExecutor:
        return self

    def _call(self, grid: tuple[int, int, int], *arguments: object) -> None:
        try:
            self._kernel.launch(grid, arguments)
        except NoCudaError as error:
            raise LaunchError(
                [Diagnostic("bind.cuda_driver", str(error), self._kernel.function.span, hint=error.hint)]
            ) from None
        except CudaFault as error:
            raise LaunchError([Diagnostic("run.cuda", str(error), self._kernel.function.span)]) from None

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Nothing: `call` gives None."""
