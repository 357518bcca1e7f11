"""Where a launch goes: the device that its target means or its arrays are on, and the stream there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.devices import CUDA, device_of, named_stream
from girih.arguments.report import DeviceReach
from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.device import CudaDevice, current_number, opened
from girih.runtime.cuda.streams import LaunchStream, current_stream, launch_stream
from girih.source import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class LaunchPlace:
    """A device and one of its streams; `has_arrays` says whether any argument is there already.

    `after` are other streams, whose work on the arguments comes first.
    """

    device: CudaDevice
    stream: LaunchStream
    has_arrays: bool
    after: frozenset[int]

    @property
    def reach(self) -> DeviceReach:
        """The place as binding knows it."""
        return DeviceReach(self.device.number, f"cuda:{self.device.number}", self.stream.handle)


def place_of(number: int | None, arguments: Sequence[object], span: Span = NOWHERE) -> LaunchPlace:
    """The place of a launch with some arguments: device `number`, or where the first array of a device is.

    Without either it is the calling thread's current device. Raises `LaunchError`, `NoCudaError` and `CudaFault`.
    """
    homes = list(_homes(arguments))
    if number is None:
        number = next((known for _, known in homes if known >= 0), None)
    device = opened(_current() if number is None else number, span)
    stream = current_stream(device.number, [array for array, _ in homes])
    # DLPack, which tells the device, is told the stream instead.
    named = (named_stream(array) for array, known in homes if known < 0)
    after = frozenset(one for one in named if one is not None and one != stream)
    return LaunchPlace(device, launch_stream(device, stream), bool(homes), after)


def are_on_device(arguments: Sequence[object]) -> bool:
    """Whether any argument is on a device of CUDA."""
    return next(_homes(arguments), None) is not None


def _homes(values: Sequence[object]) -> Iterator[tuple[object, int]]:
    """The arrays among arguments, and members of groups, that are on CUDA devices, with the numbers of these."""
    for value in values:
        while isinstance(value, Uninitialized | Group):
            value = value.array if isinstance(value, Uninitialized) else value.arrays
        if isinstance(value, list | tuple):
            yield from _homes(value)
            continue
        device = device_of(value)
        if device is not None and device[0] == CUDA:
            yield value, device[1]


def _current() -> int:
    """The number of the current device: torch's where torch uses the GPU, as it may not have told the driver yet."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_device())
    return current_number()
