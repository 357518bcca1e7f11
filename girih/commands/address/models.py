"""The answers of `girih address` about a model: broken rules, numbers, the memory its tile touches, its picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeVar

from girih.addressing import (
    Access,
    AddressingError,
    BlockedInterleaved,
    LayoutTile,
    MapTile,
    Strided,
    Swizzle,
    TensorLayout,
    TensorMap,
    TensorView,
    Violation,
    convert,
    plan_convolution,
)
from girih.addressing.errors import RuleReport, plural
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES
from girih.addressing.tensor_map.operands import COORDINATE_COUNT, GATHER_MODE, check_reduction
from girih.addressing.tensor_map.parameters import SLICE_BYTES, ceil_div
from girih.addressing.tensor_rules import VIEW_COUNT
from girih.lazy_dataclass import dataclass

MOST_ELEMENTS = 1 << 20
"""Elements of the largest tile whose elements are worked out."""
MOST_TAPS = 64
"""Taps of a filter whose offsets are listed."""

T = TypeVar("T")
Values = Mapping[str, Any]


@dataclass(slots=True)
class Answer:
    """The answer about one model.

    - `violations`: the rules that it breaks, errors first, then lints.
    - `numbers`: by name, as plain values; `access`: what its tile touches, if it is legal and not too large.
    - `model`: the model with its tile, for conversions; `drawn` and `options`: what `girih.draw` is given.
    - `code`: what writes the model and its copy in a language, for tensor maps.
    """

    title: str
    violations: list[Violation] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    access: Access | None = None
    model: object = None
    drawn: object = None
    options: dict[str, Any] = field(default_factory=dict)
    code: Callable[[str], str] | None = None

    @property
    def is_legal(self) -> bool:
        """Whether no rule is broken."""
        return all(violation.severity == "lint" for violation in self.violations)

    def attempt(self, make: Callable[[], T]) -> T | None:
        """The result of `make`; None if it raises, and then its violations are added."""
        try:
            return make()
        except AddressingError as error:
            self.violations += error.violations
            return None

    def take(self, shape: Sequence[int], access: Callable[[], Access]) -> None:
        """Compute the access of a tile, unless the tile is too large for that."""
        self.numbers["tile"] = list(shape)
        if math.prod(shape) > MOST_ELEMENTS:
            self.notes.append(f"the tile has {math.prod(shape)} elements; those of more than 2^20 are not worked out")
            return
        self.access = self.attempt(access)
        if self.access is None:
            return
        here = set(self.access.element[self.access.element >= 0].tolist())
        if here:
            self.numbers["memory_elements"] = len(here)
            self.numbers["first_to_last_element"] = [min(here), max(here)]

    def lint(self, lints: Callable[[], Sequence[Violation]]) -> None:
        """Add the lints of a model that breaks no rule."""
        if self.is_legal:
            self.violations += self.attempt(lints) or ()


# --- tensor layouts ------------------------------------------------------------------------------

_SETTERS = ("block_size", "dimension", "stride", "slice", "clamp_value")


def tensor_layout(values: Values) -> Answer:
    """The answer about a tensor layout with its slice, perhaps a view, as a matrix (000, 001)."""
    answer = Answer("tensor layout")
    mode, dim = values.get("clamp_mode", "undefined"), len(values["dimension"])
    layout = answer.attempt(lambda: TensorLayout(dim, mode))
    if layout is None and 1 <= dim <= 5:
        layout = TensorLayout(dim)
    if layout is None:
        return answer
    for name in _SETTERS:
        if name in values:
            given = values[name] if name != "clamp_value" else (values[name],)
            setter = getattr(layout, "slice" if name == "slice" else f"set_{name}")
            layout = answer.attempt(partial(setter, *given)) or layout
    view = _view(answer, values, layout)
    span, store = layout.span, bool(values.get("store"))
    rows, columns = values.get("rows", math.prod(span[:-1]) or 1), values.get("columns", span[-1] or 1)
    tile = answer.attempt(lambda: LayoutTile(layout, rows, columns, view, values.get("element_offset", 0)))
    if tile is None or not answer.is_legal:
        return answer
    answer.numbers |= {"stride": list(layout.stride), "offset": list(layout.offset), "span": list(layout.span)}
    answer.take((rows, columns), lambda: layout.access(rows, columns, view, store, quirks=values.get("quirks")))
    is_small = rows * columns <= MOST_ELEMENTS
    answer.lint(lambda: layout.lints(rows, columns, view, store) if is_small else layout.lints())
    answer.model, answer.drawn, answer.options = tile, tile, {"store": True} if store else {}
    if "quirks" in values:
        answer.drawn, answer.options = answer.access, {}
    return answer


def _view(answer: Answer, values: Values, layout: TensorLayout) -> TensorView | None:
    """The view that the parameters describe; None without one, or if it is illegal."""
    dimension, order = values.get("view_dimension"), values.get("permutation")
    if not any(name in values for name in ("view_dimension", "view_stride", "permutation", "clip")):
        return None
    dim = len(dimension) if dimension is not None else len(order) if order is not None else layout.dim
    view = answer.attempt(lambda: TensorView(dim, dimension is not None, order))
    if view is None:
        return None
    clip = tuple(number for pair in values.get("clip", ()) for number in pair)
    if clip and len(clip) != 4:
        report = RuleReport("TensorView.set_clip")
        report.add(VIEW_COUNT, f"clip has {plural(len(clip) // 2, 'pair')}", "give ROW:ROWS,COLUMN:COLUMNS")
        answer.attempt(report.done)
        clip = ()
    for name, operands in (("dimension", dimension), ("stride", values.get("view_stride")), ("clip", clip)):
        if operands:
            setter = getattr(view, f"set_{name}")
            view = answer.attempt(partial(setter, *operands)) or view
    return view


# --- tensor maps -----------------------------------------------------------------------------------

_IM2COL = ("lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column")
_COPY = ("coordinates", "offsets", "shared_address", "store", "reduce", "gather4", "scatter4")


def tensor_map(values: Values) -> Answer:
    """The answer about a tensor map, and one copy through it (004)."""
    is_im2col = any(name in values for name in _IM2COL)
    answer = Answer(f"tensor map, {'im2col' if is_im2col else 'tiled'} mode")
    plain = {name: value for name, value in values.items() if name not in (*_COPY, *_IM2COL, "box_dim")}
    if "global_strides" not in plain:
        plain["global_strides"] = _dense(plain)
        if plain["global_strides"]:
            answer.notes.append(f"global_strides are taken to be dense: {_list(plain['global_strides'])}")
    if is_im2col:
        if "box_dim" in values:
            answer.notes.append("box_dim says nothing in im2col mode")
        corners: Any = {name: values.get(name, () if "corner" in name else 0) for name in _IM2COL}
        given = answer.attempt(lambda: TensorMap.im2col(**plain, **corners))
    else:
        given = answer.attempt(lambda: TensorMap.tiled(**plain, box_dim=values.get("box_dim", ())))
    if given is not None and _one_instruction(answer, values):
        (_four_rows if "gather4" in values or "scatter4" in values else _copy)(answer, given, values)
        answer.code = partial(given.code, copy=_copy_name(values))
    return answer


def _copy_name(values: Values) -> str:
    """The copy that the parameters describe, as `TensorMap.code` calls it."""
    if "reduce" in values:
        return f"reduce.{values['reduce']}"
    return next(
        (name for name in ("gather4", "scatter4") if name in values), "store" if values.get("store") else "load"
    )


def _one_instruction(answer: Answer, values: Values) -> bool:
    """Whether the parameters describe a single instruction; if not, a broken rule is added."""
    named = [name for name in ("reduce", "gather4", "scatter4") if name in values]
    if named and named != ["reduce"]:
        named += [name for name in ("offsets", "store") if name in values and [name, *named] != ["store", "scatter4"]]
    if len(named) < 2:
        return True
    message = f"{' and '.join(named)} are parameters of different instructions"
    answer.violations.append(GATHER_MODE.violation(message, "give one of them"))
    return False


@dataclass(frozen=True, slots=True)
class _Taken:
    """The elements of an access that is not a tile of a model, for conversions."""

    found: Access

    def access(self) -> Access:
        """The access that was computed."""
        return self.found


def _four_rows(answer: Answer, given: TensorMap, values: Values) -> None:
    """Add the numbers of a map, and of a gather or scatter of four rows."""
    store = "scatter4" in values
    chosen = values["scatter4" if store else "gather4"]
    start, address = values.get("coordinates", (0,)), values.get("shared_address", 0)
    answer.numbers |= {"column": list(start), "rows": list(chosen), **_sizes(given, 4)}
    if len(start) != 1:
        message = f"coordinates has {plural(len(start), 'number')}"
        answer.violations.append(COORDINATE_COUNT.violation(message, "give the column; the rows are those of gather4"))
        return
    answer.take((4, given.inner_elements), lambda: given.gather4_access(start[0], chosen, store))
    answer.lint(lambda: given.lints((start[0], chosen[0]), None, address, store))
    if answer.is_legal:
        answer.numbers["bank_conflicts"] = bank_conflicts(given, address, 4)
        answer.drawn, answer.model = answer.access, _Taken(answer.access) if answer.access else None
        answer.options = {"memory_columns": max(given.global_strides[0] * 8 // given.element.bits, 1)}


def _sizes(given: TensorMap, rows: int) -> dict[str, object]:
    """The sizes in bytes of a number of rows of a map."""
    sizes: dict[str, object] = {
        "row_bytes": given.row_bytes,
        "row_pitch": given.row_pitch,
        "image_bytes": given.image_bytes if rows == given.rows else rows * given.row_pitch,
        "transaction_bytes": given.transaction_bytes * rows // given.rows,
    }
    if given.swizzle != "none":
        sizes["swizzle_repeats_after"] = given.swizzling.repeat
    return sizes


def _dense(values: Values) -> tuple[int, ...]:
    """The strides of a dense tensor in bytes; empty if the type is unknown."""
    sizes, element = values["global_dim"], ELEMENT_TYPES.get(values["dtype"])
    slices = SLICE_BYTES.get(values.get("interleave", "none"), 0)
    if element is None or len(sizes) < 2:
        return ()
    strides = [slices * sizes[0] if slices else ceil_div(sizes[0] * element.bits, 8)]
    for size in sizes[1:-1]:
        strides.append(strides[-1] * size)
    return tuple(strides)


def _copy(answer: Answer, given: TensorMap, values: Values) -> None:
    """Add the numbers of a map, and of one copy through it."""
    usual = MapTile.at_origin(given)
    coordinates, offsets = values.get("coordinates", usual.coordinates), values.get("offsets")
    address, store = values.get("shared_address", 0), bool(values.get("store")) or "reduce" in values
    answer.numbers |= {"coordinates": list(coordinates), "rows": given.rows, **_sizes(given, given.rows)}
    if "reduce" in values:
        answer.numbers["reduction"] = values["reduce"]
        report = RuleReport("TensorMap.reduce")
        check_reduction(given, values["reduce"], report)
        answer.attempt(report.done)
    shape = (given.rows, given.slice_bytes * 8 // given.element.bits if given.slice_bytes else given.inner_elements)
    answer.take(shape, lambda: given.access(coordinates, offsets, store))
    if answer.access is not None:
        answer.numbers["tile"] = list(answer.access.shape)
    answer.lint(lambda: given.lints(coordinates, offsets, address, store))
    if not answer.is_legal:
        return
    answer.numbers["bank_conflicts"] = bank_conflicts(given, address)
    answer.model = MapTile(given, coordinates, offsets)
    answer.drawn = given
    answer.options = {"coordinates": coordinates, "shared_address": address, "store": store}
    answer.options |= {"offsets": offsets} if offsets is not None else {}


def bank_conflicts(given: TensorMap, shared_address: int, count: int | None = None) -> list[dict[str, object]]:
    """Reads of a column and of a row of the box in shared memory: the passes over the banks, and the fewest possible.

    The column is the one with the most passes.
    """
    import numpy as np

    pitch, row_bytes = given.row_pitch, given.row_bytes
    reads = []
    for size, lanes in ((16, 8), (4, 32)):
        rows = min(given.rows if count is None else count, lanes)
        if rows < 2 or pitch % size or (size == 4 and rows <= 8):
            continue
        columns = np.arange(0, row_bytes - row_bytes % size, size)[:, None] + pitch * np.arange(rows)
        reads.append((f"{size} bytes of each of {rows} rows", columns, size))
    across = np.arange(0, min(row_bytes, 128), 16)[None, :]
    reads.append((f"{across.size} x 16 bytes of one row", across, 16))
    return [
        {
            "read": words,
            "passes": _passes(given.swizzling, lanes + shared_address, size),
            "ideal": given.swizzling.conflicts(lanes + shared_address, size).ideal,
            "passes_without_swizzle": _passes(Swizzle(), lanes + shared_address, size),
        }
        for words, lanes, size in reads
    ]


def _passes(swizzle: Swizzle, lanes: Any, size: int) -> int:
    return int(swizzle.conflicts(lanes, size).transactions.max())


# --- the others --------------------------------------------------------------------------------------


def blocked_interleaved(values: Values) -> Answer:
    """The answer about a blocked-interleaved matrix (002)."""
    answer = Answer("blocked-interleaved matrix")
    given = answer.attempt(lambda: BlockedInterleaved(**values))
    if given is None:
        return answer
    answer.numbers |= {
        "bytes": given.byte_size,
        "block": [4, given.block_columns],
        "blocks": [given.rows // 4, given.columns // given.block_columns],
        "blocks_in_a_group": given.stride,
    }
    if given.unit_bytes != given.component_size:
        answer.notes.append("a component of 8 bytes lies in two words of 4 bytes; elements count words")
    answer.take((given.rows, given.columns), given.access)
    answer.lint(given.lints)
    answer.model = answer.drawn = given
    return answer


def strided(values: Values) -> Answer:
    """The answer about a memref (003)."""
    answer = Answer("strided memref")
    given = answer.attempt(lambda: Strided(values["shape"], values.get("strides"), values.get("offset", 0)))
    if given is None:
        return answer
    answer.numbers |= {"strides": list(given.steps), "elements": math.prod(given.shape)}
    answer.take(given.shape, given.access)
    answer.lint(given.lints)
    answer.model = answer.drawn = given
    return answer


def convolution(values: Values) -> Answer:
    """The answer about a convolution as im2col copies, and about one of them (004 5.5.4)."""
    answer = Answer("convolution as im2col copies")
    shown = ("first_pixel", "channel", "tap")
    plan = answer.attempt(lambda: plan_convolution(**{k: v for k, v in values.items() if k not in shown}))
    if plan is None:
        return answer
    given, taps = plan.tensor_map, math.prod(plan.filter)
    columns = ceil_div(plan.pixels, given.pixels_per_column)
    answer.numbers |= {
        "output": list(plan.output),
        "output_pixels": plan.pixels,
        "copies": columns * ceil_div(given.global_dim[0], given.channels_per_pixel) * taps,
        "tensor_map": describe(given)[1],
        "taps": taps,
    }
    if taps <= MOST_TAPS:
        answer.numbers["offsets"] = [list(plan.offsets(tap)) for tap in plan.taps]
    tap = values.get("tap", (0,) * len(plan.filter))
    coordinates = answer.attempt(lambda: plan.coordinates(values.get("first_pixel", 0), values.get("channel", 0)))
    offsets = answer.attempt(lambda: plan.offsets(tap))
    if coordinates is not None and offsets is not None:
        _copy(answer, given, {"coordinates": coordinates, "offsets": offsets})
        answer.numbers["offsets_of_the_copy"] = list(offsets)
    return answer


MODELS: dict[str, Callable[[Values], Answer]] = {
    "tensor-layout": tensor_layout,
    "tensor-map": tensor_map,
    "blocked-interleaved": blocked_interleaved,
    "strided": strided,
    "convolution": convolution,
}
"""What each subcommand finds out."""


# --- conversion ----------------------------------------------------------------------------------------


def converted(answer: Answer, to: str, values: Values) -> tuple[object, tuple[Violation, ...]]:
    """The equivalent model of another kind; None, and every reason, if there is none."""
    wanted: dict[str, Any] = {"component_size": values.get("component_size"), "dtype": values.get("dtype")}
    if isinstance(answer.model, MapTile):
        wanted["dtype"] = None
    try:
        return convert(answer.model, to.replace("-", "_"), **wanted), ()
    except AddressingError as error:
        return None, error.violations


def describe(model: object) -> tuple[str, dict[str, object]]:
    """The kind of a model, and its parameters as `girih address` takes them, without those at their defaults."""
    match model:
        case LayoutTile():
            return "tensor-layout", _described_layout(model)
        case MapTile():
            given = describe(model.tensor_map)[1] | {"coordinates": list(model.coordinates)}
            return "tensor-map", given | ({"offsets": list(model.offsets)} if model.offsets is not None else {})
        case TensorMap():
            usual = {"mode": model.mode, "interleave": "none", "swizzle": "none", "oob_fill": "zero",
                     "global_address": 0, "architecture": "sm_90a"}  # fmt: skip
            fields = {name: getattr(model, name) for name in TensorMap.__dataclass_fields__}
            kept = {k: _plain(v) for k, v in fields.items() if v not in ((), 0) and usual.get(k) != v}
            return "tensor-map", kept | {"global_strides": list(model.global_strides)}
        case BlockedInterleaved():
            names = ("order", "rows", "columns", "component_size", "stride", "revision")
            return "blocked-interleaved", {name: getattr(model, name) for name in names}
        case Strided():
            return "strided", {"shape": list(model.shape), "strides": list(model.steps), "offset": model.offset}
    return type(model).__name__, {}


def _described_layout(tile: LayoutTile) -> dict[str, object]:
    layout, view = tile.layout, tile.view
    parameters: dict[str, object] = {
        "dimension": list(layout.dimension),
        "stride": list(layout.stride),
        "slice": [list(pair) for pair in zip(layout.offset, layout.span, strict=True)],
        "clamp_mode": layout.clamp_mode,
        "element_offset": tile.element_offset,
        "rows": tile.rows,
        "columns": tile.columns,
    }
    if any(size != 1 for size in layout.block_size):
        parameters["block_size"] = list(layout.block_size)
    if layout.clamp_value:
        parameters["clamp_value"] = layout.clamp_value
    if view is not None:
        parameters["permutation"] = list(view.order)
        if view.has_dimensions:
            parameters |= {"view_dimension": list(view.dimension), "view_stride": list(view.stride)}
        if view.clip != TensorView(view.dim).clip:
            parameters["clip"] = [list(view.clip[:2]), list(view.clip[2:])]
    return parameters


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _list(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
