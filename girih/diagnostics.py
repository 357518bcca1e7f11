"""Diagnostics of programs and launches, findings of runs, and the exceptions that carry them to the user.

Every error in a program or a launch is a `CompileError`, a `LaunchError` or a `KernelError`; an `InternalError` is a
defect of girih.
Codes are `mnemonic.rule-id`, or start with `syntax`, `name`, `type`, `definition`, `bind` or `run`.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Literal

from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span, excerpt

SHOWN = 100
"""The number of diagnostics that are printed in full; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong (`error`) or doubtful (`warning`) in a program or in the arguments of a launch.

    A `remark` says what a compiler or a launch did that may not be what was meant.

    `code` is one that `girih explain` knows, such as `axpby.shape`; `span` the place in the text; `labels` are further
    places, each with its words; `hint` is the fix, where one is known.
    """

    code: str
    message: str
    span: Span
    severity: Literal["error", "warning", "remark"] = "error"
    labels: tuple[tuple[Span, str], ...] = ()
    hint: str | None = None

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """The diagnostic with source lines and carets, as printed in a terminal."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        labels = self.labels or ((self.span, ""),)
        place: tuple[str, int] | None = None
        for span, text in labels:
            if not span.source.text:
                lines += _nowhere(span)
                continue
            here = (span.file, span.line)
            shown, carets = excerpt(span)
            gutter = f"{span.line:>5} | "
            if here != place:
                lines += [f"  --> {span}", gutter + shown]
            lines.append(" " * (len(gutter) - 2) + f"| {carets} {text}".rstrip())
            place = here
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _markup(self.render())

    def to_json(self) -> dict[str, object]:
        """The diagnostic as plain values; lines and columns are 1-based, columns count code points."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            **_place(self.span),
            "labels": [{**_place(span), "text": text} for span, text in self.labels],
            "hint": self.hint,
        }


def _markup(rendered: str) -> str:
    from girih.markup import report

    return report(rendered)


def _place(span: Span) -> dict[str, object]:
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _nowhere(span: Span) -> list[str]:
    """The lines that name the place of a diagnostic without text: the file as a whole, or none for `NOWHERE`."""
    return [] if span.source is NOWHERE.source else [f"  --> {span.file}"]


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The errors among diagnostics, without the warnings and remarks."""
    return [d for d in diagnostics if d.severity == "error"]


def render_all(diagnostics: Sequence[Diagnostic]) -> str:
    """All diagnostics as text: the first 100 in full, the rest as a count."""
    shown = [d.render() for d in diagnostics[:SHOWN]]
    if len(diagnostics) > SHOWN:
        shown.append(f"... and {len(diagnostics) - SHOWN} more")
    return "\n\n".join(shown)


def in_words(place: str, index: Sequence[int], shape: Sequence[int]) -> str:
    """The place of a finding in words: `place` with its fields filled in.

    The first `{}` is the list of the index, the second that of the shape; `{index[0]}` and `{shape[0]}` are single
    numbers, `{behind[3]}` is the number 3 behind the first of the index, and `{product}` is the product of the index.
    """
    lists = (", ".join(map(str, numbers)) for numbers in (index, shape))
    behind = _Behind(index[0] if index else 0)
    return place.format(*lists, index=index, shape=shape, behind=behind, product=_product(index))


@dataclass(frozen=True, slots=True)
class _Behind:
    """The numbers behind a first one, by their distance."""

    first: int

    def __getitem__(self, distance: int) -> int:
        return self.first + distance


