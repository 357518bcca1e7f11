"""Measure `girih.functions` against NumPy and torch on shapes that were drawn by a fixed seed.

    python benchmarks/functions.py                      one thread, both orders of memory
    python benchmarks/functions.py --threads 2          with more threads; peers rest between their turns
    python benchmarks/functions.py --only softmax       one function
    python benchmarks/functions.py --save               also write benchmarks/results/DATE-array-functions.json, of
                                                        some functions DATE-array-functions-NAME.json

20 shapes of each function, each in order C and in order F; images in order C and with channels side by side.
All allocate their result. Functions are called in turns. A ratio is the time of the peer over ours: above 1, girih is
faster. `attention_few` is attention of 1 to 8 queries. NumPy has only the product and the scan: what stands for others
is the usual expression, without what it would cost to write it better; it has no erf, so that `gelu` has it by tanh
only. Nothing is asserted but that results are right.
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
FUNCTIONS = (
    "matmul", "softmax", "layernorm", "rms_norm", "gelu", "gelu_tanh", "scan", "topk", "cross_entropy", "attention",
    "conv2d", "attention_few",
)  # fmt: skip
ORDERS = ("C", "F")
LAST = "channels last"
MOST_ELEMENTS, MOST_WORK = 4_000_000, 300_000_000
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
            type_ = "f32" if name.startswith("attention") else TYPES[number % len(TYPES)]
            sizes = drawn_sizes(name, source)
            if name in functions:
                yield from ((name, type_, order, sizes) for order in (("C", LAST) if name == "conv2d" else ORDERS))


def drawn_sizes(name: str, source: draw.Random) -> tuple[int, ...]:
    """Sizes for a function: of matrices, of rows and columns, of heads, or of images and filters."""
    if name == "matmul":
        return tuple(size(source, 4, 1500) for _ in range(3))
    if name == "attention":
        heads, keys, headdim = size(source, 1, 16), size(source, 16, 1000), source.choice((32, 64, 64, 128))
        return heads, min(keys, MOST_WORK // (heads * keys * headdim)), keys, headdim
    if name == "attention_few":
        heads, keys = size(source, 1, 32), size(source, 16, 4000)
        return heads, source.choice((1, 1, 1, 2, 4, 8)), keys, source.choice((32, 64, 64, 128))
    if name == "conv2d":
        while True:
            images, channels, filters = size(source, 1, 8), size(source, 1, 512), size(source, 4, 512)
            pixels, taps, stride = size(source, 7, 112), source.choice((1, 3, 3, 5)), source.choice((1, 1, 1, 2))
            if images * channels * filters * (pixels * taps // stride) ** 2 <= MOST_WORK:
                return images, channels, pixels, filters, taps, stride
    length = size(source, 8, 20000)
    rows = max(1, min(size(source, 4, 20000), MOST_ELEMENTS // length))
    return (rows, length, max(1, min(length, size(source, 1, 64)))) if name == "topk" else (rows, length)


Made = dict[str, Callable[[], Any]]


def calls(problem: Problem, torch: Any) -> Made:
    """What computes a problem, by who does it; torch only where it is installed."""
    import numpy as np

    name, type_, order, sizes = problem
    dtype = np.float32 if type_ == "f32" else np.float64
    random = np.random.default_rng([SEED, *sizes])

    def array(*shape: int) -> Any:
        made = random.standard_normal(shape).astype(dtype)
        if order == LAST:
            return np.ascontiguousarray(made.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        return np.asarray(made, order=order)  # type: ignore[call-overload]

    tables: dict[str, Callable[..., Made]] = {
        "matmul": products, "attention": attentions, "attention_few": attentions, "conv2d": convolutions,
        "cross_entropy": losses, "topk": largest,
    }  # fmt: skip
    if name in tables:
        return tables[name](array, sizes, torch)
    return columns(name, array, sizes, torch)


def products(array: Callable[..., Any], sizes: Sequence[int], torch: Any) -> Made:
    import numpy as np

    from girih import functions

    m, k, n = sizes
    a, b = array(m, k), array(k, n)
    made: Made = {"girih": lambda: functions.matmul(a, b), "numpy": lambda: np.matmul(a, b)}
    if torch is not None:
        ta, tb = torch.from_numpy(a), torch.from_numpy(b)
        made["torch"] = lambda: torch.matmul(ta, tb)
    return made


def columns(name: str, array: Callable[..., Any], sizes: Sequence[int], torch: Any) -> Made:
    """Functions whose result is like x."""
    import numpy as np

    from girih import functions

    x, weight, bias, eps = array(*sizes), array(sizes[1]), array(sizes[1]), 1e-5

    def softmax() -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def layernorm() -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps) * weight + bias

    ours: Made = {
        "softmax": lambda: functions.softmax(x), "layernorm": lambda: functions.layernorm(x, weight, bias),
        "rms_norm": lambda: functions.rms_norm(x, weight, eps=eps), "gelu": lambda: functions.gelu(x),
        "gelu_tanh": lambda: functions.gelu(x, approximate="tanh"), "scan": lambda: functions.scan(x),
    }  # fmt: skip
    by_numpy: Made = {
        "softmax": softmax, "layernorm": layernorm,
        "rms_norm": lambda: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight,
        "gelu_tanh": lambda: 0.5 * x * (1 + np.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * (x * x * x)))),
        "scan": lambda: np.cumsum(x, -1, dtype=x.dtype),
    }  # fmt: skip
    made = {"girih": ours[name]} | ({"numpy": by_numpy[name]} if name in by_numpy else {})
    if torch is not None:
        tx, tw, tb = (torch.from_numpy(one) for one in (x, weight, bias))
        f = torch.nn.functional
        by_torch: Made = {
            "softmax": lambda: torch.softmax(tx, -1), "layernorm": lambda: f.layer_norm(tx, (sizes[1],), tw, tb),
            "rms_norm": lambda: f.rms_norm(tx, (sizes[1],), tw, eps), "gelu": lambda: f.gelu(tx),
            "gelu_tanh": lambda: f.gelu(tx, approximate="tanh"), "scan": lambda: torch.cumsum(tx, -1),
        }  # fmt: skip
        made["torch"] = by_torch[name]
    return made


def largest(array: Callable[..., Any], sizes: Sequence[int], torch: Any) -> Made:
    """Values only are compared: NumPy's indices of equal elements are any."""
    import numpy as np

    from girih import functions

    x, k = array(*sizes[:2]), sizes[2]

    def by_numpy() -> Any:
        found = np.argpartition(x, -k, -1)[:, -k:]
        values = np.take_along_axis(x, found, -1)
        order = np.argsort(-values, -1)
        return np.take_along_axis(values, order, -1), np.take_along_axis(found, order, -1)

    made: Made = {"girih": lambda: functions.topk(x, k), "numpy": by_numpy}
    if torch is not None:
        tx = torch.from_numpy(x)
        made["torch"] = lambda: torch.topk(tx, k)
    return made


