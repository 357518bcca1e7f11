"""The rows of tensor copies on the CPU: the loops over them, and what is fetched ahead."""

from __future__ import annotations

from abc import abstractmethod

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch.descriptor import CHANNEL_SLICE, DIMENSIONS, FIRST_OFFSET, IMAGE, SPATIAL, MapField
from girih.back.llvm.lower.tensor_map.rows import CHUNK, BoxRows, Dimension
from girih.ir.types import Number

AHEAD = 8
"""So many rows ahead of the one that is moved, memory is fetched: they lie where no processor expects an access."""

WIDE = 64
"""The bytes that are moved, and fetched, at a time where nothing but their place changes."""

AT_ONCE = 4
"""So many times `WIDE` bytes are moved between two branches."""

_LONG = 1024
"""Rows of more bytes are streams that processors fetch ahead by themselves."""


class RowCopy(BoxRows):
    """A routine that is being written: its parameters, and what is the same for all rows."""

    def __init__(self, w: Writer, descriptor: Val, operands: Val, local: Val, element: Number) -> None:
        self.operands = operands
        super().__init__(w, descriptor, local, element)
        full = w.binary("and", w.compare("eq", self.low, integer(0)), w.compare("eq", self.high, self.row_bytes))
        pieces = w.compare("eq", w.binary("and", self.row_bytes, CHUNK - 1), integer(0))
        self.full = w.binary("and", full, pieces)
        """Whether the tensor has whole rows, which are whole pieces."""

    @abstractmethod
    def row(self, number: Val, offset: Val, inside: Val) -> None:
        """Write the copy of a row: its number, the byte of global memory where dimension 0 begins, and whether the
        tensor has it."""

    @property
    def unchanged(self) -> Val | None:
        """Whether whole rows are copied as they are; None if they never are."""
        return None

    def between(self, there: Val, here: Val, count: int) -> None:
        """Write the copy of some bytes between an address in global memory and one in local memory."""
        w = self.w
        type = f"<{count} x i8>"
        if self.stores:
            # Where a row begins in the middle of a line, so do its bytes in local memory.
            w.store(w.load(type, here, 1), there, 1)
        else:
            w.store(w.load(type, there, 1), here, CHUNK)

    def simple_rows(self, number: Val, offset: Val, count: Val, stride: Val) -> None:
        """Write the copy of rows that are copied as they are, from the one with this number and offset on."""
        w = self.w
        short = w.compare("sle", self.row_bytes, integer(_LONG))
        distance = w.select(short, w.mul(stride, AHEAD), integer(0))
        # Behind the last rows come, where work-groups go along dimension 0, the first rows of the next box.
        onwards = w.add(self.row_bytes, w.mul(stride, w.sub(integer(AHEAD), count)))
        onwards = w.select(short, onwards, integer(0))
        rest = w.sub(count, AHEAD)

        with w.loop(0, count) as rows:
            beginning = w.add(offset, w.mul(rows.index, stride))
            further = w.select(w.compare("slt", rows.index, rest), distance, onwards)
            self._simple_row(w.add(number, rows.index), beginning, further)

    def _simple_row(self, number: Val, offset: Val, ahead: Val | None) -> None:
        """Write the copy of a row as it is; `ahead` is how far what is fetched for a later one lies from it."""
        w = self.w
        there, here = w.at(self.base, w.add(offset, self.start)), w.at(self.local, w.mul(number, self.pitch))

        def moved(start: Operand, stop: Operand, count: int, times: int = 1) -> None:
            with w.loop(start, stop, times * count) as loop:
                for step in range(0, times * count, count):
                    byte = w.at(w.at(there, loop.index), step)
                    if ahead is not None and count == WIDE:
                        w.prefetch(w.at(byte, ahead), write=self.stores)
                    self.between(byte, w.at(w.at(here, loop.index), step), count)

        first = self._before_line(there) if self.stores else integer(0)
        if self.stores:
            moved(0, first, CHUNK)
        rest = w.sub(self.row_bytes, first)
        long, wide = (w.add(first, w.binary("and", rest, -size)) for size in (WIDE * AT_ONCE, WIDE))
        moved(first, long, WIDE, AT_ONCE)
        moved(long, wide, WIDE)
        moved(wide, self.row_bytes, CHUNK)

    def _before_line(self, there: Val) -> Val:
        """The bytes of a row before the first whole line of global memory, if pieces lead to it; else 0.

        A store that two lines share takes twice as long as two that do not, a load hardly longer.
        """
        w = self.w
        missing = w.binary("and", w.sub(integer(0), w.convert("ptrtoint", there, "i64")), WIDE - 1)
        pieces = w.compare("eq", w.binary("and", missing, CHUNK - 1), integer(0))
        return w.smaller(w.select(pieces, missing, integer(0)), self.row_bytes)

    def any_row(self, number: Val, offset: Val, inside: Val) -> None:
        """Write the copy of a row, in the simple way where that is right."""
        if self.unchanged is None:
            self.row(number, offset, inside)
            return

        def simple() -> list[Val]:
            self._simple_row(number, offset, None)
            return []

        def general() -> list[Val]:
            self.row(number, offset, inside)
            return []

        self.w.either(self.w.binary("and", self.unchanged, inside), simple, general)

    def operand(self, number: Val) -> Val:
        """One of the numbers of the copy."""
        return self.w.load("i64", self.w.at(self.operands, self.w.mul(number, 8)), 8)

    def fetch(self, offset: Val) -> None:
        """Fetch a row of global memory, which need not be one that the tensor has, ahead of its use."""
        w = self.w
        target = w.at(self.base, w.add(offset, self.start))
        short = w.compare("sle", self.row_bytes, integer(_LONG))
        with w.loop(0, w.select(short, self.row_bytes, integer(0)), WIDE) as loop:
            w.prefetch(w.at(target, loop.index), write=self.stores)
        w.prefetch(w.at(target, w.sub(self.row_bytes, 1)), write=self.stores)

    def unswizzled(self, number: Val, byte: Val) -> Val:
        """The address in local memory of a byte of a row, where there is no swizzle."""
        w = self.w
        return w.at(w.at(self.local, w.mul(number, self.pitch)), byte)


