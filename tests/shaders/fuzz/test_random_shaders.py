"""Random shaders leave the same bytes in every way of running them, and nothing is found in them."""

from __future__ import annotations

import zipfile

import pytest

from tests.cases import long
from tests.shaders.fuzz.compare import KEPT, MODULES, differences
from tests.shaders.fuzz.programs import program

SMALL = 101
"""The seed of a small shader."""


def test_a_seed_gives_one_shader() -> None:
    first, second = program(SMALL), program(SMALL)
    assert first.text == second.text and first.push == second.push
    assert first.text != program(SMALL + 1).text


@pytest.mark.parametrize("seed", [SMALL, *long(seed for seed in KEPT if seed != SMALL)])
def test_interpreter_and_compiled_code_agree(seed: int) -> None:
    with zipfile.ZipFile(MODULES) as file:
        module = file.read(f"{seed}.spv")
    assert list(differences(program(seed), module)) == []
