"""The interpreter against Triton's interpreter: the same GEMM and the same softmax, in one run, as ratios.

    pip install torch triton        (optional: nothing else in girih needs them)
    python benchmarks/language/triton_interpreter.py [--save]

Both run on the CPU with 32 x 32 tiles of f32; a softmax kernel takes one column or row of 1024. girih checks every
access, Triton's interpreter none.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import girih
from benchmarks.language.run import Row, keep, seconds, show

SIZE, TILE, LENGTH = 512, 32, 1024


def triton_kernels() -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """torch, and a GEMM and a softmax of Triton, to be interpreted; leaves the program where they are not installed."""
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        import torch

        from benchmarks.language import triton_texts
    except ImportError as error:
        sys.exit(f"this comparison needs torch and triton: {error}")
    return torch, triton_texts.gemm, triton_texts.softmax


def alternating(ours: Callable[[], object], theirs: Callable[[], object], runs: int) -> Row:
    """Medians of both and of the ratio theirs / ours over alternating runs."""
    ours()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
    a, b = zip(*pairs, strict=True)
    return {"ms": statistics.median(a) * 1e3, "peer_ms": statistics.median(b) * 1e3,
            "times_faster": statistics.median(y / x for x, y in pairs)}  # fmt: skip


def gemm(torch: Any, kernel: Any, runs: int) -> Row:
    """512^3 in f32."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((SIZE, SIZE), dtype=np.float32) for _ in range(2))
    c = np.zeros((SIZE, SIZE), np.float32, order="F")
    x, y, z = torch.from_numpy(a), torch.from_numpy(b), torch.zeros(SIZE, SIZE)
    left, right = np.asfortranarray(a), np.asfortranarray(b)
    tiles = SIZE // TILE
    ours = girih.kernels.gemm()[tiles, tiles]
    row = alternating(lambda: ours(1.0, left, right, 0.0, c), lambda: kernel[(tiles, tiles)](x, y, z, SIZE, TILE), runs)
    assert np.allclose(c, z.numpy(), atol=1e-3)
    flops = 2 * SIZE**3 / 1e6
    return {"what": "gemm 512^3 f32, 32x32 tiles", **row, "gflops": flops / row["ms"],
            "peer_gflops": flops / row["peer_ms"], "peer": "Triton's interpreter", "goal": "-"}  # fmt: skip


def softmax(torch: Any, kernel: Any, runs: int) -> Row:
    """1024 softmaxes of length 1024."""
    a = np.random.default_rng(0).standard_normal((LENGTH, LENGTH), dtype=np.float32)
    b = np.zeros_like(a)
    x, y = torch.from_numpy(a), torch.zeros(LENGTH, LENGTH)
    ours = girih.kernels.softmax()[LENGTH]
    row = alternating(lambda: ours(a.T, b.T), lambda: kernel[(LENGTH,)](x, y, LENGTH), runs)
    assert np.allclose(b, y.numpy(), atol=1e-6)
    return {"what": "softmax of 1024 x 1024 f32", **row, "peer": "Triton's interpreter", "goal": "-"}


def main() -> None:
    """Measure, print, and keep the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results/")
    parser.add_argument("--runs", type=int, default=3, help="runs of each figure")
    arguments = parser.parse_args()
    torch, gemm_kernel, softmax_kernel = triton_kernels()
    rows = [gemm(torch, gemm_kernel, arguments.runs), softmax(torch, softmax_kernel, arguments.runs)]
    show(rows)
    if arguments.save:
        keep("triton-interpreter", rows)


if __name__ == "__main__":
    main()
