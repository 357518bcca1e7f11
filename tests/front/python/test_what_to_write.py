"""What a new user writes wrongly in a kernel: the message points at it, and its hint says what to write."""

from __future__ import annotations

import builtins
import functools
import linecache
import random
import statistics
import textwrap
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import girih
import girih.functions
import girih.language as gl
from girih.diagnostics import CompileError, Diagnostic
from girih.front.python.refusals import MEANINGFUL, REFUSED_BUILTINS
from girih.front.python.translate import read, translate
from girih.front.python.words.messages import judged_in_python
from girih.ir.check import check_module
from tests.front.python.random_functions import HEAD, function_of
from tests.front.python.test_random_functions import KNOWN


class Thing:
    k = 3

    def method(self, x: float) -> float:
        return x * self.k


@girih.kernel
def other(X: gl.Vector[gl.f32]) -> None:
    X[0] = 1.0


def add(a: Any, b: Any = 1.0, *, c: Any = 0.0) -> Any:
    return a + b + c


def again(a: Any) -> Any:
    return again(a)


def first(a: Any) -> Any:
    return second(a)


def second(a: Any) -> Any:
    return first(a)


def generator(a: Any) -> Any:
    yield a


@functools.lru_cache
def cached(a: float) -> float:
    return a


thing = Thing()
OUTSIDE: dict[str, object] = {
    "np": np, "F": girih.functions, "Thing": Thing, "thing": thing, "method": thing.method, "other": other, "add": add,
    "again": again, "first": first, "second": second, "generator": generator, "cached": cached, "random": random,
    "statistics": statistics, "partial": functools.partial(add, 1.0), "listed": [1, 2], "mapped": {"a": 1},
    "table": np.zeros((2, 3)), "reduce": functools.reduce,
}  # fmt: skip


def problems(body: str) -> list[Diagnostic]:
    """What is said of a kernel with a body, whose parameters are X, Y, A, n, x and size."""
    function = function_of(HEAD + textwrap.indent(body, "    ") + "\n", f"<{hash(body)}>")
    function.__globals__.update(OUTSIDE)
    try:
        return judged_in_python(check_module(translate(read(function), KNOWN)))
    except CompileError as error:
        return list(error.diagnostics)


