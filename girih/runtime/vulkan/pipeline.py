"""Pipelines: a module made ready by the driver, with what its buffers are bound to; kept on disk between processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from ctypes import Array, addressof, byref, c_char, c_size_t, c_uint64, create_string_buffer, sizeof
from dataclasses import field
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.faults import VulkanFault
from girih.runtime.vulkan.driver.physical import PhysicalDevice
from girih.runtime.vulkan.driver.structures import (
    VkComputePipelineCreateInfo,
    VkDescriptorBufferInfo,
    VkDescriptorPoolCreateInfo,
    VkDescriptorPoolSize,
    VkDescriptorSetAllocateInfo,
    VkDescriptorSetLayoutBinding,
    VkDescriptorSetLayoutCreateInfo,
    VkPipelineCacheCreateInfo,
    VkPipelineCacheHeaderVersionOne,
    VkPipelineLayoutCreateInfo,
    VkPipelineRobustnessCreateInfo,
    VkPipelineShaderStageCreateInfo,
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo,
    VkPushConstantRange,
    VkShaderModuleCreateInfo,
    VkWriteDescriptorSet,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from girih.runtime.vulkan.device import Device
    from girih.runtime.vulkan.memory import DeviceBuffer


@dataclass(frozen=True, slots=True)
class Slot:
    """A binding of a module: its set and number, how many buffers it has, whether they are uniform buffers."""

    set: int
    binding: int
    count: int = 1
    uniform: bool = False

    @property
    def descriptor(self) -> int:
        """Vulkan's type of its descriptors."""
        return vk.UNIFORM_DESCRIPTOR if self.uniform else vk.STORAGE_DESCRIPTOR


@dataclass(frozen=True, slots=True)
class PipelineDescription:
    """What a pipeline is made of: code, entry point, bindings, and how the device is to execute it.

    `subgroup_size` 0 leaves the size to the driver; otherwise subgroups have it and are full.
    """

    code: bytes
    entry: str
    slots: tuple[Slot, ...]
    push_bytes: int
    subgroup_size: int = 0
    robust: bool = True


@dataclass(frozen=True, slots=True)
class BoundRange:
    """Some bytes of a buffer that are bound; Vulkan binds no empty range, so that one byte stands for none."""

    buffer: DeviceBuffer
    offset: int
    size: int


