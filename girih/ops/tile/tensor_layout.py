"""Tensor layouts and views: where the elements of a matrix lie in a tensor of up to five dimensions (000, 001 4.1.X).

Both are values that instructions make from others. Numbers are of index type; each stands for a 32-bit number of the
specifications. One outside the 32-bit range is an error where it is known, and a finding if known only at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from girih.diagnostics import plural
from girih.ir.core import Op, Slice, Value
from girih.ir.define import Where, node, op, operand, operands, result, slices
from girih.ir.kinds import INDEXES, TENSOR_LAYOUT, TENSOR_VIEW, TypeKind
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import type_of
from girih.ir.types import I32, INDEX, ErrorType, TensorLayoutType, TensorViewType, Type
from girih.ops.tile.language import TILE
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined
from girih.rules.terms import Term
from girih.source import Span

MOST_DIMENSIONS = 5
U32 = 2**32 - 1
I32_RANGE = (-(2**31), 2**31 - 1)
NO_LAYOUT, NO_VIEW = "numbers that a tensor layout cannot have", "numbers that a tensor view cannot have"
"""The beginnings of what a run reports of numbers that are not allowed."""
NO_ZERO, WITH_ZERO = (1, U32), (0, U32)

CREATE = '000 "OpCreateTensorLayoutNV"'
BLOCK_SIZE = '000 "OpTensorLayoutSetBlockSizeNV"'
DIMENSION = '000 "OpTensorLayoutSetDimensionNV"'
STRIDE = '000 "OpTensorLayoutSetStrideNV"'
SLICE = '000 "OpTensorLayoutSliceNV"'
CLAMP_VALUE = '000 "OpTensorLayoutSetClampValueNV"'
VIEW_CREATE = '000 "OpCreateTensorViewNV"'
VIEW_DIMENSION = '000 "OpTensorViewSetDimensionNV"'
VIEW_STRIDE = '000 "OpTensorViewSetStrideNV"'
VIEW_CLIP = '000 "OpTensorViewSetClipNV"'


# --- terms and rows that they share ---------------------------------------------------------


def dim(name: str) -> Term:
    """The number of dimensions of the layout or view in field `name`."""

    def value(s: Subject) -> int:
        operand = getattr(s.op, name)
        if not isinstance(operand, Value) or not isinstance(operand.type, TensorLayoutType | TensorViewType):
            raise Undetermined
        if not 1 <= operand.type.dim <= MOST_DIMENSIONS:
            raise Undetermined
        return operand.type.dim

    return Term(f"dim({name})", value)


def known(s: Subject, number: Value | int | None) -> int | None:
    """The value of a literal, or of an operand that is a constant; None if it is known only at run time."""
    constant = s.facts.constants.get(number) if isinstance(number, Value) else number
    return constant if isinstance(constant, int) and not isinstance(constant, bool) else None


Range = tuple[int, int]


def _bound(number: int) -> str:
    """A bound as it is written in the documentation."""
    return {U32: "2^32 - 1", I32_RANGE[0]: "-2^31", I32_RANGE[1]: "2^31 - 1"}.get(number, str(number))


def _out_of_range(s: Subject, name: str, ranges: tuple[Range, Range]) -> Iterator[tuple[int, str]]:
    """The position and the words for each number of a list that is known and out of range.

    A slice has two ranges, for its offset and its span.
    """
    for position, entry in enumerate(getattr(s.op, name)):
        sliced = isinstance(entry, Slice)
        parts = (("offset", entry.offset), ("span", entry.size)) if sliced else (("number", entry),)
        for (word, part), (low, high) in zip(parts, ranges, strict=False):
            number = known(s, part)
            if number is not None and not low <= number <= high:
                yield position, f"{word} {position} is {number}, not in {_bound(low)} .. {_bound(high)}"


def _place(name: str, wrong: Callable[[Subject], list[int]]) -> Callable[[Subject], Span | None]:
    """The function that finds the place of the first guilty entry of a list; `wrong` gives the guilty positions."""

    def place(s: Subject) -> Span | None:
        spans = s.op.uses.get(name, ())
        positions = wrong(s)
        return spans[positions[0]] if positions and positions[0] < len(spans) else None

    return place


def _range_row(name: str, ranges: tuple[Range, Range], says: str, section: str) -> Row:
    def came(s: Subject) -> str:
        return ", ".join(words for _, words in _out_of_range(s, name, ranges))

    text = " and ".join(f"{_bound(low)} ≤ {what} ≤ {_bound(high)}" for what, (low, high) in _named(name, ranges))
    return Row("range", name, Holds(text, lambda s: not came(s), came), says, section,
               at=_place(name, lambda s: [position for position, _ in _out_of_range(s, name, ranges)]))  # fmt: skip


def _named(name: str, ranges: tuple[Range, Range]) -> Iterator[tuple[str, Range]]:
    """The words for what a list consists of, each with its range."""
    if name != "slices":
        yield f"each of {name}", ranges[0]
    else:
        yield from zip(("offset", "span"), ranges, strict=True)


def _count_row(target: str, name: str, entry: str, section: str) -> Row:
    def came(s: Subject) -> str:
        given, wanted = len(getattr(s.op, name)), dim(target).value(s)
        return f"{plural(given, entry)}, where the {target} has {plural(wanted, 'dimension')}"

    return Row("count", f"{name} {target}", Holds(f"number of {name} = dim({target})",
        lambda s: bool(len(getattr(s.op, name)) == dim(target).value(s)), came),
        f"there is one {entry} for each dimension", section)  # fmt: skip


def _list_rows(target: str, name: str, low_to_high: Range, section: str) -> tuple[Row, ...]:
    low, _ = low_to_high
    return (
        _count_row(target, name, "number", section),
        _range_row(name, (low_to_high, low_to_high), f"a number that is known is in {low} .. 2^32 - 1", section),
        _result_row(target, section),
    )  # fmt: skip


def _result_row(target: str, section: str) -> Row:
    return Row("result_type", f"result {target}", equal(type_of("result"), type_of(target)),
               f"the result has the type of the {target}", section)  # fmt: skip


def _wrong_slices(s: Subject) -> list[tuple[int, str]]:
    wrong: list[tuple[int, str]] = []
    for position, part in enumerate(s.op.slices):
        if part.size is None:
            wrong.append((position, f"slice {position} has no `:` and span"))
        for value in (part.offset, part.size):
            if isinstance(value, Value) and value.type != INDEX and not isinstance(value.type, ErrorType):
                wrong.append((position, f"%{value.name} has type {value.type}"))
    return wrong


def _slice_rows(section: str) -> tuple[Row, ...]:
    return (
        Row("slices", "slices", Holds("each slice is offset : span, of index type or literal",
            lambda s: not _wrong_slices(s), lambda s: ", ".join(words for _, words in _wrong_slices(s))),
            "a slice is offset : span, each of index type or a literal", section, "write `%offset:%span`",
            at=_place("slices", lambda s: [position for position, _ in _wrong_slices(s)])),
    )  # fmt: skip


# --- layouts --------------------------------------------------------------------------------


@op(TILE, "tensor_layout_create", Where.MIXED, CREATE, ": result")
class TensorLayoutCreate(Op):
    """A layout whose block sizes are 1, and whose dimensions, strides, offsets, spans and clamp value are 0."""

    result: Value = result(TENSOR_LAYOUT, "the layout")


@node
class SetOfLayout(Op):
    """The base of the instructions that replace one number for each dimension of a layout."""

    layout: Value = operand(TENSOR_LAYOUT, "the layout before")
    numbers: tuple[Value | int, ...] = operands(INDEXES, "one for each dimension, outermost first", literal=True)
    result: Value = result(TENSOR_LAYOUT, "the layout after")


@op(TILE, "tensor_layout_set_block_size", Where.MIXED, BLOCK_SIZE, "layout [ numbers ] : result")
class TensorLayoutSetBlockSize(SetOfLayout):
    """The layout of a tensor that is stored in blocks with these numbers of elements; strides then count blocks.

    Block sizes are set before the dimensions, whose implicit strides depend on them.
    """


TILE.rules(TensorLayoutSetBlockSize, *_list_rows("layout", "numbers", NO_ZERO, BLOCK_SIZE))


@op(TILE, "tensor_layout_set_dimension", Where.MIXED, DIMENSION, "layout [ numbers ] : result")
class TensorLayoutSetDimension(SetOfLayout):
    """The layout with these dimensions, with the whole tensor as accessed region and the strides of a dense tensor."""


TILE.rules(TensorLayoutSetDimension, *_list_rows("layout", "numbers", NO_ZERO, DIMENSION))


@op(TILE, "tensor_layout_set_stride", Where.MIXED, STRIDE, "layout [ numbers ] : result")
class TensorLayoutSetStride(SetOfLayout):
    """The layout with these strides, in elements, or in blocks if the block sizes are not 1."""


TILE.rules(TensorLayoutSetStride, *_list_rows("layout", "numbers", WITH_ZERO, STRIDE))


@op(TILE, "tensor_layout_slice", Where.MIXED, SLICE, "layout [ slices ] : result")
class TensorLayoutSlice(Op):
    """The layout whose accessed region is moved by these offsets and has these spans; it may lie outside the tensor."""

    layout: Value = operand(TENSOR_LAYOUT, "the layout before")
    slices: tuple[Slice, ...] = slices("offset : span for each dimension, outermost first")
    result: Value = result(TENSOR_LAYOUT, "the layout after")


TILE.rules(
    TensorLayoutSlice,
    _count_row("layout", "slices", "slice", SLICE),
    *_slice_rows(SLICE),
    _range_row("slices", (I32_RANGE, NO_ZERO),
        "an offset that is known is a signed 32-bit number, a span is a positive 32-bit number", SLICE),
    _result_row("layout", SLICE),
)  # fmt: skip


BITS = TypeKind("of type i32, a pattern of bits such as a `bitcast` gives", lambda t: t == I32)


@op(TILE, "tensor_layout_set_clamp_value", Where.MIXED, CLAMP_VALUE, "layout , value : result")
class TensorLayoutSetClampValue(Op):
    """The layout whose loads give the low bits of this number outside the tensor, if the clamp mode is constant.

    A signaling NaN of f16 may become the quiet NaN that differs from it in one bit only.
    """

    layout: Value = operand(TENSOR_LAYOUT, "the layout before")
    value: Value = operand(BITS, "its low bits are the component")
    result: Value = result(TENSOR_LAYOUT, "the layout after")


TILE.rules(TensorLayoutSetClampValue, _result_row("layout", CLAMP_VALUE))

# --- views ----------------------------------------------------------------------------------


@op(TILE, "tensor_view_create", Where.MIXED, VIEW_CREATE, ": result")
class TensorViewCreate(Op):
    """A view whose dimensions and strides are 0, and which clips nothing."""

    result: Value = result(TENSOR_VIEW, "the view")


@node
class SetOfView(Op):
    """The base of the instructions that replace one number for each dimension of a view."""

    view: Value = operand(TENSOR_VIEW, "the view before")
    numbers: tuple[Value | int, ...] = operands(INDEXES, "one for each dimension, outermost first", literal=True)
    result: Value = result(TENSOR_VIEW, "the view after")


@op(TILE, "tensor_view_set_dimension", Where.MIXED, VIEW_DIMENSION, "view [ numbers ] : result")
class TensorViewSetDimension(SetOfView):
    """The view with these dimensions, and the strides of a dense array."""


TILE.rules(TensorViewSetDimension, *_list_rows("view", "numbers", NO_ZERO, VIEW_DIMENSION))


@op(TILE, "tensor_view_set_stride", Where.MIXED, VIEW_STRIDE, "view [ numbers ] : result")
class TensorViewSetStride(SetOfView):
    """The view with these strides, in elements of the region that is accessed."""


TILE.rules(TensorViewSetStride, *_list_rows("view", "numbers", WITH_ZERO, VIEW_STRIDE))


@op(TILE, "tensor_view_set_clip", Where.MIXED, VIEW_CLIP, "view [ slices ] : result")
class TensorViewSetClip(Op):
    """The view that accesses only these rows and columns of the matrix.

    A load leaves the other components as they are, a store does not write them.
    """

    view: Value = operand(TENSOR_VIEW, "the view before")
    slices: tuple[Slice, ...] = slices("offset : span of the rows, then of the columns")
    result: Value = result(TENSOR_VIEW, "the view after")


def _two(s: Subject) -> bool:
    return len(s.op.slices) == 2


TILE.rules(
    TensorViewSetClip,
    Row("count", "slices", Holds("number of slices = 2", _two, lambda s: plural(len(s.op.slices), "slice")),
        "there is one slice for the rows and one for the columns", VIEW_CLIP,
        "write `[%row:%rows, %column:%columns]`"),
    *_slice_rows(VIEW_CLIP),
    _range_row("slices", (WITH_ZERO, WITH_ZERO), "an offset or span that is known is in 0 .. 2^32 - 1", VIEW_CLIP),
    _result_row("view", VIEW_CLIP),
)  # fmt: skip

# --- types ----------------------------------------------------------------------------------


def _tensor_type(s: Subject) -> TensorLayoutType | TensorViewType:
    if not isinstance(s.op, TensorLayoutType | TensorViewType):
        raise Undetermined
    return s.op


def _view_type(s: Subject) -> TensorViewType:
    if not isinstance(s.op, TensorViewType) or not 1 <= s.op.dim <= MOST_DIMENSIONS:
        raise Undetermined
    return s.op


def _is_tensor(type: Type) -> bool:
    return isinstance(type, TensorLayoutType | TensorViewType)


TILE.rules(
    "type",
    Row("tensor_dim", "", Holds(f"1 ≤ dim ≤ {MOST_DIMENSIONS}", lambda s: 1 <= _tensor_type(s).dim <= MOST_DIMENSIONS,
        lambda s: f"the type is {s.op}"),
        f"a tensor layout or view has 1 to {MOST_DIMENSIONS} dimensions", '000 "OpTypeTensorLayoutNV"'),
    Row("permutation", "", Holds("p0, ... are 0 .. dim - 1 in some order",
        lambda s: sorted(_view_type(s).permutation) == list(range(_view_type(s).dim)), lambda s: f"the type is {s.op}"),
        "the permutation of a tensor view names each dimension once", '000 "OpTypeTensorViewNV"'),
)  # fmt: skip
TILE.rules(
    "parameter",
    Row("tensor", "", Holds("a parameter is not a tensor layout or view", lambda s: not _is_tensor(s.op.type),
        lambda s: f"%{s.op.name} has type {s.op.type}"),
        "a parameter is not a tensor layout or view", '003 "Functions" Restrictions',
        "make it in the function with tensor_layout_create or tensor_view_create"),
)  # fmt: skip