CALLS = [
    ("t = gl.sort(X)", "name", "gl.sort", "comparisons with gl.minimum and gl.maximum"),
    ('gl.barrier("shared")', "arguments", '"shared"', 'gl.barrier("local")'),
    ('gl.barrier("everything")', "arguments", '"everything"', None),
    ("gl.atomic_add(X, (n, gl.i32(n)), x)", "types", "gl.i32(n)", "gl.index(gl.i32(n))"),
    ("p = (n, gl.i32(n))\ngl.atomic_add(X, p, x)", "types", "gl.i32(n)", "gl.index(gl.i32(n))"),
    ("t = gl.cdiv(n, 2.0)", "types", "2.0", "write 2"),
    ("t = gl.cdiv(x, n)", "types", "x", "gl.index(x) drops the fraction"),
    ("t = gl.cdiv(n, 2.5)", "types", "2.5", None),
    ("t = gl.cdiv(X, 2)", "types", "X", None),
    ("t = gl.argmax(X)", "name", "gl.argmax", "gl.subgroup_reduce_max(x), and gl.subgroup_reduce_min of the indices"),
    ("t = gl.atomic_cas(Y, 0, x)", "name", "gl.atomic_cas", "there are no other atomics"),
    ("t = gl.inf", "name", "gl.inf", 'float("inf")'),
    ("t = gl.floor(x)", "name", "gl.floor", "gl.where(gl.f32(i) > x, i - 1, i)"),
    ("t = gl.u8(1)", "name", "gl.u8", "gl.i8, and pass X.view(np.int8)"),
    ("t = gl.sinn(x)", "name", "gl.sinn", "did you mean `sin`?"),
    ("t = gl.unheard_of(x)", "name", "gl.unheard_of", "dir(gl) lists its names"),
    ("F.softmax(X)", "call", "F.softmax", "gl.exp(row - gl.max(row, axis=1))"),
    ("F.topk(X, 2)", "call", "F.topk", "call it on arrays before or behind the kernel"),
    ("Y[0] = np.exp(x)", "call", "np.exp", "write gl.exp(...)"),
    ("t = np.zeros((4, 4), dtype=np.float32)", "call", "np.zeros", "write gl.zeros(...)"),
    ("t = np.float32(x)", "call", "np.float32", "write gl.f32"),
    ("t = np.linalg.norm(X)", "call", "np.linalg.norm", "call it on arrays before or behind"),
    ("other(Y)", "call", "other", "a function without @girih.kernel"),
    ("other[4](Y)", "call", "other", "launch it before or behind this one"),
    ("t = Thing()", "call", "Thing", "use names of their own, or a tuple"),
    ("Y[0] = method(x)", "call", "method", "write a function of its own"),
    ("Y[0] = thing.method(x)", "capture", "thing", "value = thing.value"),
    ("Y[0] = gl.f32(listed[0])", "capture", "listed", "make it a tuple"),
    ('Y[0] = mapped["a"]', "capture", "mapped", "value = mapped[...]"),
    ("Y[0] = table[0, 0]", "capture", "table", "make it a parameter: table: gl.Matrix[...]"),
    ("Y[0] = partial(x)", "call", "partial", "lambda x: f(2, x)"),
    ("Y[0] = cached(x)", "call", "cached", "call a function without one"),
    ("Y[0] = random.random()", "call", "random.random", "an array of random numbers, as a parameter"),
    ("Y[0] = statistics.mean((x, x))", "call", "statistics.mean", "do it outside of the kernel"),
    ("Y[0] = reduce(add, (x, x))", "call", "reduce", "gl.combine"),
    ("Y[0] = size(x)", "call", "size", "leave the parentheses out"),
    ("Y[0] = gl.Vector(x)", "call", "gl.Vector", "gl.local(shape, dtype)"),
    ("with gl.parallel():\n    t = gl.apply(np.exp, X[0:4, 0:4])", "arguments", "np.exp", "write gl.exp(...)"),
    ("with gl.parallel():\n    t = gl.apply(3, X[0:4, 0:4])", "arguments", "3", "write lambda x: ..."),
    ("Y[0] = add()", "arguments", "add()", "it is add(a: Any, b: Any=1.0, *, c: Any=0.0)"),
    ("Y[0] = add(x, x, x)", "arguments", "add(x, x, x)", "it is add(a: Any, b: Any=1.0, *, c: Any=0.0)"),
    ("Y[0] = add(x, d=x)", "arguments", "add(x, d=x)", "it is add(a: Any, b: Any=1.0, *, c: Any=0.0)"),
    ("Y[0] = (lambda v, w: v)(x)", "arguments", "(lambda v, w: v)(x)", "it is <lambda>(v, w)"),
    ("f = lambda *v: v\nY[0] = f(x)", "arguments", "f(x)", "it is <lambda>(*v)"),
    ("Y[0] = again(x)", "recursion", "again(a)", "write a loop"),
    ("Y[0] = first(x)", "recursion", "first(a)", "write a loop"),
    ("Y[0] = generator(x)", "expression", "yield a", "kernels store their results"),
    ("Y[0] = len(x)", "operator", "x", "arrays, groups and tuples have one"),
    ("Y[0] = gl.f32(len(Y, Y))", "arguments", "len(Y, Y)", None),
    ('print(x, sep=",")', "arguments", 'print(x, sep=",")', "leave them out"),
    ('print("x %f" % x)', "operator", '"x %f" % x', 'print("x is", x)'),
    ('print("a" + "b", x)', "operator", '"a" + "b"', 'print("x is", x)'),
    ("Y[0] = gl.exp(x, x)", "arguments", "gl.exp(x, x)", "it is gl.exp(x)"),
    ("Y[0] = gl.sum(Y)", "types", "Y", "loop over the elements: s += X[i]"),
    ("Y[0] = gl.sum(x)", "types", "x", "numbers are added with `+`"),
    ("Y[0] = gl.max(x, x)", "types", "x", "of numbers write max(a, b)"),
    ("with gl.parallel():\n    t = gl.sum(X[0:16, 0:16])", "arguments", "gl.sum(X[0:16, 0:16])",
     "gl.sum(m, axis=1) goes along rows, axis=0 along columns; over all: gl.combine(lambda a, b: a + b, m)"),
    ("s = gl.local(4, 8)", "arguments", "8", "sizes are one argument, a tuple"),
    ("s = gl.local((4, 8), np.float32)", "arguments", "np.float32", "write gl.f32"),
    ('s = gl.local((4, 8), "f32")', "arguments", '"f32"', "write gl.f32"),
    ("s = gl.local((4, 8), float)", "arguments", "float", "say how large: gl.f32 or gl.f64"),
    ("t = gl.nonsense(x)", "name", "gl.nonsense", "dir(gl) lists its names"),
    ("t = gl.threadIdx", "name", "gl.threadIdx", "gl.subgroup_local_id()"),
]  # fmt: skip
NUMBERS = [
    ("t = x % 3.0", "operator", "x % 3.0", "gl.rem(a, b) has the sign of a"),
    ("t = (x > 0.0) == (x > 1.0)", "operator", "(x > 0.0) == (x > 1.0)", "`a == b` is `not (a ^ b)`"),
    ("if X.shape == Y.shape:\n    pass", "operator", "X.shape", "compare numbers: X.shape[0] == Y.shape[0]"),
    ("t = (x, x)\nt[0] = x", "index", "t[0]", "a tuple stays as it is"),
    ("t = n * 1.5", "types", "n * 1.5", "convert the integer: gl.f32(n)"),
    ("t = 2.0 + n", "types", "2.0 + n", "gl.f32(n), or write 2"),
    ("t = 1.5 if x > 0 else 2.0\nt = n * t", "types", "n * t", "gl.f32(n)"),
    ("if n in (1, 2):\n    pass", "constant", "n", "n == 1 or n == 2"),
    ("if x in Y:\n    pass", "operator", "Y", "compare in a loop"),
    ('if "a" in "abc":\n    pass', "operator", '"abc"', "write the items"),
    ("t = (1, 2) + (x, 3)", "operator", "(1, 2)", "(a[0], a[1], b[0])"),
    ("t = (x, n)\nY[0] = t[n]", "constant", "n", "gl.local(shape, dtype)"),
    ('t = gl.f32("1.0")', "types", '"1.0"', "without quotation marks"),
    ("t = gl.f32()", "arguments", "gl.f32()", "write gl.f32(x)"),
    ("t = math.floor(x)", "call", "math.floor(x)", "gl.i32(x)"),
    ("t = math.exp(x)", "call", "math.exp(x)", "write gl.exp(...)"),
    ("t = max(x)", "arguments", "max(x)", "write max(a, b)"),
    ("t = max(Y)", "arguments", "max(Y)", "m = max(m, X[i])"),
    ("for i in gl.foreach(n, start=3):\n    pass", "arguments", "gl.foreach(n, start=3)", "gl.foreach((begin, end))"),
    ('gl.print(x, "text")', "types", 'x, "text"', 'print("x and y are", x, y)'),
    ("gl.barrier", "statement", "gl.barrier", "write the parentheses"),
    ("for i in gl.foreach(n):\n    gl.atomic_add(Y, i, n)", "types", "n", "gl.f32(n)"),
    ('Y[0] = "1.0"', "types", '"1.0"', "without quotation marks"),
    ("Y[0] = None", "types", "None", "a function gives None where it ends without `return` of a value"),
    ("Y[0] = 1j", "literal", "1j", "complex numbers have the types gl.c32 and gl.c64"),
    ("Y[0] = 10**400", "literal", "10**400", "write a smaller number"),
    ("t = gl.i8(300)", "constant.range", "gl.i8(300)", "i8 holds -128 to 127"),
    ("Y[0] = (x,)", "types", "(x,)", "pick out one item"),
    ("Y[0] = gl.exp", "types", "gl.exp", "called with its arguments"),
    ("Y[0] = gl.f32", "types", "gl.f32", "called to convert"),
    ("Y[0] = A", "types", "A", "A[i][j]"),
    ("Y[0] = x > 0", "types", "x > 0", "gl.f32(x > 0)"),
    ("Y[0] = x << 1", "operator", "x << 1", "gl.i32(x)"),
    ("Y[0] = x & 1.0", "operator", "x & 1.0", "joined by `and`"),
    ("Y[0] = x @ x", "operator", "x", "multiplied with `*`"),
    ("for i in range(1.5):\n    pass", "loop", "1.5", "divide with `//`"),
    ("for i in range(2.0):\n    pass", "loop", "2.0", "write 2"),
    ("for i in range(True):\n    pass", "loop", "True", "give it an integer"),
    ("for i in range(x):\n    pass", "loop", "x", "gl.index(x)"),
    ("for i in range(Y):\n    pass", "loop", "Y", "range(Y.shape[0])"),
    ("for i in range():\n    pass", "arguments", "range()", "range(begin, end, step)"),
    ("for i in 3:\n    pass", "loop", "3", "for i in range(3)"),
    ("for i in n:\n    pass", "loop", "n", "for i in range(n)"),
    ("for y in Y:\n    pass", "loop", "Y", "Y[i]"),
    ("for i in gl.foreach(x):\n    pass", "loop", "x", "gl.index(x)"),
    ("for i, j in gl.foreach(X.shape):\n    pass", "loop", "i, j", "gl.foreach(*X.shape)"),
    ("for i in gl.foreach(4, 4):\n    pass", "loop", "i", "for i, j in ..."),
]
ARRAYS = [
    ("t = gl.load(Y[n])", "types", "Y[n]", "single elements need no word"),
    ("gl.store(Y, x)", "types", "x", "single elements need no word"),
    (
        "for i in gl.foreach(n):\n    for j in gl.foreach(n):\n        pass",
        "region",
        "for j in gl.foreach(n)",
        "for j in range(n)",
    ),
    ("for i in prange(n):\n    pass", "name", "prange", "for i in gl.foreach(n)"),
    ("Y[0] = exp(x)", "name", "exp", "write gl.exp(...)"),
    ("t = gl.sync_threads()", "name", "gl.sync_threads", 'gl.barrier("local")'),
    ("t = gl.thread_idx", "name", "gl.thread_idx", "gl.subgroup_local_id()"),
    ("t = x.shape", "attribute", "x.shape", "gl.Vector[gl.f32]"),
    ("with gl.parallel():\n    gl.store(x, X[0:16, 0:16])", "types", "x", "gl.full(shape, value, dtype)"),
    ("gl.gemm(1.0, Y, Y, 0.0, Y)", "types", "Y", "gl.expand"),
    ("n[0] = 3", "index", "n[0]", "an array has an annotation such as gl.Vector[gl.f32]"),
    ("Y[0.5] = x", "index", "0.5", "divide with `//`"),
    ("t = Y[-4:]", "index", "-4", "Y.shape[0] - 4"),
    ("t = Y[:-1]", "index", "-1", "gl.subview(Y, 0, Y.shape[0] - 1)"),
    ("t = Y[5:1]", "slice", "5:1", "write the smaller number first"),
    ("t = X.shape[2]", "index", "2", "the last one has number 1"),
    ("t = A.shape", "attribute", "A.shape", "G[i].shape"),
    ("t = x.real", "attribute", "x.real", "complex numbers have parts"),
    ("t = Y.shap", "attribute", "Y.shap", "did you mean `shape`?"),
    ("t = Y.mean()", "call", "Y.mean", "divide by the size"),
    ("t = Y.sum()", "call", "Y.sum", "add in a loop"),
    ("t = Y.astype(gl.f32)", "call", "Y.astype", "gl.f32(X[i])"),
    ("t = Y.reshape(4, 4)", "call", "Y.reshape", "gl.expand"),
    ("t = Y + 1.0", "view", "Y", "for i in gl.foreach(X.shape[0])"),
    ("t = X * 2.0", "view", "X", "for i, j in gl.foreach(*X.shape)"),
    ("with gl.parallel():\n    t = Y[0:4] * 2.0", "view", "Y[0:4]", "gl.expand(v, 0, (1, n)) is a row of n"),
    ("with gl.parallel():\n    t = X[0, 0:4] * 2.0", "view", "X[0, 0:4]", "keep a second axis"),
    ("with gl.parallel():\n    t = X[0:4, 0:4] + X[0:8, 0:8]", "types", "X[0:4, 0:4] + X[0:8, 0:8]", "sizes are equal"),
    ("assert x > 0", "constant", "x > 0", "at run time write `if`"),
    ("t: int = 3", "annotation", "int", "gl.i32, gl.i64 or gl.index"),
    ('t: "f32" = x', "annotation", '"f32"', "write gl.f32"),
    ("t = ...", "expression", "...", "write `:`"),
    ("def f(v):\n    if v > 0:\n        return v\nY[0] = f(x)", "return", "f(x)", "end every way with a `return`"),
]


