"""The checks before a matrix is accessed through a tensor layout: they give one of the interpreter's findings.

A few comparisons usually suffice: the whole tensor lies in the memref, and the tile in the tensor if it has to. If they
do not hold, every component is checked, and only an error in one of them is a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.tensor_index import Element
from girih.back.llvm.lower.tensor_reals import Real, Reals
from girih.back.llvm.lower.tensor_values import U32
from girih.back.llvm.lower.tiles.tensor import WHOLE, TensorTile, holds
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.values import index
from girih.facts import findings
from girih.facts.findings import TENSOR_ALIGNMENT
from girih.ir.types import ClampMode
from girih.ops.tile.tensor_layout import NO_LAYOUT


def is_legal(tensor: TensorTile) -> bool:
    """Whether layout and view have all numbers that an access needs; it is a finding if not."""
    wrong: list[str] = []
    layout, view = tensor.layout, tensor.view
    if not layout.has_dimensions:
        wrong.append(findings.layout_without_dimensions(_listed(layout.dimension)))
    if view is not None and view.lacks_dimensions:
        wrong.append(findings.view_without_dimensions())
    if wrong:
        tensor.code.check(tensor.op, integer(1, "i1"), findings.no_model(NO_LAYOUT, wrong), by_lane=False)
    return not wrong


def _listed(numbers: Sequence[Extent]) -> str:
    text = ", ".join(str(n) if isinstance(n, int) else "?" for n in numbers)
    return f"{text}," if len(numbers) == 1 else text


def whole_tensor_is_there(tensor: TensorTile) -> Val:
    """The condition that the whole tensor lies in its memory, and begins where it may: which tile it is, is open."""
    w = tensor.code.w
    large, misplaced, doubtful = _Checks(tensor).conditions()
    return w.negated(w.binary("or", w.binary("or", large, misplaced), doubtful))


def element_is_there(tensor: TensorTile, number: Val) -> Val:
    """The condition that a component or block, which lies so many of them behind the base, is in its memory."""
    return _Checks(tensor).has(number)


def check(tensor: TensorTile) -> None:
    """Write the checks of an access that `is_legal`."""
    if tensor.code.checks:
        _Checks(tensor).write()


class _Checks:
    """The checks of one access; a component or block takes `step` elements of the memref, or `each` share one.

    A block without a size of its own takes none.
    """

    def __init__(self, tensor: TensorTile) -> None:
        self.tensor, self.code, self.op = tensor, tensor.code, tensor.op
        self.name = tensor.memref.name
        self.step = max(1, tensor.unit // tensor.memref.element.size) if tensor.unit else 0
        self.each = max(1, tensor.memref.element.size // max(1, tensor.unit))
        self.size = as_scalar(tensor.memref.shape[0]).part

    def conditions(self) -> tuple[Val, Val, Val]:
        """Whether numbers of elements may be too large, whether the base is misplaced, and whether memory may end."""
        w, last = self.code.w, self._last()
        large = holds(w, "ugt", index(last), U32)
        return large, self._is_misplaced(), w.negated(self._is_all_there(last))

    def write(self) -> None:
        w = self.code.w
        no = integer(0, "i1")
        large, misplaced, doubtful = (no,) * 3 if (self.op, WHOLE) in self.code.place.inside else self.conditions()
        # What does not change from tile to tile is one condition, found in front of the loop over the tiles.
        some = w.binary("or", w.binary("or", large, misplaced), doubtful)
        some = some if some.literal is not None else w.settled(some)
        if self.tensor.layout.mode is ClampMode.UNDEFINED:
            outside = w.negated(self.tensor.inside)
            some, doubtful = w.binary("or", some, outside), w.binary("or", doubtful, outside)

        def closely() -> None:
            w.unlikely(large, lambda: self._search(self._check_number), returns=True)
            self._check_base(misplaced)
            w.unlikely(doubtful, lambda: self._search(self._check_place), returns=True)

        w.unlikely(some, closely, returns=True)

    def _is_misplaced(self) -> Val:
        """Whether the base is not aligned."""
        w, memref = self.code.w, self.tensor.memref
        if (
            memref.align >= TENSOR_ALIGNMENT
            and self.tensor.offset.literal == 0
            and as_scalar(memref.offset).part.literal == 0
        ):
            return integer(0, "i1")
        address = self.code.aligned_offset(self.tensor.base)
        # Where there are no elements, an address says nothing.
        rest = index(w.binary("and", address, TENSOR_ALIGNMENT - 1))
        return w.binary("and", holds(w, "ne", rest, 0), holds(w, "ne", index(self.size), 0))

    def _check_base(self, bad: Val) -> None:
        self.code.check(self.op, bad, findings.misaligned(self.op, self.name), argument=self.name, by_lane=False)

    # --- all at once ---------------------------------------------------------------------

    def _is_all_there(self, last: Val) -> Val:
        """Whether the whole tensor lies in the memory."""
        w = self.code.w
        return self._in_memory(self.tensor.offset, w.add(self._elements(last), self.step))

    def has(self, number: Val) -> Val:
        """The condition that the memory has a component or block of a number."""
        return self._in_memory(self.code.w.add(self.tensor.offset, self._elements(number)), self.step)

    def _elements(self, number: Val) -> Val:
        """The element of the memref, from the base, in which a component or block begins."""
        if self.each == 1:
            return self.code.w.mul(number, self.step)
        # Numbers have sizes that are powers of two.
        return self.code.w.binary("lshr", number, self.each.bit_length() - 1)

    def _last(self) -> Val:
        """The number of the last element or block of the tensor; a large one if it exceeds 32 bits."""
        r, layout = self.tensor.one, self.tensor.layout
        found: Real = 0
        for size, block, stride in zip(layout.dimension, layout.block_size, layout.stride, strict=True):
            number = r.quotient(r.sub(r.of(size), 1), r.of(block))
            found = r.add(found, r.mul(number, r.of(stride)))
        if isinstance(found, int):
            return integer(min(found, 2**33))
        return r.cut(found, 2**33)

    def _in_memory(self, position: Val, count: Val | int) -> Val:
        """The condition that the memref has `count` elements from a position on."""
        w = self.code.w
        # Nothing overflows: sizes are not negative, and what is taken from them is small.
        first, most = index(position), index(w.sub(self.size, count))
        return w.binary("and", holds(w, "sge", first, 0), holds(w, "sle", first, most))

    # --- one by one ----------------------------------------------------------------------

    def _search(self, look_at: Callable[[Reals, Element, Val, Val], None]) -> None:
        """Write a loop that checks every component, row by row; it ends if nothing is wrong."""
        w = self.code.w
        rows, columns = self.tensor.type.shape
        with w.loop(0, rows) as row, w.loop(0, columns) as column:
            r = self.tensor.one
            place = (r.of_integer(row.index), r.of_integer(column.index))
            look_at(r, self.tensor.index.at(*place, 1), row.index, column.index)

    def _there(self, r: Reals, found: Element) -> Val:
        """Whether a component has an element."""
        w = self.code.w
        seen = w.negated(found.clipped)
        return seen if self.tensor.index.moves else r.both(seen, w.negated(found.outside))

    def _check_number(self, r: Reals, found: Element, row: Val, column: Val) -> None:
        over = r.both(self._there(r, found), r.compare("oge", found.element, 2**32))
        self.code.check(self.op, over, findings.element_too_large(), index=(index(row), index(column)),
                        shape=self.tensor.layout.stride, by_lane=False)  # fmt: skip

    def _check_place(self, r: Reals, found: Element, row: Val, column: Val) -> None:
        w, code = self.code.w, self.code
        if self.tensor.layout.mode is ClampMode.UNDEFINED:
            bad = r.both(w.negated(found.clipped), found.outside)
            code.check(self.op, bad, findings.undefined(self.op), argument=self.name,
                       index=(index(row), index(column)), shape=self.tensor.type.shape, by_lane=False)  # fmt: skip
        there = self._there(r, found)
        position = w.add(self.tensor.offset, self._elements(r.integers(found.element, there)))
        missing = r.both(there, w.negated(self._in_memory(position, self.step)))
        code.check(self.op, missing, findings.outside(self.op, self.name), argument=self.name,
                   index=(index(position),), shape=self.tensor.memref.shape, by_lane=False)  # fmt: skip
