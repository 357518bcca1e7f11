"""Statements: assignments, branches, loops, regions, returns; what the language does not have is refused by name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from girih.front.python.branches import place_of
from girih.front.python.codes import PythonFault
from girih.front.python.conversions import element_hint, scalar_type
from girih.front.python.emission import MOST_DIAGNOSTICS, described
from girih.front.python.loops import Loops
from girih.front.python.operands import Known, LiteralChoice, Many, Memory, Operand, Part, Runtime, Unset
from girih.front.python.scopes import RESULT, assigned, continues
from girih.language.types import Array, Block, Group, Matrix, Scalar, Vector
from girih.language.words import WORD
from girih.source import Span

REFUSED_STATEMENTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: (
        "`while`",
        "write for i in range(most), with an `if` in it: loops have a bound that is known when they begin",
    ),
    ast.Try: ("`try`", "nothing is raised in a kernel: test before, with `if`"),
    ast.TryStar: ("`try`", "nothing is raised in a kernel: test before, with `if`"),
    ast.Raise: ("`raise`", "store a code to memory, or gl.print what is wrong"),
    ast.ClassDef: ("a class", "use names of their own, or tuples"),
    ast.AsyncFunctionDef: ("`async def`", "write `def`"),
    ast.AsyncFor: ("`async for`", "write `for`"),
    ast.AsyncWith: ("`async with`", "write with gl.parallel():"),
    ast.Break: ("`break`", "a loop ends with its range: bound it, or keep a bool and put the body into an `if`"),
    ast.Delete: ("`del`", "names end with their function"),
    ast.Global: ("`global`", "pass what the kernel reads, and store what it computes"),
    ast.Nonlocal: ("`nonlocal`", "return the value"),
    ast.Import: ("`import`", "import outside of the kernel"),
    ast.ImportFrom: ("`import`", "import outside of the kernel"),
    ast.Match: ("`match`", "write `if` and `elif`"),
}
"""The statements that the language does not have: what they are, and what to write."""


_UNCHECKED: tuple[object, ...] = (Any, Array, Scalar, Vector, Matrix, Group, Block)
"""Annotations of names that say nothing which the value does not: what has elements has one type anyway."""


class Statements(Loops):
    """The translator's part for statements."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Translate statements; what is wrong with one is kept, and the next one is translated."""
        for position, statement in enumerate(body):
            if len(self.diagnostics) >= MOST_DIAGNOSTICS:
                return
            before = len(self.diagnostics)
            try:
                with self.nested(self.span(statement)):
                    if self._statement(statement, body[position + 1 :]):
                        return
            except PythonFault as found:
                self.report(found)
                self._give_up(statement)
                if len(self.diagnostics) > before and isinstance(statement, ast.Return):
                    return

    def _give_up(self, statement: ast.stmt) -> None:
        """Names that a statement in error sets are in error themselves."""
        for name in assigned([statement]):
            self.scope.names[name] = Unset()

    def _statement(self, statement: ast.stmt, following: Sequence[ast.stmt]) -> bool:
        """Translate a statement; True if the statements that follow it were translated with it."""
        if isinstance(statement, ast.Return):
            self._return(statement)
            return True
        if isinstance(statement, ast.Continue):
            self._continue(statement)
            return True
        if isinstance(statement, ast.If) and (returns(statement) or continues(statement)):
            return self._leaving_branch(statement, following)
        method: Callable[[ast.stmt], None] | None = getattr(self, f"_on_{type(statement).__name__.lower()}", None)
        if method is None:
            what, instead = REFUSED_STATEMENTS.get(type(statement), (f"`{type(statement).__name__}`", ""))
            self.fail("statement", f"{what} has no meaning in a kernel", self._head(statement), instead or None)
        method(statement)
        return False

    def _on_pass(self, node: ast.Pass) -> None:
        """Nothing is to be done."""

    def _on_for(self, node: ast.For) -> None:
        self.loop(node)

    def _head(self, statement: ast.stmt) -> Span:
        """The first line of a statement."""
        span = self.span(statement)
        end = span.source.text.find("\n", span.start, span.end)
        return Span(span.source, span.start, end if end > 0 else span.end)

    # --- assignments -----------------------------------------------------------------------

    def _on_assign(self, node: ast.Assign) -> None:
        operand = self._value_of(node.value)
        for target in node.targets:
            self.assign(target, operand, self.span(node.value))

    def _value_of(self, node: ast.expr) -> Operand:
        """What an expression stands for, as a name keeps it: a product is computed, a view is a view."""
        operand = self.set(self.expression(node), self.span(node))
        return self.kept(operand, self.span(node))

    def kept(self, operand: Operand, span: Span) -> Operand:
        """An operand as a name keeps it."""
        if isinstance(operand, Many):
            items = tuple(self.kept(self.set(item, span), span) for item in operand.items)
            return Many(items, operand.places)
        if isinstance(operand, Known | Runtime | Memory | Part | LiteralChoice | Unset):
            return operand
        return self.computed(operand, span)

    def assign(self, target: ast.expr, operand: Operand, at: Span) -> None:
        """Assign to a name, a tuple of names, or elements. Raises `PythonFault`."""
        match target:
            case ast.Name(id=name):
                self.named(operand, name)
                self.scope.names[name] = operand
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                items = self._taken_apart(operand, len(targets), target, at)
                for inner, item in zip(targets, items, strict=True):
                    self.assign(inner, item, at)
            case ast.Subscript():
                self.store(target, operand, at, self._line(target, at))
            case ast.Starred():
                self.fail("assignment", "`*` has no meaning in a kernel", self.span(target), "write a name for each")
            case _:
                self.fail("assignment", f"`{ast.unparse(target)}` cannot be assigned to", self.span(target),
                          "assign to a name, or to elements: X[i] = ...")  # fmt: skip

    def _line(self, target: ast.expr, at: Span) -> Span:
        span = self.span(target)
        return Span(span.source, span.start, at.end) if at.source is span.source and at.end > span.start else span

    def _taken_apart(self, operand: Operand, count: int, target: ast.expr, at: Span) -> Sequence[Operand]:
        if isinstance(operand, Known) and isinstance(operand.value, tuple):
            operand = Many(tuple(Known(item) for item in operand.value))
        if not isinstance(operand, Many):
            self.fail("assignment", f"a tuple is taken apart, found {described(operand)}", at)
        if len(operand.items) != count:
            self.fail("assignment", f"{count} names for {len(operand.items)} values", self.span(target),
                      "write a name for each value; `_` for one that is not needed")  # fmt: skip
        return operand.items

    def _on_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.fail(
                "assignment", "a name gets its value where it is annotated", self.span(node), "write x: gl.f32 = 0"
            )
        base = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
        found = self.expression(base)
        if isinstance(found, Known) and found.value in _UNCHECKED:
            self.assign(node.target, self._value_of(node.value), self.span(node.value))
            return
        type = scalar_type(self.resolved(found.value)) if isinstance(found, Known) else None
        if type is None:
            hint = element_hint(found.value) if isinstance(found, Known) else None
            self.fail("annotation", f"expected a type of kernels, found {ast.unparse(node.annotation)}",
                      self.span(node.annotation), hint or "write x: gl.f32 = ...")  # fmt: skip
        operand = self._value_of(node.value)
        at = self.span(node.value)
        if not isinstance(operand, Runtime) or operand.type != type:
            operand = Runtime(self.value(operand, type, at))
        self.assign(node.target, operand, at)

    def _on_augassign(self, node: ast.AugAssign) -> None:
        target, span = node.target, self.span(node)
        at = self.span(node.value)
        if isinstance(target, ast.Name):
            operand = self._augmented_name(node, target, at, span)
            self.assign(target, operand, span)
            return
        if not isinstance(target, ast.Subscript):
            self.fail("assignment", f"`{ast.unparse(target)}` cannot be assigned to", self.span(target))
        owner = self.set(self.expression(target.value), self.span(target.value))
        part = self.slice_of(owner, target)
        if not all(part.dropped):
            text = ast.unparse(target)
            self.fail("view", "a view is not changed in place", span,
                      f"write {text} = {text} {symbol(node)} ...")  # fmt: skip
        # The place is computed once, as in Python.
        element = self._element(part, target)
        result = self.binary(type(node.op), element, self.expression(node.value), (self.span(target), at), span)
        self.store_in(part, target, result, span, span)

    def _augmented_name(self, node: ast.AugAssign, target: ast.Name, at: Span, span: Span) -> Operand:
        place = self.span(target)
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        current = self.expression(load)
        if isinstance(current, Memory | Part):
            self.fail("view", f"`{target.id}` is {described(current)}: it is not changed in place", span,
                      f"loop over its elements: {target.id}[i] {symbol(node)}= ...")  # fmt: skip
        operand = self.binary(type(node.op), current, self.expression(node.value), (place, at), span)
        return self.kept(operand, span)

    # --- others ----------------------------------------------------------------------------

    def _on_expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is ...):
            return
        found = self.expression(value)
        if isinstance(value, ast.Call):
            return
        called = isinstance(found, Known) and callable(found.value)
        hint = "write the parentheses, too: f()" if called else "give it a name, or store it"
        what = described(self.set(found, self.span(value)))
        self.fail("statement", f"nothing is done with {what}", self.span(node), hint)

    def _on_functiondef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.fail("statement", "a decorator has no meaning in a kernel", self.span(node.decorator_list[0]),
                      "leave it out; a function in a kernel is a helper, and a kernel is defined outside")  # fmt: skip
        self.scope.names[node.name] = self.local_function(node)

    def _on_assert(self, node: ast.Assert) -> None:
        at = self.span(node.test)
        condition = self.truth(self.expression(node.test), at)
        if isinstance(condition, Runtime):
            self.fail("constant", "an assertion must be known while the kernel is translated, found bool", at,
                      "assert what is known of a gl.constant; at run time write `if`, and gl.print")  # fmt: skip
        held = self.known(condition, "an assertion", at)
        if not held:
            constant = node.msg.value if isinstance(node.msg, ast.Constant) else None
            said = constant if isinstance(constant, str) else ast.unparse(node.msg or node.test)
            self.fail("constant", f"the assertion does not hold: {said}", self.span(node.test))

    def _on_with(self, node: ast.With) -> None:
        item = node.items[0]
        span = self.span(item.context_expr)
        if isinstance(item.context_expr, ast.Call):
            callee = self.expression(item.context_expr.func)
            if isinstance(callee, Known) and getattr(callee.value, WORD, None) == "parallel" and len(node.items) == 1:
                if item.optional_vars is not None or item.context_expr.args or item.context_expr.keywords:
                    self.fail("arguments", "gl.parallel takes and gives nothing", span, "write with gl.parallel():")
                self.shared_out(node, "parallel", {})
                return
        self.fail("statement", f"`with {ast.unparse(item.context_expr)}` has no meaning in a kernel", span,
                  "the one `with` of kernels is with gl.parallel():")  # fmt: skip

    # --- branches and returns ----------------------------------------------------------------

    def _on_if(self, node: ast.If) -> None:
        self._branched(node, node.body, node.orelse, self.scope.live.after.get(node, frozenset()))

    def _branched(
        self, node: ast.If, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], joined: frozenset[str]
    ) -> None:
        at = self.span(node.test)
        held = self.truth(self.expression(node.test), at)
        if isinstance(held, Known):
            self.block(body if held.value else orelse)
            return
        assert isinstance(held, Runtime)
        head = Span(at.source, self.span(node).start, at.end)
        places = (
            place_of(list(body), self.span, head),
            place_of(list(orelse), self.span, Span(at.source, at.end, at.end)),
        )
        self.branch(held.value, (lambda: self.block(body), lambda: self.block(orelse)), places, joined, head, at)

    def _leaving_branch(self, node: ast.If, following: Sequence[ast.stmt]) -> bool:
        """An `if` in which a `return` or `continue` stands: what is behind it belongs to the way that goes on."""
        word = "return" if returns(node) else "continue"
        if word == "return" and not self.scope.may_return:
            self._return(next(n for n in ast.walk(node) if isinstance(n, ast.Return)))
        if word == "continue" and self.scope.loop_end is None:
            self._continue(next(n for n in ast.walk(node) if isinstance(n, ast.Continue)))
        first, second = list(node.body), list(node.orelse)
        if not ends(first) and not ends(second) and following:
            self.fail("return", f"a `{word}` ends every way through a branch, or none", self._head(node),
                      "put what follows into an `else`")  # fmt: skip
        then = first if ends(first) else [*first, *following]
        otherwise = second if ends(second) else [*second, *following]
        joined = frozenset({RESULT}) if word == "return" else self.scope.loop_end
        self._branched(node, then, otherwise, joined or frozenset())
        return True

    def _continue(self, node: ast.Continue) -> None:
        if self.scope.loop_end is None:
            self.fail("return", "`continue` does not leave a region", self.span(node),
                      "put what follows into an `if`")  # fmt: skip

    def _return(self, node: ast.Return) -> None:
        span = self.span(node)
        if not self.scope.may_return:
            self.fail("return", "`return` stands in no loop and no region", span,
                      "set a name before the loop, and return it behind; `continue` ends an iteration")  # fmt: skip
        self.scope.names[RESULT] = Known(None) if node.value is None else self._value_of(node.value)


def symbol(node: ast.AugAssign) -> str:
    """How the operator of an augmented assignment is written."""
    from girih.front.python.arithmetic import SYMBOLS

    return SYMBOLS[type(node.op)]


def returns(node: ast.stmt) -> bool:
    """Whether a `return` of this function stands in a statement."""
    stack: list[ast.AST] = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, ast.Return):
            return True
        if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(found))
    return False


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through some statements ends in a `return` or `continue`."""
    for statement in body:
        if isinstance(statement, ast.Return | ast.Continue):
            return True
        if isinstance(statement, ast.If) and statement.orelse and ends(statement.body) and ends(statement.orelse):
            return True
    return False
