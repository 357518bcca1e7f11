"""Conversion of one address model to an equivalent one, proved element by element, or every reason why there is none.

Every model is read as the sequence of memory elements that its tile runs through, row by row. If that sequence is a
nest of loops with fixed steps (`LoopMode`), other models may have it too. The candidate of a target is compared with
the source before it is returned. A target is a row of `TARGETS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, signature
from itertools import pairwise
from typing import Literal, TypeGuard

from girih.addressing.access import Kind
from girih.addressing.blocked_interleaved import BlockedInterleaved
from girih.addressing.convert.tiles import (
    LinearTile,
    LoopMode,
    Model,
    Reason,
    all_in_bounds,
    modes_of,
    other_kinds,
    own_modes,
)
from girih.addressing.errors import U32, AddressingError, RuleReport, one_of, rule, what_it_is
from girih.addressing.layout_tile import LayoutTile
from girih.addressing.strided import Strided
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_view import TensorView

NO_MODEL = rule("convert.model", "a model has a tile: it answers `access()`", "girih")
NO_TARGET = rule("convert.target", "the target is the name of a model", "girih")
NO_SIZE = rule("convert.component_size", "a component has 1, 2, 4 or 8 bytes", "002 3.X Cooperative Matrix Layout")
NO_TYPE = rule("convert.dtype", "a tensor map says how many bits an element has", "004 5.5.1")
NO_ADDRESS = rule("convert.global_address", "the address of a buffer has 64 bits", "004 5.5.3.1")

SIZES = (4, 2, 1, 8)
"""The component sizes there are, the likely ones first."""
_SIZES_FIX = "use 1, 2, 4 or 8"


def convert(
    model: object,
    to: str,
    *,
    component_size: int | None = None,
    dtype: str | None = None,
    global_address: int = 0,
    architecture: str = "sm_90a",
) -> Model:
    """The model of kind `to` whose tile runs through the same memory elements in the same order.

    `model` is a `Strided`, a `BlockedInterleaved`, a `LayoutTile`, a `MapTile`, anything else with `access()`, or a
    `TensorLayout`, whose span is the tile, or a `TensorMap`, whose first box is. `to` is a name in `TARGETS`:

    - "strided" gives a `Strided` of the tile's shape or, where the strides ask for it, of more modes;
    - "tensor_layout" a `LayoutTile`; "blocked_interleaved" a `BlockedInterleaved`;
    - "tensor_map" a `MapTile`, a tiled map without swizzle and the coordinates of the box. It needs the element type:
      `dtype`, or else a type that copies components of `component_size` bytes. `global_address` is the address of the
      buffer that elements are counted from, in bytes; `architecture` as for `TensorMap.tiled`. The box is what a load
      brings: where a layout leaves elements outside undefined, the map fills them with zeros. A store of the box may
      also write the padding of rows (`MapTile.lints`).

    `component_size` in bytes narrows the choice of other targets that depend on it. The answer is proved by comparing
    every element. No tile of an im2col map has an equivalent: the next one would wrap elsewhere.

    Raises `AddressingError` where there is none: with rule `convert.equivalent`, or the rules of the target that the
    tile breaks, every reason that is known.
    """
    report = RuleReport(f"convert to {to}")
    report.word("to", to, TARGETS, NO_TARGET)
    if (
        component_size is not None
        and report.integer("component_size", component_size, 1, 8, NO_SIZE, _SIZES_FIX) not in SIZES
    ):
        report.add(NO_SIZE, f"no component has component_size = {component_size} bytes", _SIZES_FIX)
    address = report.integer("global_address", global_address, 0, 2**64 - 1, NO_ADDRESS)
    source = _bound(model)
    if source is None:
        report.add(NO_MODEL, f"the model is {what_it_is(model)}, which has no tile", _MODELS_FIX)
    report.done()
    assert source is not None
    size = _component_size(source, component_size, dtype, to, report)
    report.done()
    try:
        tile = _tile_of(source, size, dtype, address, architecture)
        _check_map(tile, to)
        for candidate in TARGETS[to](tile):
            if _is_equivalent(candidate, tile):
                return candidate
        raise Reason(f"no {to} model runs through these {tile.element.size} elements in this order")
    except Reason as reason:
        raise AddressingError(report.what, [*report.violations, *reason.violations]) from None


_MODELS_FIX = "pass a Strided, TensorLayout, LayoutTile, BlockedInterleaved, TensorMap or MapTile"
_PLAIN = (Strided, BlockedInterleaved, LayoutTile)


def _bound(model: object) -> Model | None:
    """The model with its tile; None where it has none. The module of tensor maps is loaded only for what may be one."""
    if isinstance(model, _PLAIN):
        return model
    if isinstance(model, TensorLayout):
        return LayoutTile.of_span(model)
    from girih.addressing.tensor_map.model import TensorMap
    from girih.addressing.tensor_map.tile import MapTile

    if isinstance(model, TensorMap):
        return MapTile.at_origin(model)
    return model if _has_tile(model) else None


def _has_tile(model: object) -> TypeGuard[Model]:
    """Whether `model.access()` can be called without operands."""
    access = getattr(model, "access", None)
    if not callable(access):
        return False
    return all(
        one.default is not Parameter.empty or one.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        for one in signature(access).parameters.values()
    )


def _component_size(model: Model, given: int | None, dtype: str | None, to: str, report: RuleReport) -> int | None:
    """The bytes of a component, where the model or the caller says them; None also for elements smaller than a byte.

    Notes an unknown type, two different sizes, and none at all where a tensor map needs one.
    """
    own = _own_type(model)
    said = {"dtype": _bits_of(dtype, report), "component_size": given and 8 * given}
    said |= {f"the {type(model).__name__}": _bits_of(own, report) if isinstance(own, str) else own and 8 * own}
    known = {name: bits for name, bits in said.items() if bits}
    if to == "tensor_map" and not known and dtype is None:
        report.add(NO_TYPE, "neither dtype nor component_size is given", 'pass dtype="f16", say, or component_size=2')
    if len(set(known.values())) > 1:
        words = ", ".join(f"{name} says {bits} bits" for name, bits in known.items())
        report.add(NO_TYPE, words, "give the one size that the elements have")
    return next((bits // 8 for bits in known.values() if bits >= 8), None)


def _own_type(model: Model) -> str | int | None:
    """The element type of a tensor copy, or the component size of a blocked matrix; None for other models."""
    if isinstance(model, BlockedInterleaved):
        return model.component_size
    dtype = getattr(getattr(model, "tensor_map", None), "dtype", None)
    return dtype if isinstance(dtype, str) else None


def _bits_of(dtype: str | None, report: RuleReport) -> int | None:
    if dtype is None:
        return None
    from girih.addressing.tensor_map.element_type import ELEMENT_TYPES

    if not isinstance(dtype, str) or dtype not in ELEMENT_TYPES:
        report.add(NO_TYPE, f"dtype = {dtype!r} is unknown", f"use {one_of(ELEMENT_TYPES)}")
        return None
    return ELEMENT_TYPES[dtype].bits


def _tile_of(
    model: Model,
    component_size: int | None = None,
    dtype: str | None = None,
    global_address: int = 0,
    architecture: str = "sm_90a",
) -> LinearTile:
    if isinstance(model, BlockedInterleaved) and model.unit_bytes != model.component_size:
        raise Reason("components of 8 bytes are torn into two words by the interleaving")
    own = _own_type(model)
    chosen = own if dtype is None and isinstance(own, str) else dtype
    return LinearTile(model, model.access(), component_size, chosen, global_address, architecture)


def _check_map(tile: LinearTile, to: str) -> None:
    """Raise `Reason` for a tensor copy that has no equivalent of the kind `to`."""
    if to == "tensor_map" or tile.dtype is None:
        return
    from girih.addressing.convert.tensor_maps import map_obstacles

    obstacles = map_obstacles(tile, to)
    if obstacles:
        raise Reason(*obstacles)


def _is_equivalent(model: Model, tile: LinearTile) -> bool:
    """Whether model and tile have the same memory elements in the same order, the same kinds and the same fill.

    Elements that the source leaves undefined may be anything.
    """
    try:
        came, wanted = _tile_of(model).access, tile.access
    except Reason:
        return False
    if came.element.size != wanted.element.size:
        return False
    free = (wanted.kind == Kind.UNDEFINED).reshape(-1)
    pairs = (came.element, wanted.element), (came.kind, wanted.kind)
    same = all(bool(((one.reshape(-1) == other.reshape(-1)) | free).all()) for one, other in pairs)
    bits = 8 * tile.component_size if tile.component_size else 64
    filled = bool((wanted.kind == Kind.FILLED).any())
    return same and not (filled and (came.fill ^ wanted.fill) & ((1 << bits) - 1))


def _strided(tile: LinearTile) -> Iterator[Strided]:
    """The memref with the tile's own shape where that has fixed strides, then the one with the loops of the nest."""
    all_in_bounds(tile)
    own = own_modes(tile)
    if all(mode.stride >= 0 for mode in own):
        yield Strided(tile.shape, tuple(mode.stride for mode in own), tile.base)
    modes = modes_of(tile.element)
    yield Strided(tuple(mode.size for mode in modes), tuple(mode.stride for mode in modes), tile.base)


