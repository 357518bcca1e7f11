"""The formatter: a text in canonical layout, with its comments, definitions and names (`girih fmt`).

It works on the tokens of a text and resolves no names. Spacing is that of the printer: a printed module stays as it is.
An instruction stands on its own line, regions are indented by four spaces, and of several empty lines one is kept. An
instruction that the author broke over lines stays broken: inside brackets below the first entry, elsewhere indented by
eight. Tokens and comments are the same before and after; this is verified at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from girih.diagnostics import Diagnostic, InternalError, errors
from girih.front.text.grid_parser import GRID_WORDS
from girih.front.text.lexer import (
    BAD,
    CALC,
    DEFINITION,
    END,
    GLOBAL,
    INTEGER,
    LOCAL,
    MODIFIER,
    PUNCTUATION,
    STRING,
    WORD,
    Lexer,
)
from girih.front.text.parser import parse_text
from girih.front.text.type_parser import TYPE_KEYWORDS
from girih.ir.language import Language
from girih.ir.print import INDENT
from girih.ir.types import SCALARS
from girih.lazy_dataclass import dataclass
from girih.source import Source, Span

COMMENT = "comment"
STEP = len(INDENT)
HANGING = 2 * STEP

_SHAPED = {*TYPE_KEYWORDS, "strided"}
_SCALAR = "|".join(sorted(SCALARS, key=len, reverse=True))
_SHAPE = re.compile(rf"(?:{_SCALAR})?x(?:[0-9]+|x)*")
_SHAPE_PART = re.compile(rf"{_SCALAR}|x|[0-9]+")
_COMMENT = re.compile(r";[^\n]*")


class FormatContext(Enum):
    """The meanings of the innermost open bracket."""

    TOP = "the top of the file"
    REGION = "{}"
    DICTIONARY = "{a=b}"
    PARAMETERS = "@f()"
    PAREN = "()"
    BRACKET = "[]"
    TYPE = "<>"


_CLOSES = {
    "}": (FormatContext.REGION, FormatContext.DICTIONARY),
    ")": (FormatContext.PARAMETERS, FormatContext.PAREN),
    "]": (FormatContext.BRACKET,),
    ">": (FormatContext.TYPE,),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A token or comment; `breaks` counts the line ends before it, `start` is its place in the text."""

    kind: str
    text: str
    breaks: int
    start: int

    def at(self, *texts: str) -> bool:
        """Whether this is one of some punctuations or words."""
        return self.text in texts and self.kind in (PUNCTUATION, WORD)


_NOTHING = Token(END, "", 0, 0)


def format_source(source: Source, language: Language) -> tuple[str, list[Diagnostic]]:
    """The text of a source in canonical layout, and its errors of syntax or of types; with any, the text is unchanged.

    Names of values and definitions need not be known. Raises nothing for a bad text.
    """
    faults = errors(parse_text(source, language)[1])
    # After a definition that is given only when the program is loaded, the parser guesses what belongs together.
    known = min((d.span.start for d in faults if d.code == "definition.undefined"), default=len(source.text) + 1)
    problems = [d for d in faults if d.code.startswith(("syntax.", "type.")) and d.span.start < known]
    if problems:
        return source.text, problems
    tokens = list(tokens_of(source))
    fault = next((t for t in tokens if t.kind == BAD), None) or _unbalanced(tokens)
    if fault is not None:
        span = Span(source, fault.start, fault.start + len(fault.text))
        words = "is not closed" if fault.text in ("(", "[", "{", "<") else "has no meaning here"
        return source.text, [Diagnostic("syntax.expected", f"`{fault.text}` {words}", span)]
    text = _Layout(tokens, language).text()
    if _words(source) != _words(Source(text, source.name)):
        if faults:
            return source.text, faults
        raise InternalError(f"formatting {source.name} would change it")
    return text, []


def _words(source: Source) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in tokens_of(source)]


# --- tokens ----------------------------------------------------------------------------------


def tokens_of(source: Source) -> Iterator[Token]:
    """The tokens and comments of a text; a word with a shape, such as `f32x4x8`, becomes several, as does `%n -1`."""
    lexer = Lexer(source)
    depth = 0
    calculating = False
    last = _NOTHING
    while True:
        for comment in _COMMENT.finditer(source.text, lexer.previous_end, lexer.start):
            yield Token(COMMENT, comment.group().rstrip(), _breaks(source, comment.start()), comment.start())
        if lexer.kind == END:
            return
        token = Token(lexer.kind, lexer.text, _breaks(source, lexer.start), lexer.start)
        depth += token.at("<") - (depth > 0 and token.at(">"))
        calculating = token.kind == CALC or (calculating and not token.at(")"))
        follows = last.kind in (LOCAL, INTEGER, DEFINITION) or last.at(")")
        if follows and not calculating and token.kind == INTEGER and token.text[0] in "+-":
            parts = _signed(token)
        else:
            parts = _parts(token, last, in_type=depth > 0)
        for part in parts:
            yield part
            last = part
        lexer.advance()


