"""Where the tile of a load or store lies in an argument: dimensions with sizes, strides and coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from girih.ir.core import Op, Value
from girih.ir.types import ClampMode, CoopMatrix, MemRef, TensorLayoutType, TensorViewType
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixStore
from girih.ops.tile.coopmatrix_tensor import (
    CooperativeMatrixLoadTensor,
    CooperativeMatrixStoreTensor,
    block_bytes,
)
from girih.ops.tile.tensor_layout import (
    TensorLayoutCreate,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorViewCreate,
    TensorViewSetDimension,
    TensorViewSetStride,
)
from girih.tile.amounts import Amount, combined, number
from girih.tile.form import SharedTile
from girih.tile.known import LaunchFacts, MemoryView, Terms, ViewMode
from girih.tile.program import NoTileProgram

PlainAccess = CooperativeMatrixLoad | CooperativeMatrixStore
TensorAccess = CooperativeMatrixLoadTensor | CooperativeMatrixStoreTensor
MatrixAccesses = PlainAccess | TensorAccess


@dataclass(frozen=True, slots=True)
class PlaceDimension:
    """A dimension of a tile's place: the size and stride of the tensor in elements, and where the tile begins.

    Neighbours in the tile are `step` apart in the tensor.
    """

    size: Amount
    stride: Amount
    begin: Terms
    step: int = 1


@dataclass(frozen=True, slots=True)
class WoundDimensions:
    """Dimensions of a box that rows, or otherwise columns, of a tile go through one after the other.

    `dimensions` are all but the innermost, inner before outer; `extents` are how far the tile goes along each, the
    innermost one first.
    """

    of_rows: bool
    dimensions: tuple[PlaceDimension, ...]
    extents: tuple[int, ...]

    def of_lines(self, count: int) -> tuple[int, ...]:
        """How far a box of the first so many goes along each dimension; nothing where they are no box."""
        found: list[int] = []
        for extent in self.extents:
            if count % extent and extent % count:
                return ()
            found.append(min(extent, count))
            count //= found[-1]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class PlaceInArgument:
    """The place of a tile in the argument of a parameter, of which it has one element in each of `others`.

    Component (i, j) is i further along `rows` and j along `columns`. Where one of these goes through several dimensions
    of a box, `wound` has all but the innermost of them: i or j is a number with a digit for each, of which `rows` or
    `columns` has the lowest. `bounded` says that the program wants zeros, or nothing stored, outside; otherwise being
    outside is an error.
    """

    parameter: int
    offset: Amount
    rows: PlaceDimension
    columns: PlaceDimension
    others: tuple[PlaceDimension, ...]
    bounded: bool
    wound: WoundDimensions | None = None

    def moved(self, neighbour: int, line: int) -> tuple[int, ...]:
        """What is added to the coordinates of a box, innermost first, to be so much further along the tile."""
        digits: list[int] = []
        for extent in () if self.wound is None else self.wound.extents[:-1]:
            digits.append(line % extent)
            line //= extent
        return (neighbour, *digits, line, *(0 for _ in self.others))


def matrix_of(op: MatrixAccesses) -> CoopMatrix:
    """The type of the matrix that is loaded or stored."""
    matrix = op.result.type if isinstance(op, CooperativeMatrixLoad | CooperativeMatrixLoadTensor) else op.matrix.type
    assert isinstance(matrix, CoopMatrix)
    return matrix


def place_of(op: Op, facts: LaunchFacts) -> PlaceInArgument:
    """The place of the tile of a load or store. Raises `NoTileProgram` where it is no box of an array."""
    match op:
        case CooperativeMatrixLoad() | CooperativeMatrixStore():
            return _plain(op, facts)
        case CooperativeMatrixLoadTensor() | CooperativeMatrixStoreTensor():
            return _tensor(op, facts)
        case _:
            raise NoTileProgram(f"`{op.spec.word}` does not move a box of an array", op.span)


def box_of(op: Op, facts: LaunchFacts) -> PlaceInArgument | None:
    """The place of the tile of a load or store; None where it is no box of an array."""
    try:
        return place_of(op, facts)
    except NoTileProgram:
        return None


def _plain(op: PlainAccess, facts: LaunchFacts) -> PlaceInArgument:
    view = facts.view(op.memory, op)
    checked = (op.checked.rows, op.checked.columns)
    first, second = (
        PlaceDimension(mode.size, mode.stride, (*mode.shift, begin))
        for mode, begin in zip(view.modes, (op.row, op.column), strict=True)
    )
    if any(mode.shift and bound for mode, bound in zip(view.modes, checked, strict=True)):
        raise NoTileProgram(
            "the end of a view that each work-group has for itself is checked", op.span, "check against the whole array"
        )
    rows, columns = (second, first) if op.transpose else (first, second)
    matrix = matrix_of(op)
    extents = (matrix.columns, matrix.rows) if op.transpose else matrix.shape
    inside = (_is_inside(d, extent, facts) for d, extent in zip((first, second), extents, strict=True))
    bounded = all(bound or within for bound, within in zip(checked, inside, strict=True))
    return PlaceInArgument(view.parameter, view.offset, rows, columns, _fixed(view), bounded)


def _is_inside(dimension: PlaceDimension, extent: int, facts: LaunchFacts) -> bool:
    """Whether a tile is known to lie in the array along a dimension."""
    size, begins = dimension.size.literal, [facts.literal(term) for term in dimension.begin]
    known = [begin for begin in begins if begin is not None]
    return size is not None and len(known) == len(begins) and 0 <= sum(known) <= size - extent


def _fixed(view: MemoryView) -> tuple[PlaceDimension, ...]:
    return tuple(PlaceDimension(mode.size, mode.stride, (index,)) for mode, index in view.fixed)


# --- tensor layouts -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _KnownLayout:
    """A tensor layout, outermost dimension first: sizes, strides and the accessed region."""

    type: TensorLayoutType
    sizes: tuple[Value | int, ...] = ()
    strides: tuple[Value | int, ...] = ()
    begins: tuple[Value | int, ...] = ()
    spans: tuple[Value | int, ...] = ()
    block: tuple[Value | int, ...] = ()


def _tensor(op: TensorAccess, facts: LaunchFacts) -> PlaceInArgument:
    if isinstance(op, CooperativeMatrixLoadTensor) and op.body is not None:
        raise NoTileProgram("components are decoded when they are loaded", op.span)
    matrix, memory = matrix_of(op), op.memory.type
    view, layout = facts.view(op.memory, op), _layout(op.layout, facts, op)
    assert isinstance(memory, MemRef)
    if memory.element != matrix.component:
        raise NoTileProgram("the memory has elements of another type than the matrix", op.span)
    if layout.type.clamp_mode not in (ClampMode.UNDEFINED, ClampMode.CONSTANT):
        raise NoTileProgram(f"outside of the tensor is {layout.type.clamp_mode.value}", op.span)
    begin = facts.amount(op.offset)
    if begin is None or view.modes[0].shift:
        raise NoTileProgram("the launch does not know where the tensor begins", op.span)
    if any(facts.literal(length) != 1 for length in layout.block):
        raise NoTileProgram("the tensor has blocks", op.span)
    order, spans, steps = _visited(op.view, layout, facts, op)
    if isinstance(op, CooperativeMatrixStoreTensor) and max(steps) > 1:
        raise NoTileProgram("a view stores to elements with others between them", op.span)
    dimensions = [
        replace(one, step=step) for one, step in zip(_dimensions(layout, view.modes[0], facts, op), steps, strict=True)
    ]
    rows, columns = _sides(order, spans, matrix, op)
    offset = combined("add", view.offset, combined("mul", begin, view.modes[0].stride))
    bounded = layout.type.clamp_mode is ClampMode.CONSTANT
    fixed = tuple(dimensions[k] for k in order if k not in (*rows, *columns))
    return PlaceInArgument(
        view.parameter, offset, dimensions[rows[-1]], dimensions[columns[-1]], (*fixed, *_fixed(view)), bounded,
        _wound(rows, columns, dimensions, spans),
    )  # fmt: skip


def _sides(
    order: Sequence[int], spans: Sequence[int | None], matrix: CoopMatrix, op: Op
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that the rows and the columns of a tile go through, outermost first; one side has only one.

    Left out are those along which the tile has one place, where others are left.
    """
    long = tuple(k for k in order if spans[k] != 1)
    kept = long if len(long) > 1 or len(order) < 2 else tuple(order) if len(order) == 2 else ()
    for at in range(1, len(kept)):
        rows, columns = kept[:at], kept[at:]
        shape = tuple(prod(spans[k] or 0 for k in side) for side in (rows, columns))
        if shape == matrix.shape and 1 in (len(rows), len(columns)):
            return rows, columns
    raise NoTileProgram("the tile is not one box of the tensor, of which one dimension is rows or columns", op.span)


