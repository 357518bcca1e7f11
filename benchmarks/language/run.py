"""Measure the front end and the interpreter against their peers, in one run, and keep the figures as data.

    python benchmarks/language/run.py             print a table
    python benchmarks/language/run.py --save      also write benchmarks/results/DATE-language.json

Every figure is a median of several runs; a ratio is the median of ratios of runs that alternate with the peer's. What
the peer is stands in the table. Nothing is asserted here.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import girih
from girih import kernels
from girih.ir.check import check_module

ROOT = Path(__file__).resolve().parent.parent.parent
Row = dict[str, Any]


def seconds(run: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def paired(ours: Callable[[], object], peers: Callable[[], object], runs: int) -> tuple[float, float, float]:
    """Median seconds of both, and the median of ours / peers over alternating runs."""
    ours()
    peers()
    pairs = [(seconds(ours), seconds(peers)) for _ in range(runs)]
    a, b = zip(*pairs, strict=True)
    return statistics.median(a), statistics.median(b), statistics.median(x / y for x, y in pairs)


def python(*arguments: str) -> Callable[[], object]:
    """A fresh Python process."""
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True, cwd=ROOT)


def import_time(runs: int) -> Row:
    """`import girih` over bare Python."""
    ours, bare, ratio = paired(python("-c", "import girih"), python("-c", "pass"), runs)
    return {"what": "import girih, process", "ms": ours * 1e3, "peer": "python -c pass", "peer_ms": bare * 1e3,
            "ratio": ratio, "over_ms": (ours - bare) * 1e3, "goal": "60 ms over"}  # fmt: skip


def check_times(runs: int) -> list[Row]:
    """`girih check` of the attention kernel, as a process and in one."""
    path = str(kernels.path("attention"))
    ours, bare, ratio = paired(python("-m", "girih", "check", path), python("-c", "pass"), runs)
    text = Path(path).read_text()
    inside = statistics.median(seconds(lambda: girih.check(text)) for _ in range(runs + 2))
    return [
        {"what": "girih check attention.tl, process", "ms": ours * 1e3, "peer": "python -c pass",
         "peer_ms": bare * 1e3, "ratio": ratio, "goal": "200 ms"},
        {"what": "girih.check(attention), in process", "ms": inside * 1e3, "goal": "15 ms"},
    ]  # fmt: skip


MIX = """    %a{n} = load %A[%i] : f32
    %b{n} = mul %a{n}, %x : f32
    %c{n} = add %b{n}, %a{n} : f32
    store %c{n}, %A[%i]
"""


def large_module(instructions: int) -> str:
    """A kernel of loads, products, sums and stores."""
    body = "".join(MIX.format(n=n) for n in range(instructions // 4))
    return f"func @f(%x: f32, %i: index, %A: memref<f32x?>) {{\n  parallel {{\n{body}  }}\n}}\n"


def linear(runs: int) -> list[Row]:
    """Parsing and checking 10k, 30k and 100k instructions."""
    rows: list[Row] = []
    for instructions in (10_000, 30_000, 100_000):
        text = large_module(instructions)
        module = girih.parse(text)
        parse = statistics.median(seconds(partial(girih.parse, text)) for _ in range(runs))
        check = statistics.median(seconds(partial(check_module, module)) for _ in range(runs))
        rows.append({"what": f"parse and check {instructions:,} instructions", "ms": (parse + check) * 1e3,
                     "us_per_instruction": (parse + check) / instructions * 1e6, "parse_ms": parse * 1e3,
                     "check_ms": check * 1e3, "goal": "10 s for 100,000, linear"})  # fmt: skip
    return rows


def gemm(runs: int) -> Row:
    """512^3 in f32 with 32x32 cooperative matrices, all checks on."""
    random = np.random.default_rng(0)
    a, b, c = (np.asfortranarray(random.standard_normal((512, 512), dtype=np.float32)) for _ in range(3))
    kernel = girih.load(kernels.path("gemm"))["gemm"][16, 16]
    ours, peer, ratio = paired(lambda: kernel(1.0, a, b, 0.0, c), lambda: np.matmul(a, b), runs)
    return {"what": "interpreter: gemm 512^3 f32, 32x32 tiles", "ms": ours * 1e3, "gflops": 2 * 512**3 / ours / 1e9,
            "peer": "numpy.matmul", "peer_ms": peer * 1e3, "ratio": ratio, "goal": "10 GFLOP/s"}  # fmt: skip


def softmax_in_numpy(a: np.ndarray, out: np.ndarray) -> None:
    """Softmax of each column."""
    weights = np.exp(a - a.max(axis=0))
    out[:] = weights / weights.sum(axis=0)


def softmax(runs: int) -> Row:
    """A purely SPMD softmax of 1024 x 1024."""
    a = np.asfortranarray(np.random.default_rng(0).standard_normal((1024, 1024), dtype=np.float32))
    b = np.zeros_like(a)
    kernel = girih.load(kernels.path("softmax"))["softmax"][1024]
    ours, peer, ratio = paired(lambda: kernel(a, b), lambda: softmax_in_numpy(a, b), runs)
    return {"what": "interpreter: SPMD softmax 1024 x 1024", "ms": ours * 1e3, "peer": "NumPy expression",
            "peer_ms": peer * 1e3, "ratio": ratio, "goal": "5 s"}  # fmt: skip


MEMORY_SCRIPT = """
import re
from pathlib import Path
import numpy as np
import girih
from girih import kernels
n = 2048
kernel = girih.load(kernels.path("gemm"))["gemm"][64, 64]
a, b, c = (np.ones((n, n), np.float32, order="F") for _ in range(3))

