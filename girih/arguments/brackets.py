"""The grid that a program writes in brackets, `kernel[grid]`: one size, or up to three. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from girih.diagnostics import Diagnostic, LaunchError
from girih.source import NOWHERE

Grid = int | Sequence[int]
"""An int, or up to three of them."""


def shown_grid(grid: tuple[int, int, int]) -> str:
    """The grid in words."""
    return f"{' x '.join(map(str, grid))} work-groups"


def normalized_grid(grid: Grid) -> tuple[int, int, int]:
    """The grid as three sizes from 0 to 2^31 - 1, those that are missing 1. Raises `LaunchError` for any other grid."""
    sizes = grid if isinstance(grid, tuple | list) else (grid,)
    try:
        numbers = [_size(n) for n in sizes]
    except TypeError:
        raise _bad_grid(grid, "it is one integer or a tuple of up to three") from None
    if not 1 <= len(numbers) <= 3:
        raise _bad_grid(grid, "a grid has one to three sizes")
    if min(numbers) < 0 or max(numbers) >= 2**31:
        raise _bad_grid(grid, "sizes lie between 0 and 2^31 - 1")
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _size(value: SupportsIndex) -> int:
    if isinstance(value, bool):
        raise TypeError(f"expected an integer; got {value!r}")
    return index(value)


def _bad_grid(grid: object, says: str) -> LaunchError:
    return LaunchError([Diagnostic("bind.grid", f"the grid is {grid!r}; {says}", NOWHERE)])
