"""From the place of a component to an element of memory, for every layout and view (001 8.X).

This is the pseudo-code of the specification for some components at a time, with 32-bit numbers where those wrap around,
as the interpreter has it (`girih.addressing.tensor_index`). It serves the accesses for which no simpler way is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.tensor_reals import Arithmetic, Real, Reals
from girih.back.llvm.lower.tensor_values import U32, LayoutHeld, ViewHeld
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import index
from girih.ir.types import ClampMode
from girih.lazy_dataclass import dataclass

_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Element:
    """The places of components; conditions are one `i1` or one for each lane.

    `element` counts components or blocks from the base. It, the numbers of blocks and the places in them are valid for
    components that are neither `clipped` nor `outside`, and for those outside that are moved to the inside.
    """

    element: Real
    blocks: tuple[Real, ...]
    within: tuple[Real, ...]
    clipped: Val
    outside: Val


class TensorIndex:
    """The elements of a matrix `[rows, columns]` that is accessed through a layout, and a view if there is one."""

    def __init__(
        self,
        code: KernelCode,
        layout: LayoutHeld,
        view: ViewHeld | None,
        shape: tuple[int, int],
        *,
        store: bool,
        arithmetic: Arithmetic = Reals,
    ) -> None:
        self.code, self.layout, self.view, self.shape = code, layout, view, shape
        self.arithmetic = arithmetic
        self.moves = not store and layout.mode in _MOVES

    def at(self, row: Real, column: Real, count: int) -> Element:
        """The elements of `count` components whose rows and columns are given."""
        r = self.arithmetic(self.code.w, count)
        clipped, index = self._index(r, row, column)
        span = [r.of(n) for n in self.layout.span]
        places = [c.number for c in _unravel(r, _Bounded(index, 2**32), span, range(len(span)))]
        return self._element(r, clipped, places, inside=False)

    def inside(self, coordinates: Sequence[Real]) -> Element:
        """The element of a component whose coordinates in the span are given, and which is inside of the tensor."""
        return self._element(self.arithmetic(self.code.w, 1), integer(0, "i1"), coordinates, inside=True)

    def place(self, line: Operand, start: Operand, count: int, *, along_rows: bool) -> Element:
        """The elements of `count` neighbours from `start` on: along the rows, or along the columns."""
        r = self.arithmetic(self.code.w, count)
        across, first = (r.of(k if isinstance(k, int) else index(k)) for k in (line, start))
        along = r.lanes_from(first)
        return self.at(along, across, count) if along_rows else self.at(across, along, count)

    # --- linear indices ------------------------------------------------------------------

    def _index(self, r: Reals, row: Real, column: Real) -> tuple[Val, Real]:
        """The condition that a component is clipped, and its linear index in the span."""
        rows, columns = self.shape
        clipped, width = integer(0, "i1"), _Bounded(columns, columns)
        if self.view is not None:
            top, height, left, wide = map(r.of, self.view.clip)
            row, column = r.sub(row, top), r.sub(column, left)
            for number, end, most in ((row, height, rows), (column, wide, columns)):
                if not (isinstance(end, int) and end >= most):
                    clipped = r.either(clipped, r.compare("oge", number, end))
            for number, first in ((row, top), (column, left)):
                if first != 0:
                    clipped = r.either(clipped, r.compare("olt", number, 0))
            width = _Bounded(r.smaller(columns, wide), columns)
        index = self._wrapped(r, _Bounded(r.add(r.mul(row, width.number), column), rows * columns))
        if self.view is not None:
            index = self._through_view(r, self.view, index)
        return clipped, index.number

    def _wrapped(self, r: Reals, held: _Bounded) -> _Bounded:
        """A number modulo 2^32."""
        if held.end <= 2**32:
            return held
        return _Bounded(r.remainder(held.number, 2**32), 2**32)

    def _through_view(self, r: Reals, view: ViewHeld, index: _Bounded) -> _Bounded:
        sizes, strides = self._view_shape(r, view)
        coordinates = _unravel(r, index, sizes, view.type.permutation)
        total = sum((c.end - 1) * s for c, s in zip(coordinates, strides, strict=True) if isinstance(s, int))
        if total < _EXACT and all(isinstance(s, int) for s in strides):
            found: Real = 0
            for c, s in zip(coordinates, strides, strict=True):
                found = r.add(found, r.mul(c.number, s))
            return self._wrapped(r, _Bounded(found, total + 1))
        return self._summed(r, coordinates, strides)

    def _view_shape(self, r: Reals, view: ViewHeld) -> tuple[list[Real], list[Real]]:
        """The sizes and strides that a view has in effect."""
        if view.type.has_dimensions:
            return [r.of(n) for n in view.dimension], [r.of(n) for n in view.stride]
        span = [r.of(n) for n in self.layout.span]
        strides: list[Real] = []
        for position in range(len(span)):
            inner = span[position + 1 :]
            known = [n for n in inner if isinstance(n, int)]
            # Products of unknown spans may pass 2^53: they are summed as integers.
            strides.append(prod(known) if len(known) == len(inner) else r.of_integer(self._product(position + 1)))
        return span, strides

    def _product(self, first: int) -> Val:
        """The product of the spans from a dimension on, modulo 2^32."""
        w = self.code.w
        held: Operand = 1
        for extent in self.layout.span[first:]:
            held = w.binary("and", w.mul(held, as_scalar(extent).part), U32)
        return w.value(held)

    def _summed(self, r: Reals, coordinates: Sequence[_Bounded], strides: Sequence[Real]) -> _Bounded:
        """The sum of products modulo 2^32; the sum itself may exceed 2^53."""
        w = self.code.w
        found = w.splat(integer(0), r.count)
        everywhere = integer(1, "i1")
        for c, s in zip(coordinates, strides, strict=True):
            product = w.mul(r.integers(c.number, everywhere), r.integers(s, everywhere))
            found = w.add(found, product)
        low = w.binary("and", found, w.splat(integer(U32), r.count))
        return _Bounded(r.of_integer(low), 2**32)

    # --- coordinates ---------------------------------------------------------------------

    def _element(self, r: Reals, clipped: Val, coordinates: Sequence[Real], *, inside: bool) -> Element:
        layout = self.layout
        outside = integer(0, "i1")
        element: Real = 0
        blocks, within = [], []
        for position, coordinate in enumerate(coordinates):
            size, block = r.of(layout.dimension[position]), r.of(layout.block_size[position])
            offset = r.of(layout.offset[position])
            place = r.add(coordinate, offset) if inside else self._moved(r, coordinate, offset)
            beyond = integer(0, "i1") if inside else r.outside(place, 0, size)
            if self.moves and not inside:
                place = r.select(beyond, _MOVES[layout.mode](r, place, size), place)
            number = r.quotient(place, block)
            blocks.append(number)
            within.append(0 if block == 1 else r.rest(place, number, block))
            element = r.add(element, r.mul(number, r.of(layout.stride[position])))
            outside = r.either(outside, beyond)
        return Element(element, tuple(blocks), tuple(within), clipped, outside)

    def _moved(self, r: Reals, coordinate: Real, offset: Real) -> Real:
        """The sum of a coordinate and an offset as a signed number of 32 bits."""
        place = r.add(coordinate, offset)
        if offset == 0 and isinstance(coordinate, int):
            return place
        return r.select(r.compare("oge", place, 2**31), r.sub(place, 2**32), place)


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A number with a bound: 0 <= number < end."""

    number: Real
    end: int


def _unravel(r: Reals, index: _Bounded, sizes: Sequence[Real], order: Sequence[int]) -> list[_Bounded]:
    """The coordinate in each dimension of a linear index; `order` lists the dimensions, outermost first."""
    found = [index] * len(sizes)
    number, end = index.number, index.end
    for position in reversed(order):
        size = sizes[position]
        most = min(end, size) if isinstance(size, int) else end
        quotient = r.quotient(number, size)
        found[position] = _Bounded(0 if size == 1 else r.rest(number, quotient, size), most)
        number = quotient
    return found


def _edge(r: Reals, place: Real, size: Real) -> Real:
    return r.smaller(r.larger(place, 0), r.sub(size, 1))


def _mirror(r: Reals, place: Real, size: Real) -> Real:
    period = r.larger(r.sub(r.mul(size, 2), 2), 1)
    place = r.remainder(place, period)
    return r.select(r.compare("oge", place, size), r.sub(period, place), place)


_MOVES = {
    ClampMode.CLAMP_TO_EDGE: _edge,
    ClampMode.REPEAT: Reals.remainder,
    ClampMode.MIRROR_REPEAT: _mirror,
}
"""Where a coordinate outside goes (001 8.X spanCoordToTensorCoord)."""
