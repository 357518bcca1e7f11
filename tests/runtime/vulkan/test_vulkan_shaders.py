"""SPIR-V modules on a driver: what they compute, what they are told, and that nothing of a launch is left."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih.api import ShaderKernel
from girih.runtime.cache import Cache, CacheWarning
from girih.runtime.vulkan import opened
from girih.runtime.vulkan.driver.commands import VulkanCommands
from girih.runtime.vulkan.driver.faults import VulkanFault
from girih.runtime.vulkan.pipeline import pipeline_key
from girih.runtime.vulkan.shader import VulkanShader
from tests.cases import every_case, long
from tests.shaders.cases import Shader
from tests.shaders.test_shaders import FAMILIES, SHADERS, agrees, launch

pytestmark = pytest.mark.vulkan

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "shaders"
SUBGROUP = "VkPhysicalDeviceVulkan11Properties", "subgroupSize"
FIRST = ("memory/array_of_buffers", "memory/linked_list_of_references", "memory/std140_and_std430",
         "memory/specialised_sizes", "groups/shared_transpose")  # fmt: skip


def scaled(**options: Any) -> tuple[ShaderKernel, Any]:
    kernel = girih.load(EXAMPLES / "scale.spv", "vulkan", **options)["main"]
    assert isinstance(kernel, ShaderKernel)
    return kernel, np.arange(64, dtype=np.float32)


ROUNDED_OTHERWISE = {0x10DE: frozenset(("numbers/bfloat16",))}
"""Shaders that a vendor's compiler computes in another way: NVIDIA's (580.159.04) cuts bf16 off."""


def run(one: Shader) -> str:
    """What became of a shader: `right`, or `lacking` where the device lacks a feature."""
    if one.name in ROUNDED_OTHERWISE.get(opened.current_device("").physical.vendor, ()):
        return "otherwise"
    size = one.head("subgroup")
    if size is not None and int(size) != opened.current_device("").physical.value(*SUBGROUP):
        return "subgroups"
    try:
        agrees(one, launch(one, "vulkan"))
    except girih.LaunchError as refused:
        assert {told.code for told in refused.diagnostics} == {"bind.vulkan_feature"}
        return "lacking"
    return "right"


def test_shaders_compute_what_numpy_says() -> None:
    """Arrays of buffers, addresses in buffers, uniform buffers, specialisation, shared memory."""
    with every_case() as case:
        for one in SHADERS:
            if one.name in FIRST:
                with case(one.name):
                    assert run(one) == "right"


@pytest.mark.parametrize("family", long(FAMILIES))
def test_every_shader_computes_what_numpy_says(family: str) -> None:
    became: Counter[str] = Counter()
    with every_case() as case:
        for one in SHADERS:
            if one.path.parent.name == family and not one.fault:
                with case(one.name):
                    became[run(one)] += 1
    assert became["right"] or family == "matrices", became


def test_a_launch_is_as_on_other_targets() -> None:
    kernel, data = scaled()
    other = girih.load(EXAMPLES / "scale.spv", "cpu")["main"]
    push = _push(kernel)
    resource = kernel.shader.interface.resources
    given = {(one.set, one.binding): data.copy() for one in resource}
    expected = {key: array.copy() for key, array in given.items()}
    kernel(given, push_constants=push)
    other(expected, push_constants=push)
    for key, array in given.items():
        np.testing.assert_array_equal(array, expected[key])
    assert any((given[key] != data).any() for key in given)
    assert isinstance(kernel.executor, VulkanShader)
    assert kernel.executor.times == () or kernel.executor.times[0] > 0
    with pytest.raises(girih.LaunchError, match=r"bind\.binding_missing"):
        kernel({}, push_constants=push)
    for unchecked in (girih.load(EXAMPLES / "scale.spv", "vulkan", checks="off")["main"], kernel.options(timeout=5)):
        again = {key: data.copy() for key in given}
        unchecked(again, push_constants=push)
        assert all((again[key] == expected[key]).all() for key in again)
    with pytest.raises(ValueError, match="timeout is above 0"):
        kernel.options(timeout=0)
    with pytest.raises(TypeError, match="timeout is a number of seconds; got 'x'"):
        kernel.options(timeout="x")


def _push(kernel: ShaderKernel) -> bytes | None:
    block = kernel.shader.interface.push_constants
    return None if block is None else np.full(block.fixed_bytes // 4, 3, np.float32).tobytes()


def test_what_the_device_lacks_is_named() -> None:
    """The feature, the capability that needs it, and what to do instead."""
    device = opened.current_device("").physical
    lacking = "VkPhysicalDeviceCooperativeMatrix2FeaturesNV"
    if device.has(lacking, "cooperativeMatrixTensorAddressing"):
        pytest.skip("this device has tensor layouts")
    kernel = girih.load(EXAMPLES / "window.spv", "vulkan")["main"]
    assert isinstance(kernel, ShaderKernel)
    given = {(one.set, one.binding): np.zeros(4096, np.float32) for one in kernel.shader.interface.resources}
    with pytest.raises(girih.LaunchError) as caught:
        kernel(given, push_constants=_push(kernel))
    (told, *_) = [one for one in caught.value.diagnostics if "capability" in one.message]
    assert told.code == "bind.vulkan_feature"
    assert f"needs {lacking}.cooperativeMatrixTensorAddressing (the capability Cooperat" in told.message
    assert told.hint is not None and "target='cpu'" in told.hint


def test_buffers_with_addresses_belong_to_the_device() -> None:
    (one,) = [shader for shader in SHADERS if shader.name == "memory/linked_list_of_references"]
    held = girih.Buffer(np.zeros(5, np.int32), target="vulkan")
    assert held.address % 16 == 0 and held.home is not None and held.target == "vulkan"
    kernel = one.load("vulkan")["main"]
    given = {key: girih.Buffer(array, target="vulkan") for key, array in one.buffers.items()}
    push: dict[str, Any] = {"push_constants": bytes(one.push)} if one.push else {}
    with pytest.raises(girih.LaunchError, match=r"buffers\[0\] has no address on .*another target") as caught:
        kernel[one.grid](given, buffers=[girih.Buffer(np.zeros(4, np.float32), target="cpu")], **push)
    assert caught.value.diagnostics[0].code == "bind.vulkan_address"


# --- what goes wrong ------------------------------------------------------------------------------


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, command: str, result: int) -> Iterator[None]:
    """A driver whose command fails."""
    usual = VulkanCommands.__call__

    def call(self: VulkanCommands, name: str, *arguments: object) -> int:
        if name == command:
            raise VulkanFault(name, result)
        return usual(self, name, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(VulkanCommands, "__call__", call)
        yield


@pytest.mark.parametrize(
    ("command", "result", "code", "says"),
    [
        ("vkCreateComputePipelines", -1000012000, "bind.vulkan_pipeline", "makes no pipeline of @main"),
        ("vkAllocateMemory", -2, "bind.vulkan_memory", "too little memory for @main"),
        ("vkQueueSubmit", -4, "run.vulkan_lost", r"was lost while @main ran: vkQueueSubmit gives VK_ERROR_DEVICE_LOST"),
        ("vkWaitForFences", -4, "run.vulkan_lost", "was lost while @main ran"),
        ("vkMapMemory", -5, "run.vulkan_refused", r"VK_ERROR_MEMORY_MAP_FAILED \(memory map failed\)"),
        ("vkCreateDevice", -3, "run.vulkan_refused", "initialization failed"),
    ],
)
def test_faults_of_a_driver_are_words(
    command: str, result: int, code: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, data = scaled()
    keys = [(one.set, one.binding) for one in kernel.shader.interface.resources]
    if command == "vkCreateDevice":
        opened.current_device("").lost = True
    with opened.current_device("").lock if command != "vkCreateDevice" else _nothing():
        if command != "vkCreateDevice":
            opened.current_device("").memory.close()
    given = {key: data.copy() for key in keys}
    with failing(monkeypatch, command, result), pytest.raises(girih.LaunchError, match=says) as caught:
        kernel(given, push_constants=_push(kernel))
    assert [told.code for told in caught.value.diagnostics] == [code]
    assert all((array == data).all() for array in given.values()), "the caller's arrays are as they were"
    kernel(given, push_constants=_push(kernel))
    assert not opened.current_device("").lost, "the next launch opens the device anew"


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def test_a_launch_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, data = scaled()
    given = {(one.set, one.binding): data.copy() for one in kernel.shader.interface.resources}
    kernel(given, push_constants=_push(kernel))
    usual = VulkanCommands.__call__

    def call(self: VulkanCommands, name: str, *arguments: object) -> int:
        result = usual(self, name, *arguments)
        return 2 if name == "vkWaitForFences" else result

    with monkeypatch.context() as patched:
        patched.setattr(VulkanCommands, "__call__", call)
        with pytest.raises(girih.LaunchError, match=r"@main did not end within 0\.01 s on .*given up") as caught:
            kernel.options(timeout=0.01)(given, push_constants=_push(kernel))
    assert caught.value.diagnostics[0].code == "run.vulkan_timeout"
    kernel(given, push_constants=_push(kernel))


def test_a_grid_beyond_the_device_is_refused() -> None:
    kernel, data = scaled()
    given = {(one.set, one.binding): data.copy() for one in kernel.shader.interface.resources}
    most = opened.current_device("").physical.limits.maxComputeWorkGroupCount
    with pytest.raises(girih.LaunchError, match="more work-groups along an axis") as caught:
        kernel[1, most[1] + 1](given, push_constants=_push(kernel))
    assert caught.value.diagnostics[0].code == "bind.vulkan_limit"


# --- what is left -----------------------------------------------------------------------------------


def test_nothing_of_a_launch_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made is ended: of a launch nothing, of a kernel its pipeline."""
    balance: Counter[str] = Counter()
    usual = VulkanCommands.__call__

    def call(self: VulkanCommands, name: str, *arguments: object) -> int:
        for verb, sign in (("vkCreate", 1), ("vkAllocateM", 1), ("vkDestroy", -1), ("vkFree", -1)):
            if name.startswith(verb):
                kind = name.removeprefix(verb).replace("Compute", "").rstrip("s").removeprefix("M").removeprefix("emor")
                balance[kind] += sign
        return usual(self, name, *arguments)

    kernel, data = scaled()
    given = {(one.set, one.binding): data.copy() for one in kernel.shader.interface.resources}
    push = _push(kernel)
    kernel(given, push_constants=push)
    monkeypatch.setattr(VulkanCommands, "__call__", call)
    for _ in range(20):
        kernel(given, push_constants=push)
    assert +balance == Counter() == -balance, balance
    del kernel
    for _ in range(3):
        other, _data = scaled()
        other(given, push_constants=push)
        del other
    gc.collect()
    assert +balance == Counter(), balance


@pytest.mark.parametrize("launches", long([1000]))
def test_memory_does_not_grow(launches: int) -> None:
    kernel, data = scaled()
    given = {(one.set, one.binding): data.copy() for one in kernel.shader.interface.resources}
    push, sizes = _push(kernel), []
    for number in range(launches):
        kernel(given, push_constants=push)
        if number % 100 == 99:
            sizes.append(int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]))
    assert sizes[-1] - sizes[2] < 256, "pages"


def test_pipelines_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "kept"))
    kernel, data = scaled()
    given = {(one.set, one.binding): data.copy() for one in kernel.shader.interface.resources}
    kernel(given, push_constants=_push(kernel))
    assert isinstance(kernel.executor, VulkanShader)
    ((_, description),) = kernel.executor._kept._pipelines
    key = pipeline_key(opened.current_device("").physical, description)
    kept = Cache.standard().get(key)
    assert kept is not None, "the driver has a pipeline cache"
    Cache.standard().put(key, b"\0" * len(kept))
    again, _ = scaled()
    with pytest.warns(CacheWarning, match="the header of the pipeline cache has 0 bytes"):
        again(given, push_constants=_push(again))
    assert Cache.standard().get(key) == kept, "and it was made anew"
