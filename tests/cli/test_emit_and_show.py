"""`girih emit` writes canonical text; `girih show` tells what is in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from girih import parse
from girih.runtime import targets
from girih.runtime.cuda.code import sass
from girih.runtime.targets import TARGETS, no_form
from tests.cli.helpers import AXPBY, girih, write

SHIFT = """$n = 4
func @shift(%A: memref<f32x?>, %B: memref<f32x?> {alignment=64}, %G: group<memref<f32x4>x2>, %s: f32, %Z: memref<f32>)
        attributes {subgroup_size=16} {
    %zero = constant 0 : index
    %n = size %A[0] : index
    %tile = alloca : memref<f32x4x$n,strided<1,8>,local> ; local
    foreach (%i)=(%zero),(%n) {
        %a = load
            %A[%i] : f32
        %V = subview %B[%i:1] : memref<f32x1>
        store %a, %V[0]
        %g = load %G[0] : memref<f32x4>
        %q = equal %a, %s : bool
        %r = if %q -> (f32) { yield (%a) } else { yield (%s) }
        store %r, %g[%zero]
    }
}
func @empty() {
}
"""


def test_canonical_text(tmp_path: Path) -> None:
    path = write(tmp_path, "func @f( %a : f32 )\n{ %b=neg %a:f32 } ; comment")
    done = girih("emit", path, "--as", "ir")
    assert (done.status, done.output) == (0, "func @f(%a: f32) {\n    %b = neg %a : f32\n}\n")


def test_emitted_text_is_the_same_program(tmp_path: Path) -> None:
    path, target = write(tmp_path, SHIFT), tmp_path / "out.tl"
    assert girih("emit", path, "--as", "ir", "-D", "n=8", "-o", target).status == 0
    text = target.read_text(encoding="utf-8")
    assert "memref<f32x4x8,strided<1,8>,local>" in text
    assert parse(text) == parse(SHIFT, definitions={"n": 8})
    assert girih("emit", target, "--as", "ir").output == text


def test_a_wrong_program_is_not_emitted(tmp_path: Path) -> None:
    path, target = write(tmp_path, AXPBY.replace("%beta,", "%bet,")), tmp_path / "out.tl"
    done = girih("emit", path, "--as", "ir", "-o", target)
    assert (done.status, done.output, target.exists()) == (1, "", False)
    assert "error[name.undefined]" in done.errors and done.errors.endswith(": 1 error\n")


REMARKED = """func @turned(%A: memref<f32x8x64>, %B: memref<f32x64>) {
    %zero = constant 0 : index
    %n = constant 64 : index
    foreach (%i)=(%zero),(%n) {
        %x = load %A[0, %i] : f32
        store %x, %B[%i]
    }
}
func @fine() {
}
"""


def test_remarks_are_emitted_as_text_and_as_json(tmp_path: Path) -> None:
    path, output = write(tmp_path, REMARKED), tmp_path / "remarks.txt"
    done = girih("emit", path, "--as", "remarks")
    assert done.status == 0
    assert done.output.startswith("remark[cpu.gather]: neighbouring work-items access elements of %A 8 elements apart")
    assert done.output.endswith(f"  hint: let neighbouring work-items go along a mode that has stride 1 in the type\n\n"
                                f"{path}: 1 remark\n")  # fmt: skip
    assert girih("emit", path, "--as", "remarks", "-o", output).output == ""
    assert output.read_text(encoding="utf-8") == done.output
    assert girih("emit", path, "fine", "--as", "remarks").output == f"{path}: no remarks\n"
    (found,) = json.loads(girih("emit", path, "--as", "remarks", "--format", "json").output)
    assert (found["code"], found["severity"], found["line"]) == ("cpu.gather", "remark", 5)
    assert girih("emit", path, "fine", "--as", "remarks", "--format", "json").output == "[]\n"


def test_only_remarks_are_emitted_as_json_and_only_by_targets_that_make_some(tmp_path: Path) -> None:
    path = write(tmp_path, REMARKED)
    for form in ("ir", "llvm"):
        done = girih("emit", path, "--as", form, "--format", "json")
        assert (done.status, done.message) == (2, "--format json is for --as remarks")
    done = girih("emit", path, "--as", "remarks", "--target", "interpreter")
    assert done.status == 2 and "emits no remarks of the compiler; cpu, cuda, vulkan, and opencl do" in done.message


def test_a_form_that_no_target_emits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "TARGETS", {name: row for name, row in TARGETS.items() if name != "cuda"})
    done = girih("emit", write(tmp_path, AXPBY), "--as", "ptx")
    assert done.status == 2
    assert done.message == f"--as ptx: {no_form('cpu', 'ptx')}" and "not there yet" in done.message


def test_ptx_needs_no_target_by_name(tmp_path: Path) -> None:
    done = girih("emit", write(tmp_path, AXPBY), "--as", "ptx")
    assert done.status == 0 and ".visible .entry axpby(" in done.output


def test_machine_code_without_a_disassembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "machine_code", lambda kernel: None)
    done = girih("emit", write(tmp_path, AXPBY), "--as", "sass", "--target", "cuda:sm_80")
    assert done.status == 1 and "error[run.emit]: no assembler is there that makes machine code of PTX" in done.errors


def test_llvm_ir_of_all_kernels_or_one(tmp_path: Path) -> None:
    path, target = write(tmp_path, SHIFT), tmp_path / "out.ll"
    both = girih("emit", path, "--as", "llvm")
    assert both.status == 0
    assert 'define void @"girih.shift"(' in both.output and 'define void @"girih.empty"(' in both.output
    one = girih("emit", path, "@empty", "--as", "llvm", "-o", target)
    assert (one.status, one.output) == (0, "")
    text = target.read_text(encoding="utf-8")
    assert 'define void @"girih.empty"(' in text and "shift" not in text
    done = girih("emit", path, "shif", "--as", "llvm")
    assert done.status == 2 and "did you mean 'shift'?" in done.message


def test_assembly_for_processors(tmp_path: Path) -> None:
    path = write(tmp_path, AXPBY)
    codes = {cpu: girih("emit", path, "--as", "asm", "--target", f"cpu:{cpu}") for cpu in ("haswell", "neoverse-v1")}
    assert all(done.status == 0 and "girih.axpby" in done.output for done in codes.values())
    assert "ymm" in codes["haswell"].output and "ymm" not in codes["neoverse-v1"].output


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("x86_64-apple-macosx:haswell", "_girih.axpby:"),
        ("aarch64-apple-darwin23.1.0:apple-m1", "_girih.axpby:"),
        ("aarch64-linux-musl:neoverse-n1", "girih.axpby:"),
    ],
)
def test_assembly_for_other_systems(target: str, says: str, tmp_path: Path) -> None:
    """Also for this processor: what is only read is not made ready to run."""
    done = girih("emit", write(tmp_path, AXPBY), "--as", "asm", "--target", f"cpu:{target}")
    assert done.status == 0, done.output
    assert says in done.output


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnux32", "x86_64-pc-windows-msvc", "x86_64-garbage"])
def test_systems_that_there_is_no_code_for(triple: str, tmp_path: Path) -> None:
    path = write(tmp_path, AXPBY)
    for command in (("emit", path, "--as", "asm"), ("run", path, "axpby", "alpha=1", "A=zeros:f32:1")):
        done = girih(*command, "--target", f"cpu:{triple}:haswell")
        assert done.status == 2
        assert f"girih does not compile for '{triple}'" in done.message.replace("\n", " ")


def test_a_target_is_looked_at_for_the_canonical_text(tmp_path: Path) -> None:
    odd = write(tmp_path, "func @f() attributes {subgroup_size=5} {\n}\n")
    done = girih("emit", odd, "--as", "ir", "--target", "nonsense")
    assert (done.status, done.output) == (2, "") and "--target nonsense: there is no target" in done.message
    done = girih("emit", odd, "--as", "ir", "--target", "cpu")
    assert (done.status, done.output) == (1, "") and "func.subgroup_size" in done.errors
    path = write(tmp_path, AXPBY)
    assert girih("emit", path, "--as", "ir", "--target", "cpu").output == girih("emit", path, "--as", "ir").output


def test_the_environment_names_the_target_of_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, AXPBY)
    named = girih("emit", path, "--as", "asm", "--target", "cpu:neoverse-v1")
    monkeypatch.setenv("GIRIH_TARGET", "cpu:neoverse-v1")
    assert girih("emit", path, "--as", "asm") == named
    monkeypatch.setenv("GIRIH_TARGET", "nonsense")
    done = girih("emit", path, "--as", "asm")
    assert (done.status, done.output) == (2, "")
    assert done.message.startswith("there is no target 'nonsense'") and "named by GIRIH_TARGET" in done.message
    assert girih("emit", path, "--as", "ir").status == 0, "it needs no target"
    assert girih("emit", path, "--as", "asm", "--target", "cpu").status == 0
    monkeypatch.setenv("GIRIH_TARGET", "interpreter")
    done = girih("emit", path, "--as", "asm")
    assert done.status == 2
    assert done.message == "GIRIH_TARGET=interpreter: the target 'interpreter' emits no assembly; cpu does"


def test_checks_of_emitted_code(tmp_path: Path) -> None:
    path = write(tmp_path, AXPBY)
    assert "cmpxchg" in girih("emit", path, "--as", "llvm").output
    assert "cmpxchg" not in girih("emit", path, "--as", "llvm", "--checks", "off").output


@pytest.mark.parametrize("target", ["interpreter", "cuda:sm_90a", "cpu:abacus", "cpu:", "abacus"])
def test_targets_that_emit_no_code(target: str, tmp_path: Path) -> None:
    done = girih("emit", write(tmp_path, AXPBY), "--as", "asm", "--target", target)
    assert done.status == 2 and f"--target {target}: " in done.message


def test_code_of_a_wrong_program(tmp_path: Path) -> None:
    done = girih("emit", write(tmp_path, AXPBY.replace("%beta,", "%bet,")), "--as", "llvm")
    assert (done.status, done.output) == (1, "") and "error[name.undefined]" in done.errors


def test_an_unknown_form(tmp_path: Path) -> None:
    done = girih("emit", write(tmp_path, AXPBY), "--as", "wasm")
    assert done.status == 2 and "'wasm' is not one of" in done.message
    assert girih("emit", write(tmp_path, AXPBY)).status == 2


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    done = girih("emit", write(tmp_path, AXPBY), "--as", "ir", "-o", tmp_path)
    assert (done.status, done.message) == (1, f"{tmp_path}: it is a directory")


def test_the_structure_of_a_file(tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    done = girih("show", write(tmp_path, SHIFT))
    assert done.status == 0
    golden("cli_show.txt", done.output)


def test_memory_that_is_read_and_written(tmp_path: Path) -> None:
    (shown,) = girih("show", write(tmp_path, SHIFT), "shift", "--format", "json").json
    assert {p["name"]: (p.get("reads"), p.get("writes")) for p in shown["parameters"]} == {
        "A": (1, 0),
        "B": (0, 1),
        "G": (0, 1),
        "s": (None, None),
        "Z": (0, 0),
    }
    assert shown["local_memory_bytes"] == 4 * (3 + 3 * 8 + 1)
    assert shown["attributes"] == "{subgroup_size=16}"


def test_lines_and_uses(tmp_path: Path) -> None:
    (shown,) = girih("show", write(tmp_path, SHIFT), "@shift", "--format", "json").json
    zero, size, _, loop = shown["body"]["instructions"]
    assert zero["results"] == [{"name": "zero", "type": "index", "uses": 2}]
    assert (size["line"], loop["line"]) == (5, 7)
    assert loop["bindings"] == [{"name": "i", "type": "index", "uses": 2}]
    (region,) = loop["regions"]
    assert region["kind"] == "SPMD"
    assert region["instructions"][0]["text"] == "%a = load %A[%i] : f32"


def test_an_unknown_kernel(tmp_path: Path) -> None:
    path = write(tmp_path, SHIFT)
    assert girih("show", path, "shft").message == "there is no kernel 'shft'; did you mean 'shift'?"
    assert girih("show", path, "-o", "nowhere/a.txt").message == "nowhere/a.txt: there is no such folder"
    assert girih("show", path, "zzz").message == "there is no kernel 'zzz'; there is: shift, empty"
    assert girih("show", path, "zzz").status == 2
    assert girih("show", write(tmp_path, ""), "f").message == "there is no kernel 'f'; there is none"


def test_a_wrong_program_is_not_shown(tmp_path: Path) -> None:
    done = girih("show", write(tmp_path, "func @f() {\n"))
    assert done.status == 1 and "error[syntax.brace]" in done.output
    assert girih("show", write(tmp_path, "func @f() {\n"), "--format", "json").output == ""


def test_an_empty_file(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    assert girih("show", path).output == f"{path}: no kernels\n"
    assert girih("show", path, "--format", "json").json == []


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, AXPBY)
    for call in (("show", path), ("show", path, "--format", "svg"), ("emit", path, "--as", "ir")):
        assert girih(*call, "-o", "-").output == girih(*call).output != ""
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_name_of_the_output_says_the_format(tmp_path: Path) -> None:
    path = write(tmp_path, AXPBY)
    begins = {"a.txt": "@axpby, line 1", "a.json": "[", "a.svg": "<svg ", "a.HTML": "<!DOCTYPE html>"}
    for name, begin in begins.items():
        assert girih("show", path, "-o", tmp_path / name).status == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begin)
    assert girih("show", path, "-o", tmp_path / "page", "--format", "html").status == 0
    assert (tmp_path / "page").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("-o", "a.png"),
            "-o a.png: the name does not say what to write; end it in one of .txt, .json, .svg, .html",
        ),
        (("-o", "a"), "-o a: the name does not say what to write"),
        (("-o", "a.svg", "--format", "html"), "-o a.svg: .svg asks for svg, and --format for html"),
    ],
)
def test_a_name_that_does_not_say_the_format(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = girih("show", write(tmp_path, AXPBY), *arguments)
    assert done.status == 2 and done.message.startswith(message)
