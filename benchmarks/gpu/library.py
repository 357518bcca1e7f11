"""Kernels of the library on an NVIDIA GPU, with checks and without, against PyTorch and the copy of the same run.

    python -m benchmarks.gpu.library                   every kernel, in about a minute
    python -m benchmarks.gpu.library --only gemm       only problems with that word in their name
    python -m benchmarks.gpu.library --save [--to F]   also write benchmarks/results/DATE-cuda-library.json, or a file

Everything is timed as in `benchmarks.gpu.cuda`, whose functions these are, in shorter turns. Kernels are compiled
before, by several processes, into a cache. The verdict is of checks alone: what a kernel loses by them. The exit status
is 1 where a result was wrong, and 2 without a GPU or PyTorch.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Any

import girih
from benchmarks.gpu.cuda import (
    COPIED,
    OURS,
    UNCHECKED,
    Turn,
    begun,
    error_of,
    in_turns,
    kept_rows,
    launcher,
    parser_of,
    ratio,
    status_of,
)
from benchmarks.gpu.cuda_problems import CudaProblem
from benchmarks.gpu.library_problems import GOALS, library

ROUNDS, SECONDS = 5, 0.006
"""How often each function has its turn, and how long one is about."""

MOST_SETS = 12
"""Of each problem there are no more sets of tensors than that."""

CHECKS = ("bounds", "off")


def compiled(text: str, definitions: dict[str, object], checks: str, target: str) -> float:
    """The seconds that a text takes until its kernels are code, which is kept for who loads it next."""
    begin = time.perf_counter()
    program = girih.load(text, target, definitions, order="C", checks=checks)
    for kernel in program.values():
        assert kernel.ptx
    return time.perf_counter() - begin


def compile_all(problems: Sequence[CudaProblem], target: str) -> None:
    """Fill the cache with the kernels of all problems."""
    words = {(str(one.text), json.dumps(one.definitions, sort_keys=True)) for one in problems}
    with ProcessPoolExecutor(min(16, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(compiled, text, json.loads(definitions), checks, target)
            for text, definitions in sorted(words)
            for checks in CHECKS
        ]
        for job in jobs:
            if job.exception() is not None:
                print(f"not compiled before: {str(job.exception()).splitlines()[0][:200]}", flush=True)


def measured(torch: Any, problem: CudaProblem) -> dict[str, Any]:
    """The row of a problem."""
    sets = [problem.tensors(torch, number) for number in range(min(problem.sets, MOST_SETS))]
    ways = {OURS: launcher(problem, "bounds", sets), UNCHECKED: launcher(problem, "off", sets)}
    errors = {name: error_of(torch, problem, launch, sets[0]) for name, launch in ways.items()}
    row: dict[str, Any] = {"name": problem.name, "bytes": problem.bytes, "sets": len(sets), "errors": errors}
    if not all(error <= 1 for error in errors.values()):
        row["refused"] = f"wrong: {max(errors.values()):.3g} times as far from what is expected as it may be"
        return row
    half = torch.empty(max(1, int(problem.bytes) // 8), device="cuda")
    source = torch.empty_like(half)
    peers = problem.peers(torch, sets)
    functions: dict[str, Turn] = {**ways, **peers, COPIED: lambda _: half.copy_(source)}
    times = in_turns(torch, functions, len(sets), ROUNDS, SECONDS)
    checks = ratio(times, UNCHECKED, OURS)
    return row | {
        "us": {name: 1e6 * median(one) for name, one in times.items()},
        "checks": checks,
        "of copy": ratio(times, COPIED, UNCHECKED),
        "ratios": {name: ratio(times, name, UNCHECKED) for name in peers},
        "verdict": "short" if checks < GOALS[0] else "world class" if checks >= GOALS[1] else "first",
    }


def show(row: Mapping[str, Any]) -> None:
    """Print a row: microseconds, and checks off against on, the copy of as many bytes, and peers."""
    if "refused" in row:
        print(f"{row['name']:42} {row['refused']}", flush=True)
        return
    times = "  ".join(f"{name} {value:.1f}" for name, value in row["us"].items())
    ratios = "".join(f"  {value:.2f} x {name}" for name, value in row["ratios"].items())
    checks = f"checks {row['checks']:.3f} {row['verdict']:11}"
    print(f"{row['name']:42} {checks}  {row['of copy']:.2f} x copy{ratios}  us: {times}", flush=True)


def rows(torch: Any, problems: Sequence[CudaProblem]) -> Iterator[dict[str, Any]]:
    """The rows, one after another."""
    for problem in problems:
        try:
            yield measured(torch, problem)
        except (girih.CompileError, girih.LaunchError, girih.KernelError, RuntimeError) as error:
            yield {"name": problem.name, "refused": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        torch.cuda.empty_cache()


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep."""
    arguments = parser_of(__doc__).parse_args(words)
    begin = begun(arguments)
    if begin is None:
        return 2
    torch, where = begin
    problems = [one for one in library() if arguments.only in one.name]
    major, minor = torch.cuda.get_device_capability()
    clock = time.perf_counter()
    compile_all(problems, f"cuda:sm_{major}{minor}{'a' if major >= 9 else ''}")
    print(f"compiled in {time.perf_counter() - clock:.0f} s", flush=True)
    kept = kept_rows(rows(torch, problems), show, where, arguments, "cuda-library")
    reached = [row["checks"] for row in kept if "checks" in row]
    if reached:
        print(f"checks: median {median(reached):.3f}, least {min(reached):.3f}, "
              f"{sum(one < GOALS[0] for one in reached)} of {len(reached)} below {GOALS[0]}")  # fmt: skip
    return status_of(kept)


if __name__ == "__main__":
    sys.exit(main())
