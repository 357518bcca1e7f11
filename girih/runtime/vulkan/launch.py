"""One launch: memory of the host placed in buffers of the device, a pipeline bound to them, its dispatch.

Spans of the host that overlap are one buffer, so that what is written through one of them is read through the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import addressof, byref, c_uint64, c_void_p, create_string_buffer
from dataclasses import field
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.device import DEFAULT_SECONDS, Device, LaunchTimeoutError
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.faults import VulkanFault
from girih.runtime.vulkan.driver.structures import VkMemoryBarrier
from girih.runtime.vulkan.memory import DeviceBuffer, Piece
from girih.runtime.vulkan.pipeline import BoundRange, Pipeline
from girih.runtime.vulkan.report import refuse, refuse_fault
from girih.source import NOWHERE, Span

WORD = 4
"""The bytes of a word of shaders."""


@dataclass(frozen=True, slots=True)
class HostSpan:
    """Bytes of the host that a launch works on.

    `place` is what diagnostics call them. `by_address` says that they are reached by address alone, and need not be
    bound. `home` is the buffer that they have on the device already, and in which they keep their address.
    """

    start: int
    size: int
    written: bool
    place: str
    by_address: bool = False
    home: DeviceBuffer | None = None

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class _SharedRegion:
    """Bytes of the host that are one buffer, from `start` on."""

    start: int
    end: int
    written: bool
    buffer: DeviceBuffer


@dataclass(eq=False)
class Placement:
    """Spans of the host in buffers of a device, for one launch. `ranges` are theirs, in their order."""

    device: Device
    ranges: list[BoundRange] = field(default_factory=list)
    _regions: list[_SharedRegion] = field(default_factory=list)
    _taken: list[DeviceBuffer] = field(default_factory=list)

    @staticmethod
    def of(device: Device, spans: Sequence[HostSpan]) -> Placement:
        """The spans in buffers without contents. Raises `VulkanFault`, and `LaunchError` for a bad overlap."""
        made = Placement(device)
        try:
            placed = made._place(spans)
        except BaseException:
            made.release()
            raise
        made.ranges = [placed[number] for number in range(len(spans))]
        return made

    def take(self, size: int) -> BoundRange:
        """A further buffer of the launch, which stands for no memory of the host."""
        buffer = self.device.memory.take(size)
        self._taken.append(buffer)
        return BoundRange(buffer, 0, size)

    def upload(self) -> None:
        """Copy all spans to the device."""
        self.device.memory.upload([self._piece(region) for region in self._regions])

    def download(self, spans: Sequence[HostSpan], targets: Sequence[int]) -> None:
        """Copy some of the spans from the device to addresses of the host, one for each of them.

        `spans` are those of `of`, in order; a target of 0 leaves a span out.
        """
        pieces = [
            Piece(bound.buffer, bound.offset, target, span.size)
            for span, bound, target in zip(spans, self.ranges, targets, strict=True)
            if target and span.size
        ]
        self.device.memory.download(pieces)

    def release(self) -> None:
        """Give the buffers back. Those of a lost device go with it."""
        if self.device.usable:
            self.device.memory.give_back(self._taken)
        self._taken.clear()
        self._regions.clear()

    def _piece(self, region: _SharedRegion) -> Piece:
        return Piece(region.buffer, 0, region.start, region.end - region.start)

    def _place(self, spans: Sequence[HostSpan]) -> dict[int, BoundRange]:
        placed: dict[int, BoundRange] = {}
        for cluster in _clusters(spans):
            members = [spans[number] for number in cluster]
            if any(one.written for one in members) or any(one.home or one.by_address for one in members):
                self._place_together(spans, cluster, placed)
                continue
            # What is only read may be there twice, wherever it begins.
            for number in cluster:
                self._place_together(spans, [number], placed)
        return placed

    def _place_together(self, spans: Sequence[HostSpan], cluster: Sequence[int], placed: dict[int, BoundRange]) -> None:
        members = [spans[number] for number in cluster]
        homes = {id(one.home): one for one in members if one.home is not None}
        outer = next(iter(homes.values()), None)
        start, end = min(one.start for one in members), max(one.end for one in members)
        if outer is not None and (len(homes) > 1 or (outer.start, outer.end) != (start, end)):
            other = next(one for one in members if one is not outer)
            refuse("bind.vulkan_overlap", f"{other.place} shares memory with {outer.place}, a buffer of the device, "
                   "and goes beyond it", "pass the array of the buffer, or a part of it")  # fmt: skip
        home = None if outer is None else outer.home
        buffer = self.take(end - start).buffer if home is None else home
        if end > start:
            self._regions.append(_SharedRegion(start, end, any(one.written for one in members), buffer))
        for number, one in zip(cluster, members, strict=True):
            # Whole words: atomic accesses to narrower elements are accesses to the words that have them.
            bound = BoundRange(buffer, one.start - start if one.size else 0, -(-one.size // WORD) * WORD)
            self._check(one, bound)
            placed[number] = bound

    def _check(self, span: HostSpan, bound: BoundRange) -> None:
        """Raise `LaunchError` for a range that cannot be bound."""
        limits = self.device.physical.limits
        if span.by_address:
            return
        step = max(limits.minStorageBufferOffsetAlignment, 1)
        if bound.offset % step:
            refuse("bind.vulkan_overlap", f"{span.place} begins {bound.offset} bytes into memory that another argument "
                   f"shares; {self.device.name} binds multiples of {step} bytes",
                   "pass copies, or parts that begin at such multiples")  # fmt: skip
        if bound.size > limits.maxStorageBufferRange:
            refuse("bind.vulkan_limit", f"{span.place} has {bound.size} bytes, and {self.device.name} binds at most "
                   f"{limits.maxStorageBufferRange} at once")  # fmt: skip


def _clusters(spans: Sequence[HostSpan]) -> Iterator[list[int]]:
    """The numbers of spans, those that share bytes together; a span without bytes is alone."""
    cluster: list[int] = []
    end = 0
    for number in sorted(range(len(spans)), key=lambda one: (spans[one].start, -spans[one].size)):
        span = spans[number]
        if not span.size:
            yield [number]
        elif cluster and span.start < end:
            cluster.append(number)
            end = max(end, span.end)
        else:
            if cluster:
                yield cluster
            cluster, end = [number], span.end
    if cluster:
        yield cluster


@dataclass(frozen=True, slots=True)
class LaunchManner:
    """How a launch is executed: the seconds that it may take, and how often the device executes it."""

    seconds: float = DEFAULT_SECONDS
    repeat: int = 1

    @staticmethod
    def of(options: Mapping[str, Any]) -> LaunchManner:
        """What options of a launch ask for."""
        return LaunchManner(options.get("timeout", DEFAULT_SECONDS), options.get("repeat", 1))


ONCE = LaunchManner()
"""The manner of a launch without options."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What is executed: a pipeline on a grid of work-groups, with push constants."""

    pipeline: Pipeline
    grid: tuple[int, int, int]
    push: bytes
    manner: LaunchManner


