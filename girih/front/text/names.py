"""The names of values and their visibility: static single assignment with nested scopes (003 "Regions")."""

from __future__ import annotations

from girih.front.text.constant_parser import ConstantParser
from girih.ir.core import Value, canonical_name
from girih.ir.language import Language
from girih.ir.types import ERROR, Type
from girih.source import Source, Span


class NameParser(ConstantParser):
    """The parser's part for local names."""

    def __init__(self, source: Source, language: Language) -> None:
        super().__init__(source, language)
        self.visible: dict[str, Value] = {}
        self.scopes: list[list[str]] = []
        self.definition_scopes: list[list[str]] = []
        self.ended: dict[str, Span] = {}
        self.missing: set[str] = set()

    def open_scope(self) -> None:
        """Open a scope: names that are defined from now on belong to a region."""
        self.scopes.append([])
        self.definition_scopes.append([])

    def close_scope(self) -> None:
        """Close the innermost scope: its names are forgotten."""
        for name in self.scopes.pop():
            value = self.visible.pop(name, None)
            if value is not None:
                self.ended[name] = value.span
        for name in self.definition_scopes.pop():
            self.definitions.pop(name, None)

    def define_local(self, name: str, type: Type, span: Span) -> Value:
        """A new value. A name that is taken is reported, and the new value is then not visible."""
        value = Value(name, type, span)
        earlier = self.visible.get(name)
        if earlier is not None and name not in self.missing:
            labels = ((span, "defined again"), (earlier.span, f"%{name} first defined here"))
            hint = "every value has one definition, also across nested regions: choose another name"
            self.report("name.redefined", f"%{name} is defined twice", span, hint, labels)
            return value
        self.missing.discard(name)
        if earlier is None:
            self.scopes[-1].append(name)
        self.visible[name] = value
        return value

    def parameter_value(self, name: Span) -> Value:
        """The value that a parameter's name stands for; an unknown one is reported once and stands for an error."""
        if not self.scopes:
            return super().parameter_value(name)
        return self.local(canonical_name(name.text[1:]), name)

    def local(self, name: str, span: Span) -> Value:
        """The value of a name; an unknown one is reported once and stands for an error."""
        value = self.visible.get(name)
        if value is not None:
            return value
        labels: tuple[tuple[Span, str], ...] = ((span, "not defined here"),)
        hint = None
        if name in self.ended:
            labels += ((self.ended[name], f"%{name} was defined here, in a region that has ended"),)
            hint = "a region's values are not visible outside: return them with `yield`"
        else:
            close = self.suggestion(name, self.visible.keys() - self.missing)
            hint = f"did you mean %{close}?" if close else None
        self.report("name.undefined", f"%{name} is not defined", span, hint, labels)
        value = Value(name, ERROR, span)
        self.visible[name] = value
        self.missing.add(name)
        if self.scopes:
            self.scopes[-1].append(name)
        return value
