"""The devices of a driver as facts: names, versions, features, properties, kinds of memory, shapes of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ctypes import addressof, byref, c_uint32, c_void_p
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.commands import VulkanCommands
from girih.runtime.vulkan.driver.features import CORE, StructureRow, Version, chain, feature_table, values_of
from girih.runtime.vulkan.driver.structures import (
    TypedStructure,
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV,
    VkCooperativeMatrixPropertiesKHR,
    VkExtensionProperties,
    VkPhysicalDeviceFeatures2,
    VkPhysicalDeviceMemoryProperties,
    VkPhysicalDeviceProperties2,
    VkQueueFamilyProperties,
)


@dataclass(frozen=True, slots=True)
class QueueFamily:
    """The family of queues that launches use, and how many bits its time stamps have, 0 for none."""

    index: int
    timestamp_bits: int


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A row of the cooperative matrices that a device has, with Vulkan's numbers of scope and component types.

    `work_items` is None for matrices of exact shapes, otherwise the size of the work-group that has shapes which are
    multiples, and 0 for matrices of a subgroup.
    """

    m: int
    n: int
    k: int
    a: int
    b: int
    c: int
    result: int
    saturating: bool
    scope: int
    work_items: int | None = None


@dataclass(frozen=True, eq=False)
class PhysicalDevice:
    """A device, and all that it says of itself. `features` and `properties` are by structure, as Vulkan names it."""

    handle: int
    name: str
    kind: str
    version: Version
    vendor: int
    device: int
    driver_version: int
    cache_uuid: bytes
    extensions: frozenset[str]
    features: Mapping[str, frozenset[str]]
    properties: Mapping[str, Mapping[str, Any]]
    limits: Any
    """VkPhysicalDeviceLimits."""
    queue: QueueFamily
    memory_types: tuple[int, ...]
    """The flags of each kind of memory."""
    matrices: tuple[MatrixRow, ...]

    def has(self, structure: str, feature: str) -> bool:
        """Whether the device has a feature, in whatever structure it tells so."""
        return feature in self.features.get(feature_table().home(structure, self.version), frozenset())

    def value(self, structure: str, member: str, default: Any = 0) -> Any:
        """A property; the default where the device does not tell it."""
        return self.properties.get(structure, {}).get(member, default)

    @property
    def driver(self) -> str:
        """The driver in its own words."""
        name, info = (self.value("VkPhysicalDeviceVulkan12Properties", one, "") for one in ("driverName", "driverInfo"))
        return f"{name} {info}".strip()


def physical_devices(commands: VulkanCommands, instance: int) -> Iterator[PhysicalDevice]:
    """The devices of an instance that have a queue for compute shaders."""
    count = c_uint32()
    commands("vkEnumeratePhysicalDevices", instance, byref(count), None)
    handles = (c_void_p * count.value)()
    commands("vkEnumeratePhysicalDevices", instance, byref(count), handles)
    for address in handles[: count.value]:
        handle = address or 0
        family = _queue_family(commands, handle)
        if family is not None:
            yield _described(commands, handle, family)


def available(rows: Mapping[str, StructureRow], version: Version, extensions: frozenset[str]) -> list[StructureRow]:
    """The structures that a device of a version with extensions knows, none whose members another one has."""
    known = []
    for row in rows.values():
        outer = rows[row.within].version if row.within else None
        if outer is not None and outer <= version:
            continue
        if (row.version is not None and row.version <= version) or not extensions.isdisjoint(row.extensions):
            known.append(row)
    return known


