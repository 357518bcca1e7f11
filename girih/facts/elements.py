"""The elements of arrays that findings are about, where arrays have their axes in another order than memrefs modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from girih.diagnostics import Finding
from girih.facts.advice import advice
from girih.ir.core import Function, Op, Value
from girih.ir.types import GroupType, MemRef
from girih.ops.tile.memory import Load

_OF_ELEMENTS = ("run.out_of_bounds", "run.uninitialized")
"""The findings whose index is that of an element, where the instruction takes an index of its memref."""


def in_the_array(function: Function, finding: Finding) -> Finding:
    """The finding as who wrote the function reads it: all findings of all targets come through here.

    Where they have no hint, they get the advice that there is. Those of a function that was written in another language
    are put in that. Those of a text get the element of the array where the function takes arrays in order C; nothing is
    added where the index is not one of a whole argument, but of a view, of a tensor or of local memory.
    """
    if finding.hint is None:
        finding = replace(finding, hint=advice(function, finding))
    if function.reader is not None:
        return function.reader.finding(finding)
    index = finding.index
    if function.order != "C" or finding.code not in _OF_ELEMENTS or index is None or len(index) < 2:
        return finding
    whole = any(
        isinstance(value.type, MemRef) and value.type.order == len(index) == len(finding.shape or ())
        for value in _whole_arguments(function, finding)
    )
    return replace(finding, message=f"{finding.message}{of_array(index)}") if whole else finding


def of_array(index: Sequence[int]) -> str:
    """The words for an element, by its index in modes, of an array in order C."""
    return f", element [{', '.join(map(str, reversed(index)))}] of the array"


def _whole_arguments(function: Function, finding: Finding) -> Iterator[Value]:
    """The operands of the guilty instruction that are the argument of the finding, or a member of it."""
    argument = next((p for p in function.parameters if p.name == finding.argument), None)
    op = next((op for op in function.walk() if op.span == finding.span), None)
    if argument is None or op is None or not finding.span.source.text or "tensor" in op.spec.mnemonic:
        return
    members = _members(function, argument.value)
    yield from (value for value in op.operands if value is argument.value or value in members)


def _members(function: Function, group: Value) -> set[Value]:
    """The memrefs that are loaded from a group, where they are whole arrays."""
    if not isinstance(group.type, GroupType) or group.type.offset != 0:
        return set()
    return {result for op in function.walk() if _loads(op, group) for result in op.results}


def _loads(op: Op, group: Value) -> bool:
    return isinstance(op, Load) and any(value is group for value in op.operands)