@pytest.mark.parametrize(("body", "code", "marked", "hint"), [*CALLS, *NUMBERS, *ARRAYS])
def test_what_is_wrong_is_marked_with_what_to_write(body: str, code: str, marked: str, hint: str | None) -> None:
    (found,) = problems(body)
    assert found.code == (code if "." in code else f"python.{code}")
    assert found.span.text == marked
    assert (hint in (found.hint or "")) if hint else found.hint is None
    assert str(Path(girih.__file__).parent) not in found.render()


def test_every_function_of_python_has_a_meaning_or_what_to_write() -> None:
    kinds = (type(print), type)
    named = {name for name, value in vars(builtins).items() if isinstance(value, kinds) and name[0] != "_"}
    errors = {n for n in named if isinstance(value := getattr(builtins, n), type) and issubclass(value, BaseException)}
    assert named - errors - set(MEANINGFUL) <= set(REFUSED_BUILTINS)
    assert not set(MEANINGFUL) & set(REFUSED_BUILTINS)
    for name in sorted(named - errors - set(MEANINGFUL)):
        (found,) = problems(f"t = {name}(Y)")
        assert (found.code, found.span.text, found.hint) == ("python.call", name, REFUSED_BUILTINS[name])


def test_a_wrong_call_of_a_helper_shows_both_places() -> None:
    (found,) = problems("Y[0] = add(x, x, x)")
    places = [(span.text, text) for span, text in found.labels]
    head = "def add(a: Any, b: Any = 1.0, *, c: Any = 0.0) -> Any:"
    assert places == [("add(x, x, x)", ""), (head, "`add` is defined here")]


