"""Which names a statement sets, and which are read after it.

Names that a nested function reads count as read everywhere: it may be called at any place behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

RESULT = "return"
"""The name under which a function's result is kept; it is no identifier."""


def assigned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that statements set in their own scope, at any depth."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        elif isinstance(node, ast.Return):
            found.add(RESULT)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, ast.MatchAs | ast.MatchStar) and node.name
        ):
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        elif isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        stack.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that nodes read, at any depth, nested functions included."""
    found: set[str] = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return frozenset(found)


class NameLiveness:
    """The names that are read after each statement of a body, by the statement."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.stmt, frozenset[str]] = {}
        """The names that may be read between the end of a statement and their next setting."""
        self.before: dict[ast.stmt, frozenset[str]] = {}
        """The names that may be read in or after a loop's body before they are set, at the begin of an iteration."""
        nested = [n for s in body for n in ast.walk(s) if isinstance(n, ast.FunctionDef | ast.Lambda)]
        self._always = read(nested) | {RESULT}
        self._block(body, self._always)

    def _block(self, body: Sequence[ast.stmt], after: frozenset[str]) -> frozenset[str]:
        """The names that are live before some statements."""
        for statement in reversed(body):
            self.after[statement] = self.after.get(statement, frozenset()) | after
            after = self._statement(statement, after) | self._always
        return after

    def _statement(self, statement: ast.stmt, after: frozenset[str]) -> frozenset[str]:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                return self._block(body, after) | self._block(orelse, after) | read([test])
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                at_end = self._block(orelse, after)
                set_here = assigned([target])
                begin = self._block(body, at_end) - set_here
                begin |= self._block(body, at_end | begin) - set_here
                self.before[statement] = self.before.get(statement, frozenset()) | begin
                return at_end | begin | read([iterable])
            case ast.While(test=test, body=body, orelse=orelse):
                at_end = self._block(orelse, after) | read([test])
                begin = self._block(body, at_end)
                return at_end | begin | self._block(body, at_end | begin)
            case ast.With(items=items, body=body):
                inner = self._block(body, after)
                sets = assigned(i.optional_vars for i in items if i.optional_vars is not None)
                return (inner - sets) | read(i.context_expr for i in items)
            case ast.Assign() | ast.AnnAssign(value=ast.expr()):
                return (after - assigned([statement])) | read([statement])
            case ast.Return():
                return read([statement])
            case _:
                return after | read([statement])
