"""A few seconds of the random programs that `make fuzz` tries for a long time."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from girih.ops.tile import TILE_LANGUAGE
from tests.cases import long as more
from tests.fuzz import compiled, long
from tests.fuzz.breaking import Broken, break_rows, sites
from tests.fuzz.compiled import agrees, launches_agree, left_behind, noted, odd_program
from tests.fuzz.generate import Program
from tests.fuzz.launches import launched, odd_text
from tests.fuzz.mutate import broken_text, mutated, programs, tokens
from tests.fuzz.overlapping import overlaps
from tests.fuzz.programs import RACE, accepted, outcome_and_lines, program, run_holds
from tests.fuzz.properties import Violation, minimised, text_holds

FEW = settings(max_examples=30, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("block", [0, *more(range(1, 10))])
def test_broken_texts_are_diagnosed(block: int) -> None:
    taken = sum(text_holds(broken_text(random.Random(seed))) for seed in range(240 * block, 240 * (block + 1)))
    assert 0 < taken < 120


@FEW
@given(st.sampled_from(programs()), st.randoms(use_true_random=False))
def test_mutated_programs_are_diagnosed(text: str, source: random.Random) -> None:
    text_holds(mutated(source, text))


@pytest.mark.parametrize("block", [0, *more(range(1, 10))])
def test_generated_programs_run_alike_under_all_choices(block: int) -> None:
    seeds = range(16 * block, 16 * (block + 1))
    found = [run_holds(accepted(built), built) for built in map(program, seeds)]
    assert sum(RACE in codes for codes in found) <= 1, "programs that race are left out, and should be few"


@pytest.mark.parametrize("block", [0, *more(range(1, 10))])
def test_generated_programs_run_alike_on_the_cpu(block: int) -> None:
    for seed in range(1000 + 8 * block, 1000 + 8 * (block + 1)):
        built = program(seed)
        agrees(accepted(built), built)


@pytest.mark.parametrize("block", [0, *more(range(1, 5))])
def test_launches_of_changed_programs_end_alike_on_the_cpu(block: int) -> None:
    ends = [end for seed in range(12 * block, 12 * (block + 1)) for end in launches_agree(odd_program(seed), seed)]
    assert {"fine", "findings"} <= set(ends)


@pytest.mark.parametrize("block", [0, *more(range(1, 30))])
def test_operands_that_overlap_are_found_and_no_others(block: int) -> None:
    overlapping = sum(overlaps(seed, 30) for seed in range(16 * block, 16 * (block + 1)))
    assert 0 < overlapping < 120


@pytest.mark.parametrize("kind", ["compile", "finding", "differs"])
def test_what_differs_on_the_cpu_is_told(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(
        text: str, built: Program, *, target: str = "interpreter", checks: str = "bounds"
    ) -> tuple[list[Any], set[str], str]:
        arrays, codes, lines = outcome_and_lines(text, built, target="interpreter")
        if target == "cpu" and kind == "compile":
            raise ValueError("as asked for")
        if target == "cpu":
            arrays = [np.asarray(a) + 1 if isinstance(a, np.ndarray) else a for a in arrays]
            codes = {"run.size"} if kind == "finding" else codes
        return arrays, codes, lines

    monkeypatch.setattr(compiled, "outcome_and_lines", other)
    monkeypatch.delenv("GIRIH_CACHE_SIZE", raising=False)
    built = next(p for p in map(program, range(1000)) if any(isinstance(a, np.ndarray) and a.size for a in p.arrays()))
    with pytest.raises(Violation) as caught:
        agrees(accepted(built), built)
    assert caught.value.kind == kind
    assert "GIRIH_CACHE_SIZE" not in os.environ, "what comes later has its cache again"


def test_what_a_process_ran_when_it_ended_is_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), noted("func @f() {\n}\n", 7, tmp_path):
        raise KeyboardInterrupt
    assert left_behind(tmp_path) == ["func @f() {\n}\n\n; seed 7\n"]
    with noted("", 8, tmp_path):
        pass
    assert left_behind(tmp_path) == []


@FEW
@given(st.integers(0, 2**63))
def test_any_generated_program_is_accepted(seed: int) -> None:
    accepted(program(seed))


@pytest.mark.parametrize("block", [0, *more([1, 2])])
def test_launches_of_changed_programs_end_well(block: int) -> None:
    ends = {end for seed in range(200 * block, 200 * (block + 1)) for end in launched(odd_text(seed), seed)}
    assert {"fine", "findings"} <= ends


def _sites(seeds: Iterable[int], each: int) -> Broken:
    done = Broken()
    for seed in seeds:
        source = random.Random(seed)
        known = sites(program(seed).module)
        for site in source.sample(known, min(each, len(known))):
            break_rows(site, source, done, 60)
    return done


@pytest.mark.parametrize("block", [0, *more([1, 2])])
def test_a_broken_rule_is_reported_alone(block: int) -> None:
    done = _sites(range(24 * block, 24 * (block + 1)), 3)
    assert done.alone > 150
    assert len(done.rows) > 120


def test_every_instruction_is_generated() -> None:
    found = {op.spec.mnemonic for seed in range(700) for op in program(seed).module.functions[0].walk()}
    assert set(TILE_LANGUAGE.ops) - found <= {
        "lifetime_stop",
        "cooperative_matrix_atomic_store",
        "cooperative_matrix_atomic_add",
    }


def test_tokens_are_the_text() -> None:
    assert all("".join(tokens(text)) == text for text in programs())


def test_a_violation_is_made_smaller() -> None:
    def holds(text: str) -> None:
        if "guilty" in text:
            raise Violation("traceback", "as asked for", text)

    lines = "".join(f"line {k}\n" for k in range(50))
    violation = Violation("traceback", "as asked for", lines + "the guilty one\n" + lines)
    assert minimised(violation, holds) == "guilty"


def test_a_run_says_what_it_did() -> None:
    tally = long.run(0, 20, 1)
    words = long.report(tally, 1.0)
    assert tally.violations == []
    assert "20 programs in 1 s, 20 per second" in words
    assert "programs: 8, accepted 8 (100.0 %)" in words
    assert "violations, traceback: 0" in words


def test_a_violation_is_counted_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def trial(seed: int, tally: long.Tally) -> None:
        raise Violation("row", "as asked for", "func @f() {\n}\n")

    trials: dict[str, Callable[[int, long.Tally], None]] = dict.fromkeys(long.TRIALS, trial)
    monkeypatch.setattr(long, "TRIALS", trials)
    tally = long.run(0, 2, 1)
    assert [(kind, seed) for kind, seed, *_ in tally.violations] == [("row", 0), ("row", 1)]
    assert "violations, row: 2" in long.report(tally, 1.0)
