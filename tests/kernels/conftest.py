"""Tests of kernels run on every target; those marked `interpreter` need what only the interpreter does."""

from __future__ import annotations

import pytest

TARGETS = ("interpreter", "cpu")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Once for each target, but for what needs the interpreter."""
    alone = metafunc.definition.get_closest_marker("interpreter") is not None
    metafunc.parametrize("target", TARGETS[:1] if alone else TARGETS, indirect=True)


@pytest.fixture(autouse=True)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The target that kernels are compiled for where a test names none."""
    name: str = request.param
    monkeypatch.setenv("GIRIH_TARGET", name)
    return name
