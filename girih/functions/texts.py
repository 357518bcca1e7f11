"""The kernels behind the functions: texts of `girih.kernels`, loaded once for each target and set of definitions.

Texts for arrays of any layout are in `girih/kernels/arrays`; others are those of the library, which suit themselves to
the target. All are loaded with `order="C"`, so that views bind in the order of their axes, but where it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from girih import kernels
from girih.api import Kernel, load_one, resolved_target
from girih.functions.libraries import Library

CPU_LANES = (8, 16, 32, 64)
"""The work-items that a work-group on a CPU may have: vectors side by side hide the time that one takes."""


@lru_cache(maxsize=1024)
def array_kernel(text: str, function: str, target: str | None, **definitions: Any) -> Kernel:
    """A kernel of `girih/kernels/arrays`, by its file and its name; others of the file are not compiled."""
    path = Path(kernels.__file__).parent / "arrays" / f"{text}.tl"
    return load_one(path, function, target, definitions, order="C")


@lru_cache(maxsize=1024)
def library_kernel(make: Callable[..., Any], target: str | None, **options: Any) -> Any:
    """What a function of `girih.kernels` gives, in order C unless `order` says otherwise."""
    return make(**{"target": target, "order": "C", **options})


@lru_cache(maxsize=64)
def is_cpu(target: str | None) -> bool:
    """Whether a target is a CPU."""
    return resolved_target(target).row.name == "cpu"


def lanes(target: str | None, side_by_side: int = 64) -> int:
    """The number of work-items that suits a target and so many columns side by side."""
    if not is_cpu(target):
        return 32
    return next(count for count in CPU_LANES if count >= side_by_side or count == CPU_LANES[-1])


def settled(kernel: Kernel, library: Library) -> Callable[..., None]:
    """What launches a kernel on arguments of one shape each, and waits where the library of arrays does not itself.

    The grid follows from shapes, so on a CPU it is asked for once.
    """
    if library.is_synchronous:
        return kernel.options(synchronous=True)
    if not is_cpu(kernel.target):
        return kernel
    call, settle = kernel.executor.call, kernel.executor.settle
    grid = kernel.grid

    def launch(*arguments: Any) -> None:
        nonlocal grid
        if grid is None:
            grid = kernel.grid_for(*arguments)
        result = call(grid, *arguments)
        if result is not None:
            settle(result, grid, arguments)

    return launch


def accumulator(element: str) -> str:
    """The type of sums: f64 for f64, else f32."""
    return "f64" if element == "f64" else "f32"


@lru_cache(maxsize=64)
def sharing_groups(target: str | None) -> int:
    """The work-groups that are to share a large product on a target."""
    return resolved_target(target).product_groups() or 1
