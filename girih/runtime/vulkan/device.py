"""An open device: its queue, its memory, and how commands come to it. One thread at a time uses it (`lock`).

All features that launches may need are enabled when it is opened, so that one device serves all modules.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from ctypes import addressof, byref, c_char_p, c_float, c_uint64, c_void_p
from dataclasses import field
from threading import RLock

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.commands import VulkanCommands
from girih.runtime.vulkan.driver.faults import VulkanFault
from girih.runtime.vulkan.driver.features import CORE, chain, feature_table
from girih.runtime.vulkan.driver.physical import PhysicalDevice, available
from girih.runtime.vulkan.driver.structures import (
    TypedStructure,
    VkCommandBufferAllocateInfo,
    VkCommandBufferBeginInfo,
    VkCommandPoolCreateInfo,
    VkDeviceCreateInfo,
    VkDeviceQueueCreateInfo,
    VkFenceCreateInfo,
    VkPhysicalDeviceFeatures2,
    VkQueryPoolCreateInfo,
    VkSubmitInfo,
)
from girih.runtime.vulkan.memory import DeviceMemory

DEFAULT_SECONDS = 60.0
"""How long a launch is waited for where nobody says."""

_SLICE_NANOSECONDS = 100_000_000
"""How long the driver waits before Python looks at signals."""

NOT_ENABLED = frozenset({
    "robustImageAccess2", "bufferDeviceAddressCaptureReplay", "bufferDeviceAddressMultiDevice", "protectedMemory",
    "pageableDeviceLocalMemory",
})  # fmt: skip
"""Features that cost something and that no compute shader with buffers needs."""


class LaunchTimeoutError(Exception):
    """Commands that did not end in time; the device is given up."""


@dataclass(eq=False)
class Device:
    """A device of a driver, ready for launches. `lost` says that it can no longer be used.

    It belongs to the process that opened it: one that is forked from it must leave it alone.
    """

    physical: PhysicalDevice
    commands: VulkanCommands
    handle: int
    queue: int
    lost: bool = False
    lock: RLock = field(default_factory=RLock, repr=False)
    process: int = field(default_factory=os.getpid)
    memory: DeviceMemory = field(init=False, repr=False)
    _pool: int = 0
    _recorded: c_void_p = field(default_factory=c_void_p)
    _fence: int = 0
    _times: int = 0

    @staticmethod
    def open(physical: PhysicalDevice, commands: VulkanCommands) -> Device:
        """Open a device. Raises `VulkanFault`."""
        priority = c_float(1.0)
        queue = VkDeviceQueueCreateInfo(
            queueFamilyIndex=physical.queue.index, queueCount=1, pQueuePriorities=addressof(priority)
        )
        features, kept = _enabled(physical)
        names = _extensions(physical)
        listed = (c_char_p * max(1, len(names)))(*(name.encode() for name in names))
        wanted = VkDeviceCreateInfo(
            queueCreateInfoCount=1,
            pQueueCreateInfos=addressof(queue),
            enabledExtensionCount=len(names),
            ppEnabledExtensionNames=addressof(listed),
        )
        wanted.pNext = addressof(features)
        handle, own_queue = c_void_p(), c_void_p()
        commands("vkCreateDevice", physical.handle, byref(wanted), None, byref(handle))
        del kept
        commands("vkGetDeviceQueue", handle, physical.queue.index, 0, byref(own_queue))
        made = Device(physical, commands, handle.value or 0, own_queue.value or 0)
        made._set_up()
        return made

    def _set_up(self) -> None:
        self.memory = DeviceMemory(self.physical, self.handle, self.commands, self.submit)
        family = self.physical.queue.index
        self._pool = self.made(
            "vkCreateCommandPool", VkCommandPoolCreateInfo(flags=vk.TRANSIENT_COMMANDS, queueFamilyIndex=family)
        )
        wanted = VkCommandBufferAllocateInfo(commandPool=self._pool, commandBufferCount=1)
        self.commands("vkAllocateCommandBuffers", self.handle, byref(wanted), byref(self._recorded))
        self._fence = self.made("vkCreateFence", VkFenceCreateInfo())
        if self.physical.queue.timestamp_bits:
            self._times = self.made("vkCreateQueryPool", VkQueryPoolCreateInfo(queryType=vk.TIMESTAMPS, queryCount=2))

    @property
    def usable(self) -> bool:
        """Whether the device is not lost, and this process's own."""
        return not self.lost and self.process == os.getpid()

    @property
    def name(self) -> str:
        """The device in words."""
        return self.physical.name

    def made(self, command: str, wanted: TypedStructure) -> int:
        """The handle of an object that a command of the form vkCreate makes. Raises `VulkanFault`."""
        made = c_uint64()
        self.commands(command, self.handle, byref(wanted), None, byref(made))
        return made.value

    def ended(self, command: str, handle: int) -> None:
        """Destroy an object by a command of the form vkDestroy; nothing of a device that is not `usable`."""
        if handle and self.usable:
            self.commands(command, self.handle, handle, None)

    def submit(self, record: Callable[[c_void_p], None], seconds: float = DEFAULT_SECONDS) -> None:
        """Record commands, submit them and wait until they have ended.

        Raises `VulkanFault`, after which the device is `lost` unless nothing was submitted, and `LaunchTimeoutError`,
        after which it is, too. What a signal handler raises comes when the commands have ended.
        """
        self.commands("vkResetCommandPool", self.handle, self._pool, 0)
        begin = VkCommandBufferBeginInfo(flags=vk.SUBMITTED_ONCE)
        self.commands("vkBeginCommandBuffer", self._recorded, byref(begin))
        record(self._recorded)
        self.commands("vkEndCommandBuffer", self._recorded)
        submitted = VkSubmitInfo(commandBufferCount=1, pCommandBuffers=addressof(self._recorded))
        self.commands("vkQueueSubmit", self.queue, 1, byref(submitted), self._fence)
        try:
            self._wait(seconds)
            fence = c_uint64(self._fence)
            self.commands("vkResetFences", self.handle, 1, byref(fence))
        except VulkanFault:
            # Whatever the fault is: the device may still work on memory that would be used again.
            self.lost = True
            raise

    def _wait(self, seconds: float) -> None:
        fence, end = c_uint64(self._fence), time.monotonic() + seconds
        interrupted: BaseException | None = None
        while True:
            try:
                left = max(0, min(_SLICE_NANOSECONDS, int((end - time.monotonic()) * 1e9)))
                if self.commands("vkWaitForFences", self.handle, 1, byref(fence), 1, left) != vk.TIMEOUT:
                    break
                if time.monotonic() >= end:
                    self.lost = True
                    raise interrupted or LaunchTimeoutError
            except (VulkanFault, LaunchTimeoutError):
                raise
            except BaseException as error:
                # The device still works on memory that the exception would free.
                if self.lost:
                    raise
                interrupted = error
        if interrupted is not None:
            self.commands("vkResetFences", self.handle, 1, byref(fence))
            raise interrupted

    def begin_time(self, recorded: c_void_p) -> None:
        """Record that time is taken from here on; nothing where the device takes none."""
        if self._times:
            self.commands("vkCmdResetQueryPool", recorded, self._times, 0, 2)
            self.commands("vkCmdWriteTimestamp", recorded, vk.PIPELINE_COMPUTE, self._times, 0)

    def end_time(self, recorded: c_void_p) -> None:
        """Record that time is taken up to here."""
        if self._times:
            self.commands("vkCmdWriteTimestamp", recorded, vk.PIPELINE_COMPUTE, self._times, 1)

    def seconds_taken(self) -> float | None:
        """The seconds between both times of the latest submission; None where the device takes none."""
        if not self._times:
            return None
        both = (c_uint64 * 2)()
        self.commands(
            "vkGetQueryPoolResults", self.handle, self._times, 0, 2, 16, byref(both), 8, vk.RESULTS_OF_64_BITS
        )
        ticks = (both[1] - both[0]) & ((1 << self.physical.queue.timestamp_bits) - 1)
        return float(ticks * self.physical.limits.timestampPeriod * 1e-9)

    def close(self) -> None:
        """End the device, with what it holds; one that is lost is left as it is, since its driver may wait forever."""
        if self.lost:
            return
        self.commands("vkDeviceWaitIdle", self.handle)
        self.memory.close()
        self.ended("vkDestroyQueryPool", self._times)
        self.ended("vkDestroyFence", self._fence)
        self.ended("vkDestroyCommandPool", self._pool)
        self.commands("vkDestroyDevice", self.handle, None)
        self.lost = True


