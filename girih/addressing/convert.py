"""From one address model to another that says the same, proved element by element, or the reason why there is none.

Every model is read as the sequence of memory elements that its tile runs through, row by row. If that sequence is a
nest of loops with fixed steps (`Mode`), other models may have it too. What a target makes of it is compared with the
source before it is returned. A target is a row of `TARGETS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import Access, Kind
from girih.addressing.blocked_interleaved import BlockedInterleaved
from girih.addressing.errors import U32, AddressingError, Report, rule
from girih.addressing.layout_tile import LayoutTile
from girih.addressing.strided import Strided
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_view import TensorView

NO_MODEL = rule("convert.model", "a model has a tile: it answers `access()`", "girih")
NO_TARGET = rule("convert.target", "the target is the name of a model", "girih")
NO_SIZE = rule("convert.component_size", "a component has 1, 2, 4 or 8 bytes", "002 3.X Cooperative Matrix Layout")
NO_EQUIVALENT = rule(
    "convert.equivalent", "the target can say what the model says", "001 8.X, 002 3.X, 003 Memref type"
)

SIZES = (4, 2, 1, 8)
"""The component sizes there are, the likely ones first."""


class Model(Protocol):
    """An address model together with its tile."""

    def access(self) -> Access:
        """What a load of the tile touches."""


@dataclass(frozen=True)
class Mode:
    """One loop of the nest: so many times, so many memory elements apart."""

    size: int
    stride: int


@dataclass(frozen=True)
class Tile:
    """What a model says, apart from how it says it; `model` itself is there for targets that know it."""

    model: Model
    access: Access
    component_size: int | None = None
    """Bytes of a component, where the caller knows them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile."""
        return self.access.shape

    @property
    def element(self) -> NDArray[np.int64]:
        """The memory element of each element on one axis, in the row-major order of the tile."""
        return self.access.element.reshape(-1)

    @property
    def rows(self) -> int:
        """The tile as a matrix: its rows."""
        return math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        """The tile as a matrix: its columns."""
        return self.shape[-1] if self.shape else 1

    @property
    def base(self) -> int:
        """The memory element of the first element."""
        return int(self.element[0])


class Reason(Exception):
    """Why a target has no equivalent; becomes a violation of `convert.equivalent`."""


def convert(model: Model | TensorLayout, to: str, *, component_size: int | None = None) -> Model:
    """The model of kind `to` whose tile runs through the same memory elements in the same order.

    `model` is a `Strided`, a `BlockedInterleaved`, a `LayoutTile`, anything else with `access()`, or a `TensorLayout`,
    whose span is the tile. `to` is a name in `TARGETS`: "strided" gives a `Strided` of the tile's shape or, where the
    strides ask for it, of more modes; "tensor_layout" a `LayoutTile`; "blocked_interleaved" a `BlockedInterleaved`.
    `component_size` in bytes narrows the choice of targets that depend on it. The answer is proved by comparing every
    element.

    Raises `AddressingError` with rule `convert.equivalent`, which says why, where there is none.
    """
    report = Report(f"convert to {to}")
    report.word("to", to, TARGETS, NO_TARGET)
    if component_size is not None and report.integer("component_size", component_size, 1, 8, NO_SIZE) not in SIZES:
        report.add(NO_SIZE, f"component_size = {component_size}", "use 1, 2, 4 or 8")
    source = LayoutTile.of_span(model) if isinstance(model, TensorLayout) else model
    if not _has_tile(source):
        report.add(NO_MODEL, f"a {type(model).__name__} has no tile by itself", "pass an object with access()")
    report.done()
    try:
        tile = _tile_of(source, component_size)
        for candidate in TARGETS[to](tile):
            if _is_equivalent(candidate, tile):
                return candidate
        raise Reason(f"no {to} model runs through these {tile.element.size} elements in this order")
    except Reason as reason:
        report.add(NO_EQUIVALENT, str(reason), "keep the model, or copy the data")
        raise AddressingError(report.what, report.violations) from None


def _has_tile(model: object) -> bool:
    """Whether `model.access()` can be called without operands."""
    access = getattr(model, "access", None)
    if not callable(access):
        return False
    return all(
        one.default is not Parameter.empty or one.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        for one in signature(access).parameters.values()
    )


def _tile_of(model: Model, component_size: int | None = None) -> Tile:
    if isinstance(model, BlockedInterleaved) and model.unit_bytes != model.component_size:
        raise Reason("components of 8 bytes are torn into two words by the interleaving")
    return Tile(model, model.access(), component_size)


def _is_equivalent(model: Model, tile: Tile) -> bool:
    """The proof: the same memory elements in the same order, the same kinds, the same fill."""
    try:
        came, wanted = _tile_of(model).access, tile.access
    except Reason:
        return False
    same = (came.element, wanted.element), (came.kind, wanted.kind)
    filled = bool((wanted.kind == Kind.FILLED).any())
    return all(np.array_equal(one.reshape(-1), other.reshape(-1)) for one, other in same) and not (
        filled and came.fill != wanted.fill
    )


def all_in_bounds(tile: Tile) -> None:
    """Raises `Reason` for a tile with elements that are not plainly in memory: most targets have no others."""
    others = {word: count for word, count in tile.access.counts().items() if word != Kind.IN_BOUNDS.word}
    if others:
        words = " and ".join(f"{count} {word}" for word, count in others.items())
        raise Reason(f"the tile has {words} elements, which belong to its layout alone")


def modes_of(element: NDArray[np.int64]) -> tuple[Mode, ...]:
    """The shortest nest of loops, outermost first, that gives this sequence less its first number.

    Raises `Reason` where there is none, or a step is negative.
    """
    modes: list[Mode] = []
    while element.size > 1:
        stride = int(element[1] - element[0])
        breaks = np.flatnonzero(np.diff(element) != stride)
        size = int(breaks[0]) + 1 if len(breaks) else element.size
        if stride < 0:
            raise Reason(f"it steps backwards, from memory element {element[0]} to {element[1]}")
        rows = element.reshape(-1, size) if element.size % size == 0 else None
        if rows is None or not np.array_equal(rows - rows[:, :1], np.broadcast_to(rows[0] - rows[0, 0], rows.shape)):
            raise Reason(f"its elements are no nest of loops with fixed steps: the first {size} are {stride} apart")
        modes.insert(0, Mode(size, stride))
        element = rows[:, 0]
    return tuple(modes)


def _strided(tile: Tile) -> Iterator[Strided]:
    """With the tile's own shape where it has fixed strides, with the loops of the nest otherwise."""
    all_in_bounds(tile)
    own = _own_modes(tile)
    if all(mode.stride >= 0 for mode in own):
        yield Strided(tile.shape, tuple(mode.stride for mode in own), tile.base)
    modes = modes_of(tile.element)
    yield Strided(tuple(mode.size for mode in modes), tuple(mode.stride for mode in modes), tile.base)


