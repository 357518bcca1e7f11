"""Hundreds of one-rule programs get their verdict (tests/data/language_probes.json).

They were collected section by section from specification 003.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from girih import check
from girih.diagnostics import errors
from tests.cases import every_case

PATH = Path(__file__).resolve().parents[1] / "data" / "language_probes.json"
PROBES: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))


def test_verdicts() -> None:
    with every_case() as case:
        for probe in PROBES:
            with case(probe["id"]):
                found = errors(check(probe["source"]))
                verdict = "reject" if found else "accept"
                assert verdict == probe["expect"], "\n".join([probe["note"], *map(str, found)])


def test_there_are_many() -> None:
    assert len(PROBES) == 422
    assert {probe["expect"] for probe in PROBES} == {"accept", "reject"}
