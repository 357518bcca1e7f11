"""Neighbouring components that lie in one block of a tensor, and the numbers that are equal or grow along them.

A run is some components along a line, in a tile that lies inside the tensor. Where they lie in one block, the number of
the block is one that all lanes share, and the places in it are known while the code is written, or grow by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from girih.analysis.tensors import Digit
from girih.back.llvm.cpu.tensor.access import TensorAccess
from girih.back.llvm.emit.folding import vector
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.tensor_values import quotient
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_extent, as_scalar
from girih.back.llvm.numbers.values import Linear, Scalar, index
from girih.ir.types import INDEX
from girih.lazy_dataclass import dataclass

LONGEST = 16
"""Components of a run. What two runs of a block share is computed once all the same: LLVM finds it in both."""
_MOST_ALIGNED = 64
"""Offsets must be multiples of blocks up to this size for runs to be used; of larger blocks, multiples of a run."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A number for each lane: `base`, which is a multiple of `factor`, plus a known step. No base is negative."""

    base: Extent
    factor: int
    steps: tuple[int, ...]

    @property
    def same(self) -> bool:
        """Whether all lanes have one number."""
        return len(set(self.steps)) == 1

    def plus(self, w: Writer, other: Numbers) -> Numbers:
        """The sum of two numbers for each lane."""
        steps = tuple(a + b for a, b in zip(self.steps, other.steps, strict=True))
        return Numbers(addresses.add(w, self.base, other.base, 1), gcd(self.factor, other.factor), steps)

    def scalar(self, w: Writer, below: int | None = None) -> Scalar:
        """The numbers as an index of the language, each below a bound if one is given."""
        first, bound = self.steps[0], None if below is None else integer(below)
        differences = {b - a for a, b in pairwise(self.steps)}
        if differences <= {0}:
            return as_scalar(addresses.add(w, self.base, first, 1))
        base = as_scalar(self.base).part
        if len(differences) == 1:
            return Scalar(INDEX, (), Linear(w.add(base, first), differences.pop(), exact=True), bound)
        known = vector(self.steps, "i64")
        return Scalar(INDEX, (w.add(w.splat(base, len(self.steps)), known),), below=bound)


@dataclass(frozen=True, slots=True)
class TensorRun:
    """Components along a line: how many blocks from the base they lie, the number of the block, and the place in it."""

    first: Scalar
    blocks: tuple[Scalar, ...]
    within: tuple[Scalar, ...]


