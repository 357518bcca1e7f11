"""Random functions of Python: texts that Python accepts, most of which are no kernels."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from inspect import signature
from random import Random
from typing import Any

import girih.language as gl
from girih.language.words import WORD

NAMES = ("X", "Y", "A", "n", "x", "i", "k", "size", "gl", "t", "s", "helper", "range", "len", "min", "gl.group_id")
EVERY_WORD = sorted((*gl.__all__, *gl.NAMED_AS_BUILTINS))
WORDS = (*(name for name in EVERY_WORD if name[0].islower()), "nothing")
SIGNATURES = {name: signature(getattr(gl, name)) for name in EVERY_WORD if hasattr(getattr(gl, name), WORD)}
HEAD = "def kernel(X: gl.Matrix[gl.f32], Y: gl.Vector[gl.f32], A: gl.Group[gl.Vector[gl.f32]], n: gl.index,"
HEAD += " x: gl.f32, size: gl.constant) -> None:\n"


class Functions:
    """The generator of random functions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def text(self) -> str:
        """The text of a function that Python accepts."""
        while True:
            body = self.block(3)
            for statement in body:
                ast.fix_missing_locations(statement)
            try:
                text = HEAD + "".join("    " + line + "\n" for s in body for line in ast.unparse(s).split("\n"))
                compile(text, "<random>", "exec")
            except (SyntaxError, ValueError, TypeError, RecursionError):
                continue
            return text

    def pick(self, *choices: Callable[[], Any]) -> Any:
        return self.random.choice(choices)()

    # --- statements --------------------------------------------------------------------

    def block(self, depth: int) -> list[ast.stmt]:
        return [self.statement(depth) for _ in range(self.random.randint(1, 3))]

    def statement(self, depth: int) -> ast.stmt:
        kinds: list[Callable[[int], ast.stmt]] = [self.assign, self.assign, self.assign, self.augmented, self.store,
                                                  self.bare]  # fmt: skip
        if depth > 0:
            kinds += [self.branch, self.loop, self.loop, self.region, self.helper, self.odd]
        return self.random.choice(kinds)(depth)

    def assign(self, depth: int) -> ast.stmt:
        if self.random.random() < 0.2:
            return ast.AnnAssign(self.name(ast.Store()), self.attribute(), self.expression(3), 1)
        target: ast.expr = self.name(ast.Store())
        if self.random.random() < 0.2:
            target = ast.Tuple([self.name(ast.Store()), self.name(ast.Store())], ast.Store())
        return ast.Assign([target], self.expression(3))

    def augmented(self, depth: int) -> ast.stmt:
        target: ast.Name | ast.Subscript = self.name(ast.Store())
        if self.random.random() < 0.5:
            target = self.subscript(2, ast.Store())
        return ast.AugAssign(target, self.operator(), self.expression(2))

    def store(self, depth: int) -> ast.stmt:
        return ast.Assign([self.subscript(2, ast.Store())], self.expression(2))

    def bare(self, depth: int) -> ast.stmt:
        return ast.Expr(self.expression(3))

    def branch(self, depth: int) -> ast.stmt:
        other = self.block(depth - 1) if self.random.random() < 0.5 else []
        return ast.If(self.expression(3), self.block(depth - 1), other)

    def loop(self, depth: int) -> ast.stmt:
        iterable = self.pick(
            lambda: ast.Call(ast.Name("range"), [self.expression(1) for _ in range(self.random.randint(1, 3))], []),
            lambda: ast.Call(self.word("foreach"), [self.expression(1) for _ in range(self.random.randint(1, 2))], []),
            lambda: ast.Call(self.word("unroll"), [ast.Call(ast.Name("range"), [ast.Constant(3)], [])], []),
            lambda: self.expression(2),
        )
        target = self.pick(
            lambda: self.name(ast.Store()),
            lambda: self.name(ast.Store()),
            lambda: ast.Tuple([self.name(ast.Store()), self.name(ast.Store())], ast.Store()),
        )
        return ast.For(target, iterable, self.block(depth - 1), self.block(0) if self.random.random() < 0.05 else [])

    def region(self, depth: int) -> ast.stmt:
        context = ast.Call(self.word("parallel"), [], []) if self.random.random() < 0.9 else self.expression(1)
        return ast.With([ast.withitem(context)], self.block(depth - 1))

    def helper(self, depth: int) -> ast.stmt:
        arguments = ast.arguments([], [ast.arg("t")], None, [], [], None, [])
        return ast.FunctionDef("helper", arguments, [*self.block(depth - 1), ast.Return(self.expression(2))], [])

    def odd(self, depth: int) -> Any:
        return self.pick(
            lambda: ast.Return(self.expression(2) if self.random.random() < 0.5 else None),
            lambda: ast.While(self.expression(2), self.block(depth - 1), []),
            lambda: ast.Try(self.block(depth - 1), [ast.ExceptHandler(None, None, self.block(0))], [], []),
            lambda: ast.Raise(self.expression(1)),
            lambda: ast.Assert(self.expression(2)),
            lambda: ast.Delete([self.name(ast.Del())]),
            lambda: ast.Import([ast.alias("math")]),
            lambda: ast.Pass(),
            lambda: ast.ClassDef("helper", [], [], self.block(0), []),
            lambda: ast.Match(self.expression(1), [ast.match_case(ast.MatchAs(None, "t"), None, self.block(0))]),
            lambda: ast.Global(["t"]),
        )

    # --- expressions -------------------------------------------------------------------

    def name(self, context: ast.expr_context) -> ast.Name:
        return ast.Name(self.random.choice(("t", "s", "x", "i", "k", "n", "X")), context)

    def word(self, name: str) -> ast.expr:
        return ast.Attribute(ast.Name("gl"), name)

    def attribute(self) -> ast.expr:
        return self.word(self.random.choice(WORDS))

    def operator(self) -> ast.operator:
        return self.random.choice((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult,
                                   ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift))()  # fmt: skip

    def constant(self) -> ast.expr:
        values = (0, 1, 2, 3, -1, 32, 1.5, 0.0, 1e300, True, False, None, "text", 2j, 10**30, b"bytes", ...)
        return ast.Constant(self.random.choice(values))

    def subscript(self, depth: int, context: ast.expr_context) -> ast.Subscript:
        owner = ast.Name(self.random.choice(("X", "Y", "A", "t", "size"))) if depth < 3 else self.expression(depth - 1)
        places = [self.place(depth - 1) for _ in range(self.random.randint(1, 2))]
        return ast.Subscript(owner, places[0] if len(places) == 1 else ast.Tuple(places, ast.Load()), context)

    def place(self, depth: int) -> Any:
        if self.random.random() < 0.4:
            begin = self.expression(depth)
            end = ast.BinOp(begin, ast.Add(), ast.Constant(self.random.choice((0, 4, 32))))
            return self.pick(
                lambda: ast.Slice(begin, end),
                lambda: ast.Slice(None, None),
                lambda: ast.Slice(None, self.expression(depth)),
                lambda: ast.Slice(begin, None, ast.Constant(1)),
            )
        return self.expression(depth)

    def expression(self, depth: int) -> Any:
        if depth <= 0 or self.random.random() < 0.25:
            return self.pick(lambda: ast.Name(self.random.choice(NAMES)), self.constant, lambda: ast.Name("n"))
        smaller = depth - 1
        return self.pick(
            lambda: ast.BinOp(self.expression(smaller), self.operator(), self.expression(smaller)),
            lambda: ast.BinOp(self.expression(smaller), ast.Add(), self.expression(smaller)),
            lambda: ast.UnaryOp(
                self.random.choice((ast.USub, ast.Not, ast.Invert, ast.UAdd))(), self.expression(smaller)
            ),
            lambda: self.comparison(smaller),
            lambda: ast.BoolOp(
                self.random.choice((ast.And, ast.Or))(), [self.expression(smaller), self.expression(smaller)]
            ),
            lambda: ast.IfExp(self.expression(smaller), self.expression(smaller), self.expression(smaller)),
            lambda: self.subscript(depth, ast.Load()),
            lambda: self.subscript(depth, ast.Load()),
            lambda: self.call(smaller),
            lambda: self.call(smaller),
            lambda: ast.Attribute(self.expression(smaller), self.random.choice(("shape", "T", "ndim", "real", "f32"))),
            lambda: ast.Tuple([self.expression(smaller), self.expression(smaller)], ast.Load()),
            lambda: ast.Lambda(ast.arguments([], [ast.arg("t")], None, [], [], None, []), self.expression(smaller)),
            lambda: self.random.choice(
                (
                    ast.List([self.expression(smaller)], ast.Load()),
                    ast.Dict([self.expression(0)], [self.expression(0)]),
                    ast.JoinedStr([ast.Constant("text")]),
                    ast.NamedExpr(ast.Name("t", ast.Store()), self.expression(0)),
                    ast.GeneratorExp(
                        self.expression(0), [ast.comprehension(ast.Name("t", ast.Store()), self.expression(0), [], 0)]
                    ),
                )
            ),
        )

    def comparison(self, depth: int) -> ast.expr:
        kinds: list[type[ast.cmpop]] = [ast.Lt, ast.Eq, ast.Is, ast.In, ast.GtE]
        operators = [self.random.choice(kinds)() for _ in range(self.random.randint(1, 2))]
        return ast.Compare(self.expression(depth), operators, [self.expression(depth) for _ in operators])

    def word_call(self) -> ast.expr:
        """A word with as many arguments as it takes, of which most have no meaning for it."""
        name = self.random.choice(sorted(SIGNATURES))
        arguments: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for parameter in SIGNATURES[name].parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY:
                if self.random.random() < 0.3:
                    keywords.append(ast.keyword(parameter.name, self.argument()))
            elif parameter.default is parameter.empty or self.random.random() < 0.3:
                arguments.append(self.argument())
        return ast.Call(self.word(name), arguments, keywords)

    def argument(self) -> Any:
        """Something that words take."""
        texts = ("X", "Y", "x", "n", "A[0]", "X[0:4, 0:8]", "X[n:n + 4, 8:12]", "0", "1", "1.5", "True", "(4, 8)",
                 "gl.f32", "gl.i32", "size", "(n, 4)", "t", "s", "lambda p: p", "lambda p, q: p + q", "'row'", "'text'",
                 "gl.zeros((4, 8), gl.f32)", "X[0:4, 0:4] @ X[0:4, 0:8]", "gl.tensor_layout(2)")  # fmt: skip
        return ast.parse(self.random.choice(texts), mode="eval").body

    def call(self, depth: int) -> ast.expr:
        if self.random.random() < 0.6:
            return self.word_call()
        callee = self.pick(
            self.attribute,
            self.attribute,
            lambda: ast.Name(self.random.choice(("helper", "min", "max", "abs", "len", "print", "float", "t"))),
            lambda: ast.Attribute(ast.Name("math"), self.random.choice(("sqrt", "exp", "floor", "comb"))),
            lambda: self.expression(depth),
        )
        arguments = [self.expression(depth) for _ in range(self.random.randint(0, 3))]
        keywords = [ast.keyword("axis", self.expression(0))] if self.random.random() < 0.1 else []
        return ast.Call(callee, arguments, keywords)


def function_of(text: str, name: str) -> Callable[..., object]:
    """The function of a text, which can be read from under a name, as that of a notebook's cell can."""
    import math

    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"gl": gl, "math": math}
    exec(compile(text, name, "exec"), space)
    function: Callable[..., object] = space["kernel"]
    return function
