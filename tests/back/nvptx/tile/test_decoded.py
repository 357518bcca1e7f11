"""Factors that a region decodes from blocks, in tile programs: read by whole blocks, and right at every edge."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from girih import kernels
from girih.ir.core import Function
from girih.tile.recognise import tile_kernel
from tests.back.harness import Array, Failed
from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.tile.emitted import emitted
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.tile.programs import function_of, weighted, weighted_text

_LOAD = re.compile(r"ld\.global\.nc\.L2::256B\.b32")
_NEAR_LOAD = re.compile(r"\tld\.b32 ")


def multiplied(
    function: Function, format: str, tile: tuple[int, int], m: int, n: int, k: int, *, checks: bool = True,
    seed: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """A product by a tile program, and by NumPy from the weights that the blocks stand for."""
    random = np.random.default_rng([m, n, k])
    w = kernels.quantize(random.standard_normal((m, k)), format)
    x = np.asfortranarray(random.integers(-4, 5, (k, n)).astype(np.float16))
    c = np.full((m, n), 77, np.float32, order="F")
    made = emitted(tile_kernel(function, checks=checks), checks=checks)
    TileMachineKernel(function, made)((-(-m // tile[0]), -(-n // tile[1]), 1), w, x, c, seed=seed)
    weights = kernels.dequantize(w, format).astype(np.float16)
    return c, weights.astype(np.float32) @ x.astype(np.float32)


@pytest.mark.parametrize("format", ["q4_0", "q8_0"])
@pytest.mark.parametrize(
    ("m", "n", "k", "seed"),
    [(64, 16, 128, None), (72, 24, 192, 1), (72, 8, 96, None)],
    ids=["tiles inside", "edges", "blocks at odd places"],
)
def test_products(format: str, m: int, n: int, k: int, seed: int | None) -> None:
    found, wanted = multiplied(weighted(format), format, (64, 16), m, n, k, seed=seed)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


def test_blocks_that_are_not_there() -> None:
    """A tile that lies outside is found, nothing is read there, and nobody ends: other tiles are as they should be."""
    text = weighted_text().replace("slice %w2[%row:64", "slice %w2[%past:64").replace(
        "%w2 = tensor_layout_set_dimension %w1[%rows", "%w2 = tensor_layout_set_dimension %w1[%more"
    )  # fmt: skip
    text = text.replace(
        "%row = mul %i, %tile_rows : index",
        """%row = mul %i, %tile_rows : index
    %hundred = constant 100 : index
    %moved = mul %i, %hundred : index
    %past = add %row, %moved : index
    %more = add %rows, %hundred : index
    %most = add %more, %hundred : index""",
    )
    with pytest.raises(Failed) as found:
        multiplied(function_of(text), "q4_0", (64, 16), 128, 16, 64)
    assert found.value.code == "run.out_of_bounds" and found.value.argument == "W"


@pytest.mark.parametrize(
    ("format", "k", "seed"), [("q4_0", 512, None), ("q8_0", 512, 2), ("q4_0", 320, 3)],
    ids=["blocks of 18 bytes", "blocks of 34 bytes", "lines that are no multiple of 16 bytes"],
)  # fmt: skip
def test_products_of_blocks_in_rings(format: str, k: int, seed: int | None) -> None:
    found, wanted = multiplied(weighted(format, depth=256), format, (64, 16), 72, 24, k, seed=seed)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-3)


@needs_ptxas
@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize(
    ("rows", "columns", "depth", "producers"),
    [(64, 16, 256, 4), (64, 64, 256, 3), (128, 64, 128, 2), (128, 256, 64, 1)],
)
def test_blocks_are_read_as_a_whole(
    rows: int, columns: int, depth: int, producers: int, checks: bool, tmp_path: Path
) -> None:
    """In words that two blocks of 18 bytes share, by several warpgroups where registers suffice."""
    kernel = tile_kernel(weighted(rows=rows, columns=columns, depth=depth), checks=checks)
    assert kernel.producer.warpgroups == producers
    made = emitted(kernel, checks=checks)
    together = 2 if rows * depth % (2 * 64 * 128) == 0 and not checks else 1
    pattern, count = (_NEAR_LOAD, 1) if kernel.block_rings else (_LOAD, together)
    assert len(pattern.findall(made.ptx)) == 2 * count * 9, "two loops, of tiles inside and at edges"
    assert "cvt.rn.f32.s" not in made.ptx, "weights are taken out of words with the exponent of a float around them"
    found = ptxas(made.ptx, "sm_90a", tmp_path)
    assert found.problems == "" and found.spilled == found.stack == 0