def _wound(
    rows: Sequence[int], columns: Sequence[int], dimensions: Sequence[PlaceDimension], spans: Sequence[int | None]
) -> WoundDimensions | None:
    if len(rows) == len(columns) == 1:
        return None
    inner_first = (rows if len(rows) > 1 else columns)[::-1]
    return WoundDimensions(
        len(rows) > 1, tuple(dimensions[k] for k in inner_first[1:]), tuple(spans[k] or 0 for k in inner_first)
    )


def _layout(value: Value, facts: LaunchFacts, user: Op) -> _KnownLayout:
    match facts.definitions.get(value):
        case TensorLayoutCreate(result=result):
            assert isinstance(result.type, TensorLayoutType)
            return _KnownLayout(result.type)
        case TensorLayoutSetBlockSize(layout=before, numbers=block):
            return replace(_layout(before, facts, user), block=block)
        case TensorLayoutSetDimension(layout=before, numbers=sizes):
            known = _layout(before, facts, user)
            return _KnownLayout(known.type, sizes, (), (0,) * len(sizes), sizes, known.block)
        case TensorLayoutSetStride(layout=before, numbers=strides):
            return replace(_layout(before, facts, user), strides=strides)
        case TensorLayoutSlice(layout=before, slices=slices):
            known = _layout(before, facts, user)
            if any(begin != 0 for begin in known.begins):
                raise NoTileProgram("a layout is cut twice", user.span)
            begins, spans = tuple(one.offset for one in slices), tuple(one.size or 0 for one in slices)
            return replace(known, begins=begins, spans=spans)
        case TensorLayoutSetClampValue(layout=before, value=value) if facts.literal(value) == 0:
            return _layout(before, facts, user)
        case _:
            raise NoTileProgram("the tensor layout has another value outside, or comes from a branch", user.span)


