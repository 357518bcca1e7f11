"""The lines that kernels print: numbers as text, and the lines of a launch in their order.

A number is the shortest decimal that reads back to it in its type, as Python writes it; complex numbers are as NumPy
writes them. A line is its place, its text and its values, separated by blanks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import field
from operator import attrgetter

import numpy as np

from girih.arguments.arrays import DTYPES
from girih.diagnostics import plural
from girih.ir.types import C32, EIGHT_BIT_FLOATS, F16, F32, F64, PARTS, Boolean, CoopMatrix, Number, Type
from girih.lazy_dataclass import dataclass

PrintedNumber = bool | int | float | complex

_DIGITS = 9
"""More digits than a type narrower than f64 needs to be read back."""


def number_text(type: Number | Boolean, value: PrintedNumber) -> str:
    """The text of a number or truth value of a type."""
    if isinstance(type, Boolean):
        return "true" if value else "false"
    if type in PARTS:
        return str(np.complex64(value)) if type == C32 else str(complex(value))
    if not isinstance(value, float):
        return str(int(value.real))
    # The numbers of eight bits are few: 448 is not to be seen as 450, which would be the shortest that means it.
    if value != value or value in (np.inf, -np.inf) or type == F64 or type in EIGHT_BIT_FLOATS:
        return "nan" if value != value else repr(value)
    if type in (F16, F32):
        return repr(float(str(DTYPES[type].type(value))))
    return repr(_shortest(value, DTYPES[type]))


def _shortest(value: float, dtype: np.dtype[np.generic]) -> float:
    """The number of the fewest decimal digits that is `value` in a type."""
    tried = (float(f"{value:.{digits}e}") for digits in range(_DIGITS))
    return next((x for x in tried if float(np.array(x).astype(dtype)) == value), value)


def matrix_text(type: CoopMatrix, rows: Sequence[Sequence[PrintedNumber]]) -> str:
    """The text of a matrix: its type, and components; where these are fewer than it has, the middle is left out."""
    lines = []
    for row in rows:
        lines.append("[" + ", ".join(_abridged([number_text(type.component, x) for x in row], type.columns)) + "]")
    return f"{type} [{', '.join(_abridged(lines, type.rows))}]"


def _abridged(items: list[str], count: int) -> list[str]:
    half = len(items) // 2
    return items if len(items) == count else [*items[:half], "...", *items[half:]]


PrintedValue = PrintedNumber | Sequence[Sequence[PrintedNumber]]


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """One line before it is written: the key that it is sorted by, its place, its text, and values with their types."""

    key: tuple[int, ...]
    place: str
    text: str
    values: Sequence[tuple[Type, PrintedValue]]

    def __str__(self) -> str:
        words = [f"{self.place}:", self.text, *(_value_text(type, value) for type, value in self.values)]
        return " ".join(word for word in words if word)


def _value_text(type: Type, value: PrintedValue) -> str:
    if isinstance(type, CoopMatrix):
        assert isinstance(value, Sequence)
        return matrix_text(type, value)
    assert isinstance(type, Number | Boolean)
    assert not isinstance(value, Sequence)
    return number_text(type, value)


def line_of(
    group: tuple[int, int, int],
    number: tuple[int, int],
    text: str,
    values: Sequence[tuple[Type, PrintedValue]],
    *,
    subgroup: int | None = None,
    lane: int | None = None,
    point: tuple[int, ...] = (),
) -> PrintedLine:
    """The line of a work-group at a place of the grid; `number` are those of the work-group and of its step.

    `subgroup` and `lane` are None where they do not count, and the subgroup counts for nothing where there is a point.
    """
    place = f"({','.join(map(str, group))})"
    if point:
        place += f" at ({','.join(map(str, point))})"
    elif subgroup is not None:
        place += f" subgroup {subgroup}"
    if lane is not None:
        place += f" lane {lane}"
    inner = (*reversed(point), lane or 0) if point else (subgroup or 0, lane or 0)
    return PrintedLine((*number, *inner), place, text, values)


@dataclass(slots=True)
class PrintedLines:
    """The first `most` lines of a launch in their order, and how many more there were; `add` takes them in any order.

    Lines with equal keys stay in the order in which they are added.
    """

    most: int
    dropped: int = 0
    _lines: list[PrintedLine] = field(default_factory=list)

    def add(self, line: PrintedLine) -> None:
        """Add a line."""
        self._lines.append(line)
        if len(self._lines) >= 2 * self.most:
            self._sort()

    def _sort(self) -> None:
        self._lines.sort(key=attrgetter("key"))
        self.dropped += max(0, len(self._lines) - self.most)
        del self._lines[self.most :]

    def text(self) -> str:
        """All lines, each with its end; the last says how many are missing, if some are."""
        self._sort()
        lines = [f"{line}\n" for line in self._lines]
        if self.dropped:
            lines.append(f"{plural(self.dropped, 'more line')}; a launch keeps {self.most:,}\n")
        return "".join(lines)

    def write(self) -> None:
        """Write the lines to standard output, if there are any and a process has one."""
        text = self.text()
        if text and sys.stdout is not None:
            sys.stdout.write(text)

    def write_behind(self, error: BaseException) -> None:
        """Write the lines of a launch that ended with an error; where that fails, the error gets a note of it."""
        try:
            self.write()
        except (OSError, ValueError) as unwritable:  # a ValueError where standard output is closed
            error.add_note(f"What the kernel printed before could not be written: {unwritable}")
