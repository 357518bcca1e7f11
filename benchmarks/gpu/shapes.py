"""Products and attention of drawn shapes on an NVIDIA GPU: how the ratios to cuBLAS and cuDNN are distributed.

    python -m benchmarks.gpu.shapes                   30 products and 10 attentions, in less than a minute
    python -m benchmarks.gpu.shapes --only attention  only shapes with that word in their name
    python -m benchmarks.gpu.shapes --save [--to F]   also write benchmarks/results/DATE-cuda-shapes.json, or a file

The shapes come from `numpy.random.default_rng(20261122)`: M, N and K of products of bf16 are log-uniform from 64 to
8192, lengths of attention with 16 heads of 128 from 17 to 9000. Most sizes are no multiples of 8, so that no tensor map
has their rows. Kernels are the library's, which knows no shape when they are loaded. Each is launched many times by a
CUDA graph, and so is its peer; graphs take turns. The exit status is 1 where a result was wrong, 2 without a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from math import log
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import girih
from benchmarks.gpu.cuda import RESULTS, machine, torch_on_cuda
from girih.kernels import attention, gemm_work_group

SEED, PRODUCTS, ATTENTIONS = 20261122, 30, 10
SIZES, LENGTHS = (64, 8192), (17, 9000)
HEADS, HEADDIM = 16, 128
ROUNDS, SECONDS = 5, 0.004
"""How often each graph has its turn, and how long one is about."""
MOST_LAUNCHES = 100
"""A graph has no more launches than that."""
BELOW = (0.5, 0.8, 1.0)
"""The ratios below which shapes are counted."""

Call = Callable[[], object]


def drawn() -> tuple[list[tuple[int, int, int]], list[int]]:
    """The sizes M, N, K of the products, and the lengths of the attentions."""
    source = np.random.default_rng(SEED)
    sizes = np.exp(source.uniform(log(SIZES[0]), log(SIZES[1]), (PRODUCTS, 3))).astype(int).tolist()
    lengths = np.exp(source.uniform(log(LENGTHS[0]), log(LENGTHS[1]), ATTENTIONS)).astype(int).tolist()
    return [(m, n, k) for m, n, k in sizes], lengths


def captured(torch: Any, call: Call, launches: int) -> Any:
    """A graph of so many launches, which ran before."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            call()
    return graph


