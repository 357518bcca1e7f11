"""Shaders without matrices on the CPU target, beside lavapipe, Mesa's Vulkan driver for the CPU, on the same modules.

    python benchmarks/spirv/shaders.py              five shaders of examples/shaders, as many threads as there are CPUs
    python benchmarks/spirv/shaders.py --save       also write benchmarks/results/DATE-shaders.json

A turn of ours is a launch on NumPy's arrays, with checks; one of lavapipe is what the driver says that it took, with
arrays in its memory. Both compile before. Times are best of several, and nothing else should run. Without lavapipe its
column is empty. Nothing is asserted but that results are right.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.bench.machine import environment, usable_cpus
from girih.kernels.quantized import dequantize, quantize
from girih.runtime.vulkan.opened import can_launch
from girih.runtime.vulkan.shader import VulkanShader

ROOT = Path(__file__).resolve().parents[2]
TURNS = 9
LAVAPIPE = "libvulkan_lvp.so"
"""Mesa's driver for the CPU, as Linux distributions install it (`mesa-vulkan-drivers`)."""

TOLERANCE = 2e-4
"""How far results may be from NumPy's, of the largest of them: sums have other orders."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Shader:
    """A launch: a file of `examples/shaders`, the grid, what is read, what NumPy makes of it, and push constants."""

    name: str
    grid: tuple[int, ...]
    inputs: tuple[Array, ...]
    expected: Array
    push: Mapping[str, int | float]

    @property
    def module(self) -> Path:
        """The compiled shader."""
        return ROOT / "examples" / "shaders" / f"{self.name}.spv"

    def arrays(self) -> list[Array]:
        """What is bound, in order of bindings; the result is the last."""
        return [*self.inputs, np.zeros(self.expected.size, np.float32)]

    def check(self, result: Array, who: str) -> None:
        """Raises `AssertionError` for a result that is not NumPy's."""
        expected = self.expected.reshape(-1)
        error = np.abs(result - expected).max() / np.abs(expected).max()
        assert error < TOLERANCE, f"{self.name}: {who} is off by {error}"


@dataclass(frozen=True)
class Row:
    """Milliseconds of a launch, ours and lavapipe's, and ours over lavapipe's."""

    shader: str
    ours: float
    lavapipe: float | None
    ratio: float | None


def softmax(x: Array) -> Array:
    """The softmax of each row."""
    raised = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def shaders() -> list[Shader]:
    """The launches, from the shortest work-group to the longest."""
    random = np.random.default_rng(0)
    rows, columns = 1024, 4096
    x, y = (random.standard_normal((rows, columns), np.float32) for _ in range(2))
    norm = x / np.sqrt((x * x).mean(1, keepdims=True) + np.float32(1e-5))
    weights = random.standard_normal((4096, 4096), np.float32)
    blocks = quantize(weights, "q4_0")
    decoded = dequantize(blocks, "q4_0")
    vector = random.standard_normal(4096, np.float32)
    a, b = (random.standard_normal((512, 512), np.float32) for _ in range(2))
    flat = x.reshape(-1)
    return [
        Shader("add", (x.size // 256,), (flat, y.reshape(-1)), x + y, {"count": x.size}),
        Shader("rms_norm", (rows,), (flat,), norm, {"columns": columns, "epsilon": 1e-5}),
        Shader("softmax", (rows,), (flat,), softmax(x), {"columns": columns}),
        Shader("matvec_q4_0", (4096,), (blocks.ravel("F"), vector), decoded @ vector, {"columns": 4096}),
        Shader("matmul_scalar", (8, 8), (a.reshape(-1), b.reshape(-1)), a @ b, {"M": 512, "N": 512, "K": 512}),
    ]


def best(call: Callable[[], object], turns: int) -> float:
    """Seconds of the fastest call."""
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def measured(shader: Shader, peers: bool, turns: int) -> Row:
    """One shader on both."""
    arrays = shader.arrays()
    kernel = girih.load(shader.module, "cpu")["main"][shader.grid]
    bound = {(0, binding): array for binding, array in enumerate(arrays)}
    ours = best(lambda: kernel(bound, push_constants=shader.push), turns)
    shader.check(arrays[-1], "girih")
    if not peers:
        return Row(shader.name, 1e3 * ours, None, None)
    arrays = shader.arrays()
    other = girih.load(shader.module, "vulkan", checks="off")["main"][shader.grid].options(repeat=turns)
    other({(0, binding): array for binding, array in enumerate(arrays)}, push_constants=shader.push)
    shader.check(arrays[-1], "lavapipe")
    assert isinstance(other.executor, VulkanShader)
    peer = min(other.executor.times)
    return Row(shader.name, 1e3 * ours, 1e3 * peer, ours / peer)


def table(rows: Sequence[Row]) -> str:
    """The rows in text."""
    lines = [f"{'shader':<16}{'girih, ms':>12}{'lavapipe, ms':>14}{'ratio':>8}"]
    for row in rows:
        peer = ("-", "-") if row.lavapipe is None else (f"{row.lavapipe:.2f}", f"{row.ratio:.2f}")
        lines.append(f"{row.shader:<16}{row.ours:>12.2f}{peer[0]:>14}{peer[1]:>8}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and save if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/DATE-shaders.json")
    options = parser.parse_args()
    os.environ["GIRIH_VULKAN_DRIVER"] = LAVAPIPE
    peers = can_launch()
    rows = [measured(shader, peers, options.turns) for shader in shaders()]
    print(table(rows))
    if options.save:
        machine = environment(usable_cpus())
        path = ROOT / "benchmarks" / "results" / f"{machine['date']}-shaders.json"
        path.write_text(json.dumps({"environment": machine, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
