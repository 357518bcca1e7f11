"""The arguments of a launch in the memory of a device: arrays, groups, values.

Arrays that share memory share it on the device. What lies between the elements of a strided array goes to the device,
and does not come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from girih.arguments.arrays import Accepted, GroupClaim
from girih.arguments.claims import Claim, Cluster, clusters
from girih.arguments.memory import elements_of
from girih.ir.types import GroupType, Type
from girih.lazy_dataclass import dataclass
from girih.runtime.emitted.members import claims_of, group_records
from girih.runtime.opencl.session import OpenClSession, SharedMemory

_PHASE = 128
"""The alignment in bytes that memory of a device has, and that an array may be promised to have."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """Arrays that share memory, on a device, where they begin as many bytes behind a multiple of 128 as here."""

    memory: SharedMemory
    cluster: Cluster

    @property
    def skip(self) -> int:
        """The bytes in front of the first element."""
        return self.cluster.start % _PHASE

    @property
    def address(self) -> int:
        """The address of the first element on the device."""
        return self.memory.address + self.skip

    def fetch(self) -> None:
        """Copy the elements of written arrays back into the caller's."""
        written = [claim for claim in self.cluster.claims if claim.written]
        if not written:
            return
        content = np.empty(self.cluster.end - self.cluster.start, np.uint8)
        self.memory.get(content.ctypes.data, content.nbytes, self.skip)
        for claim in written:
            begin = claim.start - self.cluster.start
            part = content[begin : begin + claim.extent * claim.dtype.itemsize].view(claim.dtype)
            assert claim.array is not None
            np.copyto(claim.array, elements_of(part, claim.shape, claim.strides))


@dataclass(slots=True)
class DeviceArguments:
    """The arguments of a launch as they lie on a device; `free` gives the memory back.

    `addresses` has the address of a memref or of a group's records by the number of the parameter, 0 for a null
    pointer; `reached` is the memory behind the addresses in groups.
    """

    types: Sequence[Type]
    accepted: Sequence[Accepted]
    arrays: list[DeviceArray] = field(default_factory=list)
    tables: list[SharedMemory] = field(default_factory=list)
    addresses: dict[int, int] = field(default_factory=dict)

    @property
    def reached(self) -> list[SharedMemory]:
        """The memory that the kernel may reach by addresses that it loads; none without groups."""
        return [array.memory for array in self.arrays] if self.tables else []

    def fetch(self) -> None:
        """Copy the elements of written arrays back into the caller's."""
        for array in self.arrays:
            array.fetch()

    def free(self) -> None:
        """Give all memory back."""
        for memory in [*(array.memory for array in self.arrays), *self.tables]:
            memory.free()


def place(session: OpenClSession, types: Sequence[Type], accepted: Sequence[Accepted]) -> DeviceArguments:
    """The arguments on a device. Raises `OpenClError` where it has not enough memory, which is then given back."""
    made = DeviceArguments(types, accepted)
    try:
        _place(session, made)
    except BaseException:
        made.free()
        raise
    return made


def _place(session: OpenClSession, made: DeviceArguments) -> None:
    claims = [claim for item in made.accepted for claim in claims_of(item)]
    starts: dict[int, int] = {}
    for cluster in clusters(claims):
        size = cluster.end - cluster.start
        memory = DeviceArray(session.allocate(_PHASE + size), cluster)
        made.arrays.append(memory)
        memory.memory.put(cluster.start, size, memory.skip)
        starts.update({id(claim): memory.address + claim.start - cluster.start for claim in cluster.claims})
    for number, (type, item) in enumerate(zip(made.types, made.accepted, strict=True)):
        if isinstance(item, Claim):
            made.addresses[number] = starts.get(id(item), 0)
        elif isinstance(item, GroupClaim):
            assert isinstance(type, GroupType)
            if not item.null:
                records = group_records(type.memref, item, lambda claim: starts.get(id(claim), 0))
                made.tables.append(session.allocate(len(records)))
                made.tables[-1].put_bytes(records)
            made.addresses[number] = 0 if item.null else made.tables[-1].address
