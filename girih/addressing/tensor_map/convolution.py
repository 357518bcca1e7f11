"""A convolution as im2col tensor copies: a tensor map and offsets per tap from filter, padding, stride, dilation, tile.

The input is a tensor C, W, H, D, N (innermost first). A column of the map is a run of output pixels in the order W, H,
D, N; each tap of the filter reads it with its own offsets, so that one matrix multiplication per tap and channel block
gives the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from girih.addressing.display import Drawn
from girih.addressing.errors import AddressingError, RuleReport, plural, rule
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.operands import OFFSET_LIMITS
from girih.addressing.tensor_map.parameters import as_tuple, ceil_div, round_up
from girih.addressing.tensor_map.shared_image import SharedImage

DIMENSIONS = rule("convolution.dimensions", "the input has 1 to 3 spatial dimensions between C and N", "004 5.5.4")
LENGTHS = rule("convolution.lengths", "every list has an entry for each of W, H and D", "004 5.5.4.1")
SIZE = rule("convolution.size", "input dimensions are 1 to 2^32", "driver")
FILTER = rule("convolution.filter", "a filter has 1 to 65536 taps in each dimension", "girih")
STRIDE = rule("convolution.stride", "a stride is 1 to 8, as the traversal strides of the map", "004 5.5.4.2, driver")
DILATION = rule("convolution.dilation", "a dilation is 1 to 65536", "girih")
PADDING = rule("convolution.padding", "a padding is 0 to 65536 pixels, one number or (before, after)", "girih")
EMPTY = rule("convolution.empty_output", "the padded input holds the dilated filter", "girih")
TAP_OFFSET = rule("convolution.tap_offset", "the offset of the last tap fits the instruction", "004 5.5.4.1")
PIXEL = rule("convolution.pixel", "a tile starts at an output pixel", "girih")
TAP = rule("convolution.tap", "a tap is one of the filter", "girih")

_LARGEST = 2**16


@dataclass(frozen=True, slots=True)
class ConvolutionCopy:
    """One copy of a plan: the operands of the instruction, and the output pixels, channels and tap that it serves.

    `first_pixel` counts output pixels in the order W, H, D, N, `channel` is the first of the channels, `tap` is in W,
    H, D order; `coordinates`, in elements, and `offsets` are innermost first (004 5.5.4).
    """

    first_pixel: int
    channel: int
    tap: tuple[int, ...]
    coordinates: tuple[int, ...]
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConvolutionPlan(Drawn):
    """A convolution as im2col copies (004 5.5.4), made by `plan_convolution`; lists of W, H, D are innermost first.

    - `tensor_map`: the map of the input; one copy gives `[pixels_per_column, channels_per_pixel]`.
    - `filter`, `stride`, `dilation`: one number of pixels for each of W, H, D; `padding`: (before, after) for each.
    - `output`: the number of output pixels in W, H, D.
    """

    tensor_map: TensorMap
    filter: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def pixels(self) -> int:
        """The number of output pixels of all images."""
        return prod(self.output) * self.tensor_map.global_dim[-1]

    @property
    def taps(self) -> tuple[tuple[int, ...], ...]:
        """The taps of the filter, each in W, H, D order, W fastest."""
        return tuple(tap[::-1] for tap in product(*(range(size) for size in reversed(self.filter))))

    def offsets(self, tap: Sequence[int]) -> tuple[int, ...]:
        """The im2col offsets of a tap, in W, H, D order: the tap times the dilation (004 5.5.4).

        Raises `AddressingError` for a tap outside the filter.
        """
        report = RuleReport("ConvolutionPlan.offsets")
        values = as_tuple(tap)
        if values not in self.taps:
            report.add(
                TAP,
                f"tap {values} lies outside the filter of {' x '.join(map(str, self.filter))}",
                "count taps from 0 in W, H, D order",
            )
        report.done()
        return tuple(int(step) * dilation for step, dilation in zip(values, self.dilation, strict=True))

    def coordinates(self, first_pixel: int, channel: int = 0) -> tuple[int, ...]:
        """The coordinates of the column that starts at an output pixel, counted W, H, D, N with W fastest.

        Raises `AddressingError` for a pixel that does not exist.
        """
        report = RuleReport("ConvolutionPlan.coordinates")
        pixel = report.integer("first_pixel", first_pixel, 0, self.pixels - 1, PIXEL)
        report.done()
        base = []
        for size, stride, (before, _) in zip(self.output, self.stride, self.padding, strict=True):
            pixel, position = divmod(pixel, size)
            base.append(position * stride - before)
        return (channel, *base, pixel)

    def copies(self) -> Iterator[ConvolutionCopy]:
        """The copies of the convolution: tiles of pixels, within them channel blocks, within them taps."""
        given = self.tensor_map
        for first in range(0, self.pixels, given.pixels_per_column):
            for channel in range(0, given.global_dim[0], given.channels_per_pixel):
                coordinates = self.coordinates(first, channel)
                for tap in self.taps:
                    yield ConvolutionCopy(first, channel, tap, coordinates, self.offsets(tap))

    def load(self, memory: NDArray[np.uint8], copy: ConvolutionCopy, shared_address: int = 0) -> SharedImage:
        """The shared memory that one copy writes from `shared_address` on; `memory` holds the bytes of the input.

        Raises `AddressingError` for operands that `TensorMap.load` refuses.
        """
        return self.tensor_map.load(memory, copy.coordinates, copy.offsets, shared_address)

    def direct(self, copy: ConvolutionCopy) -> NDArray[np.int64]:
        """The input elements of a copy, straight from the definition of a convolution.

        They are int64 `[pixels_per_column, channels_per_pixel]`, counted from the map's address, -1 for padding,
        channels past the end and pixels past the last image. Input = output * stride + tap * dilation - padding.
        """
        given = self.tensor_map
        pixel = copy.first_pixel + np.arange(given.pixels_per_column, dtype=np.int64)
        strides = [size * 8 // given.element.bits for size in given.global_strides]
        element, inside = np.zeros(len(pixel), np.int64), np.ones(len(pixel), np.bool_)
        for axis, extent in enumerate(self.output):
            pixel, position = np.divmod(pixel, extent)
            read = position * self.stride[axis] + copy.tap[axis] * self.dilation[axis] - self.padding[axis][0]
            inside &= (read >= 0) & (read < given.global_dim[axis + 1])
            element += read * strides[axis]
        inside &= pixel < given.global_dim[-1]
        element += pixel * strides[-1]
        channel = copy.channel + np.arange(given.channels_per_pixel, dtype=np.int64)
        return np.where(inside[:, None] & (channel < given.global_dim[0]), element[:, None] + channel, -1)

    def verify(self, copies: Sequence[ConvolutionCopy] | None = None) -> bool:
        """Whether these copies, or all where None, touch exactly the elements that `direct` gives for them."""
        chosen = self.copies() if copies is None else copies
        return all(
            np.array_equal(self.tensor_map.access(copy.coordinates, copy.offsets).element, self.direct(copy))
            for copy in chosen
        )


def plan_convolution(
    *,
    dtype: str,
    global_dim: Sequence[int],
    filter: Sequence[int],
    padding: Sequence[int | tuple[int, int]] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    channels_per_pixel: int,
    pixels_per_column: int,
    global_strides: Sequence[int] | None = None,
    swizzle: str = "none",
    global_address: int = 0,
    architecture: str = "sm_90a",
) -> ConvolutionPlan:
    """The im2col tensor map of a convolution, and the offsets of every tap (004 5.5.4).

    `dtype` is the element type, such as `f16`; `global_dim` the size of the input, C, W, [H, [D,]] N, in elements.
    `filter`, `padding` (a number or (before, after)), `stride` and `dilation` are in pixels and run over W, H, D; a
    tile is `pixels_per_column` output pixels of `channels_per_pixel` channels. `global_strides` and `global_address`
    are bytes; strides are dense where None. `swizzle` and `architecture` are those of the map. Padding is filled with
    zeros. Raises one `AddressingError` with every rule of the convolution that is broken, and those of the map.
    """
    report = RuleReport("plan_convolution")
    sizes = report.integers("global_dim", as_tuple(global_dim), 1, 2**32, SIZE)
    if not 3 <= len(sizes) <= 5:
        report.add(
            DIMENSIONS,
            f"global_dim has {plural(len(sizes), 'dimension')}",
            "give C, W, N, or C, W, H, N, or C, W, H, D, N",
        )
    report.done()
    taps, steps, spread, margins = _lists(len(sizes) - 2, filter, stride, dilation, padding, report)
    report.done()
    reach = tuple((size - 1) * step for size, step in zip(taps, spread, strict=True))
    output = _output(sizes[1:-1], margins, reach, steps, report)
    report.done()
    try:
        tensor_map = TensorMap.im2col(
            dtype=dtype,
            global_dim=sizes,
            global_strides=_dense(sizes, dtype) if global_strides is None else global_strides,
            lower_corner=[-before for before, _ in margins],
            upper_corner=[after - far for (_, after), far in zip(margins, reach, strict=True)],
            channels_per_pixel=channels_per_pixel,
            pixels_per_column=pixels_per_column,
            element_strides=(1, *steps, 1),
            swizzle=swizzle,
            global_address=global_address,
            architecture=architecture,
        )
    except AddressingError as error:
        raise AddressingError(report.what, error.violations) from None
    return ConvolutionPlan(tensor_map, taps, margins, steps, spread, output)


def _lists(
    spatial: int, filter: object, stride: object, dilation: object, padding: object, report: RuleReport
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Filter, stride, dilation and padding, an entry for each spatial dimension."""
    taps = report.integers("filter", as_tuple(filter), 1, _LARGEST, FILTER)
    steps = report.integers("stride", _ones(stride, spatial), 1, 8, STRIDE)
    spread = report.integers("dilation", _ones(dilation, spatial), 1, _LARGEST, DILATION)
    margins = _padding(padding, spatial, report)
    for name, values in (("filter", taps), ("stride", steps), ("dilation", spread), ("padding", margins)):
        if len(values) != spatial:
            message = (
                f"{name} is given for {plural(len(values), 'dimension')}, the input has {', '.join('WHD'[:spatial])}"
            )
            report.add(LENGTHS, message, f"give {plural(spatial, 'number')}, W first")
    return taps, steps, spread, margins