@dataclass(eq=False)
class Pipeline:
    """A pipeline of a device with its descriptor sets."""

    device: Device
    description: PipelineDescription
    handle: int = 0
    layout: int = 0
    sets: tuple[int, ...] = ()
    _pool: int = 0
    _set_layouts: list[int] = field(default_factory=list)

    @staticmethod
    def make(device: Device, description: PipelineDescription) -> Pipeline:
        """The pipeline. Raises `VulkanFault` where the driver makes none."""
        made = Pipeline(device, description)
        try:
            made._lay_out()
            made._compile()
            made._allocate_sets()
        except BaseException:
            made.close()
            raise
        return made

    def bind(self, ranges: Sequence[Sequence[BoundRange]]) -> None:
        """Bind buffers, those of each slot of the description."""
        for slot, bound in zip(self.description.slots, ranges, strict=True):
            infos = (VkDescriptorBufferInfo * len(bound))(
                *(VkDescriptorBufferInfo(one.buffer.handle, one.offset, max(one.size, 1)) for one in bound)
            )
            write = VkWriteDescriptorSet(
                dstSet=self.sets[slot.set],
                dstBinding=slot.binding,
                descriptorCount=len(bound),
                descriptorType=slot.descriptor,
                pBufferInfo=addressof(infos),
            )
            if bound:
                self.device.commands("vkUpdateDescriptorSets", self.device.handle, 1, byref(write), 0, None)

    def close(self) -> None:
        """Free the pipeline and what belongs to it."""
        self.device.ended("vkDestroyDescriptorPool", self._pool)
        self.device.ended("vkDestroyPipeline", self.handle)
        self.device.ended("vkDestroyPipelineLayout", self.layout)
        for one in self._set_layouts:
            self.device.ended("vkDestroyDescriptorSetLayout", one)
        self._pool = self.handle = self.layout = 0
        self._set_layouts.clear()

    def _lay_out(self) -> None:
        slots = self.description.slots
        for number in range(1 + max((slot.set for slot in slots), default=-1)):
            own = [slot for slot in slots if slot.set == number]
            bindings = (VkDescriptorSetLayoutBinding * max(1, len(own)))(*(
                VkDescriptorSetLayoutBinding(one.binding, one.descriptor, one.count, vk.STAGE_COMPUTE) for one in own
            ))  # fmt: skip
            wanted = VkDescriptorSetLayoutCreateInfo(bindingCount=len(own), pBindings=addressof(bindings))
            self._set_layouts.append(self.device.made("vkCreateDescriptorSetLayout", wanted))
        layouts = (c_uint64 * max(1, len(self._set_layouts)))(*self._set_layouts)
        pushed = VkPushConstantRange(vk.STAGE_COMPUTE, 0, self.description.push_bytes)
        self.layout = self.device.made(
            "vkCreatePipelineLayout",
            VkPipelineLayoutCreateInfo(
                setLayoutCount=len(self._set_layouts),
                pSetLayouts=addressof(layouts),
                pushConstantRangeCount=1 if self.description.push_bytes else 0,
                pPushConstantRanges=addressof(pushed),
            ),
        )

    def _compile(self) -> None:
        said, physical = self.description, self.device.physical
        code = create_string_buffer(said.code, len(said.code))
        wanted = VkShaderModuleCreateInfo(codeSize=len(said.code), pCode=addressof(code))
        shader = self.device.made("vkCreateShaderModule", wanted)
        stage = VkPipelineShaderStageCreateInfo(stage=vk.STAGE_COMPUTE, module=shader, pName=said.entry.encode())
        required = VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(requiredSubgroupSize=said.subgroup_size)
        if said.subgroup_size and can_require(physical, said.subgroup_size):
            stage.pNext = addressof(required)
        if said.subgroup_size and physical.has("VkPhysicalDeviceVulkan13Features", "computeFullSubgroups"):
            stage.flags = vk.FULL_SUBGROUPS
        pipeline = VkComputePipelineCreateInfo(stage=stage, layout=self.layout)
        behaviour = VkPipelineRobustnessCreateInfo(vk.ROBUST_OFF, vk.ROBUST_OFF)
        if not said.robust and physical.has("VkPhysicalDevicePipelineRobustnessFeatures", "pipelineRobustness"):
            pipeline.pNext = addressof(behaviour)
        made = c_uint64()
        try:
            with kept_pipeline(self.device, said) as cache:
                asked = self.device.handle, cache, 1, byref(pipeline), None, byref(made)
                self.device.commands("vkCreateComputePipelines", *asked)
                self.handle = made.value
        finally:
            self.device.ended("vkDestroyShaderModule", shader)

    def _allocate_sets(self) -> None:
        if not self._set_layouts:
            return
        sizes = [
            VkDescriptorPoolSize(kind, count)
            for kind in (vk.STORAGE_DESCRIPTOR, vk.UNIFORM_DESCRIPTOR)
            if (count := sum(slot.count for slot in self.description.slots if slot.descriptor == kind))
        ]
        listed = (VkDescriptorPoolSize * max(1, len(sizes)))(*sizes)
        number = len(self._set_layouts)
        wanted = VkDescriptorPoolCreateInfo(maxSets=number, poolSizeCount=len(sizes), pPoolSizes=addressof(listed))
        self._pool = self.device.made("vkCreateDescriptorPool", wanted)
        layouts, sets = (c_uint64 * number)(*self._set_layouts), (c_uint64 * number)()
        asked = VkDescriptorSetAllocateInfo(
            descriptorPool=self._pool, descriptorSetCount=number, pSetLayouts=addressof(layouts)
        )
        self.device.commands("vkAllocateDescriptorSets", self.device.handle, byref(asked), sets)
        self.sets = tuple(sets)


