"""Random programs for a long time: texts, changed and generated programs, and programs with one broken rule.

    python -m tests.fuzz.long --count 100000 --seed 0 --jobs 2
    python -m tests.fuzz.long --executor cpu
    python -m tests.fuzz.long --executor cuda

The others run generated programs only, on the interpreter and compiled for the CPU or the GPU, which must agree.

Prints how many, how fast, what was accepted, which rules were broken, and every violation; a violation is made smaller
and saved. The exit status is 1 if there was any. The same count and seed try the same programs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import girih
from girih.diagnostics import errors
from girih.ops.tile import TILE_LANGUAGE
from tests.fuzz.breaking import Broken, break_rows, sites
from tests.fuzz.compiled import KINDS, agrees, launches_agree, left_behind, noted, odd_program
from tests.fuzz.generate import Program
from tests.fuzz.launches import launched, odd_text
from tests.fuzz.mutate import broken_text
from tests.fuzz.programs import accepted, program, run_holds
from tests.fuzz.properties import Violation, minimised, text_holds

CHUNK = 500
FOLDER = Path("build/fuzz")
"""Where violations are saved."""

SITES = 3
"""How many instructions of a generated program are broken."""

NAMES = {"text": "texts", "launch": "changed programs", "program": "programs", "compiled": "compiled programs",
         "odd": "changed programs compiled", "compiled cuda": "programs for the GPU",
         "odd cuda": "changed programs for the GPU"}  # fmt: skip
"""What is tried, in words."""

UNREACHABLE = {"for.results", "if.results", "yield.values"}
"""Rules that never fail alone: a value that cannot be carried is told to the `yield` as well."""


@dataclass(slots=True)
class Tally:
    """What was tried and found."""

    kinds: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    mnemonics: Counter[str] = field(default_factory=Counter)
    launches: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[str, int, str, str]] = field(default_factory=list)
    broken: Broken = field(default_factory=Broken)
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        """What another process tried and found."""
        for name in ("kinds", "accepted", "findings", "mnemonics", "launches"):
            getattr(self, name).update(getattr(other, name))
        self.violations += other.violations
        self.broken.tried += other.broken.tried
        self.broken.alone += other.broken.alone
        self.broken.rows |= other.broken.rows
        self.seconds += other.seconds


def _text(seed: int, tally: Tally) -> None:
    tally.accepted["text"] += text_holds(broken_text(random.Random(seed)))


def _program(seed: int, tally: Tally) -> None:
    built = program(seed)
    text = accepted(built)
    tally.accepted["program"] += 1
    tally.mnemonics.update(op.spec.mnemonic for op in built.module.functions[0].walk())
    found = run_holds(text, built)
    tally.findings.update(found or ["none"])


def _compiled(seed: int, tally: Tally, target: str = "cpu") -> None:
    built = program(seed)
    text = accepted(built)
    tally.accepted["compiled" if target == "cpu" else "compiled cuda"] += 1
    tally.mnemonics.update(op.spec.mnemonic for op in built.module.functions[0].walk())
    with noted(text, seed, FOLDER):
        try:
            found = agrees(text, built, target)
        except girih.CompileError as error:
            if target == "cpu":
                raise Violation("compile", str(error), text) from None
            found = {"refused"}
    tally.findings.update(found or ["none"])


def _odd(seed: int, tally: Tally, target: str = "cpu") -> None:
    text = odd_program(seed)
    with noted(text, seed, FOLDER):
        ended = launches_agree(text, seed, target)
    tally.accepted["odd" if target == "cpu" else "odd cuda"] += bool(ended)
    tally.launches.update(ended)


def _rows(seed: int, tally: Tally) -> None:
    source = random.Random(seed)
    known = {site.cls: site for site in sites(program(seed).module)}
    for site in source.sample([*known.values()], min(SITES, len(known))):
        break_rows(site, source, tally.broken, 150)


def _launch(seed: int, tally: Tally) -> None:
    ended = launched(odd_text(seed), seed)
    tally.accepted["launch"] += bool(ended)
    tally.launches.update(ended)


TRIALS: dict[str, Callable[[int, Tally], None]] = {
    "text": _text, "program": _program, "row": _rows, "launch": _launch,
    "compiled": _compiled, "odd": _odd,
    "compiled cuda": partial(_compiled, target="cuda"), "odd cuda": partial(_odd, target="cuda"),
}  # fmt: skip

ORDERS = {
    "interpreter": ("text", "program", "launch", "program", "row"),
    "cpu": ("compiled", "compiled", "odd"),
    "cuda": ("compiled cuda", "compiled cuda", "odd cuda"),
}
"""What is tried in turn, by the executor that runs the programs."""


def _run_text(seed: int, run: Callable[[str, Program], object]) -> Callable[[str], object]:
    """Whether what is left of a generated program runs as it should."""
    built = program(seed)

    def holds(text: str) -> object:
        return None if errors(girih.check(text)) else run(text, built)

    return holds


def _smaller_compiled(seed: int, target: str) -> Callable[[str], object]:
    """Whether what is left of a program that was compiled ends as it should."""
    order = ORDERS[target]
    if order[seed % len(order)].startswith("odd"):
        return lambda text: launches_agree(text, seed, target)
    return _run_text(seed, lambda text, built: agrees(text, built, target))


def _smaller(violation: Violation, seed: int, executor: str) -> str:
    match violation.kind:
        case "traceback" | "hang" | "diagnostic" | "print":
            return minimised(violation, text_holds)
        case "launch":
            return minimised(violation, lambda text: launched(text, seed))
        case "run" | "choices":
            return minimised(violation, _run_text(seed, run_holds))
        case "compile" | "finding" | "differs":
            return minimised(violation, _smaller_compiled(seed, executor))
        case _:
            return violation.text


def chunk(first: int, count: int, executor: str = "interpreter") -> Tally:
    """Try so many programs, from a seed on."""
    warnings.simplefilter("error")
    tally = Tally()
    begin = time.process_time()
    seen: set[str] = set()
    order = ORDERS[executor]
    for seed in range(first, first + count):
        kind = order[seed % len(order)]
        tally.kinds[kind] += 1
        try:
            TRIALS[kind](seed, tally)
        except Violation as violation:
            known = violation.detail[-80:] in seen
            seen.add(violation.detail[-80:])
            text = violation.text if known else _smaller(violation, seed, executor)
            tally.violations.append((violation.kind, seed, violation.detail, text))
        except Exception:
            tally.violations.append(("generator", seed, traceback.format_exc(limit=-5), ""))
    tally.seconds = time.process_time() - begin
    return tally


def _chunks(seed: int, count: int) -> Iterator[tuple[int, int]]:
    first = seed * 10**9
    for begin in range(0, count, CHUNK):
        yield first + begin, min(CHUNK, count - begin)


def run(seed: int, count: int, jobs: int, executor: str = "interpreter") -> Tally:
    """Try so many programs on several processors."""
    tally = Tally()
    FOLDER.mkdir(parents=True, exist_ok=True)
    # One process less to start where one is enough; but compiled code may end the process that runs it.
    alone = jobs == 1 and executor == "interpreter"
    pool: Executor = ThreadPoolExecutor(1) if alone else ProcessPoolExecutor(jobs)
    with pool:
        try:
            for done in pool.map(chunk, *zip(*((*c, executor) for c in _chunks(seed, count)), strict=True)):
                for kind, number, detail, _ in done.violations:
                    print(f"{kind} at {number}: {detail[-300:]}", flush=True)
                tally.add(done)
        except BrokenProcessPool:
            detail = "the process ended while it ran this program or the other one that is saved"
            tally.violations += [("crash", number, detail, text) for number, text in enumerate(left_behind(FOLDER))]
    return tally


def _rows_broken(tally: Tally) -> list[str]:
    rows = sum(map(len, TILE_LANGUAGE.rules.values()))
    never = [row for row in tally.broken.missing() if row not in UNREACHABLE]
    return [
        f"changed instructions: {tally.broken.tried}, with one broken rule reported: {tally.broken.alone}",
        f"rules broken alone: {len(tally.broken.rows)} of {rows}; never: {', '.join(never) or 'none'}",
        f"rules that cannot be: {', '.join(sorted(UNREACHABLE))}",
    ]


def report(tally: Tally, elapsed: float) -> str:
    """The figures of a run."""
    total = sum(tally.kinds.values())
    lines = [f"{total} programs in {elapsed:.0f} s, {total / max(elapsed, 1e-9):.0f} per second"]
    for kind in filter(tally.kinds.__getitem__, NAMES):
        percent = 100 * tally.accepted[kind] / max(1, tally.kinds[kind])
        lines.append(f"{NAMES[kind]}: {tally.kinds[kind]}, accepted {tally.accepted[kind]} ({percent:.1f} %)")
    ended = ", ".join(f"{code} {count}" for code, count in tally.findings.most_common())
    lines.append(f"findings of the programs that ran: {ended}")
    launches = ", ".join(f"{how} {count}" for how, count in tally.launches.most_common())
    lines.append(f"launches of changed programs: {launches}")
    count = len(TILE_LANGUAGE.ops)
    missing = [m for m in TILE_LANGUAGE.ops if not tally.mnemonics[m]]
    lines.append(f"instructions in them: {count - len(missing)} of {count}; never: {', '.join(missing) or 'none'}")
    lines += _rows_broken(tally) if tally.kinds["row"] else []
    kinds = Counter(kind for kind, *_ in tally.violations)
    for kind in (
        "traceback",
        "hang",
        "diagnostic",
        "print",
        "rejected",
        "run",
        "launch",
        "choices",
        "row",
        "generator",
        *KINDS,
    ):
        lines.append(f"violations, {kind}: {kinds[kind]}")
    return "\n".join(lines)


def _save(tally: Tally, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, seed, detail, text in tally.violations:
        comment = "".join(f"; {line}\n" for line in detail.splitlines())
        (folder / f"{kind}-{seed}.tl").write_text(text + "\n" + comment, encoding="utf-8", errors="replace")
    print(f"saved in {folder}")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="try random programs for a long time")
    parser.add_argument("--count", type=int, default=100_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other programs")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--executor", choices=sorted(ORDERS), default="interpreter", help="what runs the programs")
    parser.add_argument("--save", type=Path, default=FOLDER, help="where violations are saved")
    options = parser.parse_args()
    begin = time.monotonic()
    tally = run(options.seed, options.count, options.jobs, options.executor)
    print(report(tally, time.monotonic() - begin))
    if tally.violations:
        _save(tally, options.save)
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