def _tensor_layout(tile: Tile) -> Iterator[LayoutTile]:
    """Dimensions in order of their strides, permuted by a view; or one dimension that a view with strides walks."""
    all_in_bounds(tile)
    own, modes = _own_modes(tile), modes_of(tile.element) or (Mode(1, 1),)
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


def _own_modes(tile: Tile) -> list[Mode]:
    """The axes of the tile with the steps that its first elements are apart, 0 along axes of one element."""
    grid = tile.element.reshape(tile.shape)
    firsts = [grid[(0,) * axis + (slice(2),) + (0,) * (grid.ndim - axis - 1)].tolist() for axis in range(grid.ndim)]
    return [Mode(size, first[-1] - first[0]) for size, first in zip(tile.shape, firsts, strict=True)]


def _by_stride(modes: Sequence[Mode]) -> list[int]:
    return sorted(range(len(modes)), key=lambda number: -modes[number].stride)


def _is_layout(modes: Sequence[Mode]) -> bool:
    """Whether there are 1 to 5, each stride at least the next one times its size (000 OpTensorLayoutSetStrideNV)."""
    if not 1 <= len(modes) <= 5 or any(mode.size == 1 for mode in modes):
        return len(modes) == 1
    inward = [modes[number] for number in _by_stride(modes)]
    return all(outer.stride >= inner.stride * inner.size for outer, inner in pairwise(inward))


def _sorted_layout(tile: Tile, modes: Sequence[Mode]) -> LayoutTile:
    order = _by_stride(modes)
    layout = TensorLayout(len(modes)).set_dimension(*(modes[number].size for number in order))
    layout = layout.set_stride(*(modes[number].stride for number in order))
    dense = TensorLayout(len(modes)).set_dimension(*layout.dimension)
    permutation = tuple(order.index(number) for number in range(len(modes)))
    view = None if permutation == tuple(range(len(modes))) else TensorView(len(modes), False, permutation)
    same = dense.stride == layout.stride
    return LayoutTile(dense if same else layout, tile.rows, tile.columns, view, tile.base)


def _blocked_interleaved(tile: Tile) -> Iterator[BlockedInterleaved]:
    """Every legal blocked layout of this shape: both orders, every stride, and every component size that may be."""
    all_in_bounds(tile)
    if tile.base or tile.element.max() + 1 != tile.element.size:
        raise Reason("a blocked layout is dense from the start of the buffer")
    if tile.rows % 4 or tile.columns % 2:
        raise Reason(
            f"a blocked layout has 4 rows and 2 to 16 columns per block, the tile {tile.rows} x {tile.columns}"
        )
    for size in SIZES if tile.component_size is None else (tile.component_size,):
        for order, count in (("row", tile.columns * size // 16), ("column", tile.rows // 4)):
            for stride in range(1, count + 1):
                if tile.columns * size % 16 == 0 and count % stride == 0:
                    yield BlockedInterleaved(
                        "row" if order == "row" else "column", tile.rows, tile.columns, size, stride
                    )


TARGETS: dict[str, Callable[[Tile], Iterator[Model]]] = {
    "strided": _strided,
    "tensor_layout": _tensor_layout,
    "blocked_interleaved": _blocked_interleaved,
}
"""What `to` may be: each gives candidates for a tile, best first, or raises `Reason`."""
