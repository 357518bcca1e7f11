"""The device of this process: opened for the first launch, and anew after it was lost or the process was forked."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from threading import Lock

from girih.diagnostics import LaunchError
from girih.lazy_dataclass import dataclass
from girih.runtime.vulkan.device import Device
from girih.runtime.vulkan.driver.entry import ENVIRONMENT, Driver, open_driver
from girih.runtime.vulkan.driver.faults import NoDriverError, VulkanFault
from girih.runtime.vulkan.report import refuse_fault, refuse_no_driver
from girih.source import NOWHERE, Span


@dataclass(slots=True)
class _Opened:
    """A driver and its device, with the process that opened them."""

    process: int
    driver: Driver
    device: Device | None = None


_LOCK = Lock()
_OPENED: dict[str, _Opened] = {}
"""By the value of `GIRIH_VULKAN_DRIVER`, empty for none."""


def current_driver() -> Driver:
    """The driver that launches use. Raises `NoDriverError`."""
    with _LOCK:
        return _current().driver


def current_device(name: str, span: Span = NOWHERE) -> Device:
    """The device for the launch of a kernel or shader of a name.

    Raises `LaunchError` where no driver opens, or its device does not.
    """
    with _LOCK:
        try:
            opened = _current()
        except NoDriverError as error:
            refuse_no_driver(error, span)
        if opened.device is None or opened.device.lost:
            driver = opened.driver
            try:
                opened.device = Device.open(driver.best, driver.commands)
            except VulkanFault as fault:
                # After a lost device some drivers need a new instance too.
                del _OPENED[_key()]
                refuse_fault(fault, driver.best.name, name, span)
        return opened.device


def can_launch() -> bool:
    """Whether a driver opens and its device does."""
    try:
        current_device("")
    except LaunchError:
        return False
    return True


def _key() -> str:
    return os.environ.get(ENVIRONMENT, "")


def _current() -> _Opened:
    known = _OPENED.get(_key())
    if known is None or known.process != os.getpid():
        if not _OPENED:
            atexit.register(_close_all)
        known = _OPENED[_key()] = _Opened(os.getpid(), open_driver())
    return known


def _close_all() -> None:
    """End devices and drivers in order: some drivers have threads that must not outlive the process's memory."""
    for opened in _OPENED.values():
        if opened.process != os.getpid():
            continue
        gone = opened.device is None or not opened.device.lost
        with suppress(VulkanFault):
            if opened.device is not None:
                opened.device.close()
            if gone:
                opened.driver.close()
    _OPENED.clear()
