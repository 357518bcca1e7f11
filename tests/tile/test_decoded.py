"""Factors that a region decodes from blocks: who does it, and that schedules with them hold."""

from __future__ import annotations

import numpy as np
import pytest

from girih import kernels
from girih.ir.types import I32
from girih.tile.budget import MOST_SHARED_BYTES, layout_of
from girih.tile.form import Gather, GiveBack, Supply, walk
from girih.tile.recognise import tile_kernel
from girih.tile.show import show
from tests.conftest import Golden
from tests.tile.programs import function_of, weighted, weighted_text
from tests.tile.test_simulate import same_as_interpreter


def test_the_form(golden: Golden) -> None:
    golden("tile/weights.txt", show(tile_kernel(weighted())))


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "producers", "registers"),
    [(64, 16, 256, 4, (96, 96)), (64, 64, 256, 3, (128, 128)), (128, 64, 128, 2, (128, 128)),
     (64, 256, 64, 2, (128, 248)), (128, 256, 64, 1, (120, 192))],
)  # fmt: skip
def test_who_decodes(rows: int, columns: int, depth: int, producers: int, registers: tuple[int, int]) -> None:
    """Several warpgroups of the producer, where registers suffice; each has as many slots as every other one."""
    kernel = tile_kernel(weighted(rows=rows, columns=columns, depth=depth))
    ring, supplies = kernel.rings[-1], [step for step in walk(kernel.producer.body) if isinstance(step, Supply)]
    filled = [[copy.tile for copy in step.copies if isinstance(copy, Gather)] for step in supplies]
    assert [tiles for tiles in filled if tiles] == [["left"]] * 2
    assert kernel.producer.warpgroups == producers
    assert (kernel.producer.registers, kernel.consumers.registers) == registers
    decoders = producers - len(kernel.block_rings)
    assert ring.slots % decoders == 0 or ring.slots < decoders
    assert layout_of(kernel).bytes <= MOST_SHARED_BYTES
    assert bool(kernel.slower) is not bool(kernel.block_rings)
    assert ring.slots >= decoders or not kernel.block_rings, "each warpgroup that decodes has a slot"


@pytest.mark.parametrize(("columns", "depth", "at_once"), [(16, 256, True), (64, 64, True), (128, 64, False)])
def test_slots_of_decoded_tiles_are_given_back_soon(columns: int, depth: int, at_once: bool) -> None:
    """Where decoding takes longer than products, no slot waits for the next one."""
    body = tile_kernel(weighted(columns=columns, depth=depth)).consumers.body
    kept = {step.keep for step in walk(body) if isinstance(step, GiveBack)}
    assert kept == ({0} if at_once else {0, 1})


@pytest.mark.parametrize(("format", "words"), [("q4_0", 36), ("q8_0", 68)])
def test_blocks_come_through_the_copy_engine(format: str, words: int) -> None:
    """Where lines of a tile are multiples of 16 bytes: as they are in memory, with what room there is ahead."""
    kernel = tile_kernel(weighted(format, rows=64, columns=16, depth=256))
    blocks, factors = kernel.rings
    assert kernel.block_rings == {blocks.name} and blocks.slots >= factors.slots
    (tile,) = blocks.tiles
    assert (tile.component, tile.lines, tile.span, tile.swizzle) == (I32, 64, words, 0)
    assert [one.box for one in kernel.maps if one.parameter == 0] == [(words, 64)]
    assert not tile_kernel(weighted(format, rows=64, columns=16, depth=64)).block_rings


@pytest.mark.parametrize(
    ("format", "depth", "k"), [("q4_0", 64, 96), ("q8_0", 64, 96), ("q4_0", 256, 512), ("q8_0", 256, 320)]
)
def test_as_the_interpreter(format: str, depth: int, k: int) -> None:
    """In every order, at edges and inside, from memory and from rings of blocks."""
    function = weighted(format, depth=depth)
    random = np.random.default_rng(3)
    m, n = 72, 24
    w = kernels.quantize(random.standard_normal((m, k)), format)
    x = np.asfortranarray(random.integers(-4, 5, (k, n)).astype(np.float16))
    c = np.full((m, n), 77, np.float32, order="F")
    same_as_interpreter(function, tile_kernel(function), (2, 2, 1), [w, x, c])


@pytest.mark.parametrize(("hints", "slots"), [("pipeline=false", [1, 1]), ("stages=3", [3, 3])])
def test_hints_of_loops(hints: str, slots: list[int]) -> None:
    """The rings of blocks and of what they become follow them, and all is as before."""
    end = "yield (%next)\n            }"
    text = weighted_text("q8_0", depth=256)
    assert text.count(end) == 2
    function = function_of(text.replace(end, f"{end} attributes {{{hints}}}"))
    kernel = tile_kernel(function)
    assert kernel.block_rings and [ring.slots for ring in kernel.rings] == slots
    random = np.random.default_rng(3)
    weights = random.integers(-127, 128, (64, 512))
    weights[:, ::32] = 127  # The scale of each block is 1, and every sum exact.
    w = kernels.quantize(weights.astype(np.float64), "q8_0")
    x = np.asfortranarray(random.integers(-4, 5, (512, 16)).astype(np.float16))
    same_as_interpreter(function, kernel, (1, 1, 1), [w, x, np.full((64, 16), 77, np.float32, order="F")])
