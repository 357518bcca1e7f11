"""The checker: applies every rule to every instruction, and reports in source order each one that is broken.

Guarantees: it never raises for a bad program; a value in error causes no further diagnostics; a module without errors
can be given to any executor. Its time is linear in the number of instructions.
"""

from __future__ import annotations

from collections.abc import Iterable

from girih.diagnostics import Diagnostic
from girih.ir.core import STRING_WORDS, Function, Module, Op, Region, Value, canonical_name, is_name, is_string
from girih.ir.grid import grid_leaves
from girih.ir.language import Language
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.ir.surroundings import Surroundings
from girih.ir.types import ErrorType, Type
from girih.recursion import recursion_room
from girih.rules.apply import Label, failures
from girih.rules.row import Row, Subject
from girih.source import Span

CHECK_CODES: dict[str, str] = {
    "name.instruction": "the instruction belongs to the language of its function",
    "name.spelling": "a name is a letter with letters, digits and _ behind it, or digits; a value may have none",
    "text.characters": f"a string is of {STRING_WORDS}, since it has no escapes",
    "type.language": "the type of a value belongs to the language of its function",
}
"""What is never wrong in a text, which is read by one language, but can be in a program that was built."""

Problems = list[Diagnostic]


def check_module(module: Module, limits: DeviceLimits | None = None) -> list[Diagnostic]:
    """Every error and warning of a module, in source order.

    Each function is checked under the rules of its language; `limits` are those of a target, by default of none in
    particular. Raises nothing for a bad program.
    """
    with recursion_room():
        problems: Problems = []
        sound_types: dict[Language, set[Type]] = {}
        for function in module.functions:
            known = sound_types.setdefault(function.language, set())
            _Checker(function.language, limits or DEFAULT_LIMITS, problems, known).function(function)
    return sorted(problems, key=lambda d: (d.span.start, d.span.end))


