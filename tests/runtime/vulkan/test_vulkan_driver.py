"""Which drivers are tried, what features and capabilities need, and what no driver and a bad cache are told."""

from __future__ import annotations

import json
import struct
from ctypes import addressof, c_char
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import girih
from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.lavapipe import LAVAPIPE
from girih.back.spirv.profiles.table import PROFILES
from girih.runtime.vulkan import memory
from girih.runtime.vulkan.compiled import chosen_profile
from girih.runtime.vulkan.driver import entry
from girih.runtime.vulkan.driver.constants import STORAGE_BUFFER
from girih.runtime.vulkan.driver.features import feature_table
from girih.runtime.vulkan.driver.physical import PhysicalDevice, available
from girih.runtime.vulkan.driver.structures import VkPhysicalDeviceMemoryProperties, VkPhysicalDeviceProperties
from girih.runtime.vulkan.memory import STAGING_BYTES, DeviceBuffer, Piece
from girih.runtime.vulkan.opened import current_device, current_driver
from girih.runtime.vulkan.pipeline import header_problem
from girih.runtime.vulkan.profile import HARDWARE, is_told, profile_of
from girih.spirv.grammar import grammar
from tests.cases import every_case

VARIABLES = (entry.ENVIRONMENT, *entry.MANIFESTS_OF_ENVIRONMENT)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("vulkan") is None:
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)


def test_which_libraries_are_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def manifest(name: str, content: object) -> Path:
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        return tmp_path / name

    plain = manifest("b.json", {"ICD": {"library_path": "libone.so"}})
    beside = manifest("a.json", {"ICD": {"library_path": "./two.so"}})
    broken = manifest("c.json", {"ICD": 5})
    monkeypatch.setattr(entry, "MANIFEST_FOLDERS", (str(tmp_path),))
    assert list(entry.libraries()) == [entry.LOADER, str(tmp_path / "two.so"), "libone.so", *entry.KNOWN]
    monkeypatch.setenv("VK_ICD_FILENAMES", f"{plain}:{broken}:{tmp_path / 'none.json'}")
    assert list(entry.libraries()) == [entry.LOADER, "libone.so", *entry.KNOWN]
    monkeypatch.setenv("VK_DRIVER_FILES", str(beside))
    assert list(entry.libraries())[1] == str(tmp_path / "two.so")
    monkeypatch.setenv(entry.ENVIRONMENT, "libmine.so")
    assert list(entry.libraries()) == ["libmine.so"], "the variable names the only one"
    monkeypatch.setenv(entry.ENVIRONMENT, str(plain))
    assert list(entry.libraries()) == ["libone.so"]


def test_without_a_driver_there_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(entry.ENVIRONMENT, "libthereisnone.so")
    with pytest.raises(
        girih.CompileError, match=r"(?s)libthereisnone\.so: cannot open.*install a driver.*vulkan:minimal"
    ) as caught:
        girih.loads("func @f() {\n}\n", "vulkan")
    assert [told.code for told in caught.value.diagnostics] == ["bind.vulkan_driver"]
    assert chosen_profile("minimal").name == "minimal"
    kernel = girih.loads("func @f() {\n}\n", "vulkan:minimal")["f"]
    assert kernel.spirv[:4] == b"\x03\x02\x23\x07"
    with pytest.raises(girih.LaunchError, match=r"no Vulkan driver opens; tried: libthereisnone\.so") as refused:
        kernel[1]()
    assert [told.code for told in refused.value.diagnostics] == ["bind.vulkan_driver"]
    monkeypatch.setenv(entry.ENVIRONMENT, "libc.so.6")
    with pytest.raises(girih.CompileError, match="has neither vk_icdGetInstanceProcAddr nor vkGetInstanceProcAddr"):
        girih.loads("func @f() {\n}\n", "vulkan")
    with pytest.raises(ValueError, match=r"there is no profile 'nvidia-hoper' .did you mean 'nvidia-hopper'"):
        girih.loads("func @f() {\n}\n", "vulkan:nvidia-hoper")


