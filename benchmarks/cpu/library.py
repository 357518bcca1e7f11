"""Measure every kernel of the library against NumPy and torch, and keep the figures as data.

    python benchmarks/cpu/library.py                each kernel of `girih kernels`, as `girih bench NAME` measures it
    python benchmarks/cpu/library.py gemm softmax   only these
    python benchmarks/cpu/library.py --save         also write benchmarks/results/DATE-library.json, or for some
                                                kernels DATE-KERNEL-...-library.json

One thread, and the checks that `girih.load` has unless told otherwise; what they cost stands in the rows too. The pages
of the kernels show what is saved. Nothing is asserted but that results are right.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from girih.bench import session
from girih.bench.choices import type_of
from girih.bench.events import MeasuringRequest
from girih.bench.report import Results, head, tail
from girih.commands.bench import table
from girih.kernels.table import TABLE

ROOT = Path(__file__).resolve().parent.parent.parent


def measured(names: Sequence[str], *, quick: bool, against: Sequence[str] = ()) -> Results:
    """The rows of the kernels, one process after the other."""
    results = Results()
    for name in names:
        print(f"  {name}", file=sys.stderr)
        request = MeasuringRequest("library", name=name, type=type_of(name, {}), checks=("bounds", "off"), quick=quick,
                                   against=tuple(against))  # fmt: skip
        for event in session.measure(request):
            results.take(event)
    return results


def show(results: Results) -> None:
    """Print everything as a table."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 180, markup=False, highlight=False)
    console.print(head(results) + "\n", soft_wrap=True)
    console.print(table("library", results.rows))
    for problem in results.problems:
        print(f"error: {problem['group']}: {problem['name']}: {problem['message']}")
    print(tail(results))


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the figures if asked to; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels; all where none is named")
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results/")
    parser.add_argument("--quick", action="store_true", help="shorter and less exact")
    parser.add_argument(
        "--against", action="append", default=[], metavar="PEER", help="only this peer; may be repeated"
    )
    arguments = parser.parse_args(words)
    results = measured(arguments.names or tuple(TABLE), quick=arguments.quick, against=arguments.against)
    show(results)
    if arguments.save:
        parts = [results.environment["date"], *arguments.names, "library"]
        path = ROOT / "benchmarks" / "results" / f"{'-'.join(parts)}.json"
        path.write_text(json.dumps(results.to_json(), indent=1) + "\n", encoding="utf-8")
        print(f"written to {path.relative_to(ROOT)}")
    return results.status


if __name__ == "__main__":
    sys.exit(main())
