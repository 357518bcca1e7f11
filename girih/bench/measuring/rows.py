"""The rows of results, as plain values. Imports no NumPy.

A ratio is the time of the peer over ours: above 1, girih is faster. Fractions are of what the machine was measured to
do in the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

BUSY = 0.7
"""The load of the machine, beyond what is measured, above which times say little."""

OF_PEAK, OF_BANDWIDTH, CHECKS = "of_peak", "of_bandwidth", "checks"


@dataclass(frozen=True, slots=True)
class Versus:
    """The result of a peer: the median of its seconds, and the median ratio of neighbours in time."""

    seconds: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table.

    `seconds` is a call's median time, None in a row that summarises others. `flops` and `bytes` are what a call
    computes and must at least move. `figures` are further values by name: `of_peak`, `of_bandwidth`, `checks` (how many
    times longer it takes with checks), `ms`, `us`, `speedup`. `load` is the load of the machine when it was measured.
    """

    group: str
    name: str
    seconds: float | None = None
    threads: int = 1
    checks: str = "off"
    flops: float | None = None
    bytes: float | None = None
    type: str | None = None
    against: Mapping[str, Versus] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    load: float | None = None

    @property
    def busy(self) -> bool:
        """Whether other processes were running during the measurement."""
        return self.load is not None and self.load > self.threads + BUSY

    @property
    def gflops(self) -> float | None:
        """The rate in 10^9 operations a second; None if it is not known."""
        return rate(self.flops, self.seconds)

    @property
    def gigabytes(self) -> float | None:
        """The rate in 10^9 bytes a second; None if it is not known."""
        return rate(self.bytes, self.seconds)

    def value(self, figure: str) -> float | None:
        """A figure or the ratio to a peer; None where it was not measured."""
        if figure in self.against:
            return self.against[figure].ratio
        return self.figures.get(figure)

    def to_json(self) -> dict[str, Any]:
        """The row as plain values; `from_json` reads it."""
        return {
            "group": self.group,
            "name": self.name,
            "threads": self.threads,
            "checks": self.checks,
            "seconds": self.seconds,
            "type": self.type,
            "flops": self.flops,
            "bytes": self.bytes,
            "gflops": self.gflops,
            "gigabytes_per_second": self.gigabytes,
            "against": {name: {"seconds": peer.seconds, "ratio": peer.ratio} for name, peer in self.against.items()},
            "figures": dict(self.figures),
            "note": self.note,
            "load": self.load,
            "busy": self.busy,
        }

    @staticmethod
    def from_json(held: Mapping[str, Any]) -> Measurement:
        """The row of which `to_json` made plain values."""
        return Measurement(
            group=held["group"],
            name=held["name"],
            seconds=held["seconds"],
            threads=held["threads"],
            checks=held["checks"],
            flops=held["flops"],
            bytes=held["bytes"],
            type=held["type"],
            against={name: Versus(peer["seconds"], peer["ratio"]) for name, peer in held["against"].items()},
            figures=held["figures"],
            note=held["note"],
            load=held.get("load"),
        )


def rate(amount: float | None, seconds: float | None) -> float | None:
    """The rate in 10^9 a second; None if the amount or the time is not known."""
    return None if amount is None or not seconds else amount / seconds / 1e9


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers. Raises `ValueError` if there are none."""
    numbers = list(values)
    if not numbers:
        raise ValueError("there is no mean of no values")
    return exp(sum(log(value) for value in numbers) / len(numbers))


@dataclass(frozen=True, slots=True)
class MeasuredSummary:
    """The geometric mean and the worst of the ratios of a group to a peer."""

    group: str
    peer: str

    def rows(self, measured: Iterable[Measurement]) -> list[Measurement]:
        """The two rows of the summary; none if the peer was not measured."""
        ratios = {
            row.name: row.against[self.peer].ratio
            for row in measured
            if row.group == self.group and row.seconds is not None and self.peer in row.against
        }
        if not ratios:
            return []
        last = min(ratios, key=lambda name: ratios[name])
        return [
            self._row("geometric mean", geometric_mean(ratios.values()), f"of {len(ratios)} rows"),
            self._row("worst", ratios[last], last),
        ]

    def _row(self, name: str, ratio: float, note: str) -> Measurement:
        return Measurement(self.group, name, figures={self.peer: ratio}, note=note)