def test_the_table_of_features() -> None:
    """The words of profiles are Vulkan's, and the capabilities are those of the grammar of SPIR-V."""
    table = feature_table()
    assert [name for name in FEATURES if name not in HARDWARE and not is_told(name)] == []
    known = grammar().kinds["Capability"].by_name
    unknown = [name for name in table.capabilities if name not in known]
    assert len(unknown) < 12 and "CooperativeMatrixKHR" not in unknown, unknown
    assert table.home("VkPhysicalDevice16BitStorageFeatures", (1, 3)) == "VkPhysicalDeviceVulkan11Features"
    assert table.home("VkPhysicalDeviceShaderSubgroupRotateFeatures", (1, 3)).endswith("SubgroupRotateFeatures")
    assert table.home("VkPhysicalDeviceShaderSubgroupRotateFeatures", (1, 4)) == "VkPhysicalDeviceVulkan14Features"
    rotate = frozenset({"VK_KHR_shader_subgroup_rotate"})
    for version, extensions, there in (
        ((1, 3), rotate, True),
        ((1, 3), frozenset[str](), False),
        ((1, 4), rotate, False),
    ):
        rows = [row.name for row in available(table.features, version, extensions)]
        assert ("VkPhysicalDeviceShaderSubgroupRotateFeatures" in rows) is there
    # C's sizes of both, of a compiler with Vulkan-Headers 1.4.359 on x86-64.
    sizes = VkPhysicalDeviceProperties, VkPhysicalDeviceMemoryProperties
    assert [len(bytes(one())) for one in sizes] == [824, 520]


def test_the_header_of_a_pipeline_cache_is_verified() -> None:
    device = cast(PhysicalDevice, SimpleNamespace(vendor=0x10DE, device=7, cache_uuid=bytes(range(16))))
    good = struct.pack("<IIII16s", 32, 1, 0x10DE, 7, bytes(range(16))) + b"what the driver keeps"
    assert header_problem(good, device) is None
    bad: dict[str, bytes] = {
        "has no header": good[:20],
        "33554432 bytes and version 1": b"\0\0\0\2" + good[4:],
        "32 bytes and version 2": good[:4] + b"\2" + good[5:],
        "of the device 0x1002:0x7": good[:8] + struct.pack("<I", 0x1002) + good[12:],
        "another version of the driver": good[:16] + bytes(16) + good[32:],
    }
    with every_case() as case:
        for says, data in bad.items():
            with case(says):
                assert says in (header_problem(data, device) or "")


def test_what_is_copied_goes_through_staging_in_parts() -> None:
    buffer: Any = DeviceBuffer(1, 2, 0, 0, None)
    pieces = [Piece(buffer, 0, 1000, 7), Piece(buffer, 64, 5000, 2 * STAGING_BYTES), Piece(buffer, 9, 2, 0)]
    batches = list(memory._batches(pieces))
    assert [sum(piece.size for _, piece in batch) for batch in batches] == [STAGING_BYTES - 9, STAGING_BYTES, 16]
    flat = [(at, piece.offset, piece.host, piece.size) for batch in batches for at, piece in batch]
    assert flat[0] == (0, 0, 1000, 7) and flat[1] == (16, 64, 5000, STAGING_BYTES - 16)
    assert flat[-1] == (0, 64 + 2 * STAGING_BYTES - 16, 5000 + 2 * STAGING_BYTES - 16, 16)
    assert [memory._rounded(size) for size in (0, 1, 257, 2**20, 2**20 + 1)] == [256, 256, 512, 2**20, 2**21]


@pytest.mark.vulkan
def test_the_profile_of_the_driver() -> None:
    device = current_driver().best
    profile = profile_of(device)
    assert profile.features <= FEATURES.keys() and profile.least_subgroup_size <= profile.most_subgroup_size
    assert PROFILES["minimal"].features <= profile.features
    assert device.driver in profile.source and profile.name == "this machine's device"
    if "llvmpipe" in device.name and "Mesa 22.3.6" in device.driver:
        assert profile.features == LAVAPIPE.features
        assert profile.shared_bytes == LAVAPIPE.shared_bytes


@pytest.mark.vulkan
def test_memory_goes_through_staging_where_the_host_does_not_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "STAGING_BYTES", 4096)
    device = current_device("")
    data, back = bytearray(range(256)) * 40, bytearray(10240)
    first, second = (addressof(c_char.from_buffer(one)) for one in (data, back))
    with device.lock:
        hidden = device.memory._new(10240, [0], STORAGE_BUFFER)
        assert hidden.mapped is None
        device.memory.upload([Piece(hidden, 0, first, 10240)])
        device.memory.download([Piece(hidden, 0, second, 10240)])
        device.memory._free(hidden)
        device.memory.close()
    assert back == data
