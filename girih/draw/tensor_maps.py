"""Pictures of tensor maps (004): the box, or the pixels of a column, in the tensor and around it, and shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing import Access, ConvolutionPlan, Kind, MapTile, TensorMap
from girih.addressing.errors import RuleReport
from girih.addressing.tensor_map.copies import inner_bytes, shared_bytes
from girih.addressing.tensor_map.im2col import corners, walk
from girih.addressing.tensor_map.operands import check_shared_address
from girih.draw.options import Limits, Options
from girih.draw.picture import ACCESS_LOOKS, DISCARDED, FILLED, IN_BOUNDS, Look, Panel, Picture, counts_of, times
from girih.draw.shared import COPIED, IMAGE_LOOKS, LANE_BYTES, PARTLY, UNWRITTEN, Reads, image_panel, number_range
from girih.draw.shared import FILLED as FILLED_BYTES
from girih.draw.space import Space, planes
from girih.draw.tile import TilePicture, chosen, memory_panel, moved, tile_panel
from girih.lazy_dataclass import dataclass

LOAD_LOOKS = (ACCESS_LOOKS[IN_BOUNDS], IMAGE_LOOKS[PARTLY], ACCESS_LOOKS[FILLED], IMAGE_LOOKS[UNWRITTEN])
_PARTLY_STORED = Look("partly discarded", "#96d9c0", "P", "....")
STORE_LOOKS = (ACCESS_LOOKS[IN_BOUNDS], _PARTLY_STORED, ACCESS_LOOKS[DISCARDED], Look("not read", "#e3e7eb", mark="."))
"""The looks of chunks of shared memory that a map loads or stores."""

_IMAGE_NAMES = {2: ("N", "W"), 3: ("N", "H", "W"), 4: ("N", "D", "H", "W")}


def tensor_map_picture(given: TensorMap, options: Options, limits: Limits) -> Picture:
    """The copy that the options ask for, the first box of the tensor by itself."""
    start = MapTile.at_origin(given).coordinates if options.coordinates is None else options.coordinates
    return map_tile_picture(MapTile(given, start, options.offsets), options, limits)


def plan_picture(plan: ConvolutionPlan, options: Options, limits: Limits) -> Picture:
    """The first copy of a convolution: the first pixels, channels and tap."""
    first = next(plan.copies())
    return map_tile_picture(MapTile(plan.tensor_map, first.coordinates, first.offsets), options, limits)


def map_tile_picture(box: MapTile, options: Options, limits: Limits) -> Picture:
    """One copy, with the places of its elements in the tensor and in shared memory."""
    given = box.tensor_map
    copy = _Copy.of(box, options)
    tile = TilePicture.of(copy.access, options.window, limits)
    makers: dict[str, Callable[[], tuple[Panel, ...]]] = {
        "tile": lambda: (tile_panel(tile),),
        "tensor": lambda: planes(copy.space(tile, options.window is not None), limits),
        "memory": lambda: (copy.memory(options, limits),),
        "shared": lambda: (copy.shared(limits),),
    }
    names = chosen(options.panels or ("tensor", "shared"), tuple(makers))
    groups = tuple((panel,) for name in names for panel in makers[name]())
    return Picture(copy.title, (*_facts(given), *copy.facts), groups, counts_of(copy.access))


@dataclass(frozen=True, eq=False)
class _Copy:
    """One copy through a map that begins at element `base`; `coordinates` are innermost first."""

    given: TensorMap
    coordinates: tuple[int, ...]
    offsets: tuple[int, ...] | None
    address: int
    store: bool
    access: Access
    base: int

    @classmethod
    def of(cls, box: MapTile, options: Options) -> _Copy:
        """The copy of a box. Raises `AddressingError` for illegal operands."""
        given = box.tensor_map
        store = options.store or given.element.direction == "store"
        access = _with_whole_elements(given).access(box.coordinates, box.offsets, store)
        report = RuleReport("TensorMap")
        check_shared_address(given, given.rows, options.shared_address, report)
        report.done()
        return cls(given, box.coordinates, box.offsets, options.shared_address, store, access, box.element_offset)

    @property
    def title(self) -> str:
        given, doing = self.given, "store" if self.store else "load"
        if given.mode == "im2col":
            what = f"{given.pixels_per_column} pixels of {given.channels_per_pixel} channels"
        else:
            what = f"box {times(given.box_dim)}"
        return f"Tensor map, {given.mode} {doing}: {what} of {given.dtype} at {self.coordinates}"

    @property
    def facts(self) -> tuple[str, ...]:
        """The operands of the copy in words, and what reading its tile costs."""
        shifted = f"offsets {self.offsets}, " if self.offsets is not None else ""
        size = "" if self.store else f", {self.given.transaction_bytes} transaction bytes"
        base = f", base: element {self.base}" if self.base else ""
        return (f"{shifted}shared address {self.address}{size}{base}", *self._reads())

    def _reads(self) -> tuple[str, ...]:
        given = self.given
        if given.row_pitch % LANE_BYTES or given.row_bytes % LANE_BYTES:
            return ()
        reads = Reads.of(self.address, given.rows, given.row_pitch, given.row_bytes)
        return reads.words(given.swizzling)

    @property
    def row_elements(self) -> int:
        """The elements of a row: of dimension 0, of a pixel, or of a slice."""
        return self.access.shape[-1]

    @property
    def row_pitch(self) -> int:
        """The elements from row to row of the tensor in global memory."""
        given = self.given
        size = given.global_strides[0] * 8 // given.element.bits if given.global_strides else given.global_dim[0]
        return max(size, 1)

    @property
    def counts_rows(self) -> bool:
        """Whether pixels or slices are numbered rather than elements."""
        return self.given.mode == "im2col" or self.given.slice_bytes > 0

    def space(self, tile: TilePicture, has_window: bool) -> Space:
        """The places of the elements, pixels or slices in the tensor."""
        given = self.given
        kind = self.access.kind.reshape(-1, self.row_elements)
        if given.mode == "im2col":
            place, size, names, box = _pixels(given, self.coordinates, self.offsets)
        else:
            place, size, names, box = _box(given, self.coordinates), given.global_dim[::-1], _names(given), None
        if self.counts_rows:
            code = kind.min(axis=1)
            drawn = tile.rows if has_window else np.arange(len(code))
        else:
            code, drawn = kind.reshape(-1), tile.drawn(tile.number)
        return Space(place, np.arange(len(place)), code, drawn, size, names, box=box)

    def memory(self, options: Options, limits: Limits) -> Panel:
        """The panel of global memory. Raises `AddressingError` where rows do not start at whole elements."""
        access = self.given.access(self.coordinates, self.offsets, self.store)
        tile = TilePicture.of(moved(access, self.base), options.window, limits)
        return memory_panel(tile, options.memory_columns or self.row_pitch, 0, limits)

    def shared(self, limits: Limits) -> Panel:
        """The panel of shared memory, with the elements that each chunk of 16 bytes holds."""
        given, width = self.given, self.row_elements
        inner = inner_bytes(given, self.coordinates[0])
        place = shared_bytes(given, given.rows, inner, self.address)
        bits = 8 if given.dtype == "b6p2x16" else given.element.bits
        element = np.arange(len(inner.in_shared), dtype=np.int64) * 8 // bits
        kind = self.access.kind.reshape(-1, width)[:, element]
        size = max(given.rows * given.row_pitch, int(place.max()) + 1)
        number, state = np.full(size, -1, np.int64), np.full(size, UNWRITTEN, np.uint8)
        number[place] = np.arange(given.rows)[:, None] * width + element
        state[place] = np.where(kind == Kind.IN_BOUNDS, COPIED, FILLED_BYTES)

        def label(numbers: NDArray[np.int64]) -> str:
            row, inside = int(numbers[0]) // width, numbers % width
            if not self.counts_rows:
                return number_range(numbers)
            return str(row) if len(np.unique(inside)) == width else f"{row}: {number_range(inside)}"

        looks = STORE_LOOKS if self.store else LOAD_LOOKS
        what = "pixel: channels" if given.mode == "im2col" else "slice: elements" if given.slice_bytes else "elements"
        return image_panel(f"shared memory ({what})", self.address, number, state, label, limits, looks)


def _with_whole_elements(given: TensorMap) -> TensorMap:
    """The map with rows that start at whole elements, so that there is an access; the classes of elements stay."""
    if given.element.bits != 6:
        return given
    return replace(given, global_strides=(96,) * len(given.global_strides))


def _box(given: TensorMap, start: tuple[int, ...]) -> NDArray[np.int64]:
    """The coordinates of every element (or slice) of a box, outermost dimension first."""
    counts, steps = list(given.counts), list(given.element_strides)
    if not given.slice_bytes:
        steps[0] = 1
    lines = [at + np.arange(count) * step for at, count, step in zip(start, counts, steps, strict=True)]
    grid: Any = np.meshgrid(*lines[::-1], indexing="ij")
    return np.stack([coordinates.reshape(-1) for coordinates in grid], -1).astype(np.int64)


def _pixels(
    given: TensorMap, start: tuple[int, ...], offsets: tuple[int, ...] | None
) -> tuple[NDArray[np.int64], tuple[int, ...], tuple[str, ...], tuple[str, tuple[int, int], tuple[int, int]]]:
    """The coordinates N, D, H, W of a column's pixels, the sizes and names of these dimensions, and the pixel box."""
    spatial = given.spatial
    bounds = corners(given.global_dim[spatial], given.lower_corner, given.upper_corner)
    steps = given.element_strides
    cursor = walk(given.pixels_per_column, start[spatial], bounds, steps[spatial], start[-1], steps[-1])
    cursor[:, :-1] += np.array(offsets if offsets is not None else (0,) * len(bounds), np.int64)
    size = (*given.global_dim[spatial], given.global_dim[-1])[::-1]
    down = bounds[1] if len(bounds) > 1 else (0, given.global_dim[-1] - 1)
    return cursor[:, ::-1], size, _IMAGE_NAMES[len(size)], ("pixel box", down, bounds[0])


def _names(given: TensorMap) -> tuple[str, ...]:
    if given.slice_bytes:
        return ("N", "slice", *_IMAGE_NAMES[given.rank - 1][1:])
    return tuple(f"dimension {position}" for position in reversed(range(given.rank)))


def _facts(given: TensorMap) -> tuple[str, ...]:
    """The parameters of a map in words, innermost first."""
    words = [f"{given.dtype}", f"global_dim {given.global_dim}", f"global_strides {given.global_strides}"]
    if given.mode == "im2col":
        words.append(f"corners {given.lower_corner} to {given.upper_corner}")
    if any(step != 1 for step in given.element_strides):
        words.append(f"element_strides {given.element_strides}")
    for name in ("interleave", "swizzle"):
        if getattr(given, name) != "none":
            words.append(f"{name} {getattr(given, name)}")
    return (", ".join([*words, f"oob_fill {given.oob_fill}"]),)
