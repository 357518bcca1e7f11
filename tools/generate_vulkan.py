"""Write what girih knows of Vulkan's interface, from Khronos' registry of it (vk.xml).

    python tools/generate_vulkan.py PATH/vk.xml

writes girih/runtime/vulkan/driver/structures.py, the structures in memory and the words of results, and
girih/data/vulkan_features.json: which capability and extension of SPIR-V needs which feature, and how the structures of
features and properties lie in memory. The registry (https://github.com/KhronosGroup/Vulkan-Headers, registry/vk.xml) is
under Apache-2.0 or MIT; what is written names its version.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

ROOT = Path(__file__).resolve().parent.parent
STRUCTURES = ROOT / "girih" / "runtime" / "vulkan" / "driver" / "structures.py"
TABLE = ROOT / "girih" / "data" / "vulkan_features.json"

CALLS = (
    "VkApplicationInfo",
    "VkInstanceCreateInfo",
    "VkExtensionProperties",
    "VkPhysicalDeviceLimits",
    "VkPhysicalDeviceSparseProperties",
    "VkPhysicalDeviceProperties",
    "VkPhysicalDeviceProperties2",
    "VkPhysicalDeviceFeatures",
    "VkPhysicalDeviceFeatures2",
    "VkExtent3D",
    "VkQueueFamilyProperties",
    "VkMemoryType",
    "VkMemoryHeap",
    "VkPhysicalDeviceMemoryProperties",
    "VkCooperativeMatrixPropertiesKHR",
    "VkCooperativeMatrixFlexibleDimensionsPropertiesNV",
    "VkDeviceQueueCreateInfo",
    "VkDeviceCreateInfo",
    "VkBufferCreateInfo",
    "VkMemoryRequirements",
    "VkMemoryAllocateInfo",
    "VkMemoryAllocateFlagsInfo",
    "VkBufferDeviceAddressInfo",
    "VkBufferCopy",
    "VkShaderModuleCreateInfo",
    "VkDescriptorSetLayoutBinding",
    "VkDescriptorSetLayoutCreateInfo",
    "VkPushConstantRange",
    "VkPipelineLayoutCreateInfo",
    "VkSpecializationMapEntry",
    "VkSpecializationInfo",
    "VkPipelineShaderStageCreateInfo",
    "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo",
    "VkPipelineRobustnessCreateInfo",
    "VkComputePipelineCreateInfo",
    "VkPipelineCacheCreateInfo",
    "VkPipelineCacheHeaderVersionOne",
    "VkDescriptorPoolSize",
    "VkDescriptorPoolCreateInfo",
    "VkDescriptorSetAllocateInfo",
    "VkDescriptorBufferInfo",
    "VkWriteDescriptorSet",
    "VkCommandPoolCreateInfo",
    "VkCommandBufferAllocateInfo",
    "VkCommandBufferBeginInfo",
    "VkMemoryBarrier",
    "VkSubmitInfo",
    "VkFenceCreateInfo",
    "VkQueryPoolCreateInfo",
)
"""The structures that calls take, each after those that it contains."""

PROPERTIES = (
    "VkPhysicalDeviceVulkan11Properties",
    "VkPhysicalDeviceVulkan12Properties",
    "VkPhysicalDeviceVulkan13Properties",
    "VkPhysicalDeviceCooperativeMatrixPropertiesKHR",
    "VkPhysicalDeviceCooperativeMatrix2PropertiesNV",
    "VkPhysicalDeviceRobustness2PropertiesKHR",
)
"""The structures of properties that are asked for."""

FEATURES = (
    "VkPhysicalDeviceRobustness2FeaturesKHR",
    "VkPhysicalDevicePipelineRobustnessFeatures",
    "VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR",
    "VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR",
    "VkPhysicalDeviceShaderClockFeaturesKHR",
)
"""The structures of features that no capability names, and that launches need nevertheless."""

NOT_COMPUTE = (
    "RayTracing", "RayQuery", "Fragment", "ImageProcessing", "ImageFootprint", "ShadingRate", "TransformFeedback",
    "Multiview", "Tile", "Cluster", "Enqueue", "OpacityMicromap", "DescriptorHeap", "DataGraph", "TensorFeaturesARM",
    "DrawParameters", "PushConstantBank", "MultipleWaitQueues", "CullingShader",
)  # fmt: skip
"""Parts of the names of features that no launch of a compute shader with buffers enables."""

PLAIN = {
    "void": "c_void_p", "char": "c_char", "float": "c_float", "int32_t": "c_int32", "uint8_t": "c_uint8",
    "uint32_t": "c_uint32", "uint64_t": "c_uint64", "size_t": "c_size_t", "VkBool32": "c_uint32",
    "VkDeviceSize": "c_uint64", "VkDeviceAddress": "c_uint64", "VkSampleCountFlags": "c_uint32",
    "VkConformanceVersion": "c_uint8 * 4",
}  # fmt: skip


class Registry:
    """The registry: its types by name, its constants, and who brings which type."""

    def __init__(self, path: Path) -> None:
        self.root = ElementTree.parse(path).getroot()
        declared = self.root.find("types")
        assert declared is not None
        self.types = {name: one for one in declared if (name := name_of(one)) and is_vulkan(one)}
        self.constants = {one.get("name", ""): one.get("value") for one in self.root.iter("enum") if one.get("value")}
        self.version = f"1.4.{self._header_version()}"

    def _header_version(self) -> str:
        name = self.types["VK_HEADER_VERSION"].find("name")
        assert name is not None
        return (name.tail or "").strip()

    def resolved(self, name: str) -> str:
        """The name of a type behind its aliases."""
        while (alias := self.types[name].get("alias")) is not None:
            name = str(alias)
        return name

    def members(self, name: str) -> Iterator[tuple[str, str]]:
        """The members of a structure with their types in ctypes, without the two that begin most structures."""
        for one in self.types[self.resolved(name)].iter("member"):
            if not is_vulkan(one):
                continue
            type, member = one.findtext("type", ""), one.findtext("name", "")
            if member in ("sType", "pNext"):
                continue
            yield member, self.c_type(type, one)

    def c_type(self, type: str, member: Element) -> str:
        """The type of a member in ctypes."""
        text = "".join(member.itertext())
        if "*" in text:
            return "c_char_p" if type == "char" and text.count("*") == 1 else "c_void_p"
        size = re.search(r"\[(\w+)\]", text)
        base = PLAIN.get(type) or self._of_category(type)
        if size is None:
            return base
        count = self.constants.get(size[1], size[1])
        return f"{base} * {count}"

    def _of_category(self, type: str) -> str:
        declared = self.types[self.resolved(type)]
        match declared.get("category"):
            case "struct":
                return type
            case "handle":
                dispatchable = declared.findtext("type") == "VK_DEFINE_HANDLE"
                return "c_void_p" if dispatchable else "c_uint64"
            case "bitmask":
                return "c_uint64" if declared.findtext("type") == "VkFlags64" else "c_uint32"
            case "enum":
                return "c_int32"
            case "funcpointer":
                return "c_void_p"
        raise ValueError(f"a member has the type {type}")

    def structure_type(self, name: str) -> int | None:
        """The number of a structure's sType; None for one that has none."""
        for one in self.types[self.resolved(name)].iter("member"):
            if one.findtext("name") == "sType" and one.get("values"):
                return self.number(one.get("values", ""))
        return None

    def number(self, name: str) -> int:
        """The value of an enumerant (registry, "Enumerant Values of Extensions")."""
        for extension in [*self.root.iter("feature"), *self.root.iter("extension")]:
            for one in extension.iter("enum"):
                if one.get("name") != name:
                    continue
                if one.get("alias"):
                    return self.number(one.get("alias", ""))
                if one.get("offset"):
                    base = int(one.get("extnumber") or extension.get("number") or 0)
                    sign = -1 if one.get("dir") == "-" else 1
                    return sign * (1000000000 + (base - 1) * 1000 + int(one.get("offset", "0")))
                if one.get("bitpos"):
                    return 1 << int(one.get("bitpos", "0"))
                if one.get("value"):
                    return int(one.get("value", ""), 0)
        for group in self.root.iter("enums"):
            for one in group.iter("enum"):
                if one.get("name") == name:
                    if one.get("alias"):
                        return self.number(one.get("alias", ""))
                    return 1 << int(one.get("bitpos", "0")) if one.get("bitpos") else int(one.get("value", ""), 0)
        raise ValueError(f"there is no enumerant {name}")

    def bringers(self, name: str) -> tuple[str | None, list[str]]:
        """The version of Vulkan that has a type, such as "1.2" or None, and the extensions that bring it."""
        names = {name} | {one for one, type in self.types.items() if type.get("alias") and self.resolved(one) == name}
        versions = [
            one.get("number") for one in self.root.iter("feature")
            if "vulkan" in (one.get("api") or "").split(",") and self._brings(one, names)
        ]  # fmt: skip
        extensions = [one.get("name", "") for one in self.root.iter("extension") if self._brings(one, names)]
        # The structures of a version are asked for on devices of that version.
        return next(iter(versions), None), extensions

    @staticmethod
    def _brings(one: Element, names: set[str]) -> bool:
        return any(type.get("name") in names for type in one.iter("type"))


