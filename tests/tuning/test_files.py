"""Files of `girih.tune`: several choices in one, the one that a launch takes, broken files, interrupted runs."""

from __future__ import annotations

import errno
import json
import os
import pickle
import stat
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
import girih.language as gl
from girih import whole_files
from girih.tuned import file as tuning_file
from girih.tuned.choices import ArrayForm, TunedChoice, TunedLaunch, distance, nearest_choice
from girih.tuned.file import TuningFileError, keep_choice, read
from girih.tuned.selection import ChoiceTable, TuningWarning, form_of, launch_of
from girih.whole_files import changed_alone
from tests.tuning.kernels_to_tune import halve
from tests.tuning.test_tune import TEXT, add

ORDERS = {"C": (1, 0), "F": (0, 1)}


def launch(*shape: int, kernel: str = "add", target: str = "cpu", type: str = "f32", **constants: str) -> TunedLaunch:
    order = tuple(range(len(shape)))[::-1]
    return TunedLaunch(kernel, target, (("A", ArrayForm(type, shape, order)),), tuple(constants.items()))


def choice(value: object, at: TunedLaunch, name: str = "add") -> TunedChoice:
    return TunedChoice(at, {name: value}, 1e-6)


def scaled(file: Path) -> girih.PythonKernel:
    """A kernel that adds a constant of a file to an array."""

    @girih.kernel(definitions=file, grid=lambda A: A.shape[0])
    def add(A: gl.Matrix[gl.f32], add: gl.constant, twice: gl.constant = 1) -> None:
        for j in gl.foreach(A.shape[1]):
            A[gl.group_id(0), j] += gl.f32(add * twice)

    return add


def test_the_nearest_of_those_that_suit() -> None:
    known = [choice(n, launch(n, 64)) for n in (64, 1024, 4096)]
    for size, taken in ((64, 64), (1, 64), (200, 64), (300, 1024), (2048, 1024), (2049, 4096), (10**9, 4096)):
        found = nearest_choice(known, launch(size, 64))
        assert found is not None
        assert found.definitions == {"add": taken}, size
    for other in (launch(64), launch(64, 64, type="f16"), launch(64, 64, kernel="sub"), launch(64, 64, target="cuda"),
                  launch(64, 64, n="1"), TunedLaunch("add", "cpu", (("A", ArrayForm("f32", (64, 64), (0, 1))),)),
                  TunedLaunch("add", "cpu", (("A", None),))):  # fmt: skip
        assert nearest_choice(known, other) is None
    assert distance(launch(64, target="cuda:1"), launch(64, target="cuda")) == 0
    assert distance(launch(0), launch(1)) == 1
    group = [TunedLaunch("k", "cpu", (("G", ArrayForm("f32", (4,), (0,), n)),)) for n in (2, 8)]
    assert distance(*group) == 2


def test_what_choices_know_of_arguments() -> None:
    A = np.zeros((3, 4), np.int64, order="F")
    assert form_of(A) == (ArrayForm("i64", (3, 4), (0, 1)), False)
    assert form_of(girih.uninitialized(A)) == form_of(A)
    assert form_of(girih.Group([A, None, np.zeros((9, 1), np.int64, order="F")]))[0] == ArrayForm(
        "i64", (9, 4), (0, 1), 2
    )
    assert form_of(None) == form_of([]) == (None, False)
    for wrong in ([A, np.zeros(3)], "A"):
        with pytest.raises(ValueError, match=r"members of a group|str is no array"):
            form_of(wrong)
    found = launch_of("k", None, "cpu", {"A": A}, {"n": (np.int64(1), 2.0), "t": gl.f32, "f": len})
    assert found == TunedLaunch("k", "cpu", (("A", ArrayForm("i64", (3, 4), (0, 1))),),
                                (("n", "(1, 2.0)"), ("t", "f32"), ("f", "len")))  # fmt: skip
    assert str(found) == "k on cpu with A=i64:3x4 in order F, n=(1, 2.0), t=f32, f=len"