def each_tiled_row(rows: RowCopy) -> None:
    """Write loops over the rows of a box (004 5.5.3), dimension 0 innermost."""
    w = rows.w
    dimensions = [Dimension(rows, number) for number in range(DIMENSIONS)]

    def along(number: int, row: Val, offset: Val, inside: Val) -> None:
        one = dimensions[number]
        if number == 0:
            _innermost(rows, one, w.mul(row, one.count), offset, inside)
            return
        with w.loop(0, one.count) as loop:
            position = w.add(one.coordinate, w.mul(loop.index, one.step))
            here = w.binary("and", inside, w.compare("ult", position, one.size))
            further = w.add(offset, w.mul(position, one.stride))
            along(number - 1, w.add(w.mul(row, one.count), loop.index), further, here)

    along(DIMENSIONS - 1, integer(0), integer(0), integer(1, "i1"))


def _innermost(rows: RowCopy, one: Dimension, number: Val, offset: Val, inside: Val) -> None:
    """Write the loop over rows side by side in local memory, which is a simple one where it can be."""
    w = rows.w
    last = w.add(one.coordinate, w.mul(w.sub(one.count, 1), one.step))

    def beginning(index: Operand) -> Val:
        return w.add(offset, w.mul(w.add(one.coordinate, w.mul(index, one.step)), one.stride))

    def ahead(index: Val) -> None:
        rows.fetch(beginning(w.smaller(index, w.sub(one.count, 1))))

    def simple() -> list[Val]:
        rows.simple_rows(number, beginning(integer(0)), one.count, w.mul(one.step, one.stride))
        return []

    def general() -> list[Val]:
        with w.loop(0, one.count) as loop:
            ahead(w.add(loop.index, AHEAD))
            position = w.add(one.coordinate, w.mul(loop.index, one.step))
            here = w.binary("and", inside, w.compare("ult", position, one.size))
            rows.row(w.add(number, loop.index), w.add(offset, w.mul(position, one.stride)), here)
        return []

    with w.loop(0, w.smaller(one.count, integer(AHEAD))) as loop:
        ahead(loop.index)
    if rows.unchanged is None:
        general()
        return
    whole = w.binary("and", w.compare("ult", one.coordinate, one.size), w.compare("ult", last, one.size))
    w.either(w.binary("and", w.binary("and", rows.unchanged, inside), whole), simple, general)


def each_gathered_row(rows: RowCopy) -> None:
    """Write a loop over four rows of a matrix (004 5.5.3.4)."""
    w = rows.w
    one = Dimension(rows, 0)
    with w.loop(0, 4) as loop:
        rows.fetch(w.mul(rows.operand(w.add(loop.index, 1)), one.stride))
    with w.loop(0, 4) as loop:
        position = rows.operand(w.add(loop.index, 1))
        rows.any_row(loop.index, w.mul(position, one.stride), w.compare("ult", position, one.size))


def each_pixel(rows: RowCopy) -> None:
    """Write a loop over the pixels of a column (004 5.5.4): a cursor walks through the pixel box, image by image."""
    w = rows.w
    spatial = [Dimension(rows, number) for number in range(SPATIAL)]
    image, channel_slice = Dimension(rows, IMAGE), Dimension(rows, CHANNEL_SLICE)
    moves = [rows.operand(integer(FIRST_OFFSET + number)) for number in range(SPATIAL)]
    start = [one.coordinate for one in (*spatial, image)]
    with w.loop(0, rows.field(MapField.ROWS), 1, start) as loop:
        *cursor, number = loop.values
        pixel = [w.add(position, move) for position, move in zip(cursor, moves, strict=True)]
        pixel += [number, channel_slice.coordinate]
        inside, offset = integer(1, "i1"), integer(0)
        for position, one in zip(pixel, (*spatial, image, channel_slice), strict=True):
            inside = w.binary("and", inside, w.compare("ult", position, one.size))
            offset = w.add(offset, w.mul(position, one.stride))
        rows.any_row(loop.index, offset, inside)
        loop.following = _advanced(w, cursor, number, spatial, image)


def _advanced(w: Writer, cursor: list[Val], number: Val, spatial: list[Dimension], image: Dimension) -> list[Val]:
    """The cursor one pixel on: past the last position of W it goes back to the first and H advances, and so on."""
    carry = integer(1, "i1")
    following = []
    for position, one in zip(cursor, spatial, strict=True):
        moved = w.select(carry, w.add(position, one.step), position)
        carry = w.binary("and", carry, w.compare("sgt", moved, one.high))
        following.append(w.select(carry, one.low, moved))
    return [*following, w.select(carry, w.add(number, image.step), number)]