def _ones(values: object, count: int) -> tuple[int, ...]:
    return (1,) * count if values is None else as_tuple(values)


def _padding(padding: object, count: int, report: RuleReport) -> tuple[tuple[int, int], ...]:
    """The padding as (before, after) for each dimension."""
    pairs = []
    for position, value in enumerate((0,) * count if padding is None else as_tuple(padding)):
        both = as_tuple(value)
        if len(both) not in (1, 2):
            report.add(
                PADDING, f"padding[{position}] has {plural(len(both), 'number')}", "give one, or (before, after)"
            )
            both = (0,)
        before, *after = report.integers(f"padding[{position}]", both, 0, _LARGEST, PADDING)
        pairs.append((before, *after) if after else (before, before))
    return tuple((pair[0], pair[1]) for pair in pairs)


def _output(
    sizes: Sequence[int],
    margins: Sequence[tuple[int, int]],
    reach: Sequence[int],
    steps: Sequence[int],
    report: RuleReport,
) -> tuple[int, ...]:
    """The output pixels in W, H, D; notes an input that leaves none, and taps beyond the range of the offsets."""
    output = []
    limit = OFFSET_LIMITS[len(sizes) + 2]
    for name, size, (before, after), far, step in zip("WHD", sizes, margins, reach, steps, strict=False):
        room = size + before + after - far
        if room < 1:
            message = f"in {name} the filter spans {far + 1} of {size + before + after} padded pixels"
            report.add(EMPTY, message, f"pad by {1 - room} more, or choose a smaller filter")
        if far > limit:
            message = f"in {name} the last tap is {far} pixels away, offsets reach {limit}"
            report.add(TAP_OFFSET, message, "plan parts of the filter one by one")
        output.append(ceil_div(max(room, 1), step))
    return tuple(output)


def _dense(sizes: Sequence[int], dtype: str) -> tuple[int, ...]:
    """The strides of a dense tensor in bytes, pixels padded to 16 or 32 bytes; those of u8 for an unknown type."""
    element = ELEMENT_TYPES[dtype if isinstance(dtype, str) and dtype in ELEMENT_TYPES else "u8"]
    strides = [round_up(ceil_div(sizes[0] * element.bits, 8), 32 if element.is_padded else 16)]
    for size in sizes[1:-1]:
        strides.append(strides[-1] * size)
    return tuple(strides)
