"""The measuring process: its environment, what it is told, and what is said when it dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from girih.bench import session
from girih.bench.events import MeasuringRequest


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "fastest_core", lambda _: None)


def child(folder: Path, text: str) -> tuple[str]:
    path = folder / "child.py"
    path.write_text(text, encoding="utf-8")
    return (str(path),)


def test_a_request_survives_the_pipe() -> None:
    request = MeasuringRequest(
        "own", ("gemm",), checks=("off", "bounds"), threads=2, against=("torch",), details={"grid": [1]}
    )
    assert MeasuringRequest.from_text(request.to_text()) == request


def test_threads_and_kernels_are_set_before_numpy_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    found = session.child_environment(3, "SkylakeX")
    assert found["OPENBLAS_CORETYPE"] == "SkylakeX"
    assert {found[name] for name in ("GIRIH_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")} == {"3"}
    assert found["PYTHONPATH"].endswith("elsewhere")


def test_the_standard_set_takes_a_process_for_each_number_of_threads(tmp_path: Path) -> None:
    echo = child(
        tmp_path,
        """
import json, os, sys
request = json.loads(sys.stdin.readline())
print(json.dumps({"event": "seen", "many": request["many"], "threads": os.environ["GIRIH_NUM_THREADS"]}))
""",
    )
    seen = [
        (event["many"], event["threads"]) for event in session.measure(MeasuringRequest("standard", threads=2), echo)
    ]
    assert seen == [(False, "1"), (True, "2")]
    assert len(list(session.measure(MeasuringRequest("library", threads=2), echo))) == 1


def test_a_process_that_dies_is_a_problem_of_the_case_it_was_at(tmp_path: Path) -> None:
    dies = child(
        tmp_path,
        """
import json, os, signal, sys
print(json.dumps({"event": "begin", "group": "gemm", "name": "n=512"}), flush=True)
print("about to go", file=sys.stderr, flush=True)
os.kill(os.getpid(), signal.SIGABRT)
""",
    )
    begin, problem = list[Any](session.measure(MeasuringRequest("own"), dies))
    assert begin["event"] == "begin"
    assert (problem["event"], problem["group"], problem["name"]) == ("problem", "gemm", "n=512")
    assert problem["message"] == "the measuring process was ended by SIGABRT\nabout to go"


def test_a_process_that_fails_is_a_problem(tmp_path: Path) -> None:
    (problem,) = session.measure(MeasuringRequest("own"), child(tmp_path, "raise SystemExit(3)"))
    assert problem["message"] == "the measuring process ended with status 3"
