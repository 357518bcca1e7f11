"""Softmax, layernorm and rms_norm of columns in registers, against a copy on the same GPU.

    python -m benchmarks.gpu.columns [LENGTH COLUMNS]

For each kernel, of bf16 and f32: the bytes that it reads and writes a second, and the time of a copy of as many bytes
by torch over its own, measured in turns; beside it the kernel for columns of any length, torch, and torch compiled by
inductor. The median of five rounds. Needs torch with CUDA.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

import girih
from girih.back.llvm.nvptx.flat.sizes import column_sizes
from girih.ir.types import F32, NUMBERS
from girih.kernels.loading import gpu_text
from girih.kernels.texts import path

ROUNDS, CALLS = 5, 20
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def seconds(call: Callable[[], object]) -> float:
    """The time of a call, from events around several."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3 / CALLS


def kernels_of(name: str, type_: str, length: int, x: Any, gamma: Any, beta: Any) -> dict[str, Callable[[], Any]]:
    """What is measured, by name; each gives its result."""
    functional = torch.nn.functional
    peers: dict[str, Callable[[], Any]] = {
        "softmax": lambda: torch.softmax(x, -1),
        "layernorm": lambda: functional.layer_norm(x, (length,), gamma, beta, 1e-5),
        "rms_norm": lambda: functional.rms_norm(x, (length,), gamma, 1e-5),
    }
    between: dict[str, tuple[Any, ...]] = {
        "softmax": (), "layernorm": (gamma, beta, 1e-5), "rms_norm": (gamma, 1e-5),
    }  # fmt: skip
    out = torch.empty_like(x)
    found: dict[str, Callable[[], Any]] = {}
    sizes = column_sizes(NUMBERS[type_], F32, 1 + len(between[name]) - (name != "softmax"), length)
    texts: dict[str, tuple[Path, dict[str, int]]] = {"girih of any length": (path(name), {})}
    if sizes is not None:
        texts["girih"] = gpu_text(name), sizes
    for title, (text, definitions) in texts.items():
        for checks in ("bounds", "off"):
            kernel = girih.load(text, "cuda", {"type": type_, **definitions}, checks=checks, order="C")[name]

            def call(kernel: girih.Kernel = kernel) -> Any:
                kernel(x, *between[name], out)
                return out

            found[f"{title}, checks {checks}"] = call
    return {**found, "torch": peers[name], "inductor": torch.compile(peers[name])}


def main() -> None:
    """Measure, and print a line for each."""
    length, columns = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (8192, 16384)
    print(torch.cuda.get_device_name(), f"{columns} columns of {length}")
    for type_, dtype in TYPES.items():
        x = torch.randn(columns, length, device="cuda").to(dtype)
        gamma, beta = (torch.randn(length, device="cuda").to(dtype) for _ in range(2))
        copied, moved = torch.empty_like(x), 2 * x.numel() * x.element_size()
        for name in ("softmax", "layernorm", "rms_norm"):
            calls = kernels_of(name, type_, length, x, gamma, beta)
            wanted = calls["torch"]().float()
            times: dict[str, list[float]] = {title: [] for title in ("copy", *calls)}
            for title, call in calls.items():
                far = (call().float() - wanted).abs().max().item()
                if not far < 0.1:
                    print(f"{name} {type_}: {title} is off by {far}")
            for _ in range(ROUNDS):
                times["copy"].append(seconds(partial(copied.copy_, x)))
                for title, call in calls.items():
                    times[title].append(seconds(call))
            for title, measured in times.items():
                ratio = statistics.median(a / b for a, b in zip(times["copy"], measured, strict=True))
                rate = moved / statistics.median(measured) / 1e9
                print(f"{name} {type_} {title}: {rate:.0f} GB/s, {ratio:.3f} of a copy")


if __name__ == "__main__":
    main()
