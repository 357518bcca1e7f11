"""`MapTile`: one whole tensor copy: a tensor map with the operands of the instruction, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import Access
from girih.addressing.display import Drawn
from girih.addressing.errors import I64_HIGH, RuleReport, Violation, rule, what_it_is
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.operands import check_memory
from girih.addressing.tensor_map.parameters import as_tuple
from girih.addressing.tensor_map.shared_image import SharedImage

MAP = rule("map_tile.map", "the map is a TensorMap", "004 5.5")
OFFSET = rule("map_tile.element_offset", "the element offset is an integer from 0, of whole bytes", "girih")


@dataclass(frozen=True)
class MapTile(Drawn):
    """The box that a tensor copy brings (004 5.5.3, 5.5.4): `tensor_map`, `coordinates` and im2col `offsets`.

    Coordinates are in elements, innermost dimension first, offsets in W, H, D order. The address of the map is
    `element_offset` elements from the start of a buffer. Raises `AddressingError` for a `tensor_map` of another type
    and for an offset that is not of whole bytes; the coordinates are checked by the methods.
    """

    tensor_map: TensorMap
    coordinates: tuple[int, ...]
    offsets: tuple[int, ...] | None = None
    element_offset: int = 0

    def __post_init__(self) -> None:
        report = RuleReport("MapTile")
        if not isinstance(self.tensor_map, TensorMap):
            report.add(MAP, f"the map is {what_it_is(self.tensor_map)}", "pass a TensorMap")
            report.done()
        offset = report.integer("element_offset", self.element_offset, 0, I64_HIGH, OFFSET)
        bits = self.tensor_map.element.bits
        if offset * bits % 8:
            message = f"element_offset = {offset} elements of {bits} bits end inside a byte"
            report.add(OFFSET, message, f"use a multiple of {8 // gcd(bits, 8)}")
        report.done()
        object.__setattr__(self, "element_offset", offset)
        object.__setattr__(self, "coordinates", as_tuple(self.coordinates))
        object.__setattr__(self, "offsets", None if self.offsets is None else as_tuple(self.offsets))

    @classmethod
    def at_origin(cls, tensor_map: TensorMap) -> MapTile:
        """The first box of a map: at coordinates 0, in im2col mode at the lower corner of the pixel box."""
        coordinates = [0] * tensor_map.rank
        coordinates[tensor_map.spatial] = tensor_map.lower_corner or coordinates[tensor_map.spatial]
        return cls(tensor_map, tuple(coordinates))

    def access(self) -> Access:
        """The elements that a load touches, outermost dimension first; `element` counts from the start of the buffer.

        Raises `AddressingError` for operands that `TensorMap.access` refuses.
        """
        access = self.tensor_map.access(self.coordinates, self.offsets)
        return replace(access, element=np.where(access.element >= 0, access.element + self.element_offset, -1))

    def load(self, memory: NDArray[np.uint8], shared_address: int = 0) -> SharedImage:
        """The box in shared memory; `memory` holds the bytes of the buffer. `source` counts from the map's address.

        Raises `AddressingError` for operands that `TensorMap.load` refuses.
        """
        report = RuleReport("MapTile.load")
        check_memory(memory, False, report)
        report.done()
        start = self.element_offset * self.tensor_map.element.bits // 8
        return self.tensor_map.load(memory[start:], self.coordinates, self.offsets, shared_address)

    def store(self, shared: NDArray[np.uint8], memory: NDArray[np.uint8], shared_address: int = 0) -> None:
        """Copy the box into `memory`, the bytes of the buffer, in place; `shared` holds those from `shared_address` on.

        Raises `AddressingError` for operands that `TensorMap.store` refuses, before `memory` changes.
        """
        report = RuleReport("MapTile.store")
        check_memory(memory, True, report)
        report.done()
        start = self.element_offset * self.tensor_map.element.bits // 8
        self.tensor_map.store(shared, memory[start:], self.coordinates, shared_address)

    def lints(self) -> tuple[Violation, ...]:
        """The violations of severity `lint`: what is legal and probably not meant in the map and in a load of the box.

        Raises `AddressingError` for operands that the load refuses.
        """
        return self.tensor_map.lints(self.coordinates, self.offsets)