def seconds_of(torch: Any, call: Call) -> float:
    """The seconds that a call takes on the GPU."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def compared(torch: Any, ours: Call, peer: Call) -> dict[str, float]:
    """The microseconds of a launch of ours and of the peer, and the median ratio of rounds in turns."""
    captured(torch, peer, 1)
    launches = max(1, min(MOST_LAUNCHES, int(SECONDS / max(seconds_of(torch, peer), 1e-6))))
    graphs = captured(torch, ours, launches), captured(torch, peer, launches)
    for graph in graphs:
        graph.replay()
    rounds = [[seconds_of(torch, graph.replay) / launches for graph in graphs] for _ in range(ROUNDS)]
    own, others = zip(*rounds, strict=True)
    return {
        "us": 1e6 * median(own),
        "peer us": 1e6 * median(others),
        "ratio": median(theirs / mine for mine, theirs in rounds),
    }


def product_row(torch: Any, kernel: girih.Kernel, m: int, n: int, k: int) -> dict[str, Any]:
    """The row of a product C := A B of bf16, all without gaps in the order of PyTorch."""
    a, b = (torch.randn(shape, device="cuda").to(torch.bfloat16) for shape in ((m, k), (k, n)))
    c, d = (torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16) for _ in range(2))
    found = compared(torch, lambda: kernel(b, a, c), lambda: torch.mm(a, b, out=d))
    wide = [one.float() for one in (a, b)]
    want, most = wide[0] @ wide[1], wide[0].abs() @ wide[1].abs()
    # bf16 rounds by 2^-9 of a number; sums in f32 of any order differ by much less than 2^-18 of what is summed.
    bound = want.abs() * 2.0**-8 + most * 2.0**-18
    return found | {"error": float(((c.float() - want).abs() / bound).nan_to_num(float("inf")).max())}


def attention_row(torch: Any, kernel: girih.Kernel, length: int, *, causal: bool) -> dict[str, Any]:
    """The row of an attention of as many queries as keys."""
    q, k, v = (torch.randn(HEADS, length, HEADDIM, device="cuda").to(torch.bfloat16) for _ in range(3))
    o, scale = torch.full_like(q, float("nan")), HEADDIM**-0.5
    peer = torch.nn.functional.scaled_dot_product_attention

    def theirs() -> Any:
        return peer(q[None], k[None], v[None], is_causal=causal)

    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            theirs()
        way, name = sdpa_kernel(SDPBackend.CUDNN_ATTENTION), "cuDNN"
    except (ImportError, RuntimeError):
        way, name = nullcontext(), "torch"
    with way:
        found = compared(torch, lambda: kernel(q, k, v, o, scale), theirs)
    want = peer(*(one[None, :4].float() for one in (q, k, v)), is_causal=causal)[0]
    bound = 2.0**-6 * want.abs().amax(-1, keepdim=True)
    return found | {"error": float(((o[:4].float() - want).abs() / bound).nan_to_num(float("inf")).max()), "peer": name}


def rows(torch: Any, only: str) -> Iterator[dict[str, Any]]:
    """The rows, one after another; one that was refused says why."""
    sizes, lengths = drawn()
    product = gemm_work_group(type="bf16", order="C", target="cuda")
    attentions = {
        causal: attention(type="bf16", headdim=HEADDIM, causal=causal, fast=True, order="C", target="cuda")
        for causal in (False, True)
    }
    calls: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        (f"product {m} x {n} x {k}", partial(product_row, torch, product, m, n, k)) for m, n, k in sizes
    ]
    for number, length in enumerate(lengths):
        causal = number % 2 == 1
        name = f"attention {length}{' causal' if causal else ''}"
        calls.append((name, partial(attention_row, torch, attentions[causal], length, causal=causal)))
    for name, call in calls:
        if only not in name:
            continue
        try:
            found = call()
        except (girih.CompileError, girih.LaunchError, girih.KernelError, RuntimeError) as error:
            found = {"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        yield {"name": name} | found
        torch.cuda.empty_cache()


def show(row: Mapping[str, Any]) -> None:
    """Print a row."""
    if "refused" in row:
        print(f"{row['name']:28} {row['refused']}", flush=True)
        return
    right = "right" if row["error"] <= 1 else f"WRONG, {row['error']:.3g} times as far off as it may be"
    print(f"{row['name']:28} {row['ratio']:.3f} x  {row['us']:8.1f} us, {row.get('peer', 'cuBLAS')} "
          f"{row['peer us']:8.1f}  {right}", flush=True)  # fmt: skip


def summary(kept: Sequence[Mapping[str, Any]], word: str) -> dict[str, Any]:
    """How the ratios of some shapes are distributed."""
    ratios = sorted(row["ratio"] for row in kept if row["name"].startswith(word) and "ratio" in row)
    if not ratios:
        return {}
    quarter, middle, most = (float(np.quantile(ratios, part)) for part in (0.25, 0.5, 0.75))
    counts = {f"below {limit}": sum(ratio < limit for ratio in ratios) for limit in BELOW}
    return {
        "shapes": len(ratios), "least": ratios[0], "quarter": quarter, "median": middle, "three quarters": most,
        "most": ratios[-1], "geometric mean": geometric_mean(ratios), **counts,
    }  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a word of the names of shapes")
    parser.add_argument("--commit", help="the commit, where the files have no history beside them")
    parser.add_argument("--save", action="store_true", help="write the figures")
    parser.add_argument("--to", type=Path, help="the file for the figures")
    arguments = parser.parse_args(words)
    torch = torch_on_cuda()
    if torch is None:
        print("not measured: PyTorch with a GPU is what kernels are compared with", file=sys.stderr)
        return 2
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(SEED)
    where = machine(torch)
    where["commit"] = arguments.commit or where["commit"]
    begin, kept = time.perf_counter(), []
    for row in rows(torch, arguments.only):
        kept.append(row)
        show(row)
    found = {word: summary(kept, word) for word in ("product", "attention")}
    for word, one in found.items():
        print(f"{word}: " + ", ".join(f"{name} {value:.3g}" for name, value in one.items()), flush=True)
    print(f"{where['device']}, girih {where['commit']}, torch {where['torch']}: {time.perf_counter() - begin:.0f} s")
    if arguments.save or arguments.to:
        target = arguments.to or RESULTS / f"{where['date']}-cuda-shapes.json"
        held = {"environment": where, "seed": SEED, "rows": kept, "distribution": found}
        target.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row.get("error", 0) > 1 or "refused" in row for row in kept) else 0


if __name__ == "__main__":
    sys.exit(main())
