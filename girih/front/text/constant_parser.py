"""The parser of constants, attributes and `$name` definitions (003 "Constants", "Attributes")."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from girih.diagnostics import nearest
from girih.front.text.cursor import SyntaxFault, brief, kind_of
from girih.front.text.definitions import OPERATORS, CalculationError, Definition, apply
from girih.front.text.grid_parser import GridParser
from girih.front.text.lexer import CALC, DEFINITION, END, FLOAT, INTEGER, LOCAL, STRING, WORD
from girih.front.text.spelling import FOREIGN_ATTRIBUTES
from girih.ir.core import Dictionary, Entry
from girih.ir.hints import HINT_NAMES, MACHINE_HINTS
from girih.ir.language import Language
from girih.ir.types import Type
from girih.recursion import NESTING_LIMIT, recursion_room
from girih.source import Source, Span

ATTRIBUTE_NAMES = (
    "alignment",
    "allow",
    "grid",
    "order",
    "shape_gcd",
    "stride_gcd",
    "subgroup_size",
    "unroll",
    "work_group_size",
    *sorted(HINT_NAMES),
)
"""The attribute names that stand without quotes (003 "Attributes"), wherever they mean something."""

_PARTS = "the parts of a complex number are floating-point constants"

_NUMBERS: tuple[tuple[type, Callable[[Any], int | float | complex]], ...] = (
    (numbers.Integral, int), (numbers.Real, float), (numbers.Complex, complex),
)  # fmt: skip
"""Numbers that are none of Python's own, such as NumPy's."""

Scalar = bool | int | float | complex
AttributeValue = bool | int | str | tuple[object, ...] | Dictionary
Value = Scalar | str | tuple[object, ...] | Dictionary | Type


class ConstantParser(GridParser):
    """The parser's part for constants, attributes and definitions."""

    def constant(self) -> Scalar:
        """A boolean, integer, floating or complex constant, also from a definition. Raises `SyntaxFault`."""
        lexer = self.lexer
        if lexer.kind == INTEGER:
            return self.integer()
        if lexer.kind == FLOAT:
            return self._float()
        if lexer.kind == WORD:
            if lexer.text in ("true", "false"):
                return self._take_boolean()
            if lexer.text in ("inf", "nan"):
                return self._float()
        if self.at("["):
            return self._complex()
        if lexer.kind == DEFINITION:
            span = lexer.span
            value = self.definition().value
            if not isinstance(value, bool | int | float | complex):
                self.fail("definition.kind", f"expected a constant, `{span.text}` holds {kind_of(value)}", span)
            return value
        self.expected("a constant")

    def _take_boolean(self) -> bool:
        value = self.lexer.text == "true"
        self.lexer.advance()
        return value

    def _float(self) -> float:
        lexer = self.lexer
        span, text = lexer.span, lexer.text
        lexer.advance()
        try:
            value = float.fromhex(text) if "x" in text.lower() else float(text)
        except OverflowError:
            value = math.inf
        if math.isinf(value) and "inf" not in text:
            self.fail("syntax.float_range", f"`{brief(text)}` is too large for double precision", span)
        return value

    def _float_part(self) -> float:
        lexer = self.lexer
        span = lexer.span
        if lexer.kind == INTEGER:
            self.fail("syntax.complex", f"{_PARTS}, `{brief(lexer.text)}` is an integer", hint=f"write {lexer.text}.0")
        if self.at("["):
            self.fail("syntax.complex", f"{_PARTS}, another complex number begins here")
        value = self.constant()
        if not isinstance(value, float):
            self.fail("syntax.complex", f"{_PARTS}, `{brief(span.text)}` is {kind_of(value)}", span)
        return value

    def _complex(self) -> complex:
        self.expect("[")
        real = self._float_part()
        self.expect(",")
        imaginary = self._float_part()
        self.expect("]")
        return complex(real, imaginary)

    # --- attributes ----------------------------------------------------------------------

    def attribute(self, depth: int = 0) -> AttributeValue:
        """An attribute: a boolean, integer, string, array or dictionary. Raises `SyntaxFault`."""
        lexer = self.lexer
        self._nested(depth)
        if lexer.kind == STRING:
            text = lexer.text[1:-1]
            lexer.advance()
            return text
        if lexer.kind == INTEGER:
            return self.integer()
        if lexer.kind == WORD and lexer.text in ("true", "false"):
            return self._take_boolean()
        if self.accept("["):
            return self._array(depth)
        if self.at("{"):
            return self.dictionary(depth + 1)
        if lexer.kind == DEFINITION:
            span = lexer.span
            definition = self.definition()
            value = definition.value
            if isinstance(value, float | complex | Type):
                self.fail("definition.kind", f"expected an attribute, `{span.text}` holds {kind_of(value)}", span)
            self._nested(depth + definition.depth, span)
            return value
        quoted = f'a string stands in quotation marks: "{lexer.text}"' if lexer.kind == WORD else None
        self.expected("an attribute: true, false, an integer, a string, [...] or {...}", quoted)

    def _nested(self, depth: int, span: Span | None = None) -> None:
        """Note how deep brackets nest, and fail where they nest too deep."""
        if depth > NESTING_LIMIT:
            self.fail("syntax.nesting", f"attributes nest at most {NESTING_LIMIT} deep", span)
        self.deepest = max(self.deepest, depth)

    def _array(self, depth: int) -> tuple[object, ...]:
        entries: list[object] = []
        if not self.at("]"):
            entries.append(self.attribute(depth + 1))
            while self.accept(","):
                entries.append(self.attribute(depth + 1))
        self.expect("]")
        return tuple(entries)

    def dictionary(self, depth: int = 0) -> Dictionary:
        """A dictionary, `{ name = attribute, ... }`, also from a definition. Raises `SyntaxFault`."""
        lexer = self.lexer
        start = lexer.start
        if lexer.kind == DEFINITION:
            span = lexer.span
            value = self.definition().value
            if not isinstance(value, Dictionary):
                self.fail("definition.kind", f"expected a dictionary, `{span.text}` holds {kind_of(value)}", span)
            return value
        self.expect("{")
        entries: dict[tuple[str, bool], Entry] = {}
        try:
            if not self.at("}"):
                self._entry(entries, depth)
                while self.accept(","):
                    self._entry(entries, depth)
            self.expect("}")
        except SyntaxFault:
            self._leave_dictionary()
            raise
        return Dictionary(tuple(entries.values()), lexer.since(start))

    def _leave_dictionary(self) -> None:
        """Skip to behind the closing brace if it is on this line, so that it does not close a region."""
        lexer = self.lexer
        while lexer.kind != END and not self.at("{") and not lexer.starts_line:
            if self.accept("}"):
                return
            lexer.advance()

    def _entry(self, entries: dict[tuple[str, bool], Entry], depth: int) -> None:
        lexer = self.lexer
        start, span = lexer.start, lexer.span
        quoted = lexer.kind == STRING
        if not quoted and lexer.kind != WORD:
            self.expected("an attribute name")
        key = lexer.text[1:-1] if quoted else lexer.text
        lexer.advance()
        self.expect("=")
        value = self.grid(depth) if key == "grid" and not quoted else self.attribute(depth)
        earlier = entries.get((key, quoted))
        if not quoted and key not in ATTRIBUTE_NAMES:
            self.report("syntax.attribute", *_unknown_attribute(key, value, span))
        elif earlier is not None:
            labels = ((span, "given again"), (earlier.span, "first given here"))
            self.report("syntax.duplicate_attribute", f"attribute `{key}` is given twice", span, labels=labels)
        else:
            entries[key, quoted] = Entry(key, value, quoted, lexer.since(start))
            if quoted:
                known = _known_attribute(key)
                unquoted = f"the attribute `{known}` is written without quotes: {known}=..." if known else None
                self.warn("syntax.string_attribute", f'"{key}" is kept but means nothing to girih', span, unquoted)

    # --- definitions ---------------------------------------------------------------------

    def define(self, scope: list[str], *, outermost: bool) -> None:
        """Read `$name = ...` and enter the name; it is added to `scope`, whose names are forgotten at its end."""
        lexer = self.lexer
        span = lexer.span
        name = lexer.text[1:]
        lexer.advance()
        self.expect("=")
        self.deepest = 0
        value = self._right_hand_side()
        if outermost and name in self.given:
            self.used_definitions.add(name)
            return
        earlier = self.definitions.get(name)
        if earlier is not None:
            labels = ((span, "defined again"), (earlier.span, "first defined here"))
            self.report("definition.redefined", f"`${name}` is defined twice", span, labels=labels)
            return
        self.definitions[name] = Definition(value, span, self.deepest)
        scope.append(name)

    def _right_hand_side(self) -> Value:
        lexer = self.lexer
        if lexer.kind == CALC:
            return self._calculation()
        if lexer.kind == DEFINITION:
            definition = self.definition()
            self.deepest = definition.depth
            return definition.value
        if lexer.kind in (INTEGER, FLOAT) or (lexer.kind == WORD and lexer.text in ("true", "false", "inf", "nan")):
            return self.constant()
        if self.at("[") and self._complex_follows():
            return self._complex()
        if lexer.kind == STRING or self.at("[") or self.at("{"):
            return self.attribute()
        if lexer.kind == WORD:
            return self.type()
        self.expected("a constant, a type, an attribute or `!calc(...)`")

    def _complex_follows(self) -> bool:
        """Whether `[` opens a complex constant; the token after it tells."""
        lexer = self.lexer
        begin = lexer.start
        lexer.advance()
        number_follows = lexer.kind == FLOAT or (lexer.kind == WORD and lexer.text in ("inf", "nan"))
        lexer.end = begin
        lexer.advance()
        return number_follows

    def _calculation(self) -> int:
        lexer = self.lexer
        start = lexer.start
        lexer.advance()
        self.expect("(")
        stack: list[int] = []
        while not self.at(")"):
            if lexer.kind == END:
                self.expected("`)`")
            if lexer.text in OPERATORS and lexer.kind not in (INTEGER, LOCAL):
                self._calculate(stack)
            elif lexer.kind in (INTEGER, DEFINITION):
                stack.append(self.integer())
            else:
                self.expected("an integer, a definition or one of " + " ".join(OPERATORS))
        lexer.advance()
        if len(stack) != 1:
            what = "no value" if not stack else f"{len(stack)} values"
            hint = "reverse Polish notation: `1 2 +` is 3"
            self.fail("definition.calculation", f"the expression leaves {what}", lexer.since(start), hint)
        return stack[0]

    def _calculate(self, stack: list[int]) -> None:
        lexer = self.lexer
        span, operator = lexer.span, lexer.text
        if len(stack) < 2:
            self.fail("definition.calculation", f"`{operator}` needs two values before it", span)
        b, a = stack.pop(), stack.pop()
        try:
            stack.append(apply(operator, a, b))
        except CalculationError as error:
            self.fail("definition.calculation", str(error), span)
        lexer.advance()


