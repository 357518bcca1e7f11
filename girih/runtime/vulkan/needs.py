"""What a module needs of a device: the features behind its capabilities and extensions, and the device's limits.

The table is that of Vulkan, appendix "Vulkan Environment for SPIR-V" (`girih.runtime.vulkan.driver.features`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from girih.diagnostics import Diagnostic
from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver.features import feature_table
from girih.runtime.vulkan.driver.physical import PhysicalDevice
from girih.runtime.vulkan.pipeline import PipelineDescription
from girih.source import NOWHERE, Span
from girih.spirv.grammar import grammar
from girih.spirv.module import Module

CAPABILITY, EXTENSION = "OpCapability", "OpExtension"


@dataclass(frozen=True, slots=True)
class ModuleNeed:
    """Something that a module names: a capability or an extension of SPIR-V, with the ways in which a device has it.

    No ways: no version of Vulkan has it that girih knows of.
    """

    kind: str
    name: str
    ways: tuple[Mapping[str, Any], ...]

    def met_by(self, device: PhysicalDevice) -> bool:
        """Whether a device has it in one of the ways."""
        return any(_has(device, way) for way in self.ways)

    @property
    def in_words(self) -> str:
        """The ways in words."""
        return " or ".join(dict.fromkeys(_words(way) for way in self.ways)) or "what no feature of Vulkan is known for"


def needs_of(module: Module) -> Iterator[ModuleNeed]:
    """What a module names: its capabilities, then its extensions, each once."""
    table = feature_table()
    by_value, kind = _ways_by_value(), grammar().kinds["Capability"]
    seen: set[str] = set()
    for one in module.instructions:
        if one.name == CAPABILITY:
            value = one.id("capability")
            name = kind.name_of(value)
            if name not in seen:
                seen.add(name)
                yield ModuleNeed("capability", name, by_value.get(value, ()))
        elif one.name == EXTENSION:
            name = one.text("name")
            # What Vulkan does not list changes nothing for a driver, or comes with a capability.
            if name not in seen and name in table.extensions:
                seen.add(name)
                yield ModuleNeed("extension", name, table.extensions[name])


@cache
def _ways_by_value() -> Mapping[int, tuple[Mapping[str, Any], ...]]:
    """The ways by the number of the capability, which may have several names, each with ways of its own."""
    known = grammar().kinds["Capability"].by_name
    found: dict[int, tuple[Mapping[str, Any], ...]] = {}
    for name, ways in feature_table().capabilities.items():
        if name in known:
            value = known[name].value
            found[value] = (*found.get(value, ()), *ways)
    return found


def lacking(module: Module, device: PhysicalDevice, span: Span = NOWHERE) -> list[Diagnostic]:
    """What a module needs and a device lacks, a diagnostic each."""
    return [
        Diagnostic(
            "bind.vulkan_feature",
            f"the module needs {one.in_words} (the {one.kind} {one.name} of SPIR-V), which {device.name} lacks",
            span,
            hint=f"run it on another device, or with target='cpu' or 'interpreter'; `girih targets vulkan` lists what "
                 f"{device.name} has",
        )
        for one in needs_of(module) if not one.met_by(device)
    ]  # fmt: skip


def beyond_limits(
    device: PhysicalDevice,
    pipeline: PipelineDescription,
    *,
    local_size: Iterable[int],
    shared_bytes: int,
    span: Span = NOWHERE,
) -> list[Diagnostic]:
    """What a module, or the pipeline that it becomes, has more of than a device, a diagnostic each."""
    limits, sizes, slots = device.limits, tuple(local_size), pipeline.slots
    buffers, uniform = (sum(one.count for one in slots if one.uniform or every) for every in (True, False))
    asked = [
        ("work-items in a work-group", math.prod(sizes), limits.maxComputeWorkGroupInvocations),
        ("bytes of shared memory", shared_bytes, limits.maxComputeSharedMemorySize),
        ("bytes of push constants", pipeline.push_bytes, limits.maxPushConstantsSize),
        ("storage buffers", buffers - uniform, limits.maxPerStageDescriptorStorageBuffers),
        ("uniform buffers", uniform, limits.maxPerStageDescriptorUniformBuffers),
        ("buffers", buffers, limits.maxPerStageResources),
        ("sets of buffers", 1 + max((one.set for one in slots), default=-1), limits.maxBoundDescriptorSets),
    ]
    asked += [
        (f"work-items along {axis}", size, most)
        for axis, size, most in zip("xyz", sizes, limits.maxComputeWorkGroupSize, strict=False)
    ]
    return [
        Diagnostic("bind.vulkan_limit", f"the module has {found} {what}, and {device.name} at most {most}", span)
        for what, found, most in asked
        if found > most
    ]


def _has(device: PhysicalDevice, way: Mapping[str, Any]) -> bool:
    if "requires" in way and not any(_provides(device, one) for one in way["requires"]):
        return False
    if "feature" in way:
        return device.has(way["struct"], way["feature"])
    if "member" in way:
        return bool(device.value(way["property"], way["member"]) & way["value"])
    return _provides(device, way.get("version") or way.get("extension") or "")


def _provides(device: PhysicalDevice, name: str) -> bool:
    """Whether a device has a version of Vulkan, or an extension, by its name."""
    if name.startswith("VK_VERSION_"):
        major, minor = map(int, name.removeprefix("VK_VERSION_").split("_"))
        return device.version >= (major, minor)
    return name in device.extensions


def _words(way: Mapping[str, Any]) -> str:
    if "feature" in way:
        return f"{way['struct']}.{way['feature']}"
    if "member" in way:
        return f"{way['property']}.{way['member']}"
    version = way.get("version")
    return f"Vulkan {version.removeprefix('VK_VERSION_').replace('_', '.')}" if version else way["extension"]