def _tensor_layout(tile: LinearTile) -> Iterator[LayoutTile]:
    """The layout that a tensor map reads; else dimensions in order of their strides, permuted by a view; else one
    dimension that a view with strides walks.
    """
    try:
        yield from _layouts_of_map(tile)
    except Reason:
        if other_kinds(tile.access):
            raise
    all_in_bounds(tile)
    own, modes = own_modes(tile), modes_of(tile.element) or (LoopMode(1, 1),)
    last = int(tile.element.max()) - tile.base
    if len(modes) > 5:
        raise Reason(f"it is a nest of {len(modes)} loops; layouts and views have at most 5 dimensions")
    if max(last + tile.base % 16, tile.rows, tile.columns) >= U32:
        raise Reason(f"it spans {last} elements; indices of a layout have 32 bits")
    if tile.base % 16 == 0:
        yield from (_sorted_layout(tile, nest) for nest in (own, modes) if _is_layout(nest))
    rest = tile.base % 16
    layout = TensorLayout(1).set_dimension(rest + last + 1).slice((rest, last + 1))
    view = TensorView(len(modes), True).set_dimension(*(mode.size for mode in modes))
    view = view.set_stride(*(mode.stride for mode in modes))
    yield LayoutTile(layout, tile.rows, tile.columns, view, tile.base - rest)


