"""The text of a kernel is found wherever Python keeps it, and asked for where it does not; places are the file's."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import girih
import girih.language as gl
from girih.diagnostics import CompileError, Diagnostic, KernelError
from girih.front.python.facts import ArrayFacts, Specialisation
from girih.front.python.reading import read_function
from girih.front.python.translate import read, translate
from tests.front.python.facts import run
from tests.front.python.random_functions import function_of

HEAD = "import girih\nimport girih.language as gl\n"
KERNEL = "def kernel(X: gl.Vector[gl.f32]) -> None:\n    for i in gl.foreach(X.shape[0]):\n        X[i] = X[i] + 1.0\n"
VECTOR = Specialisation((("X", ArrayFacts("f32", (None,), (1,), (0,))),))


def module_of(path: Path, text: str) -> ModuleType:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refused(function: object) -> Diagnostic:
    with pytest.raises(CompileError) as error:
        read(function)
    (found,) = error.value.diagnostics
    return found


def test_a_module(tmp_path: Path) -> None:
    module = module_of(tmp_path / "in_a_file.py", HEAD + "\n\n" + KERNEL)
    X = np.zeros(5, np.float32)
    run(module.kernel, X)
    assert X.tolist() == [1.0] * 5
    assert (read(module.kernel).span.file, read(module.kernel).span.line) == (str(tmp_path / "in_a_file.py"), 5)


def test_a_file_that_was_changed_since(tmp_path: Path) -> None:
    path = tmp_path / "changed.py"
    module = module_of(path, HEAD + KERNEL)
    path.write_text(HEAD + "\n" * 2 + "def other() -> None:\n    pass\n", encoding="utf-8")
    linecache.checkcache(str(path))
    found = refused(module.kernel)
    assert (found.code, found.hint) == ("python.source", "import the module again, or start anew")
    assert "changed" in found.message


def test_a_cell_of_a_notebook() -> None:
    # IPython enters the text of a cell in linecache, under a name of its own.
    name = "/tmp/ipykernel_1/2846.py"
    linecache.cache[name] = (len(KERNEL), None, KERNEL.splitlines(keepends=True), name)
    space: dict[str, Any] = {"gl": gl}
    exec(compile(KERNEL, name, "exec"), space)
    X = np.zeros(3, np.float32)
    run(space["kernel"], X)
    assert X.tolist() == [1.0] * 3


def test_text_that_python_does_not_keep() -> None:
    space: dict[str, Any] = {"gl": gl}
    exec(KERNEL, space)
    found = refused(space["kernel"])
    assert found.code == "python.source"
    assert "<string>, line 1" in found.message
    assert found.hint is not None and "notebook" in found.hint


def test_the_plain_prompt() -> None:
    typed = "import girih.language as gl\nfrom girih.front.python.translate import read\n" + KERNEL + "\nread(kernel)\n"
    done = subprocess.run([sys.executable, "-i"], input=typed, capture_output=True, text=True, check=False)
    # From Python 3.13 on the prompt keeps what is typed.
    assert ("error[python.source]" in done.stderr) is (sys.version_info < (3, 13))


def test_places_behind_letters_of_several_bytes() -> None:
    text = "def kernel(X: gl.Vector[gl.f32]) -> None:\n    größe = 'ßß', missing\n"
    with pytest.raises(CompileError) as error:
        translate(read(function_of(text, "<letters>")), VECTOR)
    (found,) = error.value.diagnostics
    assert found.span.text == "missing"


def scaled(factor: float) -> Callable[..., None]:
    def kernel(X: gl.Vector[gl.f32]) -> None:
        for i in gl.foreach(X.shape[0]):
            X[i] = X[i] * factor

    return kernel


def test_closures_are_constants() -> None:
    X = np.ones(4, np.float32)
    run(scaled(3.0), X)
    assert X.tolist() == [3.0] * 4


def test_lambdas_on_one_line() -> None:
    pair = (lambda a: a + 1), (lambda b: b + 2), (lambda a: a + 3)
    import ast

    assert [ast.unparse(read_function(f).node) for f in pair] == [
        "lambda a: a + 1",
        "lambda b: b + 2",
        "lambda a: a + 3",
    ]


async def asynchronous(X: gl.Vector[gl.f32]) -> None:
    X[0] = 1.0


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (len, "builtin_function_or_method"),
        (ModuleType, "the class"),
        (functools.partial(print), "partial"),
        (3, "int"),
        (asynchronous, "async def"),
    ],
    ids=["built-in", "class", "partial", "number", "async"],
)
def test_what_is_no_function(function: object, what: str) -> None:
    found = refused(function)
    assert found.code == "python.function"
    assert what in found.message
    assert found.hint is not None


unannotated = function_of("def kernel(X) -> None:\n    X[0] = 1.0\n", "<unannotated>")


unknown = function_of(
    "from __future__ import annotations\ndef kernel(X: gl.Vector[f23]) -> None:\n    X[0] = 1.0\n", "<unknown>"
)


def of_floats(x: float) -> None:
    x + 1


def of_lists(*X: gl.f32) -> None:
    X[0]


@pytest.mark.parametrize(
    ("function", "code", "text"),
    [
        (unannotated, "python.annotation", "X"),
        (unknown, "python.annotation", "gl.Vector[f23]"),
        (of_floats, "python.annotation", "float"),
        (of_lists, "python.function", "X: gl.f32"),
    ],
    ids=["none", "unknown", "float", "star"],
)
def test_parameters_say_their_types(function: object, code: str, text: str) -> None:
    found = refused(function)
    assert (found.code, found.span.text) == (code, text)
    assert found.hint is not None


@girih.kernel
def beyond(X: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(X.shape[0]):
        X[i] = X[i + 1]


def test_findings_show_the_line_of_python() -> None:
    with pytest.raises(KernelError) as error:
        beyond(np.zeros(3, np.float32))
    (found,) = [f for f in error.value.findings if f.code == "run.out_of_bounds"]
    assert (Path(found.span.file).name, found.span.text) == ("test_sources.py", "X[i + 1]")


@girih.kernel
def one_sided(X: gl.Vector[gl.f32]) -> None:
    with gl.parallel():
        if gl.subgroup_local_id() < 1:
            gl.barrier()
        X[0] = 1.0


def test_what_the_checker_says_shows_the_line_of_python() -> None:
    with pytest.raises(CompileError) as error:
        one_sided(np.zeros(3, np.float32))
    assert ["gl.barrier()" in d.span.text for d in error.value.diagnostics] == [True]


def twice(function: Callable[..., object]) -> Callable[..., object]:
    """A decorator that changes what a function does."""

    @functools.wraps(function)
    def wrapper(*given: object) -> object:
        function(*given)
        return function(*given)

    return wrapper


@pytest.mark.parametrize("decorator", [twice, functools.lru_cache])
def test_a_decorator_around_a_function_is_not_dropped(decorator: Callable[..., Callable[..., object]]) -> None:
    """Neither of the kernel nor of a helper: what it does would be lost."""

    @decorator
    def wrapped(X: gl.Vector[gl.f32]) -> None:
        pass

    def kernel(X: gl.Vector[gl.f32]) -> None:
        wrapped(X)

    with pytest.raises(CompileError, match="wrapped is wrapped by another decorator"):
        read(wrapped)
    with pytest.raises(CompileError, match=r"python\.call.*`wrapped` is wrapped by a decorator"):
        translate(read(kernel), VECTOR)
