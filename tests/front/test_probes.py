"""Hundreds of one-rule programs get their verdict (tests/data/language_probes.json).

They were collected section by section from specification 003.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from girih import check
from girih.diagnostics import errors

PATH = Path(__file__).resolve().parents[1] / "data" / "language_probes.json"
PROBES: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe["id"])
def test_verdict(probe: dict[str, Any]) -> None:
    found = errors(check(probe["source"]))
    assert ("reject" if found else "accept") == probe["expect"], probe["note"] + "\n" + "\n".join(map(str, found))


def test_there_are_many() -> None:
    assert len(PROBES) == 422
    assert {probe["expect"] for probe in PROBES} == {"accept", "reject"}