def test_recursion_shows_each_call_once() -> None:
    (found,) = problems("Y[0] = first(x)")
    assert [text for _, text in found.labels] == ["called again", "`second` is called here", "`first` is called here"]


def test_a_function_of_the_user_with_the_name_of_a_module_of_python_is_a_helper() -> None:
    """What counts is where the text of a function lies, not what it says that its module is."""
    text = "def helper(a):\n    return a + 1.0\n"
    space: dict[str, object] = {"__name__": "statistics"}
    linecache.cache["<helper>"] = (len(text), None, text.splitlines(True), "<helper>")
    exec(compile(text, "<helper>", "exec"), space)
    helper = space["helper"]
    assert isinstance(helper, FunctionType) and helper.__module__ == "statistics"
    function = function_of(HEAD + "    Y[0] = helper(x)\n", "<calls a helper>")
    function.__globals__["helper"] = helper
    assert check_module(translate(read(function), KNOWN)) == []


def test_defaults_of_functions_are_those_of_their_definition() -> None:
    """Python computes a default once, where the function is defined."""
    X = np.zeros(4, np.float32)

    @girih.kernel
    def kernel(X: gl.Vector[gl.f32]) -> None:
        w = 1.0
        fs: Any = ((lambda v, w=w: v + w),)
        w = 5.0

        def g(v: Any, *, w: Any = w) -> Any:
            return v + w

        w = 9.0
        X[0] = fs[0](10.0)
        X[1] = g(10.0)
        X[2] = fs[0](10.0, w)
        X[3] = g(10.0, w=w)

    kernel(X)
    assert list(X) == [11, 15, 19, 19]


