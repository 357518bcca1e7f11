"""Tiles in shared memory and the maps that fill them, for places in arguments that a box of a tensor map can be."""

from __future__ import annotations

from girih.ir.types import I32, CoopMatrix, MemRef, Number, Use
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad
from girih.source import Span
from girih.tile.factors import FactorLoad
from girih.tile.form import BoxPiece, MapRecipe, SharedTile
from girih.tile.known import Terms
from girih.tile.places import BlocksPlace, PlaceDimension, PlaceInArgument
from girih.tile.program import NoTileProgram

MOST_IN_BOX = 256
"""The elements that a box has along a dimension at most (CUDA driver API, cuTensorMapEncodeTiled)."""
_WORDS_OF_PIECE = 4
"""The lines of a box are multiples of 16 bytes."""
_SWIZZLES = (128, 64, 32)
_MOST_DIMENSIONS = 5
_MOST_STEP = 8
"""How far apart the elements of a box are along a dimension at most (CUDA driver API, cuTensorMapEncodeTiled)."""


@dataclass(frozen=True, slots=True)
class BoxedTile:
    """A tile in shared memory with the map of its memory: one box for each piece.

    `at` are the coordinates of the first piece as terms, innermost first; `across` is the number of the dimension that
    goes from line to line.
    """

    tile: SharedTile
    map: MapRecipe
    at: tuple[Terms, ...]
    pieces: tuple[BoxPiece, ...]
    lines_in_box: int


def along_rows(place: PlaceInArgument) -> bool:
    """Whether neighbours in memory are in one row of the matrix.

    Where no stride is known to be 1, they are taken to be where the program has its first mode; a launch sees to it.
    """
    if place.wound is not None:
        return place.wound.of_rows
    if place.columns.stride.literal == 1:
        return True
    if place.rows.stride.literal == 1:
        return False
    return _mode(place.columns) < _mode(place.rows)


def _mode(dimension: PlaceDimension) -> int:
    last = dimension.stride.operands[-1]
    return last if isinstance(last, int) else 0


def swizzle_of(span: int, component: Number) -> int:
    """The widest swizzle for lines of so many components; 0 where there is none."""
    return next((s for s in _SWIZZLES if span * component.size % s == 0), 0)


def boxed(name: str, place: PlaceInArgument, matrix: CoopMatrix, shape: tuple[int, int], span: Span) -> BoxedTile:
    """A tile of so many rows and columns of a matrix at its place. Raises `NoTileProgram` where no box has it."""
    by_rows = along_rows(place)
    lines, neighbours = shape if by_rows else shape[::-1]
    inner, outer = (place.columns, place.rows) if by_rows else (place.rows, place.columns)
    swizzle = swizzle_of(neighbours, matrix.component)
    if not swizzle or lines % 8:
        raise _uneven(matrix, shape, span)
    tile = SharedTile(name, matrix.component, lines, neighbours, by_rows, swizzle)
    wound = () if place.wound is None else place.wound.dimensions
    dimensions = (inner, outer, *wound, *place.others)
    if len(dimensions) > _MOST_DIMENSIONS:
        raise NoTileProgram(f"the tile is one of {len(dimensions)} dimensions, a map has {_MOST_DIMENSIONS}", span)
    if place.wound is not None:
        lines_in_box, extents = lines, place.wound.of_lines(lines)
        if not extents:
            raise NoTileProgram(f"{lines} lines are no box of {' x '.join(map(str, place.wound.extents))}", span)
    else:
        most = (MOST_IN_BOX - 1) // outer.step + 1
        fitting = (n for n in range(min(lines, most), 0, -1) if lines % n == 0 and n % 8 == 0)
        lines_in_box = next(fitting, lines)
        extents = (lines_in_box,)
    steps = tuple(d.step for d in dimensions)
    if inner.step != 1 or max(steps) > _MOST_STEP:
        raise NoTileProgram(f"elements of the tile are {max(steps)} apart along a dimension of the tensor", span)
    counts = (*extents, *(1 for _ in place.others))
    reach = tuple((count - 1) * step + 1 for count, step in zip(counts, steps[1:], strict=True))
    if max(reach) > MOST_IN_BOX:
        raise NoTileProgram(f"a box has {max(reach)} elements along a dimension, of {MOST_IN_BOX}", span)
    box = (tile.panel, *reach)
    map_ = MapRecipe(
        name, place.parameter, matrix.component, place.offset, tuple(d.size for d in dimensions),
        tuple(d.stride for d in dimensions), box, swizzle, steps=steps if max(steps) > 1 else (),
    )  # fmt: skip
    pieces = pieces_of(tile, lines_in_box, len(dimensions), outer.step)
    return BoxedTile(tile, map_, tuple(d.begin for d in dimensions), pieces, lines_in_box)


