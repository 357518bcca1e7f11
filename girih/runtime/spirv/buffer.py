"""Buffers with addresses (Vulkan, "vkGetBufferDeviceAddress"), which shaders can hold in memory and follow.

In the memory of this process addresses are virtual: one counter gives them out, so that they are the same on every
target that is the processor, and what lies between two buffers is far enough that an index that goes astray does not
come to the next one. On a device they are the device's own.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.arrays import Uninitialized
from girih.runtime.device import AddressedBuffer, AddressingDevice

ALIGNMENT = 64 * 1024
"""What addresses are multiples of, in bytes, and the least distance between the ends of two buffers."""


class VirtualAddresses:
    """Virtual addresses, each of which is given out once. They do not fit 32 bits."""

    def __init__(self) -> None:
        self._next = 1 << 32
        self._lock = Lock()

    def take(self, count: int) -> int:
        """The address of `count` bytes, a multiple of 64 KiB."""
        with self._lock:
            address = self._next
            self._next = -(-(address + count + ALIGNMENT) // ALIGNMENT) * ALIGNMENT
        return address


ADDRESSES = VirtualAddresses()
"""The addresses of this process."""


class Buffer:
    """An array whose address shaders can hold: in push constants, in other buffers, in itself.

    `array` is any array whose bytes lie side by side, also `girih.uninitialized(array)`; shaders change it in place. A
    buffer stands wherever an array does in the launch of a shader; one that is reached by its address alone is named by
    `buffers=[...]`. `target` is that of the programs that will use it, as `girih.load` names targets: on "vulkan" the
    buffer has memory of the device, and its address there; a launch copies the array to it and back. The other targets
    have all buffers in the memory of this process.
    Raises `TypeError` for what is not an array, `ValueError` for an unknown target, and `LaunchError` where the target
    has no device or no memory.
    """

    __slots__ = ("_address", "_given", "array", "home", "target")

    def __init__(self, array: object, target: str | None = None) -> None:
        from girih.runtime.targets import resolve

        given = array
        while isinstance(given, Uninitialized):
            given = given.array
        if not isinstance(given, np.ndarray):
            raise TypeError(f"girih.Buffer takes an array of NumPy; got {given.__class__.__name__}")
        self.array: NDArray[Any] = given
        """The array itself."""
        resolved = resolve(target)
        self.target = resolved.name
        """The name of the target."""
        self._given = array
        device = resolved.device
        self.home: AddressedBuffer | None = None
        """The memory of the target's device; None for the memory of this process."""
        if isinstance(device, AddressingDevice):
            self.home = device.addressed_buffer(given.nbytes)
        self._address = ADDRESSES.take(given.nbytes) if self.home is None else self.home.address

    @property
    def address(self) -> int:
        """The address of the first byte, as 64 bits without sign: the device's, or a virtual one."""
        return self._address

    @property
    def argument(self) -> object:
        """The array as it was given, with its mark of `girih.uninitialized`."""
        return self._given

    def read(self) -> NDArray[Any]:
        """A copy of what the buffer holds now, of the array's shape and dtype."""
        return self.array.copy()

    def __repr__(self) -> str:
        return f"<girih buffer of {self.array.nbytes} bytes at {self._address:#x}>"
