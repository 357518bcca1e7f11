"""The meaning of linear algebra (`girih.ops.tile.linalg`): one NumPy expression for all work-groups of one shape.

Products and sums are computed in the accumulator type of the target's element type and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np

from girih.analysis.accesses import Kind
from girih.facts import findings
from girih.facts.accumulators import accumulator as accumulator_of
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import shared, unavailable
from girih.interpreter.machine.aliasing import Box, shared_elements
from girih.interpreter.machine.boxes import read_boxes, unwritten, write_boxes
from girih.interpreter.machine.following import follow_groups, followed
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.permissions import factors, scaled_sum
from girih.interpreter.machine.values import Array, MemRefValue, Varying
from girih.ir.core import Op, Value
from girih.ir.types import MemRef, Number, element_type
from girih.lazy_dataclass import dataclass
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum, same_view_has_meaning

Ints = tuple[int, ...]

_TEAM_ELEMENTS = 2**20
"""How many elements of all operands a team works on at once."""

_FOLLOWED_ELEMENTS = 2**16
"""How many accesses of a box the search for races is told of at once."""


@dataclass(slots=True)
class Team:
    """Work-groups of the batch, by their numbers, for which every operand has one shape."""

    groups: Array
    boxes: list[Box]


def _per_group(machine: Machine, number: Varying) -> Array:
    """A size or offset for each work-group."""
    if isinstance(number, int):
        return np.full(machine.work_groups, number, np.int64)
    return np.broadcast_to(number[:, 0, 0], (machine.work_groups,))


def teams(machine: Machine, op: Op, names: tuple[str, ...]) -> Iterator[Team]:
    """The active work-groups that may use all memrefs, sorted by the shapes they see."""
    memrefs = [_operand(machine, op, name) for name in names]
    active = np.ones(machine.work_groups, np.bool_)
    if machine.mask is not None:
        active &= np.broadcast_to(machine.mask.any(axis=(1, 2)), active.shape)
    for memref in memrefs:
        bad = unavailable(machine, op, memref)
        if bad is not None:
            active &= ~np.broadcast_to(bad.any(axis=(1, 2)), active.shape)
    groups = np.flatnonzero(active)
    if not groups.size:
        return
    extents = [[*m.shape, *m.strides] for m in memrefs]
    if all(isinstance(x, int) for row in extents for x in row):
        yield from _parts(machine, groups, memrefs, [tuple(int(x) for x in row) for row in extents])
        return
    table = np.stack([_per_group(machine, x) for row in extents for x in row], axis=1)[groups]
    kinds, member = np.unique(table, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        rows, position = [], 0
        for row in extents:
            rows.append(tuple(int(x) for x in kind[position : position + len(row)]))
            position += len(row)
        yield from _parts(machine, groups[member.ravel() == number], memrefs, rows)


def _parts(machine: Machine, groups: Array, memrefs: list[MemRefValue], extents: list[Ints]) -> Iterator[Team]:
    """The work-groups in teams whose boxes together take at most some megabytes, or of a single work-group."""
    elements = sum(prod(row[: len(row) // 2]) for row in extents)
    most = max(1, _TEAM_ELEMENTS // max(1, elements))
    for begin in range(0, groups.size, most):
        yield _team(machine, groups[begin : begin + most], memrefs, extents)


def _operand(machine: Machine, op: Op, name: str) -> MemRefValue:
    value: Value = getattr(op, name)
    return shared(machine, op, name, machine.memref(value), 2)


def _team(machine: Machine, groups: Array, memrefs: list[MemRefValue], extents: list[Ints]) -> Team:
    boxes = [
        Box(m, _per_group(machine, m.offset)[groups], row[: len(row) // 2], row[len(row) // 2 :])
        for m, row in zip(memrefs, extents, strict=True)
    ]
    return Team(groups, boxes)


def _at(machine: Machine, groups: Array) -> Array:
    """The mask of the work-groups with these numbers."""
    mask = np.zeros((machine.work_groups, 1, 1), np.bool_)
    mask[groups] = True
    return mask


def fetch(machine: Machine, op: Op, team: Team, name: str, box: Box, kind: Kind | None = "read") -> Array:
    """The elements of a box, the operand `name`, for each work-group of the team.

    The search for races is told of an access of this kind, and of none for None.
    """
    if kind is not None:
        follow_box(machine, op, team, name, box, kind)
    missing = unwritten(box.memref.elements, box.offsets, box.shape, box.strides)
    if missing is not None:
        where = np.argwhere(missing)[0]
        index = tuple(int(i) for i in where[1:])
        guilty = _at(machine, team.groups[missing.reshape(len(team.groups), -1).any(axis=1)])
        machine.find(findings.unwritten(op, box.memref.name), op, guilty,
                     argument=box.memref.name, index=index, shape=box.shape)  # fmt: skip
    return read_boxes(box.memref.elements.data, box.offsets, box.shape, box.strides)


def fits(machine: Machine, op: Op, team: Team, left: Ints, right: Ints, differ: str) -> bool:
    """Whether two shapes agree at run time; a finding otherwise, which names all memrefs and their shapes."""
    if left == right:
        return True
    operands = [(box.memref.name, box.shape) for box in team.boxes]
    words = findings.named_shapes(op, differ, left, right, operands)
    machine.find(words, op, _at(machine, team.groups), argument=operands[-1][0])
    return False


def find_aliasing(machine: Machine, op: Op, names: tuple[str, ...], team: Team) -> None:
    """Find an operand that shares elements with the result, which is the last of the names and boxes."""
    *sources, result = team.boxes
    apart = np.ones(len(team.groups), np.bool_)
    for name, box in zip(names, sources, strict=False):
        shared = shared_elements(result, box, apart, same_view_is_fine=same_view_has_meaning(op))
        if shared is None:
            continue
        words = findings.operands_overlap(op, name, names[-1])
        machine.find(words, op, _at(machine, team.groups[shared.groups]), argument=result.memref.name,
                     index=shared.index or None, shape=result.shape or None)  # fmt: skip
        apart &= ~shared.groups


Product = Callable[[list[Array], Number], Array]


def scaled(machine: Machine, op: Any, names: tuple[str, ...], target: str, check: Any, product: Product) -> None:
    """Compute target := alpha product + beta target for every team.

    The function `product` gets the boxes of `names` and the accumulator type; its result has the target's shape. If
    beta is the constant 0, the target is not read.
    """
    type_ = getattr(op, target).type
    assert isinstance(type_, MemRef)
    element = type_.element
    accumulator = accumulator_of(element)
    alpha = _scalar(machine, op, "alpha", accumulator)
    beta = _scalar(machine, op, "beta", accumulator)
    constant = machine.constants.get(op.beta)
    overwrite = isinstance(constant, np.ndarray) and bool((constant == 0).all())
    for team in teams(machine, op, (*names, target)):
        *sources, goal = team.boxes
        if not check(machine, op, team):
            continue
        find_aliasing(machine, op, (*names, target), team)
        read = [fetch(machine, op, team, name, box) for name, box in zip(names, sources, strict=True)]
        computed = product(read, accumulator)
        lead = (-1, *(1,) * (computed.ndim - 1))
        term = computed, _of_team(alpha, team).reshape(lead)
        if op.atomic:
            value = numbers.cast(_BINARY["mul"](*term, accumulator), accumulator, element)
            _atomic(machine, op, team, target, goal, value, element, add=not overwrite)
            continue
        if overwrite:
            picked = _BINARY["mul"](*term, accumulator)
        else:
            # Whatever races with this read races with the write behind it, too.
            old = numbers.cast(fetch(machine, op, team, target, goal, None), element, accumulator)
            picked = scaled_sum(machine, term, (old, _of_team(beta, team).reshape(lead)), accumulator)
        stored = numbers.cast(picked, accumulator, element)
        follow_box(machine, op, team, target, goal, "write", stored)
        write_boxes(goal.memref.elements, goal.offsets, goal.shape, goal.strides, stored)


_BINARY = numbers.BINARY


def _scalar(machine: Machine, op: Any, name: str, accumulator: Number) -> Array:
    """The scalar alpha or beta of each work-group, in the accumulator type."""
    value: Value = getattr(op, name)
    type_ = value.type
    assert isinstance(type_, Number)
    return numbers.cast(machine.uniform(op, name, machine.array(value), 2), type_, accumulator)


def _of_team(array: Array, team: Team) -> Array:
    return array if array.shape[0] == 1 else array[team.groups]


def follow_box(
    machine: Machine, op: Op, team: Team, name: str, box: Box, kind: Kind, values: Array | None = None
) -> None:
    """Tell the search for races of an access to a box by the work-groups of a team."""
    view = box.memref.elements
    if followed(machine, view) is None:
        return
    step = max(1, _FOLLOWED_ELEMENTS // len(team.groups))
    for first, place in _places(box.shape, box.strides, step):
        value = None if values is None else partial(_element, values, first, place.size, box.shape)
        follow_groups(machine, op, name, kind, view, team.groups, box.offsets[:, None] + place, value)


def _places(shape: Ints, strides: Ints, most: int) -> Iterator[tuple[int, Array]]:
    """The places of a box's elements in the order of modes, about so many at a time, and the number of the first."""
    inner, count, modes = np.zeros(1, np.int64), 1, 0
    for size, stride in zip(shape, strides, strict=True):
        if count * size > most:
            break
        inner = (np.arange(size, dtype=np.int64)[:, None] * stride + inner).ravel()
        count, modes = count * size, modes + 1
    total, step = prod(shape[modes:]), max(1, most // max(1, count))
    for begin in range(0, total, step):
        rest = np.arange(begin, min(begin + step, total), dtype=np.int64)
        outer = np.zeros_like(rest)
        for size, stride in zip(shape[modes:], strides[modes:], strict=True):
            rest, index = np.divmod(rest, size)
            outer += index * stride
        yield begin * count, (outer[:, None] + inner).ravel()


def _element(values: Array, first: int, count: int, shape: Ints, access: int) -> bytes:
    """The bytes of an element of boxes, whose first axis is that of the boxes or of size 1.

    Accesses are counted box by box, in each `count` elements from the number `first` on in the order of modes.
    """
    box, number = divmod(access, count)
    index = np.unravel_index(first + number, shape, order="F")
    return bytes(np.broadcast_to(values, (max(len(values), box + 1), *shape))[(box, *index)].tobytes())


def _atomic(
    machine: Machine, op: Op, team: Team, name: str, goal: Box, value: Array, element: Number, *, add: bool
) -> None:
    """Update or overwrite the target, one work-group after the other."""
    if not add:
        follow_box(machine, op, team, name, goal, "write", value)
        write_boxes(goal.memref.elements, goal.offsets, goal.shape, goal.strides, value)
        return
    fetch(machine, op, team, name, goal, "update")
    values = np.broadcast_to(value, (len(team.groups), *goal.shape))
    for number in machine.choices.order(len(team.groups)):
        start = goal.offsets[number : number + 1]
        old = read_boxes(goal.memref.elements.data, start, goal.shape, goal.strides)
        new = _BINARY["add"](old, values[number : number + 1], element)
        write_boxes(goal.memref.elements, start, goal.shape, goal.strides, new)


def _to(operand: Value, array: Array, accumulator: Number) -> Array:
    """The elements of an operand, converted to the accumulator type."""
    type_ = operand.type
    assert isinstance(type_, MemRef)
    return numbers.cast(array, type_.element, accumulator)


def _turned(shape: Ints, transpose: bool) -> Ints:
    return shape[::-1] if transpose and len(shape) == 2 else shape


def _turn(array: Array, transpose: bool) -> Array:
    return array.swapaxes(-1, -2) if transpose and array.ndim == 3 else array


@meaning(Axpby)
def axpby(machine: Machine, op: Axpby) -> None:
    """Compute b := alpha op(a) + beta b."""

    def check(machine: Machine, op: Axpby, team: Team) -> bool:
        a, b = team.boxes
        return fits(machine, op, team, _turned(a.shape, op.transpose), b.shape, findings.TURNED_A_AND_B)

    scaled(machine, op, ("a",), "b", check, lambda s, t: _to(op.a, _turn(s[0], op.transpose), t))


@meaning(Cumsum)
def cumsum(machine: Machine, op: Cumsum) -> None:
    """Compute b := alpha (cumulative sum of a along a mode) + beta b."""

    def check(machine: Machine, op: Cumsum, team: Team) -> bool:
        a, b = team.boxes
        return fits(machine, op, team, a.shape, b.shape, findings.A_AND_B)

    scaled(machine, op, ("a",), "b", check, lambda s, t: numbers.cumulative(_to(op.a, s[0], t), op.mode + 1, t))


@meaning(Sum)
def sum_(machine: Machine, op: Sum) -> None:
    """Compute b := alpha (sum of op(a)) + beta b."""

    def check(machine: Machine, op: Sum, team: Team) -> bool:
        a, b = team.boxes
        rows = _turned(a.shape, op.transpose)[: len(b.shape)]
        return fits(machine, op, team, rows, b.shape, findings.ROWS_AND_B)

    def product(s: list[Array], t: Number) -> Array:
        a = _turn(_to(op.a, s[0], t), op.transpose)
        order = machine.choices.summands(a.shape[-1])
        return numbers.total(a if order is None else a[..., order], -1, t)

    scaled(machine, op, ("a",), "b", check, product)


def _factors(machine: Machine, op: Gemm | Gemv | Ger, sources: list[Array]) -> tuple[Array, ...]:
    """The factors of a product as they are multiplied."""
    types = [element_type(value.type) for value in (op.a, op.b)]
    return factors(machine, sources, [type for type in types if isinstance(type, Number)])


def multiply(machine: Machine, a: Array, b: Array, accumulator: Number) -> Array:
    """The product of two matrices; `Choices` may vary the order of its sums."""
    order = machine.choices.summands(a.shape[-1])
    if order is not None:
        a, b = a[..., order], b[..., order, :]
    return numbers.matmul(a, b, accumulator)


@meaning(Gemm)
def gemm(machine: Machine, op: Gemm) -> None:
    """Compute c := alpha op1(a) op2(b) + beta c."""

    def check(machine: Machine, op: Gemm, team: Team) -> bool:
        (m, k), (depth, n) = _turned(team.boxes[0].shape, op.transpose_a), _turned(team.boxes[1].shape, op.transpose_b)
        return fits(machine, op, team, (k,), (depth,), findings.COLUMNS_AND_ROWS) and fits(
            machine, op, team, (m, n), team.boxes[2].shape, findings.PRODUCT_AND_C
        )

    def product(s: list[Array], t: Number) -> Array:
        a, b = _factors(machine, op, s)
        return multiply(machine, _turn(a, op.transpose_a), _turn(b, op.transpose_b), t)

    scaled(machine, op, ("a", "b"), "c", check, product)


@meaning(Gemv)
def gemv(machine: Machine, op: Gemv) -> None:
    """Compute c := alpha op1(a) b + beta c."""

    def check(machine: Machine, op: Gemv, team: Team) -> bool:
        m, k = _turned(team.boxes[0].shape, op.transpose)
        return fits(machine, op, team, (k,), team.boxes[1].shape, findings.COLUMNS_AND_B) and fits(
            machine, op, team, (m,), team.boxes[2].shape, findings.ROWS_AND_C
        )

    def product(s: list[Array], t: Number) -> Array:
        a, b = _factors(machine, op, s)
        return multiply(machine, _turn(a, op.transpose), b[..., None], t)[..., 0]

    scaled(machine, op, ("a", "b"), "c", check, product)


@meaning(Ger)
def ger(machine: Machine, op: Ger) -> None:
    """Compute c := alpha a b^T + beta c."""

    def check(machine: Machine, op: Ger, team: Team) -> bool:
        a, b, c = (box.shape for box in team.boxes)
        return fits(machine, op, team, (*a, *b), c, findings.OUTER_PRODUCT_AND_C)

    def product(s: list[Array], t: Number) -> Array:
        a, b = _factors(machine, op, s)
        return _BINARY["mul"](_to(op.a, a, t)[..., :, None], _to(op.b, b, t)[..., None, :], t)

    scaled(machine, op, ("a", "b"), "c", check, product)


@meaning(Hadamard)
def hadamard(machine: Machine, op: Hadamard) -> None:
    """Compute c := alpha a * b + beta c, entry by entry."""

    def check(machine: Machine, op: Hadamard, team: Team) -> bool:
        a, b, c = (box.shape for box in team.boxes)
        return fits(machine, op, team, a, b, findings.A_AND_B) and fits(machine, op, team, a, c, findings.A_AND_C)

    def product(s: list[Array], t: Number) -> Array:
        return _BINARY["mul"](_to(op.a, s[0], t), _to(op.b, s[1], t), t)

    scaled(machine, op, ("a", "b"), "c", check, product)
