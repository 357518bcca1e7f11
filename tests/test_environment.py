"""Environment variables: one table of them, and a warning, once, of what looks like one and is none."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import girih
from girih.environment import VARIABLES, warn_of_unknown_variables
from tests.cli.helpers import girih as command

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _another_process() -> Iterator[None]:
    warn_of_unknown_variables.cache_clear()
    yield
    warn_of_unknown_variables.cache_clear()


def test_the_table_has_the_variables_that_are_read() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "girih").rglob("*.py") if path.stem != "environment"]
    assert {name for text in texts for name in re.findall(r"\bGIRIH_[A-Z_]+\b", text)} == set(VARIABLES)


def test_the_page_and_the_help_show_the_table() -> None:
    page, shown = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"), command("--help").output
    for name, says in VARIABLES.items():
        assert f"| `{name}` | {says} |" in page
        assert re.search(rf"^ +{name} +{re.escape(says)}$", shown, re.M)


def test_a_misspelt_variable_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_THREADS", "3")
    with pytest.warns(UserWarning, match=r"GIRIH_THREADS is set, .*; did you mean GIRIH_NUM_THREADS\?") as caught:
        girih.loads("func @f() {\n}\n", target="interpreter")
    assert [told.filename for told in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        girih.loads("func @f() {\n}\n", target="interpreter")


def test_a_command_tells_it_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_ZZZZ", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = command("kernels")
    assert done.status == 0
    assert done.errors.startswith("warning: the environment variable GIRIH_ZZZZ is set, ")
    assert f"there is: {', '.join(VARIABLES)}" in done.errors


def test_known_variables_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "GIRIH_BLESS"):
        monkeypatch.setenv(name, "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown_variables()
