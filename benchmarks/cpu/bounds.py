"""What `checks="bounds"` costs: kernels with and without checks, in one process, alternating, least of several times.

    python benchmarks/cpu/bounds.py

A kernel that computes much for each element hardly notices the checks; one that mostly computes addresses does. The
inverse of 9x9 matrices, batch first, and the stencil are of the second kind.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import numpy as np

import girih
from girih.bench.machine import cpu_name
from girih.kernels import texts

INVERSE = """
func @inverse(%A: memref<f32x?x9x9>) attributes{subgroup_size=16,work_group_size=[16,1]} {
    %zero = constant 0 : index
    %nine = constant 9 : index
    %n = size %A[0] : index
    foreach (%b)=(%zero),(%n) {
        %one = constant 1.0 : f32
        %none = constant 0.0 : f32
        for %k=%zero,%nine {
            %pivot = load %A[%b,%k,%k] : f32
            %scale = div %one, %pivot : f32
            store %one, %A[%b,%k,%k]
            for %j=%zero,%nine {
                %x = load %A[%b,%k,%j] : f32
                %y = mul %x, %scale : f32
                store %y, %A[%b,%k,%j]
            }
            for %i=%zero,%nine {
                %other = not_equal %i, %k : bool
                if %other {
                    %f = load %A[%b,%i,%k] : f32
                    store %none, %A[%b,%i,%k]
                    for %j=%zero,%nine {
                        %x = load %A[%b,%k,%j] : f32
                        %y = load %A[%b,%i,%j] : f32
                        %p = mul %f, %x : f32
                        %d = sub %y, %p : f32
                        store %d, %A[%b,%i,%j]
                    }
                }
            }
        }
    }
}
"""


def inverse(checks: str) -> Callable[[], object]:
    """The inverse of 4000 matrices, by Gauss and Jordan in place."""
    kernel = girih.loads(INVERSE, target="cpu", checks=checks)["inverse"]
    random = np.random.default_rng(1)
    start = np.asfortranarray(random.random((4000, 9, 9), np.float32) + 9 * np.eye(9, dtype=np.float32))
    held = start.copy(order="F")
    kernel(held)
    if not np.allclose(held @ start, np.eye(9), atol=1e-4):
        raise AssertionError("the inverse is wrong")

    # Twice gives the matrices again, but for rounding: no copy is measured.
    return lambda: kernel(held)


def softmax(checks: str) -> Callable[[], object]:
    """The softmax of 512 columns of 1024 elements."""
    kernel = girih.load(texts.path("softmax"), target="cpu", checks=checks)["softmax"]
    a = np.asfortranarray(np.random.default_rng(1).random((1024, 512), np.float32))
    b = np.empty_like(a)
    return lambda: kernel[512](a, b)


def stencil(checks: str) -> Callable[[], object]:
    """A stencil of order 8 on 96 x 96 x 96 elements."""
    kernel = girih.load(texts.path("stencil"), target="cpu", checks=checks)["stencil"]
    weights = np.array([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560], np.float32)
    u = np.asfortranarray(np.random.default_rng(1).random((104, 104, 104), np.float32))
    v = np.zeros((96, 96, 96), np.float32, order="F")
    return lambda: kernel[3, 12, 6](weights, u, v)


def least_seconds(calls: Sequence[Callable[[], object]], rounds: int = 40) -> list[float]:
    """The least time of each, called by turns."""
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            least[number] = min(least[number], time.perf_counter() - begin)
    return least


def main() -> None:
    """Print a row for each kernel."""
    print(f"{cpu_name()}, one thread")
    for kernel in (inverse, softmax, stencil):
        off, bounds = least_seconds([kernel("off"), kernel("bounds")])
        print(f"{kernel.__name__:10} off {1e3 * off:7.3f} ms, bounds {1e3 * bounds:7.3f} ms: {bounds / off - 1:+.0%}")


if __name__ == "__main__":
    os.environ["GIRIH_NUM_THREADS"] = "1"
    main()
