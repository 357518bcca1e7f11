"""Loops, branches and regions, and stores to the elements that a work-item or subgroup has for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from girih.ir.core import Dictionary, Entry, Region, RegionKind, Value
from girih.ir.types import BOOL, I32, I64, INDEX, Boolean, CoopMatrix, Number, Type
from tests.fuzz.alone import first_of
from tests.fuzz.copies import COPIES
from tests.fuzz.generate import INTEGERS, MOVED, SCALAR_TYPES, Emitter, Generator
from tests.fuzz.linear import LINEAR
from tests.fuzz.matrices import MATRICES, of_subgroup, store_tile
from tests.fuzz.memories import READS, WRITES, put
from tests.fuzz.printing import print_
from tests.fuzz.scalars import SCALARS, builtin, subgroup, uses_of
from tests.fuzz.tensors import TENSOR_ACCESSES, TENSORS
from tests.fuzz.tracked import Alike, Interval, Memory, Reference, Scope, Tracked, needed, of_work_group

DEEPEST = 3


def body_of(g: Generator, scope: Scope, most: int = 6) -> None:
    """Fill a region with instructions that may stand in it."""
    count = g.source.randint(1, max(1, most - 2 * scope.depth))
    g.fill(scope, collective() if scope.collective else spmd(scope), count)


def collective() -> list[tuple[Emitter, float]]:
    """What stands in collective regions."""
    return [
        *SCALARS,
        *READS,
        *WRITES,
        *LINEAR,
        *TENSORS,
        *COPIES,
        (for_, 0.7),
        (if_, 0.7),
        (foreach, 1.5),
        (foreach_tile, 0.8),
        (parallel, 2),
        (print_, 0.4),
    ]


def spmd(scope: Scope) -> list[tuple[Emitter, float]]:
    """What stands in SPMD regions."""
    if scope.closed:
        return [*(s for s in SCALARS if s[0] is not builtin), (for_, 0.7), (if_, 0.7)]
    shared: list[tuple[Emitter, float]] = [*SCALARS, *READS, *TENSORS, (for_, 0.7), (if_, 0.7)]
    if scope.inside_apply:
        return shared
    own: list[tuple[Emitter, float]] = [(store_own, 2), (store_own_tile, 1), *WRITES]
    together = [(subgroup, 6.0), *MATRICES, *MATRICES, *TENSOR_ACCESSES] if scope.together else []
    return [*shared, *own, *together, (print_, 0.4)]


# --- elements of one's own -------------------------------------------------------------------


def store_own(g: Generator, scope: Scope) -> bool:
    """Store to the element that belongs to the point or the work-item."""
    if not scope.own or scope.inside_apply:
        return False
    target, at = g.source.choice(scope.own)
    put(g, scope, target, at)
    return True


def store_own_tile(g: Generator, scope: Scope) -> bool:
    """Store to the tile that belongs to the subgroup."""
    if not scope.own_tiles or not scope.together:
        return False
    target, at, type = g.source.choice(scope.own_tiles)
    known = [
        m
        for m in scope.matrices
        if isinstance(m.type, CoopMatrix)
        and (m.type.component, m.type.shape) == (type.component, type.shape)
        and of_subgroup(m.type)
    ]
    if not known:
        return False
    store_tile(g, scope, g.source.choice(known), target, at)
    return True


def _variables(
    g: Generator, scope: Scope, shape: tuple[int, ...], alike: Alike
) -> tuple[dict[str, Any], list[Tracked]]:
    """Loop variables over a shape."""
    start, stop, variables = [], [], []
    for n in shape:
        type = g.source.choice((INDEX, INDEX, INDEX, I32, I64))
        first = 0 if g.chance(0.8) else g.source.randrange(n)
        start.append(g.exactly(scope, type, first).value)
        stop.append(g.exactly(scope, type, n).value)
        variables.append(Tracked(Value("", type), (first, n - 1), n, 0.0, alike))
    fields = {"variables": tuple(v.value for v in variables), "start": tuple(start), "stop": tuple(stop)}
    return fields, variables


def _as_indices(g: Generator, scope: Scope, variables: list[Tracked]) -> tuple[Value, ...]:
    found = []
    for v in variables:
        found.append(v if v.type == INDEX else g.number(scope, "cast", INDEX, v, a=v.value, interval=v.interval))
    return tuple(v.value for v in found)


def foreach(g: Generator, scope: Scope) -> bool:
    """A loop whose points each have elements of their own."""
    if scope.depth >= DEEPEST:
        return False
    inner = scope.inner(RegionKind.SPMD)
    inner.inside_foreach = True
    inner.narrow(Alike.NOBODY)
    inner.own, inner.own_tiles = [], []
    shape = tuple(g.size() for _ in range(g.source.choice((1, 1, 2, 2, 3))))
    targets = _targets(g, scope, shape)
    accesses = inner.separately()
    accesses.written |= {t.memory for t in targets}
    fields, variables = _variables(g, scope, shape, Alike.NOBODY)
    inner.numbers = [*scope.numbers, *variables]
    g.scopes.append(inner)
    at = _as_indices(g, inner, variables)
    inner.own = [(t, at) for t in targets]
    if not scope.accesses:
        _load_own(g, inner)
    g.scopes.pop()
    body_of(g, inner)
    g.scopes.append(inner)
    for target, _ in inner.own:
        put(g, inner, target, at)
    g.scopes.pop()
    scope.builder.add("foreach", **fields, body=inner.builder.region())
    return True


def _targets(g: Generator, scope: Scope, shape: tuple[int, ...]) -> list[Reference]:
    found: list[Reference] = []
    for _ in range(g.source.choice((1, 1, 2))):
        element = g.pick(MOVED)
        taken = {t.memory for t in found}

        def fits(r: Reference, element: Number = element, taken: set[Memory] = taken) -> bool:
            return r.memory.element == element and r.shape == shape and r.memory not in taken

        target = g.writable(scope, fits, element, shape)
        if target.memory not in taken:
            found.append(target)
    return found


def _load_own(g: Generator, scope: Scope) -> None:
    """What the points' elements held before the loop."""
    for target, at in scope.own:
        memory = target.memory
        if g.chance(0.5) and memory.readable:
            g.number(scope, "load", memory.element, tensor=target.value, indices=at, alike=Alike.NOBODY,
                     magnitude=memory.magnitude, looseness=memory.looseness, keep=memory.known)  # fmt: skip


