"""Emitted forms, which need no driver: what is written is valid, and has no checks unless these are named."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import girih
from girih.diagnostics import errors
from girih.runtime.targets import resolve
from girih.spirv import Module, validate
from tests.cli.helpers import girih as command
from tests.cli.helpers import write

TEXT = """func @f(%A: memref<i32x?>, %i: index, %x: i32) {
  store %x, %A[%i]
}
func @g(%A: memref<i32x4>) {
}
"""
TARGET = "vulkan:minimal"


def bindings(code: bytes) -> int:
    """How many buffers a module has; checks have one more."""
    return Module.from_bytes(code).to_text().count("Binding ")


def test_forms_have_checks_where_these_are_named() -> None:
    plain = girih.loads(TEXT, TARGET)["f"].spirv
    checked, off = (girih.loads(TEXT, TARGET, checks=word)["f"].spirv for word in ("bounds", "off"))
    assert plain == off and (bindings(plain), bindings(checked)) == (1, 2)
    assert errors(validate(plain)) == errors(validate(checked)) == []
    again = pickle.loads(pickle.dumps(girih.loads(TEXT, TARGET)))
    assert again["f"].spirv == plain, "what nobody named stays so"
    assert resolve(TARGET).settings == {"checks": "bounds"}, "launches check"


def test_a_module_is_written_to_a_file(tmp_path: Path) -> None:
    path, out = write(tmp_path, TEXT), tmp_path / "f.spv"
    done = command("emit", path, "f", "--as", "spirv", "--target", TARGET, "-o", str(out))
    assert (done.status, done.output) == (0, "")
    assert bindings(out.read_bytes()) == 1
    assert command("check", str(out)).status == 0
    checked = command("emit", path, "f", "--as", "spirv", "--target", TARGET, "-o", str(out), "--checks", "bounds")
    assert checked.status == 0 and bindings(out.read_bytes()) == 2
    both = command("emit", path, "--as", "spirv", "--target", TARGET, "-o", str(tmp_path / "both.spv"))
    assert both.status == 2 and both.message == "--as spirv writes one kernel to a file; name one of them: f, g"
    assert not (tmp_path / "both.spv").exists()


def test_a_kernel_is_written_as_glsl(tmp_path: Path) -> None:
    kernel = girih.loads(TEXT, TARGET)["f"]
    assert kernel.glsl.startswith("#version 4") and "void main()" in kernel.glsl
    done = command("emit", write(tmp_path, TEXT), "f", "--as", "glsl", "--target", TARGET)
    assert (done.status, done.output) == (0, kernel.glsl)
    with pytest.raises(girih.CompileError, match="the target 'cpu' emits no GLSL; vulkan does"):
        _ = girih.loads(TEXT, "cpu")["f"].glsl


WIDE = "func @f(%A: memref<f64x?>, %x: f64) {\n  %i = constant 0 : index\n  store %x, %A[%i]\n}\n"


def test_glsl_without_a_target_is_for_the_smallest_device_that_accepts_the_kernel(tmp_path: Path) -> None:
    small = command("emit", write(tmp_path, TEXT), "f", "--as", "glsl").output
    assert small == girih.loads(TEXT, TARGET)["f"].glsl and "// Made for minimal:" in small
    path = write(tmp_path, WIDE)
    assert "// Made for lavapipe:" in command("emit", path, "--as", "glsl").output
    refused = command("emit", path, "--as", "glsl", "--target", TARGET)
    assert refused.status == 1 and "needs floats of 64 bits (float64), which minimal has not" in refused.errors
    hopper = girih.loads(WIDE, "vulkan:nvidia-hopper")["f"].glsl
    assert "spirv_execution_mode(capabilities = [4467], 4462, 64); // RoundingModeRTE" in hopper


def test_what_breaks_a_rule_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from girih.runtime.vulkan import compiled

    kernel = girih.loads(TEXT, TARGET)["f"]
    monkeypatch.setattr(compiled, "ENVIRONMENT", "vulkan1.0")
    with pytest.raises(girih.InternalError, match=r"the module of @f breaks \d+ rules, the first: spirv\."):
        _ = kernel.spirv


def test_the_summary_has_profiles_and_shapes() -> None:
    hopper = command("targets", "vulkan:nvidia-hopper", "--format", "json").json
    assert "16x16x16 f16 to f32" in hopper["matrices"]["subgroup"]
    assert "by 128 work-items" in hopper["matrices"]["work_group"]
    assert "matrix_work_group" in hopper["device"]["features"]
    minimal = command("targets", TARGET, "--format", "json").json
    assert minimal["matrices"]["subgroup"] == "loops over arrays of each work-item"
    assert minimal["types"]["f64"] == "the device has none"
    here = command("targets", "vulkan", "--format", "json").json["device"]
    assert {"driver here", "vulkan:nvidia-hopper", "vulkan:lavapipe", "vulkan:minimal"} <= here.keys()