def can_require(physical: PhysicalDevice, size: int) -> bool:
    """Whether the subgroup size of a compute shader can be chosen, and be this one."""
    structure = "VkPhysicalDeviceVulkan13Properties"
    stages = physical.value(structure, "requiredSubgroupSizeStages")
    least, most = (physical.value(structure, f"{word}SubgroupSize") for word in ("min", "max"))
    return (
        physical.has("VkPhysicalDeviceVulkan13Features", "subgroupSizeControl")
        and bool(stages & vk.STAGE_COMPUTE)
        and least <= size <= most
    )


@contextmanager
def kept_pipeline(device: Device, description: PipelineDescription) -> Iterator[int]:
    """The driver's own cache for one pipeline, from disk where it is there; 0 where the driver makes none.

    What the driver has put into it is kept on disk when the block ends without an exception.
    """
    from girih.runtime.cache import Cache

    cache, key = Cache.standard(), pipeline_key(device.physical, description)
    known = cache.get(key)
    wrong = None if known is None else header_problem(known, device.physical)
    if wrong is not None:
        cache.drop(key, wrong)
        known = None
    content = create_string_buffer(known, len(known)) if known else None
    wanted = VkPipelineCacheCreateInfo(
        initialDataSize=len(known) if known else 0, pInitialData=None if content is None else addressof(content)
    )
    try:
        handle = device.made("vkCreatePipelineCache", wanted)
    except VulkanFault:
        yield 0
        return
    try:
        yield handle
        if known is None:
            made = _content(device, handle)
            if made is not None and header_problem(made, device.physical) is None:
                cache.put(key, made)
    finally:
        device.ended("vkDestroyPipelineCache", handle)


def pipeline_key(physical: PhysicalDevice, description: PipelineDescription) -> str:
    """The key of a pipeline in girih's cache: the device, its driver, and what the pipeline is made of."""
    from girih.runtime.cache import digest

    identity = physical.vendor, physical.device, physical.driver_version, physical.driver
    return digest(
        "vulkan pipeline", repr(identity), physical.cache_uuid, description.code, description.entry,
        repr(description.slots), repr((description.push_bytes, description.subgroup_size, description.robust)),
    )  # fmt: skip


def header_problem(data: bytes, physical: PhysicalDevice) -> str | None:
    """What is wrong with the header of a driver's pipeline cache (Vulkan 10.7.5), which drivers may trust; or None."""
    size = sizeof(VkPipelineCacheHeaderVersionOne)
    if len(data) < size:
        return f"a pipeline cache of {len(data)} bytes has no header"
    head = VkPipelineCacheHeaderVersionOne.from_buffer_copy(data)
    if not size <= head.headerSize <= len(data) or head.headerVersion != vk.CACHE_HEADER_ONE:
        return f"the header of the pipeline cache has {head.headerSize} bytes and version {head.headerVersion}"
    if (head.vendorID, head.deviceID) != (physical.vendor, physical.device):
        found = f"{head.vendorID:#x}:{head.deviceID:#x}"
        return f"the pipeline cache is of the device {found}, not of {physical.vendor:#x}:{physical.device:#x}"
    if bytes(head.pipelineCacheUUID) != physical.cache_uuid:
        return "the pipeline cache is of another version of the driver"
    return None


def _content(device: Device, handle: int) -> bytes | None:
    """The driver's pipeline cache as bytes; None where it does not give them."""
    size = c_size_t()
    try:
        device.commands("vkGetPipelineCacheData", device.handle, handle, byref(size), None)
        data: Array[c_char] = create_string_buffer(size.value)
        if device.commands("vkGetPipelineCacheData", device.handle, handle, byref(size), data) == vk.INCOMPLETE:
            return None
    except VulkanFault:
        return None
    return data.raw[: size.value]
