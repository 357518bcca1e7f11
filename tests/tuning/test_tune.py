"""`girih.tune` finds what is fastest of what is right, over any executor, and keeps it in a file."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import girih
from girih.tuning import trial
from girih.tuning.arrays import copied, on_host
from tests.tuning.kernels_to_tune import halve

TEXT = """
$tile = 4
$add = 1.0
func @add(%A: memref<f32x?>) attributes {grid=[ceil(size(%A, 0), $tile)]} {
    %g = group_id.x : index
    %tile = constant $tile : index
    %first = mul %g, %tile : index
    %add = constant $add : f32
    %n = size %A[0] : index
    %zero = constant 0 : index
    foreach (%k) = (%zero), (%tile) {
        %i = add %first, %k : index
        %inside = less_than %i, %n : bool
        if %inside {
            %a = load %A[%i] : f32
            %b = add %a, %add : f32
            store %b, %A[%i]
        }
    }
}
"""


def add(target: str = "cpu") -> girih.Kernel:
    return girih.loads(TEXT, target)["add"]


def test_all_combinations_are_tried_and_arguments_stay() -> None:
    A, told = np.ones(100, np.float32), list[tuple[int, int]]()
    found = girih.tune(add(), (A,), {"tile": [4, 32], "add": [1.0]}, progress=lambda *done: told.append(done))
    assert {trial.outcome for trial in found.trials} == {"timed"}
    assert sorted(str(trial.definitions["tile"]) for trial in found.trials) == ["32", "4"]
    assert found.trials[0].seconds == min(trial.seconds for trial in found.trials if trial.seconds)
    assert found.best == found.trials[0].definitions
    assert told == [(1, 2), (2, 2)]
    assert (A == 1).all()
    found.kernel(A)
    assert (A == 2).all()
    assert "tile=32, add=1.0" in str(found)
    assert "tile=32" in found._repr_html_()


def test_what_is_wrong_or_refused_is_never_chosen() -> None:
    tried: Any = [{"add": 1.0}, {"add": 2.0}, {"tile": "nonsense"}]
    found = girih.tune(add(), (np.ones(10, np.float32),), tried)
    outcomes = {str(trial.definitions): trial for trial in found.trials}
    assert found.best == {"add": 1.0}
    assert outcomes["{'add': 2.0}"].outcome == "wrong"
    assert "the interpreter 2.0" in outcomes["{'add': 2.0}"].reason
    assert outcomes["{'tile': 'nonsense'}"].outcome == "refused"


def test_a_kernel_with_a_race_is_told() -> None:
    text = (
        "func @f(%A: memref<f32x?>) {\n"
        + "    %i = constant $i : index\n    %x = constant 1.0 : f32\n"
        + ("    foreach (%k) = (%i), (%j) {\n        store %x, %A[%i]\n    }\n}\n")
        .replace("(%j)", "(%n)")
        .replace("    foreach", "    %n = constant 40 : index\n    foreach", 1)
    )
    kernel = girih.loads("$i = 0\n" + text)["f"]
    with pytest.raises(girih.TuningError, match=r"i=1: failed\nfinding\[run.race\]"):
        girih.tune(kernel, (np.ones(50, np.float32),), {"i": [1]})


def test_a_kernel_in_python_over_an_executor() -> None:
    with ThreadPoolExecutor(2) as executor:
        found = girih.tune(halve, (np.ones(64, np.float32),), {"tile": [8, 16, 0]}, executor)
    assert found.best["tile"] in (8, 16)
    assert {t.definitions["tile"] for t in found.trials if t.outcome == "timed"} == {8, 16}
    X = np.ones(5, np.float32)
    found.kernel(X)
    assert (X == 0.5).all()


class Broken(Executor):
    """An executor whose processes end."""

    def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(OSError("the process ended"))
        return future


def test_an_executor_that_fails_is_told() -> None:
    with pytest.raises(girih.TuningError, match="could not run the trial tile=4: OSError: the process ended"):
        girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4]}, Broken())


def test_a_budget_leaves_trials_out() -> None:
    with pytest.raises(girih.TuningError, match="untried"):
        girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4, 8]}, seconds=0.0)


@pytest.mark.parametrize(
    ("definitions", "told"),
    [
        ({"tiel": [4]}, "add has no definition 'tiel'; did you mean 'tile'"),
        ({"tile": []}, "there is nothing to try"),
    ],
)
def test_wrong_names_are_told(definitions: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        girih.tune(add(), (np.ones(4, np.float32),), definitions)


def test_types_are_told() -> None:
    with pytest.raises(TypeError, match=r"definitions\['tile'\] is a list of the values to try; got 4"):
        girih.tune(add(), (), {"tile": 4})
    with pytest.raises(TypeError, match="takes a kernel"):
        girih.tune("add.tl", (), {})  # type: ignore[arg-type]


def test_what_a_text_was_loaded_with_stays() -> None:
    kernel = girih.loads(TEXT, definitions={"add": 5.0})["add"]
    found = girih.tune(kernel, (np.ones(9, np.float32),), {"tile": [4, 8]})
    A = np.zeros(3, np.float32)
    found.kernel(A)
    assert (A == 5).all()


def test_a_constant_that_is_tried_may_stand_among_the_arguments() -> None:
    found = girih.tune(halve, (np.ones(20, np.float32), 4), {"tile": [8, 16]})
    assert sorted(str(trial.definitions["tile"]) for trial in found.trials) == ["16", "8"]
    assert isinstance(found.kernel, girih.PythonKernel)
    assert found.kernel.definition.parameter("tile").default == found.best["tile"]


def test_progress_without_a_terminal_is_lines(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("girih.commands.parts.progress.LINES", 0.0)
    girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4, 8]})
    assert capsys.readouterr().err == "tuning: 1 of 2 trials\ntuning: 2 of 2 trials\n"


def test_gaps_and_orders_of_arguments_are_kept() -> None:
    whole = np.ones((40, 8), np.float32)
    for given in (whole[::2, :3], whole.T[:3], np.asfortranarray(whole)):
        for made in (*copied((given,)), *on_host((given,))):
            assert made.strides == given.strides
            assert (made == given).all()
            assert not np.shares_memory(made, given)


def test_an_array_that_is_given_twice_is_one() -> None:
    A = np.ones(4)
    one, other, group = copied((A, A, girih.Group([A, None])))
    assert one is other
    assert group.arrays == (one, None)


def test_an_array_that_cannot_be_copied_is_told() -> None:
    class Odd:
        shape = (3,)

        def __deepcopy__(self, memo: object) -> object:
            raise RuntimeError("it is bound to a device")

    with pytest.raises(TypeError, match="cannot copy a Odd, whose launches would change it: it is bound to a device"):
        girih.tune(add(), (Odd(),), {"tile": [4]})


def test_a_defect_of_one_candidate_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(kernel: Any, arguments: Any) -> Any:
        if "constant 8" in str(kernel.ir):
            raise girih.InternalError("LLVM gave up")
        return real(kernel, arguments)

    real = trial.launched
    monkeypatch.setattr(trial, "launched", fails)
    found = girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4, 8]})
    assert found.best == {"tile": 4}
    assert [(one.outcome, "LLVM gave up" in one.reason) for one in found.trials] == [("timed", False), ("failed", True)]
