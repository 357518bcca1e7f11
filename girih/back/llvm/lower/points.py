"""The points of `foreach` and the tiles of `foreach_tile`: loops over them, and the variables of the regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.control import bound_of, number_type, wide_integer
from girih.back.llvm.numbers.values import Linear, Scalar, uniform
from girih.ir.core import Value
from girih.ops.tile.control import Foreach, ForeachTile


def ends(code: KernelCode, op: Foreach | ForeachTile, name: str) -> list[Val]:
    """The operands `start` or `stop`, which all work-items share, as `i64`."""
    values: tuple[Value, ...] = getattr(op, name)
    return [wide_integer(code, code.agreed(op, name, code.scalar(value))[0]) for value in values]


def product(sizes: Sequence[int]) -> int:
    """The number of points of a box."""
    total = 1
    for size in sizes:
        total *= size
    return total


def outer_loops(
    code: KernelCode,
    op: Foreach,
    starts: list[Val],
    stops: list[Val],
    mode: int,
    dealt: int,
    body: Callable[[], None],
) -> None:
    """Write one loop per mode, from the last down to those that are dealt out, around `body`."""
    if mode < dealt:
        body()
        return
    with code.w.loop(starts[mode], stops[mode]) as loop:
        variable = op.variables[mode]
        narrow = f"i{8 * number_type(variable).size}"
        counter = code.w.convert("trunc", loop.index, narrow)
        below = bound_of(code.scalar(op.start[mode]), stops[mode])
        code.set(variable, Scalar(number_type(variable), (counter,), below=below))
        outer_loops(code, op, starts, stops, mode - 1, dealt, body)


def set_points(
    code: KernelCode, op: Foreach, starts: list[Val], stops: list[Val], base: Val, flat: tuple[int, ...]
) -> None:
    """Set the dealt variables of a round: those of point `base` and of the following ones, one for each lane."""
    w = code.w
    if not flat:
        type = number_type(op.variables[0])
        first = w.convert("trunc", base, f"i{8 * type.size}")
        below = bound_of(code.scalar(op.start[0]), stops[0])
        linear = Linear(first, 1, exact=True) if code.lanes > 1 else None
        code.set(op.variables[0], Scalar(type, () if linear else (first,), linear, below))
        return
    rest = w.add(w.splat(w.convert("trunc", base, "i32"), code.lanes), w.iota(code.lanes, "i32"))
    for variable, start, stop, size in zip(op.variables, starts, stops, flat, strict=False):
        type = number_type(variable)
        divisor = integer(size, rest.type)
        point = w.binary("urem", rest, divisor)
        rest = w.binary("udiv", rest, divisor)
        moved = w.add(w.convert("zext", point, "i64"), w.splat(start, code.lanes))
        counter = w.convert("trunc", moved, f"i{8 * type.size}")
        positive = start.literal is not None and start.literal >= 0
        code.set(variable, Scalar(type, (counter,), below=stop if positive else None))


def tile_loops(
    code: KernelCode,
    op: ForeachTile,
    starts: list[Val],
    stops: list[Val],
    mode: int,
    number: Val,
    body: Callable[[Val], None],
) -> None:
    """Write one loop per mode, from the last down, around `body`, which gets the number of the tile."""
    w = code.w
    if mode < 0:
        body(number)
        return
    tile = op.tile_shape[mode]
    with w.loop(starts[mode], stops[mode], tile, saturate=True) as loop:
        variable, size = op.variables[mode], op.sizes[mode]
        narrow = f"i{8 * number_type(variable).size}"
        left = w.sub(stops[mode], loop.index)
        short = w.select(w.compare("ult", left, integer(tile)), left, integer(tile))
        code.set(variable, uniform(number_type(variable), w.convert("trunc", loop.index, narrow)))
        code.set(size, uniform(number_type(size), w.convert("trunc", short, narrow)))
        passed = w.sub(loop.index, starts[mode])
        here = w.binary("udiv", passed, tile)
        tiles = _tile_count(code, starts[mode], stops[mode], tile)
        tile_loops(code, op, starts, stops, mode - 1, w.add(w.mul(number, tiles), here), body)


def _tile_count(code: KernelCode, start: Val, stop: Val, tile: int) -> Val:
    """The number of tiles along a mode."""
    distance = code.w.sub(stop, start)
    return code.w.binary("udiv", code.w.add(distance, tile - 1), tile)
