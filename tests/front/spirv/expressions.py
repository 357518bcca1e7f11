"""Lines of SPIR-V on numbers, many of which become one shader: each reads words of its own and writes words of its own.

In the lines `%u0`, `%u1`, ... are the words as unsigned integers, `%f0`, ... the same as floats; `%o0`, ... are what is
written, as unsigned integers or floats. Names of one letter, with a number or without, are those of one case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.cases import every_case
from tests.front.spirv.shaders import BUFFERS, on_both

Words = NDArray[np.uint32]
_LOCAL = re.compile(r"%([a-z]\d*)\b")


@dataclass(frozen=True)
class Lines:
    """Lines of a shader, the words that they read, and those that they write; floats are taken as their bits."""

    text: str
    given: tuple[float, ...]
    expected: tuple[float, ...]
    ulps: int = 0
    """By how many units in the last place floats may differ."""

    @property
    def name(self) -> str:
        return f"{self.text.strip().splitlines()[0].split(' = ')[-1]} of {self.given}"


def words(values: Sequence[float]) -> Words:
    """Integers modulo 2^32, and floats as their bits."""
    return np.array(
        [int(np.float32(v).view(np.uint32)) if isinstance(v, float) else int(v) % (1 << 32) for v in values], np.uint32
    )


def floats(expression: str, *given: float, gives: float, ulps: int = 0) -> Lines:
    """A single instruction whose result is a float."""
    return Lines(f"%o0 = {expression}", given, (gives,), ulps)


def integers(expression: str, *given: float, gives: int) -> Lines:
    """A single instruction whose result is an unsigned integer."""
    return Lines(f"%o0 = {expression}", given, (gives,))


def holds(expression: str, *given: float, gives: bool) -> Lines:
    """A single instruction whose result is a bool."""
    return Lines(f"%c = {expression}\n%o0 = OpSelect %uint %c %uint_1 %uint_0", given, (int(gives),))


def check(cases: Sequence[Lines], head: str = "") -> None:
    """Run the lines on both executors, and compare what they write: words, and any NaN for NaN."""
    text, starts = [BUFFERS, head], []
    given: list[int] = []
    expected: list[int] = []
    for number, case in enumerate(cases):
        starts.append(len(expected))
        text += _placed(case, number, len(given), len(expected))
        given += words(case.given).tolist()
        expected += words(case.expected).tolist()
    wanted = np.array(expected, np.uint32)
    for _, output in on_both("\n".join(text), np.array(given, np.uint32), np.zeros(len(expected), np.uint32)):
        found = np.asarray(output, np.uint32)
        with every_case() as one:
            for case, start in zip(cases, starts, strict=True):
                with one(case.name):
                    count = len(case.expected)
                    _same(found[start : start + count], wanted[start : start + count], case)


def _same(found: Words, wanted: Words, case: Lines) -> None:
    for place, value in enumerate(case.expected):
        if value != value:
            assert np.isnan(found[place : place + 1].view(np.float32)[0])
        elif isinstance(value, float) and case.ulps and value != 0:
            assert abs(int(found[place]) - int(wanted[place])) <= case.ulps
        elif isinstance(value, float):
            assert (found[place : place + 1].view(np.float32)[0], found[place]) == (np.float32(value), wanted[place])
        else:
            assert hex(found[place]) == hex(wanted[place])


def _placed(case: Lines, number: int, first: int, output: int) -> list[str]:
    """The lines with loads before them and stores behind, and names of their own."""
    body: list[str] = []
    for k, _ in enumerate(case.given):
        body.append(f"%p{k} = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %int_{first + k}")
        body += [f"%u{k} = OpLoad %uint %p{k}", f"%f{k} = OpBitcast %float %u{k}"]
    body += case.text.strip().splitlines()
    for k, value in enumerate(case.expected):
        body.append(f"%q{k} = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %int_{output + k}")
        if isinstance(value, float):
            body += [f"%w{k} = OpBitcast %uint %o{k}", f"OpStore %q{k} %w{k}"]
        else:
            body.append(f"OpStore %q{k} %o{k}")
    return [_LOCAL.sub(lambda name: f"%n{number}_{name[1]}", line) for line in body]
