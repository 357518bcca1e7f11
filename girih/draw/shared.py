"""Pictures of shared memory: lines of 128 bytes over 32 banks, swizzles, conflicts, and the bytes of a load (004 5.5).

A cell is a chunk of 16 bytes (8 for the swizzle that exchanges halves). A read of a row or of a column is one access of
up to eight lanes of 16 bytes, as a matrix load of a warp makes it; `Swizzle.conflicts` counts its passes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from girih.addressing import SharedImage, Swizzle
from girih.addressing.tensor_map.shared_image import FILL, UNTOUCHED
from girih.addressing.tensor_map.swizzle import BANK_BYTES, BANKS, LINE, Conflicts
from girih.draw.grid import left_out
from girih.draw.options import Limits, Options
from girih.draw.picture import PAPER, Axis, DrawingError, Look, Panel, Picture, plural
from girih.lazy_dataclass import dataclass

LANES, LANE_BYTES = 8, 16
"""The lanes that read a row or a column, and the bytes of each."""
ROW_READ = 3
"""The row that is read; a swizzle moves nothing in row 0."""
WIDTH = 2.0
"""The width of a chunk of 16 bytes, in units of the usual cell."""

CHUNK, IN_ROW, IN_COLUMN, IN_BOTH = range(4)
READ_LOOKS = (
    Look("", PAPER),
    Look("read of a row", "#a6cfee", "R", "...."),
    Look("read of a column", "#f7d28b", "C", "////"),
    Look("in both reads", "#96d9c0", "B", "xxxx"),
)
"""The looks of chunks of a tile that is read."""
BANK_LOOKS = (Look("", PAPER, mark="."), Look("", "#e3e7eb"), Look("bank conflict", "#f0b49a", "!", "xxxx"))
"""The looks of banks that give no word, one, and several."""
COPIED, PARTLY, FILLED, UNWRITTEN = range(4)
IMAGE_LOOKS = (
    Look("copied", "#a6cfee"),
    Look("partly filled", "#96d9c0", "P", "...."),
    Look("filled", "#f7d28b", "F", "////", mark="F"),
    Look("not written", "#e3e7eb", "", "\\\\\\\\", mark="."),
)
"""The looks of chunks of shared memory after a load."""


@dataclass(frozen=True, eq=False)
class Reads:
    """A read of a row and one of a column of a tile in shared memory: byte addresses of lanes, before the swizzle."""

    row: NDArray[np.int64]
    column: NDArray[np.int64]

    @classmethod
    def of(cls, address: int, rows: int, pitch: int, row_bytes: int, row: int = 0) -> Reads:
        """The reads of a tile of `rows` rows of `row_bytes` bytes that lie `pitch` bytes apart from `address` on."""
        across = np.arange(0, min(row_bytes, LANES * LANE_BYTES), LANE_BYTES)
        return cls(address + row * pitch + across, address + pitch * np.arange(min(rows, LANES)))

    def conflicts(self, swizzle: Swizzle) -> tuple[Conflicts, Conflicts]:
        """The conflicts of both reads, those of the row first."""
        return swizzle.conflicts(self.row, LANE_BYTES), swizzle.conflicts(self.column, LANE_BYTES)

    def words(self, swizzle: Swizzle) -> tuple[str, str]:
        """Both reads in words, with the number of passes over the banks that each takes."""
        row, column = self.conflicts(swizzle)
        return _passes("row", self.row, row), _passes("column", self.column, column)


def _passes(what: str, lanes: NDArray[np.int64], conflicts: Conflicts) -> str:
    taken = int(conflicts.transactions[0])
    extra = "no conflict" if taken <= conflicts.ideal else f"{plural(taken - conflicts.ideal, 'conflict')}"
    asked = plural(len(lanes), "lane")
    passes = f"{taken} pass" if taken == 1 else f"{taken} passes"
    return f"read of a {what} ({asked} of {LANE_BYTES} bytes): {passes} over the banks, {extra}"


def swizzle_picture(swizzle: Swizzle, options: Options, limits: Limits) -> Picture:
    """Eight rows of a tile before and after the swizzle, a read of a row and one of a column marked in both."""
    pitch = options.row_bytes or swizzle.span or LINE
    longest = LINE * limits.rows // LANES // LANE_BYTES * LANE_BYTES
    if pitch % LANE_BYTES or pitch > longest:
        raise DrawingError(f"row_bytes = {pitch}: rows have a multiple of {LANE_BYTES} bytes, at most {longest}")
    lines = -(-max(LANES * pitch, swizzle.repeat) // LINE)
    reads = Reads.of(0, LANES, pitch, pitch, ROW_READ)
    sides = [("no swizzle", Swizzle())]
    if swizzle.mode.steps:
        sides.append((f"swizzle {swizzle.name}", swizzle))
    chunk = min(swizzle.mode.chunk, LANE_BYTES)
    groups = tuple((_lines_panel(title, one, reads, lines, chunk), _banks_panel(one, reads)) for title, one in sides)
    repeat = f"the pattern repeats every {swizzle.repeat} bytes" if swizzle.mode.steps else "every byte stays in place"
    facts = (
        f"a tile with rows of {pitch} bytes; chunks of {chunk} bytes, numbered in the order of the tile; {repeat}",
    )
    return Picture(f"Shared memory with swizzle {swizzle.name}", facts, groups, {})


def _lines_panel(title: str, swizzle: Swizzle, reads: Reads, lines: int, chunk: int) -> Panel:
    """The lines of shared memory: at each place the number of the chunk that lies there."""
    logical = np.arange(0, lines * LINE, chunk)
    place = swizzle.apply(logical) // chunk
    code = np.zeros(len(place), np.uint8)
    for lanes, bit in ((reads.row, IN_ROW), (reads.column, IN_COLUMN)):
        inside = (logical[:, None] >= lanes) & (logical[:, None] < lanes + LANE_BYTES)
        code[place[inside.any(axis=1)]] |= bit
    number = np.empty(len(place), np.int64)
    number[place] = np.arange(len(place))
    across = LINE // chunk
    texts = [str(chunk_number) for chunk_number in number.tolist()]
    return Panel(
        title,
        _line_axis(np.arange(lines), 0),
        _bank_axis(chunk),
        code.reshape(lines, across),
        tuple(tuple(texts[line * across : (line + 1) * across]) for line in range(lines)),
        READ_LOOKS,
        column_width=WIDTH * chunk / LANE_BYTES,
    )


def _banks_panel(swizzle: Swizzle, reads: Reads) -> Panel:
    """The banks, with the number of words that each gives in both reads."""
    words = np.concatenate([conflicts.per_bank for conflicts in reads.conflicts(swizzle)])
    return Panel(
        "words from each bank",
        Axis("", ("row", "column")),
        Axis("bank", tuple("" if bank % 4 else str(bank) for bank in range(BANKS))),
        np.minimum(words, 2).astype(np.uint8),
        tuple(tuple(str(word) if word else "" for word in line) for line in words.tolist()),
        BANK_LOOKS,
        notes=reads.words(swizzle),
        column_width=WIDTH * BANK_BYTES / LANE_BYTES,
    )


def _line_axis(lines: NDArray[np.int64], first: int) -> Axis:
    return Axis("address", tuple(str((first + line) * LINE) for line in lines.tolist()))


def _bank_axis(chunk: int) -> Axis:
    banks = chunk // BANK_BYTES
    names = [f"{bank}-{bank + banks - 1}" if chunk == LANE_BYTES else str(bank) for bank in range(0, BANKS, banks)]
    return Axis("bank", tuple(names))


def shared_image_picture(image: SharedImage, options: Options, limits: Limits) -> Picture:
    """The shared memory after a load, with the bytes of global memory that each of its chunks holds."""
    state = np.select([image.source >= 0, image.source == FILL], [COPIED, FILLED], UNWRITTEN).astype(np.uint8)
    number = np.where(image.source == UNTOUCHED, -1, image.source)
    panel = image_panel("shared memory", image.shared_address, number, state, number_range, limits)
    counts = {
        IMAGE_LOOKS[look].name: number
        for look, number in zip((COPIED, FILLED, UNWRITTEN), image.counts().values(), strict=True)
        if number
    }
    facts = (
        f"from address {image.shared_address}, {image.transaction_bytes} transaction bytes; a chunk shows the first "
        "and the last byte of global memory that it holds",
    )
    return Picture(f"Shared memory after a load, {len(image)} bytes", facts, ((panel,),), counts, "byte")


def number_range(numbers: NDArray[np.int64]) -> str:
    """The first and the last of the numbers in words, `...` between them where they are not consecutive."""
    first, last = int(numbers[0]), int(numbers[-1])
    if first == last:
        return str(first)
    is_run = bool((np.diff(numbers) <= 1).all() and (np.diff(numbers) >= 0).all())
    return f"{first}-{last}" if is_run else f"{first}...{last}"


def image_panel(
    title: str,
    address: int,
    number: NDArray[np.int64],
    state: NDArray[np.uint8],
    label: Callable[[NDArray[np.int64]], str],
    limits: Limits,
    looks: tuple[Look, ...] = IMAGE_LOOKS,
) -> Panel:
    """The panel of shared memory from `address` on, with the `number` (-1: none) and the `state` of each byte.

    `label` makes the text of a chunk of the numbers in it.
    """
    first = address // LINE
    before = address - first * LINE
    lines = -(-(before + len(state)) // LINE)
    shown = np.arange(min(lines, limits.rows))
    size = len(shown) * LINE
    states, numbers = np.full(size, UNWRITTEN, np.uint8), np.full(size, -1, np.int64)
    end = min(size, before + len(state))
    states[before:end], numbers[before:end] = state[: end - before], number[: end - before]
    chunks, sources = states.reshape(-1, LANE_BYTES), numbers.reshape(-1, LANE_BYTES)
    texts = [label(row[row >= 0]) if (row >= 0).any() else "" for row in sources]
    across = LINE // LANE_BYTES
    return Panel(
        title,
        _line_axis(shown, first),
        _bank_axis(LANE_BYTES),
        _chunk_codes(chunks).reshape(-1, across),
        tuple(tuple(texts[line * across : (line + 1) * across]) for line in range(len(shown))),
        looks,
        notes=left_out("line", shown, 0, lines),
        column_width=max(WIDTH, 0.23 * max((len(text) for text in texts), default=0) + 0.4),
    )


def _chunk_codes(chunks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The class of each chunk: bytes that are not written count only where there are no others."""
    copied, filled = (chunks == COPIED).any(axis=1), (chunks == FILLED).any(axis=1)
    return np.select([copied & filled, copied, filled], [PARTLY, COPIED, FILLED], UNWRITTEN).astype(np.uint8)