def _described(commands: VulkanCommands, handle: int, queue: QueueFamily) -> PhysicalDevice:
    extensions = frozenset(_extensions(commands, handle))
    basic = VkPhysicalDeviceProperties2()
    commands("vkGetPhysicalDeviceProperties2", handle, byref(basic))
    number = basic.properties.apiVersion
    version = number >> 22 & 0x7F, number >> 12 & 0x3FF
    table = feature_table()
    features, rows = _asked(commands, handle, available(table.features, version, extensions), is_feature=True)
    has = {CORE: frozenset(name for name in table.core if getattr(features.features, name))}
    has |= {row.name: frozenset(name for name in row.members if getattr(one, name)) for row, one in rows}
    told, found = _asked(commands, handle, available(table.properties, version, extensions), is_feature=False)
    core = told.properties
    return PhysicalDevice(
        handle,
        core.deviceName.decode("utf-8", "replace"),
        vk.DEVICE_TYPES.get(core.deviceType, vk.DEVICE_TYPES[0]),
        version,
        core.vendorID,
        core.deviceID,
        core.driverVersion,
        bytes(core.pipelineCacheUUID),
        extensions,
        has,
        {row.name: values_of(one, row.members) for row, one in found},
        core.limits,
        queue,
        _memory_types(commands, handle),
        tuple(_matrices(commands, handle, extensions)),
    )


def _asked(
    commands: VulkanCommands, handle: int, rows: list[StructureRow], *, is_feature: bool
) -> tuple[TypedStructure, list[tuple[StructureRow, TypedStructure]]]:
    """What a device answers in the first structure, and in those of some rows."""
    made = [(row, row.made()) for row in rows]
    first = VkPhysicalDeviceFeatures2() if is_feature else VkPhysicalDeviceProperties2()
    first.pNext = chain(one for _, one in made)
    name = "vkGetPhysicalDeviceFeatures2" if is_feature else "vkGetPhysicalDeviceProperties2"
    commands(name, handle, byref(first))
    return first, made


def _extensions(commands: VulkanCommands, handle: int) -> Iterator[str]:
    count = c_uint32()
    commands("vkEnumerateDeviceExtensionProperties", handle, None, byref(count), None)
    listed = (VkExtensionProperties * count.value)()
    commands("vkEnumerateDeviceExtensionProperties", handle, None, byref(count), listed)
    for one in listed[: count.value]:
        yield one.extensionName.decode()


def _queue_family(commands: VulkanCommands, handle: int) -> QueueFamily | None:
    count = c_uint32()
    commands("vkGetPhysicalDeviceQueueFamilyProperties", handle, byref(count), None)
    families = (VkQueueFamilyProperties * count.value)()
    commands("vkGetPhysicalDeviceQueueFamilyProperties", handle, byref(count), families)
    for index, family in enumerate(families):
        if family.queueFlags & vk.QUEUE_COMPUTE and family.queueCount:
            return QueueFamily(index, family.timestampValidBits)
    return None


def _memory_types(commands: VulkanCommands, handle: int) -> tuple[int, ...]:
    told = VkPhysicalDeviceMemoryProperties()
    commands("vkGetPhysicalDeviceMemoryProperties", handle, byref(told))
    return tuple(one.propertyFlags for one in told.memoryTypes[: told.memoryTypeCount])


def _matrices(commands: VulkanCommands, handle: int, extensions: frozenset[str]) -> Iterator[MatrixRow]:
    if "VK_KHR_cooperative_matrix" in extensions:
        name = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
        for one in _listed(commands, handle, name, VkCooperativeMatrixPropertiesKHR):
            yield _matrix((one.MSize, one.NSize, one.KSize), one)
    if "VK_NV_cooperative_matrix2" in extensions:
        name = "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"
        for one in _listed(commands, handle, name, VkCooperativeMatrixFlexibleDimensionsPropertiesNV):
            shape = one.MGranularity, one.NGranularity, one.KGranularity
            yield _matrix(shape, one, one.workgroupInvocations)


def _listed(commands: VulkanCommands, handle: int, name: str, type: type[TypedStructure]) -> Any:
    if not commands.has(name):
        return ()
    count = c_uint32()
    commands(name, handle, byref(count), None)
    listed = (type * count.value)(*(type() for _ in range(count.value)))
    commands(name, handle, byref(count), addressof(listed))
    return listed[: count.value]


def _matrix(shape: tuple[int, int, int], one: Any, work_items: int | None = None) -> MatrixRow:
    types = one.AType, one.BType, one.CType, one.ResultType
    return MatrixRow(*shape, *types, bool(one.saturatingAccumulation), one.scope, work_items)
