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
from girih.api import Kernel, load, resolved_target
from girih.functions.libraries import Library

CPU_LANES = 64
"""The work-items of a work-group on a CPU: as many vectors are computed side by side as hide the time of one."""


@lru_cache(maxsize=1024)
def array_kernel(text: str, function: str, target: str | None, **definitions: Any) -> Kernel:
    """A kernel of `girih/kernels/arrays`, by its file and its name."""
    path = Path(kernels.__file__).parent / "arrays" / f"{text}.tl"
    return load(path, target, definitions, order="C")[function]


@lru_cache(maxsize=1024)
def library_kernel(make: Callable[..., Any], target: str | None, **options: Any) -> Any:
    """What a function of `girih.kernels` gives, in order C unless `order` says otherwise."""
    return make(**{"target": target, "order": "C", **options})


@lru_cache(maxsize=64)
def is_cpu(target: str | None) -> bool:
    """Whether a target is a CPU."""
    return resolved_target(target).row.name == "cpu"


def lanes(target: str | None) -> int:
    """The number of work-items that suits a target."""
    return CPU_LANES if is_cpu(target) else 32


def settled(kernel: Kernel, library: Library) -> Kernel:
    """A kernel whose launches are waited for where the library of arrays does not wait itself."""
    return kernel.options(synchronous=True) if library.is_synchronous else kernel


def accumulator(element: str) -> str:
    """The type of sums: f64 for f64, else f32."""
    return "f64" if element == "f64" else "f32"
