"""Collective instructions that compute every element of the target from few elements: axpby, hadamard, ger.

Elements along the first mode are computed as vectors where they are neighbours, several vectors at a time, with masks
for what remains; matrices without gaps are treated as vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.facts import remarks

Body = Callable[[Operand, int, Val | None], None]
"""What is done with elements along a mode: from a position, so many, where a mask holds."""

_TILE = 8
"""The side of the squares in which a transpose reads and writes."""


def sweep(
    e: Elements, size: Operand, body: Body, *, vectors: bool, unroll: int = 4, always_masked: bool = False
) -> None:
    """Go through the positions of a mode, by vectors if they are neighbours in all memory that is used.

    A body that is long beside the computation of a mask may be written once, `always_masked` where there are masks.
    """
    known = size if isinstance(size, int) else size.literal
    if not vectors:
        _steps(e.w, 0, size, 1, 1, lambda i: body(i, 1, None))
    elif known is not None:
        _sweep_known(e, known, body, unroll)
    else:
        _sweep_unknown(e, e.w.value(size), body, unroll, always_masked=always_masked)


def _steps(w: Writer, start: Operand, stop: Operand, step: int, unroll: int, body: Callable[[Operand], None]) -> None:
    """A loop of `unroll` steps at once."""
    with w.loop(start, stop, step * unroll) as loop:
        for number in range(unroll):
            body(w.add(loop.index, number * step))


def _sweep_known(e: Elements, size: int, body: Body, unroll: int) -> None:
    width, start = e.count, 0
    rounds = size // (width * unroll)
    if rounds > 1:
        start = rounds * width * unroll
        _steps(e.w, 0, start, width, unroll, lambda i: body(i, width, None))
    while size - start >= width:
        body(start, width, None)
        start += width
    # One element goes alone: LLVM 22 makes a store of its full width of one that converts under a mask of one lane.
    if size - start > 1 and e.masked:
        body(start, width, e.first(width, size - start))
        return
    while size > start:
        width = 1 << (size - start).bit_length() - 1
        body(start, width, None)
        start += width


def _sweep_unknown(e: Elements, size: Val, body: Body, unroll: int, *, always_masked: bool) -> None:
    w, width = e.w, e.count
    bulk = w.value(0)
    if not (always_masked and e.masked):
        bulk = w.binary("and", size, -width * unroll)
        _steps(w, 0, bulk, width, unroll, lambda i: body(i, width, None))
    if e.masked:
        _steps(w, bulk, size, width, 1, lambda i: body(i, width, e.first(width, w.sub(size, i))))
        return
    vectors = w.binary("and", size, -width)
    if unroll > 1:
        _steps(w, bulk, vectors, width, 1, lambda i: body(i, width, None))
    _steps(w, vectors, size, 1, 1, lambda i: body(i, 1, None))


def joined(w: Writer, views: Sequence[View]) -> list[View]:
    """Matrices of one shape as matrices of one column if none of them has gaps, which may be known only at run time."""
    if len(views[0].shape) != 2 or not all(v.contiguous for v in views):
        return list(views)
    rows, columns = views[0].shape
    condition = integer(1, "i1")
    for one in views:
        condition = w.binary("and", condition, w.compare("eq", one.strides[1], rows))
    if condition.literal == 0:
        return list(views)
    found = []
    for one in views:
        shape = (_either(w, condition, w.mul(rows, columns), rows), _either(w, condition, 1, columns))
        found.append(View(one.element, one.pointer, shape, one.strides, one.name, one.local))
    return found


def _either(w: Writer, condition: Val, a: Operand, b: Operand) -> Operand:
    held = w.select(condition, w.value(a), w.value(b))
    return held if held.literal is None else held.literal


def through_columns(w: Writer, views: Sequence[View], body: Callable[[list[View]], None]) -> None:
    """Call a body for every column of matrices of one shape, or for the vectors or scalars themselves."""
    if len(views[0].shape) < 2:
        body(list(views))
        return
    columns = views[0].shape[-1]
    if columns == 1:
        body([v.inner(w, 0) for v in views])
        return
    with w.loop(0, columns) as loop:
        through_columns(w, [v.inner(w, loop.index) for v in views], body)


def axpby(e: Elements, end: Scaling, source: View, target: View) -> None:
    """target := alpha source + beta target, for views of one shape."""
    if not target.shape:
        end.write(target.pointer, e.load(source.element, source.pointer))
        return
    if not source.contiguous and len(source.shape) == 2 and source.strides[1] == 1:
        _transpose(e, end, source, target)
        return
    if_neighbours(e, end, (source, target), lambda views: _axpby(e, end, *views))


def _axpby(e: Elements, end: Scaling, source: View, target: View) -> None:
    def column(views: list[View]) -> None:
        a, b = views

        def body(i: Operand, count: int, mask: Val | None) -> None:
            end.write(b.address(e.w, i), e.load(a.element, a.address(e.w, i), count, mask), mask)

        sweep(e, b.shape[0], body, vectors=_vectors(end, views))

    through_columns(e.w, joined(e.w, (source, target)), column)


def if_neighbours(e: Elements, end: Scaling, views: Sequence[View], body: Callable[[Sequence[View]], None]) -> None:
    """Call a body for views; twice where only the launch knows whether elements are neighbours: if so, and if not."""
    w = e.w
    unknown = [v for v in views if not v.contiguous]
    if not unknown or end.one_by_one or any(isinstance(v.strides[0], int) for v in unknown):
        note_apart(e, end, [v for v in unknown if isinstance(v.strides[0], int)])
        body(views)
        return
    together = integer(1, "i1")
    for one in unknown:
        together = w.binary("and", together, w.compare("eq", one.strides[0], 1))

    def near() -> list[Val]:
        body([replace(v, strides=(1, *v.strides[1:])) if v.strides else v for v in views])
        return []

    def apart() -> list[Val]:
        body(views)
        return []

    w.either(together, near, apart)


def note_apart(e: Elements, end: Scaling, views: Sequence[View]) -> None:
    """Remark on memory whose elements go one by one, as they are not known to be neighbours along the first mode."""
    for one in [] if end.one_by_one else views:
        if not one.contiguous and one.shape[0] != 1 and one.name:
            e.note(remarks.apart(one.name, one.strides[0] if isinstance(one.strides[0], int) else None))


def _vectors(end: Scaling, views: Sequence[View]) -> bool:
    return all(v.contiguous for v in views) and not end.one_by_one


def _transpose(e: Elements, end: Scaling, source: View, target: View) -> None:
    """A transposed axpby whose source has contiguous rows: by squares, so that lines of both are used while at hand."""
    w = e.w
    rows, columns = target.shape
    with w.loop(0, columns, _TILE) as outer:
        last_column = w.smaller(w.add(outer.index, _TILE), columns)
        with w.loop(0, rows, _TILE) as inner:
            last_row = w.smaller(w.add(inner.index, _TILE), rows)
            with w.loop(outer.index, last_column) as j, w.loop(inner.index, last_row) as i:
                held = e.load(source.element, source.address(w, i.index, j.index))
                end.write(target.address(w, i.index, j.index), held)


def hadamard(e: Elements, end: Scaling, first: View, second: View, target: View) -> None:
    """target := alpha first * second + beta target, entry by entry."""
    if_neighbours(e, end, (first, second, target), lambda views: _hadamard(e, end, views))


def _hadamard(e: Elements, end: Scaling, views: Sequence[View]) -> None:
    def column(views: list[View]) -> None:
        a, b, c = views

        def body(i: Operand, count: int, mask: Val | None) -> None:
            x = e.load(a.element, a.address(e.w, i), count, mask)
            y = e.load(b.element, b.address(e.w, i), count, mask)
            end.write(c.address(e.w, i), e.multiply(x, y), mask)

        sweep(e, c.shape[0], body, vectors=_vectors(end, views))

    through_columns(e.w, joined(e.w, views), column)


def ger(e: Elements, end: Scaling, a: View, b: View, target: View) -> None:
    """target := alpha a b^T + beta target."""
    w = e.w
    note_apart(e, end, (a, target))
    with w.loop(0, target.shape[1]) as loop:
        factor: Parts = e.load(b.element, b.address(w, loop.index))
        column = target.inner(w, loop.index)

        def body(i: Operand, count: int, mask: Val | None) -> None:
            x = e.load(a.element, a.address(w, i), count, mask)
            end.write(column.address(w, i), e.multiply(x, e.spread(factor, count)), mask)

        sweep(e, target.shape[0], body, vectors=_vectors(end, (a, column)))