class Runs:
    """Runs of `size` components, but for the last of a line, along an axis of a tile; a size of 0 is none."""

    def __init__(self, tensor: TensorAccess, axis: int) -> None:
        self.tensor, self.axis, self.w = tensor, axis, tensor.code.w
        self.size = self._size() if tensor.digits is not None else 0

    def _size(self) -> int:
        extent = self.tensor.type.shape[self.axis]
        largest = min(LONGEST, 1 << extent.bit_length() - 1)
        sizes = [n for n in (16, 8, 4) if n <= largest]
        for one_block in (True, False):
            for size in sizes:
                # A beginning of which only this is known, so that it is found for every other one.
                if self._found(0, size, 0, size, one_block=one_block) is not None:
                    return size
        return 0

    # --- alignment -----------------------------------------------------------------------

    def aligned(self) -> Val:
        """The condition that the offsets make each run lie in a block."""
        found = integer(1, "i1")
        for position, offset in enumerate(self.tensor.layout.offset):
            factor = self._factor(position)
            if isinstance(offset, int) or factor == 1:
                continue
            part = as_scalar(offset).part
            power = factor & (factor - 1) == 0
            rest = self.w.binary("and", part, factor - 1) if power else self.w.binary("urem", part, factor)
            found = self.w.binary("and", found, self.w.compare("eq", rest, 0))
        return found

    def _factor(self, position: int) -> int:
        """The number of which the offset in a dimension is, or has to be, a multiple."""
        layout = self.tensor.layout
        offset, block = layout.offset[position], layout.block_size[position]
        if isinstance(offset, int):
            return offset
        if not isinstance(block, int) or not any(d.axis == self.axis for d in self._digits(position)):
            return 1
        return block if block <= _MOST_ALIGNED else gcd(block, LONGEST)

    def _digits(self, position: int) -> Sequence[Digit]:
        assert self.tensor.digits is not None
        return self.tensor.digits[position]

    # --- runs ----------------------------------------------------------------------------

    def at(self, line: Operand, start: Operand, count: int) -> TensorRun:
        """The run that begins at a component; a beginning known only at run time is a multiple of the size."""
        known = start if isinstance(start, int) else start.literal
        found = self._found(start if known is None else known, self.size if known is None else None, line, count)
        if found is None:
            raise ValueError(f"no run of {count} components begins at {start}")
        return found

    def _found(
        self, start: Operand, factor: int | None, line: Operand, count: int, *, one_block: bool = False
    ) -> TensorRun | None:
        """A run; `factor` is what the beginning is a multiple of, None where it is known."""
        w, layout = self.w, self.tensor.layout
        first: Extent = 0
        blocks, within = [], []
        for position in range(layout.type.dim):
            found = self._place(position, start, factor, line, count)
            pair = None if found is None else self._divided(found, layout.block_size[position])
            stride = layout.stride[position]
            if pair is None or not (pair[0].same or (isinstance(stride, int) and not one_block)):
                return None
            number, inner = pair
            block = layout.block_size[position]
            blocks.append(number.scalar(w))
            within.append(inner.scalar(w, block if isinstance(block, int) else None))
            step = addresses.multiply(w, as_extent(blocks[-1]), stride, count)
            first = addresses.add(w, first, step, count)
        return TensorRun(as_scalar(first), tuple(blocks), tuple(within))

    def _place(self, position: int, start: Operand, factor: int | None, line: Operand, count: int) -> Numbers | None:
        """The coordinates in a dimension of the tensor."""
        w, zeros = self.w, (0,) * count
        total = Numbers(self.tensor.layout.offset[position], self._factor(position), zeros)
        for digit in self._digits(position):
            if digit.axis != self.axis:
                part: Numbers | None = Numbers(_digit(w, digit, line), digit.weight, zeros)
            elif factor is None:
                assert isinstance(start, int)
                part = Numbers(0, 0, tuple(digit.of(start + k) for k in range(count)))
            else:
                part = _along(w, digit, start, factor, count)
            if part is None:
                return None
            total = total.plus(w, part)
        return total

    def _divided(self, place: Numbers, block: Extent) -> tuple[Numbers, Numbers] | None:
        """The number of the block and the place in it; None if it is not known which lanes have which."""
        w, steps = self.w, place.steps
        zeros = (0,) * len(steps)
        if block == 1:
            return place, Numbers(0, 0, zeros)
        if place.same:
            base = addresses.add(w, place.base, steps[0], 1)
            number = quotient(self.tensor.code, base, block)
            return Numbers(number, 1, zeros), Numbers(self._rest(base, number, block), 1, zeros)
        if not isinstance(block, int):
            return None
        factor = gcd(place.factor, block)
        if factor == block:
            number = quotient(self.tensor.code, place.base, block)
            number_steps, inner_steps = tuple(s // block for s in steps), tuple(s % block for s in steps)
            return Numbers(number, 1, number_steps), Numbers(0, 0, inner_steps)
        if min(steps) // factor != max(steps) // factor:
            return None
        low = min(steps) // factor * factor
        base = addresses.add(w, place.base, low, 1)
        number = quotient(self.tensor.code, base, block)
        return Numbers(number, 1, zeros), Numbers(self._rest(base, number, block), 1, tuple(s - low for s in steps))

    def _rest(self, place: Extent, number: Extent, block: Extent) -> Extent:
        w = self.w
        before = as_scalar(addresses.multiply(w, number, block, 1)).part
        return as_extent(index(w.sub(as_scalar(place).part, before)))


def _digit(w: Writer, digit: Digit, x: Operand) -> Extent:
    """The value of a digit for a row or column."""
    known = x if isinstance(x, int) else x.literal
    if known is not None:
        return digit.of(known)
    held = _divide(w, "lshr", "udiv", x, digit.divisor)
    if not digit.whole:
        held = _divide(w, "and", "urem", held, digit.count)
    return as_extent(index(w.mul(held, digit.weight)))


def _divide(w: Writer, of_powers: str, opcode: str, a: Operand, b: int) -> Val:
    """Quotient or remainder of a number by a constant."""
    if b == 1 and of_powers == "lshr":
        return w.value(a)
    if b & (b - 1):
        return w.binary(opcode, a, b)
    return w.binary(of_powers, a, b.bit_length() - 1 if of_powers == "lshr" else b - 1)


def _along(w: Writer, digit: Digit, start: Operand, factor: int, count: int) -> Numbers | None:
    """The values of a digit from a beginning on of which only a factor is known; `count` is not larger than that."""
    divisor, weight = digit.divisor, digit.weight
    if factor % (divisor * digit.count) == 0 and not digit.whole:
        return Numbers(0, 0, tuple(digit.of(k) for k in range(count)))
    base = _digit(w, digit, start)
    if divisor % factor == 0:
        return Numbers(base, weight, (0,) * count)
    if divisor > 1 or not (digit.whole or digit.count % factor == 0):
        return None
    return Numbers(base, factor * weight, tuple(k * weight for k in range(count)))
