"""What runs the tests on a GPU, run here on the CPU: processes that hang or end, parts, files of results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu import parts
from tests.gpu.__main__ import kept, main
from tests.gpu.outcomes import ENDED, HUNG, RIGHT, Outcome, counted, shown
from tests.gpu.parts import PARTS
from tests.gpu.presence import missing_for_cuda
from tests.gpu.watch import Watched

WORKER = """
import json, os, sys
print('"ready"', flush=True)
for line in sys.stdin:
    case = line.strip()
    if case.startswith("hang"):
        os.read(os.pipe()[0], 1)
    if case.startswith("end"):
        print("the last words", file=sys.stderr, flush=True)
        os._exit(7)
    print(json.dumps({"case": case, "became": "right", "why": str(os.getpid()), "leaves": case == "last"}), flush=True)
    if case == "last":
        os._exit(0)
"""


def test_a_case_that_hangs_or_ends_its_process_costs_itself() -> None:
    told: list[Outcome] = []
    cases = ["one", "hang", "two", "end", "last", "three"]
    outcomes = Watched(["-c", WORKER], seconds=2.0).run(cases, 1, told.append)
    assert [one.case for one in outcomes] == cases
    assert [one.became for one in outcomes] == [RIGHT, HUNG, RIGHT, ENDED, RIGHT, RIGHT]
    assert "status 7" in outcomes[3].why
    assert "the last words" in outcomes[3].why
    assert told == outcomes
    processes = [one.why for one in outcomes if one.became == RIGHT]
    assert len(set(processes)) == 4, "after a hang, an end and a farewell there is another process"


def test_a_process_that_never_starts_is_told() -> None:
    (outcome,) = Watched(["-c", "raise SystemExit('no such thing')"], seconds=5.0).run(["one"], 1)
    assert outcome.became == ENDED
    assert "no such thing" in outcome.why


def test_several_processes_share_the_cases() -> None:
    cases = [str(number) for number in range(40)]
    outcomes = Watched(["-c", WORKER], seconds=20.0).run(cases, 2)
    assert [one.case for one in outcomes] == cases
    assert {one.became for one in outcomes} == {RIGHT}


def test_parts_run_and_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "found.json"
    words = ["--target", "cpu", "--jobs", "1", "--to", str(file)]
    chosen = {
        "vectors": "axpby f32 bounds",
        "bugs": "bounds/halo_left",
        "kernels": "axpby axpby off",
        "copies": "1 bounds",
    }
    for part, case in chosen.items():
        if part == "vectors":
            case = next(name for name in PARTS[part].names(0) if name.startswith("axpby "))
        assert main([*words, "--part", part, "--case", case]) == 0, capsys.readouterr().out
    found = json.loads(file.read_text())
    assert set(found["parts"]) == set(chosen), "a part that is run alone leaves the others"
    assert all(part["right"] == part["cases"] == 1 for part in found["parts"].values())
    assert kept(file, {**found["environment"], "commit": "another"}) == {}
    assert "kernels: 1 cases in" in capsys.readouterr().out


def test_what_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.gpu import worker

    name = next(one for one in PARTS["vectors"].names(0) if one.startswith("axpby "))
    monkeypatch.setattr("tests.ops.vectors.difference", lambda *_: "as asked for")
    outcome, leaves = worker.outcome_of(PARTS["vectors"], name, "cpu")
    assert (outcome.became, leaves) == ("differs", False)
    assert "as asked for" in outcome.why

    def broken(*_: object) -> None:
        raise OSError("the context is lost")

    outcome, leaves = worker.outcome_of(parts.Part("", PARTS["vectors"].names, broken, 1), name, "cpu")
    assert (outcome.became, leaves) == ("failed", True)
    part = counted([outcome, Outcome("other", RIGHT)], 2.0)
    assert shown("vectors", part) == "vectors: 2 cases in 2 s: 1 right, 1 failed"
    assert part["rows"] == [outcome.to_json()]


def test_random_programs_end_alike_or_are_left_out() -> None:
    ends = set()
    for seed in PARTS["random"].names(12):
        try:
            PARTS["random"].run(seed, "cpu")
            ends.add("right")
        except parts.LeftOutError:
            ends.add("left out")
    assert "right" in ends


def test_every_part_has_cases() -> None:
    for name, part in PARTS.items():
        names = part.names(100)
        assert len(set(names)) == len(names), name
        assert names or name == "marked"


def test_without_a_gpu_nothing_is_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gpu.__main__.missing_for_cuda", lambda: "no GPU here")
    assert main([]) == 2
    assert capsys.readouterr().err == "not tested on a GPU: no GPU here\n"


@pytest.mark.cuda
def test_marks_are_run_where_there_is_a_gpu() -> None:
    assert missing_for_cuda() == ""
