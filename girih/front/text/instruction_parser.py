"""The parser of one instruction by its `Spec`: results, mnemonic, modifiers, then the words of the format."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from girih.diagnostics import nearest, plural
from girih.front.text import expressions, hints
from girih.front.text.cursor import SyntaxFault
from girih.front.text.lexer import DEFINITION, FLOAT, INTEGER, LOCAL, MODIFIER, STRING, WORD
from girih.front.text.names import NameParser
from girih.front.text.spelling import PREFIXES
from girih.ir.core import EMPTY, Op, Region, RegionKind, Slice, Value, canonical_name
from girih.ir.define import (
    Annotation,
    Attributes,
    Binding,
    Body,
    Integer,
    Literal,
    Operand,
    Result,
    Role,
    Slices,
    Spec,
    Text,
)
from girih.ir.language import Language
from girih.ir.syntax import template
from girih.ir.types import ERROR, SCALARS, Type
from girih.source import Source, Span

Name = tuple[str, Span]

_TYPE_FOLLOWS = "the type of the result follows, as in `%x = load %A[%i] : f32`"

_ASSIGNMENT = re.compile(r"[ \t]*(?:,[ \t]*%\w+[ \t]*)*=[ \t]*[a-z]")
"""What follows the first result of an instruction, up to the mnemonic."""


def _word_hint(spec: Spec, position: int) -> str:
    """The hint for a missing word of the format: that a type follows, or else the pattern of the instruction."""
    before_type = position + 1 < len(spec.format) and isinstance(spec.roles.get(spec.format[position + 1]), Result)
    if spec.format[position] == ":" and before_type:
        return _TYPE_FOLLOWS
    return f"it is written {template(spec)}"


class Draft:
    """An instruction that is being read: its spec, the names of its results, and the fields so far."""

    __slots__ = ("bindings", "fields", "header", "names", "spec", "uses")

    def __init__(self, spec: Spec, names: list[Name]) -> None:
        self.spec = spec
        self.names = names
        self.fields: dict[str, Any] = {}
        self.uses: dict[str, tuple[Span, ...]] = {}
        self.bindings: dict[str, list[Name]] = {}
        self.header: int | None = None


class InstructionParser(NameParser):
    """The parser's part for instructions; `Parser`, which knows functions, reads their regions."""

    def __init__(self, source: Source, language: Language) -> None:
        super().__init__(source, language)
        self.ops = language.ops
        self.kinds: list[RegionKind] = []

    @abstractmethod
    def region(self, kind: RegionKind, bindings: list[tuple[str, Type, Span]]) -> tuple[Region, list[Value]]:
        """A region, and the values that are defined for it, one for each of `bindings`."""

    def instruction(self) -> Op:
        """An instruction; its results become visible after it. Raises `SyntaxFault`."""
        lexer = self.lexer
        start = lexer.start
        behind = hints.behind_string(lexer.string, lexer.previous_end, start)
        names = self._results(behind)
        try:
            spec = self._mnemonic(names, behind)
            draft = Draft(spec, names)
            self._modifiers(draft)
            self._words(draft, 0, len(spec.format))
            self._complete(draft)
        except SyntaxFault:
            for name, span in names:
                if name not in self.visible:
                    self.define_local(name, ERROR, span)
            raise
        header = lexer.previous_end if draft.header is None else draft.header
        op = self.ops[spec.mnemonic](span=Span(lexer.source, start, header), uses=draft.uses, **draft.fields)
        for value in op.results:
            if value.name:
                self._publish(value)
        return op

    def _publish(self, value: Value) -> None:
        earlier = self.visible.get(value.name)
        if earlier is not None and value.name not in self.missing:
            labels = ((value.span, "defined again"), (earlier.span, f"%{value.name} first defined here"))
            hint = "every value has one definition, also across nested regions: choose another name"
            self.report("name.redefined", f"%{value.name} is defined twice", value.span, hint, labels)
            return
        if earlier is None:
            self.scopes[-1].append(value.name)
        self.missing.discard(value.name)
        self.visible[value.name] = value

    def _results(self, behind: str | None) -> list[Name]:
        lexer = self.lexer
        if lexer.kind != LOCAL:
            return []
        start = lexer.start
        names = self._names()
        if not self.accept("="):
            written = "an instruction is written `%result = mnemonic operands : type`"
            self.expected("`=`", behind or self._statement_hint(start, []) or written)
        return names

    def _statement_hint(self, start: int, names: list[Name]) -> str | None:
        """The hint for an expression from a position to the end of its line; None without one."""
        return expressions.for_statement(self.ops, self.visible, self._line_from(start), [name for name, _ in names])

    def _foreign_hint(self, names: list[Name]) -> str | None:
        """The hint for what cannot begin an instruction: an expression, a name with `_` before it, `(`, or a type."""
        lexer = self.lexer
        if lexer.text.startswith("_"):
            return hints.for_mnemonic(self.ops, lexer.word, "")
        if self.at("(") and not names and not lexer.starts_line:
            return hints.NO_PARENTHESES
        if self.at(":") and not names and not lexer.starts_line:
            return hints.NO_TYPE
        return self._statement_hint(lexer.start, names)

    def _line_from(self, start: int) -> str:
        """The rest of a line from a position, cut to a length that people write."""
        return self.lexer.string[start : start + 200].partition("\n")[0]

    def _names(self) -> list[Name]:
        names = [self._name()]
        while self.accept(","):
            names.append(self._name())
        return names

    def _name(self) -> Name:
        span = self.lexer.span
        return canonical_name(self.take(LOCAL)[1:]), span

    def _mnemonic(self, names: list[Name], behind: str | None) -> Spec:
        lexer = self.lexer
        if lexer.kind != WORD:
            self.expected("an instruction", behind or self._foreign_hint(names), begins=not names)
        declared = self.ops.get(lexer.text)
        if declared is not None and declared.spec.word == lexer.text:
            lexer.advance()
            shared = self.language.words.get(declared.spec.word, ()) if lexer.kind == MODIFIER else ()
            return next((s for s in shared if lexer.text[1:] in s.modifiers[0].choices), declared.spec)
        word, span = lexer.text, lexer.span
        lexer.advance()
        if word in PREFIXES and lexer.kind == MODIFIER:
            hint = hints.for_mnemonic(self.ops, lexer.text[1:], "")
            self.fail("syntax.mnemonic", f"there is no instruction `{word}{lexer.text}`",
                      Span(span.source, span.start, lexer.end), hint)  # fmt: skip
        hint = behind or self._statement_hint(span.start, names)
        hint = hint or hints.for_mnemonic(self.ops, word, self._line_from(span.end))
        self.fail("syntax.mnemonic", f"there is no instruction `{word}`", span, hint)

    def _modifiers(self, draft: Draft) -> None:
        lexer = self.lexer
        for role in draft.spec.modifiers:
            spelling = lexer.text[1:] if lexer.kind == MODIFIER else None
            if spelling is not None and spelling in role.choices:
                draft.fields[role.name] = role.choices[spelling]
                draft.uses[role.name] = (lexer.span,)
                lexer.advance()
            elif role.required:
                choices = ", ".join("." + c for c in role.choices)
                self.expected(f"one of {choices} after `{draft.spec.word}`")
            else:
                draft.fields[role.name] = role.default
        if lexer.kind == MODIFIER:
            self._wrong_modifier(draft.spec)

    def _wrong_modifier(self, spec: Spec) -> None:
        lexer = self.lexer
        groups = ["|".join("." + c for c in role.choices) for role in spec.modifiers]
        shared = self.language.words.get(spec.mnemonic, ())
        alone = {"." + c for other in shared for c in other.modifiers[0].choices}
        known = {"." + c for role in spec.modifiers for c in role.choices}
        what = "is misplaced or given twice" if lexer.text in known else "is not a modifier of this instruction"
        if lexer.text in alone:
            what = f"stands directly behind `{spec.word}`, without other modifiers"
        order = " then ".join(groups)
        hint = f"the modifiers of `{spec.word}` are, in this order: {order}" if groups else "it has no modifiers"
        if spec.word != spec.mnemonic:
            hint = f"{order} is the only modifier here"
        hint += f", or {'|'.join(sorted(alone))} alone" if alone else ""
        longer = (choice for choice in sorted(alone) if choice.startswith(lexer.text))
        close = next(longer, None) or nearest(lexer.text, alone | known)
        hint += f"; did you mean `{close}`?" if close and close != lexer.text else ""
        self.fail("syntax.modifier", f"`{lexer.text}` {what}", hint=hint)

    # --- the words of the format ------------------------------------------------------------

    def _words(self, draft: Draft, begin: int, end: int) -> None:
        words = draft.spec.format
        position = begin
        while position < end:
            word = words[position]
            if word == "<<":
                close = words.index(">>", position)
                if self._option_follows(draft, words[position + 1]):
                    self._words(draft, position + 1, close)
                position = close + 1
                continue
            role = draft.spec.roles.get(word)
            if role is not None:
                self._field(draft, word, role)
            elif "=" in word[1:-1]:
                self._pairs(draft, *word.split("="))
            elif not self.accept(word):
                self.expect(word, _word_hint(draft.spec, position))
            position += 1

    def _option_follows(self, draft: Draft, word: str) -> bool:
        role = draft.spec.roles.get(word)
        if isinstance(role, Attributes):
            return self.at("{") or self.lexer.kind == DEFINITION
        return self.at(word)

    def _field(self, draft: Draft, name: str, role: Role) -> None:
        match role:
            case Operand():
                self._operand(draft, name, role)
            case Result():
                self._result(draft, name, role)
            case Integer():
                self._integers(draft, name, many=role.many)
            case Binding():
                if self.lexer.kind != LOCAL:
                    self.expected("a local value such as `%x`", f"it is written {template(draft.spec)}")
                found = self._names() if role.many else [self._name()]
                draft.bindings[name] = found
                draft.uses[name] = tuple(span for _, span in found)
            case Body():
                self._body(draft, name, role)
            case Slices():
                self._slices(draft, name)
            case Attributes():
                span = self.lexer.span
                found_dictionary = self.dictionary()
                draft.fields[name] = found_dictionary
                draft.uses[name] = (found_dictionary.span if found_dictionary.entries else span,)
            case Literal():
                start = self.lexer.start
                draft.fields[name] = self.constant()
                draft.uses[name] = (self.lexer.since(start),)
            case Text():
                draft.uses[name] = (self.lexer.span,)
                draft.fields[name] = self._string(draft)
            case Annotation():
                start = self.lexer.start
                draft.fields[name] = self.type()
                draft.uses[name] = (self.lexer.since(start),)

    def _string(self, draft: Draft) -> str:
        if self.lexer.kind != STRING:
            self.expected('a string such as `"here"`', f"it is written {template(draft.spec)}")
        return self.take(STRING)[1:-1]

    def _value(self, *, literal: bool = False) -> tuple[Value | int, Span]:
        lexer = self.lexer
        span = lexer.span
        if lexer.kind == LOCAL and not self._next_instruction():
            name = canonical_name(lexer.text[1:])
            lexer.advance()
            return self.local(name, span), span
        if literal and lexer.kind in (INTEGER, DEFINITION):
            return self.integer(), span
        self.expected("a local value such as `%x`" + (" or an integer" if literal else ""), self._value_hint())

    def _value_hint(self) -> str | None:
        lexer = self.lexer
        if lexer.kind in (INTEGER, FLOAT, DEFINITION):
            return f"no constant stands here: define it before, `%c = constant {lexer.text} : ...`, and write %c"
        if lexer.kind == WORD and lexer.text in self.visible:
            return f"did you mean `%{lexer.text}`?"
        if lexer.kind == WORD and lexer.text in SCALARS:
            return f"the type stands at the end: `: {lexer.text}`"
        return hints.NO_PARENTHESES if self.at("(") else None

    def _next_instruction(self) -> bool:
        """Whether `%x =` on a new line begins the next instruction while this one still lacks an operand."""
        lexer = self.lexer
        if "\n" not in lexer.string[lexer.previous_end : lexer.start]:
            return False
        return _ASSIGNMENT.match(lexer.string, lexer.end) is not None

    def _operand(self, draft: Draft, name: str, role: Operand) -> None:
        if not role.many:
            draft.fields[name], span = self._value(literal=role.literal)
            draft.uses[name] = (span,)
            return
        values: list[Value | int] = []
        spans: list[Span] = []
        if not (self.at("]") or self.at(")")):
            while True:
                value, span = self._value(literal=role.literal)
                values.append(value)
                spans.append(span)
                if role.separator == "x" and self.at_x():
                    self.expect("x")
                elif role.separator == "x" or not self.accept(role.separator):
                    break
        draft.fields[name] = tuple(values)
        draft.uses[name] = tuple(spans)

    def _integers(self, draft: Draft, name: str, *, many: bool) -> None:
        start = self.lexer.start
        values = [self.integer()]
        while many and self.accept(","):
            values.append(self.integer())
        draft.fields[name] = tuple(values) if many else values[0]
        draft.uses[name] = (self.lexer.since(start),)

    def _slices(self, draft: Draft, name: str) -> None:
        entries: list[Slice] = []
        spans: list[Span] = []
        empty = self.at("]")
        while not empty:
            start = self.lexer.start
            offset, _ = self._value(literal=True)
            size = self._value(literal=True)[0] if self.accept(":") else None
            entries.append(Slice(offset, size))
            spans.append(self.lexer.since(start))
            if not self.accept(","):
                break
        draft.fields[name] = tuple(entries)
        draft.uses[name] = tuple(spans)

    def _pairs(self, draft: Draft, binding: str, operand: str) -> None:
        names: list[Name] = []
        values: list[Value | int] = []
        spans: list[Span] = []
        while True:
            names.append(self._name())
            self.expect("=")
            value, span = self._value()
            values.append(value)
            spans.append(span)
            if not self.accept(","):
                break
        draft.bindings[binding] = names
        draft.fields[operand] = tuple(values)
        draft.uses[binding] = tuple(span for _, span in names)
        draft.uses[operand] = tuple(spans)

    def _result(self, draft: Draft, name: str, role: Result) -> None:
        lexer = self.lexer
        types: list[Type] = []
        spans: list[Span] = []
        while True:
            start = lexer.start
            types.append(self.type())
            spans.append(lexer.since(start))
            if not role.many or not self.accept(","):
                break
        draft.uses[name] = tuple(spans)
        if not role.many:
            self._one_name(draft)
            result, span = draft.names[0]
            draft.fields[name] = Value(result, types[0], span)
            return
        if draft.names and len(draft.names) != len(types):
            self.fail("syntax.results", f"`{draft.spec.word}` returns {plural(len(types), 'value')}, "
                      f"{plural(len(draft.names), 'name')} stand before `=`", draft.names[0][1])  # fmt: skip
        names = draft.names or [("", span) for span in spans]
        draft.fields[name] = tuple(Value(n, t, span) for (n, span), t in zip(names, types, strict=True))

    def _one_name(self, draft: Draft) -> None:
        mnemonic = draft.spec.word
        if not draft.names:
            self.fail("syntax.results", f"`{mnemonic}` returns a value that needs a name", draft.uses["result"][0],
                      f"write `%x = {mnemonic} ...`")  # fmt: skip
        if len(draft.names) > 1:
            message = f"`{mnemonic}` returns one value, {plural(len(draft.names), 'name')} stand before `=`"
            self.fail("syntax.results", message, draft.names[1][1])

    def _body(self, draft: Draft, name: str, role: Body) -> None:
        spec = draft.spec
        self._finish_options(draft)
        types: Mapping[str, tuple[Type, ...]] = {}
        if spec.binding_types is not None:
            counts = {b: len(draft.bindings[b]) for b in spec.bindings}
            types = spec.binding_types(draft.fields, counts)
        wanted = [(n, t, span) for b in spec.bindings
                  for (n, span), t in zip(draft.bindings[b], types[b], strict=True)]  # fmt: skip
        kind = role.kind or self.kinds[-1]
        header = self.lexer.previous_end
        region, values = self.region(kind, wanted)
        if draft.header is None:
            draft.header = header
        draft.fields[name] = region
        draft.uses[name] = (region.span,)
        position = 0
        for b in spec.bindings:
            count = len(draft.bindings[b])
            held = values[position : position + count]
            position += count
            binding_role = spec.roles[b]
            many = isinstance(binding_role, Binding) and binding_role.many
            draft.fields[b] = tuple(held) if many else held[0]

    def _finish_options(self, draft: Draft) -> None:
        """Set the lists that were left out before a region to empty ones."""
        for name, role in draft.spec.roles.items():
            if isinstance(role, Binding) and name not in draft.bindings:
                draft.bindings[name] = []
            if isinstance(role, Operand | Result) and role.many and name not in draft.fields:
                draft.fields[name] = ()

    def _complete(self, draft: Draft) -> None:
        """Fill in the fields that were left out, and report names for results that the instruction does not have."""
        spec = draft.spec
        if draft.names and not spec.results:
            self.fail("syntax.results", f"`{spec.word}` returns no value", draft.names[0][1],
                      f"write `{spec.word} ...` without a name before it")  # fmt: skip
        for name, role in spec.roles.items():
            if name in draft.fields:
                continue
            match role:
                case Attributes():
                    draft.fields[name] = EMPTY
                case Result(many=True) | Operand(many=True) | Binding(many=True):
                    draft.fields[name] = ()
                case Operand(optional=True) | Body(optional=True) | Binding(optional=True) | Annotation():
                    draft.fields[name] = None
        if draft.names and not draft.fields[spec.results[0]]:
            self.fail("syntax.results", f"this `{spec.word}` returns no value", draft.names[0][1],
                      "give the types of the values: `-> (f32)`")  # fmt: skip
