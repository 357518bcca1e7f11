"""Measure the CPU target against the best libraries, in one run, and keep the figures as data.

    python benchmarks/cpu/standard.py                        the standard set of `girih bench`, and the groups below
    python benchmarks/cpu/standard.py --group growth         one group; may be repeated
    python benchmarks/cpu/standard.py --save                 also write benchmarks/results/DATE-cpu.json

Beyond the standard set there are `shapes` (products of odd shapes, against NumPy) and `growth` (compile
time and peak memory against the number of instructions, of straight-line code and of loops). Nothing is asserted here
but that results are right.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from girih.bench import session
from girih.bench.events import CHECK_MODES, Event, MeasuringRequest
from girih.bench.machine import load, usable_cpus
from girih.bench.measuring.rows import BUSY
from girih.bench.report import Results, head, tail
from girih.commands.bench import table

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

OWN = ("shapes", "growth")
"""Groups that are measured here alone."""

SHAPES = (
    (127, 127, 127), (251, 251, 251), (509, 509, 509), (1021, 1021, 1021),
    (1, 1024, 1024), (1024, 1, 1024), (1024, 1024, 1), (3, 1000, 1000), (1000, 3, 1000), (1000, 1000, 3),
    (65, 65, 65), (129, 257, 513), (17, 4096, 17), (4096, 17, 17), (333, 7, 991),
)  # fmt: skip
"""M x N x K: primes, one row or column, remainders of one, flat ones."""

FLAT = ((2, 2, 10000), (6, 6, 3000), (13, 13, 5000), (37, 29, 1000), (64, 64, 4000), (3, 2000, 2000), (2000, 3, 2000))
"""M x N x K of few rows or columns, mostly of a great depth: in all four ways."""


def own_events(request: MeasuringRequest) -> Iterator[Event]:
    """The groups of this file, in the measuring process."""
    from benchmarks.cpu.growth import growth
    from girih.bench.cases.case import Case
    from girih.bench.cases.products import shapes
    from girih.bench.child import serve

    cases: list[Case] = []
    if "shapes" in request.groups:
        cases += [
            Case("shapes", f"{m}x{n}x{k} {type}", partial(shapes, type=type, m=m, n=n, k=k))
            for type in ("f32", "f64")
            for m, n, k in SHAPES
        ]
        cases += [
            Case("shapes", f"{way} {m}x{n}x{k} {type}", partial(shapes, type=type, m=m, n=n, k=k, way=way))
            for type in ("f32", "f64")
            for m, n, k in FLAT
            for way in ("nn", "nt", "tn", "tt")
        ]
    if "growth" in request.groups:
        cases += growth()
    yield from serve(request, cases)


def child() -> None:
    """Serve a request for the groups of this file."""
    from girih.bench.child import own_output, send

    stream = own_output()
    send(own_events(MeasuringRequest.from_text(sys.stdin.readline())), stream)


def measured(arguments: argparse.Namespace) -> Results:
    """Everything that was asked for, printed group by group."""
    results, shown = Results(), 0
    for event in events(arguments):
        results.take(event)
        if event["event"] == "begin":
            print(f"  {event['group']}: {event['name']}", file=sys.stderr)
            shown = show(results, shown, event["group"])
    show(results, shown, None)
    return results


def events(arguments: argparse.Namespace) -> Iterator[Event]:
    """What the measuring processes say: of the standard set, then of this file."""
    standard: tuple[str, ...] = tuple(group for group in arguments.group if group not in OWN)
    own = tuple(group for group in arguments.group if group in OWN) if arguments.group else OWN
    request = MeasuringRequest(
        "standard", standard, checks=CHECK_MODES[arguments.checks], threads=arguments.threads, quick=arguments.quick
    )
    if standard or not arguments.group:
        yield from session.measure(request)
    if own:
        mine = MeasuringRequest("shapes and growth", own, checks=request.checks, quick=arguments.quick)
        yield from session.measure(mine, (str(Path(__file__).resolve()), "--child"))


def show(results: Results, shown: int, current: str | None) -> int:
    """Print the groups that are complete, and say how many rows have been printed."""
    from rich.console import Console

    rest = results.rows[shown:]
    if not rest or rest[0].group == current:
        return shown
    console = Console(width=None if sys.stdout.isatty() else 180, markup=False, highlight=False)
    if shown == 0:
        console.print(head(results) + "\n", soft_wrap=True)
    for group in dict.fromkeys(row.group for row in rest):
        console.print(table(group, [row for row in rest if row.group == group]))
    return len(results.rows)


def keep(results: Results) -> None:
    """Write everything to benchmarks/results/; the commit and the load are in it."""
    path = ROOT / "benchmarks" / "results" / f"{results.environment['date']}-cpu.json"
    path.write_text(json.dumps(results.to_json(), indent=1) + "\n", encoding="utf-8")
    print(f"written to {path.relative_to(ROOT)}")


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the figures if asked to; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results/")
    parser.add_argument("--busy", action="store_true", help="save although other processes are running")
    parser.add_argument("--group", action="append", default=[], help="only this group; may be repeated")
    parser.add_argument("--checks", choices=sorted(CHECK_MODES), default="both", help="what compiled code checks")
    parser.add_argument("--threads", type=int, default=min(2, usable_cpus()), help="of the groups about threads")
    parser.add_argument("--quick", action="store_true", help="shorter and less exact")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.child:
        child()
        return 0
    if arguments.save and load() > BUSY and not arguments.busy:
        parser.error(f"other processes are running (load {load():.1f}): wait, or add --busy to keep such figures")
    results = measured(arguments)
    for problem in results.problems:
        print(f"error: {problem['group']}: {problem['name']}: {problem['message']}")
    from benchmarks.cpu.goals import summary

    print("\n".join(filter(None, [tail(results), summary(results.rows)])))
    if arguments.save:
        keep(results)
    return results.status


if __name__ == "__main__":
    sys.exit(main())
