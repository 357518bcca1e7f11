"""Accesses that one work-item, subgroup or work-group makes for all, so that what all agree on is written once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from girih.ir.types import BOOL, I32, INDEX
from tests.fuzz.generate import Generator
from tests.fuzz.tracked import Alike, Scope, Tracked


@contextmanager
def first_of(g: Generator, scope: Scope, *mnemonics: str) -> Iterator[Scope]:
    """The region for an access by those of which all numbers are 0, such as `subgroup_local_id`; without any, `scope`.

    A collective region makes an access once: there it is `scope`, too.
    """
    if not mnemonics or scope.collective:
        yield scope
        return
    zero = g.constant(scope, I32, 0)
    chosen = [_is(g, scope, g.number(scope, m, I32, alike=Alike.NOBODY, keep=False), zero) for m in mnemonics]
    condition = chosen[0]
    for other in chosen[1:]:
        condition = g.number(scope, "and", BOOL, condition, other, a=condition.value, b=other.value, keep=False)
    with _branch(scope, condition) as inner:
        yield inner


@contextmanager
def first_work_group(g: Generator, scope: Scope) -> Iterator[Scope]:
    """The region for an access by one work-group of the grid."""
    if g.grid == 1:
        yield scope
        return
    with _branch(scope, _is(g, scope, g.number_of_group(), g.constant(scope, INDEX, 0))) as inner:
        yield inner


def _is(g: Generator, scope: Scope, a: Tracked, b: Tracked) -> Tracked:
    return g.number(scope, "equal", BOOL, a, b, a=a.value, b=b.value, keep=False)


@contextmanager
def _branch(scope: Scope, condition: Tracked) -> Iterator[Scope]:
    inner = scope.inner()
    yield inner
    scope.builder.add("if", condition=condition.value, then=inner.builder.region(), otherwise=None)
