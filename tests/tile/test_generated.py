"""Random tile programs: what becomes of them does in the simulator what the interpreter does."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import girih
from girih.diagnostics import KernelError
from girih.interpreter.launch import launch
from girih.tile.form import TileKernel
from girih.tile.recognise import tile_kernel
from girih.tile.simulate.copies import IllegalMap
from girih.tile.simulate.engine import Interleaving
from girih.tile.simulate.launch import simulate
from tests.cases import every_case
from tests.cases import long as more
from tests.tile.generate import TileText, program

Ended = tuple[dict[str, bytes], set[tuple[object, ...]]]


def ended(built: TileText, run: Any) -> Ended:
    """The bytes of the results of a launch, and what was found."""
    arguments, found = built.fresh(), set[tuple[object, ...]]()
    try:
        run(arguments)
    except KernelError as error:
        found = {(one.code, one.span, one.argument) for one in error.findings}
    held = dict(zip(built.arguments, arguments, strict=True))
    return {name: held[name].tobytes() for name in built.written}, found


def agrees(seed: int) -> None:
    """Check that a program does the same in the interpreter and in the simulator, whoever goes first there."""
    built = program(seed)
    (function,) = girih.parse(built.text).functions
    assert [one for one in girih.check(built.text) if one.severity == "error"] == []
    expected = ended(built, lambda arguments: launch(function, built.grid, arguments))

    def check(kernel: TileKernel, *ways: Interleaving) -> None:
        for way in ways:
            found = ended(
                built, lambda arguments, way=way: simulate(kernel, built.grid, arguments, way, ctas=1 + seed % 3)
            )
            assert found == expected, (way, built.text)

    with suppress(IllegalMap) if built.odd else nullcontext():
        check(tile_kernel(function), Interleaving("early"), Interleaving("late"), Interleaving("seeded", seed + 1))
    if built.odd or seed % 4 == 0:
        check(tile_kernel(function, maps=False), Interleaving("seeded", seed + 1))


@pytest.mark.parametrize("block", [0, *more(range(1, 80))])
def test_generated_programs(block: int) -> None:
    with every_case() as case:
        for seed in range(25 * block, 25 * (block + 1)):
            with case(f"seed {seed}"):
                agrees(seed)


def test_the_same_seed_makes_the_same_program() -> None:
    one, other = program(7), program(7)
    assert one.text == other.text
    assert all(np.array_equal(a, b) for a, b in zip(one.fresh(), other.fresh(), strict=True))