class _Checker:
    """The checker of the functions of one language, which share what is known of its types."""

    def __init__(self, language: Language, limits: DeviceLimits, problems: Problems, sound_types: set[Type]) -> None:
        self.language = language
        self.limits = limits
        self.problems = problems
        self.sound_types = sound_types

    def function(self, function: Function) -> None:
        facts = Surroundings(function, self.limits)
        self._rows("func", function, facts, function.span)
        if not is_name(function.name):
            self._misspelled("a function", function.name, function.span)
        visible: set[Value] = set()
        for parameter in function.parameters:
            self._name(parameter.value)
            self._type(parameter.type, parameter.span, facts)
            self._rows("parameter", parameter, facts, parameter.span)
            visible.add(parameter.value)
        for leaf in grid_leaves(function):
            if leaf.parameter not in visible and not isinstance(leaf.parameter.type, ErrorType):
                self._invisible(leaf.span, leaf.parameter)
        self._region(function.body, facts, visible)

    def _region(self, region: Region, facts: Surroundings, visible: set[Value]) -> None:
        outer, outer_last = facts.region, facts.last
        facts.region = region
        added: list[Value] = []
        final = len(region.ops) - 1
        for position, op in enumerate(region.ops):
            facts.last = position == final
            self._op(op, facts, visible)
            for value in op.results:
                self._name(value)
                facts.definitions[value] = op
                visible.add(value)
                added.append(value)
        visible.difference_update(added)
        facts.region, facts.last = outer, outer_last

    def _op(self, op: Op, facts: Surroundings, visible: set[Value]) -> None:
        for value in op.operands:
            if value not in visible and not isinstance(value.type, ErrorType):
                self._invisible(op.span, value)
        spec = op.spec
        if self.language.ops.get(spec.mnemonic) is type(op):
            self._instruction(op, facts)
        else:
            message = f"`{spec.mnemonic}` is not an instruction of the language {self.language.name}"
            self.problems.append(Diagnostic("name.instruction", message, op.span))
        if not spec.regions:
            return
        facts.parents.append(op)
        bindings = tuple(op.bindings)
        for value in bindings:
            self._name(value)
            self._belongs(value.type, value.span)
        visible.update(bindings)
        for region in op.regions:
            self._region(region, facts, visible)
        visible.difference_update(bindings)
        facts.parents.pop()

    def _instruction(self, op: Op, facts: Surroundings) -> None:
        """Report what is wrong with an instruction of the language; its regions are checked elsewhere."""
        spec = op.spec
        if spec.constant is not None:
            facts.constants[op.results[0]] = getattr(op, spec.constant)
        for name in spec.texts:
            self._text(getattr(op, name), op.span)
        for name in spec.results:
            self._result_types(op, name, facts)
        self._rows(spec.mnemonic, op, facts, op.span)

    def _result_types(self, op: Op, name: str, facts: Surroundings) -> None:
        spans = op.uses.get(name, ())
        for number, value in enumerate(op.results):
            self._type(value.type, spans[number] if number < len(spans) else op.span, facts)

    def _type(self, type: Type, span: Span, facts: Surroundings) -> None:
        if type in self.sound_types or not self._belongs(type, span):
            return
        before = len(self.problems)
        self._rows("type", type, facts, span)
        if len(self.problems) == before:
            self.sound_types.add(type)

    def _belongs(self, type: Type, span: Span) -> bool:
        """Whether the language has a type. A type in error passes: its error is reported already."""
        if self.language.has_type(type):
            return True
        if not isinstance(type, ErrorType):
            message = f"{type} is not a type of the language {self.language.name}"
            self.problems.append(Diagnostic("type.language", message, span))
        return False

    def _name(self, value: Value) -> None:
        """Report the name of a value that no text can have; without a name it is numbered when it is printed."""
        name = value.name
        if name and not (is_name(name) and name == canonical_name(name)):
            self._misspelled("a value", value.name, value.span)

    def _misspelled(self, what: str, name: str, span: Span) -> None:
        message = f"{name!r} cannot be the name of {what}"
        hint = "a name is a letter with letters, digits and _ behind it, or a whole number without zeros before it"
        self.problems.append(Diagnostic("name.spelling", message, span, hint=hint))

    def _text(self, text: str, span: Span) -> None:
        if not is_string(text):
            message = f"expected: a string of {STRING_WORDS}; found: {text!r}"
            hint = "a string has no escapes: print a line for each, and write ' for a quotation mark"
            self.problems.append(Diagnostic("text.characters", message, span, hint=hint))

    def _invisible(self, span: Span, value: Value) -> None:
        message = f"%{value.name} is not visible here"
        labels = ((span, "used here"), (value.span, "defined here"))
        self.problems.append(Diagnostic("name.undefined", message, span, labels=labels))

    def _rows(self, owner: str, subject: object, facts: Surroundings, span: Span) -> None:
        self.problems += failures(owner, self.language.rules[owner], Subject(subject, facts), span, _labels)


def _labels(row: Row, subject: Subject[Surroundings]) -> tuple[list[Label], list[Label]]:
    """The labels of the operands that a row blames, or of the place that it finds, and those of their definitions."""
    op, names = subject.op, row.blames.split()
    place = row.at(subject) if row.at is not None else None
    if not isinstance(op, Op):
        return ([(place, "")] if place is not None else []), []
    guilty = [(place, "")] if place is not None else _operand_labels(op, names)
    return guilty, _definition_labels(op, names)


def _operand_labels(op: Op, names: Iterable[str]) -> list[Label]:
    labels: list[Label] = []
    for name in names:
        spans = op.uses.get(name)
        if not spans:
            continue
        operand = getattr(op, name)
        for span, value in zip(spans, operand if isinstance(operand, tuple) else (operand,), strict=False):
            text = f"{name}: {value.type}" if isinstance(value, Value) else name
            labels.append((span, text))
    return sorted(labels, key=lambda label: label[0].start)


def _definition_labels(op: Op, names: Iterable[str]) -> list[Label]:
    """The labels of the definitions of guilty operands that are on another line than the instruction."""
    labels: dict[Value, Label] = {}
    defined = set(op.results)
    for name in names:
        operand = getattr(op, name)
        for value in operand if isinstance(operand, tuple) else (operand,):
            if not isinstance(value, Value) or value in defined or not value.span.source.text:
                continue
            if value.span.line != op.span.line:
                labels[value] = (value.span, f"%{value.name} defined here")
    return list(labels.values())
