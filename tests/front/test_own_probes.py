"""Programs of one rule each, written from the sentences, tables and examples of 003 (tests/data/own_probes.json).

They stand beside tests/data/language_probes.json and hold none of its programs: the mistakes next to each right
spelling, and the edges of each restriction. What a table says of types is in test_type_tables.py.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from girih import check, parse
from girih.diagnostics import errors
from girih.ir.compare import same_module

DATA = Path(__file__).resolve().parents[1] / "data"
Probe = dict[str, str]
PROBES: list[Probe] = json.loads((DATA / "own_probes.json").read_text(encoding="utf-8"))
GIVEN: list[Probe] = json.loads((DATA / "language_probes.json").read_text(encoding="utf-8"))


def sections() -> dict[str, list[Probe]]:
    found: dict[str, list[Probe]] = defaultdict(list)
    for probe in PROBES:
        found[probe["section"]].append(probe)
    return found


SECTIONS = sections()


@pytest.mark.parametrize("section", SECTIONS)
def test_verdicts(section: str) -> None:
    wrong = []
    for probe in SECTIONS[section]:
        found = errors(check(probe["source"]))
        if ("reject" if found else "accept") != probe["expect"]:
            wrong.append("\n".join([f"{probe['id']}: expected {probe['expect']}; {probe['note']}", *map(str, found)]))
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("section", SECTIONS)
def test_accepted_programs_are_printed_and_parsed_again(section: str) -> None:
    for probe in SECTIONS[section]:
        if probe["expect"] == "accept":
            module = parse(probe["source"])
            assert same_module(module, parse(str(module))), probe["id"]


def test_no_program_stands_twice() -> None:
    sources = [probe["source"] for probe in (*GIVEN, *PROBES)]
    assert len(set(sources)) == len(sources)
    assert len({probe["id"] for probe in (*GIVEN, *PROBES)}) == len(sources)
    assert len(PROBES) > 900
