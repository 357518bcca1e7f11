"""Instructions on memrefs and groups that touch single elements or make views."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from girih.ir.core import Dictionary, Entry, Slice, Value
from girih.ir.types import BOOL, I8, INDEX, AddressSpace, Extent, MemRef, Number, packed_strides
from girih.ops.tile.memory import Scope as AtomicScope
from tests.fuzz.alone import first_of
from tests.fuzz.generate import COMPLEX, ELEMENTS, MOVED, STORED, Emitter, Generator, looseness_of
from tests.fuzz.tracked import Alike, GroupReference, Memory, Reference, Scope, Tracked, number_limit

SCOPES_BY_SIZE = (AtomicScope.SUBGROUP, AtomicScope.WORK_GROUP, AtomicScope.DEVICE, AtomicScope.CROSS_DEVICE)


def indices(g: Generator, scope: Scope, shape: tuple[int, ...], *, literal: bool = True) -> list[Tracked | int]:
    """Indices inside a shape."""
    return [g.source.randrange(n) if literal and g.chance(0.2) else g.index(scope, n) for n in shape]


def held(found: list[Tracked | int]) -> tuple[Value | int, ...]:
    """Indices as an instruction holds them."""
    return tuple(i.value if isinstance(i, Tracked) else i for i in found)


def likeness(reference: Reference, found: list[Tracked | int]) -> Alike:
    """Between which work-items an element is the same one."""
    return min([reference.alike, *(i.alike for i in found if isinstance(i, Tracked))])


def order_modifiers(g: Generator, *, shared: bool = False) -> dict[str, Any]:
    """Scope and semantics of an atomic; the scope covers all that come to `shared` memory."""
    least = 0 if not shared else SCOPES_BY_SIZE.index(AtomicScope.DEVICE if g.grid > 1 else AtomicScope.WORK_GROUP)
    scopes = SCOPES_BY_SIZE[least:]
    if g.chance(0.5) and AtomicScope.WORK_GROUP in scopes:
        return {}
    return {"scope": g.source.choice(scopes), "semantics": g.source.choice(g.semantics)}


def any_shape(g: Generator, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """A small shape."""
    return tuple(g.size() for _ in range(g.source.randint(least, most)))


def load(g: Generator, scope: Scope) -> bool:
    """Load an element, plainly or atomically."""
    found = g.readable(scope, lambda r: 0 not in r.shape, g.pick(MOVED), any_shape(g))
    atomic = g.chance(0.2) and found.memory.element not in STORED
    at = indices(g, scope, found.shape, literal=not atomic)
    modifiers = order_modifiers(g) if atomic else {}
    memory = found.memory
    g.number(
        scope, "atomic_load" if atomic else "load", memory.element, tensor=found.value, indices=held(at),
        magnitude=memory.magnitude, looseness=memory.looseness, alike=likeness(found, at),
        keep=memory.known, **modifiers,
    )  # fmt: skip
    return True


def load_member(g: Generator, scope: Scope) -> bool:
    """Load a memref of a group."""
    if not scope.groups or g.chance(0.3):
        g.group(g.pick(MOVED), any_shape(g, 0, 2))
    group = g.source.choice(scope.groups)
    at = g.index(scope, group.size)
    (value,) = scope.builder.add("load", group.type.memref, tensor=group.value, indices=(at.value,))
    scope.references.append(Reference(value, group.memory, group.shape, group.strides, at.alike))
    return True


def put(
    g: Generator, scope: Scope, target: Reference, at: tuple[Value | int, ...], value: Tracked | None = None
) -> None:
    """Store a value at an index, plainly or atomically."""
    element = target.memory.element
    atomic = g.chance(0.2) and element not in STORED and not any(isinstance(i, int) for i in at)
    stored = value or g.scalar(scope, element)
    modifiers = order_modifiers(g) if atomic else {}
    scope.builder.add(
        "atomic_store" if atomic else "store", value=stored.value, tensor=target.value, indices=at, **modifiers
    )
    target.memory.take(stored.magnitude, stored.looseness)


def store(g: Generator, scope: Scope) -> bool:
    """Store a value that all work-items agree on: in a collective region, by one for all, or by all atomically."""
    if scope.inside_apply or scope.inside_foreach:
        return False
    element = g.pick(MOVED)
    value = g.scalar(scope, element, lambda t: t.alike is Alike.WORK_GROUP)
    if value.alike is not Alike.WORK_GROUP or (scope.alike is not Alike.WORK_GROUP):
        return False
    target = g.writable(
        scope,
        lambda r: r.memory.element == element and 0 not in r.shape and r.alike is Alike.WORK_GROUP,
        element,
        any_shape(g),
    )
    if not scope.collective and not scope.repeated and element not in STORED and g.chance(0.3):
        everywhere = [g.index(scope, n, Alike.WORK_GROUP) for n in target.shape]
        scope.builder.add("atomic_store", value=value.value, tensor=target.value, indices=held([*everywhere]),
                          **order_modifiers(g, shared=True))  # fmt: skip
        target.memory.take(value.magnitude, value.looseness)
        return True
    at: list[Tracked | int] = [
        g.source.randrange(n) if g.chance(0.2) else g.index(scope, n, Alike.WORK_GROUP) for n in target.shape
    ]
    with first_of(g, scope, "subgroup_linear_id", "subgroup_local_id") as one:
        put(g, one, target, held(at), value)
    return True


def _counts(g: Generator, scope: Scope) -> bool:
    """Whether the number of executions of an instruction is known: atomic additions need that."""
    return scope.inside_foreach or g.fixed


def atomic_update(g: Generator, scope: Scope) -> bool:
    """An atomic update of memory that is only updated in this way; its old value is not used."""
    if scope.inside_apply:
        return False
    mnemonic = g.source.choice(
        ("atomic_add", "atomic_min", "atomic_max") if _counts(g, scope) else ("atomic_min", "atomic_max")
    )
    element = g.pick(ELEMENTS if mnemonic == "atomic_add" else [e for e in ELEMENTS if e not in COMPLEX])
    value = g.scalar(scope, element)
    times = 4096.0 * scope.trips
    magnitude = value.magnitude * times if mnemonic == "atomic_add" else value.magnitude
    if mnemonic == "atomic_add" and magnitude > number_limit(element):
        return False
    target = _updated(g, scope, mnemonic, element)
    at = indices(g, scope, target.shape, literal=False)
    g.number(
        scope,
        mnemonic,
        element,
        value=value.value,
        tensor=target.value,
        indices=held(at),
        keep=False,
        **order_modifiers(g, shared=True),
    )
    looseness = looseness_of(element, value.looseness) if mnemonic == "atomic_add" else value.looseness
    target.memory.take(target.memory.magnitude + magnitude, looseness)
    return True


def _updated(g: Generator, scope: Scope, mnemonic: str, element: Number) -> Reference:
    """Memory that all work-groups share and that only one kind of update changes."""
    known = [r for r in scope.references if r.memory.update == mnemonic and r.memory.element == element]
    if known and g.chance(0.7):
        return g.source.choice(known)
    grid, g.grid = g.grid, 1
    found = g.memory(element, any_shape(g, 0, 2), writable=True)
    g.grid = grid
    found.memory.update = mnemonic
    found.memory.readable = False
    return found


def question(g: Generator, scope: Scope) -> bool:
    """Ask a memref or a group for its size, or whether it is there."""
    asked: Reference | GroupReference
    if scope.groups and g.chance(0.3):
        asked = g.source.choice(scope.groups)
    else:
        asked = g.source.choice(scope.references) if scope.references else g.memory(I8, (3,), writable=False)
    tensor, shape = asked.value, (asked.size,) if isinstance(asked, GroupReference) else asked.shape
    if not shape or g.chance(0.3):
        g.number(scope, "associated", BOOL, tensor=tensor, alike=Alike.WORK_GROUP)
        return True
    mode = g.source.randrange(len(shape))
    g.number(scope, "size", INDEX, tensor=tensor, mode=mode, interval=(shape[mode],) * 2)
    return True


# --- views -----------------------------------------------------------------------------------


def _blur(g: Generator, strides: tuple[Extent, ...]) -> tuple[Extent, ...]:
    """Strides of which some are left open."""
    return tuple(None if g.chance(0.15) else s for s in strides)


def subview(g: Generator, scope: Scope) -> bool:
    """A part of a memref."""
    known = [r for r in scope.references if r.shape and 0 not in r.shape and r.memory.alive]
    if not known:
        return False
    whole = g.source.choice(known)
    slices: list[Slice] = []
    kept: list[int] = []
    sizes: list[Extent] = []
    alike = whole.alike
    for mode, n in enumerate(whole.shape):
        size = g.source.randint(1, n)
        offset: Tracked | int = g.source.randint(0, n - size) if g.chance(0.3) else g.index(scope, n - size + 1)
        if isinstance(offset, Tracked):
            alike = min(alike, offset.alike)
        at = offset.value if isinstance(offset, Tracked) else offset
        if g.chance(0.3):
            slices.append(Slice(at, 0 if g.chance(0.2) else None))
            continue
        kept.append(mode)
        literal = g.chance(0.6)
        sizes.append(size if literal else None)
        slices.append(Slice(at, size if literal else g.exactly(scope, INDEX, size).value))
        whole = replace(whole, shape=(*whole.shape[:mode], size, *whole.shape[mode + 1 :]))
    strides = _blur(g, tuple(whole.type.strides[k] for k in kept))
    type = MemRef(whole.type.element, tuple(sizes), strides, whole.type.space)
    (value,) = scope.builder.add("subview", type, tensor=whole.value, slices=tuple(slices))
    shape, actual = tuple(whole.shape[k] for k in kept), tuple(whole.strides[k] for k in kept)
    scope.references.append(Reference(value, whole.memory, shape, actual, alike))
    return True


def expand(g: Generator, scope: Scope) -> bool:
    """A mode seen as several."""
    known = [r for r in scope.references if r.shape and 0 not in r.shape and len(r.shape) < 5 and r.memory.alive]
    if not known:
        return False
    whole = g.source.choice(known)
    mode = g.source.randrange(len(whole.shape))
    n = whole.shape[mode]
    first = g.source.choice([k for k in range(1, n + 1) if n % k == 0])
    factors = [first, n // first] if g.chance(0.7) else [first, 1, n // first]
    held_sizes: list[Value | int] = [k if g.chance(0.6) else g.exactly(scope, INDEX, k).value for k in factors]
    said: list[Extent] = []
    actual: list[int] = []
    stride, step = whole.type.strides[mode], whole.strides[mode]
    for size, written in zip(factors, held_sizes, strict=True):
        said.append(stride)
        actual.append(step)
        stride = stride * written if stride is not None and isinstance(written, int) else None
        step *= size
    sizes = tuple(k if isinstance(k, int) else None for k in held_sizes)
    type = MemRef(
        whole.type.element,
        (*whole.type.shape[:mode], *sizes, *whole.type.shape[mode + 1 :]),
        _blur(g, (*whole.type.strides[:mode], *said, *whole.type.strides[mode + 1 :])),
        whole.type.space,
    )
    (value,) = scope.builder.add("expand", type, tensor=whole.value, mode=mode, sizes=tuple(held_sizes))
    shape = (*whole.shape[:mode], *factors, *whole.shape[mode + 1 :])
    strides = (*whole.strides[:mode], *actual, *whole.strides[mode + 1 :])
    scope.references.append(replace(whole, value=value, shape=shape, strides=strides))
    return True


def fuse(g: Generator, scope: Scope) -> bool:
    """Adjacent modes seen as one."""
    known = [(r, a, b) for r in scope.references if r.memory.alive and 0 not in r.shape
             for a in range(len(r.shape)) for b in range(a + 1, len(r.shape)) if _fusible(r, a, b)]  # fmt: skip
    if not known:
        return False
    whole, first, last = g.source.choice(known)
    fused = whole.type.shape[first : last + 1]
    size = None if None in fused else math.prod(n for n in fused if n is not None)
    type = MemRef(
        whole.type.element,
        (*whole.type.shape[:first], size, *whole.type.shape[last + 1 :]),
        _blur(g, (*whole.type.strides[: first + 1], *whole.type.strides[last + 1 :])),
        whole.type.space,
    )
    (value,) = scope.builder.add("fuse", type, tensor=whole.value, first=first, last=last)
    shape = (*whole.shape[:first], math.prod(whole.shape[first : last + 1]), *whole.shape[last + 1 :])
    strides = (*whole.strides[: first + 1], *whole.strides[last + 1 :])
    scope.references.append(replace(whole, value=value, shape=shape, strides=strides))
    return True


def _fusible(r: Reference, first: int, last: int) -> bool:
    return all(r.strides[k] * r.shape[k] == r.strides[k + 1] for k in range(first, last))


def alloca(g: Generator, scope: Scope) -> bool:
    """Local memory, written from end to end before anything reads it."""
    if not scope.collective:
        return False
    element = g.pick(ELEMENTS)
    shape = any_shape(g, 0, 2)
    strides: tuple[Extent, ...] = packed_strides(shape)
    if len(shape) == 2 and g.chance(0.3):
        strides = (1, shape[0] + g.source.randint(0, 3))
    type = MemRef(element, shape, strides, AddressSpace.LOCAL)
    attributes = (
        Dictionary((Entry("alignment", element.size * g.source.choice((1, 2, 4))),)) if g.chance(0.3) else Dictionary()
    )
    (value,) = scope.builder.add("alloca", type, attributes=attributes)
    memory = Memory(value.name, element, True, magnitude=0.0, local=True)
    reference = Reference(value, memory, shape, tuple(s or 0 for s in strides))
    source = g.readable(scope, lambda r: r.memory.element == element and r.type.shape == shape, element, shape)
    if source.type.shape != shape:
        source = _static(scope, source)
    alpha, beta = g.constant(scope, element, g.literal(element)), g.constant(scope, element, _zero(element))
    scope.builder.add("axpby", alpha=alpha.value, a=source.value, beta=beta.value, b=value)
    loose = source.memory.looseness > 0 or element in COMPLEX
    looseness = looseness_of(element, source.memory.looseness) if loose else 0.0
    memory.take(source.memory.magnitude * alpha.magnitude, looseness)
    scope.references.append(reference)
    return True


def _zero(element: Number) -> int | float | complex:
    return {"integer": 0, "floating": 0.0, "complex": 0j}[element.family]


def _static(scope: Scope, source: Reference) -> Reference:
    """The same memref with a type that says its shape."""
    slices = tuple(Slice(0, n) for n in source.shape)
    type = MemRef(source.type.element, source.shape, source.type.strides, source.type.space)
    (value,) = scope.builder.add("subview", type, tensor=source.value, slices=slices)
    return replace(source, value=value)


def lifetime_stop(g: Generator, scope: Scope) -> bool:
    """Free local memory of this region early."""
    if not scope.collective or scope.repeated:
        return False
    own = {op.results[0] for op in scope.builder.ops if op.spec.mnemonic == "alloca"}
    known = [r for r in scope.references if r.memory.alive and r.value in own]
    if not known:
        return False
    found = g.source.choice(known)
    found.memory.alive = False
    scope.builder.add("lifetime_stop", memory=found.value)
    return True


def barrier(g: Generator, scope: Scope) -> bool:
    """A barrier where all work-items come by."""
    if scope.inside_apply or scope.inside_foreach or not scope.together or scope.alike is not Alike.WORK_GROUP:
        return False
    scope.builder.add("barrier", global_fence=g.chance(0.5), local_fence=g.chance(0.5))
    return True


READS: list[tuple[Emitter, float]] = [
    (load, 3),
    (load_member, 0.7),
    (question, 0.7),
    (subview, 1),
    (expand, 0.6),
    (fuse, 0.6),
]
WRITES: list[tuple[Emitter, float]] = [
    (store, 1.5),
    (atomic_update, 0.7),
    (alloca, 0.8),
    (lifetime_stop, 0.6),
    (barrier, 0.4),
]
