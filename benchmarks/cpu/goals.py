"""What the project wants of the standard set of `girih bench`, and what of it was reached.

    python benchmarks/cpu/goals.py benchmarks/results/DATE-cpu.json

`benchmarks/cpu/standard.py` prints the same below its tables. A figure is short of its goal, first where it reaches
what is asked for, and world class where it reaches what is hoped for. The goals hold for kernels without checks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from girih.bench.measuring.rows import CHECKS, OF_PEAK, Measurement

Verdict = Literal["short", "first", "world class"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""From worst to best."""

LESS_IS_BETTER = ("ms", "us", CHECKS)
"""Figures that goals bound from above: times, and what checks cost."""

BESIDE = (0.95, 1.0)
"""What the ratio to a peer should be where a row with goals has none for it: nobody's loss is left out."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure should be: `first` is asked for, `world_class` hoped for.

    The figure is a key of `Measurement.figures`, or the name of a peer, whose ratio is meant.
    """

    figure: str
    first: float
    world_class: float

    def verdict(self, value: float) -> Verdict:
        """What a value reaches. Nothing reaches more than `first` where both are the same."""
        if self.figure in LESS_IS_BETTER:
            reached = (value <= self.first, value <= self.world_class)
        else:
            reached = (value >= self.first, value >= self.world_class)
        return "short" if not reached[0] else "world class" if reached[1] else "first"

    def __str__(self) -> str:
        sign = "at most" if self.figure in LESS_IS_BETTER else "at least"
        hope = "" if self.first == self.world_class else f", hoped for {self.world_class:g}"
        return f"{sign} {self.first:g}{hope}"


_PEAK, _NUMPY = Goal(OF_PEAK, 0.85, 0.92), Goal("numpy", 0.95, 1.0)
_OPENBLAS, _TILE_CHECKS = Goal("numpy", 0.95, 1.05), Goal(CHECKS, 1.1, 1.02)

GOALS: tuple[tuple[str, str, tuple[Goal, ...]], ...] = (
    ("gemm", r"gemm f(32|64) .*", (_PEAK, _NUMPY)),
    ("gemm", r"gemm bf16 .*", (_PEAK,)),
    ("tiles", r".*", (_TILE_CHECKS,)),
    ("batched", r"geometric mean", (Goal("libxsmm", 0.95, 1.05),)),
    ("batched", r"worst", (Goal("libxsmm", 0.85, 0.98),)),
    ("streamed", r"geometric mean", (Goal("numpy", 1.2, 1.4),)),
    ("streamed", r"worst", (Goal("numpy", 0.75, 1.0),)),
    ("rows", r".*", (Goal("torch", 1.2, 2.0), Goal(CHECKS, 2.0, 1.1))),
    ("attention", r"attention f32 .*", (Goal(OF_PEAK, 0.75, 0.88), _TILE_CHECKS)),
    ("vectors", r"axpby f32, 1048576 .*|gemv.*", (_OPENBLAS,)),
    ("functions", r"(exp|tanh) .*", (Goal("numpy", 1.0, 1.5),)),
    ("functions", r"sqrt .*", (Goal("numpy", 0.85, 1.0),)),
    ("compile", r"compile small kernel, .*", (Goal("ms", 25, 10),)),
    ("compile", r"compile gemm, .*", (Goal("ms", 60, 30),)),
    ("compile", r"compile attention, .*", (Goal("ms", 80, 40),)),
    ("start", r"cold process .*", (Goal("ms", 700, 400),)),
    ("cache", r".*", (Goal("ms", 2, 0.5),)),
    ("calls", r"call, .*", (Goal("us", 1.5, 0.5),)),
    ("calls", r"empty grid, .*", (Goal("us", 3, 0.5),)),
)
"""The goals of the rows of a group whose whole name is like a pattern; `goals_of` adds those that depend on threads."""


def goals_of(row: Measurement) -> tuple[Goal, ...]:
    """The goals of a row; for one that has some also those for all other peers that it was compared with."""
    found = next((goals for group, name, goals in GOALS if row.group == group and re.fullmatch(name, row.name)), ())
    if row.group == "threads":
        found = (Goal("speedup", 0.9 * row.threads, 0.965 * row.threads),)
    if not found:
        return ()
    named = {goal.figure for goal in found}
    return (*found, *(Goal(peer, *BESIDE) for peer in row.against if peer not in named))


def verdicts(row: Measurement) -> dict[Goal, Verdict]:
    """What a row reached of the goals that were measured."""
    values = {goal: row.value(goal.figure) for goal in goals_of(row)}
    return {goal: goal.verdict(value) for goal, value in values.items() if value is not None}


def summary(rows: Iterable[Measurement]) -> str:
    """How many rows reached what, by their worst figure, and every figure that falls short; empty without goals."""
    judged = [(row, found) for row in rows if (found := verdicts(row))]
    if not judged:
        return ""
    worst = [min(found.values(), key=VERDICTS.index) for _, found in judged]
    counts = ", ".join(f"{worst.count(verdict)} {verdict}" for verdict in reversed(VERDICTS))
    short = [
        f"  {row.group}: {row.name}: {goal.figure} {row.value(goal.figure):.3g}, goal {goal}"
        for row, found in judged
        for goal, verdict in found.items()
        if verdict == "short"
    ]
    return "\n".join([f"goals: {counts}", *short])


def main(paths: Sequence[str]) -> int:
    """Judge files that `benchmarks/cpu/standard.py --save` or `girih bench --json` wrote."""
    for path in paths:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
        print(summary(Measurement.from_json(row) for row in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
