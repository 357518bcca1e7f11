"""Random tile programs: what becomes of them does in the simulator what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import girih
from girih.diagnostics import KernelError
from girih.interpreter.launch import launch
from girih.tile.form import TileKernel
from girih.tile.program import NoTileProgram
from girih.tile.recognise import tile_kernel
from girih.tile.simulate.copies import IllegalMap
from girih.tile.simulate.engine import Interleaving
from girih.tile.simulate.launch import simulate
from tests.cases import every_case
from tests.cases import long as more
from tests.tile.generate import TileText, program, program_by_threads, program_of_groups
from tests.tile.programs import PERMITTED

Ended = tuple[dict[str, bytes], set[tuple[object, ...]]]


def ended(built: TileText, run: Any) -> Ended:
    """The bytes of the results of a launch, and what was found."""
    arguments, found = built.fresh(), set[tuple[object, ...]]()
    try:
        run(arguments)
    except KernelError as error:
        found = {(one.code, one.span, one.argument) for one in error.findings}
    held = dict(zip(built.arguments, arguments, strict=True))
    return {name: _bytes(held[name]) for name in built.written}, found


def _bytes(one: Any) -> bytes:
    """The bytes of an array, or of the members of a group."""
    return b"".join(map(_bytes, one)) if isinstance(one, list) else one.tobytes()


def agrees(seed: int, make: Callable[[int], TileText] = program) -> None:
    """Check that a program does the same in the interpreter and in the simulator, whoever goes first there."""
    built = make(seed)
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


@pytest.mark.parametrize("make", [program_by_threads, program_of_groups])
@pytest.mark.parametrize("block", [0, *more(range(1, 75))])
def test_other_kinds_of_programs(make: Callable[[int], TileText], block: int) -> None:
    """Products that threads compute, and matrices that are members of groups."""
    with every_case() as case:
        for seed in range(4 * block, 4 * (block + 1)):
            with case(f"seed {seed}"):
                agrees(seed, make)


def agrees_in_parts(seed: int) -> bool:
    """Check a program whose depth is shared out, and say whether it can be."""
    built = program(seed)
    text = built.text.replace("subgroup_size=32", PERMITTED, 1)
    (function,) = girih.parse(text).functions
    try:
        kernel = tile_kernel(function, maps=not built.odd, parts=2 + seed % 3)
    except NoTileProgram:
        return False
    expected = ended(built, lambda arguments: launch(function, built.grid, arguments))
    for way in (Interleaving("early"), Interleaving("late"), Interleaving("seeded", seed)):
        found = ended(built, lambda arguments, way=way: simulate(kernel, built.grid, arguments, way, ctas=1 + seed % 4))
        assert found == expected, (way, text)
    return True


@pytest.mark.parametrize("block", [0, *more(range(1, 75))])
def test_programs_whose_depth_is_shared_out(block: int) -> None:
    ran = 0
    with every_case() as case:
        for seed in range(30_000 + 8 * block, 30_000 + 8 * (block + 1)):
            with case(f"seed {seed}"):
                ran += agrees_in_parts(seed)
    assert ran


def test_the_same_seed_makes_the_same_program() -> None:
    one, other = program(7), program(7)
    assert one.text == other.text
    assert all(np.array_equal(a, b) for a, b in zip(one.fresh(), other.fresh(), strict=True))