def execute(device: Device, dispatch: Dispatch) -> tuple[float, ...]:
    """Execute a dispatch and wait for it, as often as it asks: the seconds that the device says each time took.

    There are none where the device does not say. Raises `VulkanFault` and `LaunchTimeoutError`, after which the device
    may be lost, and `LaunchError` for a grid that it does not take.
    """
    most = tuple(device.physical.limits.maxComputeWorkGroupCount)
    if any(size > limit for size, limit in zip(dispatch.grid, most, strict=True)):
        refuse("bind.vulkan_limit", f"a grid of {dispatch.grid} has more work-groups along an axis than {device.name} "
               f"takes, {most}", "launch it in parts")  # fmt: skip
    times = []
    for _ in range(dispatch.manner.repeat):
        device.submit(_recorder(device, dispatch), dispatch.manner.seconds)
        times.append(device.seconds_taken())
    return tuple(one for one in times if one is not None)


def _recorder(device: Device, dispatch: Dispatch) -> Callable[[c_void_p], None]:
    pipeline, commands = dispatch.pipeline, device.commands

    def record(recorded: c_void_p) -> None:
        _barrier(device, recorded, before=True)
        commands("vkCmdBindPipeline", recorded, vk.BIND_COMPUTE, pipeline.handle)
        if pipeline.sets:
            sets = (c_uint64 * len(pipeline.sets))(*pipeline.sets)
            bound = recorded, vk.BIND_COMPUTE, pipeline.layout, 0, len(sets), sets, 0, None
            commands("vkCmdBindDescriptorSets", *bound)
        if dispatch.push:
            push = create_string_buffer(dispatch.push, len(dispatch.push))
            given = pipeline.layout, vk.STAGE_COMPUTE, 0, len(dispatch.push), addressof(push)
            commands("vkCmdPushConstants", recorded, *given)
        device.begin_time(recorded)
        commands("vkCmdDispatch", recorded, *dispatch.grid)
        device.end_time(recorded)
        _barrier(device, recorded, before=False)

    return record


def _barrier(device: Device, recorded: c_void_p, *, before: bool) -> None:
    """Make what was copied visible to the shader, or what it wrote to copies and to the host."""
    if before:
        stages = vk.PIPELINE_TRANSFER, vk.PIPELINE_COMPUTE
        barrier = VkMemoryBarrier(vk.TRANSFER_WRITE, vk.SHADER_READ | vk.SHADER_WRITE)
    else:
        stages = vk.PIPELINE_COMPUTE, vk.PIPELINE_TRANSFER | vk.PIPELINE_HOST
        barrier = VkMemoryBarrier(vk.SHADER_WRITE, vk.TRANSFER_READ | vk.HOST_READ)
    device.commands("vkCmdPipelineBarrier", recorded, *stages, 0, 1, byref(barrier), 0, None, 0, None)


@contextmanager
def faults_in_words(device: Device, name: str, seconds: float, span: Span = NOWHERE) -> Iterator[None]:
    """Turn faults of the driver in the block into `LaunchError`; after some of them the device is `lost`."""
    try:
        yield
    except VulkanFault as fault:
        device.lost = device.lost or fault.result == vk.DEVICE_LOST
        refuse_fault(fault, device.name, name, span)
    except LaunchTimeoutError:
        refuse("run.vulkan_timeout", f"{name} did not end within {seconds:g} s on {device.name}, which is given up",
               "allow more time: kernel.options(timeout=600); or find what does not end: target='interpreter', whose "
               "max_steps ends it", span)  # fmt: skip
