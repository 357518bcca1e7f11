"""How long the library takes to become SPIR-V, and what a launch on a Vulkan driver costs beside the kernel.

    python -m benchmarks.spirv.emission            every kernel for a GPU of the Hopper kind, and launches here
    python -m benchmarks.spirv.emission attention  only kernels with that word in their name, and launches
    python -m benchmarks.spirv.emission --save     also write benchmarks/results/DATE-emission.json

A kernel's time is the processor time from its text to a module that was validated by girih's rules, the least of
several turns, in milliseconds: `text` is parsing and checking, `module` the lowering with all passes and the binary,
`rules` the validation. A launch of `axpby` on NumPy's arrays is the least time of many; `device` is the part that
the device says that the kernel took. Without a driver there are no launches.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import girih
from girih import kernels
from girih.back.spirv.machine.compile import compile_kernel
from girih.back.spirv.profiles.table import profile_named
from girih.bench.machine import environment
from girih.diagnostics import CompileError
from girih.ir.core import Function
from girih.program import parse
from girih.runtime.vulkan.compiled import ENVIRONMENT
from girih.runtime.vulkan.executor import VulkanExecutor
from girih.runtime.vulkan.opened import can_launch
from girih.spirv import validate

RESULTS = Path(__file__).resolve().parent.parent / "results"
PROFILE = "nvidia-hopper"
TURNS = 3
LAUNCHES = 200
ELEMENTS = (256, 65_536, 1_048_576)


def least(call: Callable[[], object], turns: int, clock: Callable[[], float]) -> float:
    """The milliseconds of the fastest of several calls."""
    times = []
    for _ in range(turns):
        begin = clock()
        call()
        times.append(clock() - begin)
    return 1e3 * min(times)


def emission(name: str) -> dict[str, Any]:
    """The row of a kernel: all functions of its text. What the profile's devices cannot execute says why."""
    text = kernels.path(name).read_text(encoding="utf-8")
    functions: Sequence[Function] = parse(text).functions
    profile = profile_named(PROFILE)
    row: dict[str, Any] = {"kernel": name, "text": least(lambda: parse(text), TURNS, time.process_time)}
    try:
        emitted = [compile_kernel(function, profile) for function in functions]
    except CompileError as error:
        return {**row, "refused": error.diagnostics[0].message}
    row["module"] = least(lambda: [compile_kernel(one, profile) for one in functions], TURNS, time.process_time)
    row["rules"] = least(lambda: [validate(one.module, ENVIRONMENT) for one in emitted], TURNS, time.process_time)
    row["words"] = sum(len(one.module.to_bytes()) // 4 for one in emitted)
    return row


def launches() -> Iterator[dict[str, Any]]:
    """The rows of launches of `axpby` on this machine's driver; none without one."""
    if not can_launch():
        return
    for count in ELEMENTS:
        x, y = (np.random.default_rng(seed).random(count, np.float32) for seed in (1, 2))
        for checks in ("bounds", "off"):
            kernel = girih.load(kernels.path("axpby"), "vulkan", checks=checks)["axpby"]
            device: list[float] = []

            def launch(kernel: Any = kernel, device: list[float] = device, x: Any = x, y: Any = y) -> None:
                kernel(0.5, x, 0.25, y)
                assert isinstance(kernel.executor, VulkanExecutor)
                device.extend(kernel.executor.times)

            launch()
            ms = least(launch, LAUNCHES if count < 1_000_000 else LAUNCHES // 10, time.perf_counter)
            yield {"launch": f"axpby f32, {count} elements", "checks": checks, "ms": ms,
                   "device": 1e3 * min(device) if device else None}  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("word", nargs="?", default="", help="a word of the names of kernels")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/DATE-emission.json")
    arguments = parser.parse_args(words)
    emission("axpby")
    rows: list[dict[str, Any]] = []
    for row in (*(emission(name) for name in kernels.names() if arguments.word in name), *launches()):
        rows.append(row)
        print("  ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{value}"
                        for key, value in row.items()), flush=True)  # fmt: skip
    if arguments.save:
        machine = environment(1)
        path = RESULTS / f"{machine['date']}-emission.json"
        path.write_text(json.dumps({"environment": machine, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
