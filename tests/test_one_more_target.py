"""A target is one row and its device: what speaks of targets knows one more as soon as it is in the table."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import girih
from girih.api import compile_module
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.ir.types import SCALARS, MatrixScope
from girih.runtime.device import ExecutionSummary
from girih.runtime.targets import CHECKS, TARGETS, LaunchOption, Setting, Target, TargetForm, resolve
from girih.source import NOWHERE
from tests.cli.helpers import girih as command
from tests.cli.helpers import write

TEXT = """func @f(%n: i32) attributes {subgroup_size=4} {
}
"""


class Pen:
    """An executor that writes down what it is called with."""

    def __init__(self, paper: list[object], options: Mapping[str, Any]) -> None:
        self.paper, self.options = paper, options
        self.call: Callable[..., object] = self._call

    @property
    def remarks(self) -> tuple[girih.Diagnostic, ...]:
        return (girih.Diagnostic("paper.thin", "the paper is thin", NOWHERE, "remark"),)

    def _call(self, grid: tuple[int, int, int], *arguments: object) -> None:
        self.paper.append((grid, arguments, self.options))

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        raise AssertionError("a call returns None")

    def with_options(self, options: Mapping[str, Any]) -> Pen:
        return Pen(self.paper, options)


class Paper:
    """A device that executes nothing, and has nothing to do with LLVM or NumPy."""

    written: list[object]

    def __init__(self, name: str) -> None:
        if name not in ("", "lined"):
            raise ValueError(f"there is no paper {name!r}")
        self.written = []

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Pen:
        self.written.append(dict(settings))
        return Pen(self.written, {})

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str:
        return f"{form} of {function.name}, checks {settings['checks']}\n"

    def summary(self) -> ExecutionSummary:
        types = dict.fromkeys(SCALARS, "in ink")
        return ExecutionSummary({"made of": "wood"}, types, {scope.value: "in columns" for scope in MatrixScope})


def _at_most_nine(value: object) -> int:
    if not isinstance(value, int) or value > 9:
        raise ValueError(f"ink is at most 9; got {value!r}")
    return value


@pytest.fixture(autouse=True)
def paper(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table has the target `paper`, with subgroups of four."""
    row = Target(
        "paper",
        (TargetForm("paper", "notes", "reading"), TargetForm("paper:KIND", "notes on a kind", "reading", "a kind")),
        Paper,
        (Setting("checks", "what is written down", CHECKS), Setting("color", "of the ink", ("black", "blue"))),
        (LaunchOption("ink", "how much is used", lambda: "5", _at_most_nine),),
        ("ptx",),
        DeviceLimits(subgroup_sizes=(4,)),
    )
    monkeypatch.setitem(cast(dict[str, Target], TARGETS), row.name, row)
    yield


def test_it_is_loaded_and_launched() -> None:
    program = girih.loads(TEXT, target="paper:lined", checks="off")
    device = program.resolved.device
    assert isinstance(device, Paper)
    kernel = program["f"]
    kernel[2](n=5)
    assert [remark.code for remark in kernel.remarks] == ["paper.thin"]
    kernel.options(ink=3)[1, 2].bind(7).run()
    assert device.written == [{"checks": "off", "color": "black"}, ((2, 1, 1), (5,), {}), ((1, 2, 1), (7,), {"ink": 3})]
    assert (kernel.target, repr(program)) == ("paper:lined", "<girih program of @f on paper:lined>")


def test_its_limits_are_what_the_rules_read() -> None:
    with pytest.raises(girih.CompileError, match=r"func\.subgroup_size"):
        girih.loads(TEXT, target="cpu")
    with pytest.raises(girih.CompileError, match=r"func\.subgroup_size"):
        girih.loads(TEXT.replace("4", "8"), target="paper")


SIZES = """func @f(%A: memref<i32x2>) {
    parallel {
        %size = subgroup_size : i32
        %count = num_subgroups.x : i32
        %items = mul %size, %count : i32
        %zero = constant 0 : index
        %one = constant 1 : index
        atomic_store %size, %A[%zero]
        atomic_store %items, %A[%one]
    }
}
"""


