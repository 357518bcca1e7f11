"""Kernels as SPIR-V modules do what they mean: all run vectors, by way of modules, give what their files say."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import girih
from girih.back.spirv.profiles.table import profile_named
from girih.ir.core import Function
from tests.back.spirv.circle import CannotLaunch, CircleKernel, assert_valid
from tests.cases import every_case, long
from tests.fuzz.compiled import UNCHECKED
from tests.ops import corpus, vectors

UNSEEN = UNCHECKED | {"run.divergent"}
"""What no module finds: beside what no compiled code does, work-items that do not come where others wait."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a kernel goes: the profile, with checks or without, with wide indices, and who runs the module."""

    profile: str
    checks: bool = True
    wide: bool = False
    target: str = "interpreter"
    races: bool = False

    def kernel(self, function: Function) -> CircleKernel:
        """A function that has gone this way. Raises `CompileError` if the profile refuses it."""
        options = {"races": self.races, "max_steps": 3_000_000} if self.target == "interpreter" else None
        profile = profile_named(self.profile)
        return CircleKernel(function, profile, checks=self.checks, wide=self.wide, target=self.target, options=options)


WAYS = {
    "lavapipe": Way("lavapipe"),
    "lavapipe-wide": Way("lavapipe", wide=True),
    "lavapipe-cpu": Way("lavapipe", target="cpu"),
    "minimal": Way("minimal"),
    "minimal-unchecked": Way("minimal", checks=False),
    "hopper": Way("nvidia-hopper"),
    "hopper-unchecked": Way("nvidia-hopper", checks=False, races=True),
}
"""The ways of run vectors."""


@cache
def kernel(path: Path, name: str, way: Way) -> CircleKernel | None:
    """A function of a file that has gone a way; None if it is refused."""
    function = corpus.read(path).module.function(name)
    assert function is not None
    try:
        return way.kernel(function)
    except girih.CompileError:
        return None


def launches(path: Path) -> dict[str, list[tuple[int, vectors.Launch]]]:
    """The vectors of each function of a file of which modules may know, with their lines."""
    found: dict[str, list[tuple[int, vectors.Launch]]] = {}
    for line, text in corpus.read(path).vectors:
        launch = vectors.parse_vector(text)
        if not launch.expected.findings & UNSEEN:
            found.setdefault(launch.function, []).append((line, launch))
    return found


def run(one: CircleKernel, launch: vectors.Launch, way: Way) -> None:
    """Run a vector, and hold that what it says comes out."""
    marked = vectors.bind(one.function, launch.arguments)
    arguments = [value if hasattr(value, "offset") else vectors.unmark(value) for value in marked]
    x, y, z = (*launch.grid, 1, 1)[:3]
    wrong = launch.expected.findings
    if wrong:
        if way.checks:
            with pytest.raises(girih.KernelError) as raised:
                one((x, y, z), *arguments)
            assert {finding.code for finding in raised.value.findings} == wrong
        return
    one((x, y, z), *arguments)
    vectors.assert_results(one.function, marked, launch)


@pytest.mark.parametrize("way", long(WAYS))
@pytest.mark.parametrize("path", corpus.files("run.tl"), ids=lambda path: path.parent.name)
def test_run_vectors(path: Path, way: str) -> None:
    with every_case() as case:
        for name, listed in launches(path).items():
            one = kernel(path, name, WAYS[way])
            if one is None:
                continue
            with case(f"@{name} is valid"):
                assert_valid(one.emitted)
            for line, launch in listed:
                with case(f"line {line}"), suppress(CannotLaunch):
                    run(one, launch, WAYS[way])


def test_a_part_of_the_run_vectors() -> None:
    """The first function of every ninth file, on the ways in turn."""
    ways = list(WAYS.values())
    ran = 0
    with every_case() as case:
        for number, path in enumerate(corpus.files("run.tl")[::9]):
            name, listed = next(iter(launches(path).items()))
            way = ways[number % len(ways)]
            with case(f"{path.parent.name}, @{name}: {way}"):
                one = kernel(path, name, way)
                if one is not None:
                    assert_valid(one.emitted)
                    run(one, listed[0][1], way)
                    ran += 1
    assert ran > 5
