"""The kernels of the library on a device of OpenCL, but for those that need an engine for copies or blocked layouts."""

from __future__ import annotations

import pytest

import girih
from girih.kernels import texts
from girih.runtime.opencl.devices import OpenClDevice
from tests.back.harness import copy_of, same
from tests.back.one_lane.test_kernels import LAUNCHES
from tests.cases import every_case, long

NAMES = list(LAUNCHES)


@pytest.mark.parametrize("part", [0, *long(range(1, 6))])
@pytest.mark.parametrize("checks", ["bounds", "off"])
def test_kernels_run_as_on_the_interpreter(device: OpenClDevice, part: int, checks: str) -> None:
    with every_case() as case:
        for name, function in NAMES[part::6]:
            with case(f"{name} @{function}"):
                grid, arguments = LAUNCHES[name, function]
                text = texts.path(name).read_text(encoding="utf-8")
                expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
                girih.loads(text, target="interpreter")[function][grid](*expected)
                girih.loads(text, target="opencl", checks=checks)[function][grid](*found)
                for mine, wanted in zip(found, expected, strict=True):
                    same(mine, wanted, 1e-5)
