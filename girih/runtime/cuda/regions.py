"""The memory of a launch on a device: arrays of the host, copied there and back, and arrays of the device as they are.

Arrays of the host that overlap are one region, so that they overlap on the device as well. Back go elements alone, and
only those of arrays that the kernel writes: what lies between them may be others'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.arrays import MapClaim
from girih.arguments.claims import Claim, Cluster, clusters
from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.driver import call
from girih.runtime.cuda.memory import ALIGNMENT, DeviceBlock
from girih.runtime.cuda.streams import LaunchStream, is_capturing

IN_PARAMETERS = 0
"""The slot of a tensor map, which lies among the parameters itself (`girih.runtime.cuda.tensor_maps`)."""


@dataclass(slots=True, eq=False)
class ResidentMemory:
    """The memory of an asynchronous launch: arrays of the device, and tables that stay there."""

    stream: LaunchStream

    def array(self, claim: Claim) -> int:
        # An empty array is no null pointer.
        return claim.start if claim.extent else self.table(b"")

    def table(self, content: bytes) -> int:
        return self.stream.device.tables.address(content, capturing=is_capturing(self.stream.handle))

    def map(self, item: MapClaim) -> int:
        return IN_PARAMETERS


@dataclass(slots=True, eq=False)
class CopiedMemory:
    """The memory of a launch that is waited for, with arrays of the host in it; `release` gives it back."""

    stream: LaunchStream
    claims: Sequence[Claim]
    regions: list[tuple[Cluster, int]] = field(default_factory=list)
    taken: list[DeviceBlock] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    held: list[bytes] = field(default_factory=list)
    """The contents of tables, which are copied while the launch goes on."""

    def upload(self) -> None:
        """Copy the arrays of the host. Raises `CudaFault`."""
        for cluster in clusters(claim for claim in self.claims if not claim.on_device):
            size = cluster.end - cluster.start
            # On the device an address is the same modulo all that arrays can promise.
            begin = self.take(size + ALIGNMENT) + cluster.start % ALIGNMENT
            call("cuMemcpyHtoDAsync", begin, cluster.start, size, self.stream.handle)
            self.regions.append((cluster, begin))
            for claim in cluster.claims:
                self.places[id(claim)] = begin + claim.start - cluster.start

    def take(self, size: int) -> int:
        """The address of new memory of the device. Raises `CudaFault`."""
        block = self.stream.device.blocks.take(size)
        self.taken.append(block)
        return block.address

    def array(self, claim: Claim) -> int:
        if not claim.extent:
            return self.take(1)
        return claim.start if claim.on_device else self.places[id(claim)]

    def table(self, content: bytes) -> int:
        place = self.take(max(len(content), 1))
        if content:
            held = np.frombuffer(content, np.uint8)
            self.held.append(content)
            call("cuMemcpyHtoDAsync", place, int(held.ctypes.data), len(content), self.stream.handle)
        return place

    def map(self, item: MapClaim) -> int:
        return IN_PARAMETERS

    def download(self) -> None:
        """Copy the elements of what the kernel has written into the arrays of the host. Raises `CudaFault`.

        An interrupt comes after all of them.
        """
        try:
            self._download()
        except KeyboardInterrupt:
            self._download()
            raise

    def _download(self) -> None:
        spread: list[tuple[Claim, NDArray[Any]]] = []
        for claim in (claim for cluster, _ in self.regions for claim in cluster.claims if claim.written):
            assert claim.array is not None
            size = claim.extent * claim.dtype.itemsize
            target = claim.start
            if claim.extent != claim.array.size:
                room = np.empty(claim.extent, claim.dtype)
                spread.append((claim, room))
                target = int(room.ctypes.data)
            call("cuMemcpyDtoHAsync", target, self.places[id(claim)], size, self.stream.handle)
        self.stream.wait()
        for claim, room in spread:
            assert claim.array is not None
            np.copyto(claim.array, claim.of_array(room))

    def release(self) -> None:
        """Give all memory back, when the kernel has ended."""
        for block in self.taken:
            self.stream.device.blocks.give(block)
        self.taken.clear()
        self.held.clear()
