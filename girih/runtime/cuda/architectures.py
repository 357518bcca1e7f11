"""The architecture that a target of CUDA means: the one that is named, or that of a device."""

from __future__ import annotations

from girih.back.llvm.nvptx.machine.architecture import (
    ARCHITECTURES,
    NvidiaArchitecture,
    architecture_named,
    architecture_of,
)
from girih.diagnostics import LaunchError
from girih.runtime.cuda.device import CudaDevice, current_number, opened
from girih.runtime.cuda.driver import CudaFault, NoCudaError
from girih.runtime.cuda.report import refuse
from girih.source import NOWHERE, Span

DEFAULT = "sm_90a"
"""The architecture that code is made for where none is named and there is no GPU."""


def named(name: str) -> NvidiaArchitecture | None:
    """The architecture behind a target's colon; None for a number and for nothing. Raises `ValueError`."""
    return None if not name or name.isdigit() else architecture_named(name)


def device_here(number: int | None) -> CudaDevice | None:
    """The GPU of a number, or the current one; None where there is none."""
    try:
        return opened(current_number() if number is None else number)
    except (NoCudaError, CudaFault, LaunchError):
        return None


def usual_architecture(name: str) -> NvidiaArchitecture:
    """The architecture of code when a program is loaded or shown: that of the GPU that is there, if there is one."""
    asked = named(name)
    device = None if asked else device_here(int(name) if name else None)
    return asked or (device and architecture_of(device.capability)) or ARCHITECTURES[DEFAULT]


def architecture_on(device: CudaDevice, name: str, span: Span = NOWHERE) -> NvidiaArchitecture:
    """The architecture of code that a target launches on a device.

    Raises `LaunchError` for a device that the code does not suit, or that is too old for any.
    """
    asked = named(name)
    if asked is None:
        found = architecture_of(device.capability)
        if found is None:
            refuse("bind.cuda_architecture", f"{_has(device)}; code is for sm_80 and newer ones",
                   "target='cpu' runs the kernel here", span)  # fmt: skip
        return found
    if not asked.suits(device.capability):
        hint = "load the program for target='cuda', which compiles for the GPU that is there"
        refuse("bind.cuda_architecture", f"{_has(device)}; the code is for {asked.name}", hint, span)
    return asked


def _has(device: CudaDevice) -> str:
    return f"{device} has compute capability {device.capability[0]}.{device.capability[1]}"