def name_of(type: Element) -> str:
    """The name of a type, which some have as an attribute and others inside."""
    return type.get("name") or type.findtext("name") or type.findtext("proto/name") or ""


def is_vulkan(one: Element) -> bool:
    """Whether a part of the registry is of Vulkan, not only of Vulkan SC."""
    return "vulkan" in (one.get("api") or "vulkan").split(",")


def structures_of(registry: Registry) -> str:
    """The text of structures.py."""
    used: set[str] = set()
    classes = []
    for name in CALLS:
        number = registry.structure_type(name)
        lines = []
        for member, type in registry.members(name):
            used.update(re.findall(r"c_\w+", type))
            lines.append(f'("{member}", {type}),')
        base = "Structure" if number is None else "TypedStructure"
        head = [f"class {name}({base}):", f'    """{name} (Vulkan {registry.version})."""', ""]
        head += [] if number is None else [f"    S_TYPE = {number}"]
        fields = ["*TypedStructure.HEAD,"] if number is not None else []
        wrapped = "\n".join(_wrapped([*fields, *lines]))
        classes.append("\n".join(head) + f"\n    _fields_ = (\n{wrapped}\n    )  # fmt: skip\n")
    used |= {"c_uint32", "c_void_p"}
    imports = "\n".join(f"    {one}," for one in sorted(used))
    results = "\n".join(results_of(registry))
    return f'''"""Vulkan's structures in memory, and what its results mean.

Written by tools/generate_vulkan.py from Khronos' registry vk.xml, Vulkan {registry.version}; names are Vulkan's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import (
    Structure,
{imports}
)
from typing import ClassVar

RESULTS: Mapping[int, tuple[str, str]] = {{
{results}
}}
"""The name of each result that is a failure, and its meaning."""


class TypedStructure(Structure):
    """A structure that begins with its type and the address of the next one; the type is set where it is made."""

    S_TYPE: ClassVar[int]
    HEAD = (("sType", c_uint32), ("pNext", c_void_p))

    def __init__(self, *values: object, **named: object) -> None:
        super().__init__(self.S_TYPE, None, *values, **named)


''' + "\n\n".join(classes)


