"""The product of two panels of tiles: a function for each number of tiles that a block of the result has.

The result is stored transposed, as matrices lie column by column: a line of a tile is a part of a column.
"""

from __future__ import annotations

from girih.back.llvm.cpu.amx.packing import ATTRIBUTES, WIDTH
from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, UNITS, Tiles, tiles_of
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import ModuleText, Operand, Val
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import Number


def product_function(module: ModuleText, target: CpuTarget, factors: Number, rows: int, columns: int) -> str:
    """The name of a function that multiplies a panel by a panel, for so many tiles; written if it is not there.

    Its parameters are the depth in units, both panels, the place of the result, the bytes from column to column there,
    and whether the product is added to what lies there.
    """
    name = f"girih.amx.product.{factors}.{rows}x{columns}"
    if name not in module.helpers:
        module.helpers.add(name)
        parameters = "i64 %units, ptr %a, ptr %b, ptr %to, i64 %pitch, i1 %onto"
        w = Writer(module, f"define internal void @{name}({parameters}) {ATTRIBUTES}")
        _write(w, tiles_of(w, target), factors, rows, columns)
        w.ret()
        w.finish()
    return name


def _write(w: Writer, tiles: Tiles, factors: Number, rows: int, columns: int) -> None:
    a, b, to = (Val(f"%{name}", "ptr") for name in ("a", "b", "to"))
    pitch = Val("%pitch", "i64")
    results = {(i, j): j * rows + i for j in range(columns) for i in range(rows)}
    lines = range(len(results), len(results) + columns)
    units = range(len(results) + columns, len(results) + columns + rows)

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
        _step(w, tiles, factors, (lines, units), results, a, b, w.mul(loop.index, WIDTH * UNIT_BYTES))
    for (i, j), tile in results.items():
        tiles.store(tile, place(i, j), pitch)


def _step(
    w: Writer,
    tiles: Tiles,
    factors: Number,
    registers: tuple[range, range],
    results: dict[tuple[int, int], int],
    a: Val,
    b: Val,
    distance: Operand,
) -> None:
    """One tile's depth; a tile is loaded just before it is needed first."""
    lines, units = registers
    loaded: set[int] = set()
    for (i, j), tile in results.items():
        if lines[j] not in loaded:
            loaded.add(lines[j])
            tiles.load(lines[j], w.at(w.at(b, distance), j * LINES * LINE_BYTES), LINE_BYTES)
        if units[i] not in loaded:
            loaded.add(units[i])
            tiles.load(units[i], w.at(w.at(a, distance), i * LINES * UNIT_BYTES), WIDTH * UNIT_BYTES)
        tiles.multiply_add(factors, tile, lines[j], units[i])
