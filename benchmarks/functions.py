"""Measure `girih.functions` against NumPy and torch on shapes that nobody tuned for: they were drawn by a fixed seed.

    python benchmarks/functions.py                      one thread, both orders of memory
    python benchmarks/functions.py --threads 2          with more threads; peers rest between their turns
    python benchmarks/functions.py --only softmax       one function
    python benchmarks/functions.py --save               also write benchmarks/results/DATE-array-functions.json

20 shapes of matmul, of softmax and of layernorm, each with arrays in order C and in order F. All allocate their result.
Functions are called in turns. A ratio is the time of the peer over ours: above 1, girih is faster. NumPy has neither
softmax nor layernorm: what stands for it is the usual expression, without what it would cost to write it better.
Nothing is asserted but that results are right.
"""

from __future__ import annotations

import argparse
import json
import os
import random as draw
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SEED = 20
SHAPES = 20
FUNCTIONS = ("matmul", "softmax", "layernorm")
ORDERS = ("C", "F")
TYPES = ("f32", "f32", "f32", "f64")
WORST = 6

Problem = tuple[str, str, str, tuple[int, ...]]
"""A function, the type of its arrays, their order, and sizes."""


def size(source: draw.Random, least: int, most: int) -> int:
    """A size whose logarithm is evenly distributed."""
    return round(least * float((most / least) ** source.random()))


def problems(functions: Sequence[str]) -> Iterator[Problem]:
    """The problems: for each function its shapes, each in both orders."""
    source = draw.Random(SEED)
    for name in FUNCTIONS:
        for number in range(SHAPES):
            type_ = TYPES[number % len(TYPES)]
            if name == "matmul":
                sizes = tuple(size(source, 4, 1500) for _ in range(3))
            else:
                length = size(source, 8, 20000)
                sizes = (max(1, min(size(source, 4, 20000), 4_000_000 // length)), length)
            if name in functions:
                yield from ((name, type_, order, sizes) for order in ORDERS)


def calls(problem: Problem, torch: Any) -> dict[str, Callable[[], Any]]:
    """What computes a problem, by who does it; torch only where it is installed."""
    import numpy as np

    from girih import functions

    name, type_, order, sizes = problem
    dtype = np.float32 if type_ == "f32" else np.float64
    random = np.random.default_rng([SEED, *sizes])

    def array(*shape: int) -> Any:
        return np.asarray(random.standard_normal(shape).astype(dtype), order=order)  # type: ignore[call-overload]

    def tensors(*arrays: Any) -> list[Any]:
        return [torch.from_numpy(one) for one in arrays]

    made: dict[str, Callable[[], Any]]
    if name == "matmul":
        m, k, n = sizes
        a, b = array(m, k), array(k, n)
        made = {"girih": lambda: functions.matmul(a, b), "numpy": lambda: np.matmul(a, b)}
        if torch is not None:
            ta, tb = tensors(a, b)
            made["torch"] = lambda: torch.matmul(ta, tb)
        return made
    x = array(*sizes)
    if name == "softmax":

        def expression() -> Any:
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        made = {"girih": lambda: functions.softmax(x), "numpy": expression}
        if torch is not None:
            (tx,) = tensors(x)
            made["torch"] = lambda: torch.softmax(tx, -1)
        return made
    weight, bias = array(sizes[1]), array(sizes[1])

    def normal() -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * weight + bias

    made = {"girih": lambda: functions.layernorm(x, weight, bias), "numpy": normal}
    if torch is not None:
        tx, tw, tb = tensors(x, weight, bias)
        made["torch"] = lambda: torch.nn.functional.layer_norm(tx, (sizes[1],), tw, tb)
    return made


def measured(problem: Problem, torch: Any, threads: int, *, quick: bool) -> dict[str, Any]:
    """The row of a problem: microseconds of girih, and ratios to peers. Raises `AssertionError` for a wrong result."""
    import numpy as np

    from girih.bench.measuring.timing import QUICK, THOROUGH, clock_for, interleaved, rest_for

    made = calls(problem, torch)
    results = {who: np.asarray(call()) for who, call in made.items()}
    close = 1e-9 if problem[1] == "f64" else 2e-3
    for who, result in results.items():
        np.testing.assert_allclose(results["girih"], result, rtol=close, atol=close, err_msg=f"{problem} by {who}")
    samples = interleaved(made, QUICK if quick else THOROUGH, clock_for(threads), rest_for(threads))
    name, type_, order, sizes = problem
    return {
        "function": name, "type": type_, "order": order, "sizes": sizes,
        "microseconds": round(samples.median("girih") * 1e6, 2),
        "ratios": {who: round(samples.ratio(who, "girih"), 3) for who in made if who != "girih"},
    }  # fmt: skip


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The distribution of ratios by function, order and peer."""
    found = []
    for name in dict.fromkeys(row["function"] for row in rows):
        for order in ORDERS:
            here = [row for row in rows if (row["function"], row["order"]) == (name, order)]
            for peer in here[0]["ratios"] if here else ():
                ratios = sorted(row["ratios"][peer] for row in here)
                tenths = quantiles(ratios, n=10, method="inclusive")
                found.append({
                    "function": name, "order": order, "peer": peer, "geometric_mean": round(geometric_mean(ratios), 2),
                    "least": ratios[0], "tenth": round(tenths[0], 2), "median": round(tenths[4], 2),
                    "below_1": sum(ratio < 1 for ratio in ratios), "shapes": len(ratios),
                })  # fmt: skip
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results/")
    parser.add_argument("--threads", type=int, default=1, help="the threads of girih and of its peers")
    parser.add_argument("--only", choices=FUNCTIONS, action="append", help="a function; may be given more than once")
    parser.add_argument("--quick", action="store_true", help="shorter and less exact")
    arguments = parser.parse_args(words)
    # Libraries read these when they are loaded.
    for name in ("GIRIH_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(arguments.threads)
    try:
        import torch

        torch.set_num_threads(arguments.threads)
        torch.set_grad_enabled(False)
    except ImportError:
        torch = None
    from girih.bench.machine import environment

    rows = []
    for problem in problems(arguments.only or FUNCTIONS):
        row = measured(problem, torch, arguments.threads, quick=arguments.quick)
        rows.append(row)
        ratios = ", ".join(f"{ratio:.2f} x {peer}" for peer, ratio in row["ratios"].items())
        sizes = " x ".join(map(str, row["sizes"]))
        print(f"{row['function']:10} {row['type']} {row['order']} {sizes:20} {row['microseconds']:10.1f} us  {ratios}",
              flush=True)  # fmt: skip
    shown = summary(rows)
    for one in shown:
        print(f"{one['function']:10} {one['order']} against {one['peer']}: geometric mean {one['geometric_mean']:.2f}, "
              f"median {one['median']:.2f}, tenth {one['tenth']:.2f}, least {one['least']:.2f}; {one['below_1']} of "
              f"{one['shapes']} below 1")  # fmt: skip
    if arguments.save:
        where = environment(arguments.threads)
        more = "" if arguments.threads == 1 else f"-{arguments.threads}-threads"
        path = ROOT / "benchmarks" / "results" / f"{where['date']}-array-functions{more}.json"
        path.write_text(json.dumps({"environment": where, "summary": shown, "rows": rows}, indent=1) + "\n", "utf-8")
        print(f"written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