def _wrapped(parts: Iterable[str]) -> Iterator[str]:
    """Parts of a tuple on as few lines as hold them."""
    line = " " * 7
    for part in parts:
        if len(line) + 1 + len(part) > 120:
            yield line
            line = " " * 7
        line += f" {part}"
    yield line


FAILURES = (
    "VK_TIMEOUT",
    "VK_ERROR_OUT_OF_HOST_MEMORY",
    "VK_ERROR_OUT_OF_DEVICE_MEMORY",
    "VK_ERROR_INITIALIZATION_FAILED",
    "VK_ERROR_DEVICE_LOST",
    "VK_ERROR_MEMORY_MAP_FAILED",
    "VK_ERROR_LAYER_NOT_PRESENT",
    "VK_ERROR_EXTENSION_NOT_PRESENT",
    "VK_ERROR_FEATURE_NOT_PRESENT",
    "VK_ERROR_INCOMPATIBLE_DRIVER",
    "VK_ERROR_TOO_MANY_OBJECTS",
    "VK_ERROR_FRAGMENTED_POOL",
    "VK_ERROR_UNKNOWN",
    "VK_ERROR_OUT_OF_POOL_MEMORY",
    "VK_ERROR_FRAGMENTATION",
    "VK_ERROR_INVALID_SHADER_NV",
    "VK_ERROR_NOT_PERMITTED",
)
"""The results that are failures of the calls that girih makes."""


