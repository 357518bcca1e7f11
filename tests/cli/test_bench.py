"""`girih bench`: one kernel really measured, calls that are wrong, and results that are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from girih.bench import plot, session
from girih.bench.events import Event, MeasuringRequest
from girih.bench.measuring.rows import Measurement, Versus
from girih.commands.bench import serve_own
from girih.runtime.targets import DEFAULT_CHECKS
from tests.cli.helpers import AXPBY, Done, girih, write

PROGRAM = (
    AXPBY
    + """
func @beyond(%A: memref<f32x?>) {
    %n = size %A[0] : index
    %x = load %A[%n] : f32
    store %x, %A[0]
}
"""
)
ARGUMENTS = ("alpha=2", "beta=0.5", "A=random:f32:64", "B=random:f32:64")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "fastest_core", lambda _: None)
    write(tmp_path, PROGRAM)
    write(tmp_path, "", "empty.tl")
    write(tmp_path, AXPBY, "one.tl")
    write(tmp_path, "func", "wrong.tl")
    return tmp_path


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a measuring process: for calls that end before anything is measured."""
    monkeypatch.setattr(session, "measure", lambda request, _child: serve_own(request))


def bench(*arguments: str) -> Done:
    return girih("bench", *arguments)


def test_a_kernel_of_a_file() -> None:
    done = bench("kernel.tl", "axpby", *ARGUMENTS, "--quick", "--checks", "both", "--flops", "192", "--json")
    assert done.status == 0, done.output
    assert set(done.json) == {"environment", "machine", "rows", "problems", "refused"}
    (row,) = done.json["rows"]
    assert row["group"] == "own"
    assert row["seconds"] > 0
    assert row["bytes"] == 512
    assert set(row["figures"]) == {"checks", "of_peak"}
    assert set(done.json["machine"]["gflops"]) == {"f32", "f64", "bf16"}


def test_a_finding_ends_it_before_anything_is_timed() -> None:
    done = bench("kernel.tl", "beyond", "A=zeros:f32:4", "--quick")
    assert done.status == 1
    assert "run.out_of_bounds" in done.output
    assert "kernel.tl:7" in done.output


@pytest.mark.usefixtures("in_process")
def test_a_file_that_cannot_be_read() -> None:
    done = bench("missing.tl", "axpby", *ARGUMENTS)
    assert (done.status, done.output) == (1, "error: missing.tl: there is no such file\n")


@pytest.mark.usefixtures("in_process")
def test_a_program_in_error() -> None:
    Path("bad.tl").write_text("func @f() { nonsense }", encoding="utf-8")
    done = bench("bad.tl", "f")
    assert done.status == 1
    assert "error[" in done.output


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sofmax",), "there is no kernel 'sofmax'; did you mean 'softmax'?"),
        (("kernel.tl",), "kernel.tl: say which of its kernels: axpby, beyond, as in `girih bench kernel.tl FUNCTION"),
        (("kernel.tl", "A=zeros"), "kernel.tl: say which of its kernels: axpby, beyond"),
        (("empty.tl",), "empty.tl: the file has no kernel"),
        (("softmax", "--grid", "3"), "--grid is for a kernel of a file"),
        (("softmax", "--group", "gemm"), "--group is for a kernel of a file"),
        (("softmax", "-D", "type=i8"), "it must be one of f32, f16, bf16, f64"),
        (("--flops", "3"), "--flops is for a kernel of a file"),
        (("--group", "nothing"), "'nothing' is not one of"),
        (("--checks", "all"), "'all' is not one of"),
        (("--threads", "0"), "0 is not in the range"),
        (("kernel.tl", "axpby", "--against", "numpy"), "--against is for the standard set"),
        (("-", "axpby"), "reads a file, not standard input"),
        (("kernel.tl", "axpbi"), "did you mean 'axpby'?"),
        (("kernel.tl", "axpby", "alpha=1"), "@axpby needs A (memref<f32x?>), beta (f32), B (memref<f32x?>)"),
        (("kernel.tl", "axpby", *ARGUMENTS, "alpha=3"), "'alpha' is given twice"),
        (("kernel.tl", "axpby", "gamma=3"), "there is no argument 'gamma'"),
        (
            ("softmax", "factor=3"),
            "softmax is a kernel of the library, which brings its own arguments: leave out factor=3",
        ),
        (("kernel.tl", "axpby", "--group", "gemm"), "--group chooses from the standard set; axpby of kernel.tl is one"),
        (("kernel.tl", "axpby", *ARGUMENTS, "--grid", "0"), "--grid 0: a grid without work-groups runs nothing"),
    ],
)
def test_calls_that_are_wrong(arguments: tuple[str, ...], says: str) -> None:
    done = bench(*arguments)
    assert done.status == 2
    assert says in done.message.replace("\n", " ")


