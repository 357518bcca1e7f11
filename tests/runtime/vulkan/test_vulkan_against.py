"""`girih run --against`: two targets, one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from girih.runtime.vulkan.opened import current_device
from tests.cli.helpers import girih, write

SHADERS = Path(__file__).resolve().parents[3] / "examples" / "shaders"
RACE = str(SHADERS / "softmax_race.spv")
SCALE = (str(SHADERS / "scale.spv"), "0:0=arange:f32:6", "0:1=zeros:f32:6", "--push", "i32:5,f32:0.3")
KERNEL = """func @scale(%factor: f32, %A: memref<f32x?>, %B: memref<c32x3>) {
    %zero = constant 0 : index
    %size = size %A[0] : index
    foreach (%i) = (%zero), (%size) {
        %a = load %A[%i] : f32
        %c = mul %factor, %a : f32
        store %c, %A[%i]
    }
}
"""


def _scores(folder: Path) -> tuple[str, ...]:
    scores = ((np.arange(600) * 37 % 101) / 16).astype(np.float32).reshape(2, 300)
    np.save(folder / "scores.npy", scores)
    return ("--grid", "2", f"scores={folder / 'scores.npy'}", "weights=zeros:f32:2x300", "--push", "columns=300")


def test_the_same_on_two_targets(tmp_path: Path) -> None:
    done = girih("run", *SCALE, "--against", "cpu")
    assert done.status == 0
    assert done.output.endswith(
        "equal on interpreter and cpu: 2 arrays\n@main gives the same on interpreter and cpu for these arguments\n"
    )
    path = write(tmp_path, KERNEL)
    told = girih("run", path, "scale", "factor=0.3", "A=random:f32:100", "B=ones", "--target", "cpu", "--against",
                 "interpreter", "--format", "json")  # fmt: skip
    against = told.json["against"]
    assert (told.status, against["target"], against["agrees"]) == (0, "interpreter", True)
    assert [one["elements"] for one in against["arrays"]] == [100, 6], "complex numbers are compared by their parts"
    wrong = girih("run", path, "scale", "factor=1", "A=ones:f32:2", "B=ones", "--against", "abacus")
    assert wrong.status == 2 and "--against abacus: there is no target 'abacus'" in wrong.message
    assert "ran" not in wrong.output and "equal" not in wrong.output


def test_what_is_wrong_is_wrong_on_both(tmp_path: Path) -> None:
    done = girih("run", RACE, *_scores(tmp_path), "--against", "cpu")
    assert done.status == 1 and "finding[run.race]" in done.output
    assert done.output.endswith("\nthe shader is wrong, whatever cpu makes of it: interpreter finds it\n")
    path = write(tmp_path, "func @f(%A: memref<f32x?>, %i: index) {\n  %x = load %A[%i] : f32\n  store %x, %A[0]\n}\n")
    other = girih("run", path, "f", "A=ones:f32:4", "i=4", "--target", "cpu", "--checks", "off", "--against",
                  "interpreter", "--format", "json")  # fmt: skip
    assert other.json["findings"][0]["code"] == "run.out_of_bounds"
    verdict = "the kernel is wrong, whatever cpu makes of it: interpreter finds it"
    assert (other.status, other.json["against"]) == (1, {"target": "interpreter", "verdict": verdict})


@pytest.mark.vulkan
def test_the_shader_or_the_driver(tmp_path: Path) -> None:
    done = girih("run", *SCALE, "--against", "vulkan")
    assert (done.status, done.output.splitlines()[-1]) == (
        0, "@main gives the same on interpreter and vulkan for these arguments"
    )  # fmt: skip
    softmax = str(SHADERS / "softmax.spv")
    near = girih("run", softmax, *_scores(tmp_path), "--against", "vulkan", "--ulps", "64")
    assert near.status == 0
    path = write(tmp_path, KERNEL)
    same = girih("run", path, "scale", "factor=0.3", "A=random:f32:100", "B=ones", "--against", "vulkan")
    assert same.status == 0, same.output


@pytest.mark.vulkan
@pytest.mark.long
def test_what_vulkan_leaves_open_is_told_from_a_bug(tmp_path: Path) -> None:
    if "llvmpipe" not in current_device("").name:
        pytest.skip("another driver may compute the very same")
    softmax = str(SHADERS / "softmax.spv")
    differs = girih("run", softmax, *_scores(tmp_path), "--against", "vulkan", "--seeds", "1", "--format", "json").json
    (weights,) = [one for one in differs["against"]["arrays"] if one["buffer"] == "weights"]
    assert not differs["against"]["agrees"] and weights["differences"].keys() == {"ulps"}
    assert weights["covered"].startswith("covered by ")
    assert differs["against"]["verdict"].endswith(
        ": Vulkan leaves both open, so that neither the shader nor the driver is wrong"
    )
