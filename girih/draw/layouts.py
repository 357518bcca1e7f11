"""Pictures of tensor layouts and views (000, 001): the tile, where it lies in the tensor, where in memory."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from girih.addressing import Access, LayoutTile, TensorLayout, TensorView
from girih.addressing.errors import U32
from girih.draw.options import Limits, Options
from girih.draw.picture import DrawingError, Panel, Picture, counts_of, times
from girih.draw.space import Space, planes
from girih.draw.tile import MOST_ELEMENTS, PART, TilePicture, chosen, memory_panel, moved, tile_panel


def layout_picture(layout: TensorLayout, options: Options, limits: Limits) -> Picture:
    """The span of a layout, or the matrix that the options ask for."""
    if not all(layout.span):
        raise DrawingError("the layout has no dimensions yet; call set_dimension")
    rows, columns = options.rows or math.prod(layout.span[:-1]), options.columns or layout.span[-1]
    tile = LayoutTile(layout, rows, columns, options.view)
    return layout_tile_picture(tile, options, limits)


def view_picture(view: TensorView, options: Options, limits: Limits) -> Picture:
    """A view with dimensions, of a dense span that just holds it, as a matrix."""
    if not (view.has_dimensions and all(view.dimension)):
        raise DrawingError(
            "a view without dimensions of its own is nothing by itself; draw LayoutTile(layout, rows, columns, view)"
        )
    reach = 1 + sum((size - 1) * stride for size, stride in zip(view.dimension, view.stride, strict=True))
    sizes = [view.dimension[position] for position in view.order]
    rows, columns = options.rows or math.prod(sizes[:-1]), options.columns or sizes[-1]
    if reach > U32:
        raise DrawingError(f"the view reaches over {reach} elements, a layout holds at most 2^32-1; make it smaller")
    layout = TensorLayout(view.dim).set_dimension(*(1,) * (view.dim - 1), reach)
    pitch = min((step for step in view.stride if step > 1), default=None)
    choices = replace(options, memory_columns=options.memory_columns or pitch)
    picture = layout_tile_picture(LayoutTile(layout, rows, columns, view), choices, limits)
    return Picture("Tensor view", view_facts(view), picture.groups, picture.counts)


def layout_tile_picture(tile: LayoutTile, options: Options, limits: Limits) -> Picture:
    """A matrix through a layout: the tile, the tensor where the tile leaves it or has blocks, and the memory."""
    layout = tile.layout
    part = _part(tile, options)
    access = moved(layout.access(part[0], part[1], tile.view, options.store), tile.element_offset)
    drawn = TilePicture.of(access, options.window, limits, (tile.rows, tile.columns))
    asked = options.panels or _panels(layout, access)
    groups: list[tuple[Panel, ...]] = []
    for name in chosen(asked, ("tile", "tensor", "memory")):
        if name == "tensor":
            groups += [(panel,) for panel in planes(_space(layout, drawn, tile.view), limits)]
        else:
            groups.append((tile_panel(drawn) if name == "tile" else _memory(tile, drawn, options, limits),))
    facts = [*layout_facts(layout, options.store), *(view_facts(tile.view) if tile.view else ())]
    if tile.element_offset:
        facts.append(f"base: element {tile.element_offset}")
    counted = "" if part == (tile.rows, tile.columns) else f"counts: the first {times(part)} elements of the matrix"
    doing = "store to" if options.store else "load from"
    title = f"{times((tile.rows, tile.columns))} matrix, {doing} a tensor layout, {layout.clamp_mode} clamp mode"
    return Picture(title, (*facts, *([counted] if counted else ())), tuple(groups), counts_of(access))


def _part(tile: LayoutTile, options: Options) -> tuple[int, int]:
    """The rows and columns of a matrix that are worked out: its first rows, of very long rows the first elements.

    Illegal sizes are left for the access to refuse.
    """
    is_legal = all(isinstance(size, int | np.integer) and size > 0 for size in (tile.rows, tile.columns))
    if not is_legal or tile.rows * tile.columns <= MOST_ELEMENTS:
        return tile.rows, tile.columns
    (row, rows), (column, columns) = options.window or ((0, 1), (0, 1))
    down = min(tile.rows, max(row + rows, PART // tile.columns, 1))
    return down, tile.columns if down > 1 else min(tile.columns, max(PART, column + columns))


def layout_facts(layout: TensorLayout, store: bool) -> tuple[str, ...]:
    """The numbers of a layout in words."""
    first = [f"dimension {times(layout.dimension)}", f"stride {_list(layout.stride)}"]
    if any(size != 1 for size in layout.block_size):
        first.insert(0, f"block size {times(layout.block_size)}")
    first.append(f"offset {_list(layout.offset)}, span {times(layout.span)}")
    if layout.clamp_mode == "constant" and not store:
        first.append(f"fill {layout.clamp_value:#x}")
    return (", ".join(first),)


def view_facts(view: TensorView) -> tuple[str, ...]:
    """The numbers of a view in words."""
    words = []
    if view.has_dimensions:
        words.append(f"dimension {times(view.dimension)}, stride {_list(view.stride)}")
    if view.order != tuple(range(view.dim)):
        words.append(f"permutation {_list(view.order)}")
    if view.clip != TensorView(view.dim).clip:
        row, rows, column, columns = view.clip
        words.append(f"clip {_span(rows)} rows from {row}, {_span(columns)} columns from {column}")
    return (f"view: {', '.join(words) or 'as the span'}",)


def _span(number: int) -> str:
    return "all" if number == 2**32 - 1 else str(number)


def _list(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers) if len(numbers) == 1 else str(numbers)


def _panels(layout: TensorLayout, access: Access) -> tuple[str, ...]:
    leaves = any(
        start < 0 or start + span > size
        for start, span, size in zip(layout.offset, layout.span, layout.dimension, strict=True)
    )
    blocked = any(size != 1 for size in layout.block_size)
    return ("tile", "tensor", "memory") if leaves or blocked else ("tile", "memory")


def _space(layout: TensorLayout, tile: TilePicture, view: TensorView | None) -> Space:
    """The places of the tile's elements in the tensor, before clamping; skipped elements have none.

    In a layout whose span is one block, accessed the same way, the places in the block are the coordinates.
    """
    one_block = TensorLayout(layout.dim).set_block_size(*layout.span).set_dimension(*layout.span)
    rows, columns = tile.code.shape
    within = one_block.access(rows, columns, view).within
    assert within is not None, "the access of a layout has places"
    place = within.reshape(-1, layout.dim).astype(np.int64)
    there = place[:, 0] >= 0
    number = np.flatnonzero(there)
    drawn = tile.drawn(np.arange(len(place)))
    return Space(
        place[number] + np.array(layout.offset),
        tile.number[number],
        tile.code.reshape(-1)[number],
        np.searchsorted(number, drawn[there[drawn]]),
        layout.dimension,
        tuple(f"dimension {position}" for position in range(layout.dim)),
        layout.block_size,
    )


def _memory(tile: LayoutTile, drawn: TilePicture, options: Options, limits: Limits) -> Panel:
    layout = tile.layout
    blocks = tuple(-(-size // block) for size, block in zip(layout.dimension, layout.block_size, strict=True))
    extent = 1 + sum((count - 1) * step for count, step in zip(blocks, layout.stride, strict=True))
    pitch = next((step for step in reversed(layout.stride) if step > 1), 1)
    width = options.memory_columns or (pitch if pitch > 1 else min(limits.columns, extent))
    unit = "block" if any(size != 1 for size in layout.block_size) else "element"
    return memory_panel(drawn, width, extent + tile.element_offset, limits, unit)