def boxed_blocks(name: str, place: BlocksPlace, tile: SharedTile, span: Span) -> BoxedTile:
    """The blocks of a tile, line by line and one behind the other as in memory. Raises `NoTileProgram`."""
    inner, outer, words = place.line, place.across, place.words
    if words % _WORDS_OF_PIECE or max(words, tile.lines) > MOST_IN_BOX:
        raise NoTileProgram(f"a box has no lines of {4 * words} bytes", span)
    blocks = SharedTile(name, I32, tile.lines, words, by_rows=True, swizzle=0)
    map_ = MapRecipe(
        name, place.parameter, I32, place.offset, (inner.size, outer.size), (inner.stride, outer.stride),
        (words, tile.lines), 0,
    )  # fmt: skip
    return BoxedTile(blocks, map_, (inner.begin, outer.begin), pieces_of(blocks, tile.lines, 2), tile.lines)


def lies_along_rows(load: FactorLoad, place: PlaceInArgument | None) -> bool | None:
    """Whether neighbours in memory are in one row of the matrix of a load; None where nothing tells.

    Where the place is not known before the launch, as that of a member of a group, the type may tell.
    """
    if place is not None:
        return along_rows(place)
    if not isinstance(load, CooperativeMatrixLoad) or not isinstance(load.memory.type, MemRef):
        return None
    strides = load.memory.type.strides
    return None if 1 not in strides else (strides.index(1) == 0) is bool(load.transpose)


def gathered(name: str, matrix: CoopMatrix, by_row: bool | None, span: Span, *, both: bool) -> SharedTile:
    """A tile that threads fill, as products take it, and with neighbours in memory side by side where they may be.

    That is where products take neighbours along `both` modes. `by_row` says whether these are in one row of the matrix,
    as far as that is known.

    Raises `NoTileProgram` for one that has no swizzled lines in either direction.
    """
    left = matrix.use is Use.A
    ways = [left]
    if both:
        ways = [not left, left] if by_row is not None and by_row is not left else [left, not left]
    for by_rows in ways:
        lines, neighbours = matrix.shape if by_rows else matrix.shape[::-1]
        swizzle = swizzle_of(neighbours, matrix.component)
        if swizzle and lines % 8 == 0:
            return SharedTile(name, matrix.component, lines, neighbours, by_rows, swizzle)
    raise _uneven(matrix, matrix.shape, span)


def _uneven(matrix: CoopMatrix, shape: tuple[int, int], span: Span) -> NoTileProgram:
    what = f"a tile of {shape[0]}x{shape[1]} {matrix.component} is no whole number of swizzled lines"
    return NoTileProgram(what, span, "neighbours should be a multiple of 32 bytes, and 8 in the other direction")


def pieces_of(tile: SharedTile, lines_in_box: int, rank: int, step: int = 1) -> tuple[BoxPiece, ...]:
    """The boxes that a tile consists of: panel by panel, in each from line to line, which are `step` apart."""
    rest = (0,) * (rank - 2)
    return tuple(
        BoxPiece(panel * tile.panel_bytes + line * tile.pitch, (panel * tile.panel, line * step, *rest))
        for panel in range(tile.span // tile.panel)
        for line in range(0, tile.lines, lines_in_box)
    )


def same_but_for_names(a: MapRecipe, b: MapRecipe) -> bool:
    """Whether one map serves in the place of two."""
    return _without_name(a) == _without_name(b)


def _without_name(one: MapRecipe) -> tuple[object, ...]:
    return (
        one.parameter,
        one.component,
        one.offset,
        one.sizes,
        one.strides,
        one.box,
        one.swizzle,
        one.stored,
        one.rounded,
        one.steps,
    )
