"""Measure 60 problems that nobody tuned for: sizes and types were drawn once, before the tuning, by a fixed seed.

    python benchmarks/cpu/drawn.py                      one thread, against NumPy and torch, checks off
    python benchmarks/cpu/drawn.py --threads 16         all 60 on 16 threads
    python benchmarks/cpu/drawn.py --checks bounds      with the checks that `girih.load` has
    python benchmarks/cpu/drawn.py --save               also write benchmarks/results/DATE-drawn.json

24 products with one `gemm` (some with transposed factors), 12 of the library's kernel `gemm`, 8 batches of small
products, 6 of attention, 10 of softmax and layer normalisation. At the end stand the quantiles of the ratios to each
peer, above 1 where girih is faster, and the worst problems by name. Nothing is asserted but that results are right.
"""

from __future__ import annotations

import argparse
import json
import random as draw
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import quantiles

from girih.bench import session
from girih.bench.events import CHECK_MODES, MeasuringRequest
from girih.bench.machine import usable_cpus
from girih.bench.measuring.rows import Measurement, geometric_mean
from girih.bench.report import Results, head, tail
from girih.commands.bench import table

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

SEED = 17
WAYS = ("nn", "nn", "nt", "tn", "tt")
WORST = 6


def size(source: draw.Random, least: int, most: int) -> int:
    """A size whose logarithm is evenly distributed."""
    return round(least * float((most / least) ** source.random()))


def problems() -> Iterator[tuple[str, tuple[object, ...]]]:
    """The problems: their kind, and its numbers."""
    source = draw.Random(SEED)
    for number in range(24):
        type = ("f32", "f64", "bf16", "f16")[number % 4]
        m, n, k = (size(source, 4, 3000) for _ in range(3))
        yield "gemm", (type, m, n, k, source.choice(WAYS) if number % 4 < 2 else "nn")
    for number in range(12):
        yield "tiles", (("f32", "f64", "bf16", "f16")[number % 4], *(size(source, 16, 2000) for _ in range(3)))
    for number in range(8):
        yield "batch", (("f32", "f64")[number % 2], *(size(source, 3, 72) for _ in range(3)))
    for number in range(6):
        yield (
            "attention",
            (("f32", "bf16", "f16")[number % 3], size(source, 40, 3000), source.choice((32, 64, 96, 128))),
        )
    for number in range(10):
        yield ("softmax", "layernorm")[number % 2], (("f32", "f64", "bf16")[number % 3], size(source, 8, 20000))


def child() -> None:
    """Serve a request for the problems."""
    from benchmarks.cpu.drawn_cases import measured_problem
    from girih.bench.cases.case import Case
    from girih.bench.child import own_output, send, serve

    stream = own_output()
    request = MeasuringRequest.from_text(sys.stdin.readline())
    cases = [
        Case("drawn", f"{kind} {' '.join(map(str, numbers))}", partial(measured_problem, kind=kind, numbers=numbers))
        for kind, numbers in problems()
    ]
    send(serve(request, cases), stream)


def summary(rows: Sequence[Measurement]) -> str:
    """The distribution of the ratios to each peer, and the worst problems."""
    lines: list[str] = []
    for peer in dict.fromkeys(name for row in rows for name in row.against):
        ratios = sorted((row.against[peer].ratio, row.name) for row in rows if peer in row.against)
        values = [ratio for ratio, _ in ratios]
        if len(values) < 2:
            continue
        tenths = quantiles(values, n=10, method="inclusive")
        shown = ", ".join(f"{100 * (place + 1) // 10}%: {tenths[place]:.2f}" for place in (0, 2, 4, 6, 8))
        below = sum(value < 1 for value in values)
        lines.append(
            f"against {peer}, {len(values)} problems: {shown}; geometric mean {geometric_mean(values):.2f}; "
            f"{below} below 1"
        )
        lines += [f"    {ratio:.2f}  {name}" for ratio, name in ratios[:WORST]]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the figures if asked to; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results/")
    parser.add_argument("--checks", choices=sorted(CHECK_MODES), default="off", help="what compiled code checks")
    parser.add_argument("--threads", type=int, default=1, help=f"up to {usable_cpus()} here")
    parser.add_argument("--quick", action="store_true", help="shorter and less exact")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        child()
        return 0
    request = MeasuringRequest(
        "drawn", checks=CHECK_MODES[arguments.checks], threads=arguments.threads, quick=arguments.quick
    )
    results = Results()
    for event in session.measure(request, (str(Path(__file__).resolve()), "--child")):
        results.take(event)
    print(head(results))
    from rich.console import Console

    Console(width=180, markup=False, highlight=False).print(table("drawn", results.rows))
    for problem in results.problems:
        print(f"error: {problem['group']}: {problem['name']}: {problem['message']}")
    print("\n".join(filter(None, [tail(results), summary(results.rows)])))
    if arguments.save:
        date, more = results.environment["date"], "" if arguments.threads == 1 else f"-{arguments.threads}-threads"
        path = ROOT / "benchmarks" / "results" / f"{date}-drawn{more}.json"
        path.write_text(json.dumps(results.to_json(), indent=1) + "\n", encoding="utf-8")
        print(f"written to {path.relative_to(ROOT)}")
    return results.status


if __name__ == "__main__":
    sys.exit(main())