def _breaks(source: Source, start: int) -> int:
    """The number of line ends between a place and the last token or comment before it."""
    text = source.text
    position = start
    while position > 0 and text[position - 1].isspace():
        position -= 1
    return text.count("\n", position, start)


def _signed(token: Token) -> list[Token]:
    """The tokens of `-4` behind a number: it is an operator, except between the numbers of a calculation."""
    sign, number = token.text[0], token.text[1:]
    return [Token(PUNCTUATION, sign, token.breaks, token.start), Token(INTEGER, number, 0, token.start + 1)]


def _parts(token: Token, last: Token, *, in_type: bool) -> list[Token]:
    between = in_type or last.kind in (LOCAL, INTEGER, DEFINITION)
    if token.kind != WORD or not between or not _SHAPE.fullmatch(token.text):
        return [token]
    parts: list[Token] = []
    for part in _SHAPE_PART.finditer(token.text):
        kind = INTEGER if part.group().isdigit() else WORD
        parts.append(Token(kind, part.group(), 0 if parts else token.breaks, token.start + part.start()))
    return parts


def _unbalanced(tokens: Sequence[Token]) -> Token | None:
    """The first bracket that closes nothing, or else the last one that is not closed; None if brackets match."""
    pairs = {")": "(", "]": "[", "}": "{", ">": "<"}
    opened: list[Token] = []
    for token in tokens:
        if token.kind != PUNCTUATION:
            continue
        if token.text in pairs.values():
            opened.append(token)
        elif token.text in pairs and (not opened or opened[-1].text != pairs[token.text]):
            return opened[-1] if opened and opened[-1].text == "<" else token
        elif token.text in pairs:
            opened.pop()
    return opened[-1] if opened else None


# --- layout ----------------------------------------------------------------------------------


