"""Tests of kernels run on every target; those marked `interpreter` need what only the interpreter does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import pytest

from girih import api
from girih.source import Source

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


@pytest.fixture(scope="session", autouse=True)
def loaded_once() -> Iterator[None]:
    """Programs are values: what many tests launch is parsed, checked and compiled once for each target."""
    load = api._compile
    known: dict[object, api.Program] = {}

    def load_once(
        source: Source, target: str | None, definitions: Mapping[str, object] | None, checks: str
    ) -> api.Program:
        meant = target or os.environ.get("GIRIH_TARGET")
        key = (source.text, source.name, meant, repr(sorted((definitions or {}).items())), checks)
        if key not in known:
            known[key] = load(source, target, definitions, checks)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "_compile", load_once)
        yield
