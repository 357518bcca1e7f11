"""Small kernels for tests: their text is put together, launched, and what was found is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.api import Kernel
from girih.arguments.brackets import Grid
from girih.diagnostics import Finding

Array = NDArray[Any]

SMALL = "attributes {subgroup_size=8, work_group_size=[16, 1]}"
"""Two subgroups of eight work-items."""

ONE_SUBGROUP = "attributes {subgroup_size=8, work_group_size=[8, 1]}"
"""Eight work-items: what each subgroup stores is stored once."""

LANES = """
    %lane_number = subgroup_local_id : i32
    %lane = cast %lane_number : index
    %subgroup_number = subgroup_linear_id : i32
    %subgroup = cast %subgroup_number : index
    %eight = constant 8 : index
    %first_item = mul %subgroup, %eight : index
    %item = add %first_item, %lane : index
"""
"""What SPMD code mostly starts with: the numbers of the work-item in its subgroup and in its work-group."""

NUMBERS = """
  %c0 = constant 0 : index
  %c1 = constant 1 : index
  %c2 = constant 2 : index
  %c4 = constant 4 : index
  %zero = constant 0.0 : f32
  %one = constant 1.0 : f32
"""


def kernel(parameters: str, body: str, attributes: str = SMALL) -> Kernel:
    """A kernel `f` of parameters and a body; `NUMBERS` stand before the body."""
    return girih.loads(f"func @f({parameters}) {attributes} {{{NUMBERS}\n{body}\n}}", target="interpreter")["f"]


def spmd(parameters: str, body: str, attributes: str = SMALL) -> Kernel:
    """A kernel whose body is executed by every work-item, `LANES` before it."""
    return kernel(parameters, f"parallel {{{LANES}\n{body}\n}}", attributes)


def veiled(parameters: str, body: str, attributes: str = SMALL) -> Kernel:
    """A kernel as `spmd` makes it, with a first parameter that is 1, by which the numbers of work-items are multiplied.

    So `girih check` knows no more than that they differ, and the run has to find what comes of it.
    """
    lanes = LANES.replace("%lane_number = subgroup_local_id : i32", _VEIL.format("lane", "subgroup_local_id"))
    lanes = lanes.replace("%subgroup_number = subgroup_linear_id : i32", _VEIL.format("subgroup", "subgroup_linear_id"))
    given = ", ".join(filter(None, ("%once: i32", parameters)))
    return kernel(given, f"parallel {{{lanes}\n{body}\n}}", attributes)


_VEIL = "%{0}_known = {1} : i32\n    %{0}_number = mul %{0}_known, %once : i32"


def findings(launched: Kernel, *arguments: object, grid: Grid = 1, **options: Any) -> tuple[Finding, ...]:
    """What a launch finds; it must find something."""
    with pytest.raises(girih.KernelError) as caught:
        launched.options(**options)[grid](*arguments)
    return caught.value.findings


def fortran(*shape: int, dtype: Any = np.float32) -> Array:
    """0, 1, 2, ... in the packed layout."""
    count = int(np.prod(shape))
    return np.arange(count).astype(dtype).reshape(shape, order="F")


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    """Zeros in the packed layout."""
    return np.zeros(shape, dtype, order="F")
