"""Names: which ones a statement sets, which are read after it, and where each is looked up.

They are the locals of a function while it is translated, then those of closures, globals and builtins. Names that a
nested function reads count as read everywhere: it may be called at any place behind it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence

from girih.front.python.operands import Known, Operand, Unset
from girih.front.python.reading import FunctionNode, FunctionSource

RESULT = "return"
"""The name under which a function's result is kept; it is no identifier."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right inside a node, without those that only say how a name is used.

    As `ast.iter_child_nodes`, which takes three times as long: most of a translation was spent there.
    """
    found: list[ast.AST] = []
    for name in node._fields:
        if name == "ctx":
            continue
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def assigned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that statements set in their own scope, at any depth."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
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
        stack += children(node)
    return frozenset(found)


def read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that nodes read, at any depth, nested functions included."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.add(node.id)
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        stack += children(node)
    return frozenset(found)


Effect = tuple[frozenset[str], frozenset[str]]
"""What some statements read before they set it, and what they set on every way."""

NOTHING: frozenset[str] = frozenset()


def continues(node: ast.stmt) -> bool:
    """Whether a `continue` of the loop around a statement stands in it."""
    stack: list[ast.AST] = [node]
    while stack:
        found = stack.pop()
        if isinstance(found, ast.Continue):
            return True
        # An expression has no statement in it.
        if not isinstance(found, ast.For | ast.While | ast.FunctionDef | ast.ClassDef | ast.expr):
            stack += children(found)
    return False


def _nested(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The functions and lambdas in some nodes, without those inside of them."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
        else:
            stack += children(node)


class NameLiveness:
    """The names that are read after each statement of a body, by the statement. Its time is linear in the body."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.stmt, frozenset[str]] = {}
        """The names that may be read between the end of a statement and their next setting."""
        self.before: dict[ast.stmt, frozenset[str]] = {}
        """The names that may be read in or after a loop's body before they are set, at the begin of an iteration."""
        nested = list(_nested(body))
        self._always = read(nested) | {RESULT}
        self._every = read(body) | assigned(body)
        self._effects: dict[ast.stmt, Effect] = {}
        self._loop_end = NOTHING
        self._block(body, self._always)

    def _block(self, body: Sequence[ast.stmt], after: frozenset[str]) -> None:
        """Note what is live after each of some statements, behind which `after` is."""
        for statement in reversed(body):
            if isinstance(statement, ast.Continue):
                after = self._loop_end
            self.after[statement] = after
            self._inside(statement, after)
            reads, sets = self._effect(statement)
            after = reads | (after - sets) | self._always
            if continues(statement):
                after |= self._loop_end

    def _inside(self, statement: ast.stmt, after: frozenset[str]) -> None:
        match statement:
            case ast.If(body=body, orelse=orelse):
                self._block(body, after)
                self._block(orelse, after)
            case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                self._block(orelse, after)
                test = read([statement.test]) if isinstance(statement, ast.While) else NOTHING
                targets = assigned([statement.target]) if isinstance(statement, ast.For) else NOTHING
                at_end = after | self._effect_of(orelse)[0] | test
                reads, sets = self._effect_of(body)
                begin = (reads | (at_end - sets)) - targets
                self.before[statement] = begin
                outer, self._loop_end = self._loop_end, at_end | begin | self._always
                self._block(body, self._loop_end)
                self._loop_end = outer
            case ast.With(body=body):
                self._block(body, after)

    def _effect_of(self, body: Sequence[ast.stmt]) -> Effect:
        reads, sets = NOTHING, NOTHING
        for statement in reversed(body):
            first, set_here = self._effect(statement)
            if continues(statement):
                # What follows is not set on every way.
                set_here, sets = NOTHING, NOTHING
            reads, sets = first | (reads - set_here), sets | set_here
        return reads, sets

    def _effect(self, statement: ast.stmt) -> Effect:
        if statement not in self._effects:
            self._effects[statement] = self._found_effect(statement)
        return self._effects[statement]

    def _found_effect(self, statement: ast.stmt) -> Effect:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                (first, here), (second, there) = self._effect_of(body), self._effect_of(orelse)
                return read([test]) | first | second, here & there
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                inner = self._effect_of(body)[0] - assigned([target])
                return read([iterable]) | inner | self._effect_of(orelse)[0], NOTHING
            case ast.While(test=test, body=body, orelse=orelse):
                return read([test]) | self._effect_of(body)[0] | self._effect_of(orelse)[0], NOTHING
            case ast.With(items=items, body=body):
                sets = assigned(i.optional_vars for i in items if i.optional_vars is not None)
                reads, set_here = self._effect_of(body)
                return read(i.context_expr for i in items) | (reads - sets), sets | set_here
            case ast.Assign() | ast.AnnAssign(value=ast.expr()):
                return read([statement]), assigned([statement])
            case ast.Return():
                return read([statement]), self._every
            case _:
                return read([statement]), NOTHING


class FunctionScope:
    """The names of one function, or of one call of a helper."""

    def __init__(self, text: FunctionSource, node: FunctionNode, outer: FunctionScope | None = None) -> None:
        self.text = text
        self.node = node
        self.outer = outer
        # A function that ends without `return` gives None.
        self.names: dict[str, Operand] = {RESULT: Known(None)}
        body = [] if isinstance(node, ast.Lambda) else node.body
        given = node.args
        parameters = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        self.own = assigned(body) | parameters
        self.live = NameLiveness(body)
        self.loop_end: frozenset[str] | None = None
        """The names that are read after an iteration of the innermost loop; None where no `continue` may stand."""
        self.may_return = True
        """Whether `return` may stand here: not in a loop or region."""

    def lookup(self, name: str) -> Operand | None:
        """What a name stands for; None if there is none of it."""
        if name in self.own:
            return self.names.get(name) or Unset(
                "unset", f"`{name}` is not set before it is read here", f"set it before: {name} = ..."
            )
        if self.outer is not None:
            return self.outer.lookup(name)
        found = outside_name(self.text, name)
        return None if found is None else Known(found[0])

    def known_names(self) -> list[str]:
        """All names that can be read here."""
        outer = self.outer.known_names() if self.outer else [*self.text.function.__globals__]
        return [*self.names, *outer]


class LocalFunction:
    """A function or lambda that stands in a kernel: its definition and the names around it.

    `defaults` are what its parameters had as defaults where it was defined.
    """

    def __init__(self, node: FunctionNode, scope: FunctionScope, defaults: Mapping[str, Operand]) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults

    @property
    def __name__(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"


def outside_name(text: FunctionSource, name: str) -> tuple[object] | None:
    """The value that a name has outside of a function, in a tuple; None if there is none."""
    function = text.function
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        if free == name:
            try:
                return (cell.cell_contents,)
            except ValueError:
                return None
    spaces: tuple[Mapping[str, object], ...] = (function.__globals__, vars(builtins))
    for space in spaces:
        if name in space:
            return (space[name],)
    return None
