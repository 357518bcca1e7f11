"""The Python names around targets: what objects look like, what is refused, and what survives a pickle."""

from __future__ import annotations

import pickle
import pydoc
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, assert_type, cast

import numpy as np
import pytest

import girih
from girih.diagnostics import Diagnostic
from girih.source import NOWHERE, Source, Span

TEXT = """func @axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>) {
    axpby %alpha, %A, %beta, %B
}
"""


def axpby() -> girih.Kernel:
    return girih.loads(TEXT, target="interpreter")["axpby"]


def arguments() -> tuple[float, np.ndarray[Any, Any], float, np.ndarray[Any, Any]]:
    return 2.0, np.arange(4, dtype=np.float32), 1.0, np.ones(4, np.float32)


def test_a_program_is_a_mapping_of_its_kernels() -> None:
    program = girih.loads(TEXT + "func @empty() {\n}\n")
    assert list(program) == ["axpby", "empty"]
    assert len(program) == 2
    assert "axpby" in program
    assert "@axpby" in program
    assert program.get(cast(str, 3)) is None
    assert program.get("axby") is None
    with pytest.raises(KeyError, match="there is no kernel 'axby'; the program has: axpby, empty"):
        program["axby"]


def test_what_objects_look_like() -> None:
    program = girih.loads(TEXT, target="interpreter")
    assert repr(program) == "<girih program of @axpby on interpreter>"
    assert repr(program.ir) == "<module of @axpby>"
    assert repr(program["axpby"].ir) == "<function @axpby at <text>:1:1>"
    assert str(program) == str(program.ir) == str(program["axpby"].ir) == TEXT
    assert program["axpby"].signature == "@axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>)"
    assert repr(girih.loads("", target="cpu")) == "<girih program of no kernels on cpu>"


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_programs_survive_a_pickle(target: str) -> None:
    kernel = pickle.loads(pickle.dumps(girih.loads(TEXT, target=target)))["axpby"]
    alpha, a, beta, b = arguments()
    kernel(alpha, a, beta, b)
    assert b.tolist() == [1, 3, 5, 7]


