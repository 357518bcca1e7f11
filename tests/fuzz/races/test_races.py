"""A few of the programs that `tests/fuzz/races/long.py` judges by two ways, and all of them behind `long`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import long as more
from tests.fuzz.races import compare, long
from tests.fuzz.races.compare import Outcome, free_holds
from tests.fuzz.races.free import free_program
from tests.fuzz.races.long import FREE, Tally, chunk
from tests.fuzz.races.planted import REQUIRED, planted_program

LARGE = 125
"""The number of programs in a block that only `make test-long` tries."""


def told(tally: Tally) -> str:
    """The defects of a tally in words; "" where there are none."""
    return "\n\n".join(f"seed {seed}: {o.verdict}\n{o.detail}\n{o.text}" for seed, o in tally.defects)


@pytest.mark.parametrize("seeds", [range(48), *more(range(n, n + LARGE) for n in range(0, 10_000, LARGE))])
def test_programs_free_of_races_are_not_accused(seeds: range) -> None:
    tally = chunk(FREE, False, seeds)
    assert told(tally) == ""
    for feature in ("barrier", "atomic", "hand-over"):
        assert tally.features[feature] > tally.programs / 5, feature


@pytest.mark.parametrize("seeds", [range(3), *more(range(n, n + LARGE) for n in range(0, 1250, LARGE))])
@pytest.mark.parametrize("kind", REQUIRED)
def test_a_race_is_found_where_the_brute_force_finds_one(kind: str, seeds: range) -> None:
    tally = chunk(kind, False, seeds)
    assert told(tally) == ""
    assert tally.races == len(seeds)


@pytest.mark.parametrize("seeds", [range(12), *more([range(1000)])])
def test_the_brute_force_finds_no_race_in_programs_free_of_them(seeds: range) -> None:
    assert told(chunk(FREE, True, seeds)) == ""


def test_a_seed_gives_one_program() -> None:
    assert free_program(7).text == free_program(7).text
    assert planted_program(7, "index").launch.text == planted_program(7, "index").launch.text


def test_a_difference_is_reported_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compare, "found", lambda function, program: ({(1, 2)}, "as asked for"))
    outcome = free_holds(0)
    assert outcome.verdict == "accused"
    tally = Tally()
    tally.add(0, [outcome, Outcome("right", "")])
    assert told(tally).startswith("seed 0: accused\nas asked for")
    assert "free: 2 programs, 0 with a race; accused 1, right 1" in long.report("free", tally, 1.0)
    (path,) = long.saved("free", tally, tmp_path)
    assert path.read_text(encoding="utf-8").endswith("; as asked for\n")
