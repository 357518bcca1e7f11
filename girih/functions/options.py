"""Options of functions of arrays: what kind of value each takes, as a plain value of Python.

A call's options are looked at before anything else, so that a plan is found by an int, float, bool, str or None, never
by what merely equals it: True is no axis, and 1.0 neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from reprlib import Repr
from typing import Any

import numpy as np

from girih.functions.problems import listed, refuse
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its name: an integer, a finite number, a flag, or a word among `words`; it may be several of these.

    `note` is added to what is expected where something else comes.
    """

    name: str
    integer: bool = False
    number: bool = False
    flag: bool = False
    words: tuple[str, ...] = ()
    may_be_none: bool = False
    note: str = ""

    def plain(self, function: str, value: Any) -> Any:
        """A value as None, bool, int, float or str. Raises `LaunchError` for one that the option does not take."""
        if value is None and self.may_be_none:
            return None
        if isinstance(value, bool | np.bool_):
            if self.flag:
                return bool(value)
        elif self.integer and isinstance(value, int | np.integer):
            return int(value)
        elif self.number and isinstance(value, int | float | np.integer | np.floating):
            return self._finite(function, value)
        elif self.words and isinstance(value, str):
            if value in self.words:
                return str(value)
            refuse(function, "bind.range", f"{self.name} is {shown(value)}; it must be {self._choices()}")
        refuse(function, "bind.type", f"{self.name} must be {self._kind()}; got {shown(value)}")

    def _finite(self, function: str, value: Any) -> float:
        try:
            number = float(value)
        except OverflowError:  # An integer beyond all numbers of 64 bits.
            number = float("inf")
        if not isfinite(number):
            refuse(function, "bind.range", f"{self.name} is {shown(value)}; it must be finite")
        return number

    def _choices(self) -> str:
        return listed(["an integer"] * self.integer + [repr(word) for word in self.words])

    def _kind(self) -> str:
        kinds = ["True or False"] * self.flag + ["a number"] * self.number + ["an integer" + self.note] * self.integer
        return listed([*kinds, *map(repr, self.words), *["None"] * self.may_be_none])


AXIS = Option("axis", integer=True)


def plain_options(function: str, options: Sequence[Option], values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of all options of a call. Raises `LaunchError`."""
    return tuple(option.plain(function, value) for option, value in zip(options, values, strict=True))


def shown(value: object) -> str:
    """A value in a message: on one line, shortened, and never an error of its own `repr`."""
    return " ".join(_SHORT.repr(value).split())


_SHORT = Repr()
_SHORT.maxother = _SHORT.maxstring = 60