def test_points_of_all_of_an_array() -> None:
    X = np.zeros((3, 4), np.float32)

    @girih.kernel
    def kernel(X: gl.Matrix[gl.f32]) -> None:
        for i, j in gl.foreach(*X.shape):
            X[i, j] += gl.f32(10 * i + j)

    kernel(X)
    assert np.array_equal(X, np.add.outer(10 * np.arange(3), np.arange(4)))


WRITTEN = [
    "t = gl.subview(Y, 0, Y.shape[0] - 1)",
    "t = gl.subview(Y, n, 4)",
    "r = gl.local((), gl.f32)\ngl.sum(1.0, Y, 0.0, r)",
    "s = 0.0\nfor i in range(Y.shape[0]):\n    s += Y[i]\nY[0] = s / gl.f32(Y.shape[0])",
    "m = Y[0]\nfor i in range(Y.shape[0]):\n    m = max(m, Y[i])\nY[0] = m",
    "found = False\nfor i in range(n):\n    found = found or Y[i] == x\nif found:\n    Y[0] = x",
    "for i, j in gl.foreach(*X.shape):\n    X[i, j] = gl.f32(i) + gl.f32(X[i, j])",
    "with gl.parallel():\n    for i in range(0, n, 16):\n        X[i:i + 16, 0:16] = gl.full((16, 16), 0.0, gl.f32)",
    "with gl.parallel():\n    m = gl.load(X[0:16, 0:16])\n    m = gl.combine(lambda a, b: a + b, m)",
    "with gl.parallel():\n    m = gl.load(X[0:16, 0:16])\n    m = gl.combine(gl.maximum, m)",
    "with gl.parallel():\n    row = gl.load(X[0:16, 0:16])\n    e = gl.exp(row - gl.max(row, axis=1))\n"
    "    X[0:16, 0:16] = e / gl.sum(e, axis=1)",
    "with gl.parallel():\n    m = gl.apply(lambda v: v + 1.0, X[0:16, 0:16])\n    X[0:16, 0:16] = m",
    "Y[0] = 0.5 * x * (1.0 + gl.erf(x * 0.7071067811865476))",
    "Y[0] = gl.f32(gl.bitcast(x, gl.i32) & 1) + gl.f32(gl.i32(x + 0.5))",
    "with gl.parallel():\n    Y[0] = gl.subgroup_reduce_add(x) + gl.subgroup_inclusive_scan_add(x)",
    "gl.axpby(1.0, X, 0.0, X)",
    "t = gl.expand(Y, 0, (Y.shape[0], 1))",
    "if n == 1 or n == 2:\n    Y[0] = x",
    'print("x and y are", x, Y[0])',
    "for i in gl.foreach((1, n)):\n    Y[n - 1 - i] = x",
    "X[0, 0] = X.T[0, 0] if gl.associated(X) else 0.0",
]
"""What hints say to write, in kernels."""


@pytest.mark.parametrize("body", WRITTEN, ids=[body.replace("\n", "; ") for body in WRITTEN])
def test_what_hints_say_is_right(body: str) -> None:
    assert [p for p in problems(body) if p.severity == "error"] == []
