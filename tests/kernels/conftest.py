"""Tests of kernels run on every target; those marked `interpreter` need what only the interpreter does.

`--targets cuda` runs them on a GPU alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from girih import api
from girih.api import loading
from girih.ir.core import Order
from girih.source import Source

INTERPRETER = "interpreter"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Once for each target, but for what needs the interpreter."""
    targets = metafunc.config.getoption("--targets").split(",")
    if metafunc.definition.get_closest_marker(INTERPRETER) is not None:
        targets = [INTERPRETER] if INTERPRETER in targets else []
    metafunc.parametrize("target", targets, indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Of a test with more parameters `make test` takes one target in turns, so that each value has one."""
    places = item.callspec.indices if isinstance(item, pytest.Function) else {}
    others = {name: place for name, place in places.items() if name != "target"}
    several = "," in item.config.getoption("--targets")
    if several and others and "target" in places and item.get_closest_marker(INTERPRETER) is None:
        turn = sum(others.values()) // len(others) + places["target"]
        if turn % 2:
            item.add_marker(pytest.mark.long)


load = loading._compile
loaded: dict[object, api.Program] = {}


def load_once(
    source: Source, target: str | None, definitions: Mapping[str, object] | None, checks: str, order: Order = "F"
) -> api.Program:
    """Programs are values: what many tests launch is parsed, checked and compiled once for each target."""
    meant = target or os.environ["GIRIH_TARGET"]
    key = (source.text, source.name, meant, repr(sorted((definitions or {}).items())), checks, order)
    if key not in loaded:
        loaded[key] = load(source, target, definitions, checks, order)
    return loaded[key]


@pytest.fixture(autouse=True)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The target that kernels are compiled for where a test names none."""
    name: str = request.param
    monkeypatch.setenv("GIRIH_TARGET", name)
    monkeypatch.setattr(loading, "_compile", load_once)
    return name
