"""Convolutions as tile programs in PTX: products of warpgroups whose pixels come by copies of four dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.tile.emitted import emitted_from
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.tile.convolutions import arguments, convolution, convolved
from tests.tile.programs import function_of


@pytest.mark.parametrize(
    ("taps", "dilation", "pad", "stride", "pixels_left"), [(3, 1, 1, 1, True), (2, 2, 1, 1, False), (3, 1, 1, 2, True)]
)
def test_convolution(taps: int, dilation: int, pad: int, stride: int, pixels_left: bool) -> None:
    """With windows beyond all edges of two images, and fewer channels than are taken at a time."""
    text = convolution(dilation=dilation, pad=pad, pixels_left=pixels_left, stride=stride)
    x, f, c = arguments((72, 20 * stride, 9 * stride, 2), taps, dilation=dilation, pad=pad, stride=stride)
    q, p = c.shape[1:3]
    machine = TileMachineKernel(function_of(text), emitted_from(text, checks=True))
    machine((-(-q // 16) * -(-p // 8), 2, 1), x, f, c, copies="late", seed=taps)
    np.testing.assert_array_equal(c, convolved(x, f, (q, p), dilation=dilation, pad=pad, stride=stride))


@needs_ptxas
@pytest.mark.parametrize("pixels_left", [True, False])
def test_copies_and_products(pixels_left: bool, tmp_path: Path) -> None:
    ptx = emitted_from(convolution(pixels_left=pixels_left), checks=True).ptx
    assert "wgmma.mma_async" in ptx and "cp.async.bulk.tensor.4d" in ptx
    found = ptxas(ptx, "sm_90a", tmp_path)
    assert found.problems == "" and found.spilled == found.stack == 0
