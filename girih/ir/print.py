"""The printer: the canonical text of a module, which parses to the same module, apart from spans.

The text of an instruction follows from its `Spec`, as in the parser. Values keep their names; a value whose name is
missing or already taken gets a fresh number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from girih.ir.core import Dictionary, Function, Module, Op, Region, Slice, Value
from girih.ir.define import Annotation, Attributes, Body, Literal, Modifier, Operand, Result, Role, Spec, Text
from girih.ir.grid import GridExpression, show_grid
from girih.recursion import recursion_room

INDENT = "    "
"""What an instruction stands to the right of its region; `girih fmt` keeps to it too."""


def print_module(module: Module) -> str:
    """The canonical text of a module."""
    with recursion_room():
        return "\n".join(_Printer().function(f) for f in module.functions)


def print_function(function: Function) -> str:
    """The canonical text of a function."""
    with recursion_room():
        return _Printer().function(function)


class InstructionPrinter:
    """The printer of instructions one by one, those before defining what later ones use, as in a function."""

    def __init__(self) -> None:
        self._printer = _Printer()

    def define(self, value: Value) -> str:
        """The name with `%` that a value gets here, which no instruction before defines."""
        return self._printer._define(value)

    def name(self, value: Value | int) -> str:
        """The name of a value that is defined here, or a literal."""
        return self._printer._value(value)

    def knows(self, value: Value) -> bool:
        """Whether a value is defined here."""
        return value in self._printer.names

    def text(self, op: Op, indent: str = "") -> str:
        """The text of an instruction; lines of its regions are indented by as much and more."""
        return self._printer._op(op, indent, [])


class _Printer:
    """The printer of one function."""

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.used: set[Value] = set()
        self.number = 0

    def function(self, function: Function) -> str:
        """The canonical text of the function."""
        self.used = {value for op in function.walk() for value in op.operands}
        shown = ", ".join(
            f"{self._define(p.value)}: {p.type}" + (f" {show_dictionary(p.attributes)}" if p.attributes else "")
            for p in function.parameters
        )
        attributes = f" attributes {show_dictionary(function.attributes, self._value)}" if function.attributes else ""
        body = self._region(function.body, "")
        return f"func @{function.name}({shown}){attributes} {body}\n"

    # --- names ---------------------------------------------------------------------------

    def _define(self, value: Value) -> str:
        name = value.name
        if not name or name in self.taken:
            while str(self.number) in self.taken:
                self.number += 1
            name = str(self.number)
        self.names[value] = name
        self.taken.add(name)
        return "%" + name

    def _forget(self, values: list[Value]) -> None:
        self.taken.difference_update(self.names[v] for v in values)

    # --- regions and instructions --------------------------------------------------------

    def _region(self, region: Region, indent: str) -> str:
        if not region.ops:
            return "{\n" + indent + "}"
        lines: list[str] = []
        defined: list[Value] = []
        for op in region.ops:
            lines.append(indent + INDENT + self._op(op, indent + INDENT, defined))
        self._forget(defined)
        return "{\n" + "\n".join(lines) + "\n" + indent + "}"

    def _op(self, op: Op, indent: str, defined: list[Value]) -> str:
        """The text of an instruction. Its results get their names after its regions, where they become visible."""
        spec = op.spec
        bindings = list(op.bindings)
        for value in bindings:
            self._define(value)
        words = self._words(op, 0, len(spec.format), indent)
        self._forget(bindings)
        text = join_words(["".join([spec.word, *_modifiers(op)]), *words])
        results = op.results
        if not results or (_may_be_ignored(spec) and not any(v.name or v in self.used for v in results)):
            return text
        names = ", ".join(map(self._define, results))
        defined.extend(results)
        return f"{names} = {text}"

    def _words(self, op: Op, begin: int, end: int, indent: str) -> list[str]:
        spec = op.spec
        words = spec.format
        parts: list[str] = []
        position = begin
        while position < end:
            word = words[position]
            if word == "<<":
                close = words.index(">>", position)
                if _option_present(op, words[position + 1 : close]):
                    parts += self._words(op, position + 1, close, indent)
                position = close + 1
                continue
            role = spec.roles.get(word)
            if role is not None:
                parts.append(self._field(getattr(op, word), role, indent))
            elif "=" in word[1:-1]:
                names, values = (getattr(op, field) for field in word.split("="))
                pairs = zip(names, values, strict=True)
                parts.append(", ".join(f"{self._value(n)}={self._value(v)}" for n, v in pairs))
            elif word == ":" and isinstance(spec.roles.get(words[position + 1]), Annotation):
                parts[-1] += word
            else:
                parts.append(word)
            position += 1
        return parts

    def _field(self, field: Any, role: Role, indent: str) -> str:
        match role:
            case Body():
                return self._region(field, indent)
            case Attributes():
                return show_dictionary(field)
            case Literal():
                return show_constant(field)
            case Annotation():
                return str(field)
            case Text():
                return f'"{field}"'
            case _ if role.name in ("result", "results"):
                return ", ".join(str(v.type) for v in (field if isinstance(field, tuple) else (field,)))
        separator = " x " if isinstance(role, Operand) and role.separator == "x" else ", "
        return separator.join(map(self._value, field)) if isinstance(field, tuple) else self._value(field)

    def _value(self, operand: Value | Slice | int) -> str:
        match operand:
            case Value():
                return "%" + self.names.get(operand, operand.name)
            case Slice(offset, None):
                return self._value(offset)
            case Slice(offset, size):
                return f"{self._value(offset)}:{self._value(size)}" if size is not None else self._value(offset)
            case _:
                return str(operand)


def _may_be_ignored(spec: Spec) -> bool:
    """Whether an instruction may be written without names for its results: those that return a list of values may."""
    role = spec.roles[spec.results[0]]
    return isinstance(role, Result) and role.many


def _option_present(op: Op, words: tuple[str, ...]) -> bool:
    """Whether any field among the words between `<<` and `>>` was given."""
    names = [part for word in words for part in word.split("=") if part in op.spec.roles]
    return any(_is_given(getattr(op, name)) for name in names)


def _is_given(field: object) -> bool:
    return field is not None and field != () and not (isinstance(field, Dictionary) and not field)


def _modifiers(op: Op) -> list[str]:
    """The `.spelling` of each modifier that is not at its default, or that a later one of the same spellings needs."""
    roles = op.spec.modifiers
    words: list[str] = []
    for position, role in enumerate(roles):
        value = getattr(op, role.name)
        later = any(r.choices == role.choices and getattr(op, r.name) != r.default for r in roles[position + 1 :])
        if role.required or value != role.default or later:
            words.append("." + _spelling(role, value))
    return words


def _spelling(role: Modifier, value: object) -> str:
    return next(spelling for spelling, meaning in role.choices.items() if meaning == value)


_TIGHT_BEFORE = {",", "]", ")", "["}
_TIGHT_AFTER = {"[", "("}


def join_words(words: list[str]) -> str:
    """The words joined by blanks, with none inside brackets and before commas."""
    text = ""
    for word in words:
        if not word:
            continue
        after_comma = word == "[" and text[-1:] == ","
        tight = not text or (word in _TIGHT_BEFORE and not after_comma) or text[-1] in _TIGHT_AFTER
        text += word if tight else " " + word
    return text


def _own_name(value: Value) -> str:
    return f"%{value.name}"


def show_dictionary(dictionary: Dictionary, name: Callable[[Value], str] = _own_name) -> str:
    """The text of a dictionary attribute; `name` gives that of a parameter, where others than its own are needed."""
    entries = (f'"{e.key}"={show_attribute(e.value, name)}' if e.quoted else f"{e.key}={show_attribute(e.value, name)}"
               for e in dictionary.entries)  # fmt: skip
    return "{" + ", ".join(entries) + "}"


def show_attribute(attribute: object, name: Callable[[Value], str] = _own_name) -> str:
    """The text of an attribute; `name` gives that of a parameter."""
    match attribute:
        case bool():
            return "true" if attribute else "false"
        case str():
            return f'"{attribute}"'
        case tuple():
            return "[" + ", ".join(show_attribute(entry, name) for entry in attribute) + "]"
        case Dictionary():
            return show_dictionary(attribute, name)
        case GridExpression():
            return show_grid(attribute, name)
        case _:
            return str(attribute)


def show_constant(value: bool | int | float | complex) -> str:
    """The text of a constant; a floating-point number is the shortest decimal that reads back to the same value."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return show_float(value)
        case _:
            return f"[{show_float(value.real)}, {show_float(value.imag)}]"


def show_float(value: float) -> str:
    """The shortest text of a floating-point number that reads back to the same value."""
    if math.isnan(value):
        return "-nan" if math.copysign(1.0, value) < 0 else "nan"
    return repr(value)
