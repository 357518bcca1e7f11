"""Where names are looked up: the locals of a function while it is translated, then closures, globals and builtins."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

from girih.front.python.liveness import RESULT, NameLiveness, assigned
from girih.front.python.operands import Known, Operand, Unset
from girih.front.python.reading import FunctionNode, FunctionSource


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
