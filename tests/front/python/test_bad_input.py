"""Everything that Python allows and the language does not: a diagnostic at its place, and what to write."""

from __future__ import annotations

import textwrap

import pytest

from girih.diagnostics import CompileError, Diagnostic
from girih.front.python.expressions import REFUSED_EXPRESSIONS
from girih.front.python.statements import REFUSED_STATEMENTS
from girih.front.python.translate import read, translate
from girih.ir.check import check_module
from tests.front.python.random_functions import HEAD, function_of
from tests.front.python.test_random_functions import KNOWN


def problems(body: str) -> list[Diagnostic]:
    """What is said of a kernel with a body, whose parameters are X, Y, A, n, x and size."""
    text = HEAD + textwrap.indent(body, "    ") + "\n"
    kernel = read(function_of(text, f"<{hash(body)}>"))
    try:
        return check_module(translate(kernel, KNOWN))
    except CompileError as error:
        return list(error.diagnostics)


PRODUCT = "X[0:16, 0:16] @ X[0:8, 0:16]"
HELPER = """def helper(t):
    if t > 0:
        return t
    for i in range(3):
        Y[i] = t / n
    return t
Y[0] = helper(x)"""
CASES: list[tuple[str, list[tuple[str, str]]]] = [
    ("try:\n    x = 1\nexcept Exception:\n    pass", [("python.statement", "try:")]),
    ('with open("f") as f:\n    pass', [("python.statement", 'open("f")')]),
    ("class C:\n    pass", [("python.statement", "class C:")]),
    ("yield x", [("python.expression", "yield x")]),
    ('s = "text"\nY[0] = s', [("python.types", "s")]),
    ("d = {1: 2}", [("python.expression", "{1: 2}")]),
    ("if x is n:\n    pass", [("python.operator", "x is n")]),
    ("if X[0:4, 0:4] < X[0:4, 0:4] < X[0:4, 0:4]:\n    pass", [("python.operator", "X[0:4, 0:4]")]),
    ("v = X[0:4, :]\nv += 1.0", [("python.view", "v += 1.0")]),
    ("X[0:4, 0:4] += 1.0", [("python.view", "X[0:4, 0:4] += 1.0")]),
    ("if n > 3:\n    t = x\nelse:\n    t = n\nY[0] = t", [("python.two_types", "t")]),
    ("if n > 3:\n    t = x\nY[0] = t", [("python.unset", "t")]),
    ("for i in range(n):\n    t = x\nY[0] = t", [("python.unset", "t")]),
    ("for i in range(n):\n    if i > 0:\n        Y[0] = t\n    t = x", [("python.unset", "t")]),
    ("s = 0\nfor i in range(n):\n    s = s + x\n    s = s + n", [("python.types", "s + x")]),
    ("s = x\nfor i in range(n):\n    s = i\nY[0] = s", [("python.two_types", "i")]),
    ("Y[0] = x + n", [("python.types", "x + n")]),
    ("Y[n] = n / 2", [("python.operator", "n / 2")]),
    ("Y[-1] = x", [("python.index", "-1")]),
    ("Y[x] = x", [("python.types", "x")]),
    ("t = X[0:n, 0:4]", [("python.slice", "0:n")]),
    ("t = X[::2, 0]", [("python.slice", "::2")]),
    ("while x > 0:\n    x = x - 1", [("python.statement", "while x > 0:")]),
    ("for i in range(n):\n    if i > 3:\n        break", [("python.statement", "break")]),
    ("for i in [1, 2]:\n    pass", [("python.expression", "[1, 2]")]),
    ("for i in gl.foreach(n):\n    x = x + Y[i]\nY[0] = x", [("python.points", "x"), ("python.unset", "x")]),
    ("s = x\nfor i in gl.foreach(n):\n    s = s + Y[i]", [("python.points", "s")]),
    ("with gl.parallel():\n    t = x\nY[0] = t", [("python.unset", "t")]),
    ("if n:\n    Y[0] = x", [("python.condition", "n")]),
    ("Y[0] = undefined_name", [("python.name", "undefined_name")]),
    ("Y[0] = gl.exq(x)", [("python.name", "gl.exq")]),
    ("import math", [("python.statement", "import math")]),
    ("Y[0] = float(n)", [("python.call", "float")]),
    ("Y[0] = X", [("python.types", "X")]),
    ("return x", [("python.return", "return x")]),
    ("for i in range(n):\n    return", [("python.return", "return")]),
    ("f = lambda t: f(t)\nY[0] = f(x)", [("python.recursion", "f(t)")]),
    ("Y[0] = gl.f32(n, 2)", [("python.arguments", "gl.f32(n, 2)")]),
    ("gl.axpby(x, Y, Y)", [("python.arguments", "gl.axpby(x, Y, Y)")]),
    ("gl.axpby(x, Y, 1.0, Z=Y)", [("python.arguments", "gl.axpby(x, Y, 1.0, Z=Y)")]),
    ("x = x if n > 3 else n", [("python.two_types", "x if n > 3 else n")]),
    ("Y[0] = True", [("python.literal", "True")]),
    ("Y[0], Y[1] = x", [("python.assignment", "x")]),
    ("a, b = 1, 2, 3", [("python.assignment", "a, b")]),
    ("Y.shape = 3", [("python.assignment", "Y.shape")]),
    ("x + 1", [("python.statement", "x + 1")]),
    ("Y[0] = x ** n", [("python.types", "x ** n")]),
    ("t = n ** 2", [("python.operator", "n ** 2")]),
    ("Y[0] = ~x", [("python.operator", "~x")]),
    ("Y[0] = x % 2.0", [("python.operator", "x % 2.0")]),
    ("assert n > 3", [("python.constant", "n > 3")]),
    ('assert size > 9, "size is small"', [("python.constant", "size > 9")]),
    ("Y[0] = x and n", [("python.condition", "x")]),
    ("Y[0] = size[0]", [("python.index", "size[0]")]),
    ("Y[0] = X[0, 0, 0]", [("python.index", "0, 0, 0")]),
    ("Y[0] = x[0]", [("python.index", "x[0]")]),
    ("t = 10 ** 10000", [("python.literal", "10 ** 10000")]),
    ("t = 1 / 0", [("python.literal", "1 / 0")]),
    ("gl.foreach(n)", [("python.word", "gl.foreach(n)")]),
    ("for i, j in gl.foreach(n):\n    pass", [("python.loop", "i, j")]),
    ("for i in range(0, n, -1):\n    pass", [("python.loop", "-1")]),
    ("for i in gl.unroll(range(n)):\n    pass", [("python.constant", "n")]),
    ("del x", [("python.statement", "del x")]),
    ('print(f"x is {x}")', [("python.expression", 'f"x is {x}"')]),
    ("Y[0] = (t := x)", [("python.expression", "t := x")]),
    ("m = X[0:16, 0:16] @ X[0:16, 0:16]", [("python.view", "X[0:16, 0:16] @ X[0:16, 0:16]")]),
    (
        "with gl.parallel():\n    m = X[0:16, 0:16] @ X[0:8, 0:16]",
        [("cooperative_matrix_mul_add.k", "X[0:16, 0:16] @ X[0:8, 0:16]")],
    ),
    ("with gl.parallel():\n    m = X[0:16, 0:16] + X[0:8, 0:16]", [("python.types", "X[0:16, 0:16] + X[0:8, 0:16]")]),
    ("with gl.parallel():\n    X[0:8, 0:16] = X[0:16, 0:16]", [("python.types", "X[0:8, 0:16] = X[0:16, 0:16]")]),
    ("with gl.parallel():\n    X[0:16, 0:16] = 0.0", [("python.assignment", "0.0")]),
    ("for i in gl.foreach(n):\n    gl.axpby(1.0, Y, 1.0, Y)", [("python.region", "gl.axpby(1.0, Y, 1.0, Y)")]),
    ("def helper(t: gl.i32):\n    return t\nY[0] = helper(x)", [("python.types", "helper(x)")]),
    ("Y[0] = gl.f32(gl.sqrt(n))", [("python.types", "n")]),
    ("f = float(x)", [("python.call", "float")]),
    ("f = float('one')", [("python.literal", "'one'")]),
    ("if x < 1.0:\n    m = x\nfor i in range(n):\n    m = max(m, Y[i])\nY[0] = m", [("python.unset", "m")]),
    ("v = X[0:4, :]\nfor i in range(n):\n    Y[i] = v[0, 0]\n    v = X[4:8, :]", [("python.carried", "v")]),
    ("Y[0] = gl.f32(Y.size)", [("python.attribute", "Y.size")]),
    ("Y[0] = math.sqrt(x)", [("python.call", "math.sqrt(x)")]),
    ("Y[0] = math.sqrt(-1.0)", [("python.literal", "math.sqrt(-1.0)")]),
    ("for i in range(n):\n    with gl.parallel():\n        continue", [("python.return", "continue")]),
    (
        "for i in range(n):\n    if i > 1:\n        if i > 2:\n            continue\n        Y[i] = x\n    Y[0] = x",
        [("python.return", "if i > 1:")],
    ),
    (HELPER, [("python.types", "t / n")]),
    ("t: float = x", [("python.annotation", "float")]),
    ("if n > 3:\n    a = A[0]\nelse:\n    a = A[1]\nY[0] = a[0]", [("python.two_types", "a")]),
    ("if n > 3:\n    if n > 4:\n        return\n    Y[0] = x\nY[1] = x", [("python.return", "if n > 3:")]),
]
"""Bodies, and the code and the marked text of each diagnostic."""


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[body.partition("\n")[0] for body, _ in CASES])
def test_what_is_no_kernel(body: str, expected: list[tuple[str, str]]) -> None:
    found = problems(body)
    assert [(d.code, d.span.text) for d in found] == expected
    assert all(d.render() for d in found)


