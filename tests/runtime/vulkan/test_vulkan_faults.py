"""What a driver refuses or a device lacks: words, arrays as they were, and the next launch is right."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import girih
from girih.runtime.vulkan.driver.commands import VulkanCommands
from girih.runtime.vulkan.driver.constants import DEVICE_LOST, OUT_OF_MEMORY
from girih.runtime.vulkan.driver.entry import ENVIRONMENT, open_driver
from girih.runtime.vulkan.driver.faults import NoDriverError, VulkanFault
from girih.runtime.vulkan.opened import current_device, current_driver
from tests.cases import every_case

TWICE = """
func @twice(%A: memref<f32x?>, %B: memref<f32x?>) {
    %two = constant 2.0 : f32
    %zero = constant 0.0 : f32
    axpby %two, %A, %zero, %B
}
"""

OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, UNKNOWN = *sorted(OUT_OF_MEMORY, reverse=True), -13


@contextmanager
def failing(command: str, result: int) -> Iterator[list[str]]:
    """A driver whose next call of a command fails; what is called from then on."""
    plain, called = VulkanCommands.__call__, list[str]()

    def call(self: VulkanCommands, name: str, *arguments: object) -> int:
        called.append(name)
        if name == command and called.count(name) == 1:
            raise VulkanFault(name, result)
        return plain(self, name, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VulkanCommands, "__call__", call)
        yield called


@pytest.mark.vulkan
def test_faults_of_the_driver_are_words() -> None:
    faults = {
        ("vkAllocateMemory", OUT_OF_DEVICE_MEMORY): ("bind.vulkan_memory", True),
        ("vkCreateComputePipelines", OUT_OF_HOST_MEMORY): ("bind.vulkan_memory", True),
        ("vkCreateComputePipelines", UNKNOWN): ("bind.vulkan_pipeline", True),
        ("vkCreateShaderModule", DEVICE_LOST): ("run.vulkan_lost", False),
        ("vkQueueSubmit", OUT_OF_HOST_MEMORY): ("bind.vulkan_memory", True),
        ("vkQueueSubmit", DEVICE_LOST): ("run.vulkan_lost", False),
        ("vkWaitForFences", DEVICE_LOST): ("run.vulkan_lost", False),
        ("vkWaitForFences", OUT_OF_HOST_MEMORY): ("bind.vulkan_memory", False),
        ("vkGetQueryPoolResults", DEVICE_LOST): ("run.vulkan_lost", False),
    }
    A, B = np.arange(70_000, dtype=np.float32), np.ones(70_000, np.float32)
    with every_case() as case:
        for (command, result), (code, usable) in faults.items():
            with case(f"{command} {result}"):
                kernel, device = girih.loads(TWICE, "vulkan")["twice"], current_device("")
                with device.lock:
                    device.memory.close()
                B[:] = 1
                with failing(command, result), pytest.raises(girih.LaunchError, match=command) as caught:
                    kernel[1](A, B)
                assert [one.code for one in caught.value.diagnostics] == [code]
                assert (B == 1).all() and device.usable is usable
                kernel[1](A, B)
                assert np.array_equal(B, 2 * A)


@pytest.mark.vulkan
def test_a_driver_that_lists_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, current_driver().library)
    with failing("vkEnumeratePhysicalDevices", UNKNOWN), pytest.raises(NoDriverError) as caught:
        open_driver()
    assert "vkEnumeratePhysicalDevices gives VK_ERROR_UNKNOWN" in caught.value.tried[0]


@pytest.mark.vulkan
def test_more_buffers_than_the_device_binds() -> None:
    most = current_device("").physical.limits.maxPerStageDescriptorStorageBuffers
    if most > 200:
        pytest.skip(f"the device binds {most} buffers")
    parameters = ", ".join(f"%A{number}: memref<f32>" for number in range(most))
    kernel = girih.loads(f"func @f({parameters}) {{\n}}\n", "vulkan")["f"]
    with pytest.raises(girih.LaunchError, match=rf"has {most + 2} storage buffers, and .* at most {most}") as caught:
        kernel[1](*[np.zeros((), np.float32)] * most)
    assert [one.code for one in caught.value.diagnostics] == ["bind.vulkan_limit"]


@pytest.mark.vulkan
def test_the_device_of_another_process_is_left_alone() -> None:
    """As a process finds it that is forked: the other one still uses the pipelines."""
    kernel = girih.loads(TWICE, "vulkan")["twice"]
    kernel[1](np.zeros(4, np.float32), np.zeros(4, np.float32))
    device = current_device("")
    device.process += 1
    try:
        with failing("", 0) as called:
            del kernel
            gc.collect()
        assert called == []
    finally:
        device.process -= 1
