"""Products with quantised weights on the CPU target: against the memory's bandwidth, and decoding in NumPy.

    python benchmarks/cpu/quantised.py                  both formats, matrix times vector and matrix, on 1 and 2 threads
    python benchmarks/cpu/quantised.py --save           also write benchmarks/results/DATE-quantised.json

The vector product is held against the bandwidth of one thread for y := x + y, as in `girih bench`; the matrix product
against `dequantize(W) @ X` on as many threads, with the kernels of OpenBLAS that are fastest here. Times are best of
several. Threads share memory and caches, so nothing else should run. Nothing is asserted but that results are right.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.bench.machine import cpu_info, environment
from girih.bench.measuring.peak import bandwidth
from girih.bench.peers.openblas import fastest_core
from girih.bench.session import child_environment
from girih.kernels.quantized import FORMATS, WEIGHTS, dequantize
from girih.kernels.texts import path

RESULTS = Path(__file__).resolve().parent.parent / "results"
VECTOR = (16384, 4096)
"""Rows and columns of W: several times the caches."""
MATRIX = ((2048, 2048, 256), (2048, 2048, 32))
"""M x K x N."""
TURNS = 15

Array = NDArray[Any]


def best(call: Callable[[], object], turns: int = TURNS) -> float:
    """Seconds of the fastest call."""
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def blocks(format: str, rows: int, columns: int) -> Array:
    """Blocks of random bytes with scales from 1 to 2."""
    source = np.random.default_rng([rows, columns])
    held = source.integers(0, 256, (rows, columns // WEIGHTS, FORMATS[format].size), dtype=np.uint8)
    held[..., :2] = (1 + source.random((*held.shape[:2], 1))).astype(np.float16).view(np.uint8)
    return held.view(np.int8).T


def close(found: Array, wanted: Array) -> None:
    """Raises where a result is wrong."""
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3 * float(np.abs(wanted).max()))


def vector(format: str, checks: str) -> dict[str, Any]:
    """y := W x."""
    rows, columns = VECTOR
    w, x, y = (
        blocks(format, rows, columns),
        np.random.default_rng(1).random(columns, np.float32),
        np.zeros(rows, np.float32),
    )
    kernel = girih.load(path(f"gemv_{format}"), target="cpu", checks=checks)[f"gemv_{format}"][-(-rows // 64)]
    kernel(w, x, y)
    close(y[:256], dequantize(w[:, :, :256], format) @ x)
    seconds = best(lambda: kernel(w, x, y))
    stream = bandwidth()
    of_thread = stream.amount / best(stream.call, 5) / 1e9
    rate = w.nbytes / seconds / 1e9
    return {
        "product": f"gemv_{format}", "checks": checks, "size": f"{rows}x{columns}", "ms": 1e3 * seconds,
        "GB/s": rate, "GB/s of one thread": of_thread, "share": rate / of_thread,
    }  # fmt: skip


def matrix(format: str, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """C := W X."""
    m, k, n = sizes
    w = blocks(format, m, k)
    x = np.asfortranarray(np.random.default_rng(1).random((k, n), np.float32))
    c = np.zeros((m, n), np.float32, order="F")
    kernel = girih.load(path(f"gemm_{format}"), target="cpu", checks="off")[f"gemm_{format}"][-(-m // 64), -(-n // 32)]
    kernel(w, x, c)
    close(c, dequantize(w, format) @ x)
    seconds, other = best(lambda: kernel(w, x, c)), best(lambda: dequantize(w, format) @ x, 5)
    return {
        "product": f"gemm_{format}", "checks": "off", "size": f"{m}x{k}x{n}", "ms": 1e3 * seconds,
        "GFLOP/s": 2e-9 * m * k * n / seconds, "NumPy ms": 1e3 * other, "ratio": other / seconds,
    }  # fmt: skip


def measured() -> list[dict[str, Any]]:
    """All of it on the threads that this process has."""
    formats = sorted(FORMATS)
    rows = [vector(format, checks) for format in formats for checks in ("off", "bounds")]
    return rows + [matrix(format, sizes) for format in formats for sizes in MATRIX]


def on_threads(count: int) -> list[dict[str, Any]]:
    """All of it in a process with so many threads."""
    command = [sys.executable, __file__, "--child"]
    variables = child_environment(count, fastest_core(cpu_info()))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return [{"threads": count, **row} for row in json.loads(done.stdout)]


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measured()))
        return
    rows = [row for count in (1, 2) for row in on_threads(count)]
    for row in rows:
        print(
            "  ".join(f"{name} {value:.2f}" if isinstance(value, float) else f"{value}" for name, value in row.items())
        )
    if arguments.save:
        target = RESULTS / f"{datetime.date.today().isoformat()}-quantised.json"
        kept = {"environment": environment(2), "rows": rows}
        target.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