class _Layout:
    """The layout of the tokens of a text on lines."""

    def __init__(self, tokens: Sequence[Token], language: Language) -> None:
        self.tokens = tokens
        self.mnemonics = language.ops.keys()
        self.code = [t for t in tokens if t.kind != COMMENT]
        self.lines: list[str] = []
        self.line = ""
        self.contexts = [FormatContext.TOP]
        self.columns = [0]
        self.spaced = [False]
        self.last = _NOTHING
        self.ended = True
        """Whether the next token begins a line whatever it is."""
        self.between = True
        """Whether the last statement is complete."""
        self.function_ended = False

    def text(self) -> str:
        """The text in canonical layout."""
        position = 0
        for token in self.tokens:
            if token.kind == COMMENT:
                self._comment(token, position)
            else:
                self._place(token, position)
                position += 1
        self._flush()
        return "\n".join(self.lines) + "\n" if self.lines else ""

    # --- lines ---------------------------------------------------------------------------

    @property
    def indent(self) -> int:
        return STEP * self.contexts.count(FormatContext.REGION)

    def _flush(self) -> None:
        if self.line:
            self.lines.append(self.line.rstrip())
            self.line = ""

    def _new_line(self, column: int, token: Token, *, statement: bool) -> None:
        self._flush()
        opens = bool(self.lines) and self.last.at("{") and self.contexts[-1] is FormatContext.REGION
        wanted = self.function_ended or token.breaks > 1
        if statement and self.lines and wanted and not opens and not token.at("}"):
            self.lines.append("")
        self.function_ended = False
        self.line = " " * column

    def _comment(self, token: Token, position: int) -> None:
        following = self.code[position] if position < len(self.code) else _NOTHING
        closes = following.at("}") and self.contexts[-1] is FormatContext.REGION
        statement = closes or following.kind == END or self._begins(position)
        if token.breaks == 0 and self.line:
            self.line += " " + token.text
        else:
            column = self.indent if statement or self.between else self._continuation()
            self._new_line(column, token, statement=statement)
            self.line += token.text
            self.last = self.last if not statement else Token(COMMENT, token.text, token.breaks, token.start)
        self.ended = True

    def _continuation(self) -> int:
        """The column at which an instruction continues on the next line."""
        return self.columns[-1] if self.columns[-1] else self.indent + HANGING

    # --- tokens --------------------------------------------------------------------------

    def _place(self, token: Token, position: int) -> None:
        closes_region = token.at("}") and self.contexts[-1] is FormatContext.REGION
        if closes_region:
            self._new_line(self.indent - STEP, token, statement=True)
        elif self._begins(position):
            self._new_line(self.indent, token, statement=True)
        elif self.ended and not (self.last.at("}") and self.line.strip() == "}"):
            self._new_line(self.indent if token.at("else", "{") else self._continuation(), token, statement=False)
        elif token.breaks and self._may_break(token, position):
            self._new_line(self._continuation(), token, statement=False)
        else:
            self.line += self._space(token)
        self.line += token.text
        self.ended = False
        self.between = False
        self._track(token, position)
        self.last = token

    def _begins(self, position: int) -> bool:
        """Whether a definition, a function or an instruction begins at a token."""
        if position >= len(self.code) or self.contexts[-1] not in (FormatContext.TOP, FormatContext.REGION):
            return False
        token = self.code[position]
        before = self.code[position - 1] if position else _NOTHING
        match token.kind:
            case "word":
                return token.text == "func" or (token.text in self.mnemonics and not before.at("="))
            case "definition":
                return self._text(position + 1) == "="
            case "local":
                return not before.at(",") and self._assigns(position)
            case _:
                return False

    def _assigns(self, position: int) -> bool:
        """Whether `%a, %b = mnemonic` begins at a token."""
        while self._text(position + 1) == "," and position + 2 < len(self.code):
            position += 2
            if self.code[position].kind != LOCAL:
                return False
        return self._text(position + 1) == "=" and self._text(position + 2) in self.mnemonics

    def _text(self, position: int) -> str:
        return self.code[position].text if position < len(self.code) else ""

    def _track(self, token: Token, position: int) -> None:
        """Note the bracket that a token opens or closes."""
        if token.kind != PUNCTUATION:
            return
        if token.at(">") and self.contexts[-1] is not FormatContext.TYPE:
            return
        if token.text in _CLOSES:
            closed = self.contexts.pop()
            self.columns.pop()
            self.spaced.pop()
            if closed is FormatContext.REGION:
                self.ended = self.between = True
                self.function_ended = self.contexts[-1] is FormatContext.TOP
            return
        opened = self._opened(token, position)
        if opened is None:
            return
        self.contexts.append(opened)
        self.spaced.append(opened is FormatContext.TYPE and (self.spaced[-1] or self._has_definition(position)))
        broken = position + 1 < len(self.code) and self.code[position + 1].breaks > 0
        self.columns.append(0 if broken or opened in (FormatContext.REGION, FormatContext.TYPE) else len(self.line))
        if opened is FormatContext.REGION:
            self.ended = self.between = True

    def _opened(self, token: Token, position: int) -> FormatContext | None:
        match token.text:
            case "(":
                return FormatContext.PARAMETERS if self.last.kind == GLOBAL else FormatContext.PAREN
            case "[":
                return FormatContext.BRACKET
            case "<" if self.last.at(*_SHAPED):
                return FormatContext.TYPE
            case "{":
                return FormatContext.REGION if self._is_region(position) else FormatContext.DICTIONARY
            case _:
                return None

    def _is_region(self, position: int) -> bool:
        if self.contexts[-1] not in (FormatContext.TOP, FormatContext.REGION) or self.last.at("attributes"):
            return False
        following = self.code[position + 1 : position + 3]
        if len(following) < 2:
            return True
        if following[0].at("}"):
            return not following[1].at("{")
        return not (following[0].kind in (WORD, STRING) and following[1].at("="))

    def _has_definition(self, position: int) -> bool:
        """Whether a type that begins at a token contains a `$name`; it is then written with blanks."""
        depth = 0
        for token in self.code[position:]:
            depth += token.at("<") - token.at(">")
            if depth == 0 or token.kind == DEFINITION:
                return depth > 0
        return False

    # --- blanks --------------------------------------------------------------------------

    def _may_break(self, token: Token, position: int) -> bool:
        if self.contexts[-1] is FormatContext.TYPE or token.kind == MODIFIER or token.at(",", ")", "]", "<", "else"):
            return False
        if token.at("{") and self._is_region(position):
            return False
        if token.at("}"):
            return False
        return not (token.at("(", "[") and self._space(token) == "")

    def _space(self, token: Token) -> str:
        """The blank between the last token and this one on the same line, or nothing."""
        last, context = self.last, self.contexts[-1]
        if context is FormatContext.TYPE:
            words = token.kind in (WORD, DEFINITION) and last.kind in (WORD, DEFINITION)
            apart = words and not token.at("x") and not last.at("x")
            return " " if apart or (self.spaced[-1] and (token.at("x") or last.at("x", ",", ":"))) else ""
        if token.kind == MODIFIER or token.at(",", ")", "]", "<") or last.at("(", "["):
            return ""
        if token.at("["):
            return "" if last.kind == LOCAL or (last.at("=") and context is FormatContext.DICTIONARY) else " "
        if token.at("("):
            called = last.at(*GRID_WORDS) and FormatContext.DICTIONARY in self.contexts
            return "" if called or last.kind in (GLOBAL, CALC) else " "
        if context is FormatContext.DICTIONARY and (token.at("}", "=") or last.at("{", "=")):
            return ""
        if context is FormatContext.PAREN and (token.at("=") or last.at("=")):
            return ""
        if token.at(":"):
            return "" if context in (FormatContext.PARAMETERS, FormatContext.BRACKET, FormatContext.PAREN) else " "
        return "" if last.at(":") and context is FormatContext.BRACKET else " "
