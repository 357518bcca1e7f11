"""Functions of components, written as regions (`girih.ops.tile.coopmatrix_regions`): each work-item calls them for the
components that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from girih.analysis.uniformity import Uniformity
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import Held
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.folding import Combination, fold, fold_all
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    EqualComponents,
    Matrix,
    Parts,
    components,
    each,
    give_back,
    matrix,
    matrix_type,
    new_arrays,
    read,
    release,
    result_arrays,
    together,
    write,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position, position, times
from girih.back.llvm.lower.one_lane.matrix.memory import shared_memory_of
from girih.back.llvm.lower.one_lane.matrix.staging import move
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, uniform
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.types import I32, CoopMatrix
from girih.ir.uses import free_values
from girih.ops.tile.control import Yield
from girih.ops.tile.coopmatrix_regions import (
    Combined,
    CooperativeMatrixApply,
    CooperativeMatrixCombine,
    combined_columns,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

# --- regions -----------------------------------------------------------------------------------


@contextmanager
def agreed_outside(code: OneLaneCode, op: Op, type: CoopMatrix) -> Iterator[None]:
    """A context in which what an instruction's regions use from outside is what those that hold a matrix agree on."""
    outer: dict[Value, Held] = {}
    for value in free_values(op):
        differs = code.promises.of(value) is not Uniformity.WORK_GROUP if type.of_work_group else value in code.varying
        held = code.env.get(value)
        if not differs or not isinstance(held, Scalar | MemRefHeld):
            continue
        outer[value] = held
        if isinstance(held, Scalar):
            code.set(value, uniform(held.type, *code.agreed(op, f"%{value.name}", held)))
        else:
            code.set(value, shared_memory_of(code, op, f"%{value.name}", held))
    yield
    code.env.update(outer)


def called(
    code: OneLaneCode, region: Region, number: Val, columns: int, arguments: Iterable[tuple[Value, Held]]
) -> Parts:
    """What a region yields for the component with a number, an i32 that counts row by row in so many columns."""
    location = code.w.location
    with code.at(kind=RegionKind.SPMD, element_number=uniform(I32, number), element_columns=columns):
        for value, held in arguments:
            code.set(value, held)
        code.region(region)
        last = region.terminator
        assert isinstance(last, Yield)
        found = code.scalar(last.values[0]).parts
    code.w.location = location
    return found


def number_of(code: OneLaneCode, at: Position, columns: int) -> Val:
    """The number of a component, row by row."""
    return code.w.add(times(code.w, at.row, columns), at.column)


def region_weight(region: Region) -> int:
    """About how many instructions the code of a region has."""
    return sum(1 + sum(map(region_weight, op.regions)) for op in region.ops)


# --- apply -------------------------------------------------------------------------------------


@LOWERINGS.of(CooperativeMatrixApply)
def apply(code: OneLaneCode, op: CooperativeMatrixApply) -> None:
    """The matrix of what the region yields for each component."""
    type = matrix_type(op.result)
    together(code, op, type)
    matrices = [_repeated(code, matrix(code, value), type) for value in op.matrices]
    own = {id(matrix(code, value)) for value in op.matrices}
    result = result_arrays(code, op, op.result)

    def one(component: Val) -> None:
        at = position(code, type, component)

        def call() -> Parts:
            elements = [uniform(m.type.component, *read(code, m, component)) for m in matrices]
            values = (uniform(I32, at.row), uniform(I32, at.column), *elements)
            arguments = zip((op.row, op.column, *op.elements), values, strict=True)
            return called(code, op.body, number_of(code, at, type.columns), type.columns, arguments)

        parts = call() if at.exists is None else code.w.either(at.exists, call, lambda: zero_parts(type.component))
        write(code, result, component, tuple(parts))

    with agreed_outside(code, op, type):
        each(code, components(code, type), one, weight=region_weight(op.body))
    for m in matrices:
        if isinstance(m, ComponentArrays) and id(m) not in own:
            give_back(code, m.arrays, type.component, components(code, type))
    release(code, op)
    code.set(op.result, result)


def _repeated(code: OneLaneCode, m: Matrix, type: CoopMatrix) -> Matrix:
    """A matrix of one column or row as one that has it everywhere; any other matrix itself."""
    if isinstance(m, EqualComponents) or m.type.shape == type.shape:
        return m
    return _spread(code, m, type, None)


def _spread(code: OneLaneCode, m: Matrix, type: CoopMatrix, owner: Value | None) -> ComponentArrays:
    """The matrix of a type that repeats a column or a row, or both."""
    none = integer(0, "i32")
    one_row, one_column = m.type.rows == 1, m.type.columns == 1
    result = ComponentArrays(type, new_arrays(code, type.component, components(code, type)), owner)
    move(
        code, m, result,
        lambda row, column: (none if one_row else row, none if one_column else column), lambda parts: parts,
    )  # fmt: skip
    return result


# --- combine -----------------------------------------------------------------------------------


@LOWERINGS.of(CooperativeMatrixCombine)
def combine(code: OneLaneCode, op: CooperativeMatrixCombine) -> None:
    """Rows, columns, blocks or all of a matrix, combined by the region."""
    together(code, op, matrix_type(op.result))
    with agreed_outside(code, op, matrix_type(op.result)):
        held = _combined(code, op, matrix(code, op.matrix))
    release(code, op)
    code.set(op.result, held)


def _combined(code: OneLaneCode, op: CooperativeMatrixCombine, m: Matrix) -> Matrix:
    type, none = matrix_type(op.result), integer(0, "i32")
    columns = combined_columns(op.along, type)

    def pair(left: Parts, right: Parts, number: Val) -> Parts:
        held = uniform(type.component, *left), uniform(type.component, *right)
        return called(code, op.body, number, columns, zip((op.left, op.right), held, strict=True))

    if op.along is Combined.ALL:
        return EqualComponents(type, fold_all(code, m, lambda left, right: pair(left, right, none)))

    def place(at: Position, k: Val) -> tuple[Val, Val]:
        w, one = code.w, integer(1, "i32")
        if op.along is Combined.BLOCK:
            low, high = w.binary("and", k, one), w.binary("lshr", k, one)
            return w.add(times(w, at.row, 2), low), w.add(times(w, at.column, 2), high)
        return (at.row, k) if op.along is Combined.ROW else (k, at.column)

    rows, across = m.type.shape
    shapes = {Combined.ROW: (rows, 1, across), Combined.COLUMN: (1, across, rows)}
    height, width, count = shapes.get(op.along, (*type.shape, 4))
    narrow = CoopMatrix(type.component, height, width, type.use, type.scope)
    found = ComponentArrays(narrow, new_arrays(code, type.component, components(code, narrow)), op.result)
    how = Combination(
        type.component, lambda parts: parts, narrow, count, place,
        lambda left, right, at: pair(left, right, number_of(code, at, columns)),
    )  # fmt: skip
    fold(code, m, how, lambda k, parts: write(code, found, k, parts))
    if narrow.shape == type.shape:
        return ComponentArrays(type, found.arrays, op.result)
    result = _spread(code, found, type, op.result)
    give_back(code, found.arrays, type.component, components(code, narrow))
    return result