def test_a_peer_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_LIBXSMM", "/nowhere/libxsmm.so")
    done = bench("gemm_batched", "--against", "libxsmm", "--quick")
    assert done.status == 2
    assert "there is no libxsmm to compare with" in done.message


def test_a_picture_that_cannot_be_written_is_refused_first() -> None:
    done = bench("softmax", "--plot", "a.tiff")
    assert done.status == 2
    assert "--plot a.tiff: a picture ends in .svg, .png, .pdf" in done.message


def test_a_picture_needs_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> Any:
        raise ImportError("No module named matplotlib")

    monkeypatch.setattr(plot, "import_module", missing)
    done = bench("softmax", "--plot", "a.svg")
    assert done.status == 2
    assert "--plot a.svg: a picture needs matplotlib" in done.message


ROW = Measurement(
    "gemm",
    "gemm f32 n=512",
    0.01,
    flops=1e9,
    bytes=1e6,
    type="f32",
    against={"numpy": Versus(0.01, 0.8)},
)
ENVIRONMENT = {"cpu": "A CPU", "llvm_cpu": "znver4", "description": "like znver4", "amx": False,
               "llvm": "22", "numpy": "2", "openblas_kernels": None, "torch": "2",
               "libxsmm": "1.17 interface", "load": 0.0}  # fmt: skip


def pretend(monkeypatch: pytest.MonkeyPatch, *events: Event) -> list[MeasuringRequest]:
    """Events instead of a measuring process; the requests that were made."""
    requests: list[MeasuringRequest] = []

    def measure(request: MeasuringRequest, _child: object) -> Iterator[Event]:
        requests.append(request)
        machine = {"gflops": {"f32": 100.0}, "gigabytes_per_second": 40.0}
        yield {"event": "environment", "environment": ENVIRONMENT, "machine": machine}
        yield from events

    monkeypatch.setattr(session, "measure", measure)
    return requests


def test_the_standard_set_shows_times_rates_and_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    row: Event = {"event": "row", "row": ROW.to_json()}
    begin: Event = {"event": "begin", "group": "rows", "name": "softmax"}
    requests = pretend(monkeypatch, row, begin)
    done = bench("--group", "gemm", "--against", "numpy", "--threads", "4", "--checks", "bounds")
    assert done.status == 0
    assert "Large products" in done.output
    assert re.search(r"gemm f32 n=512 +10 ms +100 +0\.80", done.output)
    assert not re.search(r"goal|short|first|world", done.output)
    (request,) = requests
    assert (request.groups, request.against, request.threads, request.checks) == (("gemm",), ("numpy",), 4, ("bounds",))


def test_a_file_with_one_kernel_needs_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = pretend(monkeypatch)
    assert bench("one.tl", *ARGUMENTS, "--grid", "2").status == 0
    assert bench("kernel.tl", "axpby", *ARGUMENTS).status == 0
    first, second = requests
    assert (first.details["function"], first.details["arguments"]) == ("axpby", ARGUMENTS)
    assert (second.details["function"], second.details["arguments"]) == ("axpby", ARGUMENTS)
    assert first.checks == second.checks == (DEFAULT_CHECKS,)
    done = bench("wrong.tl", "A=zeros")
    assert (done.status, done.message) == (1, "wrong.tl: 1 error; `girih check wrong.tl` shows them")


def test_a_wrong_result_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "girih with checks off gives 3 at (0, 0), NumPy 4"
    pretend(monkeypatch, {"event": "problem", "group": "gemm", "name": "n=512", "message": message})
    done = bench()
    assert done.status == 1
    assert f"error: gemm: n=512: {message}" in done.output
    done = bench("--format", "json")
    assert done.status == 1
    assert json.loads(done.output)["problems"] == [{"group": "gemm", "name": "n=512", "message": message}]
    pretend(monkeypatch, {"event": "problem", "group": "own", "name": "@axpby on 1", "message": message})
    assert f"error: @axpby on 1: {message}" in bench("one.tl", *ARGUMENTS).output
