"""What is wrong with a call of a kernel in Python is said with the parameter's annotation, and with what to do."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import girih
import girih.language as gl

E = TypeVar("E", gl.f32, gl.f64)
F = np.float32


@girih.kernel
def mix(a: gl.f32, X: gl.Matrix[gl.f32], Y: gl.Matrix[E], Z: gl.Matrix[E], n: gl.constant = 1) -> None:
    for i, j in gl.foreach(X.shape[0], X.shape[1]):
        Z[i, j] = Y[i, j] * n


@girih.kernel
def gather(G: gl.Group[gl.Vector[gl.f32]], Y: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(Y.shape[0]):
        Y[i] = G[i][0]


class OnDevice:
    """An array that says that it is on the second CUDA device."""

    shape, dtype, strides = (2, 3), np.dtype(F), (12, 4)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 1

    def __dlpack__(self, **given: Any) -> None:
        raise BufferError


A = np.zeros((2, 3), F)
READ_ONLY = A.copy()
READ_ONLY.flags.writeable = False

WRONG: dict[str, tuple[tuple[object, ...], dict[str, object], str, str, str]] = {
    "missing": ((1, A, A), {}, "bind.arguments", "there is no argument for Z: gl.Matrix[E]", "the kernel is mix("),
    "several": ((1, A, A, A, 1, 2), {}, "bind.count", "the kernel takes 5 arguments, got 6", "the kernel is mix("),
    "misspelled": ((1, A, A, A), {"m": 2}, "bind.arguments", "no parameter 'm'", "the kernel is mix("),
    "twice": ((1, A, A, A), {"X": A}, "bind.arguments", "X is given twice: by position, as argument 2", ""),
    "grid": ((1, A, A, A), {"grid": 1}, "bind.arguments", "no parameter 'grid'", "kernel[grid](...)"),
    "option": ((1, A, A, A), {"races": False}, "bind.arguments", "no parameter 'races'", "kernel.options(races=...)"),
    "dtype": ((1, A.astype(float), A, A), {}, "bind.dtype",
              "argument 2, X: gl.Matrix[gl.f32] takes elements of np.float32; got a float64 array of shape (2, 3)",
              "allocate it with dtype=np.float32"),
    "unsigned": ((1, A, A.astype("u4"), A), {}, "bind.dtype", "no element type is uint32", "Y.view(np.int32)"),
    "other type": ((1, A, A, A.astype(float)), {}, "bind.dtype", "argument 4, Z: E is f32 as of Y; got a float64", ""),
    "constrained": ((1, A, A.astype(np.int32), A), {}, "bind.dtype", "E is one of f32, f64; got an int32", ""),
    "swapped": ((1, A.astype(">f4"), A, A), {}, "bind.dtype", "got a >f4 array", "byte order of this machine"),
    "rank": ((1, A[0], A, A), {}, "bind.order", "takes an array with 2 axes; got a float32 array of shape (3,)",
             "X[None], which has one axis more; or declare X: gl.Vector[gl.f32]"),
    "list": ((1, [[1]], A, A), {}, "bind.type", "X: gl.Matrix[gl.f32] takes an array; got a value of list",
             "pass an array of NumPy"),
    "object": ((1, object(), A, A), {}, "bind.type", "takes an array; got object", "pass a NumPy array"),
    "backwards": ((1, A[::-1], A, A), {}, "bind.layout", "axis 0 runs backwards", "a kernel uses memory as it is"),
    "broadcast": ((1, A, A, np.broadcast_to(A[0], (2, 3))), {}, "bind.layout", "axis 0 has stride 0", "allocate"),
    "overlap": ((1, np.lib.stride_tricks.as_strided(A, (2, 3), (8, 4)), A, A), {}, "bind.layout",
                "elements along axis 1, of size 3, reach into the next of axis 0", "allocate"),
    "read only": ((1, A, A, READ_ONLY), {}, "bind.read_only", "the kernel writes to it", "may be changed"),
    "scalar": (("one", A, A, A), {}, "bind.type", "takes a real number; got str", "pass a Python number"),
    "constant": ((1, A, A, A, A), {}, "bind.type", "a constant is a number", "a parameter with its own type"),
    "of Triton": ((1, A, A, A), {"num_warps": 4}, "bind.arguments", "no parameter 'num_warps'", "for 4 of them"),
    "devices": ((1, OnDevice(), A, A), {}, "bind.device", "Y: it is on the host, and X is on cuda:1",
                "target='cuda:1'"),
    "nothing known": ((1, A, None, None), {}, "bind.dtype", "no argument says what E is", "in place of None"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused_with_what_to_do(name: str) -> None:
    arguments, named, code, message, hint = WRONG[name]
    kernel = girih.kernel(mix.function)
    for attempt in range(2):
        with pytest.raises(girih.LaunchError) as caught:
            kernel(*arguments, **named)
        found = caught.value.diagnostics[0]
        assert found.code == code
        assert message in found.message
        assert hint in (found.hint or "")
        assert found.span.source.name == __file__
        if not attempt:
            kernel(1, A.copy(), A, A.copy())  # A variant that is there changes nothing.


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(girih.LaunchError) as caught:
        mix(1, A.astype(float), A[::-1], A, object())
    assert [found.code for found in caught.value.diagnostics] == ["bind.dtype", "bind.layout", "bind.type"]


def test_groups_are_lists_in_one_order() -> None:
    Y = np.zeros(2, F)
    gather([np.full(3, 5, F), np.full(4, 6, F)], Y)
    assert list(Y) == [5, 6]
    gather([np.full(6, 7, F)[::2], np.full(4, 8, F)], Y)
    assert list(Y) == [7, 8]
    with pytest.raises(girih.LaunchError, match=r"gl\.Group\[gl\.Vector\[gl\.f32\]\] takes a list of arrays"):
        gather(Y, Y)
    with pytest.raises(girih.LaunchError, match=r"G\[1\].*takes elements of np\.float32"):
        gather([Y, Y.astype(int)], Y)


def test_a_traceback_shows_the_users_lines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in (None, "1"):
        if asked:
            monkeypatch.setenv("GIRIH_TRACEBACK", asked)
        with pytest.raises(girih.LaunchError) as caught:
            mix(1, A.astype(float), A, A)
        files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
        inside = [file for file in files if "/girih/" in file.replace("\\", "/")]
        assert files[0] == __file__
        assert (len(inside) > 3) if asked else (len(inside) == 1)


@girih.kernel(sizes={"X": (4, 6)}, alignment=64, grid=lambda X, n: X.shape[0] // n)
def promised(X: gl.Matrix[gl.f32], k: gl.constant, a: gl.f32, n: gl.i32) -> None:
    X[0, 0] = a


def aligned(*shape: int, shift: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    memory = np.zeros(64 + 16, F)
    first = -memory.ctypes.data // 4 % 16 + shift
    return memory[first : first + shape[0] * shape[1]].reshape(shape)


X = aligned(4, 6)
LATER: dict[str, tuple[tuple[object, ...], str, str, str]] = {
    "shape": ((aligned(5, 6), 0, 1, 1), "bind.shape",
              "argument 1, X: gl.Matrix[gl.f32] takes shape (4, 6); got float32 array of shape (5, 6), strides (6, 1): "
              "axis 0 must be 4, not 5", "`sizes` of the decorator"),
    "order F": ((aligned(6, 5).T, 0, 1, 1), "bind.shape", "strides (1, 5): axis 0 must be 4, not 5", "`sizes` of"),
    "transposed": ((aligned(6, 4), 0, 1, 1), "bind.shape", "axis 1 must be 6, not 4", "X.T has that shape"),
    "alignment": ((aligned(4, 6, shift=1), 0, 1, 1), "bind.alignment", "argument 1, X: its data starts 4 bytes", ""),
    "a string": ((X, 0, "one", 1), "bind.type", "argument 3, a: gl.f32 takes a real number; got str", "pass a Python"),
    "complex": ((X, 0, 1j, 1), "bind.type", "argument 3, a: gl.f32 takes a real number; got complex 1j", "x.real"),
    "large": ((X, 0, 1e60, 1), "bind.range", "1e+60 does not fit gl.f32, which holds magnitudes up to", ""),
    "fraction": ((X, 0, 1, 2.5), "bind.type", "argument 4, n: gl.i32 takes an integer; got float 2.5", "round it"),
    "division": ((X, 0, 1, 0), "bind.grid_division", "`X.shape[0] // n` divides 4 by zero, where X.shape[0] is 4", ""),
    "negative": ((X, 0, 1, -1), "bind.grid", "`X.shape[0] // n` is -4, where X.shape[0] is 4, n is -1", "kernel[grid]"),
}  # fmt: skip
"""Calls that the launch refuses: arguments, code, message, hint."""


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_what_a_launch_refuses_is_said_in_names_and_axes_of_python(name: str, target: str) -> None:
    arguments, code, message, hint = LATER[name]
    kernel = promised.on(target)
    ways: list[Callable[[], object]] = [lambda: kernel(*arguments), kernel.bind(*arguments).run]
    for way in ways:
        with pytest.raises(girih.LaunchError) as caught:
            way()
        found = next(d for d in caught.value.diagnostics if d.code == code)
        assert message in found.message
        assert hint in (found.hint or "")
        assert not any(word in str(caught.value) for word in ("%", "memref", "mode ", "@promised"))


def test_arguments_that_share_memory_are_named_as_in_python() -> None:
    Y = np.zeros(4, F)
    with pytest.raises(girih.LaunchError, match=r"argument 1, G\[0\]: it shares memory with Y, and the kernel writes"):
        gather([Y], Y)
    Y.flags.writeable = False
    with pytest.raises(girih.LaunchError, match="argument 2, Y: the kernel writes to it"):
        gather([np.zeros(4, F)] * 4, Y)


@pytest.mark.parametrize("grid", ["a", (1, 2, 3, 4), (), -1, 2**31, 1.5, True])
def test_a_wrong_grid_shows_the_users_line_alone(grid: Any) -> None:
    with pytest.raises(girih.LaunchError, match="the grid is") as caught:
        promised[grid]
    assert len(caught.traceback) == 2


@pytest.mark.parametrize("way", ["variant", "grid_for", "tensor_maps", "bind", "out"])
def test_no_way_shows_the_frames_of_girih(way: str) -> None:
    result = girih.kernel(out={"Z": "Y"})(mix.function)
    with pytest.raises(girih.LaunchError) as caught:
        getattr(result, way)(1, A.astype(float), A)
    assert len(caught.traceback) == 2
    with pytest.raises(girih.LaunchError) as caught:
        promised.bind(aligned(5, 6), 0, 1, 1).run()
    assert len(caught.traceback) == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"targets": {}}, TypeError, "no option 'targets'; did you mean 'target'?"),
        ({"num_warps": 4}, TypeError, "no option 'num_warps'; write @girih.kernel(subgroup_size"),
        ({"hopper": 3}, TypeError, "hopper takes a mapping from hints to values"),
        ({"work_group_size": 5}, TypeError, "work_group_size is a tuple of whole numbers"),
        ({"work_group_size": "ab"}, TypeError, "work_group_size is a tuple of whole numbers"),
        ({"subgroup_size": "x"}, TypeError, "subgroup_size is a whole number"),
        ({"allow": "contract"}, TypeError, "allow is a tuple of permissions"),
        ({"checks": "no"}, ValueError, "checks is one of 'bounds', 'off'; got 'no'"),
        ({"target": "gpu9"}, ValueError, "gpu9"),
        ({"out": "n"}, ValueError, "out names 'n', which is n: gl.constant"),
        ({"out": {"Z": "W"}}, ValueError, "the shape of Z is not said"),
        ({"out": {"Z": lambda Q: Q.shape}}, ValueError, "asks for Q, but the arguments are a, X, Y, n"),
        ({"definitions": {"k": 1}}, ValueError, "mix has no constant 'k'"),
        ({"sizes": {"W": (1,)}}, ValueError, "sizes names 'W'; the arrays of mix are X, Y, Z"),
        ({"sizes": {"X": (1,)}}, ValueError, "X has 2 axes, but sizes has 1 entries for it"),
        ({"sizes": {"X": (None, "k")}}, ValueError, "sizes names the constant 'k'; those of mix are n"),
    ],
)
def test_wrong_options_of_the_decorator_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        girih.kernel(**options)(mix.function)
    assert message in str(caught.value)


def test_wrong_definitions_are_told_without_the_frames_that_found_them() -> None:
    def untyped(X):  # type: ignore[no-untyped-def]
        X[0] = 1.0

    with pytest.raises(girih.CompileError, match="says no type") as caught:
        girih.kernel(grid=lambda X: X.shape[0])(untyped)
    assert len(caught.traceback) <= 2
    with pytest.raises(TypeError, match=r"grid is a function of parameters.*kernel\[4\]\(X\)"):
        girih.kernel(grid=3)  # type: ignore[call-overload]


@girih.kernel
def by_groups(X: gl.Vector[gl.f32]) -> None:
    first = gl.group_id(0) * 2
    for i in gl.foreach(2):
        X[first + i] = 1.0


@girih.kernel
def counted(X: gl.Vector[gl.f32], n: gl.constant) -> None:
    if n > 1:
        X[0] = gl.f32(gl.num_groups(0))


def test_a_kernel_that_asks_for_its_work_group_has_a_grid() -> None:
    X = np.zeros(4, F)
    ways: list[Callable[[], object]] = [
        lambda: by_groups(X), lambda: by_groups.bind(X), lambda: by_groups.on("interpreter")(X), lambda: counted(X, 2),
    ]  # fmt: skip
    for way in ways:
        with pytest.raises(girih.LaunchError, match="nothing says how many work-groups there are") as caught:
            way()
        (found,) = caught.value.diagnostics
        assert found.code == "bind.no_grid"
        assert found.span.text in ("gl.group_id(0)", "gl.num_groups(0)")
        assert found.hint is not None and "@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 256))" in found.hint
    assert not X.any()
    by_groups[2](X)
    assert X.all()
    by_groups[2].bind(X).run()
    assert by_groups.grid_for(X) == (1, 1, 1)
    counted(X, 1)  # What is not translated asks for nothing.
    girih.kernel(grid=lambda X: X.shape[0] // 2)(by_groups.function)(X)


@girih.kernel(grid=lambda X: X.shape[0], out={"Y": "X"})
def doubled(X: gl.Vector[gl.f32], Y: gl.Vector[gl.f32]) -> None:
    Y[gl.group_id(0)] = X[gl.group_id(0)] + X[gl.group_id(0)]


def test_a_result_that_is_not_given_can_be_made() -> None:
    with pytest.raises(girih.LaunchError) as caught:
        doubled(np.ones(3, np.float32))
    (found,) = caught.value.diagnostics
    assert found.code == "bind.arguments"
    assert found.hint == "Y = doubled.out(...) makes it from the other arguments"


def test_names_that_are_no_words_say_what_to_write() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'bool'; write gl\.bool_"):
        gl.bool  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(gl, "unheard_of")
