"""`girih targets`, and what is said where a target is named that there is not."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from girih.back.llvm.cpu.machine.description import described
from girih.commands.parts.reference import all_codes
from girih.ir.limits import DeviceLimits
from girih.ir.types import SCALARS, MatrixScope
from girih.ops.tile import TILE_LANGUAGE
from girih.runtime.cpu.machine import host_description
from girih.runtime.cuda.code.sass import can_show
from girih.runtime.targets import FOR_GPUS, FORMS, PROGRAM_FORM, TARGETS, EmittedForm
from tests.cli.helpers import AXPBY, girih, write

STORES = "func @f(%A: memref<i32x4>, %x: i32) {\n  store %x, %A[0]\n}\n"
ANYWHERE = {"vulkan": "vulkan:minimal", "opencl": "opencl:minimal"}
"""The targets that compile for what this machine may lack, as they compile on every machine."""
NAMED = [
    *TARGETS,
    "cuda:0",
    "cuda:sm_90a",
    "opencl:minimal",
    "vulkan:minimal",
    "vulkan:nvidia-hopper",
    "cpu:haswell",
    "cpu:sapphirerapids",
    "cpu:neoverse-v1",
]


def test_every_way_to_write_a_target_has_a_line() -> None:
    done = girih("targets")
    lines = dict(line.split(maxsplit=1) for line in done.output.split("\n\n")[0].splitlines())
    assert done.status == 0
    assert lines == {form.text: form.says for target in TARGETS.values() for form in target.forms}


def test_the_target_that_is_taken_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIRIH_TARGET", raising=False)
    shown = girih("targets").output
    assert "Where no target is named, cpu is taken, and by `girih run` interpreter.\n" in shown
    assert "The environment variable GIRIH_TARGET names another.\n" in shown
    monkeypatch.setenv("GIRIH_TARGET", "cpu:haswell")
    assert "no target is named, cpu:haswell, which GIRIH_TARGET names, is taken, and by" in girih("targets").output


@pytest.mark.parametrize("name", ["gpu", "NVIDIA:0", "ptx", "spirv"])
def test_who_looks_for_a_gpu_is_told(name: str) -> None:
    assert girih("targets").output.endswith(f"\n{FOR_GPUS}.\n")
    assert girih("targets", name).message.endswith(f"; {FOR_GPUS}")
    assert FOR_GPUS not in girih("targets", "abacus").message


def test_the_interpreter_rounds_what_numpy_has_no_arithmetic_for() -> None:
    types = girih("targets", "interpreter", "--format", "json").json["types"]
    rounded = {name for name, says in types.items() if says.endswith(", rounded after every operation")}
    assert rounded == {"bf16", "f16"}


def test_the_targets_for_programs() -> None:
    done = girih("targets", "--format", "json")
    assert [row["name"] for row in done.json] == list(TARGETS)
    for row, target in zip(done.json, TARGETS.values(), strict=True):
        assert row["emits"] == [PROGRAM_FORM, *target.emits]
        assert [form["text"] for form in row["forms"]] == [form.text for form in target.forms]


@pytest.mark.parametrize("name", NAMED)
def test_what_a_target_can_do(name: str) -> None:
    """Every type, every scope, every limit with the rules that read it, every form and every option."""
    found = girih("targets", name, "--format", "json").json
    row = TARGETS[name.partition(":")[0]]
    assert (found["target"], found["name"]) == (name, row.name)
    assert set(found["types"]) == set(SCALARS)
    assert set(found["matrices"]) == {scope.value for scope in MatrixScope}
    assert all(found["types"].values()) and all(found["matrices"].values())
    shown = {
        name: tuple(limit["value"]) if isinstance(limit["value"], list) else limit["value"]
        for name, limit in found["limits"].items()
    }
    assert shown == {one.name: getattr(row.limits, one.name) for one in fields(DeviceLimits)}
    assert [one["name"] for one in found["settings"]] == [one.name for one in row.settings]
    assert [one["name"] for one in found["options"]] == [one.name for one in row.options]
    text = girih("targets", name).output
    assert text.startswith(f"{name}: ")
    for word in (*found["types"], *found["matrices"], *found["limits"], *found["emits"], *found["device"]):
        assert word in text
    assert all(setting.name in text for setting in row.settings)
    assert all(option.name in text for option in row.options)


def test_every_fact_that_rules_need_is_shown() -> None:
    """A rule with `needs=` names a limit, or the subgroup size, which is one of a limit."""
    found = girih("targets", "cpu", "--format", "json").json
    shown = {code for held in found["limits"].values() for code in held["rules"]}
    shown |= {code for codes in found["matrix_rules"].values() for code in codes}
    needing = {code.code for code in all_codes(TILE_LANGUAGE).values() if code.needs}
    assert needing - shown == {"foreach_tile.subgroup_size"}, "which is not about matrices"


@pytest.mark.parametrize(
    ("name", "type", "words"),
    [
        ("cpu:haswell", "bf16", "in f32, 8 to a vector, rounded after every operation"),
        ("cpu:sapphirerapids", "bf16", "products of matrices by tiles of AMX"),
        ("cpu:cooperlake", "bf16", "products of matrices by dot products of pairs"),
        ("cpu:haswell", "f16", "converted by one instruction"),
        ("cpu:x86-64", "f16", "converted by several integer instructions"),
        ("cpu:neoverse-v1", "f64", "4 to a vector"),
        ("cpu:neoverse-n2", "f64", "2 to a vector"),
        ("cpu:haswell", "c32", "two f32, 8 to a vector"),
        ("interpreter", "bf16", "bfloat16 of NumPy, rounded after every operation"),
        ("interpreter", "index", "int64 of NumPy"),
    ],
)
def test_how_a_type_is_executed(name: str, type: str, words: str) -> None:
    assert words in girih("targets", name, "--format", "json").json["types"][type]


def test_the_description_of_a_machine_is_the_one_that_code_is_made_by() -> None:
    """Of this machine, with what the system says of its caches; of a processor by name, that of the table."""
    machines = {
        name: girih("targets", name, "--format", "json").json["device"]["machine"] for name in ("cpu", "cpu:a64fx")
    }
    assert machines == {"cpu": str(host_description()), "cpu:a64fx": str(described("a64fx"))}
    assert machines["cpu:a64fx"] == "like a64fx; caches 64 KiB, 680 KiB, 0 KiB a core; 2 multiply-adds a cycle"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "there is no target 'gpu'; the targets are interpreter, cpu, cpu:NAME for a processor by name"),
        ("cpuu", "there is no target 'cpuu' (did you mean 'cpu'?); the targets are interpreter, cpu, cpu:NAME"),
        ("nvidia", "there is no target 'nvidia'; the targets are interpreter, cpu, cpu:NAME"),
        ("cuda:sm_91", "there is no architecture 'sm_91'; known are sm_80, "),
        ("cpu:haswel", "there is no processor 'haswel'; near it are: haswell"),
    ],
)
def test_a_target_that_there_is_not(name: str, message: str, tmp_path: Path) -> None:
    """Whoever asks is told the same, and an option that is right is not blamed."""
    path = write(tmp_path, AXPBY)
    asked = girih("targets", name)
    assert (asked.status, asked.output) == (2, "") and asked.message.startswith(message)
    for command in (("run", path, "axpby"), ("emit", path, "--as", "asm")):
        done = girih(*command, "--target", name, "--checks", "bounds")
        assert (done.status, done.output) == (2, "")
        assert done.message.startswith(f"--target {name}: {message}")


def test_the_setting_that_is_wrong_is_blamed(tmp_path: Path) -> None:
    done = girih("run", write(tmp_path, AXPBY), "axpby", "--checks", "off")
    assert done.status == 2
    assert done.message == "--checks off: the interpreter always checks everything; checks='off' is for compiled code"


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_and_the_targets_that_emit_them(form: EmittedForm, tmp_path: Path) -> None:
    path = write(tmp_path, STORES)
    for target in TARGETS.values():
        done = girih("emit", path, "--as", form.name, "--target", ANYWHERE.get(target.name, target.name))
        lacking = form.name == "sass" and not can_show()
        assert done.status == ((1 if lacking else 0) if form.name in target.emits else 2)
