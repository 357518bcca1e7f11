"""The plots and tables of docs/speed.md, from the newest figures in benchmarks/results/, of two machines.

The page has comments `<!-- NAME -->` up to `<!-- end -->` for its tables, which are written between them. Nothing is
measured here. `tools/draw_pictures.py` writes the plots, `tools/generate_docs.py` the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from tools.pages.kernels import PEERS, RESULTS, in_words, newest
from tools.picture import Picture

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/speed.md"
PART = re.compile(r"<!-- (machine|summary|checks|start|server|cuda) -->\n.*?<!-- end -->", re.S)

Row = Mapping[str, Any]
Scale = Callable[[float], float]

LOOKS = {"numpy": ("blue", "circle"), "torch": ("amber", "diamond"), "libxsmm": ("green", "square")}
"""The colour and the shape of a peer's marks."""

GROUPS = {
    "gemm": ("large products", "blue"),
    "batched": ("small products in the cache", "green"),
    "streamed": ("small products from memory", "amber"),
    "attention": ("attention", "violet"),
    "vectors": ("vectors, matrix times vector", "rose"),
}
"""The groups under the roof: their subject in words, and their colour."""

SUMMARY = {
    "gemm": "large products, one instruction",
    "tiles": "products by tiles of cooperative matrices",
    "shapes": "products of odd shapes",
    "batched": "many small products, in the cache",
    "streamed": "many small products, from memory",
    "rows": "softmax and layer normalisation",
    "attention": "attention",
    "vectors": "vectors, matrix times vector",
    "functions": "functions of elements",
}
WIDTH = 736
SMALLEST, LARGEST = 0.25, 16.0
"""The ratios at the ends of the axis; marks beyond are drawn at the end, with their numbers."""


SERVER = "emeraldrapids"
"""The kind of results of a server of Intel with AMX."""

CUDA = "cuda"
"""The kind of results of an NVIDIA GPU."""

THREAD = "zen4"
"""The kind of results of one thread of a processor of AMD; times of starting, and of checks, are of the kind `cpu`."""


def rows_of(*groups: str, kind: str = "cpu") -> list[Row]:
    """The measured rows of some groups, in order; `kind` is that of the results."""
    return [row for row in newest(kind)["rows"] if row["group"] in groups and row["seconds"]]


def _named(row: Row) -> str:
    return str(row["name"]).replace(" elements", "").replace(", head dim 64", "")