def test_launches_of_a_text_take_their_own_choices(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    keep_choice(file, choice(10.0, launch(4)))
    keep_choice(file, choice(20.0, launch(400)))
    keep_choice(file, choice(30.0, launch(400, target="interpreter")))
    program = girih.loads(TEXT, definitions=file)
    for kernel in (
        program["add"],
        pickle.loads(pickle.dumps(program))["add"],
        pickle.loads(pickle.dumps(program["add"])),
    ):
        for size, added in ((4, 10), (300, 20), (5, 10), (4, 10)):
            A = np.zeros(size, np.float32)
            kernel(A)
            assert np.array_equal(A, np.full_like(A, added))
            kernel[kernel.grid_for(A)].bind(A=A).run()
            assert np.array_equal(A, np.full_like(A, 2 * added))
        assert "constant 20" in str(kernel.variant(np.zeros(300, np.float32)).ir)
        assert "constant 10" in str(kernel.ir)
        assert not kernel.tensor_maps(np.zeros(4, np.float32))
        kernel.synchronize()
    checked = girih.loads(TEXT, "interpreter", file)["add"].options(races=False)
    A = np.zeros(4, np.float32)
    checked(A)
    assert (A == 30).all()
    assert "races" in repr(checked.variant(A))
    with pytest.raises(girih.LaunchError, match="no parameter"):
        program["add"](B=A)


def test_launches_in_python_take_their_own_choices(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    keep_choice(file, choice(10, launch(4, 8, twice="1")))
    keep_choice(file, choice(20, launch(400, 8, twice="1")))
    keep_choice(file, choice(30, launch(4, 8, twice="2")))
    kernel = scaled(file)
    for _ in range(2):  # a call of a shape that was seen before is another path
        for size, more, added in ((4, (), 10), (300, (), 20), (5, (), 10), (4, (7,), 7)):
            A = np.zeros((size, 8), np.float32)
            kernel(A, *more)
            assert np.array_equal(A, np.full_like(A, added)), size
    A = np.zeros((4, 8), np.float32)
    kernel(A, twice=2)
    assert (A == 60).all()
    kernel.define(add=1)(A)
    assert (A == 61).all()
    assert "10" in kernel.variant(A).text
    assert kernel.bind(A).kernel.ir == kernel.variant(A).ir


def test_a_launch_that_no_choice_suits_takes_the_kernels_own_definitions(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    keep_choice(file, choice(10.0, launch(4, type="f16")))
    kernel = girih.loads(TEXT, definitions=file)["add"]
    A = np.zeros(4, np.float32)
    told = r"no choice for add on cpu with A=f32:4; it has add on cpu with A=f16:4: .* own definitions"
    with pytest.warns(TuningWarning, match=told):
        kernel(A)
    assert (A == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(np.zeros(5, np.float32))
    again = girih.kernel(definitions=file)
    with pytest.raises(TuningFileError, match=r"has no choice for halve; it has add on cpu with A=f16:4"):
        again(halve.function)
    in_python = scaled(file)
    with pytest.warns(TuningWarning), pytest.raises(girih.LaunchError, match=r"no argument for add: gl.constant"):
        in_python(np.zeros((4, 4), np.float32))
    keep_choice(file, choice(10, launch(4, type="f16"), "tile"))
    with pytest.raises(TuningFileError, match="sets 'tile', and the constants of add are add, twice: it was changed"):
        scaled(file)


def test_tuning_puts_several_choices_into_one_file(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    for size in (9, 90, 9):
        girih.tune(add(), (np.ones(size, np.float32),), {"add": [float(size)]}, file=file)
    girih.tune(halve, (np.ones(9, np.float32),), {"tile": [2]}, file=file)
    assert [str(one.launch) for one in read(file).choices] == [
        "add on cpu with A=f32:90", "add on cpu with A=f32:9", "halve on cpu with X=f32:9"
    ]  # fmt: skip
    A = np.zeros(9, np.float32)
    girih.loads(TEXT, definitions=file)["add"](A)
    assert (A == 9).all()
    again = girih.kernel(definitions=str(file), grid=lambda X, tile: gl.cdiv(X.shape[0], tile))(halve.function)
    again(A)
    assert (A == 4.5).all()
    assert [dict(key.specialisation.parameters)["tile"].value for key in again.variants] == [2]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"no choice for add on interpreter; it has add on cpu with A=f32:90; add"):
        girih.loads(TEXT, "interpreter", file)
    with pytest.raises(FileNotFoundError):
        girih.loads(TEXT, definitions=tmp_path / "none.json")


def test_all_constants_of_python_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    values = {"a": (1, (2.5, gl.f16)), "b": True, "c": None, "d": gl.bool_}
    keep_choice(file, TunedChoice(launch(4), values, 1.0))
    assert read(file).choices[0].definitions == values
    with pytest.raises(TypeError, match="add is <built-in function len>; a file keeps numbers, truth values, strings"):
        girih.tune(add(), (np.ones(4, np.float32),), [{"add": len}], file=file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe", "not JSON (it is not text); restore it, or delete it and tune again"),
        (b'{"girih.tune": 2, "choi', "not JSON (line 1, column 19: Unterminated string"),
        (b"[" * 100000, "nested too deeply"),
        (b'{"version": 1}', "is no file of girih.tune, but another one in JSON; name the file"),
        (b"[]", "is no file of girih.tune, but another one in JSON"),
        (b'{"girih.tune": 1, "choices": []}', "has version 1 of the files of girih.tune, and this girih "
         "reads version 2; its choices do not say which arguments they are for: delete it"),
        (b'{"girih.tune": 3}', "reads version 2; update girih"),
        (b'{"girih.tune": 2}', "was changed and is broken: there is no 'choices'; restore it"),
        (b'{"girih.tune": 2, "choices": [{"kernel": 1}], "unfinished": []}', "was changed and is broken"),
    ],
)  # fmt: skip
def test_files_of_another_kind_are_told_with_a_remedy(tmp_path: Path, text: bytes, told: str) -> None:
    file = tmp_path / "tuned.json"
    file.write_bytes(text)

    def measured(done: int, of: int) -> None:
        pytest.fail("it was measured")

    calls: list[Any] = [
        lambda: girih.loads(TEXT, definitions=file),
        lambda: girih.kernel(definitions=file)(halve.function),
        # Before anything is measured, not after hours.
        lambda: girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4]}, file=file, progress=measured),
    ]
    for call in calls:
        with pytest.raises(TuningFileError) as raised:
            call()
        assert told in str(raised.value)
        assert str(file) in str(raised.value)
    assert file.read_bytes() == text


