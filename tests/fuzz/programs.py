"""Whole programs, and what must be true of them: accepted, printed, and run with the same result under all choices."""

from __future__ import annotations

import random
import traceback
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.addressing import BoundTensorMap
from girih.diagnostics import errors
from girih.ir.core import Module
from tests.fuzz.control import collective
from tests.fuzz.generate import Argument, Emitter, Generator, Program
from tests.fuzz.properties import Violation, checked, printed

TOLERANCE = 64.0
"""How many roundings two results of a loose computation may be apart, relative to the magnitudes in it."""

SEEDS = (1, 2)

RACE = "run.race"
"""What is found in a program that has no defined outcome."""


def program(seed: int, size: int = 14, *, without: Iterable[Emitter] = ()) -> Program:
    """A random program without some kinds of instructions; the same seed gives the same one."""
    g = Generator(random.Random(seed), left_out=frozenset(without))
    g.choose()
    g.fill(g.outer, collective(), g.source.randint(1, size))
    body = g.prelude
    body.ops += g.outer.builder.ops
    function = body.function("f", g.parameters, g.attributes())
    return Program(Module((function,)), seed, (g.grid, 1, 1), g.arguments, g.fixed)


def outcome(
    text: str,
    built: Program,
    choices: girih.Choices | None = None,
    *,
    target: str = "interpreter",
    checks: str = "bounds",
) -> tuple[list[Any], set[str]]:
    """The arrays after a launch, and the codes of what was found."""
    return outcome_and_lines(text, built, choices, target=target, checks=checks)[:2]


def outcome_and_lines(
    text: str, built: Program, choices: girih.Choices | None = None, *, target: str, checks: str = "bounds"
) -> tuple[list[Any], set[str], str]:
    """The arrays after a launch, the codes of what was found, and what was printed."""
    arrays, codes, output = built.arrays(), set[str](), StringIO()
    try:
        with redirect_stdout(output):
            girih.loads(text, target=target, checks=checks)["f"].options(choices=choices)[built.grid](*arrays)
    except girih.KernelError as error:
        codes = {finding.code for finding in error.findings}
    return arrays, codes, output.getvalue()


def _close(argument: Argument, a: NDArray[Any], b: NDArray[Any], slack: float) -> bool:
    assert argument.memory is not None
    if np.array_equal(a, b, equal_nan=a.dtype.kind in "fcV") if a.dtype.kind in "iufc" else _same(a, b):
        return True
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    tolerance = slack * TOLERANCE * argument.memory.tolerance
    return tolerance > 0 and bool(np.allclose(x, y, rtol=0.0, atol=tolerance, equal_nan=True))


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equality of arrays of types that NumPy does not know, such as bf16."""
    return bool(np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True))


def _array(value: Any) -> NDArray[Any]:
    """The array of an argument, behind its tensor map if it has one."""
    found: NDArray[Any] = value.array if isinstance(value, BoundTensorMap) else value
    return found


def difference(built: Program, a: list[Any], b: list[Any], slack: float = 1.0) -> str | None:
    """How arguments after two launches differ; None where they do not."""
    for number, (argument, x, y) in enumerate(zip(built.arguments, a, b, strict=True)):
        if argument.memory is None:
            continue
        pairs = zip(x, y, strict=True) if argument.members else [(_array(x), _array(y))]
        if not all(_close(argument, p, q, slack) for p, q in pairs):
            return f"%p{number} differs:\n{x}\n{y}"
    return None


def accepted(built: Program) -> str:
    """The text of a program that the checker accepts and that prints as itself; raises `Violation`."""
    try:
        text = str(built.module)
    except Exception:
        raise Violation("traceback", traceback.format_exc(limit=-4), f"seed {built.seed}") from None
    problems = errors(checked(text))
    if problems:
        raise Violation("rejected", "; ".join(d.render() for d in problems[:2]), text)
    if printed(text) != text or girih.parse(text) != built.module:
        raise Violation("print", "the program that was built prints as another one", text)
    return text


def run_holds(text: str, built: Program) -> set[str]:
    """A program runs, and choices change nothing unless it races; what was found. Raises `Violation`."""
    try:
        first, codes = outcome(text, built)
        others = [outcome(text, built, girih.Choices(seed)) for seed in SEEDS]
    except Exception:
        raise Violation("run", traceback.format_exc(limit=-6), text) from None
    if any(RACE in found for found in (codes, *(found for _, found in others))):
        return {RACE}
    for seed, (arrays, found) in zip(SEEDS, others, strict=True):
        if found != codes:
            raise Violation("choices", f"seed {seed} finds {sorted(found)}, not {sorted(codes)}", text)
        told = difference(built, first, arrays)
        if told:
            raise Violation("choices", f"seed {seed}: {told}", text)
    return codes
