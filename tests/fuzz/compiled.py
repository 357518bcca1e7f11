"""Random programs compiled: what must be true of compiled code, given what the interpreter makes of the same program.

Integers and moves are equal, floating-point results within the roundings that the generator tracked. A program in which
the interpreter finds nothing gives no finding; where it finds something that compiled code looks for, compiled code
finds one of the same. What the interpreter finds nothing in also runs without checks. What races is left out: it has no
defined outcome; so is, on a GPU, what a GPU does not find and would not survive.
"""

from __future__ import annotations

import os
import random
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import girih
from girih.diagnostics import errors
from girih.ir.types import CoopMatrix
from tests.fuzz.generate import Program
from tests.fuzz.launches import STEPS, TooLarge, argument, kernels_of
from tests.fuzz.mutate import mutated, programs, tokens
from tests.fuzz.programs import RACE, difference, outcome_and_lines, program
from tests.fuzz.properties import Violation

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget", "run.aliasing"))
"""What compiled code does not find; see docs/targets.md."""

LEFT_OUT: Mapping[str, frozenset[str]] = {
    "cpu": frozenset({RACE}),
    "cuda": frozenset({RACE, "run.divergent", "run.uninitialized", "run.lifetime", "run.budget"}),
}
"""The findings of the interpreter after which it is open what a target makes of a program."""

SLACK = 2.0
"""Compiled code fuses products with sums, which the generator does not count: so much more may results be apart."""

KINDS = ("compile", "finding", "differs", "crash")
"""The kinds of violations."""

TRIES = 6
"""How often a program is changed in the hope that it is accepted."""

NOTES = "running-"
"""How the files begin that say what a process was running, should it end."""


@contextmanager
def without_cache() -> Iterator[None]:
    """Compile without keeping anything on the disk."""
    before = os.environ.get("GIRIH_CACHE_SIZE")
    os.environ["GIRIH_CACHE_SIZE"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["GIRIH_CACHE_SIZE"]
        else:
            os.environ["GIRIH_CACHE_SIZE"] = before


def agrees(text: str, built: Program, target: str = "cpu", *, unchecked: bool = True) -> set[str]:
    """What the interpreter finds in a program that compiled code agrees on, or that has no outcome to agree on.

    `unchecked` says whether the program runs without checks, too. Raises `Violation`, and `girih.CompileError` where
    the target refuses the program.
    """
    try:
        expected, codes, lines = outcome_and_lines(text, built, target="interpreter")
    except Exception:
        raise Violation("run", traceback.format_exc(limit=-6), text) from None
    if codes & LEFT_OUT[target]:
        return codes & LEFT_OUT[target]
    reference = (expected, codes, lines)
    found = _compiled(text, built, reference, target, "bounds")
    if unchecked and not codes:
        _compiled(text, built, reference, target, "off")
    return found


def _compiled(
    text: str, built: Program, reference: tuple[list[Any], set[str], str], target: str, checks: str
) -> set[str]:
    expected, codes, lines = reference
    try:
        with without_cache():
            arrays, found, printed = outcome_and_lines(text, built, target=target, checks=checks)
    except girih.CompileError:
        raise
    except Exception:
        raise Violation("compile", f"checks={checks}: {traceback.format_exc(limit=-6)}", text) from None
    if not found <= codes:
        raise Violation("finding", f"{target} finds {sorted(found)}, the interpreter {sorted(codes)}", text)
    if not found and codes - UNCHECKED:
        raise Violation("finding", f"{target} finds nothing, the interpreter {sorted(codes)}", text)
    told = None if codes else difference(built, expected, arrays, SLACK)
    if not codes and printed != lines:
        told = f"{target} prints\n{printed}\nthe interpreter\n{lines}"
    if told:
        raise Violation("differs", f"checks={checks}: {told}", text)
    return found


def odd_program(seed: int) -> str:
    """A program that is accepted, if one of a few changes of it is, and as it was otherwise."""
    source = random.Random(seed)
    text = source.choice(programs()) if source.random() < 0.7 else str(program(seed, 6).module)
    changed = (mutated(source, text) for _ in range(TRIES) if tokens(text))
    return next((t for t in changed if not errors(girih.check(t))), text)


def launches_agree(text: str, seed: int, target: str = "cpu") -> list[str]:
    """How the launches of the functions of an odd text end on both executors. Raises `Violation`.

    Arrays are not compared: nothing bounds their roundings. What races, reads memory that nobody wrote, or does not
    end, is left out.
    """
    checked = kernels_of(text, "interpreter")
    try:
        with without_cache():
            compiled = kernels_of(text, target)
    except girih.CompileError:
        return ["refused"]
    except Exception:
        raise Violation("compile", traceback.format_exc(limit=-6), text) from None
    return [_ended_alike(checked[name], compiled[name], random.Random(seed), text, target) for name in checked]


def _ended_alike(interpreter: girih.Kernel, kernel: girih.Kernel, source: random.Random, text: str, target: str) -> str:
    seed = source.random()
    try:
        both = [_arguments(kernel, random.Random(seed)) for _ in range(2)]
    except TooLarge:
        return "not launched"
    grid = source.choice((1, (2, 1, 1), (1, 2, 2), 0))
    expected = _codes(interpreter[grid], both[0], max_steps=STEPS)
    if expected & (UNCHECKED | LEFT_OUT[target]):
        return "not launched"
    found = _codes(kernel[grid], both[1])
    if "bind.alignment" in expected | found:
        # Where new arrays happen to lie is not the same twice.
        return "refused"
    if expected & {"run.not_uniform", "run.divergent"} and _holds_together(kernel):
        # Compiled code does not compare the subgroups that hold a matrix together, nor wait for those that do not come.
        return "findings"
    # A barrier that only some subgroups reach is met by all of those that come by.
    if not found <= expected or (bool(found) < bool(expected - {"run.divergent"})):
        raise Violation("finding", f"{target} finds {sorted(found)}, the interpreter {sorted(expected)}", text)
    return "findings" if found else "fine"


def _holds_together(kernel: girih.Kernel) -> bool:
    """Whether a kernel has matrices of the work-group."""
    types = (value.type for op in kernel.ir.walk() for value in op.results)
    return any(isinstance(type, CoopMatrix) and type.of_work_group for type in types)


def _arguments(kernel: girih.Kernel, source: random.Random) -> list[Any]:
    return [argument(p.type, source) for p in kernel.ir.parameters]


def _codes(kernel: girih.Kernel, arguments: list[Any], max_steps: int | None = None) -> set[str]:
    """The codes of what a launch finds, or is refused for."""
    try:
        kernel.options(max_steps=max_steps)(*arguments)
    except girih.LaunchError as error:
        return {d.code for d in error.diagnostics}
    except girih.KernelError as error:
        return {f.code for f in error.findings}
    return set()


@contextmanager
def noted(text: str, seed: int, folder: Path) -> Iterator[None]:
    """Say in a file what is run, so that it is known if the process ends."""
    note = folder / f"{NOTES}{os.getpid()}.tl"
    note.write_text(f"{text}\n; seed {seed}\n", encoding="utf-8")
    yield
    note.unlink()


def left_behind(folder: Path) -> list[str]:
    """The texts that processes ran when they ended."""
    found = []
    for note in sorted(folder.glob(f"{NOTES}*.tl")):
        found.append(note.read_text(encoding="utf-8"))
        note.unlink()
    return found
