"""Tile programs in PTX, launched on the machine that executes it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from girih.addressing import BoundTensorMap, TensorMap
from girih.addressing.tensor_map.bound import tensor_bytes
from girih.back.llvm.lower.launch.record import RECORD_BYTES
from girih.back.llvm.nvptx.machine.kernel import COUNTER_BYTES, MAP_BYTES, PtxKernel
from girih.ir.core import Function
from girih.tile.form import MapRecipe
from tests.back.harness import Array, Failed, packed_arguments
from tests.back.nvptx.ptx_machine import LaunchRecord, PtxModule

_TYPES = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i32": "s32"}
"""The types of tensor maps, by those of components; a component of one byte is `u8`."""


@dataclass(frozen=True)
class _Numbers:
    """The arguments of a launch, as recipes of maps ask for them."""

    arguments: Sequence[Any]

    def size(self, parameter: int, mode: int) -> int:
        return int(self.arguments[parameter].shape[mode])

    def stride(self, parameter: int, mode: int) -> int:
        array = self.arguments[parameter]
        return int(array.strides[mode] // array.itemsize)

    def number(self, parameter: int) -> int:
        return int(self.arguments[parameter])


@dataclass
class TileMachineKernel:
    """A tile program ready to be launched. Raises `Failed` for what a check finds."""

    function: Function
    kernel: PtxKernel
    multiprocessors: int = 2
    """How many CTAs a launch has at most, if the kernel is persistent."""
    module: PtxModule = field(init=False)

    def __post_init__(self) -> None:
        self.module = PtxModule.parse(self.kernel.ptx)

    def __call__(self, grid: tuple[int, int, int], *arguments: Any, **options: Any) -> LaunchRecord:
        """Execute all work-groups; options are those of `PtxModule.launch`."""
        record = np.zeros(RECORD_BYTES // 8, np.int64)
        keep: list[Any] = [record]
        slots = packed_arguments(self.function, grid, arguments, record, keep)
        total = prod(grid) * self.kernel.of_each
        deep, sums = self.kernel.deep, np.zeros(0, np.uint8)
        if deep is not None and deep.parts > 1:
            # Only counters are zero: the rest is what a launch before left.
            sums = np.full(deep.needed(prod(grid) * prod(self.kernel.parts)) or 0, 0xA5, np.uint8)
            sums[:COUNTER_BYTES] = 0
            slots = np.append(slots, np.array([sums.ctypes.data], slots.dtype))
        given = np.zeros(self.kernel.parameter_bytes, np.uint8)
        given[: slots.nbytes] = slots.view(np.uint8)
        maps: dict[bytes, BoundTensorMap] = {}
        for number, place in enumerate(self.kernel.recipes):
            stands_for = np.full(MAP_BYTES, 0xC0 + number, np.uint8)
            given[place.offset :][:MAP_BYTES] = stands_for
            maps[stands_for.tobytes()] = encoded(place.recipe, arguments)
        parameters = np.concatenate([given, slots[list(self.kernel.pointers)].view(np.uint8)])
        ctas = (min(total, self.multiprocessors), 1, 1) if self.kernel.persistent else grid
        done = self.module.launch(
            self.kernel.entry,
            ctas,
            self.kernel.threads,
            parameters,
            self.kernel.shared_bytes,
            [record, *map(whole_words, [*keep[1:], *([sums] if sums.size else [])])],
            maps=maps,
            **options,
        )
        if record[0]:
            site = self.kernel.sites[int(record.view(np.int32)[1])]
            count = site.index_count + site.shape_count
            raise Failed(site.code, site.argument, [int(v) for v in record[4 : 4 + count]], site.message)
        assert not done.undefined
        assert not sums[:COUNTER_BYTES].any(), "the next launch finds counters at zero"
        return done


def whole_words(array: Array) -> Array:
    """The bytes between the ends of an array and those of the aligned words of 4 bytes in which it begins and ends.

    A device's memory consists of whole words: no other owner has the rest of one.
    """
    low, high = byte_bounds(array)
    if low == high:
        return array
    begin, end = low // 4 * 4, -(-high // 4) * 4
    return np.ctypeslib.as_array((ctypes.c_uint8 * (end - begin)).from_address(begin))


def encoded(recipe: MapRecipe, arguments: Sequence[Any]) -> BoundTensorMap:
    """The map that a host makes of an argument, as a recipe says."""
    numbers = _Numbers(arguments)
    array: Array = arguments[recipe.parameter]
    sizes = [max(1, one.of(numbers)) for one in recipe.sizes]
    size = recipe.component.size
    first, *strides = [one.of(numbers) * size for one in recipe.strides]
    assert first == size
    given = TensorMap.tiled(
        dtype=_TYPES.get(recipe.component.name, "u8"), global_dim=sizes, global_strides=strides,
        box_dim=list(recipe.box), element_strides=recipe.steps or None,
        swizzle=f"{recipe.swizzle}B" if recipe.swizzle else "none", architecture="sm_90a",
    )  # fmt: skip
    begin = array.ctypes.data + recipe.offset.of(numbers) * size
    return given.bind(np.ctypeslib.as_array((ctypes.c_uint8 * tensor_bytes(given, recipe.stored)).from_address(begin)))
