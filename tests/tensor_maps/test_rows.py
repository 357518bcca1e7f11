"""Rows of tensor copies on the CPU: which of them are one loop, and stores that begin in the middle of a line."""

from __future__ import annotations

from itertools import product

import numpy as np

from girih import kernels
from girih.addressing import TensorMap
from girih.back.llvm.lower.launch import descriptor as layout
from girih.runtime.compiled.descriptor import _described
from tests.cases import every_case

COLUMNS, BOX_ROWS = 128, 9
ROWS, PITCH = 20, 400
"""Rows are whole pieces of 16 bytes apart; five of them are whole lines."""


def test_rows_side_by_side_are_the_innermost_loop() -> None:
    words = _described(TensorMap.of(np.zeros((2, 32, 64), np.float32), (64, 16, 1)))
    counts = [int(words[layout.dimension(number) + layout.COUNT]) for number in range(layout.DIMENSIONS)]
    assert counts == [16, 1, 1, 1, 1]


def test_stores_from_each_piece_of_a_line() -> None:
    """Lines are stored as a whole, and what lies before, behind and between them as it must be."""
    kernel = kernels.copy_boxes(columns=COLUMNS, rows=BOX_ROWS, target="cpu")
    room = np.zeros((2, ROWS * PITCH + 32), np.float32)
    with every_case() as case:
        for piece, width in product(range(4), (PITCH - 1, PITCH - 16, COLUMNS)):
            with case(f"from piece {piece} of a line on, {width} columns"):
                begin = -room.ctypes.data // 4 % 16 + 4 * piece
                a, b = (flat[begin:][: ROWS * PITCH].reshape(ROWS, PITCH) for flat in room)
                a[...] = np.arange(a.size).reshape(a.shape)
                room[1] = -1
                kernel(*(TensorMap.of(one[:, :width], (COLUMNS, BOX_ROWS)).bind(one[:, :width]) for one in (a, b)))
                np.testing.assert_array_equal(b[:, :width], a[:, :width])
                # Of padding, a store may touch what is left of the last 16 bytes of a row.
                assert (b[:, -(-width // 4) * 4 :] == -1).all() and (room[1, :begin] == -1).all()
