"""Rules of the address models, and the one error that lists every rule that a model or an operand breaks.

Every rule has an id, says what holds, and cites its source; `RULES` holds all of them. A `Violation` is one rule that
does not hold, in words with numbers. Severity `error` makes the model illegal; `lint` is legal and probably not meant.
Sources: `000` to `004` are the specifications. Tensor copies have rules that 004 does not state: `PTX ISA` is NVIDIA's
manual of the instructions (version 9.0), `driver` the documentation of the CUDA driver API (version 13.0,
cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col), `CUDA programming guide` NVIDIA's book of that name. `measured` is
what an NVIDIA H200 did, `girih` is a limit of this package.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex, cast

Severity = Literal["error", "lint"]

U32 = 2**32 - 1
"""The largest unsigned 32-bit integer."""
I32_LOW, I32_HIGH = -(2**31), 2**31 - 1
"""The range of signed 32-bit integers."""
I64_HIGH = 2**63 - 1
"""The largest signed 64-bit integer."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that does not hold.

    `rule` is its id, `message` says what came, with numbers, `fix` what to do, or nothing; `source` is the section that
    states the rule. `error` makes a model illegal, `lint` is legal and probably not meant.
    """

    rule: str
    message: str
    fix: str
    source: str
    severity: Severity = "error"

    def __str__(self) -> str:
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.message}{fix} [{self.source}]"


class AddressingError(ValueError):
    """An illegal model or operand; `violations` holds every rule that is broken, in the order of the operands.

    `what` is the name of the class or method that refused.
    """

    def __init__(self, what: str, violations: Iterable[Violation]) -> None:
        self.what = what
        self.violations = tuple(violations)
        super().__init__(what, self.violations)

    def __str__(self) -> str:
        return "\n".join([f"{self.what}:", *(f"  {violation.rule}: {violation}" for violation in self.violations)])


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that must hold (`error`), or that a careful user keeps (`lint`).

    `id` is `model.rule-id`, `says` the rule in words, `source` the section that states it.
    """

    id: str
    says: str
    source: str
    severity: Severity = "error"

    def violation(self, message: str, fix: str = "") -> Violation:
        """The violation of this rule: `message` says what came, with numbers; `fix` what to do."""
        return Violation(self.id, message, fix, self.source, self.severity)


RULES: dict[str, Rule] = {}
"""Every rule of the address models by its id; a module adds its rules when it is imported."""


def rule(identifier: str, says: str, source: str, severity: Severity = "error") -> Rule:
    """The rule with this id, `model.rule-id`, entered into `RULES`. Raises `KeyError` for an id that is taken."""
    if identifier in RULES:
        raise KeyError(f"two rules are called {identifier}")
    RULES[identifier] = Rule(identifier, says, source, severity)
    return RULES[identifier]


NOT_AN_INTEGER = rule("operand.integer", "sizes, offsets and counts are integers", "girih")
NOT_A_SEQUENCE = rule("operand.sequence", "what there is one of per dimension comes as a tuple", "girih")


def what_it_is(value: object) -> str:
    """The type of a value in words, as the end of a sentence: "None", "an int", "a str"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def plural(count: int, noun: str, verbs: tuple[str, str] = ("", "")) -> str:
    """A number with its noun, and with the verb of one or of several: "1 element lies", "2 elements lie"."""
    words = f"{count} {noun}" if count == 1 else f"{count} {noun}s"
    return f"{words} {verbs[count != 1]}".strip()


def one_of(words: Collection[str]) -> str:
    """Words to choose from: "a", "a or b", "a, b or c"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _short(value: object) -> str:
    """The value as Python writes it, cut where it is longer than 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class RuleReport:
    """The violations of one model or call, collected so that one error lists all of them.

    `what` begins the error: "TensorLayout.set_dimension", say.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.violations: list[Violation] = []
        self.refused: set[str] = set()
        """The names of the integers that were refused."""

    def add(self, broken: Rule, message: str, fix: str = "") -> None:
        """Note a violation of a rule."""
        self.violations.append(broken.violation(message, fix))

    def integer(self, name: str, value: object, low: int, high: int, range_rule: Rule, fix: str = "") -> int:
        """`value` as an `int`; `low`, and a note, where it is not an integer from `low` to `high`."""
        try:
            number = operator.index(cast(SupportsIndex, value))
        except TypeError:
            self.refused.add(name)
            self.add(NOT_AN_INTEGER, f"{name} = {_short(value)} is no integer", "pass an integer")
            return low
        if low <= number <= high:
            return number
        self.refused.add(name)
        self.add(range_rule, f"{name} = {number} is outside {low} .. {high}", fix or f"choose {name} in that range")
        return low

    def integers(
        self, name: str, values: Sequence[object], low: int, high: int, range_rule: Rule, fix: str = ""
    ) -> tuple[int, ...]:
        """The values as `int`s from `low` to `high`, with a note for each other one, as `name[0]`."""
        return tuple(
            self.integer(f"{name}[{position}]", value, low, high, range_rule, fix)
            for position, value in enumerate(values)
        )

    def sequence(self, name: str, values: object, of: str) -> tuple[object, ...]:
        """`values` as a tuple; empty, and a note, for a text and for what cannot be iterated over."""
        if isinstance(values, Iterable) and not isinstance(values, str | bytes):
            return tuple(values)
        self.add(NOT_A_SEQUENCE, f"{name} = {_short(values)} is no tuple", f"pass a tuple of {of}")
        return ()

    def word(self, name: str, value: object, words: Collection[str], broken: Rule) -> str:
        """`value` where it is one of `words`; otherwise "", and a note."""
        if isinstance(value, str) and value in words:
            return value
        self.add(broken, f"{name} = {_short(value)} is unknown", f"use {one_of(words)}")
        return ""

    def done(self) -> None:
        """Raise one `AddressingError` with all violations of severity `error`, if there are any."""
        errors = [violation for violation in self.violations if violation.severity == "error"]
        if errors:
            raise AddressingError(self.what, errors)
