"""Pipelines that an executor has made, by device and description; they are freed with it."""

from __future__ import annotations

import weakref

from girih.runtime.vulkan.device import Device
from girih.runtime.vulkan.pipeline import Pipeline, PipelineDescription

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

    def made(self, device: Device, description: PipelineDescription) -> Pipeline:
        """A new pipeline. Raises `VulkanFault`."""
        if len(self._pipelines) >= MOST or any(one.device is not device for one in self._pipelines.values()):
            _close(self._pipelines)
        made = self._pipelines[id(device), description] = Pipeline.make(device, description)
        return made


def _close(pipelines: dict[tuple[int, PipelineDescription], Pipeline]) -> None:
    while pipelines:
        pipelines.popitem()[1].close()
