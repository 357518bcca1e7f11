"""What every library's operators have in common: arguments, results, shapes and grids of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from girih.ir.types import NUMBERS, MemRef
from girih.operators import operator_of, packed

TEXT = """
func @mixed(%in: f32, %A: memref<f32x?x?>, %0: memref<f32x4x5>, %B: memref<f32x?>, %G: group<memref<f32x?>x?>) {
    %zero = constant 0 : index
    %i = constant 1 : index
    store %in, %A[%zero, %i]
    store %in, %0[%zero, %i]
    %first = load %G[%zero] : memref<f32x?>
    store %in, %first[%zero]
}
func @moved(%G: group<memref<f32x?>x?,offset:?>) {
}
"""


def kernel(name: str = "mixed", **words: Any) -> girih.Kernel:
    return girih.loads(TEXT, **words)[name]


def test_parameters_have_names_that_python_takes() -> None:
    operator = operator_of(kernel(), None, None)
    assert [p.name for p in operator.arguments] == ["in_", "A", "_0", "B", "G"]
    assert [p.name for p in operator.arguments if p.spec.written] == ["A", "_0", "G"]
    assert [p.memref is None for p in operator.arguments] == [True, False, False, False, False]
    assert [p.is_group for p in operator.arguments] == [False, False, False, False, True]


def test_results_are_no_arguments_and_are_put_in_their_places() -> None:
    operator = operator_of(kernel(), {"%A": lambda B: (len(B), 2), "0": None}, None)
    assert [p.name for p in operator.arguments] == ["in_", "B", "G"]
    given = operator.named([1.0, "xyz", []])
    assert [operator.shape_of(p, given) for p in operator.results] == [(3, 2), (4, 5)]
    assert operator.in_order(given, {"A": "a", "_0": "z"}) == [1.0, "a", "z", "xyz", []]


@pytest.mark.parametrize(("order", "shape"), [("F", (4, 5)), ("C", (5, 4))])
def test_a_shape_of_the_type_is_that_of_arrays(order: Any, shape: tuple[int, int]) -> None:
    operator = operator_of(kernel(order=order), "0", None)
    assert operator.shapes == {"_0": shape}


def test_a_grid_is_a_function_of_the_arguments_that_it_names() -> None:
    operator = operator_of(kernel(), None, lambda B, in_: (len(B), int(in_)))
    assert operator.grid_of(operator.named([2.0, None, None, "xyz", []])) == (3, 2, 1)
    everything = operator_of(kernel(), None, lambda **arguments: len(arguments))
    assert everything.grid_of(everything.named([2.0, None, None, "xyz", []])) == (5, 1, 1)
    assert operator_of(kernel(), None, None).grid_of({}) is None


def test_the_kernel_of_another_device_has_the_same_checks_and_grid() -> None:
    given = kernel(target="interpreter")[2, 3]
    operator = operator_of({"cuda": given}, None, None)
    made = operator.on("cpu")
    assert (made.target, made.grid, made.ir) == ("cpu", (2, 3, 1), given.ir)
    assert operator.on("cpu") is made
    assert operator.on("cpu", (7, 1, 1)).grid == (7, 1, 1)
    unchecked = operator_of({"cuda": kernel(target="cpu", checks="off")}, None, None)
    assert unchecked.on("cpu").resolved.settings["checks"] == "off"


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        ({"kernel": 3}, TypeError, "an operator is made of a kernel in the tensor language; got 3"),
        ({"kernel": {}}, ValueError, "kernels are given for 'cpu' and 'cuda'; got none"),
        ({"kernel": {"gpu": kernel()}}, ValueError, "'cpu' and 'cuda'; got 'gpu'"),
        ({"kernel": {"cpu": kernel(), "cuda": kernel(order="C")}}, ValueError, "one signature; got .* and .*order"),
        ({"kernel": kernel("moved")}, TypeError, "%G of @moved is a group whose offset a launch gives"),
        ({"results": "C"}, ValueError, "out names 'C', but the kernel is @mixed"),
        ({"results": "B"}, ValueError, "out names %B of @mixed, which it does not write"),
        ({"results": "G"}, ValueError, "out names %G of @mixed, which is group<.*>: a result is a memref"),
        ({"results": "A"}, ValueError, "the shape of %A is not known from memref<f32x.x.>; give a function"),
        ({"results": {"A": (3,)}}, ValueError, r"the shape of %A is \(3,\), but .* has 2 modes"),
        ({"results": {"A": lambda X: X.shape}}, ValueError, "the shape of %A asks for X, but a call of @mixed has"),
        ({"results": {"A": lambda A: A.shape}}, ValueError, "asks for A, but a call of @mixed has the arguments in_,"),
        ({"grid": 4}, TypeError, "the grid is given by a function of arguments; got 4"),
    ],
)
def test_what_is_no_operator_is_refused_in_words(words: Any, error: type[Exception], says: str) -> None:
    asked = {"kernel": kernel(), "results": None, "grid": None} | words
    with pytest.raises(error, match=says):
        operator_of(**asked)


def test_a_tensor_map_is_refused() -> None:
    text = """func @f(%map: tensor_map<f32,2,tiled>) {
    }"""
    with pytest.raises(TypeError, match="%map of @f is a tensor map, which no operator takes"):
        operator_of(girih.loads(text)["f"], None, None)


def test_a_shader_is_refused(repository: Any) -> None:
    shader = girih.load(repository / "examples/shaders/scale.spv", target="interpreter")["main"]
    with pytest.raises(TypeError, match="an operator is made of a kernel in the tensor language"):
        operator_of(shader, None, None)


def test_packed_strides() -> None:
    f32 = NUMBERS["f32"]
    assert packed(MemRef(f32, (None, None, 4), (1, None, None)), (2, 3, 4)) == (1, 2, 6)
    assert packed(MemRef(f32, (None, None), (1, 8)), (8, 3)) == (1, 8)
    assert packed(MemRef(f32, (None, None), (1, 8)), (7, 3)) is None
    assert packed(MemRef(f32, (), ()), ()) == ()
    assert np.zeros((2, 3, 4), order="F").strides == tuple(8 * s for s in (1, 2, 6))
