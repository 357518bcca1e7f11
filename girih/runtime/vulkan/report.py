"""The codes of what can go wrong with a launch on a Vulkan driver, and faults of a driver as diagnostics."""

from __future__ import annotations

from typing import NoReturn

from girih.diagnostics import Diagnostic, InternalError, LaunchError
from girih.runtime.vulkan.driver import constants as vk
from girih.runtime.vulkan.driver.faults import NoDriverError, VulkanFault
from girih.source import NOWHERE, Span

VULKAN_CODES: dict[str, str] = {
    "bind.vulkan_driver": "a launch needs a Vulkan driver that opens and has a device with Vulkan 1.3",
    "bind.vulkan_feature": "the device must have what the module needs",
    "bind.vulkan_limit": "work-groups, memory, push constants and buffers must keep the limits of the device",
    "bind.vulkan_pipeline": "the driver must make a pipeline of the module",
    "bind.vulkan_memory": "the memory of the device must hold the buffers of the launch",
    "bind.vulkan_overlap": "arrays that share memory, and are written, begin at distances that the device can bind",
    "bind.vulkan_address": "a buffer that a shader reaches by its address belongs to the target and to its device",
    "bind.vulkan_print": "a kernel that prints runs on a target that can print",
    "run.vulkan_lost": "the device must not be lost while the kernel runs",
    "run.vulkan_timeout": "the kernel must end within the time that the launch allows",
    "run.vulkan_refused": "the driver must do what it is asked for",
}
"""What is asked of a launch on a Vulkan driver."""

NO_DRIVER_HINT = (
    "install a driver, such as Mesa's for the CPU (mesa-vulkan-drivers), name one by GIRIH_VULKAN_DRIVER, or load for "
    "target='cpu'"
)


def refuse(code: str, message: str, hint: str | None = None, span: Span = NOWHERE) -> NoReturn:
    """Raise `LaunchError` with one diagnostic, `InternalError` for a code outside `VULKAN_CODES`."""
    if code not in VULKAN_CODES:
        raise InternalError(f"a launch on Vulkan has no code {code}")
    raise LaunchError([Diagnostic(code, message, span, hint=hint)])


def refuse_fault(fault: VulkanFault, device: str, name: str, span: Span = NOWHERE) -> NoReturn:
    """Raise `LaunchError` for a call that failed while a kernel or shader was launched on a device."""
    if fault.result == vk.DEVICE_LOST:
        hint = "the next launch opens the device anew; the kernel may run too long, or go beyond its memory: " \
               "target='interpreter' finds that"  # fmt: skip
        refuse("run.vulkan_lost", f"{device} was lost while {name} ran: {fault}", hint, span)
    if fault.result in vk.OUT_OF_MEMORY:
        refuse("bind.vulkan_memory", f"{device} has too little memory for {name}: {fault}",
               "pass smaller arrays, or free what other processes hold", span)  # fmt: skip
    refuse("run.vulkan_refused", f"{device} refuses to run {name}: {fault}", None, span)


def refuse_no_driver(error: NoDriverError, span: Span = NOWHERE) -> NoReturn:
    """Raise `LaunchError` where no driver opens."""
    tried = "; ".join(error.tried)
    refuse("bind.vulkan_driver", f"no Vulkan driver opens; tried: {tried}", NO_DRIVER_HINT, span)
