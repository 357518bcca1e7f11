"""Tensor maps for `convert`: tiles as one tensor copy, and tensor copies as layouts, or every reason why not.

A copy brings a box: its dimension 0 is contiguous, the others are steps of whole 16 bytes, and what lies outside is
filled. So a tile is a box of the tensor that its layout describes, or a box of the loops that its elements run through,
or not a box.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from girih.addressing.access import Kind
from girih.addressing.convert.tiles import NO_EQUIVALENT, LinearTile, Reason, modes_of, other_kinds, own_modes
from girih.addressing.errors import AddressingError, Violation
from girih.addressing.layout_tile import LayoutTile
from girih.addressing.strided import Strided
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES, ROUNDED_TO_TF32, ElementType
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.parameters import ceil_div
from girih.addressing.tensor_map.shared_image import OOB_NAN
from girih.addressing.tensor_map.tile import MapTile
from girih.addressing.tensor_view import TensorView

MOST = 256
"""The largest extent of a box in one dimension (documentation of the CUDA driver)."""
ALIGNMENT_BITS = 128
"""A map, a box and a row start at multiples of 16 bytes (004 5.5.3.1)."""
BIT_COPIES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
"""The type that copies components of a number of bytes."""
NAN_COPIES = {2: "f16", 4: "f32", 8: "f64"}
"""The type that copies components of a number of bytes, and fills with NaN."""


@dataclass(frozen=True)
class MapAxis:
    """One dimension: `size` and `stride` in elements, and the part that is copied, `box` positions from `start` on."""

    size: int
    stride: int
    start: int
    box: int

    @property
    def is_inside(self) -> bool:
        """Whether the box lies in the tensor along this dimension."""
        return self.start >= 0 and self.start + self.box <= self.size


def fill_of_nan(bits: int) -> int:
    """The bit pattern with which a map that fills with NaN fills elements of `bits` bits."""
    return int.from_bytes(bytes(OOB_NAN) * (bits // 16), "little")


# From any model to a tensor map.


def map_tiles(tile: LinearTile) -> Iterator[MapTile]:
    """The candidates, best first: the copy itself, the tensor of a layout, the axes of the tile, its loops.

    Raises `Reason` with every reason after the last of them.
    """
    model, dtype = tile.model, _dtype(tile)
    if isinstance(model, MapTile) and model.tensor_map.dtype == dtype:
        yield model
        return
    refused: list[Reason] = []
    if isinstance(model, LayoutTile):
        try:
            yield _of_layout(tile, model, dtype)
        except Reason as reason:
            refused.append(reason)
    try:
        yield from _of_loops(tile, dtype)
    except Reason as reason:
        refused.append(reason)
    if refused:
        raise refused[0]


def _dtype(tile: LinearTile) -> str:
    """The element type that was asked for, or else one that copies the bits of the components."""
    if tile.dtype is not None:
        return tile.dtype
    size = tile.component_size or 1
    filled = bool(tile.access.is_kind(Kind.FILLED).any())
    is_nan = filled and size in NAN_COPIES and _fill(tile, 8 * size) == fill_of_nan(8 * size)
    return (NAN_COPIES if is_nan else BIT_COPIES)[size]


def _fill(tile: LinearTile, bits: int) -> int:
    return tile.access.fill & ((1 << bits) - 1)


def _of_layout(tile: LinearTile, model: LayoutTile, dtype: str) -> MapTile:
    """The box of the tensor that equals the span of a layout (000, 001), with its fills. Raises `Reason`."""
    layout, element = model.layout, ELEMENT_TYPES[dtype]
    reasons: list[str | Violation] = [*_kind_reasons(tile, element, layout.clamp_mode), *_view_reasons(tile, model)]
    if any(size != 1 for size in layout.block_size):
        reasons.append(f"block size {layout.block_size}: neighbours share a block; a tensor map has no blocks")
    order = _order(model)
    if order[-1] != layout.dim - 1 and layout.stride[order[-1]] != 1 and layout.span[order[-1]] > 1:
        reasons.append(f"the view's permutation {order} puts dimension {order[-1]} innermost")
    spans = [layout.span[number] for number in order]
    boxes = _box_of_matrix(spans, tile.rows * tile.columns)
    if boxes is None:
        count = f"{tile.rows} x {tile.columns} = {tile.rows * tile.columns} elements"
        reasons.append(f"the matrix has {count}, of the span {layout.span} that is no box")
        boxes = tuple(spans)
    axes = [
        MapAxis(layout.dimension[number], layout.stride[number], layout.offset[number], box)
        for number, box in zip(order, boxes, strict=True)
    ]
    return _map_of(tile, element, axes[::-1], model.element_offset, reasons)


def _order(model: LayoutTile) -> tuple[int, ...]:
    """The order in which a matrix runs through the dimensions of a layout, outermost first."""
    view = model.view
    return tuple(range(model.layout.dim)) if view is None or view.has_dimensions else view.order


def _kind_reasons(tile: LinearTile, element: ElementType, clamp_mode: str) -> Iterator[str]:
    """The reasons why a tensor map cannot bring elements of these kinds."""
    kinds = other_kinds(tile.access)
    if Kind.CLAMPED.word in kinds:
        yield (
            f"clamp mode {clamp_mode} reads {kinds[Kind.CLAMPED.word]} elements outside from other places; "
            "a tensor map only fills"
        )
    fill = _fill(tile, element.bits)
    fills = (0, fill_of_nan(element.bits)) if element.is_float else (0,)
    if Kind.FILLED.word in kinds and fill not in fills:
        yield (
            f"{kinds[Kind.FILLED.word]} elements are filled with {fill:#x}; a tensor map fills {element.name} with "
            + " or ".join(f"{pattern:#x}" for pattern in fills)
        )
    if Kind.SKIPPED.word in kinds:
        yield f"the clip skips {kinds[Kind.SKIPPED.word]} elements; a tensor copy writes its whole box"


def _view_reasons(tile: LinearTile, model: LayoutTile) -> Iterator[str]:
    """The reason against a view whose dimensions do not just reshape the span: every element is compared."""
    view = model.view
    if view is None or not view.has_dimensions or tile.access.is_kind(Kind.SKIPPED).any():
        return
    plain = LayoutTile(model.layout, tile.rows, tile.columns, None, model.element_offset).access()
    moved = int((plain.element != tile.access.element).sum())
    if moved:
        yield (
            f"the view (dimensions {view.dimension}, strides {view.stride}, permutation {view.order}) reads {moved} "
            "elements from elsewhere than the span in its own order, in which a tensor copy runs through its box"
        )


def _box_of_matrix(span: Sequence[int], count: int) -> tuple[int, ...] | None:
    """The sizes of the part of a span that its first `count` elements fill; None where that is not a box."""
    boxes = []
    for size in reversed(span):
        box = size if count % size == 0 else count
        if box > size:
            return None
        boxes.append(box)
        count //= box
    return tuple(reversed(boxes)) if count == 1 else None


def _of_loops(tile: LinearTile, dtype: str) -> Iterator[MapTile]:
    """The box of the axes of the tile, and that of its shortest nest of loops. Raises the shorter `Reason` of both."""
    if other_kinds(tile.access):
        raise Reason(*_kind_reasons(tile, ELEMENT_TYPES[dtype], "undefined"), *_outside_words(tile))
    nest = modes_of(tile.element)
    reasons: list[Reason] = []
    for modes in (own_modes(tile), nest):
        try:
            axes = [MapAxis(mode.size, mode.stride, 0, mode.size) for mode in reversed(modes)] or [MapAxis(1, 1, 0, 1)]
            if all(mode.stride >= 0 for mode in modes):
                yield _map_of(tile, ELEMENT_TYPES[dtype], axes, tile.base, [])
        except Reason as reason:
            reasons.append(reason)
    if reasons:
        raise min(reversed(reasons), key=lambda reason: len(reason.reasons))


def _outside_words(tile: LinearTile) -> Iterator[str]:
    words = " and ".join(f"{count} {word}" for word, count in other_kinds(tile.access).items())
    yield f"the tile has {words} elements, and no layout that says where its tensor ends"


def _map_of(
    tile: LinearTile, element: ElementType, axes: Sequence[MapAxis], base: int, reasons: list[str | Violation]
) -> MapTile:
    """The copy of this box, axes innermost first, `base` elements into the buffer. Raises one `Reason` with all."""
    if axes[0].stride != 1 and axes[0].box > 1:
        reasons.append(_inner_reason(tile, axes[0].stride))
    axes, base = _fitted(axes, base, element.bits)
    for axis in axes[1:]:
        if axis.stride * element.bits % 8:
            reasons.append(f"a step of {axis.stride} elements of {element.name} is no whole byte")
    address = tile.global_address * 8 + base * element.bits
    if address % ALIGNMENT_BITS:
        where = f"element {base} = byte {base * element.bits / 8:g} of the buffer"
        if tile.global_address:
            where += f", address {address / 8:g}"
        reasons.append(f"the tensor starts at {where}, no multiple of 16 bytes")
    try:
        given = TensorMap.tiled(
            dtype=element.name,
            global_dim=[axis.size for axis in axes],
            global_strides=[axis.stride * element.bits // 8 for axis in axes[1:]],
            box_dim=[axis.box for axis in axes],
            oob_fill="nan" if _fills_with_nan(tile, element) else "zero",
            global_address=address // ALIGNMENT_BITS * ALIGNMENT_BITS // 8,
            architecture=tile.architecture,
        )
        if not reasons:
            made = MapTile(given, tuple(axis.start for axis in axes), None, base)
            made.access()
            return made
    except AddressingError as error:
        reasons.extend(error.violations)
    raise Reason(*reasons)


def _inner_reason(tile: LinearTile, stride: int) -> str:
    """The reason why no box starts with this step. Raises it alone for a memref with its modes in the other order."""
    words = f"neighbours in the last axis of the tile are {stride} elements apart, in a box they are contiguous"
    model = tile.model
    if isinstance(model, Strided) and len(model.shape) > 1 and model.steps[0] == 1:
        fix = f"convert the memref with its modes reversed, Strided({model.shape[::-1]}, {model.steps[::-1]}"
        fix += f", {model.offset})" if model.offset else ")"
        raise Reason(NO_EQUIVALENT.violation(words, fix))
    return words


def _fills_with_nan(tile: LinearTile, element: ElementType) -> bool:
    filled = bool(tile.access.is_kind(Kind.FILLED).any())
    return filled and element.is_float and _fill(tile, element.bits) == fill_of_nan(element.bits)


def _steady(axes: Sequence[MapAxis], base: int, bits: int) -> tuple[list[MapAxis], int]:
    """The axes and the base of the box, with whole 16 bytes for steps that are never taken.

    Those are the steps of one position inside, and of a size of 1.
    """
    steady = [axes[0]]
    for axis in axes[1:]:
        if axis.stride * bits % ALIGNMENT_BITS and axis.box == 1 and axis.is_inside:
            base, axis = base + axis.start * axis.stride, MapAxis(1, 0, 0, 1)
        elif axis.size == 1:
            axis = MapAxis(1, 0, axis.start, axis.box)
        steady.append(axis)
    return steady, base


def _fitted(axes: Sequence[MapAxis], base: int, bits: int) -> tuple[list[MapAxis], int]:
    """The axes and the base of the box, with aligned starts and extents of at most 256 where dimensions are free."""
    axes, base = _steady(axes, base, bits)
    fitted: list[MapAxis] = []
    for number, axis in enumerate(axes):
        is_off = number == 0 and (axis.start * bits % ALIGNMENT_BITS or base * bits % ALIGNMENT_BITS)
        if axis.is_inside and (axis.box > MOST or is_off):
            base += axis.start * axis.stride
            axis = MapAxis(axis.size - axis.start, axis.stride, 0, axis.box)
        unit = math.lcm(bits, ALIGNMENT_BITS) // bits if number == 0 else 1
        while axis.is_inside and axis.box > MOST:
            part = max((size for size in range(1, MOST + 1) if axis.box % size == 0 and size % unit == 0), default=1)
            if part == 1:
                break
            fitted.append(MapAxis(part, axis.stride, 0, part))
            axis, unit = MapAxis(axis.box // part, axis.stride * part, 0, axis.box // part), 1
        fitted.append(axis)
    return fitted, base


# From a tensor map to the other models.


def map_obstacles(tile: LinearTile, to: str) -> list[str]:
    """The reasons why a tensor copy has no equivalent of the kind `to`, whatever its elements are."""
    if not isinstance(tile.model, MapTile):
        return []
    given, reasons = tile.model.tensor_map, []
    if given.mode == "im2col":
        reasons.append(
            "im2col mode: the pixels of a column follow the pixel box from edge to edge and from image to image; "
            "where they wrap depends on where the column starts"
        )
    if given.swizzle != "none":
        reasons.append(
            f"swizzle {given.swizzle} exchanges chunks of {given.swizzling.mode.chunk} bytes in shared memory; "
            "only a tensor map does"
        )
    if given.element.bits < 8:
        reasons.append(f"elements of {given.dtype} have {given.element.bits} bits; components have 1, 2, 4 or 8 bytes")
    if given.dtype in ROUNDED_TO_TF32:
        reasons.append(f"a load of {given.dtype} rounds its values; the other models copy them")
    filled = other_kinds(tile.access).get(Kind.FILLED.word, 0)
    if filled and to != "tensor_layout":
        reasons.append(f"{filled} elements lie outside the tensor and are filled; only a tensor layout can say that")
    elif filled and given.oob_fill == "nan" and given.element.bits > 32:
        reasons.append(f"{filled} elements are filled with a NaN of {given.element.bits} bits; clamp values have 32")
    return reasons


def layout_tiles(tile: LinearTile) -> Iterator[LayoutTile]:
    """The layout of the tensor that a map describes, its slice the box; nothing for other models.

    Dimensions are ordered by their strides, as a layout asks, and a view restores the order of the copy. With a
    traversal stride a dimension counts the positions that are visited. Raises `Reason` where a layout cannot say it.
    """
    if not isinstance(tile.model, MapTile):
        return
    axes, base = _visited(tile.model)
    if len(axes) > 5:
        dropped = [axis for axis in axes[1:] if axis.box == 1 and axis.is_inside]
        axes = [axes[0], *(axis for axis in axes[1:] if axis not in dropped)]
        base += sum(axis.start * axis.stride for axis in dropped)
    if len(axes) > 5:
        raise Reason(f"with slices it has {len(axes)} dimensions; layouts have at most 5")
    outer = axes[::-1]
    order = sorted(range(len(outer)), key=lambda number: -outer[number].stride)
    permutation = tuple(order.index(number) for number in range(len(outer)))
    yield _layout_of(tile, [outer[number] for number in order], base, permutation)


def _layout_of(tile: LinearTile, axes: Sequence[MapAxis], base: int, permutation: tuple[int, ...]) -> LayoutTile:
    """The layout of these dimensions, outermost first, read in the order of the copy."""
    strides = [1]
    for inner, axis in pairwise(reversed(axes)):
        least = strides[0] * inner.size
        strides.insert(0, max(axis.stride, least) if axis.size == 1 else axis.stride)
    try:
        layout = TensorLayout(len(axes), "constant").set_dimension(*(axis.size for axis in axes))
        if layout.stride != tuple(strides):
            layout = layout.set_stride(*strides)
        layout = layout.slice(*((axis.start, axis.box) for axis in axes))
    except AddressingError as error:
        raise Reason(*error.violations) from None
    if tile.access.fill and tile.access.is_kind(Kind.FILLED).any():
        layout = layout.set_clamp_value(tile.access.fill)
    view = None if permutation == tuple(range(len(axes))) else TensorView(len(axes), False, permutation)
    return LayoutTile(layout, tile.rows, tile.columns, view, base)


def _visited(model: MapTile) -> tuple[list[MapAxis], int]:
    """The dimensions of a tiled map as the copy visits them, innermost first, and where they start."""
    given, base = model.tensor_map, model.element_offset
    bits, slices = given.element.bits, given.slice_bytes
    inner = MapAxis(given.global_dim[0], 1, model.coordinates[0], given.counts[0])
    if slices:
        inner = MapAxis(slices * 8 // bits, 1, 0, slices * 8 // bits)
    axes = [inner]
    for dimension in range(0 if slices else 1, given.rank):
        step, start = given.element_strides[dimension], model.coordinates[dimension]
        stride = given.strides[dimension] * 8 // bits
        number, rest = divmod(start, step)
        size = ceil_div(given.global_dim[dimension] - rest, step)
        if size < 1:
            number, rest, size = 1, 0, 1
        base += rest * stride
        axes.append(MapAxis(size, stride * step, number, given.counts[dimension]))
    return axes, base