def foreach_tile(g: Generator, scope: Scope) -> bool:
    """A loop over tiles, each of which a subgroup has for itself."""
    if scope.depth >= DEEPEST:
        return False
    inner = scope.inner(RegionKind.SPMD)
    inner.own, inner.own_tiles = [], []
    element = g.pick(MOVED)
    shape = tuple(g.size() for _ in range(g.source.choice((1, 2, 2))))
    target = g.writable(scope, lambda r: r.memory.element == element and r.shape == shape, element, shape)
    inner.separately().written.add(target.memory)
    fields, variables = _variables(g, scope, shape, Alike.SUBGROUP)
    tile = ((g.subgroup_size or 8) * g.source.choice((1, 1, 2)), *(g.source.randint(1, 4) for _ in shape[1:]))
    sizes = [Tracked(Value("", v.type), (1, t), t, 0.0, Alike.SUBGROUP) for v, t in zip(variables, tile, strict=True)]
    inner.numbers = [*scope.numbers, *variables, *sizes]
    inner.narrow(Alike.SUBGROUP)
    inner.inside_tiles = True
    g.scopes.append(inner)
    at = _as_indices(g, inner, variables)
    g.scopes.pop()
    if len(shape) == 2:
        inner.own_tiles = [(target, at, CoopMatrix(element, tile[0], tile[1], uses_of(element)[-1]))]
    body_of(g, inner)
    g.scopes.append(inner)
    if not store_own_tile(g, inner):
        stored = g.scalar(inner, element, lambda t: t.alike >= Alike.SUBGROUP)
        if stored.alike >= Alike.SUBGROUP:
            with first_of(g, inner, "subgroup_local_id") as one:
                put(g, one, target, at, stored)
    g.scopes.pop()
    scope.builder.add(
        "foreach_tile", **fields, sizes=tuple(s.value for s in sizes), tile_shape=tile, body=inner.builder.region()
    )
    return True


def parallel(g: Generator, scope: Scope) -> bool:
    """A region that every work-item executes; with known sizes each has an element of its own."""
    if scope.depth >= DEEPEST:
        return False
    inner = scope.inner(RegionKind.SPMD)
    inner.own, inner.own_tiles = [], []
    inner.separately()
    g.scopes.append(inner)
    if g.fixed and g.chance(0.8):
        _claim_own(g, inner)
    g.scopes.pop()
    body_of(g, inner, 16)
    g.scopes.append(inner)
    store_own(g, inner)
    g.scopes.pop()
    scope.builder.add("parallel", body=inner.builder.region())
    return True


def _claim_own(g: Generator, scope: Scope) -> None:
    """An element for each work-item and a tile for each subgroup."""
    size = g.subgroup_size or 1
    lane = g.number(scope, "subgroup_local_id", I32, interval=(0, size - 1), alike=Alike.NOBODY)
    subgroup = g.number(scope, "subgroup_linear_id", I32, interval=(0, g.subgroups - 1), alike=Alike.SUBGROUP)
    width = g.constant(scope, I32, size)

    def product(a: Tracked, b: Tracked, most: int) -> Tracked:
        return g.number(scope, "mul", I32, a, b, a=a.value, b=b.value, interval=(0, most))

    begin = product(subgroup, width, (g.subgroups - 1) * size)
    item = g.number(scope, "add", I32, begin, lane, a=begin.value, b=lane.value, interval=(0, g.work_items - 1))
    at = _as_indices(g, scope, [item])
    element = g.pick(MOVED)
    own = g.writable(
        scope, lambda r: r.memory.element == element and r.shape == (g.work_items,), element, (g.work_items,)
    )
    scope.own.append((own, at))
    component = g.pick(MOVED)
    rows, columns = size * g.source.randint(1, 2), g.source.randint(1, 4)
    shape = (rows * g.subgroups, columns)
    tiles = g.writable(scope, lambda r: r.memory.element == component and r.shape == shape, component, shape)
    height = g.constant(scope, I32, rows)
    row = product(subgroup, height, (g.subgroups - 1) * rows)
    column = g.constant(scope, INDEX, 0)
    position = (*_as_indices(g, scope, [row]), column.value)
    scope.own_tiles.append((tiles, position, CoopMatrix(component, rows, columns, uses_of(component)[-1])))


