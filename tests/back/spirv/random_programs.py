"""Random programs that go out as SPIR-V modules and come back, held against the interpreter.

    python -m tests.back.spirv.random_programs --count 20000

What must be true is what `tests.fuzz.compiled` asks of the CPU: equal integers, floats within roundings, findings that
the interpreter makes. What a profile refuses is left out, and counted.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import girih
from girih.back.spirv.profiles.table import profile_named
from girih.ir.core import Function
from tests.back.spirv.circle import CannotLaunch, CircleKernel, WrongModule, assert_valid
from tests.fuzz.compiled import SLACK, UNCHECKED
from tests.fuzz.generate import Program
from tests.fuzz.printing import print_
from tests.fuzz.programs import RACE, difference, program
from tests.fuzz.properties import Violation

PROFILES = ("lavapipe", "nvidia-hopper", "minimal")
"""The profiles, which programs take in turns."""

UNSEEN = UNCHECKED | {"run.divergent"}
"""What no module finds."""

MISSED = frozenset({"run.divergent", "run.uninitialized", "run.undef"})
"""What follows in a module from work-items that have found something, and do not come where others wait."""

UNCHECKED_EVERY, WIDE_EVERY, JUDGED_EVERY = 4, 5, 7
"""One program of so many is run without checks, with wide indices, is judged by spirv-val."""


def random_program(seed: int) -> Program:
    """A random program that does not print."""
    return program(seed, without={print_})


def _updates_in_words(text: str) -> bool:
    """Whether atomic accesses to small elements may go by the word around them, where others are stored meanwhile.

    That is a race for SPIR-V, and none for devices: such an update is tried again when the word has changed.
    """
    return "atomic" in text and re.search(r"memref<(i8|i16|f16|bf16|f8)", text) is not None


def agrees(text: str, built: Program) -> set[str]:
    """What is found in a program that races, is refused (`refused`), or on which both agree. Raises `Violation`."""
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
    return _comes_back(text, built, kernel.ir, expected, codes)


def _comes_back(text: str, built: Program, function: Function, expected: list[Any], codes: set[str]) -> set[str]:
    """What is found in a program by way of a module, held against what the interpreter expects and finds."""
    seed, arrays, found = built.seed, built.arrays(), set[str]()
    checks = bool(codes) or seed % UNCHECKED_EVERY != 0
    profile = profile_named(PROFILES[seed % len(PROFILES)])
    how = f"{profile.name}, checks={checks}"
    try:
        options = {"races": seed % 2 == 0 and not _updates_in_words(text), "max_steps": 3_000_000}
        one = CircleKernel(function, profile, checks=checks, wide=seed % WIDE_EVERY == 0, options=options)
        if seed % JUDGED_EVERY == 0:
            assert_valid(one.emitted)
        one(built.grid, *arrays)
    except (girih.CompileError, CannotLaunch):
        return {"refused"}
    except girih.KernelError as error:
        found = {finding.code for finding in error.findings}
    except WrongModule as error:
        if codes and error.codes and error.codes <= codes | MISSED:
            return codes
        raise Violation("module", f"{how}: {error}", text) from None
    except Exception:
        raise Violation("compile", f"{how}: {traceback.format_exc(limit=-6)}", text) from None
    if not found <= codes or (not found and codes - UNSEEN):
        raise Violation("finding", f"the module finds {sorted(found)}, the interpreter {sorted(codes)}", text)
    told = None if codes else difference(built, expected, arrays, SLACK)
    if told:
        raise Violation("differs", f"{how}: {told}", text)
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="try random programs as SPIR-V modules for a long time")
    parser.add_argument("--count", type=int, default=20_000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="where the seeds begin")
    parser.add_argument("--save", type=Path, default=Path("build/fuzz"), help="where violations are saved")
    options = parser.parse_args()
    begin, violations = time.monotonic(), 0
    findings: Counter[str] = Counter()
    for ran in range(1, options.count + 1):
        built = random_program(options.seed + ran - 1)
        try:
            findings.update(agrees(str(built.module), built) or ["none"])
        except Violation as violation:
            violations += 1
            options.save.mkdir(parents=True, exist_ok=True)
            file = options.save / f"spirv-{built.seed}.tl"
            file.write_text(f"{violation.text}\n; {violation.detail}\n", encoding="utf-8")
            print(f"{violation.kind} at {built.seed}: {violation.detail[:400]}", flush=True)
        if ran % 500 == 0 or ran == options.count:
            print(f"{ran} programs in {time.monotonic() - begin:.0f} s, violations: {violations}", flush=True)
    print("findings: " + ", ".join(f"{code} {count}" for code, count in findings.most_common()))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
