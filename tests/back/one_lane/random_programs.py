"""Random programs of work-items on the one-lane machine, held against the interpreter.

    python -m tests.back.one_lane.random_programs --count 20000

They are made without output, which the machine refuses, and without tensor copies.
What must be true is what `tests.fuzz.compiled` asks of the CPU: equal integers, floats within roundings, findings that
the interpreter makes.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import girih
from girih.ir.core import Function
from tests.back.harness import Failed
from tests.back.one_lane.launch import OneLaneKernel
from tests.back.one_lane.machine import LOWERINGS
from tests.fuzz.compiled import SLACK, UNCHECKED
from tests.fuzz.generate import Program
from tests.fuzz.printing import print_
from tests.fuzz.programs import RACE, difference, program
from tests.fuzz.properties import Violation

REFUSED = frozenset({print_})


@dataclass(frozen=True)
class Executor:
    """What compiles kernels, with checks or without, so that they can be called; and what it refuses."""

    name: str
    make: Callable[[Function, bool], Callable[..., object]]
    refuses: Callable[[Function], bool]


ONE_LANE = Executor(
    "one lane",
    lambda function, checks: OneLaneKernel(function, checks=checks),
    lambda function: next(LOWERINGS.refusals(function), None) is not None,
)

UNCHECKED_EVERY = 4
"""One program of so many is run without checks as well."""


def work_items(seed: int) -> Program:
    """A random program of more instructions than others have."""
    return program(seed, 24, without=REFUSED)


def is_refused(built: Program, executor: Executor = ONE_LANE) -> bool:
    """Whether a program is refused."""
    return executor.refuses(built.module.functions[0])


def agrees(text: str, built: Program, *, unchecked: bool = True, executor: Executor = ONE_LANE) -> set[str]:
    """What is found in a program that races, or on which both agree, also `unchecked`. Raises `Violation`."""
    expected, codes = built.arrays(), set[str]()
    try:
        kernel = girih.loads(text, target="interpreter")["f"]
        kernel[built.grid](*expected)
    except girih.KernelError as error:
        codes = {finding.code for finding in error.findings}
    except Exception:
        raise Violation("run", traceback.format_exc(limit=-6), text) from None
    if RACE in codes:
        return {RACE}
    run = partial(_run, executor, text, built, kernel.ir, expected, codes)
    found = run(checks=True)
    if unchecked and not codes:
        run(checks=False)
    return found


def _run(
    executor: Executor, text: str, built: Program, function: Function, expected: list[Any], codes: set[str], *,
    checks: bool,
) -> set[str]:  # fmt: skip
    arrays = built.arrays()
    found: set[str] = set()
    try:
        executor.make(function, checks)(built.grid, *arrays)
    except Failed as failed:
        found = {failed.code}
    except Exception:
        raise Violation("compile", f"checks={checks}: {traceback.format_exc(limit=-6)}", text) from None
    if not found <= codes:
        raise Violation("finding", f"{executor.name} finds {sorted(found)}, the interpreter {sorted(codes)}", text)
    if not found and codes - UNCHECKED:
        raise Violation("finding", f"{executor.name} finds nothing, the interpreter {sorted(codes)}", text)
    told = None if codes else difference(built, expected, arrays, SLACK)
    if told:
        raise Violation("differs", f"checks={checks}: {told}", text)
    return found


def main(executor: Executor = ONE_LANE) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="try random programs of work-items for a long time")
    parser.add_argument("--count", type=int, default=20_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="where the seeds begin")
    parser.add_argument("--save", type=Path, default=Path("build/fuzz"), help="where violations are saved")
    options = parser.parse_args()
    begin, seed, ran = time.monotonic(), options.seed, 0
    findings: Counter[str] = Counter()
    mnemonics: Counter[str] = Counter()
    violations = 0

    def told() -> str:
        passed = time.monotonic() - begin
        return f"{ran} programs of {seed - options.seed} seeds in {passed:.0f} s, violations: {violations}"

    while ran < options.count:
        built, seed = work_items(seed), seed + 1
        if is_refused(built, executor):
            continue
        ran += 1
        mnemonics.update({op.spec.mnemonic for op in built.module.functions[0].walk()})
        try:
            text = str(built.module)
            findings.update(agrees(text, built, unchecked=ran % UNCHECKED_EVERY == 0, executor=executor) or ["none"])
        except Violation as violation:
            violations += 1
            options.save.mkdir(parents=True, exist_ok=True)
            file = options.save / f"{executor.name.replace(' ', '-')}-{built.seed}.tl"
            file.write_text(f"{violation.text}\n; {violation.detail}\n", encoding="utf-8")
            print(f"{violation.kind} at {built.seed}: {violation.detail[-300:]}", flush=True)
        if ran % 500 == 0:
            print(told(), flush=True)
    print("instructions, by programs: " + ", ".join(f"{name} {count}" for name, count in mnemonics.most_common()))
    print("findings: " + ", ".join(f"{code} {count}" for code, count in findings.most_common()))
    print(told())
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
