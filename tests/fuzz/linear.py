"""Collective linear algebra: operands of types that promote and shapes that fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from girih.ir.types import Extent, Number, promotable, promote
from tests.fuzz.generate import ELEMENTS, NUMBERS, Emitter, Generator, looseness_of
from tests.fuzz.tracked import Memory, Reference, Scope, Tracked, number_limit

Shape = tuple[tuple[int, Extent], ...]
"""Mode sizes as they are and as the type says them."""


@dataclass(frozen=True, slots=True)
class Types:
    """Element types of the factors, of their product, and of the target."""

    a: Number
    b: Number
    product: Number
    target: Number


def _modes(g: Generator, count: int) -> Shape:
    found = []
    for _ in range(count):
        n = 0 if g.grid == 1 and g.chance(0.02) else g.size()
        found.append((n, None if g.chance(0.25) else n))
    return tuple(found)


def _types(g: Generator) -> Types:
    target = g.pick(ELEMENTS)
    product = target if g.chance(0.6) else g.pick([t for t in NUMBERS if promotable(t, target)])
    smaller = product if g.chance(0.7) else g.pick([t for t in NUMBERS if promotable(t, product)])
    a, b = (product, smaller) if g.chance(0.5) else (smaller, product)
    assert promote(a, b) == product
    return Types(a, b, product, target)


def _factor(g: Generator, scope: Scope, type: Number) -> Tracked:
    types = [t for t in NUMBERS if promotable(t, type)]
    return g.scalar(scope, type if g.chance(0.7) else g.pick(types), lambda t: t.magnitude < 100)


def _beta(g: Generator, scope: Scope, type: Number, *, plain: bool) -> Tracked:
    """The factor of the target; 0 or 1 for atomic updates and in loops."""
    if not plain and g.chance(0.5):
        return _factor(g, scope, type)
    one = g.source.choice((0, 1))
    chosen = g.pick([t for t in NUMBERS if promotable(t, type)]) if g.chance(0.2) else type
    value: dict[str, int | float | complex] = {"integer": one, "floating": float(one), "complex": complex(one)}
    return g.constant(scope, chosen, value[chosen.family])


def _memory(
    g: Generator, scope: Scope, element: Number, modes: Shape, *, write: bool = False, apart: tuple[Memory, ...] = ()
) -> Reference:
    shape, sizes = tuple(n for n, _ in modes), tuple(said for _, said in modes)
    return g.fitting(scope, element, shape, sizes, write=write, apart=apart)


def _finish(
    g: Generator, scope: Scope, mnemonic: str, types: Types, sources: list[Reference], target: Reference,
    summands: int, fields: dict[str, Any],
) -> bool:  # fmt: skip
    """Scale, and add the instruction, if the result cannot overflow."""
    atomic = g.chance(0.15)
    alpha = _factor(g, scope, types.product)
    beta = _beta(g, scope, types.target, plain=atomic or bool(scope.accesses))
    memory = target.memory
    product = summands * alpha.magnitude * math.prod(s.memory.magnitude for s in sources)
    kept = 0.0 if beta.constant == 0 else beta.magnitude * memory.magnitude
    magnitude = product * scope.trips + kept
    limit = min(number_limit(types.product), number_limit(types.target))
    if types.target.family != "integer" and not magnitude <= limit:
        return False
    sources_loose = max(s.memory.looseness for s in sources)
    loose = max(sources_loose, alpha.looseness, beta.looseness, memory.looseness)
    looseness = max(looseness_of(types.target, loose), looseness_of(types.product, loose))
    if mnemonic in ("gemm", "gemv", "ger"):
        looseness = max(looseness, g.looseness_of_product(types.product))
    if types.target.family == "integer":
        looseness = 0.0
    scope.builder.add(mnemonic, atomic=atomic, alpha=alpha.value, beta=beta.value, **fields)
    memory.take(magnitude, looseness)
    return True


def axpby(g: Generator, scope: Scope) -> bool:
    """b := alpha op(a) + beta b."""
    types = _types(g)
    modes = _modes(g, g.source.randint(0, 2))
    transpose = g.chance(0.4)
    a = _memory(g, scope, types.product, modes[::-1] if transpose else modes)
    b = _memory(g, scope, types.target, modes, write=True, apart=(a.memory,))
    return _finish(g, scope, "axpby", types, [a], b, 1, {"a": a.value, "b": b.value, "transpose": transpose})


def cumsum(g: Generator, scope: Scope) -> bool:
    """A cumulative sum along a mode."""
    types = _types(g)
    modes = _modes(g, g.source.randint(1, 3))
    mode = g.source.randrange(len(modes))
    a = _memory(g, scope, types.product, modes)
    b = _memory(g, scope, types.target, modes, write=True, apart=(a.memory,))
    return _finish(g, scope, "cumsum", types, [a], b, modes[mode][0], {"a": a.value, "b": b.value, "mode": mode})


def sum_(g: Generator, scope: Scope) -> bool:
    """Sums of rows, or of a vector."""
    types = _types(g)
    modes = _modes(g, g.source.randint(1, 2))
    transpose = g.chance(0.4)
    a = _memory(g, scope, types.product, modes[::-1] if transpose else modes)
    b = _memory(g, scope, types.target, modes[:-1], write=True, apart=(a.memory,))
    return _finish(g, scope, "sum", types, [a], b, modes[-1][0], {"a": a.value, "b": b.value, "transpose": transpose})


def gemm(g: Generator, scope: Scope) -> bool:
    """A product of matrices."""
    types = _types(g)
    m, k, n = _modes(g, 3)
    first, second = g.chance(0.4), g.chance(0.4)
    a = _memory(g, scope, types.a, (k, m) if first else (m, k))
    b = _memory(g, scope, types.b, (n, k) if second else (k, n))
    c = _memory(g, scope, types.target, (m, n), write=True, apart=(a.memory, b.memory))
    fields = {"a": a.value, "b": b.value, "c": c.value, "transpose_a": first, "transpose_b": second}
    return _finish(g, scope, "gemm", types, [a, b], c, k[0], fields)


def gemv(g: Generator, scope: Scope) -> bool:
    """A matrix times a vector."""
    types = _types(g)
    m, k = _modes(g, 2)
    transpose = g.chance(0.4)
    a = _memory(g, scope, types.a, (k, m) if transpose else (m, k))
    b = _memory(g, scope, types.b, (k,))
    c = _memory(g, scope, types.target, (m,), write=True, apart=(a.memory, b.memory))
    fields = {"a": a.value, "b": b.value, "c": c.value, "transpose": transpose}
    return _finish(g, scope, "gemv", types, [a, b], c, k[0], fields)


def ger(g: Generator, scope: Scope) -> bool:
    """An outer product."""
    types = _types(g)
    m, n = _modes(g, 2)
    a, b = _memory(g, scope, types.a, (m,)), _memory(g, scope, types.b, (n,))
    c = _memory(g, scope, types.target, (m, n), write=True, apart=(a.memory, b.memory))
    return _finish(g, scope, "ger", types, [a, b], c, 1, {"a": a.value, "b": b.value, "c": c.value})


def hadamard(g: Generator, scope: Scope) -> bool:
    """A product entry by entry."""
    types = _types(g)
    modes = _modes(g, g.source.randint(1, 2))
    a, b = _memory(g, scope, types.a, modes), _memory(g, scope, types.b, modes)
    c = _memory(g, scope, types.target, modes, write=True, apart=(a.memory, b.memory))
    return _finish(g, scope, "hadamard", types, [a, b], c, 1, {"a": a.value, "b": b.value, "c": c.value})


LINEAR: list[tuple[Emitter, float]] = [
    (axpby, 1), (cumsum, 1), (sum_, 1), (gemm, 1.5), (gemv, 1), (ger, 1), (hadamard, 1),
]  # fmt: skip
