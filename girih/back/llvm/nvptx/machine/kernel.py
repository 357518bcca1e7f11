"""A kernel as PTX, and what a launch must know of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from girih.back.llvm.lower.sites import Site
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.diagnostics import Diagnostic
from girih.ir.core import Function
from girih.ir.types import NUMBERS
from girih.lazy_dataclass import dataclass
from girih.tile.amounts import Amount
from girih.tile.form import MapRecipe
from girih.tile.program import has_matrices


@dataclass(frozen=True, slots=True)
class CudaVariant:
    """What the code of a kernel takes for granted, and a launch looks at.

    `narrow`: sizes, strides and arguments of index type fit 32 bits, and CUDA has the grid. `disjoint`: no argument
    shares memory with one that the kernel writes, so that what is read may be read early. `engine`: the device's driver
    can encode all tensor maps, so that its engine makes copies, where it has their mode; otherwise they are computed.
    `tile`: the maps of a tile program (docs/design/tile.md) are legal, coordinates and the number of work-groups are
    below 2^31, and the kernel is that program; it is `narrow` and `disjoint`, too. Without the `engine` it has no maps,
    and gathers all tiles. `sent`: those maps are legal through which results leave; otherwise its consumers store them.
    `parts`: so many work-groups along x and y of a kernel with smaller tiles do what one of the launch's grid is asked
    for. `depth_parts`: so many CTAs share out the depth of the products of each of those.
    """

    narrow: bool = True
    disjoint: bool = True
    engine: bool = True
    tile: bool = False
    sent: bool = True
    parts: tuple[int, int] = (1, 1)
    depth_parts: int = 1

    @property
    def linear(self) -> bool:
        """Whether work-groups are counted, and find their places in the grid by their numbers.

        CUDA's grid then has as many in x and y, or a few more, which end at once. Otherwise it is the launch's.
        """
        return not self.narrow


USUAL = CudaVariant()
"""What nearly all launches are, and emitted forms."""


TILE = CudaVariant(tile=True)
"""What nearly all launches of tile programs are."""

LINED = CudaVariant(tile=True, sent=False)
"""Launches of tile programs on arrays whose lines begin where no map has them, and are copied to where one has."""

GATHERED = CudaVariant(engine=False, tile=True)
"""What other launches of tile programs are, whose maps are illegal."""


def usual_variant(function: Function, architecture: NvidiaArchitecture) -> CudaVariant:
    """The variant of a kernel that is compiled first, and emitted: as a tile program, where it may be one."""
    return TILE if architecture.wide_products and has_matrices(function) else USUAL


MAP_BYTES = 128
"""The bytes of a tensor map that the engine of the device reads."""
MAP_ALIGNMENT = 128
"""What a tensor map is aligned to: 64 for the PTX ISA, but 128 for the CUDA driver API from 13.0 on."""


@dataclass(frozen=True, slots=True)
class MapPlace:
    """The place of a tensor map in the first parameter of a kernel.

    From byte `offset` on there are `MAP_BYTES` for the engine, which the driver encodes if the map is `encoded`, and
    behind them the words of its descriptor (`girih.back.llvm.lower.launch.descriptor`). `parameter` is the number of
    the map among the parameters of the kernel in the language; its slot says nothing.
    """

    parameter: int
    offset: int
    encoded: bool


@dataclass(frozen=True, slots=True)
class RecipePlace:
    """The place of a map that the host makes from an argument, as `recipe` says: `MAP_BYTES` from byte `offset` on."""

    offset: int
    recipe: MapRecipe

    def plain(self) -> list[Any]:
        """The place and the recipe as lists that JSON can write."""
        one = self.recipe
        sizes, strides = ([amount.plain() for amount in amounts] for amounts in (one.sizes, one.strides))
        number, begin = one.component.name, one.offset.plain()
        ends = [one.box, one.swizzle, one.steps, one.stored, one.rounded]
        return [self.offset, one.name, one.parameter, number, begin, sizes, strides, *ends]

    @staticmethod
    def of_plain(plain: Sequence[Any]) -> RecipePlace:
        """What `plain` wrote. Raises `KeyError`, `TypeError` or `ValueError` for other lists."""
        at, name, parameter, number, begin, sizes, strides, box, swizzle, steps, stored, rounded = plain
        extents, distances = (tuple(map(Amount.of_plain, amounts)) for amounts in (sizes, strides))
        tensor = name, parameter, NUMBERS[number], Amount.of_plain(begin), extents, distances
        return RecipePlace(at, MapRecipe(*tensor, tuple(box), swizzle, stored, rounded, tuple(steps)))


COUNTER_BYTES = 4096
"""The bytes of counters in front of the sums of parts of the depth, which are zero before a launch and behind it."""


@dataclass(frozen=True, slots=True)
class DeepProduct:
    """A loop over the depth of a tile program that may be gone through in parts, and how many there are here.

    It has so many `iterations`, with factors of `bytes` along the depth each, and adds to `rows` x `columns` numbers of
    four bytes, which `consumers` groups of threads have. With more than one part, the slot behind those of the
    parameters has the address of memory for `needed` bytes.
    """

    iterations: Amount
    bytes: int
    rows: int
    columns: int
    consumers: int
    parts: int = 1

    def needed(self, groups: int) -> int | None:
        """The bytes of counters and sums for so many work-groups; None where they have too few counters."""
        if 4 * groups * self.consumers > COUNTER_BYTES:
            return None
        return COUNTER_BYTES + 4 * self.rows * self.columns * self.parts * groups

    def plain(self) -> list[Any]:
        """The product as lists that JSON can write."""
        return [self.iterations.plain(), self.bytes, self.rows, self.columns, self.consumers, self.parts]

    @staticmethod
    def of_plain(plain: Sequence[Any]) -> DeepProduct:
        """What `plain` wrote. Raises `TypeError` or `ValueError` for other lists."""
        iterations, *numbers = plain
        return DeepProduct(Amount.of_plain(iterations), *numbers)


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel in PTX, before it is assembled.

    `entry` is its name there. A launch has `threads` threads along x in each CTA, which executes `packed` work-groups
    that are neighbours along x, and `shared_bytes` of dynamic shared memory. Its first parameter are `parameter_bytes`
    bytes: slots as `girih.back.llvm.lower.launch.slots` lists them. The others are the addresses that the slots with
    the numbers `pointers` have, each as a parameter of its own: of these alone LLVM can know that they share no memory.
    `maps` are the places of tensor maps behind the slots, and the first parameter is aligned to `MAP_ALIGNMENT` where
    there are any. `sites` are the checks by their number in the failure record (`girih.back.llvm.lower.launch.record`).

    `again` are the numbers of the parameters whose memory a work-group goes over in several loops.

    `recipes` are the maps of a tile program, which the host makes at a launch. Its CTAs are all along x, one for each
    work-group, and go through them `in_order`; if it is `persistent`, they are no more than the multiprocessors.
    Each work-group of the launch's grid is `parts` of them along x and y (`CudaVariant.parts`). `deep` is what says
    into how many parts of the depth each of those may be shared out, or is.
    """

    name: str
    entry: str
    ptx: str
    architecture: str
    threads: int
    packed: int
    subgroup_size: int
    shared_bytes: int
    parameter_bytes: int
    pointers: tuple[int, ...]
    maps: tuple[MapPlace, ...]
    sites: tuple[Site, ...]
    recipes: tuple[RecipePlace, ...] = ()
    persistent: bool = False
    in_order: bool = False
    again: tuple[int, ...] = ()
    parts: tuple[int, int] = (1, 1)
    deep: DeepProduct | None = None
    remarks: tuple[Diagnostic, ...] = ()

    @property
    def is_tile_program(self) -> bool:
        """Whether CTAs go through work-groups in an order of their own (docs/design/tile.md)."""
        return self.in_order or bool(self.recipes)

    def ctas(self, grid: tuple[int, int, int], multiprocessors: int) -> tuple[int, int, int]:
        """The grid of CTAs for a grid of work-groups; threads of the last ones that have no work-group end at once."""
        x, y, z = grid
        if not self.is_tile_program:
            return -(-x // self.packed), y, z
        groups = x * y * z * self.of_each
        return min(groups, multiprocessors) if self.persistent else groups, 1, 1

    @property
    def of_each(self) -> int:
        """What CTAs execute for each work-group of a launch's grid: its parts, and the parts of their depth."""
        return prod(self.parts) * self.depth_parts

    @property
    def depth_parts(self) -> int:
        """How many CTAs share out the depth of a work-group."""
        return 1 if self.deep is None else self.deep.parts

    @property
    def all_parameter_bytes(self) -> int:
        """The bytes of all parameters together."""
        return self.parameter_bytes + 8 * len(self.pointers)

    def to_bytes(self) -> bytes:
        """The kernel as bytes, without its remarks."""
        held = {name: getattr(self, name) for name in _PLAIN}
        held["maps"] = [(one.parameter, one.offset, one.encoded) for one in self.maps]
        held["sites"] = [site.plain() for site in self.sites]
        held["recipes"] = [one.plain() for one in self.recipes]
        held["deep"] = None if self.deep is None else self.deep.plain()
        return json.dumps(held, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> PtxKernel:
        """The kernel that `to_bytes` wrote. Raises `ValueError` for other bytes."""
        try:
            held: Mapping[str, Any] = json.loads(data)
            plain = {name: held[name] for name in _PLAIN} | {"pointers": tuple(held["pointers"])}
            plain |= {"again": tuple(held["again"]), "parts": tuple(held["parts"])}
            plain["maps"] = tuple(MapPlace(*one) for one in held["maps"])
            plain["recipes"] = tuple(map(RecipePlace.of_plain, held["recipes"]))
            plain["deep"] = None if held["deep"] is None else DeepProduct.of_plain(held["deep"])
            return PtxKernel(sites=tuple(map(Site.of_plain, held["sites"])), **plain)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"these bytes hold no kernel in PTX: {error}") from None


_PLAIN = (
    "name", "entry", "ptx", "architecture", "threads", "packed", "subgroup_size",
    "shared_bytes", "parameter_bytes", "pointers", "persistent", "in_order", "again", "parts",
)  # fmt: skip