def _dimensions(layout: _KnownLayout, mode: ViewMode, facts: LaunchFacts, user: Op) -> list[PlaceDimension]:
    sizes = [facts.amount(size) for size in layout.sizes]
    strides = [facts.amount(stride) for stride in layout.strides]
    blocks = [facts.literal(length) for length in layout.block] or [1] * len(sizes)
    if not sizes or None in sizes or None in strides or None in blocks:
        raise NoTileProgram("the launch does not know the dimensions of the tensor", user.span)
    if not strides:
        stride = number(1)
        for size, block in zip(reversed(sizes), reversed(blocks), strict=True):
            strides.insert(0, stride)
            assert size is not None and block is not None
            stride = combined("mul", stride, _count(size, block))
    made: list[PlaceDimension] = []
    for size, stride_, begin in zip(sizes, strides, layout.begins, strict=True):
        assert size is not None and stride_ is not None
        made.append(PlaceDimension(size, combined("mul", stride_, mode.stride), (begin,)))
    return made


def _count(size: Amount, block: int) -> Amount:
    """How many blocks have so many elements."""
    return combined("div", combined("add", size, number(block - 1)), number(block))


@dataclass(frozen=True, slots=True)
class BlocksPlace:
    """The place of blocks that a tile is decoded from: lines of `words` neighbouring words of four bytes.

    A block has `length` components in `unit` bytes; along a line, the place begins at component `begin`. Lengths of
    dimensions are rounded down to 16 bytes, so that there is always a map; who reads the words looks whether that
    changed anything.
    """

    parameter: int
    offset: Amount
    line: PlaceDimension
    across: PlaceDimension
    words: int
    length: int
    unit: int
    begin: Value | int


