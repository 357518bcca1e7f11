"""The parser: from text to a module (003). The text of an instruction follows from its `Spec`.

`parse_text` reads all of a text and reports every error: after a fault it continues at the next instruction. Values
whose definition could not be read have the type `ERROR` and cause no further errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from girih.diagnostics import Diagnostic, nearest
from girih.front.text import expressions, hints
from girih.front.text.constant_parser import given_definitions
from girih.front.text.cursor import MOST_DIAGNOSTICS, SyntaxFault
from girih.front.text.instruction_parser import InstructionParser
from girih.front.text.lexer import DEFINITION, END, GLOBAL, LOCAL, MODIFIER, PUNCTUATION, WORD
from girih.front.text.spelling import INSTEAD
from girih.ir.core import EMPTY, Function, Module, Op, Parameter, Region, RegionKind, Value
from girih.ir.language import Language
from girih.ir.types import ERROR, Type
from girih.recursion import NESTING_LIMIT, recursion_room
from girih.source import Source, Span

LARGEST_TEXT = 8 * 1024 * 1024
"""Texts with more bytes than this are refused."""


class Parser(InstructionParser):
    """The parser of modules, with its part for functions and regions."""

    def __init__(self, source: Source, language: Language) -> None:
        super().__init__(source, language)
        self.file_definitions: list[str] = []
        self.functions: dict[str, Span] = {}
        self.brace_missing_at = -1

    def module(self) -> Module:
        """The module: all functions of the text that could be read."""
        functions: list[Function] = []
        lexer = self.lexer
        while lexer.kind != END and len(self.diagnostics) < MOST_DIAGNOSTICS:
            begin = lexer.start
            try:
                if lexer.kind == DEFINITION:
                    self.define(self.file_definitions, outermost=True)
                elif self.at("func"):
                    functions.append(self.function())
                else:
                    self._no_function()
            except SyntaxFault:
                self._to_next_function(begin)
        return Module(tuple(functions))

    def _no_function(self) -> NoReturn:
        lexer = self.lexer
        hint = None
        if lexer.kind == WORD or lexer.text.startswith("_"):
            hint = hints.for_function(lexer.word)
            if lexer.text in self.ops:
                hint = "instructions stand in the body of a function: func @name() { ... }"
        elif lexer.kind == GLOBAL:
            hint = hints.BEGINS_WITH_FUNC
        elif self.at("}"):
            hint = "every `{` before it is closed already"
        self.expected("`func` or a definition `$name = ...`", hint, begins=True)

    def _to_next_function(self, failed: int) -> None:
        lexer = self.lexer
        while lexer.kind != END:
            if lexer.start > failed and (self.at("func") or (lexer.kind == DEFINITION and lexer.starts_line)):
                return
            lexer.advance()

    def function(self) -> Function:
        """A function, `func @name(parameters) attributes {...} { ... }`. Raises `SyntaxFault`."""
        lexer = self.lexer
        start = lexer.start
        self.expect("func")
        name_span = lexer.span
        if lexer.kind == MODIFIER:
            self.expected("a function name such as `@f`", hints.BEGINS_WITH_FUNC)
        if lexer.kind in (LOCAL, WORD):
            self.expected("a function name such as `@f`", f"write `@{lexer.text.lstrip('%')}`")
        name = self.take(GLOBAL)[1:]
        self._new_function(name, name_span)
        self.visible, self.scopes, self.ended, self.missing = {}, [], {}, set()
        self.open_scope()
        try:
            parameters = self._parameters()
            attributes = EMPTY
            if self.accept("attributes"):
                attributes = self.dictionary()
            if self.at("->") or self.at(":"):
                self.expected("`{`", hints.NO_RESULT)
            header = lexer.previous_end
            body, _ = self.region(self.language.body, [])
        finally:
            self.close_scope()
        return Function(name, self.language, parameters, body, attributes, Span(lexer.source, start, header))

    def _new_function(self, name: str, span: Span) -> None:
        earlier = self.functions.setdefault(name, span)
        if earlier is not span:
            labels = ((span, "defined again"), (earlier, f"@{name} first defined here"))
            self.report("name.redefined", f"@{name} is defined twice", span, "choose another name", labels)

    def _parameters(self) -> tuple[Parameter, ...]:
        self.expect("(")
        parameters: list[Parameter] = []
        if self.accept(")"):
            return ()
        while len(self.diagnostics) < MOST_DIAGNOSTICS:
            begin = self.lexer.start
            try:
                parameters.append(self._parameter())
                if not self.at(",") and not self.at(")"):
                    self.expected("`,` or `)`")
            except SyntaxFault:
                self._to_next_parameter(begin)
            if self.accept(")"):
                return tuple(parameters)
            self.accept(",")
        raise SyntaxFault

    def _to_next_parameter(self, failed: int) -> None:
        """Skip the rest of a parameter that begins at `failed`, to the next name or the end of the list."""
        lexer = self.lexer
        while not self.at(")"):
            begins = lexer.starts_line and self._may_start_instruction()
            if lexer.kind == LOCAL and lexer.start > failed and not self._next_instruction():
                return
            if lexer.kind == END or begins or self.at("func"):
                raise SyntaxFault
            lexer.advance()

    def _parameter(self) -> Parameter:
        lexer = self.lexer
        start = lexer.start
        if lexer.kind != LOCAL:
            hint = f"a parameter is written `%{lexer.text}: type`" if lexer.kind == WORD else None
            if expressions.is_type(lexer.text):
                hint = "the type of a parameter stands behind its name: `%a: f32`"
            self.expected("a parameter such as `%A: memref<f32x4x4>`", hint)
        (name, name_span) = self._name()
        try:
            self.expect(":", f"a parameter is written `%{name}: type`")
            type = self.type()
        except SyntaxFault:
            self.define_local(name, ERROR, name_span)
            raise
        span = lexer.since(start)
        attributes = EMPTY
        if self.at("{") or lexer.kind == DEFINITION:
            attributes = self.dictionary()
        return Parameter(self.define_local(name, type, span), attributes)

    # --- regions ---------------------------------------------------------------------------

    def region(self, kind: RegionKind, bindings: list[tuple[str, Type, Span]]) -> tuple[Region, list[Value]]:
        """A region, `{ ... }`, and the values defined for it; its instructions see these and the values around it."""
        lexer = self.lexer
        start = lexer.start
        if len(self.kinds) >= NESTING_LIMIT and self.at("{"):
            self.report("syntax.nesting", f"regions nest at most {NESTING_LIMIT} deep", lexer.span)
            self._skip_braces()
            return Region(kind, (), lexer.since(start)), [Value(n, t, s) for n, t, s in bindings]
        self._open_brace()
        self.open_scope()
        self.kinds.append(kind)
        values = [self.define_local(*b) for b in bindings]
        ops: list[Op] = []
        while not self.at("}") and self._in_region():
            begin = lexer.start
            try:
                if lexer.kind == DEFINITION:
                    self.define(self.definition_scopes[-1], outermost=False)
                else:
                    ops.append(self.instruction())
            except SyntaxFault:
                self._to_next_instruction(begin)
        self.kinds.pop()
        self.close_scope()
        if not self.accept("}"):
            opening = Span(lexer.source, start, start + 1)
            # One missing brace leaves every region around it open too: it is reported once.
            if len(self.diagnostics) < MOST_DIAGNOSTICS and lexer.start != self.brace_missing_at:
                self.brace_missing_at = lexer.start
                labels = ((lexer.span, "`}` expected here"), (opening, "to close this `{`"))
                self.report("syntax.brace", f"expected `}}`, found {self.describe()}", lexer.span, labels=labels)
            raise SyntaxFault
        return Region(kind, tuple(ops), lexer.since(start)), values

    def _open_brace(self) -> None:
        """Take `{`. If an instruction begins on a new line in its place, report it and continue as if it were there."""
        lexer = self.lexer
        if self.accept("{"):
            return
        try:
            value = lexer.string.rfind("%", 0, lexer.previous_end)
            operation = expressions.for_operator(self.ops, self.visible, lexer.string[max(value, 0) : lexer.end + 80])
            self.expected("`{`", INSTEAD["elif"] if self.at("if") else operation)
        except SyntaxFault:
            if not lexer.starts_line or lexer.kind not in (LOCAL, WORD) or self.at("func"):
                raise

    def _in_region(self) -> bool:
        """Whether the region continues; a `func` at the start of a line means that a brace is missing."""
        lexer = self.lexer
        if lexer.kind == END or len(self.diagnostics) >= MOST_DIAGNOSTICS:
            return False
        return not (self.at("func") and lexer.starts_line)

    def _skip_braces(self) -> None:
        """Skip a balanced `{ ... }`."""
        lexer = self.lexer
        depth = 0
        while lexer.kind != END:
            if lexer.kind == PUNCTUATION:
                depth += {"{": 1, "}": -1}.get(lexer.text, 0)
            lexer.advance()
            if depth == 0:
                return

    def _to_next_instruction(self, failed: int) -> None:
        """Skip the rest of an instruction that begins at `failed`, including its regions."""
        lexer = self.lexer
        while lexer.kind != END and not self.at("}"):
            if self.at("{"):
                self._skip_braces()
                continue
            if lexer.start > failed and lexer.starts_line and self._may_start_instruction():
                return
            lexer.advance()

    def _may_start_instruction(self) -> bool:
        lexer = self.lexer
        return lexer.kind in (LOCAL, DEFINITION) or lexer.text in self.ops or self.at("func")


def parse_text(
    source: Source, language: Language, definitions: Mapping[str, object] | None = None
) -> tuple[Module, list[Diagnostic]]:
    """The module of a text, as far as it could be read, and every error of reading it, in source order.

    `definitions` replace definitions at file level: numbers, or strings as the language writes the value. Raises
    nothing for a bad text; a bad definition is a diagnostic.
    """
    start = Span(source, 0, 0)
    if len(source.text) > LARGEST_TEXT or len(source.text.encode("utf-8", "surrogatepass")) > LARGEST_TEXT:
        message = f"the text has more than {LARGEST_TEXT // 2**20} MB"
        return Module(()), [Diagnostic("syntax.size", message, start, hint="split it into several files")]
    parser = Parser(source, language)
    try:
        given = given_definitions(language, definitions or {})
    except ValueError as error:
        return Module(()), [Diagnostic("definition.given", str(error), start)]
    parser.definitions.update(given)
    parser.given = frozenset(given)
    with recursion_room():
        module = parser.module()
    for name in sorted(parser.given - parser.used_definitions):
        close = nearest(name, parser.file_definitions)
        hint = f"did you mean `{close}`?" if close else None
        message = f"the text has no definition `${name}` to replace"
        parser.diagnostics.append(Diagnostic("definition.unused", message, start, hint=hint))
    return module, sorted(parser.diagnostics, key=lambda d: d.span.start)
