"""Cooperative matrices: tiles of memory, products, reductions, components."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from girih.ir.core import RegionKind, Value
from girih.ir.types import BOOL, F32, I32, INDEX, CoopMatrix, MatrixScope, Number, Use, promotable, promote
from girih.ops.tile.coopmatrix import Checked
from girih.ops.tile.coopmatrix_layout import layout_of
from girih.ops.tile.coopmatrix_regions import Combined
from tests.fuzz.alone import first_of
from tests.fuzz.generate import COMPLEX, ELEMENTS, MOVED, NUMBERS, STORED, Emitter, Generator, looseness_of
from tests.fuzz.memories import order_modifiers
from tests.fuzz.scalars import bounded, uses_of
from tests.fuzz.tracked import Alike, Reference, Scope, Tracked, needed, number_limit


def rows(g: Generator) -> int:
    """A number of rows that products and reductions take."""
    return (g.subgroup_size or 8) * g.source.choice((1, 1, 2))


def some_scope(g: Generator, scope: Scope) -> MatrixScope:
    """Who may hold a matrix here: the work-group only where all of it comes by."""
    whole = scope.alike is Alike.WORK_GROUP and g.chance(0.3)
    return MatrixScope.WORK_GROUP if whole else MatrixScope.SUBGROUP


def matrix_type(g: Generator, scope: Scope, component: Number | None = None) -> CoopMatrix:
    """A type of matrix."""
    height = rows(g) if g.chance(0.7) else g.source.randint(1, 8)
    component = component or g.pick(MOVED)
    use = g.source.choice(uses_of(component))
    return CoopMatrix(component, height, g.source.randint(1, 5), use, some_scope(g, scope))


def some_matrix(g: Generator, scope: Scope, type: CoopMatrix) -> Tracked:
    """A matrix of a type: a known one, or all components the same."""
    known = [m for m in scope.matrices if m.type == type]
    if known and g.chance(0.8):
        return g.source.choice(known)
    if g.chance(0.5):
        made = g.constant(scope, type, g.literal(type.component))
        scope.matrices.append(made)
        return made
    a = g.scalar(scope, type.component, lambda t: t.alike >= needed(type))
    if a.alike < needed(type):
        a = g.constant(scope, type.component, g.literal(type.component))
    return g.number(
        scope, "cooperative_matrix_construct", type, a, a=a.value, magnitude=a.magnitude, looseness=a.looseness
    )


def any_matrix(g: Generator, scope: Scope, test: Callable[[CoopMatrix], bool] = lambda t: True) -> Tracked:
    """A known matrix, or one of a random type that passes a test."""
    known = [m for m in scope.matrices if test(type_of(m))]
    if known and g.chance(0.8):
        return g.source.choice(known)
    types = (matrix_type(g, scope) for _ in range(100))
    return some_matrix(g, scope, next(filter(test, types)))


def of_subgroup(type: CoopMatrix) -> bool:
    """Whether a subgroup holds matrices of a type."""
    return not type.of_work_group


def computes(type: CoopMatrix) -> bool:
    """Whether there is arithmetic on the components of a type."""
    return type.component not in STORED


def type_of(matrix: Tracked) -> CoopMatrix:
    """The type of a matrix."""
    assert isinstance(matrix.type, CoopMatrix)
    return matrix.type


def construct(g: Generator, scope: Scope) -> bool:
    """A matrix out of nothing."""
    if not scope.together:
        return False
    some_matrix(g, scope, matrix_type(g, scope))
    return True


# --- tiles -----------------------------------------------------------------------------------


def _position(
    g: Generator, scope: Scope, type: CoopMatrix, reference: Reference, transpose: bool
) -> tuple[dict[str, Any], Alike]:
    """Where a tile lies: inside, or checked where it sticks out."""
    extent = type.shape[::-1] if transpose else type.shape
    at: list[Tracked] = []
    outside: list[bool] = []
    for n, size in zip(reference.shape, extent, strict=True):
        room = n - size + 1
        leave = room < 1 or g.chance(0.3)
        outside.append(leave)
        if leave:
            at.append(g.constant(scope, INDEX, g.source.randint(-size - 1, n + 1)))
        else:
            at.append(g.index(scope, room, needed(type)))
    rows_out, columns_out = outside[::-1] if transpose else outside
    options = [c for c in Checked if (c.rows or not rows_out) and (c.columns or not columns_out)]
    fields = {
        "memory": reference.value, "row": at[0].value, "column": at[1].value, "transpose": transpose,
        "checked": g.source.choice(options),
    }  # fmt: skip
    return fields, min(reference.alike, *(t.alike for t in at))


def load_tile(g: Generator, scope: Scope) -> bool:
    """Load a tile, plainly or atomically."""
    if not scope.together:
        return False
    tiles = [t for _, _, t in scope.own_tiles]
    type = g.source.choice(tiles) if tiles and g.chance(0.5) else matrix_type(g, scope)
    element, shape = type.component, (type.rows + g.source.randint(0, 2), type.columns + g.source.randint(0, 2))
    found = g.readable(
        scope, lambda r: len(r.shape) == 2 and r.memory.element == element and r.alike >= needed(type), element, shape
    )
    fields, alike = _position(g, scope, type, found, g.chance(0.4))
    atomic = g.chance(0.2) and of_subgroup(type) and element not in STORED
    mnemonic = "cooperative_matrix_atomic_load" if atomic else "cooperative_matrix_load"
    g.number(scope, mnemonic, type, alike=alike, magnitude=found.memory.magnitude, looseness=found.memory.looseness,
             keep=found.memory.known, **fields, **(order_modifiers(g) if atomic else {}))  # fmt: skip
    return True


def store_tile(g: Generator, scope: Scope, matrix: Tracked, target: Reference, at: tuple[Value, ...]) -> None:
    """Store a matrix to a place where nobody else stores."""
    atomic = g.chance(0.4) and of_subgroup(type_of(matrix)) and computes(type_of(matrix))
    mnemonic = "cooperative_matrix_atomic_store" if atomic else "cooperative_matrix_store"
    scope.builder.add(mnemonic, matrix=matrix.value, memory=target.value, row=at[0], column=at[1],
                      checked=Checked.BOTH, **(order_modifiers(g) if atomic else {}))  # fmt: skip
    target.memory.take(matrix.magnitude, matrix.looseness)


def store_alike(g: Generator, scope: Scope) -> bool:
    """Store a matrix that all subgroups have, once."""
    if not scope.together or scope.alike is not Alike.WORK_GROUP or scope.repeated:
        return False
    matrices = [m for m in scope.matrices if m.alike is Alike.WORK_GROUP]
    if not matrices:
        return False
    matrix = g.source.choice(matrices)
    type = type_of(matrix)
    transpose = g.chance(0.4)
    target = g.writable(
        scope,
        lambda r: len(r.shape) == 2 and r.memory.element == type.component and r.alike is Alike.WORK_GROUP,
        type.component,
        type.shape[::-1] if transpose else type.shape,
    )
    fields, alike = _position(g, scope, type, target, transpose)
    if alike is not Alike.WORK_GROUP:
        return False
    with first_of(g, scope, *every_holder(type)) as one:
        one.builder.add("cooperative_matrix_store", matrix=matrix.value, **fields)
    target.memory.take(matrix.magnitude, matrix.looseness)
    return True


def every_holder(type: CoopMatrix) -> tuple[str, ...]:
    """What tells those apart that each hold a matrix of a type: nothing, where the work-group holds it."""
    return () if type.of_work_group else ("subgroup_linear_id",)


def update_tile(g: Generator, scope: Scope) -> bool:
    """Update a tile atomically; the number of subgroups must be known for additions."""
    if not scope.together or not scope.matrices:
        return False
    forms = ("add", "min", "max") if g.fixed else ("min", "max")
    form = g.source.choice(forms)
    matrix = any_matrix(g, scope, lambda t: of_subgroup(t) and computes(t))
    type = type_of(matrix)
    magnitude = matrix.magnitude * 4096 * scope.trips if form == "add" else matrix.magnitude
    if (type.component in COMPLEX and form != "add") or magnitude > number_limit(type.component):
        return False
    found = _updated(g, scope, "atomic_" + form, type)
    fields, _ = _position(g, scope, type, found, g.chance(0.3))
    g.number(
        scope,
        f"cooperative_matrix_atomic_{form}",
        type,
        matrix=matrix.value,
        keep=False,
        **fields,
        **order_modifiers(g, shared=True),
    )
    looseness = looseness_of(type.component, matrix.looseness) if form == "add" else matrix.looseness
    found.memory.take(found.memory.magnitude + magnitude, looseness)
    return True


def _updated(g: Generator, scope: Scope, update: str, type: CoopMatrix) -> Reference:
    known = [r for r in scope.references if r.memory.update == update and r.memory.element == type.component
             and len(r.shape) == 2 and r.alike >= Alike.SUBGROUP]  # fmt: skip
    if known and g.chance(0.7):
        return g.source.choice(known)
    grid, g.grid = g.grid, 1
    found = g.memory(type.component, (type.rows + 1, type.columns + 1), writable=True)
    g.grid = grid
    found.memory.update, found.memory.readable = update, False
    return found


def prefetch(g: Generator, scope: Scope) -> bool:
    """Ask for a tile."""
    known = [r for r in scope.references if len(r.shape) == 2 and r.memory.alive and r.alike >= Alike.SUBGROUP]
    if not scope.together or not known:
        return False
    found = g.source.choice(known)
    at = [g.index(scope, max(n, 1), Alike.SUBGROUP).value for n in found.shape]
    scope.builder.add("cooperative_matrix_prefetch", level=g.source.randint(0, 3), memory=found.value, row=at[0],
                      column=at[1], rows=g.source.randint(1, 8), columns=g.source.randint(1, 8))  # fmt: skip
    return True


# --- components ------------------------------------------------------------------------------


def extract(g: Generator, scope: Scope) -> bool:
    """A component of a work-item; only used where the sizes are known."""
    if not scope.together:
        return False
    matrix = any_matrix(g, scope, of_subgroup)
    layout = layout_of(type_of(matrix), g.subgroup_size or 8)
    if layout is None or (g.subgroup_size is None and type_of(matrix).rows not in (8, 16, 32, 64)):
        return False
    most = layout.components if g.subgroup_size else 1
    g.number(scope, "cooperative_matrix_extract", type_of(matrix).component, matrix=matrix.value,
             index=g.source.randrange(most), magnitude=matrix.magnitude, looseness=matrix.looseness,
             alike=Alike.NOBODY, keep=g.fixed)  # fmt: skip
    return True


def insert(g: Generator, scope: Scope) -> bool:
    """Replace a component of each work-item."""
    if not scope.together or not g.fixed:
        return False
    matrix = any_matrix(g, scope, of_subgroup)
    layout = layout_of(type_of(matrix), g.subgroup_size or 8)
    if layout is None:
        return False
    a = g.scalar(scope, type_of(matrix).component)
    alike = Alike.WORK_GROUP if g.subgroups == 1 and min(a.alike, matrix.alike) is Alike.WORK_GROUP else Alike.SUBGROUP
    g.number(scope, "cooperative_matrix_insert", matrix.type, a=a.value, matrix=matrix.value,
             index=g.source.randrange(layout.components), magnitude=max(a.magnitude, matrix.magnitude),
             looseness=max(a.looseness, matrix.looseness), alike=alike)  # fmt: skip
    return True


# --- arithmetic ------------------------------------------------------------------------------


def mul_add(g: Generator, scope: Scope) -> bool:
    """A product plus a third matrix."""
    if not scope.together:
        return False
    accumulator = g.pick(ELEMENTS)
    product = accumulator if g.chance(0.5) else g.pick([t for t in NUMBERS if promotable(t, accumulator)])
    smaller = g.pick([t for t in NUMBERS if promotable(t, product)])
    first, second = (product, smaller) if g.chance(0.5) else (smaller, product)
    assert promote(first, second) == product
    if accumulator == F32 and g.chance(0.4):
        first, second, product = g.source.choice(STORED), g.source.choice(STORED), F32
    held = some_scope(g, scope)
    m = g.source.randint(1, 40) if held is MatrixScope.WORK_GROUP else rows(g)
    k, n = g.source.randint(1, 4), g.source.randint(1, 4)
    a = some_matrix(g, scope, CoopMatrix(first, m, k, Use.A, held))
    b = some_matrix(g, scope, CoopMatrix(second, k, n, Use.B, held))
    c = some_matrix(g, scope, CoopMatrix(accumulator, m, n, Use.ACC, held))
    magnitude = k * a.magnitude * b.magnitude + c.magnitude
    result = replace(type_of(c), component=_result_component(g, accumulator))
    floating = accumulator.family != "integer"
    loose = max(a.looseness, b.looseness, c.looseness)
    limit = min(number_limit(product), number_limit(accumulator), number_limit(result.component))
    if (floating and not magnitude <= limit) or (not floating and result.component.family != "integer"):
        return False
    looseness = max(
        looseness_of(accumulator, loose), looseness_of(product, loose), looseness_of(result.component, loose),
        g.looseness_of_product(product),
    )  # fmt: skip
    g.number(
        scope,
        "cooperative_matrix_mul_add",
        result,
        a,
        b,
        c,
        a=a.value,
        b=b.value,
        c=c.value,
        magnitude=magnitude,
        looseness=looseness if floating else 0.0,
        keep=not (floating and result.component.family == "integer"),
    )
    return True


def _result_component(g: Generator, accumulator: Number) -> Number:
    if g.chance(0.7):
        return accumulator
    return g.pick([t for t in NUMBERS if accumulator not in COMPLEX or t in COMPLEX])


def scale(g: Generator, scope: Scope) -> bool:
    """A matrix times a number."""
    if not scope.together:
        return False
    matrix = any_matrix(g, scope, computes)
    a = g.scalar(scope, type_of(matrix).component, lambda t: t.alike >= needed(matrix.type))
    if a.alike < needed(matrix.type):
        return False
    component = type_of(matrix).component
    magnitude = bounded(component, a.magnitude * matrix.magnitude) if a.magnitude and matrix.magnitude else 0.0
    looseness = max(a.looseness, matrix.looseness)
    if component in COMPLEX:
        looseness = looseness_of(component, looseness)
    g.number(
        scope,
        "cooperative_matrix_scale",
        matrix.type,
        a,
        matrix,
        a=a.value,
        matrix=matrix.value,
        magnitude=magnitude,
        looseness=looseness,
        keep=not looseness or math.isfinite(magnitude),
    )
    return True


def reduce(g: Generator, scope: Scope) -> bool:
    """Sums or extrema of rows or columns."""
    if not scope.together:
        return False
    form = g.source.choice(("add", "max", "min"))
    matrix = any_matrix(g, scope, computes)
    type = type_of(matrix)
    if (type.rows % (g.subgroup_size or 8) and of_subgroup(type)) or (form != "add" and type.component in COMPLEX):
        return False
    along_row = g.chance(0.5)
    result = replace(type, columns=1) if along_row else replace(type, rows=1)
    adds = form == "add"
    summands = type.columns if along_row else type.rows
    magnitude = bounded(type.component, matrix.magnitude * summands) if adds else matrix.magnitude
    looseness = looseness_of(type.component, matrix.looseness) if adds else matrix.looseness
    g.number(scope, f"cooperative_matrix_reduce_{form}", result, matrix, a=matrix.value, along_row=along_row,
             magnitude=magnitude, looseness=looseness, keep=not looseness or math.isfinite(magnitude))  # fmt: skip
    return True


def transpose(g: Generator, scope: Scope) -> bool:
    """An accumulator as the right factor, its rows for its columns."""
    if not scope.together:
        return False
    matrix = any_matrix(g, scope, lambda t: t.use is Use.ACC)
    type = type_of(matrix)
    result = replace(type, rows=type.columns, columns=type.rows, use=Use.B)
    g.number(scope, "cooperative_matrix_transpose", result, matrix, matrix=matrix.value, magnitude=matrix.magnitude,
             looseness=matrix.looseness)  # fmt: skip
    return True


def apply(g: Generator, scope: Scope) -> bool:
    """Each component computed by a region, from those of one or several matrices."""
    # The instructions of regions include these here.
    from tests.fuzz.control import body_of

    if not scope.together:
        return False
    matrix = any_matrix(g, scope)
    type = type_of(matrix)
    more = g.source.choice((0, 0, 1, 2))
    matrices = [matrix, *(some_matrix(g, scope, _or_a_line_of(g, type)) for _ in range(more))]
    g.source.shuffle(matrices)
    inner = scope.inner(RegionKind.SPMD)
    inner.inside_apply = True
    inner.matrices = []
    inner.separately()
    inner.numbers = [t for t in scope.numbers if t.alike >= needed(type)]
    inner.references = [r for r in scope.references if r.alike >= needed(type)]
    inner.layouts = [x for x in scope.layouts if x.alike >= needed(type)]
    row = Tracked(Value("", I32), (0, type.rows - 1), type.rows, 0.0, Alike.NOBODY)
    column = Tracked(Value("", I32), (0, type.columns - 1), type.columns, 0.0, Alike.NOBODY)
    elements = [Tracked(Value("", type.component), None, m.magnitude, m.looseness, Alike.NOBODY) for m in matrices]
    inner.numbers += [row, column, *elements]
    body_of(g, inner)
    g.scopes.append(inner)
    made = g.scalar(inner, type.component)
    g.scopes.pop()
    inner.builder.add("yield", values=(made.value,))
    outer = min([t.alike for t in scope.numbers] + [m.alike for m in matrices])
    g.number(scope, "cooperative_matrix_apply", type, row=row.value, column=column.value,
             elements=tuple(e.value for e in elements), matrices=tuple(m.value for m in matrices),
             body=inner.builder.region(), magnitude=made.magnitude, looseness=made.looseness,
             alike=max(Alike.SUBGROUP, outer))  # fmt: skip
    return True


def _or_a_line_of(g: Generator, type: CoopMatrix) -> CoopMatrix:
    """A type of matrix, or that of its rows or columns."""
    return g.source.choice((type, replace(type, rows=1), replace(type, columns=1)))


def closed(scope: Scope) -> Scope:
    """A region that sees its arguments and constants only."""
    inner = scope.inner(RegionKind.SPMD)
    inner.inside_apply = inner.closed = True
    inner.matrices, inner.references, inner.groups, inner.layouts, inner.views = [], [], [], [], []
    inner.numbers = [t for t in scope.numbers if t.constant is not None]
    inner.own, inner.own_tiles = [], []
    return inner


_ORDERLESS = ("max", "min", "add", "mul", "and", "or", "xor")
"""Operations that give the same whatever is combined first; the first two for floating types too."""


def combine(g: Generator, scope: Scope) -> bool:
    """Rows, columns, blocks or all components combined, by an operation for which no order matters."""
    if not scope.together:
        return False
    along = g.source.choice(tuple(Combined))
    matrix = any_matrix(g, scope, lambda t: t.use is Use.ACC and t.component not in COMPLEX and _halves(t, along))
    type = type_of(matrix)
    mnemonic = g.source.choice(_ORDERLESS if type.component.family == "integer" else _ORDERLESS[:2])
    inner = closed(scope)
    left, right = (Tracked(Value("", type.component), alike=Alike.NOBODY) for _ in range(2))
    inner.numbers += [left, right]
    if g.chance(0.5):
        _idle(g, inner)
    if mnemonic == "max" and type.component.family == "integer" and g.chance(0.3):
        made = _branching(inner, left, right)
    else:
        (made,) = inner.builder.add(mnemonic, type.component, a=left.value, b=right.value)
    inner.builder.add("yield", values=(made,))
    rows, columns = _combined_shape(g, type, along)
    result = replace(type, rows=rows, columns=columns)
    floating = type.component.family == "floating"
    g.number(scope, "cooperative_matrix_combine", result, matrix, along=along, left=left.value, right=right.value,
             matrix=matrix.value, body=inner.builder.region(),
             magnitude=matrix.magnitude if mnemonic in ("max", "min") else math.inf,
             looseness=looseness_of(type.component, matrix.looseness) if floating else matrix.looseness,
             keep=not floating or math.isfinite(matrix.magnitude))  # fmt: skip
    return True


def _halves(type: CoopMatrix, along: Combined) -> bool:
    return along is not Combined.BLOCK or (type.rows % 2 == 0 and type.columns % 2 == 0)


def _idle(g: Generator, scope: Scope) -> None:
    """Instructions whose results nobody uses."""
    # The instructions of regions include these here.
    from tests.fuzz.control import body_of

    body_of(g, scope, 4)


def _branching(scope: Scope, left: Tracked, right: Tracked) -> Value:
    """The larger of two integers, by a branch."""
    (more,) = scope.builder.add("less_than", BOOL, a=left.value, b=right.value)
    regions = []
    for value in (right.value, left.value):
        inner = scope.builder.inner()
        inner.add("yield", values=(value,))
        regions.append(inner.region())
    return scope.builder.add("if", left.type, condition=more, then=regions[0], otherwise=regions[1])[0]


def _combined_shape(g: Generator, type: CoopMatrix, along: Combined) -> tuple[int, int]:
    free_rows, free_columns = g.source.randint(1, 9), g.source.randint(1, 6)
    match along:
        case Combined.ROW:
            return type.rows, free_columns
        case Combined.COLUMN:
            return free_rows, type.columns
        case Combined.ALL:
            return free_rows, free_columns
        case Combined.BLOCK:
            return type.rows // 2, type.columns // 2


MATRICES: list[tuple[Emitter, float]] = [
    (construct, 1), (load_tile, 1.5), (store_alike, 1), (update_tile, 1.2), (prefetch, 0.3), (extract, 0.7),
    (insert, 0.7), (mul_add, 1.5), (scale, 0.7), (reduce, 1), (apply, 1), (transpose, 0.6), (combine, 1),
]  # fmt: skip
