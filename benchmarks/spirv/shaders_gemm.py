"""Products of matrices as compute shaders, compiled for the CPU, against girih's own kernels; and interpreted.

    python benchmarks/spirv/shaders_gemm.py                     the shaders of examples/shaders
    python benchmarks/spirv/shaders_gemm.py --modules FOLDER    also llama.cpp's, as NAME.spv in a folder
    python benchmarks/spirv/shaders_gemm.py --save              also write benchmarks/results/DATE-shaders-gemm.json

Products of f16 are held against `gemm` with f32 sums, those with weights of four bits against `gemm_q4_0`. Everything
runs on one CPU, with checks; shaders and kernels take turns, and a figure is the least processor time of many turns, so
that other processes disturb it little. The interpreter's time is that of one launch with all checks, races included.
Nothing is asserted but that results are right.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih import kernels
from girih.bench.machine import environment
from girih.kernels.quantized import dequantize, quantize

ROOT = Path(__file__).resolve().parent.parent
SHADERS = ROOT.parent / "examples" / "shaders"
RESULTS = ROOT / "results"
SIZES = (512, 1024)
INTERPRETED = 256
TURNS = 15

Array = NDArray[Any]


@dataclass(frozen=True)
class Product:
    """A call that fills `result`, which is to be `wanted`."""

    name: str
    peer: str
    call: Callable[[], object]
    result: Array
    wanted: Array


@dataclass(frozen=True)
class Shader:
    """A module with a product: its file, the values of its constants, rows and columns of a tile, what it computes."""

    file: str
    definitions: dict[int, int]
    tile: int
    quantised: bool = False

    @property
    def name(self) -> str:
        """The name in the table."""
        return f"{self.file} {' '.join(f'{key}={value}' for key, value in self.definitions.items())}".strip()


OWN = (
    Shader("matmul.spv", {0: 0}, 64),
    Shader("matmul.spv", {0: 1}, 64),
    Shader("matmul_cm2.spv", {}, 64),
    Shader("matmul_q4_0.spv", {}, 64, quantised=True),
)
LLAMA = (
    Shader("matmul_f16_cm2.spv", {0: 128, 1: 64, 2: 64, 3: 64}, 64),
    Shader("matmul_f16_cm2.spv", {0: 256, 1: 128, 2: 128, 3: 64}, 128),
    Shader("matmul_q4_0_f16_cm2.spv", {0: 128, 1: 64, 2: 64, 3: 64}, 64, quantised=True),
    Shader("matmul_q4_0_f16_cm2.spv", {0: 256, 1: 128, 2: 128, 3: 64, 4: 1}, 128, quantised=True),
    Shader("matmul_f16_cm1.spv", {0: 128, 1: 64, 2: 64, 4: 32, 5: 32, 6: 2, 7: 16, 8: 16, 9: 16, 10: 32, 11: 1}, 64),
)


class Problem:
    """C = A B and C = W B for square matrices of a size, in all the forms that shaders and kernels take."""

    def __init__(self, size: int) -> None:
        source = np.random.default_rng(size)
        self.size = size
        self.a, self.b = (source.standard_normal((size, size)).astype(np.float16) for _ in range(2))
        self.blocks = quantize(source.standard_normal((size, size)), "q4_0")
        self.product = self.a.astype(np.float32) @ self.b.astype(np.float32)
        self.weights = dequantize(self.blocks, "q4_0")

    def own(self, shader: Shader, target: str) -> Product:
        """A shader of examples/shaders."""
        n, left, right, wanted = self.size, self.a, self.b, self.product
        if shader.quantised:
            left, right = np.ascontiguousarray(self.blocks.T), self.a
            wanted = self.a.astype(np.float32) @ self.weights.T
        return self._shader(shader, SHADERS, target, (left, right), struct.pack("<3I", n, n, n), wanted)

    def llama(self, shader: Shader, folder: Path, target: str) -> Product:
        """A shader of llama.cpp: B and C are transposed; sizes and strides, one matrix, no split."""
        n = self.size
        sizes = [n] * 6 + [n * n] * 3 + [0, 1, n, 1, 1, 1, 1] + ([n] if "cm2" in shader.file else [])
        left = np.ascontiguousarray(self.blocks.T) if shader.quantised else self.a
        wanted = (self.weights @ self.b.astype(np.float32) if shader.quantised else self.product).T
        arrays = (left, np.ascontiguousarray(self.b.T))
        return self._shader(shader, folder, target, arrays, struct.pack(f"<{len(sizes)}I", *sizes), wanted)

    def _shader(
        self, shader: Shader, folder: Path, target: str, arrays: tuple[Array, Array], constants: bytes, wanted: Array
    ) -> Product:
        n, result = self.size, np.zeros((self.size, self.size), np.float32)
        kernel = girih.load(folder / shader.file, target, shader.definitions)["main"]
        launch = kernel[-(-n // shader.tile), -(-n // shader.tile), 1]
        bindings = {(0, k): array.reshape(-1) for k, array in enumerate((*arrays, result))}
        peer = "gemm_q4_0" if shader.quantised else "gemm"
        return Product(shader.name, peer, lambda: launch(bindings, push_constants=constants), result, wanted)

    def kernels(self) -> Iterator[Product]:
        """girih's own kernels."""
        n, types = self.size, {"type": "f16", "accumulator": "f32"}
        a, b = np.asfortranarray(self.a), np.asfortranarray(self.b)
        first, second = (np.zeros((n, n), np.float32, order="F") for _ in range(2))
        gemm = girih.load(kernels.path("gemm"), "cpu", types)["gemm"][-(-n // 32), -(-n // 32)]
        yield Product("gemm", "gemm", lambda: gemm(1.0, a, b, 0.0, first), first, self.product)
        decoding = girih.load(kernels.path("gemm_q4_0"), "cpu", {"type": "f16"})["gemm_q4_0"][-(-n // 64), -(-n // 32)]
        wanted = self.weights @ self.b.astype(np.float32)
        yield Product("gemm_q4_0", "gemm_q4_0", lambda: decoding(self.blocks, b, second), second, wanted)


def check(product: Product) -> None:
    """Run a product once. Raises where the result is wrong."""
    product.call()
    np.testing.assert_allclose(product.result, product.wanted, atol=2e-3 * float(np.abs(product.wanted).max()), rtol=0)


def compiled(size: int, folder: Path | None) -> list[dict[str, Any]]:
    """The processor time of each product, and how many times that of its peer it is."""
    problem = Problem(size)
    products = [problem.own(shader, "cpu") for shader in OWN]
    if folder is not None:
        products += [problem.llama(shader, folder, "cpu") for shader in LLAMA]
    products += problem.kernels()
    for product in products:
        check(product)
    times: dict[str, list[float]] = {product.name: [] for product in products}
    for _ in range(TURNS):
        for product in products:
            begin = time.process_time()
            product.call()
            times[product.name].append(time.process_time() - begin)
    return [
        {
            "product": one.name, "size": size, "ms": 1e3 * min(times[one.name]),
            "GFLOP/s": 2e-9 * size**3 / min(times[one.name]), "peer": one.peer,
            "ratio": min(times[one.name]) / min(times[one.peer]),
        }
        for one in products
    ]  # fmt: skip


def interpreted(folder: Path | None) -> Iterator[dict[str, Any]]:
    """The seconds of one launch in the interpreter."""
    problem = Problem(INTERPRETED)
    products = [problem.own(shader, "interpreter") for shader in OWN]
    if folder is not None:
        products += [problem.llama(shader, folder, "interpreter") for shader in LLAMA]
    for product in products:
        begin, processor = time.perf_counter(), time.process_time()
        check(product)
        seconds = time.perf_counter() - begin
        yield {"product": product.name, "size": INTERPRETED, "interpreted s": seconds,
               "processor s": time.process_time() - processor}  # fmt: skip


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=Path, help="a folder with llama.cpp's shaders as NAME.spv")
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    arguments = parser.parse_args()
    if sys.platform == "linux":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = [row for size in SIZES for row in compiled(size, arguments.modules)] + [*interpreted(arguments.modules)]
    for row in rows:
        print(
            "  ".join(f"{name} {value:.2f}" if isinstance(value, float) else f"{value}" for name, value in row.items())
        )
    if arguments.save:
        target = RESULTS / f"{datetime.date.today().isoformat()}-shaders-gemm.json"
        kept = {"environment": environment(1), "rows": rows}
        target.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
