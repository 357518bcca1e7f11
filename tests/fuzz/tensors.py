"""Tensor layouts and views, matrices that are loaded and stored through them, and matrices in interleaved blocks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from girih.addressing import AddressingError, Kind, TensorView
from girih.addressing import TensorLayout as LayoutModel
from girih.ir import types
from girih.ir.core import Slice, Value
from girih.ir.types import F64, I8, I16, I32, I64, INDEX, ClampMode, CoopMatrix, MemRef, Number
from girih.ops.tile.coopmatrix_tensor import BlockOrder
from tests.fuzz.alone import first_of
from tests.fuzz.generate import ELEMENTS, MOVED, Emitter, Generator
from tests.fuzz.matrices import closed, every_holder, matrix_type, some_matrix, some_scope, type_of
from tests.fuzz.tracked import Alike, Laid, Reference, Scope, Tracked, Viewed, needed

MOST_ELEMENTS = 4096
"""Larger tensors are not accessed, so that their memory stays small."""

CLIPS = (0, 1, 2, 3, 5, 9, 2**32 - 1)


def _numbers(g: Generator, scope: Scope, numbers: tuple[int, ...]) -> tuple[Value | int, ...]:
    """Numbers as literals, or as values that are known to be them."""
    return tuple(n if g.chance(0.7) else g.exactly(scope, INDEX, n).value for n in numbers)


# --- layouts ---------------------------------------------------------------------------------


def create_layout(g: Generator, scope: Scope) -> bool:
    """A layout with dimensions, and maybe blocks, strides, a region and a clamp value."""
    scope.layouts.append(_new_layout(g, scope, 1))
    return True


def _new_layout(g: Generator, scope: Scope, least: int) -> Laid:
    """A layout of at least so many elements."""
    dim, mode = g.source.randint(1, 5), g.source.choice(tuple(ClampMode))
    type = types.TensorLayoutType(dim, mode)
    (value,) = scope.builder.add("tensor_layout_create", type)
    laid = Laid(value, LayoutModel(dim, mode.value))
    if g.chance(0.3):
        sizes = tuple(g.source.choice((1, 1, 2, 3, 4)) for _ in range(dim))
        laid = _set(g, scope, laid, "set_block_size", sizes)
    dimensions = [g.source.choice((1, 2, 3, 4, 7)) for _ in range(dim)]
    while math.prod(dimensions) < least:
        dimensions[g.source.randrange(dim)] += g.source.choice((1, 4, 8))
    laid = _set(g, scope, laid, "set_dimension", tuple(dimensions))
    if g.chance(0.3):
        laid = _set(g, scope, laid, "set_stride", _strides(g, laid.model))
    if least == 1 and g.chance(0.6):
        laid = _slice(g, scope, laid)
    return _clamp_value(g, scope, laid) if g.chance(0.2) else laid


def _set(g: Generator, scope: Scope, laid: Laid, what: str, numbers: tuple[int, ...]) -> Laid:
    given = _numbers(g, scope, numbers)
    (value,) = scope.builder.add(f"tensor_layout_{what}", laid.value.type, layout=laid.value, numbers=given)
    return Laid(value, getattr(laid.model, what)(*numbers), alike=laid.alike)


def _strides(g: Generator, model: LayoutModel) -> tuple[int, ...]:
    """Strides with gaps, innermost 1 or 2, or none at all."""
    steps = [g.source.choice((0, 1, 1, 1, 2))]
    for size, block in reversed(list(zip(model.dimension[1:], model.block_size[1:], strict=True))):
        steps.append(steps[-1] * -(-size // block) + g.source.choice((0, 0, 1, 3)))
    return tuple(reversed(steps))


def change_layout(g: Generator, scope: Scope) -> bool:
    """Another layout made of a known one."""
    if not scope.layouts:
        return create_layout(g, scope)
    laid = g.source.choice(scope.layouts[-4:])
    match g.source.randrange(4):
        case 0:
            laid = _clamp_value(g, scope, laid)
        case 1 if laid.exact:
            laid = _set(g, scope, laid, "set_dimension", tuple(g.source.choice((1, 2, 5)) for _ in laid.model.span))
        case _:
            laid = _slice(g, scope, laid)
    scope.layouts.append(laid)
    return True


def _clamp_value(g: Generator, scope: Scope, laid: Laid) -> Laid:
    bits = g.constant(scope, I32, g.source.choice((0, 1, -1, 1065353216, 15360, 305419896)))
    (value,) = scope.builder.add("tensor_layout_set_clamp_value", laid.value.type, layout=laid.value, value=bits.value)
    assert isinstance(bits.constant, int)
    return replace(laid, value=value, model=laid.model.set_clamp_value(bits.constant))


def _slice(g: Generator, scope: Scope, laid: Laid) -> Laid:
    """Another region: at a known place, or where an index says, outside only if there is a clamp mode for it."""
    free = laid.model.clamp_mode != "undefined"
    exact, alike = laid.exact, laid.alike
    slices: list[Slice] = []
    pairs: list[tuple[int, int]] = []
    inside = True
    for n, before in zip(laid.model.dimension, laid.model.offset, strict=True):
        if free and g.chance(0.3):
            offset, span = g.source.randint(-n - 1, n + 1), g.source.randint(1, n + 2)
        else:
            offset = g.source.randrange(n) - before
            span = g.source.randint(1, n - before - offset)
        low, high = offset, offset
        at: Value | int = _numbers(g, scope, (offset,))[0]
        known = [
            t for t in scope.numbers if t.type == INDEX and t.interval and _near(t, n) and t.alike >= Alike.SUBGROUP
        ]
        if free and known and g.chance(0.4):
            moved = g.source.choice(known)
            assert moved.interval is not None
            at, (low, high), alike = moved.value, moved.interval, min(alike, moved.alike)
            exact = exact and low == high
            offset = low
        inside = inside and before + low >= 0 and before + high + span <= n and laid.exact
        slices.append(Slice(at, _numbers(g, scope, (span,))[0]))
        pairs.append((offset, span))
    (value,) = scope.builder.add("tensor_layout_slice", laid.value.type, layout=laid.value, slices=tuple(slices))
    return Laid(value, laid.model.slice(*pairs), exact, inside, alike)


def _near(number: Tracked, size: int) -> bool:
    return number.interval is not None and -2 * size <= number.interval[0] and number.interval[1] <= 3 * size


# --- views -----------------------------------------------------------------------------------


def create_view(g: Generator, scope: Scope) -> bool:
    """A view, with or without dimensions, strides and a clip of its own."""
    own = g.chance(0.5)
    dim = g.source.randint(1, 5) if own or not scope.layouts else g.source.choice(scope.layouts).model.dim
    order = tuple(g.source.sample(range(dim), dim))
    type = types.TensorViewType(dim, own, order)
    (value,) = scope.builder.add("tensor_view_create", type)
    viewed = Viewed(value, TensorView(dim, own, order))
    if own or g.chance(0.1):
        sizes = tuple(g.source.choice((1, 2, 3, 4, 8)) for _ in range(dim))
        viewed = _set_view(g, scope, viewed, "set_dimension", sizes)
    if own and g.chance(0.4):
        viewed = _set_view(g, scope, viewed, "set_stride", tuple(g.source.randint(0, 12) for _ in range(dim)))
    scope.views.append(_clipped(g, scope, viewed) if g.chance(0.4) else viewed)
    return True


def _set_view(g: Generator, scope: Scope, viewed: Viewed, what: str, numbers: tuple[int, ...]) -> Viewed:
    given = _numbers(g, scope, numbers)
    (value,) = scope.builder.add(f"tensor_view_{what}", viewed.value.type, view=viewed.value, numbers=given)
    return Viewed(value, getattr(viewed.model, what)(*numbers))


def clip_view(g: Generator, scope: Scope) -> bool:
    """A view of part of a matrix."""
    if not scope.views:
        return False
    scope.views.append(_clipped(g, scope, g.source.choice(scope.views[-4:])))
    return True


def _clipped(g: Generator, scope: Scope, viewed: Viewed) -> Viewed:
    numbers = tuple(g.source.choice(CLIPS[:4] if k % 2 == 0 else CLIPS) for k in range(4))
    given = _numbers(g, scope, numbers)
    slices = (Slice(given[0], given[1]), Slice(given[2], given[3]))
    (value,) = scope.builder.add("tensor_view_set_clip", viewed.value.type, view=viewed.value, slices=slices)
    return Viewed(value, viewed.model.set_clip(*numbers))


# --- accesses --------------------------------------------------------------------------------


def _fitting(g: Generator, scope: Scope, type: CoopMatrix, *, store: bool) -> tuple[Laid, Viewed | None] | None:
    """A layout, and a view or none, through which a matrix of a type may be loaded, or stored without aliasing."""
    if not scope.layouts or g.chance(0.3):
        create_layout(g, scope)
    if g.chance(0.7 if store else 0.2):
        scope.layouts.append(_new_layout(g, scope, type.rows * type.columns))
    known = [
        x for x in scope.layouts if x.alike >= needed(type) and x.extent <= MOST_ELEMENTS and (x.exact or not store)
    ]
    known = [x for x in known if x.inside or x.model.clamp_mode != "undefined"]
    if not known:
        return None
    laid = g.source.choice(known[-3:])
    views = [v for v in scope.views if v.model.has_dimensions or v.model.dim == laid.model.dim]
    viewed = g.source.choice(views) if views and g.chance(0.4 if store else 0.6) else None
    try:
        access = laid.model.access(*type.shape, viewed.model if viewed else None, store)
    except AddressingError:
        return None
    if store and access.aliased().size:
        return None
    return None if laid.exact and access.is_kind(Kind.UNDEFINED).any() else (laid, viewed)


def _memory(
    g: Generator, scope: Scope, element: Number, count: int, alike: Alike, *, write: bool = False
) -> tuple[Reference, int]:
    """Memory of an order of 1 whose elements lie side by side from a multiple of 16 bytes on, and an offset into it."""
    step = max(1, 16 // element.size)
    offset = step * g.source.choice((0, 0, 1, 3))
    parameters = {p.value for p in g.parameters}

    def fits(r: Reference) -> bool:
        dense = len(r.shape) == 1 and r.type.strides == (1,) and r.strides == (1,)
        return dense and r.value in parameters and r.memory.element == element and r.shape[0] >= count + offset

    known = [r for r in scope.references if fits(r) and r.alike >= alike]
    known = [r for r in known if (scope.may_write if write else scope.may_read)(r.memory)]
    if known and g.chance(0.7):
        found = g.source.choice(known)
    else:
        size = -(-(count + offset) // step) * step + step * g.source.randint(0, 1)
        found = _new_memory(g, element, size, write)
    (scope.writes if write else scope.reads)(found.memory)
    return found, offset


def _memory_of_any_type(
    g: Generator, scope: Scope, component: Number, count: int, alike: Alike, *, write: bool = False
) -> tuple[Reference, int]:
    """Memory of so many components, sometimes of integers of another size, in which any bits are a number."""
    element = component
    if g.chance(0.4) and (write or component.family == "integer"):
        element = g.source.choice([t for t in (I8, I16, I32, I64) if t in ELEMENTS])
    return _memory(g, scope, element, -(-count * component.size // element.size), alike, write=write)


def _new_memory(g: Generator, element: Number, size: int, write: bool) -> Reference:
    """A parameter without gaps between its elements, whose parts for the work-groups are multiples of 16 bytes."""
    while True:
        found = g.memory(element, (size,), writable=write)
        aligned = all(stride * element.size % 16 == 0 for stride in g.arguments[-1].strides[1:])
        if aligned and found.strides == (1,) and found.type.strides == (1,):
            return found


def load_tensor(g: Generator, scope: Scope) -> bool:
    """Load a matrix through a layout, and a view or none; or decode it."""
    if not scope.together:
        return False
    init = some_matrix(g, scope, replace(matrix_type(g, scope), scope=some_scope(g, scope)))
    type = type_of(init)
    through = _fitting(g, scope, type, store=False)
    if through is None:
        return False
    laid, viewed = through
    fields: dict[str, Any] = {"layout": laid.value, "view": viewed.value if viewed else None, "init": init.value}
    if g.chance(0.4):
        return _decoded(g, scope, init, laid, fields)
    memory, offset = _memory_of_any_type(g, scope, type.component, laid.extent, needed(type))
    held = memory.memory
    if held.element != type.component and (held.looseness or not held.known):
        return False
    # The clamp value is any pattern of bits.
    clamped = laid.model.clamp_mode == "constant" and laid.model.clamp_value != 0
    unknown = clamped and type.component.family != "integer"
    g.number(
        scope, "cooperative_matrix_load_tensor", type, init, memory=memory.value,
        offset=g.exactly(scope, INDEX, offset).value, **fields,
        alike=min(init.alike, laid.alike, memory.alike),
        magnitude=max(init.magnitude, held.magnitude) if held.element == type.component else float("inf"),
        looseness=max(init.looseness, held.looseness), keep=held.known and not (unknown and held.looseness),
    )  # fmt: skip
    if unknown and scope.matrices and scope.matrices[-1].value.type == type:
        scope.matrices[-1] = replace(scope.matrices[-1], magnitude=float("inf"))
    return True


def _decoded(g: Generator, scope: Scope, init: Tracked, laid: Laid, fields: dict[str, Any]) -> bool:
    """Each component decoded from a block of a few elements."""
    # The instructions of regions include these here.
    from tests.fuzz.control import body_of

    type = type_of(init)
    element = g.source.choice(MOVED)
    inner_element = (
        element if g.chance(0.6) else g.source.choice([t for t in (I8, I16, I32, I64) if t.size <= element.size])
    )
    each = element.size // inner_element.size
    shape = g.source.choice(((each,), (2 * each,), (each, 2), (1, 3 * each)))
    per_block = shape[0] * (shape[1] if len(shape) > 1 else 1) // each
    memory, offset = _memory(g, scope, element, laid.extent * per_block, needed(type))
    if not memory.memory.known or memory.memory.looseness:
        return False
    block_type = MemRef.packed(inner_element, shape)
    block = Value("", block_type)
    coordinates = [Tracked(Value("", INDEX), (0, n), float(n), 0.0, Alike.NOBODY) for n in
                   (*(-(-n // b) - 1 for n, b in zip(laid.model.dimension, laid.model.block_size, strict=True)),
                    *(b - 1 for b in laid.model.block_size))]  # fmt: skip
    inner = closed(scope)
    inner.numbers += coordinates
    g.scopes.append(inner)
    for _ in range(g.source.randint(1, 2)):
        at = tuple(g.index(inner, n).value if g.chance(0.7) else g.source.randrange(n) for n in shape)
        g.number(inner, "load", inner_element, tensor=block, indices=at, alike=Alike.NOBODY)
    g.scopes.pop()
    body_of(g, inner)
    g.scopes.append(inner)
    made = g.scalar(inner, type.component)
    g.scopes.pop()
    inner.builder.add("yield", values=(made.value,))
    looseness = max(init.looseness, made.looseness)
    clamped = laid.model.clamp_mode == "constant" and laid.model.clamp_value != 0
    g.number(
        scope, "cooperative_matrix_load_tensor", type, init, memory=memory.value,
        offset=g.exactly(scope, INDEX, offset).value, **fields, block=block, block_type=block_type,
        coordinates=tuple(c.value for c in coordinates), body=inner.builder.region(),
        alike=min(init.alike, laid.alike, memory.alike), looseness=looseness,
        magnitude=float("inf") if clamped else max(init.magnitude, made.magnitude), keep=not (looseness and clamped),
    )  # fmt: skip
    return True


def store_tensor(g: Generator, scope: Scope) -> bool:
    """Store a matrix that all subgroups have through a layout, and a view or none."""
    if not scope.together or scope.alike is not Alike.WORK_GROUP or scope.repeated:
        return False
    matrices = [m for m in scope.matrices if m.alike is Alike.WORK_GROUP]
    if not matrices:
        return False
    matrix = g.source.choice(matrices)
    type = type_of(matrix)
    through = _fitting(g, scope, type, store=True)
    if through is None or through[0].alike is not Alike.WORK_GROUP:
        return False
    laid, viewed = through
    if matrix.looseness:
        memory, offset = _memory(g, scope, type.component, laid.extent, Alike.WORK_GROUP, write=True)
    else:
        memory, offset = _memory_of_any_type(g, scope, type.component, laid.extent, Alike.WORK_GROUP, write=True)
    start = g.exactly(scope, INDEX, offset).value
    with first_of(g, scope, *every_holder(type)) as one:
        one.builder.add("cooperative_matrix_store_tensor", matrix=matrix.value, memory=memory.value,
                        layout=laid.value, offset=start, view=viewed.value if viewed else None)  # fmt: skip
    same = memory.memory.element == type.component
    memory.memory.take(matrix.magnitude if same else float("inf"), matrix.looseness)
    return True


def blocked_load(g: Generator, scope: Scope) -> bool:
    """Load a matrix from interleaved blocks."""
    if not scope.together:
        return False
    type, order, stride = _blocked_type(g, scope)
    memory, offset = _memory(g, scope, type.component, type.rows * type.columns, needed(type))
    held = memory.memory
    g.number(
        scope, "cooperative_matrix_load_blocked_interleaved", type, order=order, memory=memory.value,
        offset=g.exactly(scope, INDEX, offset).value, stride=stride, alike=memory.alike, magnitude=held.magnitude,
        looseness=held.looseness, keep=held.known,
    )  # fmt: skip
    return True


def _blocked_type(g: Generator, scope: Scope) -> tuple[CoopMatrix, BlockOrder, int]:
    component = g.pick([t for t in MOVED if t.size <= 8])
    order, stride = g.source.choice(tuple(BlockOrder)), g.source.choice((1, 1, 1, 2, 2, 3, 4))
    if component == F64:
        # Interleaving tears numbers of 8 bytes: a last bit that executors may choose would become a first one.
        stride = 1
    across = stride if order is BlockOrder.ROW else g.source.randint(1, 2)
    down = stride if order is BlockOrder.COLUMN else g.source.randint(1, 2)
    template = matrix_type(g, scope, component)
    return replace(template, rows=4 * down, columns=16 // component.size * across), order, stride


def blocked_store(g: Generator, scope: Scope) -> bool:
    """Store a matrix that all subgroups have as interleaved blocks."""
    if not scope.together or scope.alike is not Alike.WORK_GROUP or scope.repeated:
        return False
    type, order, stride = _blocked_type(g, scope)
    matrix = some_matrix(g, scope, type)
    if matrix.alike is not Alike.WORK_GROUP:
        return False
    memory, offset = _memory(g, scope, type.component, type.rows * type.columns, Alike.WORK_GROUP, write=True)
    start = g.exactly(scope, INDEX, offset).value
    with first_of(g, scope, *every_holder(type)) as one:
        one.builder.add("cooperative_matrix_store_blocked_interleaved", order=order, matrix=matrix.value,
                        memory=memory.value, offset=start, stride=stride)  # fmt: skip
    memory.memory.take(matrix.magnitude, matrix.looseness)
    return True


TENSORS: list[tuple[Emitter, float]] = [
    (create_layout, 0.5), (change_layout, 0.5), (create_view, 0.3), (clip_view, 0.2),
]  # fmt: skip
TENSOR_ACCESSES: list[tuple[Emitter, float]] = [
    (change_layout, 1), (create_view, 0.7), (clip_view, 0.7), (load_tensor, 4), (store_tensor, 3), (blocked_load, 1),
    (blocked_store, 1),
]  # fmt: skip
