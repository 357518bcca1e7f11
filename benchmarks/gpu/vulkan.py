"""Kernels with matrices of the work-group on a GPU's Vulkan driver, against cuBLAS, cuDNN and llama.cpp's shaders.

    python -m benchmarks.gpu.vulkan                    every product and attention below, in a few minutes
    python -m benchmarks.gpu.vulkan --modules FOLDER   also llama.cpp's shaders on the same driver, NAME.spv in a folder
    python -m benchmarks.gpu.vulkan --variants         which sizes of tiles and work-groups are fastest, for one problem
    python -m benchmarks.gpu.vulkan --quick            small sizes, to see that everything runs
    python -m benchmarks.gpu.vulkan --only attention   only problems with that word in their name
    python -m benchmarks.gpu.vulkan --save [--to FILE] also write benchmarks/results/DATE-gpu.json, or another file

A time is the median of several executions after some to warm up, all on the same memory of the device: for Vulkan
between timestamps around the dispatch, for PyTorch between CUDA events. A ratio is the time of the peer divided by
ours: above 1, girih is faster. Without PyTorch on CUDA there are no peers of its kind, and references are NumPy's. What
a driver refuses is a row with its words. Kernels are launched without checks, as modules that are emitted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import girih
from benchmarks.gpu.problems import Attention, LlamaModule, Problem, Product, QuantisedProduct
from girih.bench.machine import environment
from girih.kernels import path
from girih.runtime.vulkan.executor import VulkanExecutor
from girih.runtime.vulkan.shader import VulkanShader

RESULTS = Path(__file__).resolve().parent.parent / "results"
WARM, TIMED = 3, 11
"""How often a kernel is executed to warm up, and to be timed."""

SECONDS = 220.0
"""When no further problem or variant is begun."""

PROBLEMS: Sequence[Problem] = (
    Product("f16", 4096, 4096, 4096),
    Product("bf16", 4096, 4096, 4096),
    Product("f16", 8192, 8192, 8192),
    Product("bf16", 8192, 8192, 8192),
    Product("f16", 2048, 8192, 4096),
    Product("bf16", 2048, 8192, 4096),
    *(
        Attention("f16", headdim, length, causal=causal)
        for headdim, length, causal in itertools.product((64, 128), (4096, 8192), (False, True))
    ),
    QuantisedProduct("f16", 4096, 4096, 4096),
    QuantisedProduct("f16", 14336, 512, 4096),
)
QUICK: Sequence[Problem] = (
    Product("f16", 512, 512, 512),
    Product("bf16", 520, 264, 200),
    Attention("f16", 64, 512, heads=2),
    Attention("f16", 128, 500, heads=2, causal=True),
    QuantisedProduct("f16", 512, 256, 512),
)
SWEPT: Sequence[Problem] = (
    Product("f16", 4096, 4096, 4096),
    Attention("f16", 64, 8192),
    Attention("f16", 128, 8192),
    QuantisedProduct("f16", 4096, 4096, 4096),
)


@dataclass(frozen=True)
class Timing:
    """The median time of a kernel in seconds, and how far its result is from the reference, as a part of its bound."""

    seconds: float
    error: float


class Deadline:
    """The end of the time that the script may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def passed(self) -> bool:
        """Whether nothing further is to be begun."""
        return time.monotonic() > self._end


def timed(kernel: girih.Kernel, launch: Callable[[girih.Kernel], None]) -> float:
    """The median seconds of the executions of a launch, after some to warm up. Raises what the launch raises."""
    repeated = kernel.options(repeat=WARM + TIMED, timeout=20)
    launch(repeated)
    assert isinstance(repeated.executor, VulkanExecutor | VulkanShader)
    times = repeated.executor.times
    if not times:
        raise RuntimeError("the device takes no timestamps")
    return float(median(times[WARM:]))


def of_girih(problem: Problem, variant: Mapping[str, object], *, checked: bool = True) -> Timing:
    """The time of girih's kernel. Raises `girih.Error` where the driver refuses it, `ValueError` for a wrong result."""
    definitions = {**problem.definitions, **variant}
    kernel = girih.load(path(problem.kernel), "vulkan", definitions, checks="off")[problem.kernel]
    problem.result.fill(0)
    seconds = timed(kernel, lambda repeated: repeated(*problem.arguments))
    return Timing(seconds, problem.error(problem.result) if checked else 0.0)


def of_torch(problem: Problem, call: Callable[[], object]) -> Timing:
    """The time of a call on PyTorch's GPU."""
    return Timing(problem.seconds(call, WARM, TIMED), 0.0)


def of_module(problem: Problem, module: LlamaModule) -> Timing:
    """The time of a shader of llama.cpp. Raises `girih.Error` where the driver refuses it."""
    return Timing(timed(module.kernel(), module.launch), problem.error(module.result()))


def attempted(measure: Callable[[], Timing]) -> dict[str, Any]:
    """What was measured, or why it was not."""
    try:
        timing = measure()
    except Exception as error:
        return {"refused": " ".join(str(error).split())[:300]}
    row: dict[str, Any] = {"ms": timing.seconds * 1e3, "error": timing.error}
    if not timing.error < 1:
        row["refused"] = f"wrong: {timing.error:.3g} times as far from the reference as it may be"
    return row


