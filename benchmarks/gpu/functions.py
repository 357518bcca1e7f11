"""Measure `girih.functions` on tensors of torch on a GPU against torch, by CUDA events, in turns.

    python benchmarks/gpu/functions.py [--save]

Shapes are those of models: nothing was drawn here, and nothing tuned for them. A ratio is the time of torch over ours:
above 1, girih is faster. Results are allocated by both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
# The folder of this file has a module that would hide NVIDIA's package `cuda`.
sys.path[0] = str(ROOT)

ROUNDS, CALLS = 9, 20

Pair = tuple[str, Callable[[], Any], Callable[[], Any]]


def pairs(torch: Any) -> Iterator[Pair]:
    """What is measured: its name, ours, and torch's."""
    from girih import functions

    apply = torch.nn.functional

    def drawn(*shape: int, dtype: Any = torch.bfloat16) -> Any:
        return torch.randn(*shape, device="cuda", dtype=dtype)

    for m, k, n in ((4096, 4096, 4096), (8192, 4096, 1024), (1000, 777, 1000), (64, 4096, 4096)):
        a, b, c = drawn(m, k), drawn(k, n), drawn(n, k)
        name = f"matmul bf16 {m} x {k} x {n}"
        yield name, partial(functions.matmul, a, b), partial(torch.matmul, a, b)
        yield f"{name}, b.T", partial(functions.matmul, a, c.T), partial(torch.matmul, a, c.T)
    for rows, length in ((16384, 8192), (4096, 1000), (100_000, 128)):
        x, w = drawn(rows, length), drawn(length)
        f, shown = x.T.contiguous().T, f"bf16 {rows} x {length}"
        yield f"softmax {shown}", partial(functions.softmax, x), partial(torch.softmax, x, -1)
        yield f"softmax {shown}, F", partial(functions.softmax, f), partial(torch.softmax, f, -1)
        norm = partial(apply.layer_norm, x, (length,), w, w)
        yield f"layernorm {shown}", partial(functions.layernorm, x, w, w), norm
    q = drawn(2, 16, 4096, 128)
    yield ("attention bf16 2 x 16 x 4096 x 128", lambda: functions.attention(q, q, q),
           lambda: apply.scaled_dot_product_attention(q, q, q))  # fmt: skip
    yield ("attention bf16 2 x 16 x 4096 x 128, causal", lambda: functions.attention(q, q, q, causal=True),
           lambda: apply.scaled_dot_product_attention(q, q, q, is_causal=True))  # fmt: skip
    y = drawn(8192, 8192)
    yield "gelu bf16 8192 x 8192", lambda: functions.gelu(y), lambda: apply.gelu(y)
    small = drawn(64, 64)
    yield "softmax bf16 64 x 64, the call", lambda: functions.softmax(small), lambda: torch.softmax(small, -1)


def seconds(torch: Any, call: Callable[[], Any]) -> float:
    """The milliseconds of a call, of many one after another."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / CALLS


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path, help="a file for the figures")
    arguments = parser.parse_args(words)
    import torch

    torch.set_grad_enabled(False)
    rows = []
    for name, ours, theirs in pairs(torch):
        for _ in range(20):  # Machine code for launches is made after some of them.
            mine, other = ours(), theirs()
        torch.testing.assert_close(mine.float(), other.float(), rtol=5e-2, atol=5e-1)
        found = [(seconds(torch, ours), seconds(torch, theirs)) for _ in range(ROUNDS)]
        row = {"name": name, "microseconds": round(1000 * median(a for a, _ in found), 1),
               "torch": round(median(b / a for a, b in found), 3)}  # fmt: skip
        rows.append(row)
        print(f"{name:45} {row['microseconds']:10.1f} us  {row['torch']:.2f} x torch", flush=True)
    if arguments.save:
        device = torch.cuda.get_device_name()
        where = {"device": device, "torch": torch.__version__}
        arguments.save.write_text(json.dumps({"environment": where, "rows": rows}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