def _product(numbers: Sequence[int]) -> str:
    factors = " x ".join(map(str, numbers))
    if any(n < 0 for n in numbers):
        return f"{factors}, with a negative size"
    return f"{factors} = {math.prod(numbers)}" if len(numbers) > 1 else factors


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """A number of things in words: `1 error`, `2 errors`; `nouns` is the plural where it is not `noun` with an s."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: the innermost one that is not in this package."""
    package = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word closest to `word`; None where none is as similar as `cutoff`, which is 1 for the word itself."""
    from difflib import get_close_matches

    closest = get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return closest[0] if closest else None


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """The earlier one of two accesses that race: where it stands in the program, and who made it.

    The fields are those of `Finding`. `index` counts elements of the argument or allocation that `argument` names,
    or its bytes where it `counts_bytes`. `mark` stands before names: nothing in programs that have names of Python.
    """

    span: Span
    argument: str | None
    index: tuple[int, ...] | None
    kind: str
    work_group: tuple[int, int, int] | None = None
    subgroup: int | None = None
    lane: int | None = None
    component: tuple[int, int] | None = None
    point: tuple[int, ...] | None = None
    counts_bytes: bool = False
    invocation: tuple[int, int, int] | None = None
    mark: str = "%"

    def render(self) -> list[str]:
        """The lines that show the access."""
        where = _where(self.work_group, self.subgroup, self.lane, self.component, self.point, self.invocation)
        listed = ", ".join(map(str, self.index or ()))
        at = "" if self.index is None else f" at byte {listed}" if self.counts_bytes else f" at index ({listed})"
        return [
            *_source_lines(self.span),
            f"  the other: {self.kind} of {self.mark}{self.argument}{at}, {where}".rstrip(", "),
        ]

    def to_json(self) -> dict[str, object]:
        """The access as plain values; lines and columns are 1-based, columns count code points."""
        return {
            **_place(self.span),
            "argument": self.argument,
            "index": self.index,
            "kind": self.kind,
            "work_group": self.work_group,
            "subgroup": self.subgroup,
            "lane": self.lane,
            "component": self.component,
            "point": self.point,
            "invocation": self.invocation,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that checked execution found: its first occurrence, and the number of all in `count`.

    `span` is the place in the program, `argument` the name of the argument. `index` and `shape` count elements in mode
    order, `work_group` is (x, y, z), `subgroup` and `lane` number the subgroup in its work-group and the work-item in
    its subgroup. In a region that computes the components of a matrix, `component` is the row and column of the one
    that it was called for, and there is no lane. In `cooperative_matrix_combine` that is the place in the result:
    (row, 0) for the combination of a row, (0, column) of a column, (0, 0) of all. A race has the `component` that an
    instruction on matrices moved. Each is None where it does not apply.

    `severity` is "warning" for what is defined and most likely not meant: it does not make the launch fail. In a shader
    `invocation` is the work-item as gl_LocalInvocationID has it.

    A race has `kind`, which is what its access does (`"read"`, `"write"` or `"atomic update"`, say), `point`, the point
    of a `foreach` in which it was made, and `other`, the earlier access, with the same fields. `hint` is the fix, where
    one is known.
    """

    code: str
    message: str
    span: Span
    argument: str | None = None
    index: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    work_group: tuple[int, int, int] | None = None
    subgroup: int | None = None
    lane: int | None = None
    component: tuple[int, int] | None = None
    count: int = 1
    kind: str | None = None
    point: tuple[int, ...] | None = None
    other: MemoryAccess | None = None
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"
    invocation: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """The finding with its source line and its place in the grid, as printed in a terminal."""
        kind = "finding" if self.severity == "error" else self.severity
        lines = [f"{kind}[{self.code}]: {self.message}", *_source_lines(self.span)]
        if where := self.where:
            lines.append("  first in " + where)
        if self.other is not None:
            lines += self.other.render()
        if self.count > 1:
            lines.append(f"  {self.count} times in all")
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _markup(self.render())

    def to_json(self) -> dict[str, object]:
        """The finding as plain values; lines and columns are 1-based, columns count code points."""
        return {
            "code": self.code,
            "message": self.message,
            **_place(self.span),
            "argument": self.argument,
            "index": self.index,
            "shape": self.shape,
            "work_group": self.work_group,
            "subgroup": self.subgroup,
            "lane": self.lane,
            "component": self.component,
            "count": self.count,
            "kind": self.kind,
            "point": self.point,
            "other": None if self.other is None else self.other.to_json(),
            "hint": self.hint,
            "severity": self.severity,
            "invocation": self.invocation,
        }

    def as_warning(self) -> Diagnostic:
        """The finding as a warning, for a launch that does not fail because of it."""
        times = f", {self.count} times in all" if self.count > 1 else ""
        message = f"{self.message}; first in {self.where}{times}"
        return Diagnostic(self.code, message, self.span, "warning", hint=self.hint)

    @property
    def where(self) -> str:
        """Who did it first, in words: the work-group, and the work-item, point or component; empty if nobody is."""
        return _where(self.work_group, self.subgroup, self.lane, self.component, self.point, self.invocation)


def _source_lines(span: Span) -> list[str]:
    """The lines that show a place in a program."""
    if not span.source.text:
        return _nowhere(span)
    shown, carets = excerpt(span)
    gutter = f"{span.line:>5} | "
    return [f"  --> {span}", gutter + shown, " " * (len(gutter) - 2) + "| " + carets]


def _where(
    work_group: tuple[int, int, int] | None,
    subgroup: int | None,
    lane: int | None,
    component: tuple[int, int] | None,
    point: tuple[int, ...] | None,
    invocation: tuple[int, int, int] | None,
) -> str:
    """Who made an access, in words."""
    parts = []
    if work_group is not None:
        parts.append("work-group ({}, {}, {})".format(*work_group))
    if invocation is not None:
        parts.append("invocation ({}, {}, {})".format(*invocation))
    if subgroup is not None:
        parts.append(f"subgroup {subgroup}")
    if lane is not None:
        parts.append(f"lane {lane}")
    if point is not None:
        parts.append(f"point ({', '.join(map(str, point))})")
    if component is not None:
        parts.append("component ({}, {})".format(*component))
    return ", ".join(parts)


class GirihError(Exception):
    """The base of every exception that girih raises on purpose."""


class _Refused(GirihError):
    """A refusal before anything ran, with its diagnostics."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(render_all(diagnostics))
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.diagnostics,)


class CompileError(_Refused):
    """The refusal of a program; `.diagnostics` holds everything that is wrong with it."""


class LaunchError(_Refused):
    """The refusal of a launch before anything ran; `.diagnostics` names the arguments. No array was changed."""


class KernelError(GirihError):
    """The end of a kernel that did something wrong while it ran; `.findings` holds what was found.

    The interpreter leaves the caller's arrays as they were before; compiled code stops at the first finding, and what
    it had written stays written.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n\n".join(f.render() for f in findings))
        self.findings = tuple(findings)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.findings,)


class SettingError(ValueError):
    """An environment variable of girih with a value that it cannot have; the message names the values that it can."""


class InternalError(GirihError):
    """A defect of girih itself; `.message` says what went wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}\nThis is a defect of girih, not of your program: please report it with the program."
        )
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message,)
