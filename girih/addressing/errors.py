"""Rules of the address models, and the one error that lists every rule that a model or an operand breaks.

Every rule has an id, says what holds, and cites its source; all of them stand in `RULES`. A `Violation` is one rule
that does not hold, in words with numbers. Severity `error` makes the model illegal; `lint` is legal, but hardly meant.
Sources: `000` to `004` are the specifications. Tensor copies have rules that 004 does not hold: `PTX ISA` is NVIDIA's
manual of the instructions (version 9.0), `driver` the documentation of the CUDA driver API (version 13.0,
cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col), `CUDA programming guide` that book. `measured` is what an NVIDIA
H200 did, `girih` is a limit of this package.
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
    """One rule that does not hold: its id, what came in words with numbers, what to do, the section that says so."""

    rule: str
    message: str
    fix: str
    source: str
    severity: Severity = "error"

    def __str__(self) -> str:
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.message}{fix} [{self.source}]"


class AddressingError(ValueError):
    """An illegal model or operand; `violations` holds every rule that is broken, in the order of the operands."""

    def __init__(self, what: str, violations: Iterable[Violation]) -> None:
        self.what = what
        self.violations = tuple(violations)
        super().__init__(what, self.violations)

    def __str__(self) -> str:
        return "\n".join([f"{self.what}:", *(f"  {one.rule}: {one}" for one in self.violations)])


@dataclass(frozen=True, slots=True)
class Rule:
    """What must hold (`error`) or what a careful user does (`lint`), and where it is written."""

    id: str
    says: str
    source: str
    severity: Severity = "error"

    def violation(self, message: str, fix: str = "") -> Violation:
        """This rule, broken: `message` says what came, with numbers; `fix` what to do."""
        return Violation(self.id, message, fix, self.source, self.severity)


RULES: dict[str, Rule] = {}
"""Every rule of the address models by its id; a module adds its rules when it is imported."""


def rule(identifier: str, says: str, source: str, severity: Severity = "error") -> Rule:
    """Declare a rule and enter it into `RULES`; ids are `model.rule-id`. Raises `KeyError` for an id taken."""
    if identifier in RULES:
        raise KeyError(f"two rules are called {identifier}")
    RULES[identifier] = Rule(identifier, says, source, severity)
    return RULES[identifier]


NOT_AN_INTEGER = rule("operand.integer", "sizes, offsets and counts are integers", "girih")
NOT_A_SEQUENCE = rule("operand.sequence", "what there is one of per dimension comes as a tuple", "girih")


def what_it_is(value: object) -> str:
    """The type of a value as a sentence ends with it: "None", "an int", "a str"."""
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
    """The value as Python writes it, as far as a line holds it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class RuleReport:
    """Collects what is wrong with one model or call, so that one error lists everything.

    `what` starts the error: "TensorLayout.set_dimension", say.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.violations: list[Violation] = []
        self.refused: set[str] = set()
        """The names of the integers that were refused."""

    def add(self, broken: Rule, message: str, fix: str = "") -> None:
        """Note that a rule does not hold."""
        self.violations.append(broken.violation(message, fix))

    def integer(self, name: str, value: object, low: int, high: int, range_rule: Rule, fix: str = "") -> int:
        """`value` as an `int`; notes what is no integer or outside `low` .. `high`, and returns `low` then."""
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
        """`integer` for each of `name[0]`, `name[1]`, ..."""
        return tuple(
            self.integer(f"{name}[{position}]", value, low, high, range_rule, fix)
            for position, value in enumerate(values)
        )

    def sequence(self, name: str, values: object, of: str) -> tuple[object, ...]:
        """`values` as a tuple; notes what is no tuple, list or array, and returns nothing then."""
        if isinstance(values, Iterable) and not isinstance(values, str | bytes):
            return tuple(values)
        self.add(NOT_A_SEQUENCE, f"{name} = {_short(values)} is no tuple", f"pass a tuple of {of}")
        return ()

    def word(self, name: str, value: object, words: Collection[str], broken: Rule) -> str:
        """`value`; notes when it is none of `words`, and returns "" then."""
        if isinstance(value, str) and value in words:
            return value
        self.add(broken, f"{name} = {_short(value)} is unknown", f"use {one_of(words)}")
        return ""

    def done(self) -> None:
        """Raise one `AddressingError` with everything noted of severity `error`, if there is any."""
        errors = [one for one in self.violations if one.severity == "error"]
        if errors:
            raise AddressingError(self.what, errors)
