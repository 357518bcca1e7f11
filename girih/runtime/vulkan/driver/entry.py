"""Opening a driver: the loader where there is one, else the library of a driver itself.

`GIRIH_VULKAN_DRIVER` names the only library that is tried, or a manifest (.json) of one. Else these are tried, until
one has a device: the loader, libvulkan.so.1; the manifests that `VK_DRIVER_FILES` or `VK_ICD_FILENAMES` list, else
those in the folders of the system; and the names under which drivers are installed. A driver speaks to girih as it
speaks to the loader (Vulkan-Loader, LoaderDriverInterface.md).
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator
from ctypes import addressof, byref, c_char_p, c_uint32, c_void_p
from functools import cached_property
from pathlib import Path
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.commands import VulkanCommands
from girih.runtime.vulkan.driver.faults import NoDriverError, VulkanFault
from girih.runtime.vulkan.driver.physical import PhysicalDevice, physical_devices
from girih.runtime.vulkan.driver.structures import VkApplicationInfo, VkExtensionProperties, VkInstanceCreateInfo

ENVIRONMENT = "GIRIH_VULKAN_DRIVER"
"""The environment variable that names the driver."""

LOADER = "libvulkan.so.1"

KNOWN = (
    "libGLX_nvidia.so.0", "libEGL_nvidia.so.0", "libvulkan_radeon.so", "libvulkan_intel.so", "libvulkan_lvp.so",
    "libvk_swiftshader.so",
)  # fmt: skip
"""The names under which drivers for Linux are installed: NVIDIA's (the second without X), Mesa's, SwiftShader."""

MANIFESTS_OF_ENVIRONMENT = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
MANIFEST_FOLDERS = ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d")

OLDEST = (1, 3)
"""The oldest version of Vulkan that girih launches on."""

_NEWEST = (1, 4)


@dataclass(frozen=True, eq=False)
class Driver:
    """An open driver: the name of its library, its instance, and what can be called."""

    library: str
    instance: int
    commands: VulkanCommands

    @cached_property
    def devices(self) -> tuple[PhysicalDevice, ...]:
        """The devices that girih can launch on, as the driver lists them."""
        return tuple(one for one in physical_devices(self.commands, self.instance) if one.version >= OLDEST)

    @property
    def best(self) -> PhysicalDevice:
        """The device that is taken: of the kinds of devices, in order, the first. The driver has one."""
        order = list(vk.DEVICE_TYPES.values())
        return min(self.devices, key=lambda one: order.index(one.kind))

    def close(self) -> None:
        """End the instance; its devices are closed already."""
        self.commands("vkDestroyInstance", self.instance, None)


def open_driver() -> Driver:
    """The first driver that opens and has a device. Raises `NoDriverError` with what was wrong with each."""
    tried: list[str] = []
    for library in libraries():
        try:
            driver = _opened(library)
        except _NotOpened as refused:
            tried.append(f"{library}: {refused}")
            continue
        try:
            if driver.devices:
                return driver
            tried.append(f"{library}: it has no device with Vulkan {'.'.join(map(str, OLDEST))}")
        except VulkanFault as fault:
            tried.append(f"{library}: {fault}")
        driver.close()
    raise NoDriverError(tried)


def libraries() -> Iterator[str]:
    """The libraries that are tried, in order, each once."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        yield _library_of(Path(named)) or named if named.endswith(".json") else named
        return
    seen = {LOADER}
    yield LOADER
    for library in (*_from_manifests(), *KNOWN):
        if library not in seen:
            seen.add(library)
            yield library


def _from_manifests() -> Iterator[str]:
    listed = next((os.environ[name] for name in MANIFESTS_OF_ENVIRONMENT if os.environ.get(name)), None)
    if listed is not None:
        places = [Path(one) for one in listed.split(os.pathsep) if one]
    else:
        places = [Path(folder) for folder in MANIFEST_FOLDERS]
    for place in places:
        for manifest in sorted(place.glob("*.json")) if place.is_dir() else [place]:
            library = _library_of(manifest)
            if library is not None:
                yield library


def _library_of(manifest: Path) -> str | None:
    """The library that a manifest names; None for what is no manifest."""
    try:
        path = json.loads(manifest.read_bytes())["ICD"]["library_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(path, str):
        return None
    # A path with a slash is relative to the manifest; a bare name is looked for as the system does.
    return str(manifest.parent / path) if "/" in path else path


class _NotOpened(Exception):
    """Why a library is not a driver that can be used."""


def _opened(name: str) -> Driver:
    """The driver in a library. Raises `_NotOpened`."""
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise _NotOpened(str(error).removeprefix(f"{name}: ")) from None
    commands = VulkanCommands(_finder(library))
    try:
        instance = _new_instance(commands)
    except VulkanFault as fault:
        raise _NotOpened(str(fault)) from None
    return Driver(name, instance, commands.of_instance(instance))


def _finder(library: ctypes.CDLL) -> Any:
    """vkGetInstanceProcAddr, which a driver has under a name for loaders, once they agree on a version."""
    for name in ("vk_icdGetInstanceProcAddr", "vkGetInstanceProcAddr"):
        if hasattr(library, name):
            break
    else:
        raise _NotOpened("it has neither vk_icdGetInstanceProcAddr nor vkGetInstanceProcAddr")
    if hasattr(library, "vk_icdNegotiateLoaderICDInterfaceVersion"):
        wanted = c_uint32(vk.LOADER_INTERFACE)
        if library.vk_icdNegotiateLoaderICDInterfaceVersion(byref(wanted)) != 0:
            raise _NotOpened("it does not agree on the interface that loaders use")
    find = library[name]
    find.restype, find.argtypes = c_void_p, (c_void_p, c_char_p)
    return find


def _new_instance(commands: VulkanCommands) -> int:
    version = c_uint32((1 << 22) | (1 << 12))
    if commands.has("vkEnumerateInstanceVersion"):
        commands("vkEnumerateInstanceVersion", byref(version))
    major, minor = min((version.value >> 22 & 0x7F, version.value >> 12 & 0x3FF), _NEWEST)
    application = VkApplicationInfo(
        pApplicationName=b"girih", pEngineName=b"girih", apiVersion=major << 22 | minor << 12
    )
    asked = [vk.PORTABILITY_OF_INSTANCE] if vk.PORTABILITY_OF_INSTANCE in _instance_extensions(commands) else []
    names = (c_char_p * len(asked))(*(one.encode() for one in asked))
    wanted = VkInstanceCreateInfo(
        flags=vk.ENUMERATE_PORTABILITY if asked else 0,
        pApplicationInfo=addressof(application),
        enabledExtensionCount=len(asked),
        ppEnabledExtensionNames=addressof(names) if asked else None,
    )
    instance = c_void_p()
    commands("vkCreateInstance", byref(wanted), None, byref(instance))
    return instance.value or 0


def _instance_extensions(commands: VulkanCommands) -> set[str]:
    count = c_uint32()
    commands("vkEnumerateInstanceExtensionProperties", None, byref(count), None)
    listed = (VkExtensionProperties * count.value)()
    commands("vkEnumerateInstanceExtensionProperties", None, byref(count), listed)
    return {one.extensionName.decode() for one in listed}
