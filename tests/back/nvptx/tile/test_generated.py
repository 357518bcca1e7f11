"""Random tile programs as PTX, on the machine that executes it: results and findings are those of the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from girih.diagnostics import KernelError
from girih.interpreter.launch import launch
from girih.tile.recognise import tile_kernel
from tests.back.harness import Failed
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.tile.emitted import emitted
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.cases import every_case
from tests.cases import long as more
from tests.tile.generate import TileText, program


def on_device(built: TileText) -> list[Any]:
    """Fresh arguments, whose arrays begin where maps may."""
    found: list[Any] = []
    for one in built.fresh():
        if isinstance(one, np.ndarray):
            copy = aligned(max(1, one.nbytes), 128)[: one.nbytes].view(one.dtype).reshape(one.shape, order="F")
            copy[...] = one
            found.append(copy)
        else:
            found.append(one)
    return found


def agrees(seed: int) -> None:
    """Check that a program does in PTX what it does in the interpreter; every fourth one without maps."""
    built = program(seed)
    (function,) = girih.parse(built.text).functions
    kernel = tile_kernel(function, maps=not built.odd and seed % 4 != 0 and min(_sizes(built)) > 1)
    expected, given = built.fresh(), on_device(built)
    findings: set[tuple[object, object]] = set()
    try:
        launch(function, built.grid, expected)
    except KernelError as error:
        findings = {(one.code, one.argument) for one in error.findings}
    machine = TileMachineKernel(function, emitted(kernel, checks=True))
    if findings:
        with pytest.raises(Failed) as failed:
            machine(built.grid, *given, seed=seed)
        assert (failed.value.code, failed.value.argument) in findings
        return
    machine(built.grid, *given, seed=seed)
    for name, one, other in zip(built.arguments, expected, given, strict=True):
        # Sums of no numbers but zeros may have either sign.
        np.testing.assert_array_equal(np.asarray(other), np.asarray(one), err_msg=f"{name} of {built.text}")


def _sizes(built: TileText) -> set[int]:
    """The sizes of arrays: where one is 0 or 1, NumPy's strides are none that a map has."""
    return {size for one in built.arguments.values() if isinstance(one, np.ndarray) for size in one.shape}


@pytest.mark.parametrize("block", [0, *more(range(1, 50))])
def test_generated_programs(block: int) -> None:
    with every_case() as case:
        for seed in range(4 * block, 4 * (block + 1)):
            with case(f"seed {seed}"):
                agrees(seed)
