"""Memory of a device: buffers, which are used again by later launches, and what goes into them and comes out.

Where the host sees the memory of the device, bytes are copied there; else they go through a staging buffer, as much at
once as it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import addressof, byref, c_uint64, c_void_p, memmove
from dataclasses import field
from functools import partial

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.commands import VulkanCommands
from girih.runtime.vulkan.driver.faults import VulkanFault
from girih.runtime.vulkan.driver.physical import PhysicalDevice
from girih.runtime.vulkan.driver.structures import (
    VkBufferCopy,
    VkBufferCreateInfo,
    VkBufferDeviceAddressInfo,
    VkMemoryAllocateFlagsInfo,
    VkMemoryAllocateInfo,
    VkMemoryRequirements,
)

IDLE_BYTES = 256 << 20
"""How many bytes of buffers that no launch uses are kept for the next ones."""

STAGING_BYTES = 32 << 20
"""The size of a staging buffer."""

_LEAST_BYTES = 256
_STEP = 1 << 20

Submit = Callable[[Callable[[c_void_p], None]], None]
"""What records commands into a buffer of commands, submits it and waits for it."""


@dataclass(slots=True, eq=False)
class DeviceBuffer:
    """A buffer: its size, its address for shaders (0 without bufferDeviceAddress), and for the host (None for none)."""

    handle: int
    memory: int
    size: int
    address: int
    mapped: int | None


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of the host, from an address on, and where they lie in a buffer of the device."""

    buffer: DeviceBuffer
    offset: int
    host: int
    size: int


