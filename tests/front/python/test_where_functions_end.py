"""Where the text of a function ends, and which lambda is its grid: found without the rest of its file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from girih.front.python import reading
from girih.front.python.reading import read_function

FILE = '''
def kept(**options):
    return lambda function: function

def plain(x):
    return x
AFTER = 1

@kept(
    grid=lambda x: (
x + 1,
    ),
    other=lambda x: x + 2)
def decorated(
    x,
):
    y = """
def inside(): pass
"""
# a comment
    z = (x,
y)
    return z
@kept()
def next_one(x): return x
if True:
    class Outer:
        def method(x):
            """Text."""
            if x:
                return x

            return [
        x]
        after = 2
    @kept()
    def last(x):
        def inner(y):
            return y
        return inner(x)
        # a last comment'''


@pytest.fixture
def file(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "functions.py"
    path.write_text(FILE, encoding="utf-8")
    return run_path(str(path))


def _statements(text: str) -> str:
    tree = ast.parse(textwrap.dedent(text)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return ast.dump(tree)


def test_a_function_is_read_to_its_end(file: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    functions: list[Callable[..., object]] = [file[name] for name in ("plain", "decorated", "next_one", "last")]
    functions.append(file["Outer"].method)
    expected = [_statements(inspect.getsource(function)) for function in functions]

    def refuse(lines: object) -> None:
        raise AssertionError("the lines were split into tokens")

    monkeypatch.setattr(inspect, "getblock", refuse)
    for function, statements in zip(functions, expected, strict=True):
        text = read_function(function)
        assert ast.dump(text.node) == statements
        assert text.source.text[text.whole.start :].startswith(f"def {function.__name__}")


def test_a_function_with_many_lines_that_may_be_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    inside = "\n".join(f"word {number}" for number in range(3 * reading._MOST_ENDS))
    path.write_text(f'def long(x):\n    y = """\n{inside}\n"""\n    return y\n', encoding="utf-8")
    node = read_function(run_path(str(path))["long"]).node
    assert isinstance(node, ast.FunctionDef)
    assert isinstance(node.body[-1], ast.Return)


def test_the_lambda_of_a_decorator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lambdas.py"
    path.write_text(
        "found = []\n"
        "def kept(*given):\n    found.extend(given)\n    return lambda function: function\n"
        "elsewhere = lambda x: x\n"
        "if True:\n"
        "    @kept(lambda x: x + 1, 'ä', lambda x: x + 2, lambda y: y + 3)\n"
        "    def decorated(x):\n        return lambda x: x + 4\n",
        encoding="utf-8",
    )
    made = run_path(str(path))
    text = read_function(made["decorated"])
    assert text.of_decorator(made["elsewhere"]) is None
    assert text.of_decorator(made["decorated"](1)) is None
    assert text.of_decorator(made["decorated"]) is None
    for function, body in zip((f for f in made["found"] if callable(f)), ("x + 1", "x + 2", "y + 3"), strict=True):
        near, whole = text.of_decorator(function), read_function(function)
        assert near is not None
        assert isinstance(near.node, ast.Lambda)
        assert near.whole.start == whole.whole.start
        span = near.span(near.node.body)
        assert near.source.text[span.start : span.end] == ast.unparse(near.node.body) == body
