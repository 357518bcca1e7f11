"""Random tile programs as PTX, on the machine that executes it: results and findings are those of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih
from girih.diagnostics import KernelError
from girih.interpreter.launch import launch
from girih.tile.program import NoTileProgram
from girih.tile.recognise import tile_kernel
from tests.back.harness import Failed
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.tile.emitted import emitted
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.cases import every_case
from tests.cases import long as more
from tests.tile.generate import TileText, program, program_by_threads, program_of_groups
from tests.tile.programs import PERMITTED


def on_device(built: TileText) -> list[Any]:
    """Fresh arguments, whose arrays begin where maps may."""
    return [_on_device(one) for one in built.fresh()]


def _on_device(one: Any) -> Any:
    if isinstance(one, list):
        return [_on_device(member) for member in one]
    if not isinstance(one, np.ndarray):
        return one
    copy = aligned(max(1, one.nbytes), 128)[: one.nbytes].view(one.dtype).reshape(one.shape, order="F")
    copy[...] = one
    return copy


def agrees(seed: int, make: Callable[[int], TileText] = program, *, parts: int = 1) -> None:
    """Check that a program does in PTX what it does in the interpreter; every fourth one without maps."""
    built = make(seed)
    text = built.text if parts == 1 else built.text.replace("subgroup_size=32", PERMITTED, 1)
    (function,) = girih.parse(text).functions
    maps = not built.odd and seed % 4 != 0 and min(_sizes(built)) > 1
    try:
        kernel = tile_kernel(function, maps=maps, parts=parts)
    except NoTileProgram:
        assert parts > 1
        return
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
        for a, b in zip(_members(other), _members(one), strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=f"{name} of {built.text}")


def _members(one: Any) -> list[Any]:
    """The arrays of a group; any other argument itself."""
    return one if isinstance(one, list) else [one]


def _sizes(built: TileText) -> set[int]:
    """The sizes of arrays: where one is 0 or 1, NumPy's strides are none that a map has."""
    return {size for one in built.arguments.values() if isinstance(one, np.ndarray) for size in one.shape}


@pytest.mark.parametrize("block", [0, *more(range(1, 50))])
def test_generated_programs(block: int) -> None:
    with every_case() as case:
        for seed in range(4 * block, 4 * (block + 1)):
            with case(f"seed {seed}"):
                agrees(seed)


@pytest.mark.parametrize("block", more(range(40)))
def test_other_kinds_of_programs(block: int) -> None:
    """Products that threads compute, matrices that are members of groups, and a depth that is shared out."""
    with every_case() as case:
        for seed in range(3 * block, 3 * (block + 1)):
            with case(f"by threads, seed {seed}"):
                agrees(seed, program_by_threads)
            with case(f"of groups, seed {seed}"):
                agrees(seed, program_of_groups)
            with case(f"in parts, seed {seed}"):
                agrees(30_000 + seed, parts=2 + seed % 2)