def roofline() -> str:
    """The plot of rates against operations a byte, under the limits of the machine."""
    p = Picture(WIDTH, 480, "Operations a second against operations for each byte, under the limits of the machine")
    machine = newest(THREAD)["machine"]
    x = _log_scale(0.125, 1024, 64, 700)
    y = _log_scale(3, 300, 400, 60)
    p.text(24, 32, "Under the roof: 10⁹ operations a second, one thread", look="bold")
    for rate in (3, 10, 30, 100, 300):
        p.line(64, y(rate), 700, y(rate), "edge")
        p.text(56, y(rate) + 4, str(rate), "soft", "small", "end")
    for value in (0.25, 1, 4, 16, 64, 256, 1024):
        p.text(x(value), 418, f"1/{1 / value:g}" if value < 1 else f"{value:g}", "soft", "small", "middle")
    p.text(700, 380, "operations for each byte of the arguments", "soft", "small", "end")
    bandwidth = machine["gigabytes_per_second"]
    top = max(machine["gflops"].values())
    p.line(x(0.125), y(bandwidth * 0.125), x(top / bandwidth), y(top))
    p.text(x(0.5), y(bandwidth * 0.25), f"memory, {bandwidth:.0f} GB/s; above: in a cache", "soft", "small")
    for type, peak in machine["gflops"].items():
        p.line(x(peak / bandwidth), y(peak), 700, y(peak))
        p.text(700, y(peak) - 5, f"{type} {peak:.0f}", "soft", "small", "end")
    for group, (_, colour) in GROUPS.items():
        for row in rows_of(group, kind=THREAD):
            if row["gflops"]:
                p.dot(x(row["flops"] / row["bytes"]), y(row["gflops"]), colour)
    for number, (words, colour) in enumerate(GROUPS.values()):
        place, base = 70 + 220 * (number % 3), 446 + 20 * (number // 3)
        p.dot(place, base - 4, colour)
        p.text(place + 10, base, words, "soft", "small")
    return p.svg()


def _log_scale(low: float, high: float, begin: float, end: float) -> Scale:
    """A logarithmic scale from values to pixels."""
    return lambda value: begin + (end - begin) * (log(value) - log(low)) / (log(high) - log(low))


def ratios(title: str, *groups: str) -> str:
    """The plot of ratios: how many times as fast as its peers each row is."""
    lines: list[Row | str] = []
    for group in groups:
        lines += [SUMMARY[group], *(row for row in rows_of(group, kind=THREAD) if row["against"])]
    p = Picture(WIDTH, 92 + 20 * len(lines), title)
    p.text(24, 32, title, look="bold")
    x = _ratio_axis(p, 250, 84, 80 + 20 * len(lines))
    for number, line in enumerate(lines):
        y = 90 + 20 * number
        if isinstance(line, str):
            p.box(24, y - 9, WIDTH - 48, 18, "panel", radius=0)
            p.text(24, y + 4, line, look="small bold")
            continue
        p.text(240, y + 4, _named(line), look="small", anchor="end")
        for peer, against in line["against"].items():
            _mark(p, x, y, peer, against["ratio"])
    return p.svg()


def _ratio_axis(p: Picture, left: float, top: float, bottom: float) -> Scale:
    """The scale of the axis of ratios, drawn with the key of peers."""
    x = _log_scale(SMALLEST, LARGEST, left, WIDTH - 44)
    p.box(left, top - 6, x(1) - left, bottom - top + 6, "off", radius=0)
    for value in (0.25, 0.5, 1, 2, 4, 8, 16):
        p.line(x(value), top - 6, x(value), bottom, "soft" if value == 1 else "edge")
        p.text(x(value), top - 12, f"{value:g}", "soft", "small", "middle")
    place = 240.0
    for peer, (colour, shape) in LOOKS.items():
        p.dot(place + 6, 50, colour, shape)
        p.text(place + 16, 54, PEERS[peer], "soft", "small")
        place += 80
    p.text(24, 54, "times as fast as; grey: slower", "soft", "small")
    return x


def _mark(p: Picture, x: Scale, y: float, peer: str, ratio: float) -> None:
    shown = min(max(ratio, SMALLEST), LARGEST)
    p.dot(x(shown), y, *LOOKS[peer])
    if shown != ratio:
        p.text(x(shown) + 9, y + 4, f"{ratio:.0f}", "soft", "small")


def shapes() -> str:
    """The plot of all products of odd shapes, a line for each peer."""
    title = "Products of odd shapes: a mark is a shape"
    p = Picture(WIDTH, 190, title)
    p.text(24, 32, title, look="bold")
    x = _ratio_axis(p, 120, 84, 172)
    for number, peer in enumerate(("numpy", "torch")):
        found = [row["against"][peer]["ratio"] for row in rows_of("shapes", kind=THREAD) if peer in row["against"]]
        y = 108 + 44 * number
        p.text(110, y - 4, PEERS[peer], look="small", anchor="end")
        p.text(110, y + 12, f"median {median(found):.2f}", "soft", "small", "end")
        for place, ratio in enumerate(found):
            _mark(p, x, y - 14 + 7 * (place % 5), peer, ratio)
    return p.svg()


def growth() -> str:
    """The plot of compile time against the number of instructions."""
    title = "Compile time against instructions: the text read, checked, lowered, and LLVM"
    p = Picture(WIDTH, 330, title)
    p.text(24, 32, title, look="bold")
    x, y = _log_scale(80, 12500, 84, 560), _log_scale(0.005, 3, 280, 60)
    for seconds in (0.01, 0.1, 1):
        p.line(84, y(seconds), 560, y(seconds), "edge")
        p.text(76, y(seconds) + 4, in_words(seconds), "soft", "small", "end")
    for count in (100, 300, 1000, 3000, 10000):
        p.text(x(count), 300, f"{count:,}", "soft", "small", "middle")
    p.text(560, 318, "instructions", "soft", "small", "end")
    for kind, colour in (("straight-line", "blue"), ("loops", "amber"), ("in lanes", "green")):
        rows = [row for row in rows_of("growth") if row["name"].endswith(kind)]
        points = [(x(float(row["name"].split()[0].replace(",", ""))), y(row["seconds"])) for row in rows]
        for (x1, y1), (x2, y2) in pairwise(points):
            p.line(x1, y1, x2, y2, colour)
        for place in points:
            p.dot(*place, colour)
    for number, (kind, colour) in enumerate((("straight-line", "blue"), ("loops", "amber"), ("in lanes", "green"))):
        p.dot(590, 80 + 24 * number, colour)
        p.text(602, 84 + 24 * number, kind, "soft", "small")
    return p.svg()


COST_PLACES = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)


