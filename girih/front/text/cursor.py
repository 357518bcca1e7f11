"""The base of all parts of the parser: the current token, expectations, diagnostics and definitions."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import NoReturn

from girih.diagnostics import Diagnostic, nearest
from girih.front.text.definitions import Definition
from girih.front.text.lexer import BAD, DEFINITION, END, GLOBAL, INTEGER, LOCAL, PUNCTUATION, WORD, Lexer
from girih.ir.core import Dictionary
from girih.source import Source, Span

MOST_DIAGNOSTICS = 1000
"""The number of diagnostics after which the rest of a text is not read."""

MOST_COMPARISONS = 1_000_000
"""The number of comparisons of names, about a second of work, after which unknown names get no suggestion."""

_WORDS = {
    LOCAL: "a local value such as `%x`",
    GLOBAL: "a function name such as `@f`",
    INTEGER: "an integer",
    WORD: "a word",
}


_KINDS = {
    int: "an integer",
    float: "a floating-point number",
    complex: "a complex number",
    str: "a string",
    tuple: "an array",
    Dictionary: "a dictionary",
}


class SyntaxFault(Exception):
    """The rest of the current instruction, function or definition cannot be read; its diagnostic has been noted."""


class Cursor:
    """A position in a text, with the diagnostics and definitions so far."""

    def __init__(self, source: Source) -> None:
        self.lexer = Lexer(source)
        self.diagnostics: list[Diagnostic] = []
        self.definitions: dict[str, Definition] = {}
        self.given: frozenset[str] = frozenset()
        self.used_definitions: set[str] = set()
        self.comparisons = 0
        self.deepest = 0

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str | None = None,
        labels: tuple[tuple[Span, str], ...] = (),
    ) -> None:
        """Note an error and continue."""
        self.diagnostics.append(Diagnostic(code, message, span, labels=labels, hint=hint))

    def warn(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Note a warning and continue."""
        self.diagnostics.append(Diagnostic(code, message, span, "warning", hint=hint))

    def fail(self, code: str, message: str, span: Span | None = None, hint: str | None = None) -> NoReturn:
        """Note an error and raise `SyntaxFault`; without a span it is that of the current token."""
        if span is None:
            span = self.lexer.span
        self.report(code, message, span, hint)
        raise SyntaxFault

    def describe(self) -> str:
        """The current token in words."""
        lexer = self.lexer
        if lexer.kind == END:
            return "the end of the text"
        if lexer.kind == BAD and lexer.text.startswith('"'):
            return "a string that does not end on its line, or holds more than printable ASCII characters"
        if lexer.kind == BAD:
            shown = lexer.text if lexer.text.isprintable() else ascii(lexer.text)[1:-1]
            return f"`{shown[:20]}`{_character_name(lexer.text)}, which has no meaning here"
        return f"`{lexer.text[:60]}`"

    def _token_hint(self) -> str | None:
        """The hint for a token that has no meaning in the language but is often tried; None for others."""
        lexer = self.lexer
        following = lexer.string[lexer.end : lexer.end + 1]
        if lexer.text == "#" or (lexer.text == "/" and following == "/"):
            return "a comment begins with `;`"
        if lexer.text == "/" and following == "*":
            return "a comment begins with `;` and ends with its line"
        if lexer.text == "*" and lexer.start == lexer.previous_end:
            return "there are no pointers: memory with a shape is a memref, memref<f32x?>"
        if lexer.text in ("%", "@", "$") and not following.isascii():
            return "names are ASCII letters, digits and `_`"
        return None

    def expected(self, what: str, hint: str | None = None, *, begins: bool = False) -> NoReturn:
        """Fail with what should stand here; if a line ended too early, the place is behind its last token.

        With `begins` nothing of the current construct has been read yet.
        """
        lexer = self.lexer
        span, place = lexer.span, ""
        if not begins and "\n" in lexer.string[lexer.previous_end : lexer.start]:
            span = Span(lexer.source, lexer.previous_end, lexer.previous_end)
            place = "" if lexer.kind == END else f" in line {lexer.span.line}"
        message = f"expected {what}, found {self.describe()}{place}"
        self.fail("syntax.expected", message, span, hint or self._token_hint())

    def at(self, text: str) -> bool:
        """Whether the current token is a certain punctuation or word, `text`."""
        lexer = self.lexer
        return lexer.text == text and lexer.kind in (PUNCTUATION, WORD)

    def accept(self, text: str) -> bool:
        """Take a certain punctuation or word if it stands here; whether it did."""
        if self.at(text):
            self.lexer.advance()
            return True
        return False

    def expect(self, text: str, hint: str | None = None) -> None:
        """Take a certain punctuation or word. Raises `SyntaxFault` if it does not stand here."""
        lexer = self.lexer
        if lexer.text == text and lexer.kind in (PUNCTUATION, WORD):
            lexer.advance()
            return
        if text == "x" and lexer.kind == WORD and lexer.text.startswith("x"):
            lexer.split(1)
            lexer.advance()
            return
        self.expected(f"`{text}`", hint)

    def take(self, kind: str) -> str:
        """The text of the current token, which is taken. Raises `SyntaxFault` if it is of another kind."""
        lexer = self.lexer
        if lexer.kind != kind:
            self.expected(_WORDS.get(kind, f"a {kind}"))
        text = lexer.text
        lexer.advance()
        return text

    def definition(self) -> Definition:
        """The definition of a `$name`, which is taken. Raises `SyntaxFault` if it is unknown."""
        lexer = self.lexer
        name = lexer.text[1:]
        definition = self.definitions.get(name)
        if definition is None:
            close = self.suggestion(name, self.definitions)
            hint = (
                f"did you mean `${close}`?" if close else f"define it before: `${name} = 64`, or give it when loading"
            )
            self.fail("definition.undefined", f"`${name}` is not defined", hint=hint)
        self.used_definitions.add(name)
        lexer.advance()
        return definition

    def suggestion(self, name: str, known: Collection[str]) -> str | None:
        """The known name closest to another; None if none is close, or if too many were compared already."""
        self.comparisons += len(known)
        return nearest(name, known) if self.comparisons <= MOST_COMPARISONS else None

    def at_x(self) -> bool:
        """Whether the `x` between two sizes stands here, alone or at the start of a word such as `x8`."""
        lexer = self.lexer
        return lexer.kind == WORD and lexer.text.startswith("x")

    def integer(self, what: str = "an integer") -> int:
        """An integer constant, also from a definition. Raises `SyntaxFault`, which says that `what` was expected."""
        lexer = self.lexer
        span = lexer.span
        if lexer.kind == DEFINITION:
            value = self.definition().value
            if isinstance(value, bool) or not isinstance(value, int):
                self.fail("definition.kind", f"expected {what}, `{span.text}` holds {kind_of(value)}", span)
            return value
        if lexer.kind != INTEGER:
            self.expected(what)
        value = int(lexer.text) if len(lexer.text) <= 20 else 2**64
        lexer.advance()
        if abs(value) > 2**63 - 1:
            message = f"`{brief(span.text)}` is out of range: an integer lies between -2^63 + 1 and 2^63 - 1"
            self.fail("syntax.integer_range", message, span)
        return value


def _character_name(text: str) -> str:
    """The Unicode name, in parentheses, of a single character outside ASCII, which may look like one in ASCII."""
    if len(text) != 1 or text.isascii():
        return ""
    return f" ({unicodedata.name(text, 'without a name')})"


def brief(text: str) -> str:
    """A text as messages quote it; a long one is cut."""
    return text if len(text) <= 40 else text[:37] + "..."


def kind_of(value: object) -> str:
    """The words for the kind of value that a definition has."""
    if isinstance(value, bool):
        return "a boolean"
    return _KINDS.get(type(value)) or f"the type {value}"