def measured(problem: Problem, folder: Path | None) -> dict[str, Any]:
    """The row of a problem: girih's kernel, and the peers on the same machine."""
    row: dict[str, Any] = {"name": problem.name, "kernel": problem.kernel, "definitions": problem.definitions}
    peers: dict[str, Callable[[], Timing]] = {
        name: partial(of_torch, problem, call) for name, call in problem.peers().items()
    }
    module = None if folder is None else problem.module(folder)
    if module is not None:
        peers["llama.cpp"] = partial(of_module, problem, module)
    row["girih"] = attempted(partial(of_girih, problem, {}))
    row["peers"] = {name: attempted(measure) for name, measure in peers.items()}
    for one in (row["girih"], *row["peers"].values()):
        if "ms" in one:
            one["TFLOP/s"] = problem.operations / one["ms"] * 1e-9
    for one in row["peers"].values():
        if "ms" in one and "ms" in row["girih"]:
            one["ratio"] = one["ms"] / row["girih"]["ms"]
    return row


def swept(problem: Problem, deadline: Deadline) -> dict[str, Any]:
    """The row of a problem with the time of each variant; the best is checked."""
    rows = []
    for variant in problem.variants():
        if deadline.passed():
            break
        row = attempted(partial(of_girih, problem, variant, checked=False))
        row.pop("error", None)
        rows.append({"variant": variant, **row})
        if "ms" in row:
            rows[-1]["TFLOP/s"] = problem.operations / row["ms"] * 1e-9
        show_variant(rows[-1])
    right = sorted((row for row in rows if "ms" in row), key=lambda row: float(row["ms"]))
    best = None
    for row in right:
        again = attempted(partial(of_girih, problem, row["variant"]))
        if "refused" not in again:
            best = row["variant"]
            break
        row["refused"] = again["refused"]
    return {"name": problem.name, "kernel": problem.kernel, "variants": rows, "best": best}


def show_variant(row: Mapping[str, Any]) -> None:
    """Print the row of a variant."""
    what = " ".join(f"{key}={value}" for key, value in row["variant"].items())
    said = f"{row['ms']:9.3f} ms  {row['TFLOP/s']:7.1f} TFLOP/s" if "ms" in row else f"refused: {row['refused']}"
    print(f"  {what:50} {said}", flush=True)


def show(row: Mapping[str, Any]) -> None:
    """Print the row of a problem."""
    print(row["name"], flush=True)
    for name, one in (("girih", row["girih"]), *row["peers"].items()):
        figures = f"{one['ms']:9.3f} ms  {one['TFLOP/s']:7.1f} TFLOP/s" if "ms" in one else ""
        ratio = f"  girih is {one['ratio']:.2f} times as fast" if "ratio" in one else ""
        refused = f"  {one['refused']}" if "refused" in one else ""
        print(f"  {name:16} {figures}{ratio}{refused}", flush=True)


def machine() -> dict[str, Any]:
    """The environment, with the device and its driver. Raises `NoDriverError` where no driver opens."""
    from girih.runtime.vulkan.opened import current_driver

    best = current_driver().best
    version = best.driver_version
    words: dict[str, Any] = {"device": best.name, "driver": best.driver, "driver_version": version}
    torch = sys.modules.get("torch")
    if torch is not None:
        words["cuda"] = torch.version.cuda
    return {**environment(1), **words}


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows that are asked for, printed as they come."""
    deadline = Deadline(arguments.seconds)
    problems = QUICK if arguments.quick else SWEPT if arguments.variants else PROBLEMS
    for problem in problems:
        if arguments.only not in problem.name or deadline.passed():
            continue
        if arguments.variants:
            print(problem.name, flush=True)
            row = swept(problem, deadline)
            print(f"  best: {row['best']}", flush=True)
        else:
            row = measured(problem, arguments.modules)
            show(row)
        problem.forget()
        yield row


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep; 1 where no driver opens, or a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=Path, help="a folder with llama.cpp's shaders as NAME.spv")
    parser.add_argument("--variants", action="store_true", help="sweep sizes of tiles and work-groups")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", help="a word of the names of problems")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="when nothing further is begun")
    parser.add_argument("--save", action="store_true", help="write the figures")
    parser.add_argument("--to", type=Path, help="the file for the figures")
    arguments = parser.parse_args(words)
    where = machine()
    print(f"{where['device']}, {where['driver']}, girih {where['commit']}, torch {where['torch']}", flush=True)
    kept: list[dict[str, Any]] = []
    target = arguments.to or RESULTS / f"{where['date']}-gpu{'-variants' if arguments.variants else ''}.json"
    for row in rows(arguments):
        kept.append(row)
        if arguments.save or arguments.to:
            # After each row: what a driver hangs on costs the rows behind it only.
            target.write_text(json.dumps({"environment": where, "rows": kept}, indent=1) + "\n", encoding="utf-8")
    wrong = [row for row in kept if str(row.get("girih", {}).get("refused", "")).startswith("wrong")]
    return 1 if wrong or not kept else 0


if __name__ == "__main__":
    sys.exit(main())
