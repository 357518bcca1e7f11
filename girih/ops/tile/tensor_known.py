"""The rules about numbers of a tensor layout that are known before anything runs.

A layout is followed back through the instructions that made it. A number that is neither a literal nor a constant is
known only at run time, and no rule here speaks of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from girih.diagnostics import plural
from girih.ir.core import Op, Region, Value
from girih.ir.surroundings import Subject
from girih.ir.types import CoopMatrix, TensorLayoutType
from girih.ops.tile.coopmatrix_tensor import STORE, CooperativeMatrixStoreTensor
from girih.ops.tile.language import TILE
from girih.ops.tile.tensor_layout import (
    BLOCK_SIZE,
    DIMENSION,
    STRIDE,
    SetOfLayout,
    TensorLayoutCreate,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    known,
)
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined

Numbers = tuple[int | None, ...]

_SETTERS = (SetOfLayout, TensorLayoutSlice, TensorLayoutSetClampValue)


def _history(s: Subject, layout: Value) -> Iterator[Op]:
    """The instructions that made a layout, the last one first; Undetermined where one of them is not known."""
    while True:
        definition = s.facts.definitions.get(layout)
        if isinstance(definition, TensorLayoutCreate):
            return
        if not isinstance(definition, _SETTERS):
            raise Undetermined
        yield definition
        layout = definition.layout


def _numbers(s: Subject, op: Op) -> Numbers:
    """The number that an instruction sets for each dimension; for a slice, its span."""
    numbers = [entry.size for entry in op.slices] if isinstance(op, TensorLayoutSlice) else getattr(op, "numbers", ())
    if not isinstance(s.op.layout.type, TensorLayoutType) or len(numbers) != s.op.layout.type.dim:
        raise Undetermined
    return tuple(known(s, entry) for entry in numbers)


def _latest(s: Subject, *kinds: type[Op]) -> Numbers | None:
    """The numbers that the last instruction of some kinds set; None if there is no such instruction."""
    return next((_numbers(s, op) for op in _history(s, s.op.layout) if isinstance(op, kinds)), None)


def _block_size(s: Subject) -> Numbers:
    return _latest(s, TensorLayoutSetBlockSize) or (1,) * int(s.op.layout.type.dim)


# --- strides that the next dimension does not fit in -------------------------------------------


def _out_of_order(s: Subject) -> str:
    """The words for the first stride that is too small; empty if there is none."""
    steps, block_size, dimension = _numbers(s, s.op), _block_size(s), _latest(s, TensorLayoutSetDimension)
    for position, (size, block) in enumerate(zip((dimension or ())[1:], block_size[1:], strict=False)):
        here, following = steps[position], steps[position + 1]
        if here is None or following is None or size is None or not block or block < 1:
            continue
        least = following * -(-size // block)
        if here < least:
            return f"stride {position} is {here}, less than {following} * ceiling({size} / {block}) = {least}"
    return ""


TILE.rules(
    TensorLayoutSetStride,
    Row("order", "numbers layout", Holds("stride[i] ≥ stride[i + 1] * ceiling(dimension[i + 1] / block_size[i + 1])",
        lambda s: not _out_of_order(s), _out_of_order),
        "a stride that is known is at least what the next dimension takes", STRIDE,
        "make the stride larger, or order the dimensions by stride and permute them in a view"),
)  # fmt: skip

# --- implicit strides --------------------------------------------------------------------------


def _all(region: Region) -> Iterator[Op]:
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from _all(inner)


def _strides_follow(s: Subject) -> bool:
    """Whether a later instruction sets the strides of the layout that this one makes."""
    made = {s.op.result}
    for op in _all(s.facts.function.body):
        if isinstance(op, _SETTERS) and op.layout in made:
            if isinstance(op, TensorLayoutSetStride):
                return True
            made.add(op.result)
    return False


def _is_late(s: Subject) -> bool:
    """Whether block sizes are set after the dimensions, and with other numbers than the implicit strides assume."""
    earlier = _latest(s, TensorLayoutSetBlockSize) or (1,) * len(_numbers(s, s.op))
    if None not in earlier and _numbers(s, s.op) == earlier:
        return False
    for op in _history(s, s.op.layout):
        if isinstance(op, TensorLayoutSetStride):
            return False
        if isinstance(op, TensorLayoutSetDimension):
            return not _strides_follow(s)
    return False


def _partial(s: Subject) -> str:
    """The words for the first inner dimension that is not a multiple of its block size; empty if there is none."""
    for position, (size, block) in enumerate(zip(_numbers(s, s.op), _block_size(s), strict=True)):
        if position and size is not None and block and block > 0 and size % block and not _strides_follow(s):
            return f"dimension {position} is {size}, its block size {block}"
    return ""


TILE.rules(
    TensorLayoutSetBlockSize,
    Row("late", "layout", Holds("no set_dimension before, whose implicit strides stay", lambda s: not _is_late(s)),
        "block sizes are set before the dimensions, whose implicit strides depend on them", BLOCK_SIZE,
        "move it before `tensor_layout_set_dimension`, or set the strides", "warning"),
)  # fmt: skip
TILE.rules(
    TensorLayoutSetDimension,
    Row("partial_block", "numbers layout", Holds("with implicit strides, dimension[i] mod block_size[i] = 0 for i > 0",
        lambda s: not _partial(s), _partial),
        "strides are set where a dimension is not a multiple of its block size: some drivers round implicit ones down",
        DIMENSION, "set the strides with `tensor_layout_set_stride`", "warning"),
)  # fmt: skip

# --- stores ------------------------------------------------------------------------------------


def _elements(s: Subject) -> tuple[int, int]:
    """The number of components of a matrix and of elements of the span; undetermined with a view."""
    matrix, span = s.op.matrix.type, _latest(s, TensorLayoutSetDimension, TensorLayoutSlice)
    if s.op.view is not None or not isinstance(matrix, CoopMatrix) or span is None:
        raise Undetermined
    sizes = [n for n in span if n is not None and n > 0]
    if len(sizes) < len(span):
        raise Undetermined
    return prod(matrix.shape), prod(sizes)


def _is_inside(s: Subject) -> bool:
    components, elements = _elements(s)
    return components <= elements


TILE.rules(
    CooperativeMatrixStoreTensor,
    Row("span", "matrix layout", Holds("rows * columns ≤ product of the span", _is_inside,
        lambda s: "{}, {}".format(*map(plural, _elements(s), ("component", "element")))),
        "a matrix that is stored is not larger than the span: past its end the span repeats, and stores alias", STORE,
        "store a matrix of the shape of the span, or slice more of the tensor", "warning"),
)  # fmt: skip