def checks() -> str:
    """The plot of the cost of checks of bounds, row by row."""
    title = "Time with checks of bounds over the time without, one thread"
    p = Picture(WIDTH, 190, title)
    p.text(24, 32, title, look="bold")
    left, right = 60.0, 700.0

    def x(value: float) -> float:
        return left + (right - left) * (value - COST_PLACES[0]) / (COST_PLACES[-1] - COST_PLACES[0])

    for value in COST_PLACES:
        p.line(x(value), 64, x(value), 160, "soft" if value == 1 else "edge")
        p.text(x(value), 178, f"{value:g}", "soft", "small", "middle")
    for place, (cost, is_quantised) in enumerate(sorted(costs())):
        p.dot(x(cost), 76 + 8 * (place % 10), "rose" if is_quantised else "blue")
    for number, (words, colour) in enumerate((("the standard set and odd shapes", "blue"), ("quantised", "rose"))):
        p.dot(66 + 240 * number, 50, colour)
        p.text(76 + 240 * number, 54, words, "soft", "small")
    return p.svg()


def costs() -> list[tuple[float, bool]]:
    """The time with checks over that without, and whether weights are quantised, of what ran on one thread."""
    rows = [row for row in rows_of(*SUMMARY) if row["threads"] == 1 and "checks" in row["figures"]]
    found = [(row["figures"]["checks"], False) for row in rows]
    weights = [row for row in newest("quantised")["rows"] if row["threads"] == 1]
    off = {row["product"]: row["ms"] for row in weights if row["checks"] == "off"}
    return found + [(row["ms"] / off[row["product"]], True) for row in weights if row["checks"] == "bounds"]


START_PARTS = (
    ("python", "soft"), ("import numpy", "blue"), ("import girih", "green"), ("import llvmlite", "violet"),
    ("parse and check", "amber"), ("lower", "rose"), ("LLVM", "blue"), ("link", "green"), ("first call", "violet"),
    ("rest", "edge"),
)  # fmt: skip
"""The steps of a fresh process, in order, each in a colour that its neighbours do not have."""


def start() -> str:
    """The plot of the time that a fresh process spends in each step."""
    title = "A fresh Python process, until attention has run once"
    rows = rows_of("start")
    p = Picture(WIDTH, 70 + 92 * len(rows), title)
    p.text(24, 32, title, look="bold")
    longest = max(row["seconds"] for row in rows) * 1e3
    for number, row in enumerate(rows):
        top, left = 66 + 92 * number, 24.0
        name = ("compiled", "from the cache on disk")["cache" in row["name"]]
        p.text(24, top - 8, f"{name}: {row['seconds'] * 1e3:.0f} ms", look="small")
        for part, colour in START_PARTS:
            wide = row["figures"].get(part, 0.0) / longest * (WIDTH - 48)
            if wide:
                p.box(left, top, max(wide - 1, 1), 26, colour, radius=2)
            if wide > 6.6 * len(part):
                p.text(left + wide / 2, top + 42, part, "soft", "small", "middle")
            left += wide
    return p.svg()


PICTURES: dict[str, Callable[[], str]] = {
    "roofline": roofline,
    "ratios": lambda: ratios("Products, softmax, attention, vectors", "gemm", "tiles", "rows", "attention", "vectors"),
    "small-products": lambda: ratios("Many small products, in the cache and from memory", "batched", "streamed"),
    "shapes": shapes,
    "growth": growth,
    "start": start,
    "checks": checks,
}
"""The plots by name."""


def pictures() -> dict[str, str]:
    """The text of every plot by its path in the repository."""
    return {f"docs/pictures/speed/{name}.svg": drawn() for name, drawn in PICTURES.items()}


def pages() -> dict[str, str]:
    """The page with its tables."""

    def part(found: re.Match[str]) -> str:
        return "\n".join([f"<!-- {found[1]} -->", "", *TABLES[found[1]](), "", "<!-- end -->"])

    return {PAGE: PART.sub(part, (ROOT / PAGE).read_text(encoding="utf-8"))}


def _machine(kind: str = THREAD) -> Iterator[str]:
    """The lines on the machine and the date of the figures."""
    of = newest(kind)["environment"]
    yield f"Measured on {of['date']}: one thread of an {of['cpu']} with {of['cpus']} cores, `{of['llvm_cpu']}` to LLVM;"
    yield f"{of['system'].split('-')[0]}, Python {of['python']}, girih {of['girih']} with LLVM {of['llvm']}."
    yield f"Peers: NumPy {of['numpy']} with the OpenBLAS kernels {of['openblas_kernels']}, torch {of['torch']}, libxsmm"
    yield f"{of['libxsmm'].split()[0]}."


def _summary(kind: str = THREAD) -> Iterator[str]:
    """Ratios by group and peer: the median, the worst and the best."""
    yield from ("| what | peer | rows | median | worst | best |", "| --- | --- | --- | --- | --- | --- |")
    for group, words in SUMMARY.items():
        for peer, name in PEERS.items():
            rows = [row for row in rows_of(group, kind=kind) if peer in row["against"]]
            if rows:
                found = sorted((row["against"][peer]["ratio"], _named(row)) for row in rows)
                middle = median(ratio for ratio, _ in found)
                worst, best = (f"{ratio:.2f}, {which}" for ratio, which in (found[0], found[-1]))
                yield f"| {words} | {name} | {len(found)} | {middle:.2f} | {worst} | {best} |"