def _known_attribute(name: str) -> str | None:
    """The name of an attribute that a misspelled one is likely to mean; None if there is none."""
    return FOREIGN_ATTRIBUTES.get(name) or nearest(name, ATTRIBUTE_NAMES)


def _unknown_attribute(key: str, value: AttributeValue, span: Span) -> tuple[str, Span, str]:
    """The message, place and hint for an attribute whose name is unknown; a dictionary is meant for a machine."""
    if isinstance(value, Dictionary):
        machine = nearest(key, MACHINE_HINTS)
        known = f"did you mean `{machine}`?" if machine else f"hints are for {', '.join(MACHINE_HINTS)}"
        return f"there is no machine `{key}` to give hints to", span, known
    close = _known_attribute(key)
    hint = f"did you mean `{close}`?" if close else f'a name of your own is written in quotes: "{key}"'
    return f"there is no attribute `{key}`", span, hint


def parse_definition(language: Language, name: str, value: object) -> Definition:
    """The definition that the caller gives for a name: a Python number, or a string as the language writes it.

    Raises `ValueError` if the value is neither, or the string cannot be read.
    """
    span = Span(Source(f"${name} = {value}", "<definitions>"), 0, len(name) + 1)
    if isinstance(value, bool | int | float | complex):
        return Definition(value, span)
    for kind, convert in _NUMBERS:
        if isinstance(value, kind):
            return Definition(convert(value), span)
    if not isinstance(value, str):
        raise ValueError(f"expected a number, or a string as the language writes it, found {type(value).__name__}")
    parser = ConstantParser(Source(value, f"${name}"), language)
    try:
        with recursion_room():
            found = parser._right_hand_side()
    except SyntaxFault:
        raise ValueError(parser.diagnostics[0].message) from None
    if parser.lexer.kind != END:
        raise ValueError(f"there is more than one value in {value!r}")
    return Definition(found, span, parser.deepest)


def given_definitions(language: Language, values: Mapping[str, object]) -> dict[str, Definition]:
    """The definitions that the caller gives, by name. Raises `ValueError`, which names the wrong one."""
    if not isinstance(values, Mapping):
        raise ValueError(f"definitions are a dictionary from names to values, found {type(values).__name__}")
    definitions = {}
    for given, value in values.items():
        if not isinstance(given, str):
            raise ValueError(f"definition {given!r}: expected a name, found {type(given).__name__}")
        name = given.removeprefix("$")
        try:
            definitions[name] = parse_definition(language, name, value)
        except ValueError as error:
            raise ValueError(f"definition {name!r}: {error}") from None
    return definitions
