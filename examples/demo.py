"""The main job in a minute: flash attention and a GEMM in the tensor language, interpreted with every access checked
and compiled for the CPU, on the same NumPy arrays; and what a broken variant is told. Where an NVIDIA GPU and
girih[cuda] are there, the same kernels run on it, too.

Run it with `make demo`, or with Python where girih is installed. Exit status 0 means that all results were right.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil

import numpy as np

import girih
from girih import kernels

HEADS, SEQUENCE, HEADDIM = 8, 512, 64
TOLERANCE = {"f32": 1e-5, "f16": 2e-3}
"""Largest errors of attention."""

TARGETS = {"interpreter": 1, "cpu": 20}
"""How often a kernel is launched on each target; the best time counts."""

GPU = ("cuda", 5)
"""The target that is taken besides where there is such a GPU, and how often a kernel is launched there. Its times are
those of a launch on NumPy's arrays, copies there and back among them."""

FAILED = "does not agree with NumPy"


def has_gpu() -> bool:
    """Whether a kernel can be launched on an NVIDIA GPU."""
    try:
        girih.loads("func @nothing() {\n}\n", target=GPU[0])["nothing"]()
    except girih.LaunchError:
        return False
    return True


def attention_in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    """softmax(scale Q^T K) V in double precision; arrays are headdim x sequence x heads."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("dqh,dkh->hqk", q, k) * scale
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("hqk,dkh->dqh", weights, v))


def timed(run: Callable[[], None], times: int) -> float:
    """Seconds that a call takes, the best of some."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


@dataclass(frozen=True, slots=True)
class Ran:
    """A kernel that ran on one target: how long, and how far from NumPy."""

    seconds: float
    error: float
    tolerance: float

    @property
    def right(self) -> bool:
        return self.error <= self.tolerance

    def __str__(self) -> str:
        return f"{self.seconds * 1e3:9.2f} ms, error {self.error:.0e}"


def report(name: str, runs: dict[str, Ran]) -> bool:
    """One line; whether all results were right."""
    right = all(ran.right for ran in runs.values())
    slow, fast = runs["interpreter"], runs["cpu"]
    verdict = f"{slow.seconds / fast.seconds:6.0f} x" if right else FAILED
    on_gpu = f"   GPU {runs[GPU[0]]}" if GPU[0] in runs else ""
    print(f"  {name:<46} {slow}   {fast}   {verdict}{on_gpu}")
    return right


def attention_arrays(dtype: np.dtype, random: np.random.Generator) -> list[np.ndarray]:
    """Q, K, V and room for O, in the order of the language: the first mode is contiguous."""
    shape = (HEADDIM, SEQUENCE, HEADS)
    inputs = [np.asfortranarray(random.standard_normal(shape).astype(dtype)) for _ in range(3)]
    return [*inputs, np.zeros(shape, dtype, order="F")]


def run_attention(type_name: str, dtype: np.dtype, random: np.random.Generator, targets: dict[str, int]) -> bool:
    """Flash attention in one precision, on all targets."""
    q, k, v, o = attention_arrays(dtype, random)
    scale = HEADDIM**-0.5
    expected = attention_in_numpy(q, k, v, scale)
    runs = {}
    for target, times in targets.items():
        kernel = kernels.attention(headdim=HEADDIM, type=type_name, target=target)
        seconds = timed(partial(kernel, q, k, v, o, scale), times)
        runs[target] = Ran(seconds, float(np.abs(o - expected).max()), TOLERANCE[type_name])
    return report(f"attention {type_name}, {HEADS} heads x {SEQUENCE} queries x {HEADDIM}", runs)


def run_gemm(random: np.random.Generator, targets: dict[str, int]) -> bool:
    """A product of matrices whose sizes are no multiples of the tile, on all targets."""
    m, n, k = 203, 157, 89
    a = np.asfortranarray(random.standard_normal((m, k), dtype=np.float32))
    b = np.asfortranarray(random.standard_normal((k, n), dtype=np.float32))
    c = np.zeros((m, n), np.float32, order="F")
    expected = 2.0 * (a.astype(np.float64) @ b)
    runs = {}
    for target, times in targets.items():
        kernel = kernels.gemm(target=target)
        seconds = timed(partial(kernel, 2.0, a, b, 0.0, c), times)
        runs[target] = Ran(seconds, float(np.abs(c - expected).max()), 1e-3)
    return report(f"gemm f32, {m} x {n} x {k}, remainders", runs)


def run_broken(random: np.random.Generator) -> bool:
    """The attention kernel with the check of its last store forgotten, on a sequence that is no multiple of 32."""
    good = kernels.path("attention").read_text()
    broken = good.replace("store.t.rows_checked", "store.t")
    definitions = {"headdim": HEADDIM}
    checked = girih.loads(broken, "interpreter", definitions, "attention_broken.tl")["attention"]
    compiled = girih.loads(broken, "cpu", definitions, "attention_broken.tl")["attention"]
    length = 500
    q, k, v = (np.asfortranarray(random.standard_normal((HEADDIM, length, 1), dtype=np.float32)) for _ in range(3))
    o = np.full((HEADDIM, length, 1), 7.0, np.float32, order="F")
    grid = ceil(length / 32), 1
    arguments = (q, k, v, o, 0.125)
    told, found = finding(checked[grid], arguments), None
    untouched = bool((o == 7.0).all())
    if told is not None:
        print("\n".join("  " + line for line in str(told).splitlines()))
        print(f"\n  The result array {'is as it was before the launch' if untouched else 'WAS CHANGED'}.")
        found = finding(compiled[grid], arguments)
    same = found is not None and told is not None and (found.code, found.index) == (told.code, told.index)
    print(f"  Compiled, the kernel {'stops with the same finding' if same else 'DOES NOT FIND THE SAME'}.")
    return untouched and same


def finding(kernel: girih.Kernel, arguments: tuple[object, ...]) -> girih.Finding | None:
    """The first thing that a launch finds."""
    try:
        kernel(*arguments)
    except girih.KernelError as error:
        return error.findings[0]
    return None


def main() -> int:
    """Run everything; 1 if anything was wrong."""
    random = np.random.default_rng(0)
    print(
        "Kernels of the tensor language against NumPy: interpreted, compiled for the CPU, and how much faster that is."
    )
    targets = dict(TARGETS)
    if has_gpu():
        targets |= dict([GPU])
        print("This machine has an NVIDIA GPU, whose times are those of launches with copies there and back.")
    print("Every access is checked:" if len(targets) > 2 else "Every access is checked in both:")
    results = [
        run_attention("f32", np.dtype(np.float32), random, targets),
        run_attention("f16", np.dtype(np.float16), random, targets),
        run_gemm(random, targets),
    ]
    print("\nThe same attention kernel, its last store without the check for the end of the sequence:\n")
    results.append(run_broken(random))
    print(f"\nTheir texts are in {kernels.path('gemm').parent}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
