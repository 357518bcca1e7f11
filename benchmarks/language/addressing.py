"""How long the address models take for 1024 x 1024 elements; the goal is 50 ms.

python benchmarks/language/addressing.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from girih.addressing import BlockedInterleaved, Strided, TensorLayout, TensorView, load_tensor, store_tensor
from girih.addressing.tensor_layout import ClampMode

SIZE = 1024
GOAL = 50.0
REPEATS = 7
CLAMP_MODES: tuple[ClampMode, ...] = ("undefined", "constant", "clamp_to_edge", "repeat", "mirror_repeat")


def milliseconds(work: Callable[[], object]) -> tuple[float, float]:
    """The first and the median time of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return times[0], sorted(times)[REPEATS // 2]


def layouts() -> dict[str, tuple[TensorLayout, TensorView | None]]:
    """Plain and difficult layouts, each for a matrix of 1024 x 1024."""
    found: dict[str, tuple[TensorLayout, TensorView | None]] = {}
    for mode in CLAMP_MODES:
        plain = TensorLayout(2, mode).set_dimension(1000, 1000)
        inside = TensorLayout(2, mode).set_dimension(2048, 2048).slice((5, SIZE), (7, SIZE))
        found[f"2 dimensions, {mode}"] = (inside if mode == "undefined" else plain.slice((-3, SIZE), (9, SIZE)), None)
    found["2 dimensions, transposing view"] = (found["2 dimensions, repeat"][0], TensorView(2, False, (1, 0)))
    found["2 dimensions, clip"] = (found["2 dimensions, repeat"][0], TensorView(2).set_clip(3, 900, 5, 800))
    found["1 dimension, span of 2^20"] = (TensorLayout(1, "repeat").set_dimension(1000).slice((-1, 1 << 20)), None)
    blocks = TensorLayout(5, "mirror_repeat").set_block_size(1, 2, 1, 2, 4).set_dimension(4, 8, 8, 60, 60)
    sliced = blocks.slice((-1, 4), (-1, 8), (0, 8), (-2, 64), (-2, 64))
    found["5 dimensions, blocks"] = (sliced, None)
    view = TensorView(5, True, (4, 3, 2, 1, 0)).set_dimension(4, 8, 8, 64, 64)
    found["5 dimensions, blocks, view of 5"] = (sliced, view)
    return found


def row(name: str, work: Callable[[], object]) -> None:
    """Print one line."""
    first, median = milliseconds(work)
    print(f"{name:45} {first:8.1f} {median:8.1f}   {median / GOAL:5.2f} of the goal")


def main() -> None:
    print(f"{'1024 x 1024':45} {'first':>8} {'median':>8}   ms")
    for name, (layout, view) in layouts().items():
        row(f"access: {name}", partial(layout.access, SIZE, SIZE, view))
    layout, view = layouts()["5 dimensions, blocks, view of 5"]
    row("the same with block and within", lambda: layout.access(SIZE, SIZE, view).block)
    matrix, buffer = np.zeros((SIZE, SIZE), np.float32), np.zeros(2048 * 2048, np.float32)
    plain = layouts()["2 dimensions, constant"][0]
    row("load_tensor: 2 dimensions, constant", lambda: load_tensor(matrix, buffer, 0, plain))
    row("store_tensor: 2 dimensions, constant", lambda: store_tensor(matrix, buffer, 0, plain))
    blocked = BlockedInterleaved("row", SIZE, SIZE, 4, 4)
    row("access: blocked interleaved", blocked.access)
    row("load: blocked interleaved", lambda: blocked.load(buffer))
    row("access: strided", Strided((SIZE, SIZE), (1, 2048)).access)


if __name__ == "__main__":
    main()
