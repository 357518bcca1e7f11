"""Which variant of a kernel a launch takes, and the grid that CUDA is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from girih.arguments.arrays import Accepted, GroupClaim, MapClaim, claims_of
from girih.arguments.claims import Claim, clusters
from girih.back.llvm.nvptx.machine.kernel import CudaVariant, DeepProduct
from girih.ir.core import Function
from girih.ir.types import INDEX
from girih.lazy_dataclass import dataclass

Grid = tuple[int, int, int]

MOST_X, MOST_YZ = 2**31 - 1, 2**16 - 1
"""The work-groups of CUDA's grids (CUDA programming guide, "Technical Specifications per Compute Capability")."""

_MOST = 2**31 - 1


def variant_of(function: Function, grid: Grid, accepted: Sequence[Accepted]) -> CudaVariant:
    """The variant of a kernel that suits a grid and arguments."""
    numbers = [item for one, item in zip(function.parameters, accepted, strict=True) if one.type == INDEX]
    arrays = [item for item in accepted if not isinstance(item, np.ndarray)]
    return CudaVariant(
        narrow=fits_cuda(grid) and all(map(_is_small, [*numbers, *arrays])), disjoint=_are_disjoint(accepted)
    )


@dataclass(frozen=True, slots=True)
class SmallerTiles:
    """A kernel whose work-groups have smaller tiles: `parts` of them along x and y do what one of the kernel's does.

    `tile` are the rows and columns of its tile.
    """

    function: Function
    parts: tuple[int, int]
    tile: tuple[int, int]


def parts_of_work_groups(
    groups: int, tile: tuple[int, int], smaller: Sequence[tuple[SmallerTiles, int]], multiprocessors: int, *,
    gathered: bool,
) -> tuple[int, int]:  # fmt: skip
    """The parts of each work-group with which a launch is done first; (1, 1) where they stay whole.

    The launch has so many `groups` of a `tile`, or, of `smaller` ones, the number beside each, those outside of the
    arrays left out. A multiprocessor has one at a time. What a tile takes is its product, or its rows and columns where
    loading them takes longer; small ones take a little more than their part (measured with products of 1024 and 2048).
    """

    def cost(count: int, size: tuple[int, int]) -> float:
        rows, columns = size
        loaded = (rows + columns) / sum(tile)
        product = rows * columns / (tile[0] * tile[1])
        steps = loaded if gathered else max(product, loaded / 2)
        return -(-count // multiprocessors) * (steps + _BESIDE)

    costs = {(1, 1): cost(groups, tile), **{one.parts: cost(count, one.tile) for one, count in smaller}}
    return min(costs, key=lambda parts: costs[parts])


_BESIDE = 0.02
"""What a tile takes besides, as a part of the product of a large one."""


@dataclass(frozen=True, slots=True)
class LaunchDepth:
    """The loop over the depth of a launch: its `iterations`, and what one takes with a `tile`, in microseconds."""

    iterations: int
    tile: tuple[int, int]
    step: float

    @staticmethod
    def of(deep: DeepProduct, iterations: int) -> LaunchDepth:
        """The depth of a launch that has so many iterations."""
        step = deep.rows * deep.columns * deep.bytes / _PRODUCTS_IN_MICROSECOND
        return LaunchDepth(iterations, (deep.rows, deep.columns), step)


def shares_of_launch(
    whole: int, smaller: Mapping[tuple[int, int], tuple[int, tuple[int, int]]], parts: tuple[int, int],
    depth: LaunchDepth, multiprocessors: int,
) -> tuple[tuple[int, int], int]:  # fmt: skip
    """The parts of each work-group along x and y, and of its depth, of a launch that has `parts` without the latter.

    `whole` work-groups have the depth's tile; by other parts there are others, each with its tile. The depth is shared
    out where all is under way at once, and a good deal faster by what is known: not measured for each launch.
    """
    tiles = {(1, 1): (whole, depth.tile), **smaller}

    def cost(one: tuple[int, int], count: int) -> float:
        groups, (rows, columns) = tiles[one]
        size, all = rows * columns, depth.tile[0] * depth.tile[1]
        step = depth.step * max(size / all, (rows + columns) / sum(depth.tile) / 2)
        beside = 0.0 if count == 1 else _UNITED + 4 * size * count / _BYTES_IN_MICROSECOND
        return -(-groups * count // multiprocessors) * -(-depth.iterations // count) * step + beside

    most = min(_MOST_DEPTH_PARTS, depth.iterations // _LEAST_ITERATIONS)
    ways = [(one, count) for one in tiles for count in range(2, most + 1) if tiles[one][0] * count <= multiprocessors]
    best = min(ways, key=lambda way: cost(*way), default=(parts, 1))
    return best if cost(*best) < _WORTH * cost(parts, 1) else (parts, 1)


_PRODUCTS_IN_MICROSECOND = 5.3e6
"""Bytes of a factor along the depth, for each number of the result, that a multiprocessor multiplies in a microsecond.

That is an H200 with products of 16 bits, of which it does 700e12 operations a second; 1024 x 1024 x 1024 took 5.6 us.
"""
_UNITED = 4.0
"""The microseconds from the last product to the sum of all parts: writing, counting, reading (not measured)."""
_BYTES_IN_MICROSECOND = 100e3
"""What a multiprocessor loads from the L2 cache in a microsecond: 64 bytes a cycle at most."""
_MOST_DEPTH_PARTS, _LEAST_ITERATIONS = 16, 4
_WORTH = 0.8
"""The part of the time without parts of the depth that remains, if they are worth while."""


def fits_cuda(grid: Grid) -> bool:
    """Whether CUDA has a grid as it is."""
    x, y, z = grid
    return x <= MOST_X and y <= MOST_YZ and z <= MOST_YZ


def hardware_grid(grid: Grid, variant: CudaVariant) -> Grid | None:
    """The grid that CUDA is asked for; None where the work-groups are more than it can count."""
    if not variant.linear:
        return grid
    x, y, z = grid
    groups = x * y * z
    rows = max(1, -(-groups // MOST_X))
    return (-(-groups // rows), rows, 1) if rows <= MOST_YZ else None


def _is_small(item: Accepted) -> bool:
    """Whether what the slots of an argument hold fits 32 bits, addresses apart."""
    match item:
        case np.ndarray():
            return -_MOST <= int(item[0, 0, 0]) <= _MOST
        case GroupClaim():
            return item.size <= _MOST and all(map(_is_small, item.members))
        case Claim():
            return max((*item.shape, *item.strides), default=0) <= _MOST
        case MapClaim():
            return True


def _are_disjoint(accepted: Sequence[Accepted]) -> bool:
    """Whether no argument shares memory with one that the kernel writes, as far as first and last elements tell."""
    claims = [claim for item in accepted for claim in claims_of(item)]
    if len(claims) < 2:
        return True
    return not any(len(one.claims) > 1 and any(c.written for c in one.claims) for one in clusters(claims))