@dataclass(eq=False)
class DeviceMemory:
    """The memory of a device. Not for several threads at once."""

    physical: PhysicalDevice
    device: int
    commands: VulkanCommands
    submit: Submit
    _idle: dict[int, list[DeviceBuffer]] = field(default_factory=dict)
    _idle_bytes: int = 0
    _staging: dict[bool, DeviceBuffer] = field(default_factory=dict)

    def take(self, size: int) -> DeviceBuffer:
        """A buffer of at least some bytes, whose contents are open. Raises `VulkanFault`."""
        rounded = _rounded(size)
        if self._idle.get(rounded):
            self._idle_bytes -= rounded
            return self._idle[rounded].pop()
        try:
            return self._new(rounded, self._own_kinds(), vk.STORAGE_BUFFER | vk.UNIFORM_BUFFER)
        except VulkanFault as fault:
            if fault.result not in vk.OUT_OF_MEMORY or not self._idle_bytes:
                raise
        self._free_idle()
        return self._new(rounded, self._own_kinds(), vk.STORAGE_BUFFER | vk.UNIFORM_BUFFER)

    def give_back(self, buffers: Iterable[DeviceBuffer]) -> None:
        """Keep buffers that are no longer used for other launches, or free them where many are kept."""
        for buffer in buffers:
            if self._idle_bytes + buffer.size > IDLE_BYTES:
                self._free(buffer)
                continue
            self._idle.setdefault(buffer.size, []).append(buffer)
            self._idle_bytes += buffer.size

    def upload(self, pieces: Sequence[Piece]) -> None:
        """Copy bytes of the host to the device."""
        for piece in pieces:
            if piece.buffer.mapped is not None:
                memmove(piece.buffer.mapped + piece.offset, piece.host, piece.size)
        for batch in _batches(one for one in pieces if one.buffer.mapped is None):
            staging = self._staging_buffer(down=False)
            assert staging.mapped is not None
            for at, piece in batch:
                memmove(staging.mapped + at, piece.host, piece.size)
            self.submit(partial(self._record, batch, staging, down=False))

    def download(self, pieces: Sequence[Piece]) -> None:
        """Copy bytes of the device to the host."""
        for piece in pieces:
            if piece.buffer.mapped is not None:
                memmove(piece.host, piece.buffer.mapped + piece.offset, piece.size)
        for batch in _batches(one for one in pieces if one.buffer.mapped is None):
            staging = self._staging_buffer(down=True)
            assert staging.mapped is not None
            self.submit(partial(self._record, batch, staging, down=True))
            for at, piece in batch:
                memmove(piece.host, staging.mapped + at, piece.size)

    def close(self) -> None:
        """Free all buffers that no launch uses."""
        self._free_idle()
        for buffer in self._staging.values():
            self._free(buffer)
        self._staging.clear()

    def _record(
        self, batch: Sequence[tuple[int, Piece]], staging: DeviceBuffer, recorded: c_void_p, *, down: bool
    ) -> None:
        for at, piece in batch:
            here, there = (piece.buffer.handle, piece.offset), (staging.handle, at)
            (source, source_at), (target, target_at) = (here, there) if down else (there, here)
            region = VkBufferCopy(source_at, target_at, piece.size)
            self.commands("vkCmdCopyBuffer", recorded, source, target, 1, byref(region))

    def _own_kinds(self) -> Iterator[int]:
        """The flags of memory that buffers are put in, the best first: where the host reads as fast as the device."""
        if self.physical.kind in (vk.DEVICE_TYPES[1], vk.DEVICE_TYPES[4]):
            yield vk.HOST_VISIBLE | vk.HOST_COHERENT | vk.HOST_CACHED
            yield vk.HOST_VISIBLE | vk.HOST_COHERENT
        yield vk.DEVICE_LOCAL
        yield 0

    def _staging_buffer(self, *, down: bool) -> DeviceBuffer:
        known = self._staging.get(down)
        if known is None:
            visible = vk.HOST_VISIBLE | vk.HOST_COHERENT
            kinds = [visible | vk.HOST_CACHED, visible] if down else [visible]
            known = self._staging[down] = self._new(STAGING_BYTES, kinds, 0)
        return known

    def _new(self, size: int, kinds: Iterable[int], usage: int) -> DeviceBuffer:
        """A new buffer in the first kind of memory that there is. Raises `VulkanFault`."""
        addresses = bool(usage) and self.physical.has("VkPhysicalDeviceVulkan12Features", "bufferDeviceAddress")
        usage |= vk.TRANSFER_SOURCE | vk.TRANSFER_DESTINATION | (vk.BUFFER_ADDRESS if addresses else 0)
        wanted, handle = VkBufferCreateInfo(size=size, usage=usage), c_uint64()
        self.commands("vkCreateBuffer", self.device, byref(wanted), None, byref(handle))
        made = DeviceBuffer(handle.value, 0, size, 0, None)
        try:
            self._give_memory(made, kinds, addresses=addresses)
        except BaseException:
            self._free(made)
            raise
        return made

    def _give_memory(self, buffer: DeviceBuffer, kinds: Iterable[int], *, addresses: bool) -> None:
        needed = VkMemoryRequirements()
        self.commands("vkGetBufferMemoryRequirements", self.device, buffer.handle, byref(needed))
        index, wanted_flags = self._kind(needed.memoryTypeBits, kinds)
        flags = VkMemoryAllocateFlagsInfo(flags=vk.ALLOCATE_WITH_ADDRESS)
        wanted = VkMemoryAllocateInfo(allocationSize=needed.size, memoryTypeIndex=index)
        wanted.pNext = addressof(flags) if addresses else None
        memory = c_uint64()
        self.commands("vkAllocateMemory", self.device, byref(wanted), None, byref(memory))
        buffer.memory = memory.value
        self.commands("vkBindBufferMemory", self.device, buffer.handle, buffer.memory, 0)
        # Memory that is the device's own is slow to read for the host, even where it can.
        if wanted_flags & vk.HOST_VISIBLE:
            at = c_void_p()
            self.commands("vkMapMemory", self.device, buffer.memory, 0, vk.WHOLE_SIZE, 0, byref(at))
            buffer.mapped = at.value
        if addresses:
            asked = VkBufferDeviceAddressInfo(buffer=buffer.handle)
            buffer.address = self.commands("vkGetBufferDeviceAddress", self.device, byref(asked))

    def _kind(self, allowed: int, kinds: Iterable[int]) -> tuple[int, int]:
        """The index of the first kind of memory that is allowed and has one of some flags, and these flags."""
        for wanted in kinds:
            for index, flags in enumerate(self.physical.memory_types):
                if allowed >> index & 1 and flags & wanted == wanted:
                    return index, wanted
        raise VulkanFault("vkAllocateMemory", vk.OUT_OF_DEVICE_MEMORY)

    def _free_idle(self) -> None:
        for buffers in self._idle.values():
            for buffer in buffers:
                self._free(buffer)
        self._idle.clear()
        self._idle_bytes = 0

    def _free(self, buffer: DeviceBuffer) -> None:
        self.commands("vkDestroyBuffer", self.device, buffer.handle, None)
        if buffer.memory:
            self.commands("vkFreeMemory", self.device, buffer.memory, None)


def _rounded(size: int) -> int:
    """The size of the buffer for some bytes: few sizes, so that buffers are used again."""
    if size > _STEP:
        return -(-size // _STEP) * _STEP
    return max(_LEAST_BYTES, 1 << (size - 1).bit_length() if size else 0)


def _batches(pieces: Iterable[Piece]) -> Iterator[list[tuple[int, Piece]]]:
    """Pieces with their places in a staging buffer, as many at a time as it holds; large ones in parts."""
    batch: list[tuple[int, Piece]] = []
    used = 0
    for piece in pieces:
        done = 0
        while done < piece.size:
            if used >= STAGING_BYTES:
                yield batch
                batch, used = [], 0
            count = min(piece.size - done, STAGING_BYTES - used)
            batch.append((used, Piece(piece.buffer, piece.offset + done, piece.host + done, count)))
            done += count
            used += -(-count // 16) * 16
    if batch:
        yield batch
