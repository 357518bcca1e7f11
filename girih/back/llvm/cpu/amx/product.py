"""The product of two panels of tiles: a function for each number of tiles that a block of the result has.

The result is stored transposed, as matrices lie column by column: a line of a tile is a part of a column.
"""

from __future__ import annotations

from girih.back.llvm.cpu.amx.packing import ATTRIBUTES, WIDTH, quotient
from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, UNITS, Tiles, note_use, tiles_of
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import ModuleText, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import Number


def product_function(module: ModuleText, target: CpuTarget, factors: Number, rows: int, columns: int) -> str:
    """The name of a function that multiplies a panel by a panel, for so many tiles; written if it is not there.

    Its parameters are the depth in units, the panel of the first factor, the lines of the second one (`packed_lines`),
    the place of the result, the bytes from column to column there, and whether the product is added to what lies there.
    """
    note_use(module)
    name = f"girih.amx.product.{factors}.{rows}x{columns}"
    if name not in module.helpers:
        module.helpers.add(name)
        lines = "ptr %b, i64 %line, i64 %deep"
        parameters = f"i64 %units, ptr %a, {lines}, ptr %to, i64 %pitch, i1 %onto"
        w = Writer(module, f"define internal void @{name}({parameters}) {ATTRIBUTES}")
        _write(w, tiles_of(w, target), factors, rows, columns)
        w.ret()
        w.finish()
    return name


def packed_lines(panel: Val) -> tuple[Val, Val, Val]:
    """A panel of the second factor: its address, the bytes from line to line, and those from one tile to the next."""
    return panel, integer(LINE_BYTES), integer(WIDTH * LINE_BYTES)


def _write(w: Writer, tiles: Tiles, factors: Number, rows: int, columns: int) -> None:
    a, b, to = (Val(f"%{name}", "ptr") for name in ("a", "b", "to"))
    pitch, line, deep = (Val(f"%{name}", "i64") for name in ("pitch", "line", "deep"))
    results = {(i, j): j * rows + i for j in range(columns) for i in range(rows)}
    firsts = range(len(results), len(results) + columns)
    seconds = range(len(results) + columns, len(results) + columns + rows)

    def place(i: int, j: int) -> Val:
        return w.at(w.at(to, w.mul(pitch, j * LINES)), i * LINE_BYTES)

    def continued() -> list[Val]:
        for (i, j), tile in results.items():
            tiles.load(tile, place(i, j), pitch)
        return []

    def begun() -> list[Val]:
        for tile in results.values():
            tiles.zero(tile)
        return []

    w.either(Val("%onto", "i1"), continued, begun)
    with w.loop(0, Val("%units", "i64"), UNITS) as loop:
        first = w.at(b, w.mul(quotient(w, loop.index, UNITS), deep))
        second = w.at(a, w.mul(loop.index, WIDTH * UNIT_BYTES))
        # A tile is loaded just before it is needed first.
        for (i, j), tile in results.items():
            if i == 0:
                tiles.load(firsts[j], w.at(first, w.mul(line, j * LINES)), line)
            if j == 0:
                tiles.load(seconds[i], w.at(second, i * LINES * UNIT_BYTES), WIDTH * UNIT_BYTES)
            tiles.multiply_add(factors, tile, firsts[j], seconds[i])
    for (i, j), tile in results.items():
        tiles.store(tile, place(i, j), pitch)
