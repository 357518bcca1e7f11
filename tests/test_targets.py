"""Targets: which there are, what compiled kernels offer beside running, and that findings are the interpreter's."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import girih
from girih.back.llvm.assemble.assembler import Cpu
from girih.runtime import targets
from girih.runtime.cpu import device, executor
from girih.runtime.cuda.code.sass import can_show
from girih.runtime.targets import CHECKS, FORMS, REMARKS_FORM, TARGETS, EmittedForm, no_form, resolve
from girih.source import Source, Span

FILL = """func @fill(%value: i32, %A: memref<i32x?>) {
  %zero = constant 0 : index
  %n = size %A[0] : index
  foreach (%i)=(%zero),(%n) {
    store %value, %A[%i]
  }
}
"""
TEXT = (
    """func @axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>) {
  axpby %alpha, %A, %beta, %B
}
"""
    + FILL
)
ANYWHERE = {"vulkan": "vulkan:lavapipe", "opencl": "opencl:intel-cpu"}
"""The targets that compile for what this machine may lack, as they compile on every machine."""
HOST = Cpu.host()
NEEDS_AVX2 = pytest.mark.skipif("avx2" not in HOST.known, reason="this machine has no AVX2, which haswell needs")
FOREIGN = "neoverse-v1" if HOST.family == "x86_64" else "haswell"


def filled(program: girih.Program) -> list[int]:
    array = np.zeros(5, np.int32)
    program["fill"](7, array)
    found: list[int] = array.tolist()
    return found


# --- which target ---------------------------------------------------------------------------


def test_the_cpu_is_the_target_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIRIH_TARGET", raising=False)
    program = girih.loads(TEXT)
    assert program.target == program["fill"].target == "cpu"
    assert repr(program) == "<girih program of @axpby, @fill on cpu>"
    assert filled(program) == [7] * 5


@pytest.mark.parametrize("target", ["interpreter", "cpu", "cpu:native"])
def test_the_environment_names_a_target(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIRIH_TARGET", target)
    (tmp_path / "fill.tl").write_text(TEXT, encoding="utf-8")
    for program in (girih.loads(TEXT), girih.load(tmp_path / "fill.tl")):
        assert program.target == target
        assert filled(program) == [7] * 5


def test_an_empty_variable_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_TARGET", "")
    assert girih.loads(TEXT).target == "cpu"


def test_what_is_said_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_TARGET", "cpu:nowhere")
    assert girih.loads(TEXT, target="interpreter").target == "interpreter"
    with pytest.raises(ValueError, match="there is no processor 'nowhere'"):
        girih.loads(TEXT)


@pytest.mark.parametrize("name", ["nonsense", "cpu:nowhere"])
def test_a_wrong_name_says_that_it_comes_from_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_TARGET", name)
    with pytest.raises(ValueError, match=rf"there is no .*\('{name}' is named by GIRIH_TARGET\)$"):
        girih.loads(TEXT)
    with pytest.raises(ValueError) as caught:
        girih.loads(TEXT, target=name)
    assert "GIRIH_TARGET" not in str(caught.value)


def test_a_setting_that_no_target_has_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^check and speed: no target has such a setting; there is checks$"):
        resolve("cpu", check="off", checks="off", speed="high")


def test_switching_checks_off_for_compiled_code_lets_the_environment_choose_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIRIH_TARGET", "interpreter")
    assert girih.loads(TEXT, checks="off").target == "interpreter"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"target": "abacus"}, ValueError, "there is no target 'abacus'; the targets are interpreter, cpu, cpu:NAME"),
        (
            {"target": "gpu"},
            ValueError,
            "^there is no target 'gpu'; the targets are interpreter, cpu, cpu:NAME",
        ),
        ({"target": "CPU"}, ValueError, r"there is no target 'CPU' \(did you mean 'cpu'\?\); the targets are"),
        ({"target": "interpeter"}, ValueError, r"there is no target 'interpeter' \(did you mean 'interpreter'\?\)"),
        ({"target": "cpu:"}, ValueError, "there is no target 'cpu:'"),
        ({"target": "interpreter:fast"}, ValueError, "there is no target 'interpreter:fast'"),
        ({"target": "cuda:sm_1"}, ValueError, "there is no architecture 'sm_1'; known are sm_80, "),
        ({"target": "cuda:-1"}, ValueError, "there is no architecture '-1'"),
        ({"target": "cpu:haswel"}, ValueError, "there is no processor 'haswel'; near it are: haswell"),
        ({"target": "cpu:aarch64-apple-darwin:haswell"}, ValueError, "haswell is a processor of x86_64, not of aa"),
        ({"target": 5}, TypeError, "target is a string; got 5"),
        ({"checks": None}, TypeError, "checks is a string; got None"),
        ({"checks": "some"}, ValueError, "there is no mode of checks 'some'; the modes are bounds, off"),
        ({"target": "interpreter", "checks": "off"}, ValueError, "the interpreter always checks everything"),
    ],
)
def test_targets_that_are_not_there(
    options: dict[str, Any], error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIRIH_TARGET", raising=False)
    with pytest.raises(error, match=message):
        girih.loads(TEXT, **options)
    with pytest.raises(error, match=message):
        girih.loads("this is no program", **options)


def test_the_documentation_has_the_targets_of_the_table(repository: Path) -> None:
    text = (repository / "docs" / "targets.md").read_text(encoding="utf-8")
    _, *lines = text.partition("| --- |")[2].partition("\n\n")[0].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert rows == [[f"`{form.text}`", form.says, form.use] for row in TARGETS.values() for form in row.forms]


def test_the_documentation_has_the_modes_of_checks(repository: Path) -> None:
    text = (repository / "docs" / "targets.md").read_text(encoding="utf-8")
    heads = re.findall(r"^\| what goes wrong \| (.*) \|$", text, re.M)
    compiled = [f"cpu, `{word}`" for word in CHECKS]
    assert [head.split(" | ") for head in heads] == [["interpreter", *compiled]]


@NEEDS_AVX2
def test_code_for_an_older_processor_runs_here() -> None:
    program = girih.loads(TEXT, target="cpu:haswell")
    assert filled(program) == [7] * 5
    a, b = np.arange(37, dtype=np.float32), np.ones(37, np.float32)
    program["axpby"](2.0, a, 3.0, b)
    assert (b == 2 * a + 3).all()
    assert "%zmm" not in program["axpby"].assembly


def test_code_for_another_processor_is_assembled_but_not_launched() -> None:
    kernel = girih.loads(TEXT, target=f"cpu:{FOREIGN}")["fill"]
    assert "girih.fill" in kernel.assembly
    array = np.zeros(3, np.int32)
    with pytest.raises(girih.LaunchError) as caught:
        kernel(1, array)
    (told,) = caught.value.diagnostics
    assert told.code == "bind.target"
    assert told.message.startswith(f"code for {FOREIGN} cannot run on this machine: it needs ")
    assert told.hint is not None and "target='cpu'" in told.hint
    assert not array.any()


def test_what_no_subgroup_size_suits_is_refused_when_it_is_loaded() -> None:
    text = """func @f(%A: memref<f32x?x?>) {
  %zero = constant 0 : index
  parallel {
    %a = cooperative_matrix_load %A[%zero,%zero] : coopmatrix<f32x7x3,matrix_acc>
    %s = cooperative_matrix_reduce_add.row %a : coopmatrix<f32x7x1,matrix_acc>
    cooperative_matrix_store %s, %A[%zero,%zero]
  }
}
"""
    for target in ("cpu", f"cpu:{FOREIGN}"):
        with pytest.raises(girih.CompileError) as caught:
            girih.loads(text, target=target)
        (told,) = caught.value.diagnostics
        assert (told.code, told.span.line) == ("bind.subgroup_size", 5)
        assert [(span.line, label) for span, label in told.labels] == [(5, "suits none of 8, 16, 32, 64")]


def test_instructions_that_no_subgroup_size_suits_together() -> None:
    text = """func @f(%A: memref<f32x?x?>) {
  %zero = constant 0 : index
  parallel {
    %a = cooperative_matrix_load %A[%zero,%zero] : coopmatrix<f32x16x3,matrix_acc>
    %b = cooperative_matrix_load %A[%zero,%zero] : coopmatrix<f32x12x3,matrix_acc>
    %s = cooperative_matrix_reduce_add.row %a : coopmatrix<f32x16x1,matrix_acc>
    %t = cooperative_matrix_reduce_add.row %b : coopmatrix<f32x12x1,matrix_acc>
  }
}
"""
    for refused, load in ((girih.CompileError, "cpu"), (girih.LaunchError, "interpreter")):
        with pytest.raises(refused) as caught:
            girih.loads(text, target=load)["f"](np.zeros((16, 16), np.float32, order="F"))
        (told,) = caught.value.diagnostics
        assert (told.code, told.span.line) == ("bind.subgroup_size", 7)
        assert told.message == "no subgroup size of 8, 16, 32, 64 suits all instructions of @f"
        assert [(span.line, label) for span, label in told.labels] == [(7, "suits none of 8, 16"), (6, "suits 8, 16")]


# --- what a compiled kernel offers ----------------------------------------------------------


def test_llvm_ir_names_kernel_and_lines() -> None:
    kernel = girih.loads(TEXT, target="cpu", filename="fill.tl")["fill"]
    assert 'define void @"girih.fill"(' in kernel.llvm_ir
    assert 'filename: "fill.tl"' in kernel.llvm_ir
    assert "!DILocation(line: 8," in kernel.llvm_ir
    assert "axpby" not in kernel.llvm_ir


def test_assembly_names_the_kernel() -> None:
    assembly = girih.loads(TEXT, target="cpu")["axpby"].assembly
    assert '"girih.axpby":' in assembly or "girih.axpby:" in assembly


@pytest.mark.parametrize(
    ("form", "words"),
    [("llvm_ir", "LLVM IR; cpu and cuda do"), ("assembly", "assembly; cpu does"), ("ptx", "PTX; cuda ")],
)
def test_the_interpreter_compiles_nothing(form: str, words: str) -> None:
    with pytest.raises(girih.CompileError, match=rf"run\.emit.*the target 'interpreter' emits no {words}"):
        getattr(girih.loads(TEXT, target="interpreter")["fill"], form)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_forms_that_no_target_has(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {name: row for name, row in TARGETS.items() if name != "cuda"}
    monkeypatch.setattr(targets, "TARGETS", rows)
    with pytest.raises(girih.CompileError) as caught:
        _ = girih.loads(TEXT, target=target)["fill"].ptx
    (told,) = caught.value.diagnostics
    assert (told.code, told.message) == ("run.emit", no_form(target, "ptx"))
    assert told.message == (
        "PTX is not there yet, no target emits it; there are the canonical text (ir), LLVM IR (llvm), "
        "assembly (asm), SPIR-V (spirv), GLSL (glsl), and remarks of the compiler (remarks)"
    )


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("checks", "checks is given to girih.load: girih.load(path, checks=...)"),
        ("target", "target is given to girih.load: girih.load(path, target=...)"),
        ("definitions", "definitions is given to girih.load: girih.load(path, definitions=...)"),
        ("grid", "the grid stands in brackets: kernel[grid](...)"),
    ],
)
def test_what_is_no_option_of_a_launch_is_given_elsewhere(name: str, where: str) -> None:
    for target in TARGETS:
        kernel = girih.loads(FILL, target=ANYWHERE.get(target, target))["fill"]
        with pytest.raises(TypeError) as caught:
            kernel.options(**{name: "off"})
        assert str(caught.value) == f"{name} is no option of a launch: {where}"
        with pytest.raises(girih.LaunchError) as refused:
            kernel(1, np.zeros(1, np.int32), **{name: "off"})
        assert [told.hint for told in refused.value.diagnostics] == [where]


def test_a_limit_of_steps_may_be_an_integer_of_numpy() -> None:
    kernel = girih.loads(TEXT, target="interpreter")["fill"]
    assert kernel.options(max_steps=np.int64(1000)) == kernel.options(max_steps=1000)
    for wrong in (True, 1.0, np.float64(1), np.array([1, 2]), "1"):
        with pytest.raises(TypeError, match="max_steps is an integer; got"):
            kernel.options(max_steps=wrong)


@pytest.mark.parametrize("form", FORMS.values())
def test_every_form_is_a_property_of_a_kernel(form: EmittedForm) -> None:
    assert isinstance(getattr(girih.Kernel, form.attribute), property)
    for target in TARGETS.values():
        kernel = girih.loads(FILL, target=ANYWHERE.get(target.name, target.name))["fill"]
        if form.name == REMARKS_FORM:
            assert target.name in ("cuda", "vulkan", "opencl") or kernel.remarks == ()
        elif form.name == "sass" and not can_show():
            continue
        elif form.name in target.emits:
            found = getattr(kernel, form.attribute)
            assert (b"fill" if isinstance(found, bytes) else "fill") in found


@pytest.mark.parametrize(
    "options", [{"choices": girih.Choices(1)}, {"max_steps": 100}, {"progress": lambda done, all: None}]
)
def test_options_of_the_interpreter_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    kernel = girih.loads(TEXT, target="cpu")["fill"]
    with pytest.raises(TypeError) as caught:
        kernel.options(**options)
    assert str(caught.value) == (
        f"the target 'cpu' has no option {name} of a launch, nor any other; interpreter has it: load the program with "
        "target='interpreter'"
    )
    array = np.zeros(3, np.int32)
    kernel.options(**dict.fromkeys(options))(1, array)
    assert array.tolist() == [1, 1, 1], "None is the default, which every target has"


def test_a_target_that_is_resolved_survives_a_pickle() -> None:
    for resolved in (resolve("interpreter"), resolve("cpu", checks="off"), resolve(f"cpu:{FOREIGN}")):
        again = pickle.loads(pickle.dumps(resolved))
        assert again == resolved and again.settings == resolved.settings
        assert str(again) == resolved.name


def test_a_processor_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    processor = executor.processor

    def counted(name: str) -> Cpu:
        asked.append(name)
        return processor(name)

    for room in (executor, device):
        monkeypatch.setattr(room, "processor", counted)
    program = girih.loads(TEXT, target=f"cpu:{FOREIGN}")
    assert len(program) == 2 and asked == [FOREIGN]


def test_a_form_that_the_row_does_not_offer_is_a_fault() -> None:
    function = girih.loads(TEXT, target="interpreter")["fill"].ir
    for target, form in (("interpreter", "asm"), ("cpu", "ptx")):
        with pytest.raises(
            girih.InternalError, match=f"the target '{target}' was asked for the form '{form}' of @fill"
        ):
            resolve(target).emit(function, form)


def test_without_checks_a_division_by_zero_gives_zero() -> None:
    text = "func @f(%a: i32, %b: i32, %A: memref<i32x2>) {\n  %q = div %a, %b : i32\n  store %q, %A[0]\n" \
           "  %r = rem %a, %b : i32\n  store %r, %A[1]\n}\n"  # fmt: skip
    kernel = girih.loads(text, target="cpu", checks="off")["f"]
    for a, b, expected in ((7, 0, [0, 0]), (7, 2, [3, 1]), (-(2**31), -1, [-(2**31), 0])):
        array = np.full(2, 5, np.int32)
        kernel(a, b, array)
        assert array.tolist() == expected
    with pytest.raises(girih.KernelError, match=r"run\.division_by_zero"):
        girih.loads(text, target="cpu")["f"](7, 0, array)


def test_without_checks_less_code_is_made() -> None:
    checked, unchecked = (girih.loads(TEXT, target="cpu", checks=c)["axpby"].llvm_ir for c in ("bounds", "off"))
    assert "cmpxchg" in checked
    assert "cmpxchg" not in unchecked


# --- findings -------------------------------------------------------------------------------

SOURCE = Source("", "f.tl")

SIZES = "attributes {subgroup_size=8, work_group_size=[16,1]}"
"""Two subgroups of eight work-items."""

ITEM = """
  parallel {
    %lane = subgroup_local_id : i32
    %subgroup = subgroup_linear_id : i32
    %eight = constant 8 : i32
    %before = mul %subgroup, %eight : i32
    %item = add %before, %lane : i32
    %wanted = constant 11 : i32
    %here = equal %item, %wanted : bool
    %g = group_id.x : index
    %two = constant 2 : index
    %there = equal %g, %two : bool
    %only = and %here, %there : bool
    %i = cast %item : index
    %big = add %i, %two : index
    if %only {
"""
"""Code of the fourth work-item of the second subgroup in the third work-group."""

END = "    }\n  }\n"

LANE = "%lane = subgroup_local_id : i32"
VEILED_LANE = "%known = subgroup_local_id : i32\n    %lane = mul %known, %once : i32"


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32, order="F")


OFFENCES: dict[str, tuple[str, str, Callable[[], list[Any]]]] = {
    "load": ("%A: memref<f32x?>", f"{ITEM}%x = load %A[%big] : f32\nstore %x, %A[0]\n{END}", lambda: [f32(13)]),
    "store": ("%A: memref<f32x?x4>", f"{ITEM}%x = constant 1.0 : f32\nstore %x, %A[%two, %big]\n{END}",
              lambda: [f32(5, 4)]),
    "load of a view": (
        "%A: memref<f32x?>", f"{ITEM}%v = subview %A[2:5] : memref<f32x5>\n%x = load %v[%i] : f32\n"
        f"store %x, %A[0]\n{END}", lambda: [f32(30)],
    ),
    "atomic": ("%A: memref<i32x?>", f"{ITEM}%x = atomic_add %lane, %A[%big] : i32\n{END}",
               lambda: [np.zeros(9, np.int32)]),
    "null": ("%A: memref<f32x?>", f"{ITEM}%x = constant 1.0 : f32\nstore %x, %A[0]\n{END}", lambda: [None]),
    "group": ("%G: group<memref<f32x4>x?>", f"{ITEM}%a = load %G[%i] : memref<f32x4>\n%x = constant 1.0 : f32\n"
              f"store %x, %a[0]\n{END}", lambda: [[f32(4), f32(4)]]),
    "member that is null": ("%G: group<memref<f32x4>x?>", f"{ITEM}%a = load %G[1] : memref<f32x4>\n"
                            f"%x = constant 1.0 : f32\nstore %x, %a[0]\n{END}", lambda: [[f32(4), None]]),
    "division": ("%A: memref<i32x1>", f"{ITEM}%z = sub %item, %wanted : i32\n%q = div %item, %z : i32\n"
                 f"store %q, %A[0]\n{END}", lambda: [np.zeros(1, np.int32)]),
    "shift": ("%A: memref<i32x1>", f"{ITEM}%w = mul %item, %item : i32\n%q = shl %item, %w : i32\n"
              f"store %q, %A[0]\n{END}", lambda: [np.zeros(1, np.int32)]),
    "step": ("%A: memref<i32x1>", f"{ITEM}%z = sub %i, %i : index\nfor %k = %z, %i, %z {{\n  store %item, %A[%k]\n}}\n"
             f"{END}", lambda: [np.zeros(1, np.int32)]),
    "subview": ("%A: memref<f32x?>", f"{ITEM}%v = subview %A[%two:%i] : memref<f32x?>\n%x = load %v[0] : f32\n"
                f"store %x, %A[0]\n{END}", lambda: [f32(12)]),
    "expand": ("%A: memref<f32x?>, %n: index", "%v = expand %A[0 -> %n x 3] : memref<f32x?x3>\n"
               "%x = load %v[0,0] : f32\nstore %x, %v[0,1]\n", lambda: [f32(12), 5]),
    "fuse": ("%A: memref<f32x4x?,strided<1,?>>", "%v = fuse %A[0,1] : memref<f32x?>\n"
             "%x = load %v[0] : f32\nstore %x, %v[1]\n", lambda: [f32(6, 5)[:4]]),
    "sizes": ("%A: memref<f32x?>, %B: memref<f32x?>", "%one = constant 1.0 : f32\naxpby %one, %A, %one, %B\n",
              lambda: [f32(5), f32(6)]),
    "sizes of a product": ("%A: memref<f32x?x?>, %B: memref<f32x?x?>, %C: memref<f32x?x?>",
                           "%one = constant 1.0 : f32\ngemm %one, %A, %B, %one, %C\n",
                           lambda: [f32(5, 4), f32(3, 6), f32(5, 6)]),
    "collective load": ("%A: memref<f32x?>, %n: index", "%x = load %A[%n] : f32\nstore %x, %A[0]\n",
                        lambda: [f32(5), 5]),
    "foreach": ("%A: memref<f32x?>, %n: index",
                "%z = constant 0 : index\n%x = constant 1.0 : f32\nforeach (%i)=(%z),(%n) {\n  store %x, %A[%i]\n}\n",
                lambda: [f32(20), 21]),
    "matrix": ("%A: memref<f32x?x?>, %n: index", "parallel {\n"
               "%m = cooperative_matrix_load %A[%n,%n] : coopmatrix<f32x8x8,matrix_acc>\n"
               "cooperative_matrix_store %m, %A[%n,%n]\n}\n", lambda: [f32(12, 8), 3]),
    # What the numbers of work-items are multiplied by is unknown to `girih check`.
    "divergent": ("%A: memref<i32x?>, %once: i32",
                  f"{ITEM.replace(LANE, VEILED_LANE)}%s = subgroup_reduce_add %item : i32\nstore %s, %A[0]\n{END}",
                  lambda: [np.zeros(1, np.int32), 1]),
}  # fmt: skip
"""One offence each: parameters, body, arguments."""


def finding(text: str, target: str, arguments: list[Any]) -> girih.Finding:
    """The first finding, as one occurrence at a place that is the same for all programs of the text."""
    with pytest.raises(girih.KernelError) as caught:
        girih.loads(text, target=target)["f"][3](*arguments)
    found = caught.value.findings[0]
    return replace(found, count=1, span=Span(SOURCE, found.span.start, found.span.end))


@pytest.mark.parametrize("offence", OFFENCES)
def test_the_cpu_finds_what_the_interpreter_finds(offence: str) -> None:
    parameters, body, arguments = OFFENCES[offence]
    text = f"func @f({parameters}) {SIZES} {{\n{body}}}\n"
    expected, found = (finding(text, target, arguments()) for target in ("interpreter", "cpu"))
    if found.code == "run.size":
        # The CPU gives the two sizes that differ, the interpreter all of them in its message; and any work-group of the
        # three may be the first on several threads.
        found = replace(found, message=expected.message, index=None, shape=None, work_group=expected.work_group)
    assert found == expected


def test_a_finding_of_the_cpu_stops_the_launch_and_keeps_what_was_written() -> None:
    text = """func @f(%A: memref<i32x?>, %n: index) {
  %one = constant 1 : i32
  store %one, %A[0]
  store %one, %A[%n]
  store %one, %A[1]
}
"""
    for target, kept in (("interpreter", [0, 0, 0]), ("cpu", [1, 0, 0])):
        array = np.zeros(3, np.int32)
        with pytest.raises(girih.KernelError):
            girih.loads(text, target=target)["f"](array, 3)
        assert array.tolist() == kept


# --- where a tile of a group's member ends ---------------------------------------------------------

TILES = [
    *(("", "8x4", at) for at in ((4, 0), (0, 2), (-1, 0), (3, -1), (9, 1))),
    (".t", "8x4", (0, 0)),
    (".rows_checked", "16x4", (2, 1)),
]


def first_missing(target: str, flags: str, shape: str, at: tuple[int, int], store: bool) -> girih.Finding:
    """What a kernel says of a tile at a place of a memref that begins behind the offset of its group."""
    text = f"""
    func @f(%G: group<memref<f32x8x4>x?, offset: 3>, %D: memref<f32x16x16>)
            attributes {{subgroup_size=8, work_group_size=[8,1]}} {{
        %zero = constant 0 : index
        %row = constant {at[0]} : index
        %column = constant {at[1]} : index
        %m = load %G[0] : memref<f32x8x4>
        parallel {{
            %c = cooperative_matrix_load{flags if not store else ".both_checked"} {
        "%D[%zero,%zero]" if store else "%m[%row,%column]"
    } : coopmatrix<f32x{shape},matrix_acc>
            cooperative_matrix_store{flags if store else ".both_checked"} %c, {
        "%m[%row,%column]" if store else "%D[%zero,%zero]"
    }
        }}
    }}
    """
    members = [np.ones(3 + 32, np.float32)]
    with pytest.raises(girih.KernelError) as caught:
        girih.loads(text, target=target)["f"][1](members, np.ones((16, 16), np.float32, order="F"))
    finding: girih.Finding = caught.value.findings[0]
    return finding


@pytest.mark.parametrize(("flags", "shape", "at"), TILES)
def test_the_first_element_that_a_tile_misses(flags: str, shape: str, at: tuple[int, int]) -> None:
    for store in (False, True):
        expected, found = (first_missing(target, flags, shape, at, store) for target in ("interpreter", "cpu"))
        assert (found.code, found.argument, found.index) == (expected.code, expected.argument, expected.index)
        assert (found.shape, found.message) == (expected.shape, expected.message)


# --- kernels on grids ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_kernel_on_a_grid_is_made_once(target: str) -> None:
    program = girih.loads(TEXT, target=target)
    kernel, two = program["fill"], cast("int", np.int64(2))
    assert program["fill"] is kernel
    assert kernel[2] is kernel[2]
    assert kernel[2, 3] is kernel[2, 3]
    assert kernel[2].grid == (2, 1, 1)
    assert kernel[two].grid == kernel[[2]].grid == (2, 1, 1)
    assert kernel[2, 3][4].grid == (4, 1, 1)


def test_what_equals_a_grid_is_none() -> None:
    """True and 1.0 are equal to 1, and found where 1 is."""
    kernel: Any = girih.loads(TEXT)["fill"]
    assert (kernel[1].grid, kernel[1, 2].grid) == ((1, 1, 1), (1, 2, 1))
    for wrong in (True, 1.0, (1, 2.0), (True, 2), -1, (1, 2, 3, 4), (), "1"):
        for _ in range(2):
            with pytest.raises(girih.LaunchError):
                kernel[wrong]


def test_grids_are_not_remembered_for_ever() -> None:
    kernel = girih.loads(TEXT)["fill"]
    for size in range(1000):
        assert kernel[size].grid == (size, 1, 1)
    assert len(kernel._on_grids) <= 64


def test_a_kernel_with_other_options_is_another() -> None:
    kernel = girih.loads(TEXT, target="interpreter")["fill"]
    limited = kernel.options(max_steps=1)
    assert limited != kernel
    assert limited == kernel.options(max_steps=1) and hash(limited) == hash(kernel.options(max_steps=1))
    assert limited.options(max_steps=None) == kernel
    chosen = kernel.options(choices=girih.Choices(1))
    assert {kernel: "plain", chosen: "chosen"}[chosen] == "chosen", "the values need not be hashable"
    shown = "<girih kernel @fill(%value: i32, %A: memref<i32x?>)"
    assert repr(kernel[1]) == repr(kernel) == f"{shown} on interpreter>"
    assert repr(limited[2]) == f"{shown} on 2 x 1 x 1 work-groups on interpreter with max_steps=1>"
    assert repr(limited.bind(1, None)).endswith(" on 1 x 1 x 1 work-groups on interpreter with max_steps=1>")


def test_a_kernel_that_launched_survives_a_pickle() -> None:
    kernel = girih.loads(TEXT)["fill"]
    kernel[3](7, np.zeros(3, np.int32))
    again: girih.Kernel = pickle.loads(pickle.dumps(kernel[3]))
    assert (str(again.ir), again.target, again.grid) == (str(kernel.ir), "cpu", (3, 1, 1))
    assert not again._on_grids
