"""A function that is being written: its lines, and the expressions of its values.

A value that one statement of its block uses, and that has no effects, waits to become a part of that statement. A load
waits no longer than until a statement that may write what it reads. Other values are variables, assigned once, but for
what goes from one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.code.memory import ShaderMemory
from girih.back.spirv.code.nodes import ShaderNode
from girih.back.spirv.glsl.expression import PRIMARY, Expression
from girih.back.spirv.glsl.module import GlslModule
from girih.back.spirv.glsl.names import Names
from girih.back.spirv.glsl.together import overlaps
from girih.back.spirv.glsl.types import as_type, constant, with_sign, word
from girih.back.spirv.glsl.uses import Uses
from girih.source import NOWHERE, Span

LONGEST = 88
"""So many characters an expression has at most, before its parts become variables, and a comment."""

_SHORT = 24


class WrittenFunction:
    """A function that is being written."""

    def __init__(self, module: GlslModule, uses: Uses) -> None:
        """A function without statements."""
        self.module = module
        self.uses = uses
        self.names = Names(module.names)
        self.lines: list[str] = []
        self.loops = 0
        self.filled: dict[str, str] = {}
        """The variables, there already, that statements fill with matrices which a branch gives."""
        self.private: dict[ShaderMemory, None] = {}
        self._depth = 1
        self._values: dict[str, Expression] = {}
        self._waiting: dict[str, tuple[Val, Expression]] = {}
        self._told: set[tuple[int, int]] = set()
        self._comments: list[str] = []

    # --- lines ---------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write a line, after the line of the kernel that it comes from."""
        indent = "    " * self._depth
        self.lines += (indent + one for one in (*self._comments, text))
        self._comments = []

    def say(self, span: Span) -> None:
        """Let the next line follow a comment with the line of a kernel's text, once for each line of it."""
        if span.source is NOWHERE.source:
            return
        place = id(span.source), span.line
        if place in self._told:
            return
        self._told.add(place)
        text = "".join(c if c.isprintable() else " " for c in span.source.line(span.line)).strip()
        text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        # A backslash at the end of a comment would continue it.
        self._comments.append(f"// {text}".rstrip("\\ "))

    @contextmanager
    def inside(self, lines: list[str]) -> Iterator[None]:
        """A context for the statements of an inner block, which are written to `lines`."""
        waiting, outer, comments = self._waiting, self.lines, self._comments
        self._waiting, self.lines, self._comments = {}, lines, []
        self._depth += 1
        yield
        self._depth -= 1
        self._waiting, self.lines, self._comments = waiting, outer, comments

    # --- values --------------------------------------------------------------------------

    def value(self, value: Val) -> Expression:
        """The expression of a value, which is used here."""
        waiting = self._waiting.pop(value.text, None)
        if waiting is not None:
            return waiting[1]
        known = self._values.get(value.text)
        if known is not None:
            return known
        made = constant(value)
        self.module.type(made.type)
        if "BitsTo" in made.text:
            # What is not a number is made of its bits.
            self.module.type(word(f"i{bits(value.type)}"))
        return made

    def name(self, value: Val) -> str:
        """A name for a value: the word that readers have for it, or a short one."""
        wanted = self.module.code.names.get(value.text)
        return self.names.take(wanted) if wanted else self.names.fresh()

    def bind(self, value: Val, name: str, type: str, *, changes: bool = False) -> None:
        """Let a value be a variable, which `changes` if it is assigned more than once."""
        self._values[value.text] = Expression(name, type, variables=frozenset({name} if changes else ()))

    def stand_for(self, value: Val, one: Expression) -> None:
        """Let a value be an expression wherever it is used: one that is short, and the same everywhere."""
        self._values[value.text] = one

    def declare(self, value: Val, one: Expression) -> Expression:
        """Write a value as a variable of its own, and give its expression."""
        keeps = self.uses.is_unsigned(value)
        one = one if keeps else as_type(one, with_sign(one.type, "signed"))
        self.module.type(one.type)
        name = self.name(value)
        self.line(f"{'precise ' if one.exact else ''}{one.type} {name} = {one.text};")
        self.bind(value, name, one.type)
        return self._values[value.text]

    def give(self, value: Val, one: Expression) -> None:
        """Let a value without effects be an expression: a part of a statement to come, or a variable."""
        self.module.type(one.type)
        if value.text in self.uses.once:
            self._waiting[value.text] = value, one
        elif one.precedence == PRIMARY and not one.variables and _is_name(one.text):
            self._values[value.text] = one
        else:
            self.declare(value, one)

    def settle(self, written: Callable[[ShaderMemory], bool]) -> None:
        """Load now what waits to be loaded from memory of which something may be written."""
        for text, (value, one) in list(self._waiting.items()):
            if any(written(memory) for memory in one.memories):
                del self._waiting[text]
                self.declare(value, one)

    def settle_all(self) -> None:
        """Load now all that waits to be loaded and that others may write."""
        self.settle(overlaps)

    def operands(self, node: ShaderNode) -> list[Expression]:
        """The operands of a node; what would make a line too long is a variable first."""
        values = list(self.uses.needed(node))
        found = [self.value(value) for value in values]
        while sum(len(one.text) for one in found) > LONGEST:
            longest = max(range(len(found)), key=lambda number: len(found[number].text))
            if len(found[longest].text) < _SHORT or found[longest].text.isidentifier():
                break
            found[longest] = self.declare(values[longest], found[longest])
        return found

    def kept(self, value: Val, one: Expression) -> Expression:
        """An expression for where no variable is: what must be computed as it is written is a variable first."""
        return self.declare(value, one) if one.exact else one


def _is_name(text: str) -> bool:
    """Whether a text is the name of something of the shader; those of GLSL are long."""
    return text.isidentifier() and not text.startswith("gl_")
