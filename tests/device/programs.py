"""Programs of the device language from text, run by the interpreter and compiled for the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from girih.api import Program, compile_module
from girih.diagnostics import Finding, KernelError, errors
from girih.front.text.parser import parse_text
from girih.ir.check import check_module
from girih.ops.device import DEVICE_LANGUAGE
from girih.source import Source

TARGETS = ("interpreter", "cpu")


def program(text: str, target: str) -> Program:
    """The program of a text of the device language, which has no errors."""
    module, problems = parse_text(Source(text, "f.device"), DEVICE_LANGUAGE)
    assert [str(d) for d in errors([*problems, *check_module(module)])] == []
    return compile_module(module, target)


def codes(text: str) -> list[str]:
    """The codes of what is wrong with a text of the device language."""
    module, problems = parse_text(Source(text, "f.device"), DEVICE_LANGUAGE)
    return [d.code for d in [*problems, *check_module(module)]]


def on_both(text: str, *arguments: NDArray[np.generic], grid: int = 1) -> Iterator[list[NDArray[np.generic]]]:
    """The arguments as `@f` leaves them, run by the interpreter, then compiled with checks."""
    for target in TARGETS:
        held = [np.array(a, order="F") for a in arguments]
        program(text, target)["f"][grid](*held)
        yield held


def findings(text: str, target: str, *arguments: NDArray[np.generic]) -> list[Finding]:
    """What `@f` is found to do wrong."""
    try:
        program(text, target)["f"][1](*(np.array(a, order="F") for a in arguments))
    except KernelError as error:
        return list(error.findings)
    return []
