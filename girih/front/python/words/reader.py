"""How a kernel in Python is spoken of when it runs: findings, remarks, arguments in names, axes and words of Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from girih.diagnostics import Diagnostic, Finding, MemoryAccess
from girih.front.python.facts import ArrayFacts, Facts, GroupFacts
from girih.front.python.operands import NamedMemory
from girih.front.python.signature import Declared, annotation
from girih.front.python.words.messages import in_python
from girih.ir.core import WrittenParameter
from girih.lazy_dataclass import dataclass
from girih.source import Span

Axes = tuple[int, ...]
Index = tuple[int, ...] | None

_NUMBERS = re.compile(r"(index |of shape )\((-?\d+(?:, -?\d+)+)\)")
"""An index or a shape in a message."""

_OF_THE_ARRAY = re.compile(r", element \[[\d, -]*\] of the array")
"""What is said of an index in modes, which is not needed beside one of axes."""

_SIZE = re.compile(r"`size %(\w+)\[(\d+)\]`")
_NAME = re.compile(r"%(\w+)")
_MODE = re.compile(r"\bmode (\d+) of `(\w+)`")
_MODES = re.compile(r"\bmodes (\d+) and (\d+) of `(\w+)`")
_SLICE = re.compile(r"\bslice (\d+) of `gl\.subview` is not inside `(\w+)`")
_SHAPES = re.compile(r"^(`gl\.(\w+)`): .*?; (.* is .*)$")
_PAIR = re.compile(r"^(`gl\.(\w+)`): .* differ(?: in shape)?: \(([\d, ]+)\) and \(([\d, ]+)\)$")
_OPERAND = re.compile(r"`(\w+)` is ([\dx]+|a scalar)")

_COMPUTES = {
    "gemm": "gl.gemm(alpha, A, B, beta, C) computes C = alpha * A @ B + beta * C",
    "gemv": "gl.gemv(alpha, A, b, beta, c) computes c = alpha * A @ b + beta * c",
    "ger": "gl.ger(alpha, a, b, beta, C) computes C = alpha * outer(a, b) + beta * C",
    "hadamard": "gl.hadamard(alpha, A, B, beta, C) computes C = alpha * A * B + beta * C, each element alone",
    "cumsum": "gl.cumsum(alpha, a, axis, beta, b) computes b = alpha * numpy.cumsum(a, axis) + beta * b",
    "sum": "gl.sum(alpha, a, beta, b) computes b = alpha * (sums of the rows of a) + beta * b",
    "axpby": "gl.axpby(alpha, A, beta, B) computes B = alpha * A + beta * B, each element alone",
}
"""What shapes have to suit, by words."""


@dataclass(frozen=True, slots=True)
class PythonReader:
    """The parameters of a kernel in Python and the memory that it gives names to, for who reads what is said of it."""

    parameters: tuple[WrittenParameter, ...]
    memory: tuple[NamedMemory, ...]

    @staticmethod
    def of(
        declared: Iterable[Declared], facts: Iterable[tuple[str, Facts]], memory: Iterable[NamedMemory]
    ) -> PythonReader:
        """The reader of a kernel whose arrays lie as facts say, with names for further memory."""
        orders = {name: _order(fact) for name, fact in facts}
        parameters = tuple(
            WrittenParameter(p.name, number, annotation(p), _member(p), orders.get(p.name, ()))
            for number, p in enumerate(declared, 1)
        )
        return PythonReader(parameters, tuple(memory))

    def parameter(self, name: str) -> WrittenParameter:
        """The parameter of a name."""
        return next(p for p in self.parameters if p.name == name)

    def diagnostic(self, diagnostic: Diagnostic) -> Diagnostic:
        """What is said of the kernel, in words of Python."""
        named = _NAME.search(diagnostic.message)
        axes = self._axes(named[1], diagnostic.span) if named else ()
        message = in_python(_with_numbers(diagnostic.message, axes))
        labels = tuple((span, in_python(words)) for span, words in diagnostic.labels)
        return replace(
            diagnostic, message=message, labels=labels, hint=in_python(diagnostic.hint) if diagnostic.hint else None
        )

    def finding(self, finding: Finding) -> Finding:
        """What a run has found, in words of Python, with indices in the order of axes."""
        at = finding.span
        axes = self._axes(finding.argument, at)
        hint = None if finding.hint is None else self._hint(finding.hint, at)
        message, computes = self._with_axes(in_python(_with_numbers(finding.message, axes)), at)
        other = finding.other
        return replace(
            finding, message=message, index=_turned(finding.index, axes), shape=_turned(finding.shape, axes),
            hint=hint or computes, other=None if other is None else self._other(other),
        )  # fmt: skip

    def _hint(self, hint: str, at: Span) -> str:
        """What a text would say to write, as Python says it."""

        def size(found: re.Match[str]) -> str:
            name, mode = found[1], int(found[2])
            parameter = next((p for p in self.parameters if p.name == name), None)
            if parameter is not None and parameter.member:
                return f"`len({name})`"
            axes = self._axes(name, at)
            return f"`{name}.shape[{axes[mode] if mode < len(axes) else mode}]`"

        return in_python(_SIZE.sub(size, hint)).replace("modes that lie", "axes that lie")

    def _other(self, access: MemoryAccess) -> MemoryAccess:
        axes = self._axes(access.argument, access.span)
        return replace(access, index=_turned(access.index, axes), kind=in_python(access.kind), mark="")

    def _with_axes(self, message: str, at: Span) -> tuple[str, str | None]:
        """A message with axes in place of modes; and what the word computes whose operands have wrong shapes."""

        def axis(mode: str, name: str) -> int:
            axes = self._axes(name, at)
            return axes[int(mode)] if int(mode) < len(axes) else int(mode)

        def both(found: re.Match[str]) -> str:
            first, second = sorted((axis(found[1], found[3]), axis(found[2], found[3])))
            return f"axes {first} and {second} of `{found[3]}`"

        message = _MODES.sub(both, message)
        message = _MODE.sub(lambda found: f"axis {axis(found[1], found[2])} of `{found[2]}`", message)
        message = _SLICE.sub(
            lambda found: f"the slice for axis {axis(found[1], found[2])} is not inside `{found[2]}`", message
        )
        message = message.replace("where the mode has", "where the axis has").replace("in a mode of", "in an axis of")
        pair = _PAIR.match(message)
        if pair is not None:
            first, second = (_by_axis(pair[n].split(", "), self._common_axes) for n in (3, 4))
            return f"{pair[1]}: the shapes do not go together: ({first}) and ({second})", _COMPUTES.get(pair[2])
        shapes = _SHAPES.match(message)
        if shapes is None:
            return message, None
        listed = sorted(_OPERAND.findall(shapes[3]), key=lambda operand: at.text.find(operand[0]))
        operands = ", ".join(f"`{name}` is {self._shape(name, sizes, at)}" for name, sizes in listed)
        return f"{shapes[1]}: the shapes do not go together; {operands}", _COMPUTES.get(shapes[2])

    @property
    def _common_axes(self) -> Axes:
        """The axes of all matrices among the parameters; none where they differ."""
        several = {p.axes for p in self.parameters if len(p.axes) == 2}
        return several.pop() if len(several) == 1 else ()

    def _shape(self, name: str, sizes: str, at: Span) -> str:
        if not sizes[0].isdigit():
            return "()"
        listed = sizes.split("x")
        return f"({_by_axis(listed, self._axes(name, at))}{',' if len(listed) == 1 else ''})"

    def _axes(self, name: str | None, at: Span) -> Axes:
        """The axes of the memory that a name stands for at a place; none where it is not known."""
        if name is None:
            return ()
        found = [m for m in self.memory if m.name == name]
        before = [m for m in found if m.span.source is at.source and m.span.start <= at.start]
        if before or found:
            return (before or found)[-1].axes
        parameter = next((p for p in self.parameters if p.name == name.partition("[")[0]), None)
        return () if parameter is None else parameter.axes


def _with_numbers(message: str, axes: Axes) -> str:
    """A message about memory with indices and shapes by axis."""
    return _NUMBERS.sub(
        lambda found: f"{found[1]}({_by_axis(found[2].split(', '), axes)})", _OF_THE_ARRAY.sub("", message)
    )


def _order(facts: Facts) -> Axes:
    array = facts.member if isinstance(facts, GroupFacts) else facts
    return array.order if isinstance(array, ArrayFacts) else ()


def _member(parameter: Declared) -> str:
    """The annotation of each array of a group."""
    if parameter.kind != "group":
        return ""
    return annotation(replace(parameter, kind="array"))


def _by_axis(values: list[str], axes: Axes) -> str:
    if len(axes) != len(values):
        return ", ".join(values)
    return ", ".join(values[axes.index(axis)] for axis in range(len(values)))


def _turned(index: Index, axes: Axes) -> Index:
    """The numbers of modes by axis."""
    if index is None or len(axes) != len(index):
        return index
    return tuple(index[axes.index(axis)] for axis in range(len(index)))
