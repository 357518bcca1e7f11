"""The generated parts of the pages of kernels: the text of the kernel, its picture, and its figures.

A page has pairs of comments, `<!-- orders -->`, `<!-- access -->`, `<!-- figures -->` and `<!-- text -->`, each up to
`<!-- end -->`. The parts between them are written here: words on row-major arrays, the picture of
tools/kernel_pictures.py, tables from benchmarks/results/, and girih/kernels/NAME.tl, folded. tools/generate_docs.py
writes the pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any

from girih.kernels.table import ROW_MAJOR, TABLE
from tools.kernel_pictures import PICTURES

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PART = re.compile(r"<!-- (orders|access|figures|text) -->\n.*?<!-- end -->", re.S)
PEERS = {"numpy": "NumPy", "torch": "torch", "libxsmm": "libxsmm"}

STANDARD = {
    "gemm": ("tiles", "tile gemm "),
    "gemm_batched": ("batched", ""),
    "softmax": ("rows", "softmax "),
    "layernorm": ("rows", "layernorm "),
    "attention": ("attention", "attention "),
}
"""The groups of the standard set that measure a kernel of the library, and the beginnings of their rows' names."""


LIBRARY_NAMES = {"gemm": "tile gemm"}
"""The beginnings of the rows of benchmarks/cpu/library.py that are not the name of the kernel."""


@dataclass(frozen=True)
class Figure:
    """A row of a table: sizes in words, the time, the rate, and the peer's time over ours by peer."""

    sizes: str
    seconds: float
    rate: str
    ratios: Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """The rows of one run on one machine, and the checks that its kernels had."""

    environment: Mapping[str, Any]
    checks: str
    rows: list[Figure]


def pages() -> dict[str, str]:
    """The text of every page of a kernel by its path in the repository."""
    found = {}
    for name in TABLE:
        path = ROOT / "docs" / "kernels" / f"{name}.md"
        found[path.relative_to(ROOT).as_posix()] = PART.sub(_part_of(name), path.read_text(encoding="utf-8"))
    return found


def _part_of(name: str) -> Callable[[re.Match[str]], str]:
    makers = {"orders": orders, "access": access, "figures": figures, "text": text}
    return lambda part: "\n".join([f"<!-- {part[1]} -->", "", *makers[part[1]](name), "", "<!-- end -->"])


def orders(name: str) -> Iterator[str]:
    """The lines on what the kernel computes for row-major arrays."""
    words = f'With `order="C"`, the kernel takes NumPy\'s arrays as they are, axes in reverse order. {ROW_MAJOR[name]}'
    yield from wrap(words, 120, break_long_words=False, break_on_hyphens=False)


def access(name: str) -> Iterator[str]:
    """The lines of the picture, a link to its full size."""
    file = f"../pictures/kernels/{name}.svg"
    assert name in PICTURES, f"{name} has no picture"
    yield f"[![Which elements a work-group of {name} reads and writes]({file})]({file})"


def text(name: str) -> Iterator[str]:
    """The lines of the kernel's text, folded, and of those that take its place on a CPU or GPU, if there are any."""
    folder = ROOT / "girih" / "kernels"
    places = (folder, folder / "cpu", folder / "gpu")
    files = [file for place in places if (file := place / f"{name}.tl").exists()]
    for number, file in enumerate(files):
        shown = file.read_text(encoding="utf-8").rstrip("\n")
        yield from ("",) if number else ()
        title = file.relative_to(folder).as_posix()
        yield from ("<details>", f"<summary>{title}, {shown.count(chr(10)) + 1} lines</summary>", "")
        yield from ("```tl", shown, "```", "", "</details>")


def figures(name: str) -> Iterator[str]:
    """Tables of what was measured, and on what."""
    for number, results in enumerate(measured(name)):
        yield from ("",) if number else ()
        yield from _table(results)


def _table(results: Measured) -> Iterator[str]:
    rows = results.rows
    peers = [peer for peer in PEERS if any(peer in row.ratios for row in rows)]
    heads = ["sizes", "time", "rate", *(f"\N{MULTIPLICATION SIGN} {PEERS[peer]}" for peer in peers)]
    yield from ("| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads))
    for row in rows:
        ratios = [f"{row.ratios[peer]:.2f}" if peer in row.ratios else "" for peer in peers]
        yield "| " + " | ".join([row.sizes, in_words(row.seconds), row.rate, *ratios]) + " |"
    yield from ("", machine(results, peers))


def machine(results: Measured, peers: list[str]) -> str:
    """The lines on the machine, the packages and the date of the figures."""
    environment = results.environment
    versions = ["girih " + environment["girih"], *(f"{PEERS[peer]} {environment[peer]}" for peer in peers)]
    return (
        f"One thread of an {environment['cpu']} ({environment['llvm_cpu']}), {environment['date']},\n"
        f"checks {results.checks}; "
        f"{', '.join(versions)}. [How to read this](index.md#figures)."
    )


def in_words(seconds: float) -> str:
    """The time in words, with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def measured(name: str) -> Iterator[Measured]:
    """The figures of a kernel with one thread, machine by machine."""
    if name in STANDARD:
        group, begin = STANDARD[name]
        yield _of_suite("cpu", "off", lambda row: row["group"] == group and row["name"].startswith(begin), begin)
    quantised = newest("quantised")
    chosen = [row for row in quantised["rows"] if (row["product"], row["threads"], row["checks"]) == (name, 1, "off")]
    if chosen:
        yield Measured(quantised["environment"], "off", [_quantised(row) for row in chosen])
    begin = LIBRARY_NAMES.get(name, name) + " "
    yield _of_suite("library", "bounds", lambda row: row["name"].startswith(begin), begin)


def _of_suite(suite: str, checks: str, chosen: Callable[[Mapping[str, Any]], bool], begin: str) -> Measured:
    """The rows of a suite that are chosen and measured with these checks."""
    for results in newest_first(suite):
        rows = [row for row in results["rows"] if row["checks"] == checks and row["seconds"] and chosen(row)]
        if rows:
            return Measured(results["environment"], checks, [_standard(row, begin) for row in rows])
    raise AssertionError(f"benchmarks/results has no rows {begin!r} of {suite}")


def newest(suite: str) -> dict[str, Any]:
    """The newest results of a suite of benchmarks."""
    return newest_first(suite)[0]


@cache
def newest_first(suite: str) -> list[dict[str, Any]]:
    """The results of a suite of benchmarks on CPUs, the newest first; some are of a few kernels alone."""
    found = (path for path in RESULTS.glob(f"*-{suite}.json") if "-cuda-" not in path.name)
    paths = sorted(found, reverse=True)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def _standard(row: Mapping[str, Any], begin: str) -> Figure:
    fast, moved = row["gflops"], row["gigabytes_per_second"]
    rate = f"{fast:.1f} GFLOP/s" if fast else f"{moved:.1f} GB/s"
    ratios = {peer: against["ratio"] for peer, against in row["against"].items()}
    return Figure(row["name"].removeprefix(begin), row["seconds"], rate, ratios)


def _quantised(row: Mapping[str, Any]) -> Figure:
    rate = f"{row['GFLOP/s']:.1f} GFLOP/s" if "GFLOP/s" in row else f"{row['GB/s']:.1f} GB/s"
    return Figure(
        row["size"].replace("x", " x "), row["ms"] / 1e3, rate, {"numpy": row["ratio"]} if "ratio" in row else {}
    )
