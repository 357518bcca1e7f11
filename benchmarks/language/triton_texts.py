"""The two kernels in Triton that `triton_interpreter.py` compares with; importing this needs triton."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def gemm(a: Any, b: Any, c: Any, size: tl.constexpr, tile: tl.constexpr) -> None:
    """C = A B for square row-major matrices, a tile a program."""
    rows = tl.program_id(0) * tile + tl.arange(0, tile)
    columns = tl.program_id(1) * tile + tl.arange(0, tile)
    depth = tl.arange(0, tile)
    total = tl.zeros((tile, tile), tl.float32)
    for start in range(0, size, tile):
        x = tl.load(a + rows[:, None] * size + (start + depth)[None, :])
        y = tl.load(b + (start + depth)[:, None] * size + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * size + columns[None, :], total)


@triton.jit
def softmax(a: Any, b: Any, length: tl.constexpr) -> None:
    """Softmax of each row, a row a program."""
    places = tl.program_id(0) * length + tl.arange(0, length)
    x = tl.load(a + places)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(b + places, e / tl.sum(e, axis=0))
