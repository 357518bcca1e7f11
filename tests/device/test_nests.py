"""Random nests of control flow: the interpreter, the CPU, and work-items that are executed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from girih.api import compile_module
from girih.ir.core import Module
from tests.cases import long
from tests.device.nests import LANES, function, outcome

SHARED = (0, 5)


def differences(seeds: range, targets: list[str]) -> dict[int, str]:
    """The nests for which an executor gives other numbers than the work-items one by one."""
    wrong = {}
    for seed in seeds:
        nest = function(seed)
        module = Module((nest,))
        kernels = {target: compile_module(module, target)["f"] for target in targets}
        for shared in SHARED:
            wanted = outcome(nest, np.arange(LANES), shared)
            for target, kernel in kernels.items():
                array = np.arange(LANES, dtype=np.int32)
                kernel(array, shared)
                if list(array) != wanted:
                    wrong[seed] = f"{target}, u={shared}: {array} for {wanted}\n{module}"
    return wrong


@pytest.mark.parametrize("seeds", [range(12), *long([range(12, 40)])])
def test_nests_in_the_interpreter(seeds: range) -> None:
    assert differences(seeds, ["interpreter"]) == {}


def test_nests_on_both_executors() -> None:
    assert differences(range(1000, 1004), ["interpreter", "cpu"]) == {}


@pytest.mark.long
@pytest.mark.parametrize("first", range(2000, 2400, 50))
def test_many_nests(first: int) -> None:
    assert differences(range(first, first + 50), ["interpreter", "cpu"]) == {}
