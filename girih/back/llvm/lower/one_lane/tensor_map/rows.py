"""The rows of a computed tensor copy, dealt out to the threads of the work-group.

A few threads of one subgroup, a team, make a row together, each a piece of 16 bytes at a time; the teams take rows in
turn. So a thread computes the place of a row from its number, and no thread waits for another one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Loop
from girih.back.llvm.lower.launch.descriptor import CHANNEL_SLICE, DIMENSIONS, FIRST_OFFSET, IMAGE, SPATIAL, MapField
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.tensor_map.operands import CopyOperands
from girih.back.llvm.lower.tensor_map.rows import CHUNK, BoxRows, Dimension
from girih.ir.types import Number
from girih.ops.tile.tensor_map import CopyMode

FOUR = 4
"""The rows of a copy that names them."""


class SharedRows(BoxRows):
    """The rows of a copy, of which each thread makes its part."""

    def __init__(self, code: OneLaneCode, given: CopyOperands, element: Number) -> None:
        self.code, self.given = code, given
        super().__init__(code.w, given.held.descriptor, given.local, element)
        w = self.w
        pieces = w.binary("udiv", w.add(self.row_bytes, CHUNK - 1), integer(CHUNK))
        shift, size = integer(0), 1
        while size < code.geometry.subgroup_size:
            shift = w.add(shift, w.convert("zext", w.compare("ugt", pieces, integer(size)), "i64"))
            size *= 2
        self.team = w.binary("shl", integer(1), shift)
        self.member = w.binary("and", code.thread, w.sub(self.team, 1))
        self._first = w.binary("lshr", code.thread, shift)
        threads = code.geometry.subgroups * code.geometry.subgroup_size
        self._teams = w.binary("lshr", integer(threads), shift)

    @abstractmethod
    def row(self, number: Val, offset: Val, inside: Val) -> None:
        """Write the thread's part of a row: its number, the byte of global memory where dimension 0 begins, and whether
        the tensor has it."""

    def operand(self, number: Val) -> Val:
        return self.given.chosen(self.code, number)

    def make(self, mode: CopyMode) -> None:
        """Write the thread's part of the copy."""
        place = self._places(mode)
        rows = integer(FOUR) if mode.by_rows else self.field(MapField.ROWS)
        with self.w.loop(self._first, rows, self._teams) as loop:
            self.row(loop.index, *place(loop.index))

    @contextmanager
    def pieces(self, start: Val, stop: Val, size: int | Val) -> Iterator[Loop]:
        """A loop over the pieces of `size` bytes from `start` to before `stop` that are the thread's."""
        w = self.w
        with w.loop(w.add(start, w.mul(self.member, size)), stop, w.mul(self.team, size)) as loop:
            yield loop

    # --- where rows begin ----------------------------------------------------------------

    def _places(self, mode: CopyMode) -> Callable[[Val], tuple[Val, Val]]:
        """What gives the offset of a row by its number, and whether the tensor has it."""
        if mode.by_rows:
            return self._gathered(Dimension(self, 0))
        if mode is CopyMode.IM2COL:
            return self._pixels([Dimension(self, number) for number in range(DIMENSIONS)])
        return self._tiled([Dimension(self, number) for number in range(DIMENSIONS)])

    def _gathered(self, one: Dimension) -> Callable[[Val], tuple[Val, Val]]:
        """Four rows of a matrix (004 5.5.3.4)."""
        w = self.w

        def place(number: Val) -> tuple[Val, Val]:
            position = self.operand(w.add(number, 1))
            return w.mul(position, one.stride), w.compare("ult", position, one.size)

        return place

    def _tiled(self, dimensions: list[Dimension]) -> Callable[[Val], tuple[Val, Val]]:
        """The rows of a box (004 5.5.3), dimension 0 innermost."""
        w = self.w

        def place(number: Val) -> tuple[Val, Val]:
            positions = []
            for one in dimensions:
                number, digit = self._divided(number, one.count)
                positions.append((one, w.add(one.coordinate, w.mul(digit, one.step))))
            return self._at(positions)

        return place

    def _pixels(self, dimensions: list[Dimension]) -> Callable[[Val], tuple[Val, Val]]:
        """The pixels of a column (004 5.5.4).

        A cursor walks through the pixel box from the filter base on: past the last position of W it goes back to the
        first and H advances, and so on. The first line is as long as the base leaves it.
        """
        w = self.w
        spatial, image, channel_slice = dimensions[:SPATIAL], dimensions[IMAGE], dimensions[CHANNEL_SLICE]
        moves = [self.operand(integer(FIRST_OFFSET + number)) for number in range(SPATIAL)]
        lines = [[self._steps(one, first) for first in (one.coordinate, one.low)] for one in spatial]

        def place(number: Val) -> tuple[Val, Val]:
            positions = []
            for one, move, (first, whole) in zip(spatial, moves, lines, strict=True):
                begun = w.compare("ult", number, first)
                line, digit = self._divided(w.sub(number, first), whole)
                low = w.select(begun, one.coordinate, one.low)
                cursor = w.add(low, w.mul(w.select(begun, number, digit), one.step))
                number = w.select(begun, integer(0), w.add(line, 1))
                positions.append((one, w.add(cursor, move)))
            positions.append((image, w.add(image.coordinate, w.mul(number, image.step))))
            positions.append((channel_slice, channel_slice.coordinate))
            return self._at(positions)

        return place

    def _steps(self, one: Dimension, first: Val) -> Val:
        """How many positions a line of the pixel box has from a position on."""
        w = self.w
        return w.add(w.binary("udiv", w.sub(one.high, first), one.step), 1)

    def _divided(self, number: Val, count: Val) -> tuple[Val, Val]:
        """The quotient and the remainder of numbers of rows, which fit 32 bits."""
        w = self.w
        a, b = (w.convert("trunc", value, "i32") for value in (number, count))
        quotient = w.binary("udiv", a, b)
        rest = w.sub(a, w.mul(quotient, b))
        return w.convert("zext", quotient, "i64"), w.convert("zext", rest, "i64")

    def _at(self, positions: list[tuple[Dimension, Val]]) -> tuple[Val, Val]:
        w = self.w
        offset, inside = integer(0), integer(1, "i1")
        for one, position in positions:
            inside = w.binary("and", inside, w.compare("ult", position, one.size))
            offset = w.add(offset, w.mul(position, one.stride))
        return offset, inside
