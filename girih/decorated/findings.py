"""What a run of a kernel in Python found, in the words of Python, with indices in the order of the user's axes."""

from __future__ import annotations

import re
from dataclasses import replace

from girih.diagnostics import Finding, KernelError, MemoryAccess
from girih.front.python.facts import ArrayFacts, GroupFacts, Specialisation
from girih.front.python.words.messages import in_python

_OF_THE_ARRAY = re.compile(r", element \[[\d, -]*\] of the array")
"""What is said of an index in modes, which is not needed beside one of axes."""

_NUMBERS = re.compile(r"(index |of shape )\((-?\d+(?:, -?\d+)+)\)")
"""An index or a shape in a message."""

Index = tuple[int, ...] | None


def told(error: KernelError, specialisation: Specialisation) -> KernelError:
    """The error with its findings as the user has to read them; `specialisation` has the orders of arrays."""
    turned = {name for name, facts in specialisation.parameters if _is_turned(facts)}
    return KernelError([_told(finding, turned) for finding in error.findings])


def _is_turned(facts: object) -> bool:
    """Whether modes are the axes of an array in reverse."""
    array = facts.member if isinstance(facts, GroupFacts) else facts
    return (
        isinstance(array, ArrayFacts)
        and len(array.order) > 1
        and array.order == tuple(sorted(array.order, reverse=True))
    )


def _told(finding: Finding, turned: set[str]) -> Finding:
    message = _OF_THE_ARRAY.sub("", finding.message)
    index, shape, other = finding.index, finding.shape, finding.other
    if finding.argument in turned:
        index, shape = _reversed(index), _reversed(shape)
        message = _NUMBERS.sub(_turned_words, message)
    hint = None if finding.hint is None else in_python(finding.hint)
    return replace(
        finding, message=in_python(message), index=index, shape=shape, hint=hint,
        other=None if other is None else _other(other, turned),
    )  # fmt: skip


def _turned_words(match: re.Match[str]) -> str:
    return f"{match[1]}({', '.join(reversed(match[2].split(', ')))})"


def _other(access: MemoryAccess, turned: set[str]) -> MemoryAccess:
    index = _reversed(access.index) if access.argument in turned else access.index
    return replace(access, index=index, mark="")


def _reversed(index: Index) -> Index:
    return None if index is None else index[::-1]
