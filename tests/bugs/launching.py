"""What is told of the twins of a pair: by the checker, by the interpreter, by compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import girih
from girih.api import compile_module
from girih.diagnostics import Diagnostic, Finding
from girih.ir.core import Module
from girih.program import analyze
from girih.source import Source
from tests.bugs.reader import Pair, Place
from tests.ops import vectors

Told = Sequence[Finding | Diagnostic]

STEPS = 10_000_000
"""More instructions than any of these kernels executes."""


@cache
def _analyzed(text: str, name: str) -> tuple[Module, Sequence[Diagnostic]]:
    return analyze(Source(text, name))


def right(pair: Pair) -> tuple[Module, Sequence[Diagnostic]]:
    """The module of the right twin, and what the checker says."""
    return _analyzed(pair.right, f"{pair.name}.tl")


def wrong(pair: Pair) -> tuple[Module, Sequence[Diagnostic]]:
    """The module of the wrong twin, and what the checker says."""
    return _analyzed(pair.wrong, f"{pair.name}.tl")


def told(pair: Pair, module: Module, target: str, seed: int | None = None) -> Told:
    """What a launch of a twin finds, or why it is refused.

    `seed` is for the choices of the interpreter. Raises AssertionError where the right twin passes and its results are
    not those of the vector.
    """
    launch = vectors.parse_vector(pair.vector if module is right(pair)[0] else pair.wrong_vector)
    function = module.function(launch.function)
    assert function is not None, f"there is no @{launch.function}"
    arguments = vectors.bind(function, launch.arguments)
    kernel = compile_module(Module((function,)), target)[launch.function][launch.grid]
    if target == "interpreter":
        kernel = kernel.options(choices=girih.Choices(seed), max_steps=STEPS)
    try:
        kernel(*arguments)
    except girih.KernelError as error:
        return error.findings
    except girih.LaunchError as error:
        return error.diagnostics
    if module is right(pair)[0]:
        vectors.assert_results(function, arguments, launch)
    return []


def places(found: Told) -> set[Place]:
    """The lines and codes of what is told."""
    return {(one.span.line, one.code) for one in found}


def others(found: Told) -> set[Place]:
    """The lines of the other accesses of races."""
    both = [(one.code, one.other) for one in found if isinstance(one, Finding)]
    return {(other.span.line, code) for code, other in both if other is not None}


def shown(found: Told) -> str:
    """What is told, in full."""
    return "\n\n".join(map(str, found))
