"""The main job in a minute: flash attention and a GEMM in the tensor language, on NumPy arrays, and a broken variant.

Run it with `make demo`, or with Python where girih is installed. Exit status 0 means that all results were right.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from math import ceil

import numpy as np

import girih
from girih import kernels

HEADS, SEQUENCE, HEADDIM = 8, 512, 64
TOLERANCE = {"f32": 1e-5, "f16": 2e-3}
FAILED = "does not agree with NumPy"


def attention_in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    """softmax(scale Q^T K) V in double precision; arrays are headdim x sequence x heads."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("dqh,dkh->hqk", q, k) * scale
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("hqk,dkh->dqh", weights, v))


def timed(run: Callable[[], None]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def report(name: str, seconds: float, error: float, tolerance: float) -> bool:
    """One line; whether the result was right."""
    right = error <= tolerance
    verdict = "agrees with NumPy" if right else FAILED
    print(f"  {name:<58} {seconds * 1e3:7.1f} ms   largest error {error:.1e}   {verdict}")
    return right


def attention_arrays(dtype: np.dtype, random: np.random.Generator) -> list[np.ndarray]:
    """Q, K, V and room for O, in the order of the language: the first mode is contiguous."""
    shape = (HEADDIM, SEQUENCE, HEADS)
    inputs = [np.asfortranarray(random.standard_normal(shape).astype(dtype)) for _ in range(3)]
    return [*inputs, np.zeros(shape, dtype, order="F")]


def run_attention(type_name: str, dtype: np.dtype, random: np.random.Generator) -> bool:
    """Flash attention in one precision."""
    program = girih.load(kernels.path("attention"), definitions={"headdim": HEADDIM, "type": type_name})
    q, k, v, o = attention_arrays(dtype, random)
    scale = HEADDIM**-0.5
    grid = ceil(SEQUENCE / 32), HEADS
    seconds = timed(lambda: program["attention"][grid](q, k, v, o, scale))
    error = float(np.abs(o - attention_in_numpy(q, k, v, scale)).max())
    name = f"attention {type_name}, {HEADS} heads x {SEQUENCE} queries x {HEADDIM}"
    return report(name, seconds, error, TOLERANCE[type_name])


def run_gemm(random: np.random.Generator) -> bool:
    """A product of matrices whose sizes are no multiples of the tile."""
    m, n, k = 203, 157, 89
    program = girih.load(kernels.path("gemm"))
    a = np.asfortranarray(random.standard_normal((m, k), dtype=np.float32))
    b = np.asfortranarray(random.standard_normal((k, n), dtype=np.float32))
    c = np.asfortranarray(random.standard_normal((m, n), dtype=np.float32))
    expected = 2.0 * (a.astype(np.float64) @ b) - 0.5 * c
    grid = ceil(m / 32), ceil(n / 32)
    seconds = timed(lambda: program["gemm"][grid](2.0, a, b, -0.5, c))
    name = f"gemm f32, {m} x {n} x {k}, remainders in every mode"
    return report(name, seconds, float(np.abs(c - expected).max()), 1e-3)


def run_broken(random: np.random.Generator) -> bool:
    """The attention kernel with the check of its last store forgotten, on a sequence that is no multiple of 32."""
    good = kernels.path("attention").read_text()
    broken = good.replace("store.t.rows_checked", "store.t")
    program = girih.loads(broken, filename="attention_broken.tl", definitions={"headdim": HEADDIM})
    length = 500
    q, k, v = (np.asfortranarray(random.standard_normal((HEADDIM, length, 1), dtype=np.float32)) for _ in range(3))
    o = np.full((HEADDIM, length, 1), 7.0, np.float32, order="F")
    try:
        program["attention"][ceil(length / 32), 1](q, k, v, o, 0.125)
    except girih.KernelError as error:
        print("\n".join("  " + line for line in str(error).splitlines()))
        untouched = bool((o == 7.0).all())
        print(f"\n  The result array {'is as it was before the launch' if untouched else 'WAS CHANGED'}.")
        return untouched
    print("  NOTHING was found")
    return False


def main() -> int:
    """Run everything; 1 if anything was wrong."""
    random = np.random.default_rng(0)
    print("Kernels of the tensor language, every access checked:")
    results = [
        run_attention("f32", np.dtype(np.float32), random),
        run_attention("f16", np.dtype(np.float16), random),
        run_gemm(random),
    ]
    print("\nThe same attention kernel, its last store without the check for the end of the sequence:\n")
    results.append(run_broken(random))
    print(f"\nTheir texts are in {kernels.path('gemm').parent}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