def peak():
    # Not ru_maxrss: a child starts with the peak of the process that it was made by.
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

before = peak()
kernel(1.0, a, b, 0.0, c)
print(before, peak(), 3 * a.nbytes // 1024)
"""


def memory() -> Row:
    """Peak memory of a launch on 48 MB of arrays, against 4 times the arrays plus 200 MB; on Linux only."""
    if not Path("/proc/self/status").exists():
        return {"what": "interpreter: peak memory of gemm 2048^3", "goal": "not measured: needs /proc"}
    done = subprocess.run([sys.executable, "-c", MEMORY_SCRIPT], check=True, capture_output=True, text=True, cwd=ROOT)
    before, after, arrays = (int(x) / 1024 for x in done.stdout.split())
    return {"what": "interpreter: peak memory of gemm 2048^3", "peak_mb": after, "before_mb": before,
            "arrays_mb": arrays, "goal": f"{4 * arrays + 200:.0f} MB"}  # fmt: skip


def environment() -> Row:
    """What was measured on."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    names = [line.split(":")[1].strip() for line in cpu_info().splitlines() if line.startswith("model name")]
    return {
        "date": date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpu": names[0] if names else platform.processor(),
        "cores": len(names),
    }


def cpu_info() -> str:
    """The system's description of its processors, empty where there is none."""
    path = Path("/proc/cpuinfo")
    return path.read_text() if path.exists() else ""


def measure(runs: int) -> list[Row]:
    """All rows."""
    return [import_time(runs), *check_times(runs), *linear(min(runs, 3)), gemm(runs), softmax(runs), memory()]


def show(rows: list[Row]) -> None:
    """A table of the rows."""
    for row in rows:
        figures = ", ".join(f"{k} {v:.3g}" for k, v in row.items() if isinstance(v, float))
        against = f" against {row['peer']}" if "peer" in row else ""
        print(f"{row['what']:<45} {figures}{against}   (goal: {row['goal']})")


def keep(name: str, rows: list[Row]) -> None:
    """Write the figures, and what they were measured on, to benchmarks/results/."""
    found = environment()
    path = ROOT / "benchmarks" / "results" / f"{found['date']}-{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"environment": found, "rows": rows}, indent=1) + "\n")
    print(f"written to {path.relative_to(ROOT)}")


def main() -> None:
    """Measure, print, and keep the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results/")
    parser.add_argument("--runs", type=int, default=7, help="runs of each figure")
    arguments = parser.parse_args()
    rows = measure(arguments.runs)
    show(rows)
    if arguments.save:
        keep("language", rows)


if __name__ == "__main__":
    main()
