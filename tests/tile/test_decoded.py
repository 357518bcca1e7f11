"""Factors that a region decodes from blocks: who does it, and that schedules with them hold."""

from __future__ import annotations

import numpy as np
import pytest

from girih import kernels
from girih.tile.budget import MOST_SHARED_BYTES, layout_of
from girih.tile.form import Gather, Supply, walk
from girih.tile.recognise import tile_kernel
from girih.tile.show import show
from tests.conftest import Golden
from tests.tile.programs import weighted
from tests.tile.test_simulate import same_as_interpreter


def test_the_form(golden: Golden) -> None:
    golden("tile/weights.txt", show(tile_kernel(weighted())))


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "producers", "registers"),
    [(64, 16, 256, 3, (128, 128)), (128, 64, 128, 2, (128, 128)), (64, 256, 64, 2, (128, 248)),
     (128, 256, 64, 1, (120, 192))],
)  # fmt: skip
def test_who_decodes(rows: int, columns: int, depth: int, producers: int, registers: tuple[int, int]) -> None:
    """Several warpgroups of the producer, where registers suffice; each has as many slots as every other one."""
    kernel = tile_kernel(weighted(rows=rows, columns=columns, depth=depth))
    supplies = [step for step in walk(kernel.producer.body) if isinstance(step, Supply)]
    assert [[copy.tile for copy in step.copies if isinstance(copy, Gather)] for step in supplies] == [["left"]] * 2
    assert kernel.producer.warpgroups == producers
    assert (kernel.producer.registers, kernel.consumers.registers) == registers
    (ring,) = kernel.rings
    assert ring.slots % producers == 0 or ring.slots < producers
    assert layout_of(kernel).bytes <= MOST_SHARED_BYTES
    assert {one.reason for one in kernel.slower} == {"components are decoded when they are loaded"}


@pytest.mark.parametrize("format", ["q4_0", "q8_0"])
def test_as_the_interpreter(format: str) -> None:
    """In every order, at edges and inside."""
    function = weighted(format)
    random = np.random.default_rng(3)
    m, n, k = 72, 24, 96
    w = kernels.quantize(random.standard_normal((m, k)), format)
    x = np.asfortranarray(random.integers(-4, 5, (k, n)).astype(np.float16))
    c = np.full((m, n), 77, np.float32, order="F")
    same_as_interpreter(function, tile_kernel(function), (2, 2, 1), [w, x, c])
