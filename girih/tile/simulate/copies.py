"""The copy engine: maps of a launch, and copies of boxes by the model that `girih.addressing` has of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from girih.addressing.errors import AddressingError
from girih.addressing.tensor_map.element_type import FROM_NUMPY
from girih.addressing.tensor_map.model import TensorMap
from girih.arguments.memory import ElementView, Memory
from girih.interpreter.machine.numbers import dtype
from girih.interpreter.machine.values import MemRefValue
from girih.lazy_dataclass import dataclass
from girih.tile.form import MapRecipe, TileKernel
from girih.tile.simulate.accesses import first_byte
from girih.tile.simulate.faults import ScheduleFault


class IllegalMap(ValueError):
    """A launch with an illegal map: the kernel is not meant for it."""


@dataclass(frozen=True, slots=True)
class LaunchArguments:
    """The numbers that a launch knows, from the machine's values of its arguments."""

    values: Sequence[object]

    def size(self, parameter: int, mode: int) -> int:
        """The size of a mode of a memref."""
        return _number(self._memref(parameter).shape[mode])

    def stride(self, parameter: int, mode: int) -> int:
        """The stride of a mode of a memref."""
        return _number(self._memref(parameter).strides[mode])

    def number(self, parameter: int) -> int:
        """An argument of an integer type."""
        return _number(self.values[parameter])

    def elements(self, parameter: int) -> ElementView:
        """The elements of a memref."""
        return self._memref(parameter).elements

    def _memref(self, parameter: int) -> MemRefValue:
        memref = self.values[parameter]
        assert isinstance(memref, MemRefValue)
        return memref


def _number(value: object) -> int:
    return int(np.asarray(value).flat[0])


@dataclass(frozen=True, slots=True, eq=False)
class EncodedMap:
    """A tensor map of a launch, with the memory of its tensor, which begins at byte `begin` there.

    The map of an empty tensor is None: loads fill with zeros, stores leave everything out.
    """

    recipe: MapRecipe
    memory: Memory
    begin: int
    map: TensorMap | None

    @property
    def box_bytes(self) -> int:
        """The bytes that a copy of a box brings."""
        return box_bytes(self.recipe)

    def load(
        self, coordinates: Sequence[int], address: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The bytes of a box, their places in shared memory, and the bytes of the argument that were read.

        Raises `ScheduleFault` for operands that the engine does not take.
        """
        if self.map is None:
            return np.zeros(self.box_bytes, np.uint8), address + np.arange(self.box_bytes), np.zeros(0, np.int64)
        try:
            image = self.map.load(self.memory.bytes[self.begin :], coordinates, shared_address=address)
        except AddressingError as error:
            raise ScheduleFault("copy", f"a copy by {self.recipe.name}: {error}") from None
        there = np.flatnonzero(image.written)
        return image.bytes[there], address + there, self.begin + image.source[image.source >= 0]

    def stored(self, coordinates: Sequence[int]) -> NDArray[np.int64]:
        """The bytes of the argument that a store of a box writes. Raises `ScheduleFault` as `load` does."""
        if self.map is None:
            return np.zeros(0, np.int64)
        try:
            elements = self.map.access(coordinates, store=True).element
        except AddressingError as error:
            raise ScheduleFault("copy", f"a store by {self.recipe.name}: {error}") from None
        size = self.recipe.component.size
        return np.asarray(self.begin + (elements[elements >= 0][:, None] * size + np.arange(size)).ravel())

    def store(self, shared: NDArray[np.uint8], coordinates: Sequence[int], address: int) -> None:
        """Store a box from shared memory, of which `shared` has the bytes from `address` on."""
        if self.map is not None:
            self.map.store(shared, self.memory.bytes[self.begin :], coordinates, address)


def box_bytes(recipe: MapRecipe) -> int:
    """The bytes of a box."""
    return int(np.prod(recipe.counts)) * recipe.component.size


def encoded(kernel: TileKernel, launch: LaunchArguments) -> dict[str, EncodedMap]:
    """The maps of a launch by their names. Raises `IllegalMap`."""
    return {recipe.name: _encoded(recipe, launch) for recipe in kernel.maps}


def _encoded(recipe: MapRecipe, launch: LaunchArguments) -> EncodedMap:
    sizes, strides = ([amount.of(launch) for amount in amounts] for amounts in (recipe.sizes, recipe.strides))
    size = recipe.component.size
    begin = recipe.offset.of(launch) * size
    elements = launch.elements(recipe.parameter)
    if min(sizes) <= 0:
        return EncodedMap(recipe, elements.memory, 0, None)
    if sizes[0] > 1 and strides[0] != 1:
        raise IllegalMap(f"map {recipe.name}: neighbours are {strides[0]} elements apart")
    # The stride of a dimension of size 1 leads nowhere.
    apart = [stride * size if count > 1 else 16 for count, stride in zip(sizes[1:], strides[1:], strict=True)]
    try:
        made = TensorMap.tiled(
            dtype="tf32" if recipe.rounded else FROM_NUMPY[dtype(recipe.component).name],
            global_dim=sizes,
            global_strides=apart,
            box_dim=recipe.box,
            element_strides=recipe.steps or None,
            swizzle=f"{recipe.swizzle}B" if recipe.swizzle else "none",
            global_address=begin,
        )
    except AddressingError as error:
        raise IllegalMap(f"map {recipe.name}: {error}") from None
    return EncodedMap(recipe, elements.memory, first_byte(elements) + begin, made)
