"""The kernels of the library as PTX, on the machine that executes it, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih.kernels import texts
from tests.back.harness import copy_of, same
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.one_lane.kernels_with_maps import WITH_MAPS
from tests.back.one_lane.test_kernels import LAUNCHES
from tests.cases import long, one_in

SCHEDULES = ("together", "by_warp", "by_warp_reversed")


@pytest.mark.parametrize(("name", "function", "schedule"), one_in(10, ((*k, s) for k in LAUNCHES for s in SCHEDULES)))
def test_kernels_run_as_on_the_interpreter(name: str, function: str, schedule: str) -> None:
    grid, arguments = LAUNCHES[name, function]
    kernel = girih.loads(texts.path(name).read_text(encoding="utf-8"), target="interpreter")[function]
    expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    kernel[grid](*expected)
    PtxMachineKernel(kernel.ir)(grid, *found, schedule=schedule)
    for mine, wanted in zip(found, expected, strict=True):
        half = isinstance(wanted, np.ndarray) and wanted.dtype == np.float16
        same(mine, wanted, 2e-3 if half else 1e-5)


@pytest.mark.parametrize(
    ("name", "architecture"), [*((name, "sm_90a") for name in WITH_MAPS), *long((n, "sm_80") for n in WITH_MAPS)]
)
def test_kernels_with_tensor_maps_run_as_on_the_interpreter(name: str, architecture: str) -> None:
    grid, make = WITH_MAPS[name]
    kernel = girih.loads(texts.path(name).read_text(encoding="utf-8"), target="interpreter")[name]
    expected, found = make(), make()
    kernel[grid](*expected)
    PtxMachineKernel(kernel.ir, architecture=architecture, copies="late")(grid, *found)
    same(found, expected, 1e-5)