def _checks() -> Iterator[str]:
    """The lines on the cost of checks."""
    found = sorted(cost for cost, _ in costs())
    small = sum(cost <= 1.05 for cost in found)
    yield f"Of {len(found)} measured programs, {small} take at most 5 % longer with checks than without. The median of"
    yield f"the ratios is {median(found):.2f}, the highest {found[-1]:.2f}."


def _start() -> Iterator[str]:
    """Times of compiling, loading and calling."""
    yield from ("| what | time |", "| --- | --- |")
    for row in rows_of("compile", "start", "cache", "calls"):
        yield f"| {row['name']} | {in_words(row['seconds'])} |"


def _server() -> Iterator[str]:
    """The machine of the other results, and their tables: one thread, and all."""
    yield from (*_machine(SERVER), "", *_summary(SERVER), "")
    yield from (
        "| on all threads | 10⁹ operations a second | over one thread | NumPy | torch |",
        "| --- | --- | --- | --- | --- |",
    )
    for row in rows_of("threads", kind=SERVER):
        ratios = " | ".join(f"{row['against'][peer]['ratio']:.2f}" for peer in ("numpy", "torch"))
        yield f"| {row['name']} | {row['gflops']:.0f} | {row['figures']['speedup']:.1f} | {ratios} |"


_OF_PRODUCTS = ("tile ", "weights ", "convolution ")
"""The beginnings of the names of rows that products bind, and not memory."""


def _cuda() -> Iterator[str]:
    """The GPU of the results of kind `cuda`, and its rows in GB/s, as ratios and in time, with their peers."""
    found = newest(CUDA)
    of, rows = found["environment"], found["rows"]
    yield f"Measured on {of['date']}: an {of['device']}, CUDA {of['cuda']}, torch {of['torch']}, commit {of['commit']}."
    yield from ("", "| GB/s | with checks | without | a copy | peers |", "| --- | --- | --- | --- | --- |")
    moving = [row for row in rows if "GB/s" in row]
    for row in (row for row in moving if not row["name"].startswith(_OF_PRODUCTS)):
        checked, unchecked, copied, peers = _rates(row["GB/s"])
        yield f"| {row['name']} | {checked:.0f} | {unchecked:.0f} | {copied:.0f} | {peers} |"
    yield from ("", "| µs | with checks | without | peers | times as fast |", "| --- | --- | --- | --- | --- |")
    for row in (row for row in moving if row["name"].startswith(_OF_PRODUCTS)):
        times = {name: row["bytes"] / rate / 1e3 for name, rate in row["GB/s"].items()}
        peers = ", ".join(f"{name} {times[name]:.1f}" for name in row["ratios"])
        ratios = ", ".join(f"{ratio:.2f}" for ratio in row["ratios"].values())
        yield f"| {row['name']} | {times['girih']:.1f} | {times['girih, checks off']:.1f} | {peers} | {ratios} |"
    yield from ("", "| time | |", "| --- | --- |")
    for unit, written in (("us", "µs"), ("ms", "ms")):
        for row in (row for row in rows if unit in row):
            told = ", ".join(f"{name} {value:.2f} {written}" for name, value in row[unit].items())
            yield f"| {row['name']} | {told} |"
    yield from ("", *_drawn())


def _drawn() -> Iterator[str]:
    """How the ratios to cuBLAS and cuDNN are distributed over drawn sizes."""
    path = max(RESULTS.glob("*-cuda-shapes.json"))
    found = json.loads(path.read_text(encoding="utf-8"))["distribution"]
    names = ("least", "quarter", "median", "three quarters", "most", "geometric mean")
    yield from (f"| sizes drawn | {' | '.join(names)} |", "| --- |" + " --- |" * len(names))
    for title, peer in (("product", "cuBLAS"), ("attention", "cuDNN")):
        of = found[title]
        values = " | ".join(f"{of[name]:.2f}" for name in names)
        yield f"| {of['shapes']} {title}s, times as fast as {peer} | {values} |"


def _rates(rates: Mapping[str, float]) -> tuple[float, float, float, str]:
    """The rates of girih with and without checks, of a copy, and the peers in words."""
    others = dict(rates)
    ours = [others.pop(name) for name in ("girih", "girih, checks off", "copy")]
    return ours[0], ours[1], ours[2], ", ".join(f"{name} {rate:.0f}" for name, rate in others.items())


TABLES = {
    "machine": _machine, "summary": _summary, "checks": _checks, "start": _start, "server": _server, "cuda": _cuda,
}  # fmt: skip