def sizes(kernel: girih.Kernel) -> list[int]:
    """The subgroup size, and how many work-items lie along the first mode of a work-group."""
    told = np.zeros(2, np.int32)
    kernel(told)
    return told.tolist()


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_sizes_are_chosen_by_its_limits(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    usual = girih.loads(SIZES, target=target)["f"]
    assert sizes(usual) == [32, 32]
    limits = DeviceLimits(subgroup_sizes=(16,), work_group_items=16)
    monkeypatch.setitem(cast(dict[str, Target], TARGETS), target, replace(TARGETS[target], limits=limits))
    kernel = girih.loads(SIZES, target=target)["f"]
    assert sizes(kernel) == sizes(pickle.loads(pickle.dumps(kernel))) == [16, 16]
    if target == "cpu":
        wide = "func @f(%A: memref<i32x2>) attributes {work_group_size=[8,1]} {"
        module = girih.parse(SIZES.replace("func @f(%A: memref<i32x2>) {", wide))
        with pytest.raises(girih.CompileError, match=r"no subgroup size of 16 suits"):
            compile_module(module, target)
        assert kernel.llvm_ir != usual.llvm_ir and kernel.assembly != usual.assembly
    else:
        assert {tuple(sizes(kernel.options(choices=girih.Choices(seed)))) for seed in range(9)} == {(16, 16)}


def test_its_options_are_its_own() -> None:
    kernel = girih.loads(TEXT, target="paper")["f"]
    with pytest.raises(ValueError, match="ink is at most 9; got 10"):
        kernel.options(ink=10)
    with pytest.raises(TypeError, match="the target 'paper' has no option max_steps of a launch, its options are ink; "
                                        "interpreter has it"):  # fmt: skip
        kernel.options(max_steps=10)
    plain = girih.loads("func @g() {\n}\n", target="interpreter")["g"]
    with pytest.raises(TypeError, match="the target 'interpreter' has no option ink of a launch, its options are "
                                        "choices, max_steps, races, and progress; paper has it"):  # fmt: skip
        plain.options(ink=1)
    with pytest.raises(girih.LaunchError, match=r"kernel\.options\(ink=\.\.\.\)"):
        kernel(5, ink=1)


def test_its_settings_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("paper", color="blue").settings == {"checks": "bounds", "color": "blue"}
    with pytest.raises(ValueError, match=r"^the target 'interpreter' has no setting color$"):
        resolve("interpreter", color="blue")
    monkeypatch.setenv("GIRIH_TARGET", "interpreter")
    assert resolve(color="blue").settings == {"checks": "bounds"}, "nobody named the interpreter beside it"


def test_its_form_is_looked_up() -> None:
    kernel = girih.loads(TEXT, target="paper")["f"]
    assert kernel.ptx == "ptx of f, checks bounds\n"
    with pytest.raises(girih.CompileError, match="the target 'paper' emits no assembly; cpu does"):
        _ = kernel.assembly
    plain = girih.loads("func @g() {\n}\n", target="cpu")["g"]
    with pytest.raises(girih.CompileError, match="the target 'cpu' emits no PTX; cuda and paper do"):
        _ = plain.ptx


def test_messages_name_it() -> None:
    listed = "the targets are interpreter, cpu, cpu:NAME for a processor by name, .*paper, and paper:KIND for a kind"
    for name, message in (("pamper", rf"'pamper' \(did you mean 'paper'\?\); {listed}"), ("gpu", f"'gpu'; {listed}")):
        with pytest.raises(ValueError, match=f"there is no target {message}"):
            girih.loads(TEXT, target=name)
    with pytest.raises(ValueError, match="there is no paper 'blank'"):
        girih.loads(TEXT, target="paper:blank")


def test_the_command_knows_it(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    assert re.search(r"^paper:KIND +notes on a kind$", command("targets").output, re.M)
    shown = command("targets", "paper").output
    assert "subgroup_sizes      4 (func.subgroup_size)" in shown
    assert "ptx  PTX" in shown and "ink  how much is used; 5 if left out" in shown and "wood" in shown
    asked = ("emit", path, "--as", "ptx", "--target", "paper")
    assert command(*asked).output == "ptx of f, checks bounds\n"
    assert command(*asked, "--checks", "off").output == "ptx of f, checks off\n"
    assert command("emit", path, "--as", "ir", "--target", "paper").status == 0, "a subgroup of four suits it"
    refused = command("emit", path, "--as", "ir", "--target", "cpu")
    assert refused.status == 1 and "func.subgroup_size" in refused.errors
    refused = command("emit", path, "--as", "llvm", "--target", "cpu")
    assert refused.status == 1 and "func.subgroup_size" in refused.errors
    refused = command("emit", path, "--as", "ptx", "--target", "cpu")
    assert (refused.status, refused.message) == (2, "--target cpu: the target 'cpu' emits no PTX; cuda and paper do")
    done = command("run", path, "f", "n=1", "--target", "paper")
    assert done.status == 0 and "@f" in done.output
    done = command("run", path, "f", "n=1", "--target", "paper", "--max-steps", "5")
    assert done.status == 2 and "--max-steps: the target 'paper' has no such option; interpreter has it" in done.message
