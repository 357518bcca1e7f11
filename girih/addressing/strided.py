"""`Strided`: memrefs of the tensor language, a base and one stride per mode (003); no blocks, no clamping, no fill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from girih.addressing.access import Access, Kind, check_count
from girih.addressing.buffers import (
    MATRIX,
    TOO_SMALL,
    AnyArray,
    check_buffer,
    check_component,
    check_same_type,
    in_memory_order,
)
from girih.addressing.display import Drawn
from girih.addressing.errors import I64_HIGH, RuleReport, Violation, plural, rule, what_it_is

SHAPE = rule("strided.shape", "sizes are 1 .. 2^63-1, and so is the number of elements", "003 Memref type")
STRIDE = rule("strided.stride", "strides are 0 .. 2^63-1", "003 Memref type")
COUNT = rule("strided.operand_count", "one stride, or one (offset, size), per mode", "003 Memref type")
OFFSET = rule("strided.offset", "offsets are 0 .. 2^63-1", "003 Subview")
OVERFLOW = rule("strided.index_overflow", "the index of the last element fits in 64 bits", "003 Memref type")
INSIDE = rule("strided.inside", "a subview lies inside its memref", "003 Subview")
ALIAS = rule("strided.stores_alias", "different elements lie at different places", "003 Memref type", "lint")


@dataclass(frozen=True)
class Strided(Drawn):
    """A memref: `shape` and `strides` in elements, one per mode, and the `offset` of its first element.

    Element `[i0, i1, ...]` has index `offset + i0 * strides[0] + i1 * strides[1] + ...` (003 Memref type). Without
    strides it is packed, mode 0 innermost. Raises `AddressingError` listing every rule that is broken.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        report = RuleReport("Strided")
        shape = report.integers("shape", report.sequence("shape", self.shape, "sizes"), 1, I64_HIGH, SHAPE)
        packed = tuple(math.prod(shape[:mode]) for mode in range(len(shape)))
        given = packed if self.strides is None else report.sequence("strides", self.strides, "strides")
        if len(given) != len(shape):
            message = (
                f"{plural(len(given), 'stride', ('is', 'are'))} given, the memref has {plural(len(shape), 'mode')}"
            )
            report.add(COUNT, message, "give one for each mode")
        strides = report.integers("strides", given, 0, I64_HIGH, STRIDE)
        offset = report.integer("offset", self.offset, 0, I64_HIGH, OFFSET)
        report.done()
        if math.prod(shape) > I64_HIGH:
            report.add(SHAPE, f"shape {shape} has {math.prod(shape)} elements, over 2^63-1", "make it smaller")
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if last > I64_HIGH:
            report.add(
                OVERFLOW, f"the last element has index {last}, over 2^63-1", "make shape, strides or offset smaller"
            )
        report.done()
        for name, value in (("shape", shape), ("strides", strides), ("offset", offset)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, array: AnyArray) -> Strided:
        """The memref that a NumPy array is: its shape, and its strides in elements.

        Raises `AddressingError` for empty arrays and for strides that are negative or not whole elements.
        """
        report = RuleReport("Strided.of")
        if not isinstance(array, np.ndarray):
            report.add(MATRIX, f"the array is {what_it_is(array)}", "pass a NumPy array")
            report.done()
        steps = [stride if size > 1 else 0 for size, stride in zip(array.shape, array.strides, strict=True)]
        for axis, step in enumerate(steps):
            if step < 0 or step % array.itemsize:
                why = "is negative" if step < 0 else f"is not a multiple of the {array.itemsize} bytes of an element"
                report.add(STRIDE, f"the stride of axis {axis}, {step} bytes, {why}", "copy the array: array.copy()")
        report.done()
        packed = [math.prod(array.shape[:mode]) for mode in range(array.ndim)]
        strides = [
            step // array.itemsize if size > 1 else dense
            for step, size, dense in zip(steps, array.shape, packed, strict=True)
        ]
        return cls(tuple(array.shape), tuple(strides))

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides in elements, also where they were left out and follow from the shape."""
        return self.strides or ()

    @property
    def last(self) -> int:
        """The largest index of an element, counted from the start of the buffer."""
        return self.offset + sum((size - 1) * stride for size, stride in zip(self.shape, self.steps, strict=True))

    def subview(self, *slices: tuple[int, int]) -> Strided:
        """The part of the memref that one `(offset, size)` per mode, in elements, selects (003 Subview).

        Raises `AddressingError` for a wrong count, an empty part, or one that leaves the memref.
        """
        report = RuleReport("Strided.subview")
        fix = "give one (offset, size) for each mode"
        if len(slices) != len(self.shape):
            count = plural(len(slices), "slice", ("is", "are"))
            report.add(COUNT, f"{count} given, the memref has {plural(len(self.shape), 'mode')}", fix)
        for mode, one in enumerate(slices):
            if not (isinstance(one, tuple | list) and len(one) == 2):
                report.add(COUNT, f"slice {mode} is {one!r}", fix)
        report.done()
        offsets = report.integers("offset", [offset for offset, _ in slices], 0, I64_HIGH, OFFSET)
        sizes = report.integers("size", [size for _, size in slices], 1, I64_HIGH, SHAPE)
        for mode, (start, size, whole) in enumerate(zip(offsets, sizes, self.shape, strict=True)):
            if start + size > whole:
                report.add(
                    INSIDE,
                    f"mode {mode}: offset {start} + size {size} = {start + size} is past its size {whole}",
                    f"end at {whole} or before",
                )
        report.done()
        moved = self.offset + sum(start * stride for start, stride in zip(offsets, self.steps, strict=True))
        return Strided(sizes, self.steps, moved)

    def access(self) -> Access:
        """The place in memory of each element; the tile has the shape of the memref, and every element is in bounds.

        Raises `AddressingError` for more than 2^28 elements.
        """
        check_count(RuleReport("Strided.access"), self.shape)
        element = np.full((1,) * len(self.shape), self.offset, np.int64)
        for mode, (size, stride) in enumerate(zip(self.shape, self.steps, strict=True)):
            line = np.arange(size, dtype=np.int64) * stride
            element = element + line.reshape([-1 if other == mode else 1 for other in range(len(self.shape))])
        return Access(element, np.full(self.shape, Kind.IN_BOUNDS, np.uint8))

    def load(self, buffer: AnyArray) -> AnyArray:
        """The elements as an array of the memref's shape, taken from `buffer`, read in the order of its memory.

        Raises `AddressingError` for a buffer that is not a contiguous array of components or is too small.
        """
        report = RuleReport("Strided.load")
        check_count(report, self.shape)
        memory = self._memory(report, buffer, store=False)
        return memory[self.access().element]

    def store(self, buffer: AnyArray, values: AnyArray) -> None:
        """Write `values`, an array of the memref's shape and the buffer's type, into `buffer` in place.

        Raises `AddressingError` as `load`, for a read-only buffer, and for values of another shape or type.
        """
        report = RuleReport("Strided.store")
        if not isinstance(values, np.ndarray) or values.shape != self.shape:
            is_array = isinstance(values, np.ndarray)
            came = f"have shape {list(values.shape)}" if is_array else f"are {what_it_is(values)}"
            report.add(MATRIX, f"the values {came}", f"pass an array of shape {list(self.shape)}")
        elif isinstance(buffer, np.ndarray):
            check_same_type(report, buffer, values.dtype)
        memory = self._memory(report, buffer, store=True)
        memory[self.access().element] = values

    def lints(self) -> tuple[Violation, ...]:
        """The lint for elements that share a place, so that the result of a store depends on the order; or none."""
        report = RuleReport("Strided")
        if not _is_injective(self.shape, self.steps):
            report.add(
                ALIAS,
                f"with shape {self.shape} and strides {self.steps} different elements share places, or may",
                "store through a packed memref",
            )
        return tuple(report.violations)

    def _memory(self, report: RuleReport, buffer: AnyArray, store: bool) -> AnyArray:
        if check_buffer(report, buffer, store):
            check_component(report, buffer.dtype, "buffer")
            if self.last >= buffer.size:
                report.add(
                    TOO_SMALL,
                    f"the last element has index {self.last}, the buffer has {plural(buffer.size, 'element')}",
                    f"pass a buffer of at least {self.last + 1} elements",
                )
        report.done()
        return in_memory_order(buffer)


def _is_injective(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether each mode, in the order of their strides, steps over everything that the modes before it span."""
    reach = 0
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape, strict=True) if size > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True