def test_broken_entries_are_told(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    keep_choice(file, choice(4, launch(4)))
    whole = json.loads(file.read_text())
    changes: Any = ({"kernel": 4}, {"definitions": {"a": {"element": "f99"}}}, {"definitions": {"a": {}}},
                   {"seconds": "long"}, {"arguments": {"A": {"type": "f32", "shape": [4], "axes": [1]}}})  # fmt: skip
    for change in changes:
        broken = {**whole, "choices": [{**whole["choices"][0], **change}]}
        file.write_text(json.dumps(broken))
        with pytest.raises(TuningFileError, match="was changed and is broken"):
            read(file)


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tuned.json"
    before = os.umask(0o027)
    try:
        keep_choice(file, choice(4, launch(4)))
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o604)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    keep_choice(link, choice(8, launch(4)))
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o604
    assert read(file).choices[0].definitions == {"add": 8}

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("os.replace", "os.chmod"):
        with monkeypatch.context() as patch:
            patch.setattr(name, full)
            with pytest.raises(OSError, match="No space"):
                keep_choice(file, choice(9, launch(4)))
    assert sorted(os.listdir(tmp_path)) == ["link.json", "tuned.json"]
    assert read(file).choices[0].definitions == {"add": 8}
    with pytest.raises(IsADirectoryError):
        tuning_file._write(tmp_path, read(file))


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"

    def stop(done: int, total: int) -> None:
        told.append(done)
        if done == 3:
            raise KeyboardInterrupt

    told: list[int] = []
    tried: Any = [{"add": 1.0}, {"add": 2.0}, {"tile": "nonsense"}, {"add": 1.0, "tile": 8}]
    arguments = (np.ones(9, np.float32),)
    with pytest.raises(KeyboardInterrupt):
        girih.tune(add(), arguments, tried, file=file, progress=stop)
    assert [one["outcome"] for one in read(file).unfinished[0].trials] == ["timed", "wrong", "refused"]
    told.clear()
    found = girih.tune(add(), arguments, tried, file=file, progress=lambda *done: told.append(done[0]))
    assert told == [4]
    assert sorted(trial.outcome for trial in found.trials) == ["refused", "timed", "timed", "wrong"]
    assert read(file).unfinished == ()
    # Another program, of the same name, starts again.
    with pytest.raises(KeyboardInterrupt):
        girih.tune(add(), arguments, tried, file=file, progress=stop)
    other = girih.loads(TEXT.replace("add %a, %add", "sub %a, %add"))["add"]
    told.clear()
    girih.tune(other, arguments, tried, file=file, progress=lambda *done: told.append(done[0]))
    assert told == [1, 2, 3, 4]


def test_a_run_without_a_right_result_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    with pytest.raises(girih.TuningError):
        girih.tune(add(), (np.ones(9, np.float32),), {"tile": [4]}, file=file, seconds=0.0)
    assert read(file) == tuning_file.TuningFile()


def test_a_table_remembers_a_bounded_number_of_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("girih.tuned.selection._MOST_KNOWN", 2)
    table = ChoiceTable("tuned.json", "add", [choice(4, launch(4))])
    for size in (1, 2, 3, 1):
        assert table.for_launch("cpu", "cpu", {"A": np.zeros(size, np.float32)}, {}) == table.choices[0]
        assert len(table._known) <= 2
    assert table.for_launch("cpu", "cpu", {"A": object()}, {}) is None


def _keep_some(file: str, first: int) -> None:
    for k in range(first, first + 20):
        keep_choice(file, choice(k, launch(k + 1)))


def test_changes_of_several_at_a_time_are_all_kept(tmp_path: Path) -> None:
    # Locks of files are between their openings, in one process as in several.
    file = str(tmp_path / "tuned.json")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(_keep_some, [file] * 4, range(0, 80, 20)))
    assert sorted(one.definitions["add"] for one in read(file).choices) == list(range(80))  # type: ignore[type-var]
    assert os.listdir(tmp_path) == ["tuned.json"]


def test_a_change_does_not_wait_for_ever_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(tmp_path / "tuned.json")
    monkeypatch.setattr(whole_files, "_PATIENCE", 0.02)
    with changed_alone(file):
        keep_choice(file, choice(1, launch(3)))
    assert len(read(file).choices) == 1


def test_a_file_changes_where_folders_have_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    keep_choice(tmp_path / "tuned.json", choice(1, launch(3)))
    assert len(read(tmp_path / "tuned.json").choices) == 1