# --- for and if ------------------------------------------------------------------------------


def _carriable(g: Generator, scope: Scope, alike: Alike) -> list[Tracked]:
    """Values that may go from one iteration to the next, where so many work-items go on together."""
    found: list[Tracked] = []
    for _ in range(g.source.choice((0, 0, 1, 2))):
        exact = [m for m in scope.matrices if m.exact and alike >= needed(m.type)]
        if exact and scope.together and g.chance(0.3):
            found.append(g.source.choice(exact))
            continue
        value = g.scalar(scope, g.pick(SCALAR_TYPES), lambda t: t.exact)
        if value.exact:
            found.append(value)
    return found


def _worst(scope: Scope, type: Type) -> Alike:
    if scope.collective:
        return Alike.WORK_GROUP
    return needed(type) if isinstance(type, CoopMatrix) else Alike.NOBODY


def _give(scope: Scope, found: list[Tracked]) -> None:
    for t in found:
        (scope.matrices if isinstance(t.type, CoopMatrix) else scope.numbers).append(t)


def for_(g: Generator, scope: Scope) -> bool:
    """A loop of a few iterations."""
    if scope.depth >= DEEPEST:
        return False
    type = g.pick(INTEGERS)
    first, step, trips = g.source.randint(-2, 4), g.source.randint(1, 3), g.source.randint(0, 3)
    stop = first + step * trips - (g.source.randrange(step) if trips else 0)
    end = g.exactly(scope, type, stop)
    varying = [t for t in scope.numbers if t.type == type and t.interval and t.interval[0] < t.interval[1] <= first + 8]
    if varying and g.chance(0.4):
        end = g.source.choice(varying)
        trips = max(0, -(-((end.interval or (0, 0))[1] - first) // step))
    start = g.exactly(scope, type, first)
    stride = g.exactly(scope, type, step).value if step > 1 or g.chance(0.3) else None
    initial = _carriable(g, scope, end.alike)
    inner = scope.inner()
    inner.separately(max(trips, 1))
    inner.repeated = not scope.collective
    inner.narrow(end.alike)
    interval: Interval = (first, first + step * max(trips - 1, 0))
    variable = Tracked(Value("", type), interval, abs(first) + step * trips)
    carried = [Tracked(Value("", t.type), None, alike=_worst(scope, t.type)) for t in initial]
    _give(inner, [variable, *carried])
    body_of(g, inner)
    if carried:
        _yield(g, inner, [t.type for t in carried])
    hints = Dictionary((Entry("unroll", g.source.choice((True, False, 2))),)) if g.chance(0.2) else Dictionary()
    results = scope.builder.add(
        "for", *(t.type for t in initial), variable=variable.value, start=start.value, stop=end.value, step=stride,
        carried=tuple(t.value for t in carried), initial=tuple(t.value for t in initial),
        body=inner.builder.region(), hints=hints,
    )  # fmt: skip
    _give(scope, [Tracked(v, None, alike=_worst(scope, v.type)) for v in results])
    return True


def _yield(g: Generator, scope: Scope, types: list[Type]) -> list[Tracked]:
    """End a region with values that are the same in every execution."""
    g.scopes.append(scope)
    found: list[Tracked] = []
    for type in types:
        if isinstance(type, CoopMatrix):
            found.append(g.source.choice([m for m in scope.matrices if m.type == type and m.exact]))
            continue
        assert isinstance(type, Number | Boolean)
        value = g.scalar(scope, type, lambda t: t.exact)
        found.append(value if value.exact else g.constant(scope, type, g.literal(type)))
    g.scopes.pop()
    scope.builder.add("yield", values=tuple(t.value for t in found))
    return found


def if_(g: Generator, scope: Scope) -> bool:
    """A branch on a condition that is the same in every execution."""
    if scope.depth >= DEEPEST:
        return False
    condition = g.scalar(scope, BOOL, lambda t: t.exact)
    if not condition.exact:
        return False
    types = [t.type for t in _carriable(g, scope, condition.alike)]
    both = bool(types) or g.chance(0.3)
    regions: list[Region | None] = []
    alike = condition.alike
    for _ in range(1 + both):
        inner = scope.inner()
        inner.narrow(condition.alike)
        body_of(g, inner)
        if types:
            alike = min([alike, *(t.alike for t in _yield(g, inner, types))])
        regions.append(inner.builder.region())
    results = scope.builder.add(
        "if", *types, condition=condition.value, then=regions[0], otherwise=regions[1] if both else None
    )
    _give(scope, [replace(Tracked(v), alike=needed(v.type) if of_work_group(v.type) else alike) for v in results])
    return True