def blocks_of(op: CooperativeMatrixLoadTensor, tile: SharedTile, facts: LaunchFacts) -> BlocksPlace:
    """The place of the blocks that a tile is decoded from. Raises `NoTileProgram` where it has no whole ones.

    Blocks that are whole words together are taken together.
    """
    matrix, view, layout = matrix_of(op), facts.view(op.memory, op), _layout(op.layout, facts, op)
    begin, block = facts.amount(op.offset), op.block_type
    assert isinstance(block, MemRef) and isinstance(op.memory.type, MemRef)
    order, lengths = _order(op.view, layout, facts, op), [facts.literal(length) for length in layout.block]
    if op.memory.type.element.size != 1 or begin is None or view.modes[0].shift or view.fixed or len(order) != 2:
        raise NoTileProgram("blocks are no box of an array of bytes", op.span)
    across, along = order if tile.by_rows else order[::-1]
    spans = tuple(facts.literal(layout.spans[k]) for k in order)
    length, unit = lengths[along] if lengths else None, block_bytes(block)
    run = 0 if not length else length * (4 // gcd(4, unit))
    if spans != matrix.shape or lengths[across] != 1 or not run or tile.span % run or view.modes[0].stride.literal != 1:
        raise NoTileProgram("the tile does not consist of whole blocks", op.span)
    assert length is not None
    line, neighbours = _dimensions(layout, view.modes[0], facts, op)[across], layout.sizes[along]
    count = facts.amount(neighbours)
    assert count is not None
    words = [_words(combined("mul", size, number(unit))) for size in (_count(count, length), line.stride)]
    offset = combined("div", combined("add", view.offset, begin), number(4))
    inner = PlaceDimension(words[0], number(1), (layout.begins[along],))
    outer = PlaceDimension(line.size, words[1], line.begin)
    some = tile.span // length * unit // 4
    return BlocksPlace(view.parameter, offset, inner, outer, some, length, unit, layout.begins[along])


def _words(bytes: Amount) -> Amount:
    """The words of four bytes in so many bytes, rounded down to 16 bytes, and those at least."""
    return combined("max", combined("mul", combined("div", bytes, number(16)), number(4)), number(4))


def _visited(
    view: Value | None, layout: _KnownLayout, facts: LaunchFacts, user: Op
) -> tuple[tuple[int, ...], list[int | None], list[int]]:
    """The order of dimensions, as of `_order`; how many positions are visited along each, and how far they are apart.

    A view with dimensions of its own is a box with steps, if along each dimension of the slice it takes every so
    manieth position from the first on: nothing is carried from one dimension to the next (000, "Tensor views").
    """
    spans = [facts.literal(span) for span in layout.spans]
    known = None if view is None else _view(view, facts, user)
    if known is None or not known.type.has_dimensions:
        return _order(view, layout, facts, user), spans, [1] * len(spans)
    counts, strides = ([facts.literal(one) for one in numbers] for numbers in (known.sizes, known.strides))
    if len(counts) != len(spans):
        raise NoTileProgram("the tensor view has not as many dimensions as the layout", user.span)
    steps, inner = [1] * len(spans), 1
    for k in range(len(spans) - 1, -1, -1):
        span, count = spans[k], counts[k]
        stride = strides[k] if strides else prod(one or 0 for one in counts[k + 1 :])
        if span is None or count is None or stride is None:
            raise NoTileProgram("the program does not say the numbers of a tensor view", user.span)
        if count > 1:
            steps[k], rest = divmod(stride, inner)
            if rest or not steps[k] or (count - 1) * steps[k] >= span:
                raise NoTileProgram("the tensor view takes no box of elements out of its slice", user.span)
        inner *= span
    return known.type.permutation, counts, steps


@dataclass(frozen=True, slots=True)
class _KnownView:
    """A tensor view without a clip: its dimensions, and their strides where the program sets them."""

    type: TensorViewType
    sizes: tuple[Value | int, ...] = ()
    strides: tuple[Value | int, ...] = ()


def _view(value: Value, facts: LaunchFacts, user: Op) -> _KnownView:
    match facts.definitions.get(value):
        case TensorViewCreate(result=result):
            assert isinstance(result.type, TensorViewType)
            return _KnownView(result.type)
        case TensorViewSetDimension(view=before, numbers=sizes):
            return _KnownView(_view(before, facts, user).type, sizes)
        case TensorViewSetStride(view=before, numbers=strides):
            return replace(_view(before, facts, user), strides=strides)
        case _:
            raise NoTileProgram("the tensor view has a clip, or comes from a branch", user.span)


def _order(view: Value | None, layout: _KnownLayout, facts: LaunchFacts, user: Op) -> tuple[int, ...]:
    """The dimensions of the layout that rows and columns go along."""
    if view is None:
        return tuple(range(layout.type.dim))
    match facts.definitions.get(view):
        case TensorViewCreate(result=result) if isinstance(result.type, TensorViewType):
            if not result.type.has_dimensions:
                return result.type.permutation
    raise NoTileProgram("the tensor view has dimensions of its own", user.span)
