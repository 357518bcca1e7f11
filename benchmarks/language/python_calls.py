"""What a call of a kernel in Python costs beyond that of the same text, and what decorating and loading cost.

python benchmarks/language/python_calls.py [--save FILE]

The goals: 1 us for a call like an earlier one; 50 ms for decorating attention and making its variant, without the
compiler.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import TypeVar

import numpy as np

import girih
import girih.language as gl
from girih.bench.machine import environment

ROOT = Path(__file__).resolve().parent.parent.parent
TURNS, CALLS = 60, 2000
FACTOR = 2.0
E = TypeVar("E", gl.f32, gl.f64)


@girih.kernel
def plain(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32], a: gl.f32) -> None:
    for i in gl.foreach(1):
        C[i, i] = a


@girih.kernel
def with_constant(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32], a: gl.f32, n: gl.constant) -> None:
    for i in gl.foreach(1):
        C[i, i] = a * n


@girih.kernel
def with_types(A: gl.Matrix[E], B: gl.Matrix[E], C: gl.Matrix[E], a: gl.f32) -> None:
    for i in gl.foreach(1):
        C[i, i] = FACTOR


@girih.kernel(grid=lambda A: gl.cdiv(A.shape[0], 4), out={"C": "A"})
def combined(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32], a: gl.f32, n: gl.constant) -> None:
    for i in gl.foreach(1):
        C[i, i] = a * n


@girih.kernel(grid=lambda A: gl.cdiv(A.shape[0], 4), out={"C": "A"})
def with_everything(
    A: gl.Matrix[E], B: gl.Matrix[E], C: gl.Matrix[E], a: gl.f32, n: gl.constant, m: gl.constant = 1
) -> None:
    for i in gl.foreach(1):
        C[i, i] = FACTOR * n * m


def microseconds(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least time of a call of each, taken in turns, so that what else the machine does meets all of them."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(TURNS):
        for name, work in works.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                work()
            best[name] = min(best[name], (time.perf_counter() - start) / CALLS * 1e6)
    return best


def calls() -> dict[str, float]:
    """Microseconds that calls take beyond those of the text."""
    A, B, C = (np.zeros((4, 4), np.float32) for _ in range(3))
    F, wide = np.asfortranarray(C), np.zeros((4, 8), np.float32)[:, ::2]
    text = girih.loads(plain.variant(A, B, C, 1.0).text)["plain"]
    own = girih.loads(combined.variant(A, B, C, 1.0, 3).text)["combined"]
    best = microseconds({
        "text": lambda: text(A, B, C, 1.0),
        "text on its own grid": lambda: own(A, B, C, 1.0),
        "on its own grid": lambda: combined(A, B, C, 1.0, 3),
        "names, a constant, orders": lambda: combined(A, B, C=F, a=1.0, n=3),
        "these, types and a global": lambda: with_everything(A, B, C=F, a=1.0, n=3),
        "in order C": lambda: plain(A, B, C, 1.0),
        "with gaps": lambda: plain(A, wide, C, 1.0),
        "in two orders": lambda: plain(A, B, F, 1.0),
        "a constant": lambda: with_constant(A, B, C, 1.0, 3),
        "types of arrays, a global": lambda: with_types(A, B, C, 1.0),
        "by name": lambda: plain(A, B, C, a=1.0),
        "on a grid": lambda: plain[1](A, B, C, 1.0),
    })  # fmt: skip
    base, base_on_own = best.pop("text"), best.pop("text on its own grid")
    on_own = ("on its own grid", "names, a constant, orders", "these, types and a global")
    beyond = {name: value - (base_on_own if name in on_own else base) for name, value in best.items()}
    return {"text": base, "text on its own grid": base_on_own} | beyond


def loading() -> dict[str, float]:
    """Milliseconds of decorating attention, and of all that comes before the compiler."""
    attention = run_path(str(ROOT / "examples" / "python" / "products.py"))["attention"]
    grid, sizes = attention.definition.options.grid, dict.fromkeys("QKVO", (None, None, "headdim"))
    Q = np.zeros((2, 64, 64), np.float32)
    arguments = (Q, Q, Q, Q, 0.125, 64, False)
    times: dict[str, list[float]] = {"decorate": [], "translate and check": [], "both": []}
    for _ in range(5):
        start = time.perf_counter()
        kernel = girih.kernel(grid=grid, subgroup_size=32, work_group_size=(32, 1), sizes=sizes)(attention.function)
        decorated = time.perf_counter()
        _, problems = kernel.definition.module(arguments)
        ended = time.perf_counter()
        assert not problems
        times["decorate"].append((decorated - start) * 1e3)
        times["translate and check"].append((ended - decorated) * 1e3)
        times["both"].append((ended - start) * 1e3)
    return {f"{name}, {which}": value for name, all in times.items()
            for which, value in (("first", all[0]), ("later", min(all)))}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--save", type=Path, help="a JSON file for the figures")
    save = parser.parse_args().save
    figures = {"loading attention, ms": loading(), "calls beyond the text's, us": calls()}
    for title, rows in figures.items():
        print(title)
        for name, value in rows.items():
            print(f"  {name:30} {value:8.2f}")
    if save:
        save.write_text(json.dumps({"environment": environment(1), **figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