def results_of(registry: Registry) -> Iterator[str]:
    """The failures with their names in words, one line each."""
    for name in FAILURES:
        says = name.removeprefix("VK_").removeprefix("ERROR_").removesuffix("_NV").replace("_", " ").lower()
        yield f'    {registry.number(name)}: ("{name}", "{says}"),'


def features_of(registry: Registry) -> dict[str, Any]:
    """The contents of vulkan_features.json."""
    capabilities, extensions = (
        {one.get("name", ""): [_way(registry, way.attrib) for way in one] for one in registry.root.iter(tag)}
        for tag in ("spirvcapability", "spirvextension")
    )
    named = {way["struct"] for ways in capabilities.values() for way in ways if "struct" in way}
    named |= {registry.resolved(one) for one in FEATURES}
    # Structures of a version stand for those of the extensions that went into it, which older devices have.
    named |= set(_of_extensions(registry, capabilities))
    named.discard("VkPhysicalDeviceFeatures")
    named = {name for name in named if not any(word in name for word in NOT_COMPUTE)}
    structures = {name: _described(registry, name) for name in sorted(named)}
    properties = {name: _described(registry, registry.resolved(name)) for name in PROPERTIES}
    return {
        "source": f"Khronos Vulkan-Headers, registry/vk.xml, Vulkan {registry.version} (Apache-2.0 OR MIT)",
        "core": [name for name, _ in registry.members("VkPhysicalDeviceFeatures")],
        "features": structures,
        "properties": properties,
        "capabilities": capabilities,
        "extensions": extensions,
    }


def _way(registry: Registry, attributes: Mapping[str, str]) -> dict[str, Any]:
    """A way in which a device has a capability or an extension of SPIR-V."""
    way: dict[str, Any] = {key: value for key, value in attributes.items() if key != "alias"}
    for key in ("struct", "property"):
        if key in way:
            way[key] = registry.resolved(way[key])
    if "value" in way:
        way["value"] = 1 if way["value"] == "VK_TRUE" else registry.number(way["value"])
    if "requires" in way:
        way["requires"] = way["requires"].split(",")
    return way


def _of_extensions(registry: Registry, capabilities: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """The structures by which the extensions of a way have the feature of that way."""
    for ways in capabilities.values():
        for way in ways:
            for required in way.get("requires", ()):
                extension = next((one for one in registry.root.iter("extension") if one.get("name") == required), None)
                for type in extension.iter("type") if extension is not None and "feature" in way else ():
                    name = registry.resolved(type.get("name", ""))
                    extends = registry.types[name].get("structextends", "")
                    if "VkPhysicalDeviceFeatures2" in extends and way["feature"] in dict(registry.members(name)):
                        yield name


def _described(registry: Registry, name: str) -> dict[str, Any]:
    version, extensions = registry.bringers(name)
    return {
        "type": registry.structure_type(name),
        "version": version,
        "extensions": extensions,
        "members": {member: type.removeprefix("c_") for member, type in registry.members(name)},
        "within": _within(registry, name),
    }


VERSIONS = tuple(f"VkPhysicalDeviceVulkan{version}Features" for version in (11, 12, 13, 14))
"""The structures that stand for those of the extensions that went into a version of Vulkan."""


def _within(registry: Registry, name: str) -> str | None:
    """The structure of a version that has all members of one; None where there is none."""
    own = {member for member, _ in registry.members(name)}
    holders = [one for one in VERSIONS if name not in VERSIONS and own <= {m for m, _ in registry.members(one)}]
    return holders[0] if holders else None


def main() -> int:
    """Write both files."""
    if len(sys.argv) != 2:
        print(textwrap.dedent(__doc__ or ""))
        return 2
    registry = Registry(Path(sys.argv[1]))
    STRUCTURES.write_text(structures_of(registry), encoding="utf-8")
    table = features_of(registry)
    lines = [f"{json.dumps(key)}: {_by_line(value)}" for key, value in table.items()]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


def _by_line(value: object) -> str:
    """A value as JSON, each entry of a mapping on its own line."""
    if not isinstance(value, dict):
        return json.dumps(value)
    inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items())
    return f"{{\n{inner}\n}}"


if __name__ == "__main__":
    sys.exit(main())
