"""The texts of the kernels, the defaults of their definitions, and the grids on which they are launched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import SupportsIndex

from girih.kernels.table import TABLE, entry, is_whole


def names() -> list[str]:
    """The names of all kernels."""
    return sorted(TABLE)


def path(name: str) -> Path:
    """The file of a kernel. Raises `KeyError` for a name that is not in `names()`."""
    entry(name)
    return Path(__file__).parent / f"{name}.tl"


def defaults(name: str) -> dict[str, str]:
    """The definitions of a kernel that may be replaced, as its text gives them. Raises `KeyError` for another name."""
    offered = entry(name).definitions
    text = path(name).read_text(encoding="utf-8")
    return {key: value for key, value in re.findall(r"^\$(\w+) = (.+)$", text, re.M) if key in offered}


def parts(name: str) -> tuple[tuple[str, int], ...]:
    """For each mode of the grid, the size that it follows from, and how much of that a work-group takes by default."""
    known = defaults(name)
    return tuple((of, int(known[part]) if isinstance(part, str) else part) for of, part in entry(name).grid)


def grid_for(name: str, *sizes: SupportsIndex) -> tuple[int, ...]:
    """The grid of a kernel for sizes, which its documentation names: `grid_for("gemm", M, N)`.

    Where a kernel has definitions of its tile, the grid is that of their defaults.

    Raises `KeyError` for a name that is not in `names()`, `ValueError` for the wrong number of sizes, or one that is
    negative or not a whole number.
    """
    modes = parts(name)
    whole = [int(size) for size in sizes if is_whole(size)]
    if len(sizes) != len(modes) or len(whole) != len(modes) or min(whole) < 0:
        wanted = ", ".join(what for what, _ in modes)
        takes = f"takes {len(modes)} size{'s' if len(modes) > 1 else ''}, whole and not negative"
        raise ValueError(f"grid_for({name!r}, ...) {takes}: {wanted}; found {sizes}")
    return tuple(-(-size // tile) for size, (_, tile) in zip(whole, modes, strict=True))
