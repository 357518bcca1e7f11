"""The profile of a device: what its driver says, in the words of `girih.back.spirv.profiles`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.profile import MatrixShape, Profile
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.features import CORE, feature_table
from girih.runtime.vulkan.driver.physical import PhysicalDevice

_PROPERTIES_11 = "VkPhysicalDeviceVulkan11Properties"
_PROPERTIES_12 = "VkPhysicalDeviceVulkan12Properties"
_PROPERTIES_13 = "VkPhysicalDeviceVulkan13Properties"
_COMPUTE_STAGE = vk.STAGE_COMPUTE

_NVIDIA, _AMD, _INTEL = 0x10DE, 0x1002, 0x8086
"""PCI numbers of vendors (pcisig.com)."""

HARDWARE: Mapping[str, Callable[[PhysicalDevice], bool]] = {
    # No query tells it: the shader cores of these vendors have a fused multiply-add. Mesa's driver for the CPU has one
    # only where the processor does, and does not say so.
    "fused": lambda device: device.vendor in (_NVIDIA, _AMD, _INTEL),
    # Vulkan leaves 2.5 ulps to division and more to roots; no query tells who is exact. An H200 was measured.
    "exact_quotients": lambda device: device.kind == vk.DEVICE_TYPES[4] or device.vendor == _NVIDIA,
    "exact_roots": lambda device: device.kind == vk.DEVICE_TYPES[4],
    "exact_double_roots": lambda device: device.kind == vk.DEVICE_TYPES[4] or device.vendor == _NVIDIA,
    # An H200 of driver 580.159.04 computes (float(float16_t(x))) as x.
    "folds_narrowing": lambda device: device.vendor == _NVIDIA,
    # SPV_ARM_cooperative_matrix_layouts has no feature of Vulkan yet.
    "matrix_blocked_layouts": lambda device: False,
}
"""The features of profiles that no driver tells, and how they are judged."""


def profile_of(device: PhysicalDevice) -> Profile:
    """The profile of a device: sizes and limits of its compute shaders, features by their words, shapes of matrices."""
    least, most = (device.value(_PROPERTIES_13, f"{word}SubgroupSize", 0) for word in ("min", "max"))
    own = device.value(_PROPERTIES_11, "subgroupSize", 32)
    fixed = not device.has("VkPhysicalDeviceVulkan13Features", "subgroupSizeControl")
    fixed = fixed or not device.value(_PROPERTIES_13, "requiredSubgroupSizeStages") & _COMPUTE_STAGE
    limits = device.limits
    return Profile(
        name="this machine's device",
        says=device.name,
        subgroup_size=own,
        least_subgroup_size=own if fixed or not least else least,
        most_subgroup_size=own if fixed or not most else most,
        work_group_items=min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]),
        shared_bytes=limits.maxComputeSharedMemorySize,
        push_bytes=limits.maxPushConstantsSize,
        features=frozenset(name for name in FEATURES if has_feature(device, name)),
        matrices=tuple(_shapes(device)),
        source=f"{device.name}, {device.driver}, Vulkan {device.version[0]}.{device.version[1]}",
    )


def has_feature(device: PhysicalDevice, name: str) -> bool:
    """Whether a device has a feature of profiles. Raises `KeyError` for a word that is none."""
    if name in HARDWARE:
        return HARDWARE[name](device)
    says = FEATURES[name].vulkan
    if says.startswith("subgroupSupportedOperations "):
        operation = vk.SUBGROUP_OPERATIONS[says.split()[1].lower()]
        stages = device.value(_PROPERTIES_11, "subgroupSupportedStages")
        return bool(device.value(_PROPERTIES_11, "subgroupSupportedOperations") & operation and stages & _COMPUTE_STAGE)
    structure, dot, member = says.partition(".")
    if dot:
        return device.has(structure, member)
    return bool(device.value(_PROPERTIES_12, says, 0))


def is_told(name: str) -> bool:
    """Whether Vulkan tells a feature of profiles: the structure or property of its row is one that girih asks for."""
    table, says = feature_table(), FEATURES[name].vulkan
    structure, dot, member = says.partition(".")
    if says.startswith("subgroupSupportedOperations "):
        return says.split()[1].lower() in vk.SUBGROUP_OPERATIONS
    if dot:
        known = table.core if structure == CORE else table.features[structure].members
        return member in known
    return says in table.properties[_PROPERTIES_12].members


def _shapes(device: PhysicalDevice) -> Iterator[MatrixShape]:
    """The shapes of matrices whose types and scope the language has."""
    for row in device.matrices:
        types = [vk.COMPONENTS.get(one) for one in (row.a, row.b, row.c, row.result)]
        scope = vk.SCOPES.get(row.scope)
        a, b, c, result = types
        if scope is None or a is None or b is None or c is None or result is None:
            continue
        items = (row.work_items,) if row.work_items else ()
        yield MatrixShape(
            row.m, row.n, row.k, a, b, c, result, scope, row.saturating,
            flexible=row.work_items is not None, work_items=items,
        )  # fmt: skip
