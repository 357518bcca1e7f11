"""The parameters of a tensor map under the CUDA driver's names, and what follows from them: counts, pitch, sizes.

Every list is innermost dimension first. `MapParameters` only holds legal values: creating one checks them
(`girih.addressing.tensor_map.rules`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, SupportsIndex, cast

from girih.addressing.errors import NOT_AN_INTEGER, Rule, RuleReport
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES, ElementType
from girih.addressing.tensor_map.swizzle import LINE, Swizzle

Mode = Literal["tiled", "im2col"]

SLICE_BYTES = {"none": 0, "16B": 16, "32B": 32}
"""Bytes of a channel slice of each interleave layout; 0 without one."""
OOB_FILLS = ("zero", "nan")
"""The fills of elements outside the tensor."""


def ceil_div(value: int, divisor: int) -> int:
    """`value / divisor`, rounded up."""
    return -(-value // divisor)


def round_up(value: int, multiple: int) -> int:
    """The next multiple of `multiple` from `value` on."""
    return ceil_div(value, multiple) * multiple


@dataclass(frozen=True, kw_only=True)
class MapParameters:
    """The parameters of a tensor map, of the tensor and of the box (004 5.5.1 to 5.5.4, names of the CUDA driver).

    - `mode`: `tiled` or `im2col`.
    - `dtype`: element type, a key of `ELEMENT_TYPES`.
    - `global_dim`: elements of each dimension; with interleave, dimension 0 counts W, and the last but one channel
      slices.
    - `global_strides`: bytes between neighbours in dimensions 1 to rank - 1.
    - `box_dim`: extent of the box (tiled); `element_strides`: traversal strides.
    - `lower_corner`, `upper_corner`: pixel box in W, H, D order; `channels_per_pixel`, `pixels_per_column` (im2col).
    - `interleave`, `swizzle`, `oob_fill`; `global_address` in bytes; `architecture` such as `sm_90a`.
    """

    mode: Mode
    dtype: str
    global_dim: tuple[int, ...]
    global_strides: tuple[int, ...]
    box_dim: tuple[int, ...] = ()
    element_strides: tuple[int, ...] = ()
    lower_corner: tuple[int, ...] = ()
    upper_corner: tuple[int, ...] = ()
    channels_per_pixel: int = 0
    pixels_per_column: int = 0
    interleave: str = "none"
    swizzle: str = "none"
    oob_fill: str = "zero"
    global_address: int = 0
    architecture: str = "sm_90a"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.global_dim)

    @property
    def element(self) -> ElementType:
        """The row of `ELEMENT_TYPES` that `dtype` names."""
        return ELEMENT_TYPES[self.dtype]

    @property
    def slice_bytes(self) -> int:
        """The bytes of one channel slice; 0 without interleave."""
        return SLICE_BYTES[self.interleave]

    @property
    def swizzling(self) -> Swizzle:
        """The swizzle as a `Swizzle`, which moves addresses."""
        return Swizzle(self.swizzle)

    @property
    def inner_elements(self) -> int:
        """The elements of dimension 0 in a box: W with interleave, channels in im2col mode."""
        return self.box_dim[0] if self.mode == "tiled" else self.channels_per_pixel

    @property
    def counts(self) -> tuple[int, ...]:
        """The positions that one copy visits in each dimension, innermost first (004 5.5.3.2); tiled mode only."""
        counts = [ceil_div(size, stride) for size, stride in zip(self.box_dim, self.element_strides, strict=True)]
        if self.slice_bytes:
            counts[self.rank - 2] = 1
        else:
            counts[0] = self.box_dim[0]
        return tuple(counts)

    @property
    def rows(self) -> int:
        """The rows of one copy: contiguous pieces in both memories, slices with interleave."""
        if self.mode == "im2col":
            return self.pixels_per_column
        return prod(self.counts) if self.slice_bytes else prod(self.counts[1:])

    @property
    def row_bytes(self) -> int:
        """The bytes of one row in shared memory, with the padding of sub-byte types, without gaps."""
        return self.slice_bytes or self.inner_elements * self.element.shared_bits // 8

    @property
    def row_pitch(self) -> int:
        """The bytes from row to row in shared memory: the span of the swizzle without interleave, else `row_bytes`."""
        return self.row_bytes if self.slice_bytes else self.swizzling.span or self.row_bytes

    @property
    def transaction_bytes(self) -> int:
        """The bytes that one load adds to its barrier: the packed payload with fills, without gaps."""
        return self.rows * (self.slice_bytes or self.element.bytes_of(self.inner_elements))

    @property
    def image_bytes(self) -> int:
        """The bytes of shared memory from the start of the box to its end."""
        size = self.rows * self.row_pitch
        return round_up(size, LINE) if self.slice_bytes and self.swizzle != "none" else size

    @property
    def spatial(self) -> slice:
        """The dimensions W, H, D in im2col mode: 1 .. rank - 2, or 0 .. rank - 3 with interleave."""
        return slice(0, self.rank - 2) if self.slice_bytes else slice(1, self.rank - 1)

    @property
    def row_extent(self) -> int:
        """The bytes of dimension 0 in global memory, for maps without interleave."""
        return self.element.bytes_of(self.global_dim[0])

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes between neighbours in every dimension; dimension 0 steps by a slice with interleave, else 0."""
        return (self.slice_bytes, *self.global_strides)


def whole(report: RuleReport, name: str, value: object, low: int, high: int, range_rule: Rule) -> int:
    """`value` as an `int`, also where it is out of range, so that later rules speak of the number that came.

    Notes a value outside `low` .. `high`, and one that is not an integer, for which the result is 0.
    """
    report.integer(name, value, low, high, range_rule)
    try:
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        return 0


def wholes(report: RuleReport, name: str, values: object, low: int, high: int, range_rule: Rule) -> tuple[int, ...]:
    """The values as `int`s, as `whole` gives them one by one; notes each, as `name[0]`, that is illegal."""
    return tuple(
        whole(report, f"{name}[{position}]", value, low, high, range_rule)
        for position, value in enumerate(as_tuple(values))
    )


def is_integral(report: RuleReport) -> bool:
    """Whether every number so far was an integer, so that rules about numbers make sense."""
    return all(violation.rule != NOT_AN_INTEGER.id for violation in report.violations)


def as_tuple(values: Any) -> tuple[Any, ...]:
    """A sequence as a tuple, a lone value as a tuple of itself; the entries are checked with the map."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes) and getattr(values, "ndim", 1) != 0:
        return tuple(values)
    return (values,)