def _by_stride(modes: Sequence[LoopMode]) -> list[int]:
    return sorted(range(len(modes)), key=lambda number: -modes[number].stride)


def _is_layout(modes: Sequence[LoopMode]) -> bool:
    """Whether there are 1 to 5 modes, each stride at least the next times its size (000 OpTensorLayoutSetStrideNV)."""
    if not 1 <= len(modes) <= 5 or any(mode.size == 1 for mode in modes):
        return len(modes) == 1
    inward = [modes[number] for number in _by_stride(modes)]
    return all(outer.stride >= inner.stride * inner.size for outer, inner in pairwise(inward))


def _sorted_layout(tile: LinearTile, modes: Sequence[LoopMode]) -> LayoutTile:
    order = _by_stride(modes)
    layout = TensorLayout(len(modes)).set_dimension(*(modes[number].size for number in order))
    layout = layout.set_stride(*(modes[number].stride for number in order))
    dense = TensorLayout(len(modes)).set_dimension(*layout.dimension)
    permutation = tuple(order.index(number) for number in range(len(modes)))
    view = None if permutation == tuple(range(len(modes))) else TensorView(len(modes), False, permutation)
    same = dense.stride == layout.stride
    return LayoutTile(dense if same else layout, tile.rows, tile.columns, view, tile.base)


def _blocked_interleaved(tile: LinearTile) -> Iterator[BlockedInterleaved]:
    """Every legal blocked layout of a matrix that the tile may be: both orders, every stride, every component size."""
    all_in_bounds(tile)
    if tile.base or tile.element.max() + 1 != tile.element.size:
        raise Reason("a blocked layout is dense from the start of the buffer")
    shapes = [(math.prod(tile.shape[:axis]), math.prod(tile.shape[axis:])) for axis in range(1, len(tile.shape))]
    matrices = [(rows, columns) for rows, columns in shapes if rows % 4 == 0 and columns % 2 == 0]
    if not matrices:
        raise Reason(
            f"a tile of {tile.rows} x {tile.columns} is not made of blocks, which have 4 rows and 2 to 16 columns"
        )
    for rows, columns in reversed(matrices):
        for size in SIZES if tile.component_size is None else (tile.component_size,):
            yield from _blocked_matrices(rows, columns, size)


def _blocked_matrices(rows: int, columns: int, size: int) -> Iterator[BlockedInterleaved]:
    """Every legal blocked layout of a matrix with components of `size` bytes."""
    orders: tuple[tuple[Literal["row", "column"], int], ...] = (("row", columns * size // 16), ("column", rows // 4))
    for order, count in orders:
        for stride in range(1, count + 1):
            if columns * size % 16 == 0 and count % stride == 0:
                yield BlockedInterleaved(order, rows, columns, size, stride)


def _layouts_of_map(tile: LinearTile) -> Iterator[LayoutTile]:
    """The layouts of the tensor and box of a tensor copy; none for other models."""
    if tile.dtype is None:
        return
    from girih.addressing.convert.tensor_maps import layout_tiles

    yield from layout_tiles(tile)


def _tensor_map(tile: LinearTile) -> Iterator[Model]:
    """The tensor copies of a tile. Their module is imported here, when tensor maps are first used."""
    from girih.addressing.convert.tensor_maps import map_tiles

    yield from map_tiles(tile)


TARGETS: dict[str, Callable[[LinearTile], Iterator[Model]]] = {
    "strided": _strided,
    "tensor_layout": _tensor_layout,
    "blocked_interleaved": _blocked_interleaved,
    "tensor_map": _tensor_map,
}
"""The targets by the name that `to` takes; a function gives candidates for a tile, best first, or raises `Reason`."""
