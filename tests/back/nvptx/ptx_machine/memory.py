"""Memory as PTX sees it: spaces, windows of generic addresses, and which bytes may be touched.

Global memory is memory of this process, by its addresses, but only what a launch registers. An access outside of that,
or one that is not aligned, is a `Fault`. Other spaces are windows: a generic address whose highest byte is not 0 is in
one of them, as the addresses of processes have 47 bits.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.order.shadow import Agent, Shadow
from tests.back.nvptx.ptx_machine.types import UNSIGNED, Array

WINDOWS = {"shared": 1 << 56, "local": 2 << 56, "param": 3 << 56}
"""Where the spaces begin among generic addresses."""
_SPACES = {begin: name for name, begin in WINDOWS.items()}
_WORD = 4
_WINDOW_MASK = 0xFF << 56

SPACES = ("global", "shared", "local", "param", "const")


@dataclass(slots=True)
class Region:
    """Bytes from the address `begin` of a space on. With a `stride`, each thread has its own: `size` of them."""

    begin: int
    size: int
    bytes: Array
    name: str
    writable: bool = True
    stride: int = 0
    written: Array | None = None
    """Which bytes were written in this launch, where the kernel reads what it calls constant."""
    constant: Array | None = None
    """Which bytes were read as constant."""
    shadow: Shadow | None = None
    """Who touched each word of shared memory, where something asynchronous touches it."""
    views: dict[int, tuple[int, Array]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.begin + self.size

    def view(self, width: int) -> tuple[int, Array]:
        """The bytes as integers of `width` bytes, and the address of the first whole one."""
        found = self.views.get(width)
        if found is None:
            first = -self.begin % width
            count = (len(self.bytes) - first) // width * width
            found = self.begin + first, self.bytes[first : first + count].view(UNSIGNED[8 * width])
            self.views[width] = found
        return found

    def places(self, addresses: Array, width: int, threads: Array) -> Array:
        """The places of addresses among the integers of `width` bytes."""
        first, _ = self.view(width)
        found = (addresses - np.uint64(first)).astype(np.int64) // width
        return found if not self.stride else found + threads * (self.stride // width)


class Memory:
    """Global memory of a launch, and the other spaces of the CTA that is executed."""

    def __init__(self, arrays: Iterable[Array], variables: Iterable[tuple[str, Array, bool]], *, watch: bool) -> None:
        bounds = []
        for number, array in enumerate(arrays):
            if array.size:
                low, high = byte_bounds(array)
                bounds.append((low, high, f"array {number}", bool(array.flags.writeable)))
        for name, held, writable in variables:
            if held.size:
                low, high = byte_bounds(held)
                bounds.append((low, high, name, writable))
        self.regions = _merged(bounds, watch)
        self._begins = [one.begin for one in self.regions]
        self.edges = {edge.begin: edge for one in self.regions for edge in _edges(one)}
        """The words of 4 bytes that a region has only a part of, by their addresses."""
        self.own: dict[str, Region] = {}
        """The regions of the spaces that are no global memory."""

    def region(self, address: int) -> Region | None:
        """What is registered at an address of global memory."""
        place = bisect_right(self._begins, address) - 1
        if place < 0 or address >= self.regions[place].end:
            return None
        return self.regions[place]

    def load(self, space: str, addresses: Array, width: int, threads: Array, *, words: bool = False) -> Array:
        """The integers of `width` bytes at addresses, which are `uint64`, one for each of some threads.

        With `words`, a word of 4 bytes may be read of which only a part is registered: LLVM has no atomic access of
        less than a word, and devices allocate whole words.
        """
        if not len(addresses):
            return np.zeros(0, UNSIGNED[8 * width])
        region, space, addresses = self._one(space, addresses, width)
        if region is not None:
            if region.shadow is not None:
                region.shadow.read(addresses, width, threads)
            found: Array = region.view(width)[1][region.places(addresses, width, threads)]
            return found
        parts = self._parts(space, addresses, width, words=words)
        found = np.zeros(len(addresses), UNSIGNED[8 * width])
        for region, local, chosen in parts:
            if region.shadow is not None:
                region.shadow.read(local, width, threads[chosen])
            found[chosen] = region.view(width)[1][region.places(local, width, threads[chosen])]
        return found

    def store(self, space: str, addresses: Array, values: Array, threads: Array, *, words: bool = False) -> None:
        """Write integers, with `words` as in `load`. Of several threads that write to one place, the last one does."""
        width = values.itemsize
        for region, local, chosen in self._parts(space, addresses, width, words=words):
            if not region.writable:
                raise Fault(f"{region.name} may not be written", int(np.arange(len(addresses))[chosen][0]))
            places = region.places(local, width, threads[chosen])
            region.view(width)[1][places] = values[chosen]
            if region.written is not None:
                self._note(region, region.written, local, width)
            if region.shadow is not None:
                region.shadow.write(local, width, threads[chosen])

    def read_later(self, address: int, size: int, agent: Agent, thread: int) -> Array:
        """Bytes of shared memory that something reads which a thread starts."""
        found = self.spans("shared", address, size, write=False)
        shadow = self.own["shared"].shadow
        assert shadow is not None
        shadow.agent_read(shadow.bytes(address, size), agent, np.array([thread]))
        return found

    def write_later(self, address: int, size: int, agent: Agent, thread: int) -> Array:
        """Bytes of shared memory that a copy writes which a thread starts."""
        found = self.spans("shared", address, size, write=True)
        shadow = self.own["shared"].shadow
        assert shadow is not None
        shadow.agent_write(shadow.bytes(address, size), agent, thread)
        return found

    def landed(self, address: int, size: int, agent: Agent) -> None:
        """A copy that `write_later` began is made."""
        shadow = self.own["shared"].shadow
        assert shadow is not None
        shadow.landed(shadow.bytes(address, size), agent.column, agent.stamp)

    def read_constant(self, addresses: Array, width: int) -> None:
        """Note that bytes of global memory are read as ones that no thread of the launch writes."""
        for region, local, _ in self._parts("global", addresses, width):
            if region.constant is not None:
                self._note(region, region.constant, local, width)

    def _note(self, region: Region, marks: Array, addresses: Array, width: int) -> None:
        offsets = (addresses - np.uint64(region.begin)).astype(np.int64)
        for byte in range(width):
            marks[offsets + byte] = True
        assert region.written is not None and region.constant is not None
        both = region.written & region.constant
        if both.any():
            wrong = int(np.flatnonzero(both)[0])
            raise Fault(f"byte {wrong} of {region.name} is read by ld.global.nc and written by the same launch")

    def spans(self, space: str, address: int, size: int, *, write: bool) -> Array:
        """Bytes in a row of global or shared memory, as a view. Raises `Fault` where they are not all there."""
        region = self.region(address) if space == "global" else self.own[space]
        if region is None or address < region.begin or address + size > region.end:
            raise Fault(f"{size} bytes at {self.words(space, address)} are touched, of which not all are there")
        if write and not region.writable:
            raise Fault(f"{region.name} may not be written")
        begin = address - region.begin
        found: Array = region.bytes[begin : begin + size]
        if write and region.written is not None:
            region.written[begin : begin + size] = True
        return found

    # --- where an address is ---------------------------------------------------------------

    def _one(self, space: str, addresses: Array, width: int) -> tuple[Region | None, str, Array]:
        """The region of all addresses, where there is only one and all are right."""
        low, high = int(addresses.min()), int(addresses.max())
        window = low & _WINDOW_MASK
        if space == "generic":
            if high & _WINDOW_MASK != window:
                return None, space, addresses
            if window:
                space = _SPACES.get(window, "")
                addresses = addresses - np.uint64(window)
                low, high = low - window, high - window
            else:
                space = "global"
        region = self.region(low) if space in ("global", "const") else self.own.get(space)
        if region is None or low < region.begin or high + width > region.end:
            return None, space, addresses
        if width > 1 and (addresses & np.uint64(width - 1)).any():
            return None, space, addresses
        return region, space, addresses

    def _parts(
        self, space: str, addresses: Array, width: int, *, words: bool = False
    ) -> list[tuple[Region, Array, Any]]:
        """The regions of addresses, with the addresses there, and which these are."""
        region, space, local = self._one(space, addresses, width) if len(addresses) else (None, space, addresses)
        if region is not None:
            return [(region, local, slice(None))]
        parts: dict[int, tuple[Region, str, list[int]]] = {}
        for place, address in enumerate(map(int, local)):
            window = address & _WINDOW_MASK if space == "generic" else 0
            name = (_SPACES.get(window, "") if window else "global") if space == "generic" else space
            held = self.region(address) if name in ("global", "const") else self.own.get(name)
            inside = address - window
            if words and width == _WORD and name == "global" and inside in self.edges:
                held = self.edges[inside]
            if held is None or inside < held.begin or inside + width > held.end:
                raise Fault(f"{width} bytes at {self.words(name, inside)} are not registered", place)
            if inside % width:
                raise Fault(f"{width} bytes at {self.words(name, inside)} are not aligned", place)
            parts.setdefault(id(held), (held, name, []))[2].append(place)
        found = []
        for held, name, places in parts.values():
            window = WINDOWS.get(name, 0) if space == "generic" else 0
            found.append((held, local[places] - np.uint64(window), np.array(places)))
        return found

    def words(self, space: str, address: int) -> str:
        """An address in words, with what is registered near it."""
        text = f"{space} address {address:#x}"
        if space != "global" or not self.regions:
            own = self.own.get(space)
            return text if own is None else f"{text} (the space has {own.begin:#x} to {own.end:#x})"
        near = min(self.regions, key=lambda one: max(one.begin - address, address - one.end))
        side = f"{address - near.end} bytes behind" if address >= near.end else f"{near.begin - address} bytes before"
        if near.begin <= address < near.end:
            side = f"byte {address - near.begin} of"
        return f"{text} ({side} {near.name}, of {near.size} bytes)"


def _edges(one: Region) -> list[Region]:
    """The words that a region has only a part of."""
    places = {place // _WORD * _WORD for place in (one.begin, one.end) if place % _WORD}
    return [Region(place, _WORD, _bytes_at(place, _WORD), one.name, one.writable) for place in sorted(places)]


def _bytes_at(address: int, size: int) -> Array:
    """Memory of this process."""
    found: Array = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
    return found


def _merged(bounds: list[tuple[int, int, str, bool]], watch: bool) -> list[Region]:
    """Regions of memory of this process; those that overlap are one."""
    found: list[list[Any]] = []
    for low, high, name, writable in sorted(bounds):
        if found and low < found[-1][1]:
            last = found[-1]
            last[1] = max(last[1], high)
            last[2] = f"{last[2]} and {name}"
            last[3] = last[3] or writable
        else:
            found.append([low, high, name, writable])
    regions = []
    for low, high, name, writable in found:
        one = Region(low, high - low, _bytes_at(low, high - low), name, writable)
        if watch:
            one.written, one.constant = np.zeros(one.size, bool), np.zeros(one.size, bool)
        regions.append(one)
    return regions
