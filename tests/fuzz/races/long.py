"""Many random programs with and without races: what the interpreter finds against what is known of them.

    python -m tests.fuzz.races.long --free 10000 --planted 1250 --jobs 16

Tries so many programs that are free of races by construction, and for each kind of bug programs until so many have a
race, as the brute force says. Prints how many there were, and how many the interpreter judged differently; these are
saved. The exit status is 1 if there were any. The same numbers and seed try the same programs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.fuzz.races.compare import Outcome, bug_holds, free_holds
from tests.fuzz.races.planted import REQUIRED

CHUNK = 25
FOLDER = Path("build/races")
"""Where programs are saved on which interpreter and brute force differ."""

FREE = "free"


@dataclass(slots=True)
class Tally:
    """What became of programs of a kind."""

    verdicts: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    races: int = 0
    defects: list[tuple[int, Outcome]] = field(default_factory=list)

    def add(self, seed: int, outcomes: Sequence[Outcome]) -> None:
        """Count what became of the programs of a seed."""
        for outcome in outcomes:
            self.verdicts[outcome.verdict] += 1
            self.features.update(outcome.features)
            self.races += outcome.races
            if outcome.is_defect:
                self.defects.append((seed, outcome))

    def join(self, other: Tally) -> None:
        """Count what another process counted."""
        self.verdicts.update(other.verdicts)
        self.features.update(other.features)
        self.races += other.races
        self.defects += other.defects

    @property
    def programs(self) -> int:
        return sum(self.verdicts.values())


def chunk(kind: str, confirm: bool, seeds: range) -> Tally:
    """What becomes of the programs of some seeds."""
    tally = Tally()
    for seed in seeds:
        tally.add(seed, [free_holds(seed, confirmed=confirm)] if kind == FREE else bug_holds(seed, kind))
    return tally


def run(kind: str, seed: int, count: int, jobs: int, *, confirm: bool = False) -> Tally:
    """What becomes of the programs of `count` seeds, tried in several processes."""
    chunks = [range(begin, min(begin + CHUNK, seed + count)) for begin in range(seed, seed + count, CHUNK)]
    work = partial(chunk, kind, confirm)
    total = Tally()
    if jobs == 1:
        for part in map(work, chunks):
            total.join(part)
        return total
    with ProcessPoolExecutor(jobs) as pool:
        for part in pool.map(work, chunks):
            total.join(part)
    return total


def report(kind: str, tally: Tally, elapsed: float) -> str:
    """The figures of a kind."""
    shares = ", ".join(f"{name} {100 * n / max(1, tally.programs):.0f} %" for name, n in sorted(tally.features.items()))
    verdicts = ", ".join(f"{name} {n}" for name, n in tally.verdicts.most_common())
    return (
        f"{kind}: {tally.programs} programs, {tally.races} with a race; {verdicts}; {elapsed:.0f} s\n    with {shares}"
    )


def saved(kind: str, tally: Tally, folder: Path) -> Iterator[Path]:
    """Save the programs on which interpreter and brute force differ."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (seed, outcome) in enumerate(tally.defects):
        path = folder / f"{kind}-{seed}-{number}-{outcome.verdict.replace(' ', '-')}.tl"
        path.write_text(outcome.text + "".join(f"; {line}\n" for line in outcome.detail.splitlines()), encoding="utf-8")
        yield path


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="look for races in random programs, by two ways")
    parser.add_argument("--free", type=int, default=1000, help="how many programs free of races")
    parser.add_argument("--planted", type=int, default=100, help="how many programs with a race, for each kind of bug")
    parser.add_argument("--kinds", nargs="*", choices=REQUIRED, default=REQUIRED, help="which bugs")
    parser.add_argument("--confirm", action="store_true", help="ask the brute force about free programs, too")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other programs")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--save", type=Path, default=FOLDER, help="where programs are saved on which the two differ")
    options = parser.parse_args()
    failed = False
    wanted = [(FREE, options.free), *((kind, options.planted) for kind in options.kinds)]
    for kind, count in filter(lambda pair: pair[1] > 0, wanted):
        begin = time.monotonic()
        tally = run(kind, options.seed, count, options.jobs, confirm=options.confirm)
        print(report(kind, tally, time.monotonic() - begin), flush=True)
        for path in saved(kind, tally, options.save):
            failed = True
            print(f"    saved {path}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
