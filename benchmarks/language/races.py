"""What the search for races costs in the interpreter: kernels with and without it, by turns, least of several times.

    python benchmarks/language/races.py [--rounds 7] [--json results/DATE-races.json]

Beside the ratio it prints how many bytes of stamps there are for a byte of what the kernel writes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import girih
from girih import kernels
from girih.bench.machine import cpu_name
from girih.interpreter.races.shadow import Shadow

Case = tuple[str, girih.Kernel, Callable[[], tuple[Any, ...]]]

REVERSAL = """
func @reversal(%A: memref<f32x256x?>) attributes {subgroup_size=32, work_group_size=[256, 1]} {
    %s = alloca : memref<f32x256,local>
    %column = group_id.x : index
    parallel {
        %g = subgroup_id.x : i32
        %32 = constant 32 : i32
        %255 = constant 255 : index
        %lane = subgroup_local_id : i32
        %before = mul %g, %32 : i32
        %number = add %before, %lane : i32
        %i = cast %number : index
        %j = sub %255, %i : index
        %0 = constant 0 : index
        %8 = constant 8 : index
        for %k = %0, %8 {
            %x = load %A[%i, %column] : f32
            store %x, %s[%i]
            barrier.local
            %y = load %s[%j] : f32
            barrier.local
            store %y, %A[%i, %column]
        }
    }
}
"""


@dataclass(frozen=True)
class Row:
    """The cost of the search in one kernel: milliseconds without and with it, and bytes of stamps for a byte."""

    kernel: str
    off: float
    on: float
    ratio: float
    bytes_for_a_byte: float


def cases() -> list[Case]:
    """The kernels, with what makes their arguments."""
    random = np.random.default_rng(1)

    def matrix(*shape: int) -> Any:
        return np.asfortranarray(random.random(shape, np.float32))

    def zeros(*shape: int) -> Any:
        return np.zeros(shape, np.float32, order="F")

    a, b, heads = matrix(512, 512), matrix(512, 512), [matrix(64, 256, 4) for _ in range(3)]
    columns, numbers = matrix(1024, 256), random.integers(0, 256, 2**20).astype(np.int32)
    target = "interpreter"
    reversal = girih.loads(REVERSAL, target=target)["reversal"][256]
    return [
        ("gemm", kernels.gemm(target=target), lambda: (1.0, a, b, 0.0, zeros(512, 512))),
        ("gemm, beta 1", kernels.gemm(target=target), lambda: (1.0, a, b, 1.0, zeros(512, 512))),
        ("gemm_collective", kernels.gemm_collective(target=target), lambda: (1.0, a, b, 0.0, zeros(512, 512))),
        ("attention", kernels.attention(headdim=64, target=target), lambda: (*heads, zeros(64, 256, 4), 0.125)),
        ("softmax", kernels.softmax(target=target), lambda: (columns, zeros(1024, 256))),
        ("histogram", kernels.histogram(target=target), lambda: (numbers, np.zeros(256, np.int32))),
        ("transpose", kernels.transpose(target=target), lambda: (a, zeros(512, 512))),
        ("reversal", reversal, lambda: (matrix(256, 256),)),
    ]


def measured(case: Case, rounds: int) -> Row:
    """The cost of a kernel."""
    name, kernel, arguments = case
    times: dict[bool, list[float]] = {False: [], True: []}
    shadows: list[Shadow] = []
    begin = Shadow.__init__

    def kept(self: Shadow, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        shadows.append(self)

    for _ in range(rounds):
        for races in times:
            given = arguments()
            start = time.perf_counter()
            kernel.options(races=races)(*given)
            times[races].append(time.perf_counter() - start)
    with patch.object(Shadow, "__init__", kept):
        kernel(*arguments())
    stamps = sum(shadow.bytes for shadow in shadows)
    written = sum(shadow.size for shadow in shadows)
    off, on = (1e3 * min(times[races]) for races in (False, True))
    return Row(name, off, on, on / off, stamps / max(1, written))


def main() -> None:
    """Print a row for each kernel, and save them."""
    parser = argparse.ArgumentParser(description="measure the search for races")
    parser.add_argument("--rounds", type=int, default=7, help="how many times each kernel runs")
    parser.add_argument("--json", type=Path, help="where the rows are saved")
    chosen = parser.parse_args()
    print(cpu_name())
    rows = []
    for case in cases():
        row = measured(case, chosen.rounds)
        rows.append(row)
        print(f"{row.kernel:16} off {row.off:8.2f} ms, on {row.on:8.2f} ms: {row.ratio:.2f}; "
              f"{row.bytes_for_a_byte:.1f} bytes of stamps for a byte", flush=True)  # fmt: skip
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({"machine": cpu_name(), "rows": [asdict(row) for row in rows]}, indent=2))


if __name__ == "__main__":
    main()
