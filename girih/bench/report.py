"""The report of a measurement in words: the cells of its tables, and the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from girih.bench.events import Event
from girih.bench.measuring.rows import BUSY, CHECKS, OF_BANDWIDTH, OF_PEAK, Measurement

TITLES = {
    "gemm": "Large products, one instruction, one thread",
    "threads": "Large products on several threads",
    "tiles": "Products by tiles of cooperative matrices",
    "batched": "Many small products, in the cache",
    "streamed": "Many small products, from memory",
    "rows": "Softmax and layer normalisation, in the cache",
    "attention": "Attention",
    "vectors": "Vectors and matrix times vector, one million elements",
    "functions": "Functions of the elements of a vector, in the cache",
    "compile": "Compiling: LLVM's part",
    "start": "A fresh process",
    "cache": "The cache of compiled code",
    "calls": "Calls",
    "library": "Kernels of the library",
    "own": "Kernel",
    "shapes": "Odd shapes",
    "growth": "Compile time and memory against instructions",
}
"""What the groups are about."""


@dataclass
class Results:
    """All results of a measurement; `status` is the exit status."""

    environment: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    rows: list[Measurement] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    refusal: tuple[int, str] | None = None

    def take(self, event: Event) -> None:
        """Add an event. If two processes describe the machine, the first description counts."""
        match event["event"]:
            case "environment" if not self.environment:
                self.environment, self.machine = dict(event["environment"]), dict(event["machine"])
            case "row":
                self.rows.append(Measurement.from_json(event["row"]))
            case "problem":
                self.problems.append({key: str(event[key]) for key in ("group", "name", "message")})
            case "refused":
                self.refusal = int(event["status"]), str(event["message"])

    @property
    def status(self) -> int:
        """The exit status: 0 if all was measured and right, 1 if something was wrong, or that of a refusal."""
        if self.refusal is not None:
            return self.refusal[0]
        return 1 if self.problems else 0

    def to_json(self) -> dict[str, Any]:
        """All results as plain values."""
        return {
            "environment": self.environment,
            "machine": self.machine,
            "rows": [row.to_json() for row in self.rows],
            "problems": self.problems,
            "refused": None if self.refusal is None else self.refusal[1],
        }


def duration(seconds: float) -> str:
    """The text of a time, with three digits and its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("\N{MICRO SIGN}s", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _moves(row: Measurement) -> bool:
    """Whether the bandwidth matters for a row, and not only the peak of computing."""
    return OF_BANDWIDTH in row.figures or row.type is None or row.group == "own"


Cell = Callable[[Measurement], str]

_COLUMNS: Mapping[str, Cell] = {
    "time": lambda row: "" if row.seconds is None else duration(row.seconds),
    "GFLOP/s": lambda row: _number(row.gflops, 4),
    "of peak": lambda row: _ratio(row.value(OF_PEAK)),
    "GB/s": lambda row: _number(row.gigabytes) if _moves(row) else "",
    "of bandwidth": lambda row: _ratio(row.value(OF_BANDWIDTH)),
    "speed-up": lambda row: _ratio(row.value("speedup")),
    "\N{MULTIPLICATION SIGN} numpy": lambda row: _ratio(row.value("numpy")),
    "\N{MULTIPLICATION SIGN} torch": lambda row: _ratio(row.value("torch")),
    "\N{MULTIPLICATION SIGN} libxsmm": lambda row: _ratio(row.value("libxsmm")),
    "time with checks / without": lambda row: _ratio(row.value(CHECKS)),
}
"""Titles and contents; a column that is empty in a group is left out."""


def title(group: str, rows: Sequence[Measurement]) -> str:
    """The title of a group's table, with the checks that its kernels had."""
    checks = dict.fromkeys(row.checks for row in rows if row.seconds is not None)
    other = "checks" if "off" in checks else "none"
    compared = f", compared with {other}" if any(row.value(CHECKS) is not None for row in rows) else ""
    return ", checks ".join([TITLES.get(group, group), *checks]) + compared


def remark(row: Measurement) -> str:
    """The note of a row, which also tells whether other processes were running."""
    return ", ".join(filter(None, [f"load {row.load:.1f}" if row.busy else "", row.note]))


def cells(rows: Sequence[Measurement]) -> dict[str, list[str]]:
    """The contents of a table by column, without columns that are empty for all rows."""
    columns = {title: [cell(row) for row in rows] for title, cell in _COLUMNS.items()}
    return {title: texts for title, texts in columns.items() if any(texts)}


def head(results: Results) -> str:
    """The description of the machine in three lines."""
    e, m = results.environment, results.machine
    if not e:
        return ""
    if e.get("gpu"):
        copies = f"copies in its memory read and write {m['gigabytes_per_second']:.0f} GB/s"
        return f"{e['gpu']}, LLVM {e['llvm']}\nmeasured: {copies}"
    peers = [f"NumPy {e['numpy']} ({e['openblas_kernels'] or 'no OpenBLAS'})"]
    peers += [f"torch {e['torch']}"] if e["torch"] else []
    peers += [f"libxsmm ({e['libxsmm']})"] if e["libxsmm"] else []
    peaks = ", ".join(f"{type} {value:.0f}" for type, value in m["gflops"].items())
    busy = ""
    if e["load"] > BUSY:
        busy = f"\nother processes are running (load {e['load']:.1f}): several threads and whole processes are slowed"
    return (
        f"{e['cpu']} ({e['llvm_cpu']}), LLVM {e['llvm']}, {', '.join(peers)}\n"
        f"compiled for a processor {e['description']}{'; AMX' if e['amx'] else ''}\n"
        f"one thread measured: {peaks} GFLOP/s of multiply-adds, {m['gigabytes_per_second']:.1f} GB/s from memory{busy}"
    )


def tail(results: Results) -> str:
    """The line on the number of rows during which other processes ran; empty without any."""
    busy = sum(row.busy for row in results.rows)
    return f"{busy} of {len(results.rows)} rows were measured while other processes ran" if busy else ""