def test_what_the_language_does_not_have_comes_with_what_to_write() -> None:
    refused = [*REFUSED_STATEMENTS.values(), *REFUSED_EXPRESSIONS.values()]
    assert len(refused) > 25
    assert all(what and instead for what, instead in refused)


def test_a_slice_of_an_unknown_length_says_what_to_write() -> None:
    (found,) = problems("t = X[0:n, 0:4]")
    assert found.hint is not None and "gl.subview" in found.hint


def test_labels_show_where_types_come_from() -> None:
    (found,) = problems("t = X[0, 0]\nY[0] = t + n")
    assert found.hint == "convert one of them: gl.f32(n)"
    assert [(span.line, span.text, text) for span, text in found.labels] == [
        (3, "t", "this is f32"),
        (2, "X[0, 0]", "f32 comes from here"),
        (3, "n", "this is index"),
        (1, "n: gl.index", "index comes from here"),
    ]


def test_what_is_wrong_in_a_helper_shows_its_call() -> None:
    (found,) = problems(HELPER)
    assert [(span.line, text) for span, text in found.labels][-1] == (8, "`helper` is called here")


def test_nothing_is_said_twice() -> None:
    found = problems("t = missing\nu = t + 1.0\nY[0] = u\nY[1] = x + n")
    assert [d.code for d in found] == ["python.name", "python.types"]


@pytest.mark.parametrize(
    "body",
    ["Y[0] = " + " + ".join(["x"] * 600), "Y[0] = " + "-" * 80 + "x", "Y[0] = " + "(" * 60 + "x" + ")" * 60,
     "\n".join("    " * k + "if n > 1:" for k in range(60)) + " Y[0] = x"],
    ids=["sum", "signs", "parentheses", "branches"],
)  # fmt: skip
def test_what_nests_deep_is_translated_or_refused(body: str) -> None:
    assert {d.code for d in problems(body)} <= {"python.nesting"}


def test_loops_nest_without_costing_twice_as_much_each() -> None:
    depth = 18
    lines = ["s = 0", *("    " * k + f"for i{k} in range(2):" for k in range(depth)), "    " * depth + "s = s + 1"]
    assert problems("\n".join([*lines, "Y[s] = x"])) == []


def test_a_literal_that_nothing_gives_a_type_says_how() -> None:
    (found,) = problems("s = 0\nfor i in range(3):\n    s = s + 1\nY[0] = x * s")
    assert found.code == "python.types"
    assert found.hint is not None and found.hint.endswith("begin with s = gl.f32(...)")
