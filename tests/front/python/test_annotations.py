"""Annotations that are none of kernels: each is marked, and answered with the one that was meant."""

from __future__ import annotations

import linecache

import pytest

import girih

BEFORE = """import typing
from typing import Any, Literal, Optional
import numpy as np
from numpy.typing import NDArray
import girih
import girih.language as gl
"""

WRONG: dict[str, str] = {
    "": "write X: gl.f32, gl.Matrix[gl.f32], gl.constant",
    "float": "say how large: gl.f32 or gl.f64",
    "complex": "say how large: gl.c32 or gl.c64",
    "np.float32": "write gl.f32",
    "np.int64": "write gl.i64",
    "np.ndarray": "say type and rank: gl.Matrix[gl.f32]",
    "NDArray[np.float32]": "say type and rank: gl.Matrix[gl.f32]",
    "gl.Matrix[float]": "say how large: gl.f32 or gl.f64",
    "gl.Matrix[np.float32]": "write gl.f32",
    "gl.Vector['f32']": "write gl.f32",
    "gl.Vector[gl.Vector[gl.f32]]": "gl.Vector[gl.f32]",
    "gl.Vector[gl.bool_]": "gl.i8",
    "gl.Group[gl.Vector[gl.bool_]]": "gl.i8",
    "gl.Array": "gl.Array[gl.f32, Literal[3]]",
    "gl.Array[gl.f64, 4]": "gl.Array[gl.f64, Literal[4]]",
    "gl.Array[gl.f32, Literal['3']]": "gl.Array[gl.f32, Literal[3]]",
    "gl.Group": "gl.Group[gl.Vector[gl.f32]]",
    "gl.Group[gl.f32]": "gl.Group[gl.Vector[gl.f32]]",
    "gl.Block[gl.f32]": "gl.load(X[...])",
    "gl.TensorMap": "gl.TensorMap[gl.f32, Literal[2]]",
    "gl.Im2colMap": "gl.Im2colMap[gl.f32, Literal[2]]",
    "list": "gl.Group[gl.Vector[gl.f32]]",
    "list[gl.f32]": "gl.Group[gl.Vector[gl.f32]]",
    "tuple[int, int]": "a tuple of numbers a gl.constant",
    "Optional[gl.Vector[gl.f32]]": "gl.associated(X)",
    "gl.Vector[gl.f32] | None": "gl.associated(X)",
    "None": "gl.associated(X)",
    "gl.gemm": "a parameter is a number, gl.f32, an array",
    "typing.Callable[[int], int]": "a parameter is a number, gl.f32, an array",
    "3": "write gl.f32, gl.index",
    "object": "write gl.f32, gl.index",
    "'gl.f33'": "write gl.f32, gl.index",
    "'gl.Vector['": "write gl.f32, gl.index",
    "'Nothing'": "import what it names",
}
"""Annotations of a parameter X, and a part of the hint."""

MISTAKEN: dict[str, tuple[type[Exception], str]] = {
    "gl.constant[int]": (TypeError, "gl.constant takes no type in brackets"),
    "gl.f33": (AttributeError, "f33"),
}
"""What Python refuses itself, where it evaluates annotations."""

RIGHT = (
    "gl.f32", "'gl.f32'", "gl.Matrix", "gl.Vector[gl.f32]", "'gl.Vector[gl.f32]'", "gl.Array[gl.f32, Literal[3]]",
    "gl.constant", "int", "bool", "str", "Any", "typing.TypeVar('E')", "gl.Group[gl.Vector[gl.f32]]",
)  # fmt: skip


def define(annotation: str, future: bool = False) -> object:
    """A kernel with a parameter of an annotation, defined in a text that Python can find."""
    before = ("from __future__ import annotations\n" if future else "") + BEFORE
    said = f": {annotation}" if annotation else ""
    text = f"{before}@girih.kernel\ndef kernel(X{said}, n: gl.index) -> None:\n    pass\n"
    name = f"<annotated {annotation} {future}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, object] = {}
    exec(compile(text, name, "exec", dont_inherit=True), space)
    return space["kernel"]


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("annotation", WRONG)
def test_a_wrong_annotation_is_answered(annotation: str, future: bool) -> None:
    with pytest.raises(girih.CompileError) as raised:
        define(annotation, future)
    (found,) = raised.value.diagnostics
    assert found.code == "python.annotation"
    assert found.span.text == (annotation or "X")
    assert found.hint is not None and WRONG[annotation] in found.hint


@pytest.mark.parametrize("annotation", MISTAKEN)
def test_annotations_that_python_refuses(annotation: str) -> None:
    error, message = MISTAKEN[annotation]
    with pytest.raises(error, match=message):
        define(annotation)
    with pytest.raises(girih.CompileError, match="cannot be read"):
        define(annotation, future=True)


@pytest.mark.parametrize("future", [False, True])
@pytest.mark.parametrize("annotation", RIGHT)
def test_right_annotations(annotation: str, future: bool) -> None:
    assert isinstance(define(annotation, future), girih.PythonKernel)


def test_a_lambda_and_a_class_are_no_kernels() -> None:
    for wrong, hint in ((lambda X: None, "give it a name"), (type("A", (), {}), "write @girih.kernel above `def`")):
        with pytest.raises(girih.CompileError) as raised:
            girih.kernel(wrong)
        assert hint in str(raised.value)