def losses(array: Callable[..., Any], sizes: Sequence[int], torch: Any) -> Made:
    import numpy as np

    from girih import functions

    x, rows = array(*sizes), np.arange(sizes[0])
    targets = np.random.default_rng(SEED).integers(0, sizes[1], sizes[0])

    def by_numpy() -> Any:
        highest = x.max(-1, keepdims=True)
        return (np.log(np.exp(x - highest).sum(-1)) + highest[:, 0] - x[rows, targets]).mean()

    made: Made = {"girih": lambda: functions.cross_entropy(x, targets), "numpy": by_numpy}
    if torch is not None:
        tx, tt = torch.from_numpy(x), torch.from_numpy(targets)
        made["torch"] = lambda: torch.nn.functional.cross_entropy(tx, tt)
    return made


def attentions(array: Callable[..., Any], sizes: Sequence[int], torch: Any) -> Made:
    import warnings

    import numpy as np

    from girih import functions

    heads, queries, keys, headdim = sizes
    q, k, v = array(heads, queries, headdim), array(heads, keys, headdim), array(heads, keys, headdim)
    warnings.simplefilter("ignore", functions.CopyWarning)

    def by_numpy() -> Any:
        scores = q @ k.swapaxes(-1, -2) * headdim**-0.5
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)) @ v

    made: Made = {"girih": lambda: functions.attention(q, k, v), "numpy": by_numpy}
    if torch is not None:
        tensors = [torch.from_numpy(one)[None] for one in (q, k, v)]
        made["torch"] = lambda: torch.nn.functional.scaled_dot_product_attention(*tensors)[0]
    return made


def convolutions(array: Callable[..., Any], sizes: Sequence[int], torch: Any) -> Made:
    from girih import functions

    images, channels, pixels, filters, taps, stride = sizes
    x, weight, pad = array(images, channels, pixels, pixels), array(filters, channels, taps, taps), taps // 2
    made: Made = {"girih": lambda: functions.conv2d(x, weight, stride=stride, padding=pad)}
    if torch is not None:
        tx, tw = torch.from_numpy(x), torch.from_numpy(weight)
        made["torch"] = lambda: torch.nn.functional.conv2d(tx, tw, stride=stride, padding=pad)
    return made


def measured(problem: Problem, torch: Any, threads: int, *, quick: bool) -> dict[str, Any]:
    """The row of a problem: microseconds of girih, and ratios to peers. Raises `AssertionError` for a wrong result."""
    import numpy as np

    from girih.bench.measuring.timing import QUICK, THOROUGH, clock_for, interleaved, rest_for

    made = calls(problem, torch)
    results = {who: np.asarray(found[0] if isinstance(found := call(), tuple) else found) for who, call in made.items()}
    close = 1e-9 if problem[1] == "f64" else 2e-3
    for who, result in results.items():
        near = close * max(1.0, float(np.abs(result).max(initial=0)))
        np.testing.assert_allclose(results["girih"], result, rtol=close, atol=near, err_msg=f"{problem} by {who}")
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
        for order in (*ORDERS, LAST):
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
        more += "".join(f"-{name}" for name in arguments.only or ())
        path = ROOT / "benchmarks" / "results" / f"{where['date']}-array-functions{more}.json"
        path.write_text(json.dumps({"environment": where, "summary": shown, "rows": rows}, indent=1) + "\n", "utf-8")
        print(f"written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