def test_errors_survive_a_pickle() -> None:
    span = Span(Source("text"), 0, 4)
    errors: list[girih.GirihError] = [
        girih.CompileError([Diagnostic("a.b", "message", span)]),
        girih.LaunchError([Diagnostic("a.b", "message", span)]),
        girih.KernelError([girih.Finding("run.size", "message", span)]),
        girih.InternalError("message"),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_what_is_no_program() -> None:
    nothing: Any = b"func"
    for read in (girih.loads, girih.check, girih.parse):
        with pytest.raises(TypeError, match="a program is a string, not bytes"):
            read(nothing)
    with pytest.raises(ValueError, match=r"girih\.loads takes the program itself"):
        girih.load(TEXT)
    number: Any = 5
    with pytest.raises(TypeError, match="not int"):
        girih.load(number)


def test_a_directory_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        girih.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        girih.load(tmp_path / "none.tl")


# --- arguments by name --------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_arguments_are_given_by_position_or_by_name(target: str) -> None:
    kernel = girih.loads(TEXT, target=target)["axpby"]
    alpha, a, beta, b = arguments()
    kernel(alpha, a, B=b, beta=beta)
    assert b.tolist() == [1, 3, 5, 7]
    kernel[1](B=b, A=a, beta=0.0, alpha=1.0)
    assert b.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_any_name_of_a_parameter_can_be_given(target: str) -> None:
    """Also words of Python, a number, and what methods and options are called."""
    names = ["self", "in", "0", "choices", "max_steps", "arguments", "named", "grid"]
    stores = "".join(f"  store %{name}, %A[{k}]\n" for k, name in enumerate(names))
    text = f"func @f(%A: memref<i32x8>, {', '.join(f'%{name}: i32' for name in names)}) {{\n{stores}}}\n"
    kernel = girih.loads(text, target=target)["f"]
    given: dict[str, Any] = {name: k for k, name in enumerate(names)}
    launches: list[Callable[..., None]] = [kernel, lambda *a, **named: kernel.bind(*a, **named).run()]
    for launch in launches:
        array = np.zeros(8, np.int32)
        launch(array, **given)
        assert array.tolist() == list(range(8))


SIGNATURE = "@axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>)"


@pytest.mark.parametrize("call", [axpby, lambda: axpby().bind, lambda: girih.loads(TEXT, target="cpu")["axpby"]])
@pytest.mark.parametrize(
    ("given", "named", "told"),
    [
        (3, {}, [("bind.count", "the kernel takes 4 arguments, got 3", "its parameters: %alpha: f32, %A")]),
        (5, {}, [("bind.count", "the kernel takes 4 arguments, got 5", "its parameters: %alpha: f32, %A")]),
        (5, {"B": 1}, [("bind.count", "the kernel takes 4 arguments, got 5", "its parameters: %alpha: f32, %A"),
                       ("bind.arguments", "%B is given twice: by position, as argument 4, and by name", SIGNATURE)]),
        (5, {"max_steps": 5}, [("bind.count", "the kernel takes 4 arguments, got 5", "its parameters: %alpha: f32"),
                               ("bind.arguments", "the kernel has no parameter 'max_steps'",
                                "options are not arguments: kernel.options(max_steps=...)[grid](...)")]),
        (3, {"C": 1}, [("bind.arguments", "the kernel has no parameter 'C'", f"the kernel is {SIGNATURE}"),
                       ("bind.arguments", "there is no argument for %B: memref<f32x?>", SIGNATURE)]),
        (2, {"betta": 1, "B": 1}, [("bind.arguments", "the kernel has no parameter 'betta'; did you mean 'beta'?",
                                    f"the kernel is {SIGNATURE}")]),
        (4, {"A": 1}, [("bind.arguments", "%A is given twice: by position, as argument 2, and by name", SIGNATURE)]),
        (1, {"A": 1}, [("bind.arguments", "there is no argument for %beta: f32", SIGNATURE),
                       ("bind.arguments", "there is no argument for %B: memref<f32x?>", SIGNATURE)]),
        (4, {"choices": 1}, [("bind.arguments", "the kernel has no parameter 'choices'",
                              "options are not arguments: kernel.options(choices=...)[grid](...)")]),
        (4, {"max_steps": None}, [("bind.arguments", "the kernel has no parameter 'max_steps'",
                                   "options are not arguments: kernel.options(max_steps=...)[grid](...)")]),
    ],
)  # fmt: skip
def test_arguments_that_do_not_meet_their_parameters(
    call: Callable[[], Callable[..., object]], given: int, named: dict[str, Any], told: list[tuple[str, str, str]]
) -> None:
    """What is said is the same for every target, when a kernel is called and when it is bound."""
    positional = [*arguments(), 0][:given]
    with pytest.raises(girih.LaunchError) as caught:
        call()(*positional, **named)
    assert [(d.code, d.message) for d in caught.value.diagnostics] == [(code, message) for code, message, _ in told]
    for diagnostic, (_, _, hint) in zip(caught.value.diagnostics, told, strict=True):
        assert diagnostic.hint is not None and hint in diagnostic.hint


# --- launches as values ----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_launch_runs_as_often_as_it_is_asked_to(target: str) -> None:
    kernel = girih.loads(TEXT, target=target)["axpby"]
    alpha, a, _, b = arguments()
    launch = kernel[1].bind(alpha, beta=0.0, A=a, B=b)
    assert b.tolist() == [1, 1, 1, 1]
    for factor in (1, 10):
        a[:] = factor * np.arange(4)
        assert cast(object, launch.run()) is None
        assert b.tolist() == [0, 2 * factor, 4 * factor, 6 * factor]


def test_what_a_launch_is_made_of() -> None:
    kernel = axpby()[2, 3]
    alpha, a, beta, b = arguments()
    launch = kernel.bind(alpha, a, B=b, beta=beta)
    assert isinstance(launch, girih.Launch)
    assert launch.kernel is kernel
    assert launch.grid == (2, 3, 1)
    assert list(launch.arguments) == ["alpha", "A", "beta", "B"]
    assert launch.arguments["A"] is a and launch.arguments["B"] is b
    assert repr(launch) == f"<girih launch of {SIGNATURE} on 2 x 3 x 1 work-groups on interpreter>"
    with pytest.raises(TypeError):
        cast(dict[str, object], launch.arguments)["A"] = None


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_arrays_are_looked_at_when_a_launch_runs(target: str) -> None:
    alpha, a, beta, _ = arguments()
    launch = girih.loads(TEXT, target=target)["axpby"].bind(alpha, a, beta, "no array")
    with pytest.raises(girih.LaunchError, match=r"bind\.type"):
        launch.run()


def test_a_launch_keeps_the_options_of_its_kernel() -> None:
    alpha, a, beta, b = arguments()
    seen: list[tuple[int, int]] = []
    kernel = axpby().options(progress=lambda done, all: seen.append((done, all)), races=False)
    kernel[3].bind(alpha, a, beta, b).run()
    assert seen[-1] == (3, 3)


def test_a_launch_survives_a_pickle() -> None:
    launch = pickle.loads(pickle.dumps(axpby().options(max_steps=50)[1].bind(*arguments())))
    launch.run()
    assert launch.arguments["B"].tolist() == [1, 3, 5, 7]


def test_what_type_checkers_know_of_launches() -> None:
    kernel = axpby()
    alpha, a, beta, b = arguments()
    assert_type(kernel.options(max_steps=100), girih.Kernel)
    assert_type(kernel[2].options(choices=girih.Choices(1))[1, 2], girih.Kernel)
    launch = kernel.bind(alpha, a, B=b, beta=beta)
    assert_type(launch, girih.Launch)
    assert_type(launch.kernel, girih.Kernel)
    assert_type(launch.grid, tuple[int, int, int])
    assert_type(launch.arguments, Mapping[str, object])
    assert dict(launch.arguments) == {"alpha": alpha, "A": a, "beta": beta, "B": b}


def test_what_type_checkers_know_of_modules() -> None:
    module = girih.spirv.Module.from_text("OpCapability Shader")
    assert_type(module, girih.spirv.Module)
    assert_type(module.specialise({}), girih.spirv.Module)
    assert_type(module.to_bytes(), bytes)
    assert_type(module.to_text(friendly_names=False), str)
    assert_type(girih.spirv.validate(module, "vulkan1.4", definitions={}), list[Diagnostic])
    assert module.to_text(header=False).split() == ["OpCapability", "Shader"]


# --- options of a launch ---------------------------------------------------------------------------


def test_options_stay_with_the_kernel_that_has_them() -> None:
    loop = "func @f(%n: index) {\n  %zero = constant 0 : index\n  for %i=%zero,%n {\n  }\n}\n"
    kernel = girih.loads(loop, target="interpreter")["f"]
    bounded = kernel.options(max_steps=10)
    for launched in (bounded, bounded[2], kernel[2].options(max_steps=10), bounded.options(choices=girih.Choices(1))):
        with pytest.raises(girih.KernelError, match=r"run\.budget"):
            launched(100)
    for launched in (kernel, kernel[2], bounded.options(max_steps=None), bounded.options(max_steps=1000)[2]):
        launched(100)
    assert kernel[2].options(max_steps=10).grid == bounded[2].grid == (2, 1, 1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"choices": 5}, TypeError, r"choices is a girih\.Choices; got 5"),
        ({"max_steps": "5"}, TypeError, "max_steps is an integer; got '5'"),
        ({"max_steps": True}, TypeError, "max_steps is an integer; got True"),
        ({"max_steps": 0}, ValueError, "max_steps is at least 1; got 0"),
        ({"progress": 5}, TypeError, "progress is called with two integers; got 5"),
        ({"chioces": 5}, TypeError, r"there is no option 'chioces' of a launch \(did you mean 'choices'\?\); "
                                    "interpreter has choices, max_steps, races, and progress"),
        ({"fast": None}, TypeError, "there is no option 'fast' of a launch; interpreter has choices, max_steps, races"),
    ],
)  # fmt: skip
def test_options_that_are_wrong(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        axpby().options(**options)


@pytest.mark.parametrize(
    ("grid", "sizes"), [(2, (2, 1, 1)), ((1, 2), (1, 2, 1)), ([3], (3, 1, 1)), (np.int64(2), (2, 1, 1)), (0, (0, 1, 1))]
)
def test_grids(grid: Any, sizes: tuple[int, int, int]) -> None:
    assert axpby()[grid].grid == sizes


@pytest.mark.parametrize("grid", [-1, 1.5, "3", (1, 2, 3, 4), (), None, True, (1, None), 2**31])
def test_what_is_no_grid(grid: Any) -> None:
    with pytest.raises(girih.LaunchError) as caught:
        axpby()[grid]
    (found,) = caught.value.diagnostics
    assert found.code == "bind.grid"
    assert str(caught.value) == f"error[bind.grid]: {found.message}"


def test_a_diagnostic_without_a_text_shows_no_empty_line() -> None:
    assert Diagnostic("a.b", "message", NOWHERE).render() == "error[a.b]: message"
    whole = Span(Source("", "big.tl"), 0, 0)
    assert Diagnostic("syntax.size", "message", whole).render() == "error[syntax.size]: message\n  --> big.tl"
    assert girih.Finding("run.size", "message", NOWHERE).render() == "finding[run.size]: message"


@pytest.mark.parametrize("name", ["girih", "girih.addressing", "girih.draw", "girih.kernels", "girih.spirv"])
def test_faces_show_public_names_alone(name: str) -> None:
    face = import_module(name)
    assert [shown for shown in dir(face) if shown != "__version__"] == sorted(face.__all__)
    assert all(getattr(face, shown) is not None for shown in dir(face))
    data = pydoc.plain(pydoc.render_doc(face)).partition("\nDATA\n")[2].partition("\nFILE\n")[0]
    assert {line.split()[0] for line in data.splitlines() if re.match(r" {4}\w+ = ", line)} <= {"__all__", "RULES"}
