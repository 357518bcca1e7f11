"""Memory of a device with an address that shaders can hold, as long as the buffer of the host lives."""

from __future__ import annotations

import weakref

from girih.runtime.vulkan.device import Device
from girih.runtime.vulkan.launch import faults_in_words
from girih.runtime.vulkan.memory import DeviceBuffer
from girih.runtime.vulkan.opened import current_device
from girih.runtime.vulkan.report import refuse


class DeviceAddress:
    """A buffer of the current device. Raises `LaunchError` where no device opens, or it has no memory or addresses."""

    def __init__(self, size: int) -> None:
        self.device: Device = current_device("girih.Buffer")
        with self.device.lock, faults_in_words(self.device, "girih.Buffer", 0):
            self.buffer: DeviceBuffer = self.device.memory.take(size)
        if not self.buffer.address:
            self._free(self.device, self.buffer)
            refuse("bind.vulkan_feature", f"{self.device.name} has no addresses of buffers (bufferDeviceAddress)",
                   "use buffers by set and binding")  # fmt: skip
        weakref.finalize(self, self._free, self.device, self.buffer).atexit = False

    @property
    def address(self) -> int:
        """The address of the first byte on the device."""
        return self.buffer.address

    @staticmethod
    def _free(device: Device, buffer: DeviceBuffer) -> None:
        if device.usable:
            with device.lock:
                device.memory.give_back([buffer])
