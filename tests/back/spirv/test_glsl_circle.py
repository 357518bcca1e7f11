"""Kernels as GLSL do what they mean: compiled by glslang, all run vectors give what their files say."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import girih
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.table import profile_named
from girih.kernels import texts
from girih.kernels.table import TABLE
from girih.program import parse
from tests.back.spirv.circle import CannotLaunch, run_back
from tests.back.spirv.matrices import EVERY_SHAPE, KERNELS
from tests.back.spirv.test_circle import Way, launches, run
from tests.back.spirv.test_matrices import (
    FILES,
    arguments_of,
    emitted_for_every_shape,
    function_of,
    launches_of,
    run_launch,
)
from tests.back.spirv.through_glsl import GlslKernel, through_glsl
from tests.cases import every_case, long
from tests.ops import corpus

WAYS = {
    "hopper": Way("nvidia-hopper", checks=False),
    "lavapipe": Way("lavapipe"),
    "minimal": Way("minimal", checks=False),
}
"""The ways of run vectors; one has the checks, whose code is GLSL as all other is."""


@cache
def kernel(path: Path, name: str, way: Way) -> GlslKernel | None:
    """A function of a file that has gone a way; None if it is refused."""
    function = corpus.read(path).module.function(name)
    assert function is not None
    options = {"races": False, "max_steps": 3_000_000}
    try:
        return GlslKernel(function, profile_named(way.profile), checks=way.checks, options=options)
    except girih.CompileError:
        return None


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", corpus.files("run.tl"), ids=lambda path: path.parent.name)
def test_run_vectors(path: Path, way: str) -> None:
    with every_case() as case:
        for name, listed in launches(path).items():
            one = None
            with case(f"@{name} is valid"):
                one = kernel(path, name, WAYS[way])
            if one is None:
                continue
            for line, launch in listed:
                with case(f"@{name}, line {line}"), suppress(CannotLaunch, girih.CompileError):
                    run(one, launch, WAYS[way])


NAMES = [function.name for function in parse(KERNELS).functions]


@pytest.mark.parametrize("name", [*NAMES[:2], *long(NAMES[2:])])
def test_matrices_of_the_device(name: str) -> None:
    function = function_of(KERNELS, name)
    emitted = through_glsl(function, HOPPER)
    expected, found = arguments_of(function), arguments_of(function)
    girih.loads(KERNELS, target="interpreter")[name][1](*expected)
    run_back(emitted, (1, 1, 1), found)
    for wanted, came in zip(expected, found, strict=True):
        assert np.array_equal(wanted, came)


@pytest.mark.parametrize("path", long(FILES), ids=lambda path: path.parent.name)
def test_run_vectors_on_a_device_with_every_shape(path: Path) -> None:
    kernels: dict[str, EmittedKernel | None] = {}
    with every_case() as case:
        for line, launch in launches_of(path):
            name = launch.function
            with case(f"@{name}, line {line}"):
                if name not in kernels:
                    known, kernels[name] = emitted_for_every_shape(path, name), None
                    with suppress(girih.CompileError):
                        kernels[name] = known and through_glsl(known.function, EVERY_SHAPE, wide=True)
                emitted = kernels[name]
                if emitted is not None:
                    run_launch(emitted, launch)


@pytest.mark.long
@pytest.mark.parametrize("profile", ["minimal", "lavapipe", "nvidia-hopper"])
@pytest.mark.parametrize("name", TABLE)
def test_kernels_of_the_library_are_valid(name: str, profile: str) -> None:
    with every_case() as case:
        for function in parse(texts.path(name).read_text(encoding="utf-8")).functions:
            with case(f"@{function.name}"), suppress(girih.CompileError):
                through_glsl(function, profile_named(profile))
