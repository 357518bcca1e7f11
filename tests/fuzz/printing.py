"""Prints of numbers that are the same on every executor."""

from __future__ import annotations

from girih.ir.types import Boolean, Number
from tests.fuzz.generate import Generator
from tests.fuzz.matrices import type_of
from tests.fuzz.tracked import Alike, Scope, Tracked, needed

TEXTS = ("", "a", "x = ; {%y}")


def _is_exact(number: Tracked) -> bool:
    type = number.type
    whole = isinstance(type, Boolean) or (isinstance(type, Number) and type.family == "integer")
    return whole and not number.looseness


def print_(g: Generator, scope: Scope) -> bool:
    """A line for each work-item, subgroup or work-group."""
    if scope.inside_apply or not g.fixed:
        return False
    wanted = Alike.WORK_GROUP if scope.collective else Alike.NOBODY
    values: list[Tracked] = []
    matrices = [m for m in scope.matrices if not m.looseness and type_of(m).component.family == "integer"]
    if matrices and scope.together and not scope.collective and not scope.inside_foreach and g.chance(0.4):
        matrix = g.source.choice(matrices)
        if not type_of(matrix).of_work_group or (scope.alike is Alike.WORK_GROUP and not scope.inside_tiles):
            values.append(matrix)
            wanted = needed(type_of(matrix))
    known = [t for t in scope.numbers if t.alike >= wanted and _is_exact(t)]
    values += g.source.sample(known, min(len(known), g.source.randint(0, 2)))
    scope.builder.add("print", text=g.source.choice(TEXTS), values=tuple(v.value for v in values))
    return True