def _enabled(physical: PhysicalDevice) -> tuple[VkPhysicalDeviceFeatures2, Sequence[TypedStructure]]:
    """The features to enable, and the structures that the first one refers to, which must stay."""
    first = VkPhysicalDeviceFeatures2()
    for name in physical.features[CORE] - NOT_ENABLED:
        setattr(first.features, name, 1)
    rows = available(feature_table().features, physical.version, physical.extensions)
    made = [row.made() for row in rows]
    for row, structure in zip(rows, made, strict=True):
        for name in physical.features[row.name] - NOT_ENABLED:
            setattr(structure, name, 1)
    first.pNext = chain(made)
    return first, made


def _extensions(physical: PhysicalDevice) -> list[str]:
    """The extensions to enable: those of the features, those that modules name, and that of portability."""
    table = feature_table()
    wanted = {name for row in (*table.features.values(), *table.properties.values()) for name in row.extensions}
    wanted |= {way["extension"] for ways in table.extensions.values() for way in ways if "extension" in way}
    wanted |= {way["extension"] for ways in table.capabilities.values() for way in ways if "extension" in way}
    return sorted(name for name in {*wanted, vk.PORTABILITY_OF_DEVICE} & physical.extensions if _is_compute(name))


_NOT_COMPUTE = ("ray_tracing", "ray_query", "mesh", "fragment", "descriptor_heap", "shader_enqueue", "acceleration")
"""Parts of the names of extensions that a launch of a compute shader with buffers leaves alone."""


def _is_compute(extension: str) -> bool:
    return not any(word in extension for word in _NOT_COMPUTE)
