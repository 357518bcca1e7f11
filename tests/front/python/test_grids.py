"""Grids are expressions of the parameters, and specialisations fit them."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih.language as gl
from girih.diagnostics import CompileError
from girih.front.python.facts import ArrayFacts, KernelOptions, ScalarFacts, Specialisation
from girih.front.python.translate import read, translate
from tests.front.python.facts import translated

BLOCK = 32
TABLE = np.zeros(3)
Y = np.zeros((7, 7))
size = 11


def in_a_text(text: str) -> Callable[..., object]:
    """A lambda around which there are no names."""
    name = f"<grid>{text}"
    linecache.cache[name] = (len(text), None, [text], name)
    made: Callable[..., object] = eval(compile(text, name, "eval"), {})
    return made


def of_two_lines(X: Any) -> Any:
    n = X.shape[0]
    return n


def with_words(X: Any) -> Any:
    """The rows."""
    return X.shape[0]


def kernel(X: gl.Matrix[gl.f32], Y: gl.Vector[gl.f32], n: gl.index, size: gl.constant) -> None:
    for i in gl.foreach(n):
        Y[i] = X[i, 0]


def grid_of(grid: Callable[..., object], order: str = "F") -> str:
    X = np.zeros((4, 5), np.float32, order="C" if order == "C" else "F")
    module = translated(kernel, X, np.zeros(4, np.float32), 3, 8, options=KernelOptions(grid=grid))
    text = str(module.functions[0]).split("{", 2)[1]
    return text.removeprefix("grid=[").partition("]}")[0]


def two(X: Any, n: Any) -> Any:
    return X.shape[1], n


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        (lambda X: X.shape[0], "size(%X, 0)"),
        (lambda X: X.shape[-1], "size(%X, 1)"),
        (lambda Y: len(Y), "size(%Y, 0)"),
        (lambda X: (gl.cdiv(X.shape[0], BLOCK), X.shape[1]), "ceil(size(%X, 0), 32), size(%X, 1)"),
        (lambda X, size: -(-X.shape[0] // size), "ceil(size(%X, 0), 8)"),
        (lambda n, size: (n * 2 + 1, n // size, size - 1), "%n * 2 + 1, floor(%n, 8), 8 - 1"),
        (lambda n, Y: max(1, min(n, Y.shape[0], 7)), "max(1, min(min(%n, size(%Y, 0)), 7))"),
        (two, "size(%X, 1), %n"),
    ],
)
def test_what_a_grid_is_made_of(grid: Callable[..., object], text: str) -> None:
    assert grid_of(grid) == text


def test_modes_of_a_grid_follow_the_order_of_the_array() -> None:
    assert grid_of(lambda X: X.shape[0], "C") == "size(%X, 1)"


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (lambda X: X.shape[2], "2 axes"),
        (lambda X: X.shape, "X.shape"),
        (lambda missing: missing, "no parameter `missing`"),
        (lambda n: n / 2, "n / 2"),
        (lambda n: (n, n, n, n), "found 4"),
        (lambda n: gl.group_id(0), "gl.group_id"),
        (lambda Y: Y, "`Y` is no integer"),
        (lambda: TABLE, "`TABLE` is no integer"),
        (lambda n: [n], "[n]"),
        (lambda n: n if n > 1 else 1, "does not stand in a grid"),
        (lambda Y: Y.size, "Y.size"),
        (in_a_text("lambda X: n"), "`n` is no parameter of the grid"),
        (in_a_text("lambda n: X.shape[0]"), "`X` is no parameter of the grid"),
        (in_a_text("lambda X: A.shape[0]"), "`A` is no array"),
        (lambda n, **others: n, "by their names"),
        (of_two_lines, "a function of a single `return`"),
    ],
)
def test_what_a_grid_is_not_made_of(grid: Callable[..., object], words: str) -> None:
    with pytest.raises(CompileError) as error:
        grid_of(grid)
    (found,) = error.value.diagnostics
    assert found.code == "python.grid"
    assert words in found.message
    assert found.span.file in (__file__, "<grid>" + found.span.source.text)


def test_a_name_that_the_grid_does_not_take_is_one_of_its_surroundings() -> None:
    """As in Python: the kernel's own `size` is 8, that of this module 11."""
    assert grid_of(lambda X: size) == "11"
    assert grid_of(lambda size: size) == "8"
    assert grid_of(with_words) == "size(%X, 0)"


VECTOR = ArrayFacts("f32", (None,), (1,), (0,))
MATRIX = ArrayFacts("f32", (None, None), (1, None), (0, 1))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"X": MATRIX, "Y": VECTOR, "n": ScalarFacts("index")}, "nothing is known of `size`"),
        ({"X": VECTOR, "Y": VECTOR, "n": ScalarFacts("index")}, "`X` has rank 2, found 1"),
        ({"X": ScalarFacts("f32")}, "`X` is declared as array, found a number"),
        ({"X": ArrayFacts("f64", (None, None), (1, None), (0, 1))}, "elements of f32, found f64"),
    ],
    ids=["missing", "rank", "kind", "element"],
)
def test_a_specialisation_fits_the_parameters(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(CompileError) as error:
        translate(read(kernel), Specialisation(tuple(facts.items())))
    (found,) = error.value.diagnostics
    assert found.code == "python.specialisation"
    assert words in found.message


def reads_an_array(Y: gl.Vector[gl.f32]) -> None:
    Y[0] = TABLE[0]


def test_an_array_from_outside_is_refused() -> None:
    with pytest.raises(CompileError) as error:
        translated(reads_an_array, np.zeros(3, np.float32))
    assert [(d.code, d.span.text, d.hint) for d in error.value.diagnostics] == [
        ("python.capture", "TABLE", "make it a parameter: TABLE: gl.Vector[...]")
    ]
