"""Pipelines that an executor has made, by device and description; they are freed with it."""

from __future__ import annotations

import weakref

from girih.runtime.vulkan.device import Device
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.faults import VulkanFault
from girih.runtime.vulkan.pipeline import Pipeline, PipelineDescription
from girih.runtime.vulkan.report import refuse
from girih.source import Span

MOST = 16
"""How many pipelines an executor keeps: shaders with arrays of buffers need one for each number of them."""


class KeptPipelines:
    """The pipelines of an executor."""

    def __init__(self) -> None:
        self._pipelines: dict[tuple[int, PipelineDescription], Pipeline] = {}
        weakref.finalize(self, _close, self._pipelines).atexit = False

    def known(self, device: Device, description: PipelineDescription) -> Pipeline | None:
        """The pipeline that was made for a device; None where there is none."""
        found = self._pipelines.get((id(device), description))
        return found if found is not None and found.device is device else None

    def made(self, device: Device, description: PipelineDescription, advice: str, span: Span) -> Pipeline:
        """A new pipeline.

        Raises `LaunchError`, with `advice`, where the driver makes none, and `VulkanFault` where the device is lost or
        memory is short.
        """
        if len(self._pipelines) >= MOST or any(one.device is not device for one in self._pipelines.values()):
            _close(self._pipelines)
        try:
            made = Pipeline.make(device, description)
        except VulkanFault as fault:
            if fault.result == vk.DEVICE_LOST or fault.result in vk.OUT_OF_MEMORY:
                raise
            what = f"the driver of {device.name} makes no pipeline of @{description.entry}: {fault}"
            refuse("bind.vulkan_pipeline", what, f"the module is valid by girih's rules: {advice}", span)
        self._pipelines[id(device), description] = made
        return made


def _close(pipelines: dict[tuple[int, PipelineDescription], Pipeline]) -> None:
    while pipelines:
        pipelines.popitem()[1].close()
