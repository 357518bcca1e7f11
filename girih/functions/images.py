"""`conv2d`: images convolved with filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from girih import kernels
from girih.functions.layouts import AxisView, elements
from girih.functions.plans import FLOATING, ArrayFunction, CallPlan, FunctionCall, NewArray, Operand
from girih.functions.texts import accumulator, library_kernel, settled

CHANNELS_LAST = (0, 2, 3, 1)
"""The axes of images x channels x height x width with the channels side by side."""
FILTERS = (2, 3, 1, 0)
"""The axes of filters x channels x height x width as the kernel takes them."""
PADDINGS = ("valid", "same")


def conv2d(
    x: Any, weight: Any, bias: Any = None, *, stride: int = 1, padding: int | str = 0, dilation: int = 1,
    out: Any = None, target: str | None = None,
) -> Any:  # fmt: skip
    """Images convolved with filters, as torch's `conv2d` defines it, with zeros around the images.

    x is images x channels x height x width, weight is filters x channels x R x S, of one type, f16, bf16, f32 or f64;
    bias has an element of that type for each filter. The result is images x filters x P x Q of that type, with
    P = floor((height + 2 padding - dilation (R - 1) - 1) / stride) + 1, and Q likewise; sums are in f64 for f64, else
    in f32. `stride`, `padding` and `dilation` are the same for both axes; `padding` may be "valid", which is 0, or
    "same" for an odd filter and stride 1.

    Kernels take images whose channels are side by side (torch's `channels_last`): such an x is used as it is, and the
    result lies so; another x, weight and result are rearranged. Raises `LaunchError`: `bind.dtype`, `bind.shape`,
    `bind.range` for a stride, a padding or a dilation that is not offered.
    """
    return _CONV2D((x, weight, bias), (stride, padding, dilation), out, target)


def _build(problem: FunctionCall) -> CallPlan:
    x, weight, bias = problem.operand(0), problem.operand(1), problem.operands[2]
    library = problem.library
    _check_operands(problem, x, weight, bias)
    stride, pad, dilation = _options(problem, weight)
    sizes = [_size(problem, x, weight, axis, stride, pad, dilation) for axis in (2, 3)]
    shape = (x.shape[0], weight.shape[0], *sizes)
    last = _is_channels_last(x)
    made = NewArray(x.element, shape, CHANNELS_LAST if last else (0, 1, 2, 3))
    (out,) = problem.results(made)
    if not elements(shape):
        return CallPlan((made,), lambda arrays, outs: None, (True,))
    if not elements(x.shape) or not elements(weight.shape):
        problem.refuse("bind.shape", f"x has shape {x.shape} and weight has shape {weight.shape}: there is nothing to "
                       "sum up")  # fmt: skip
    sums = accumulator(x.element)
    kernel = settled(library_kernel(kernels.convolution, problem.target, type=x.element, accumulator=sums,
                                    stride=stride, dilation=dilation), library)  # fmt: skip
    image = library.viewer(AxisView(CHANNELS_LAST, tuple(x.shape[a] for a in CHANNELS_LAST)), x.shape)
    taps = library.viewer(AxisView(FILTERS, tuple(weight.shape[a] for a in FILTERS)), weight.shape)
    result = library.viewer(AxisView(CHANNELS_LAST, tuple(shape[a] for a in CHANNELS_LAST)), shape)
    is_final = sums == x.element and (last if out is None else _is_channels_last(out)) and bias is None

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        pixels, filters, offsets = arrays
        if not last:
            pixels = library.copied(pixels, CHANNELS_LAST)
        y = outs[0] if is_final else library.empty(shape, sums, CHANNELS_LAST)
        kernel(pad, image(pixels), taps(library.copied(filters, FILTERS)), result(y))
        if offsets is not None:
            library.add_along(y, offsets, 1)
        if not is_final:
            library.assign(outs[0], y)

    return CallPlan((made,), launch, (True,))


def _check_operands(problem: FunctionCall, x: Operand, weight: Operand, bias: Operand | None) -> None:
    """Raise a `LaunchError` for other types, and for shapes that do not suit each other."""
    for one in (x, weight):
        problem.check_element(one, FLOATING)
        problem.check_same(one, x)
        if len(one.shape) != 4:
            wanted = "images x channels x height x width" if one is x else "filters x channels x height x width"
            problem.refuse("bind.shape", f"{one.name} has shape {one.shape}; it must have four axes, {wanted}")
    if x.shape[1] != weight.shape[1]:
        problem.refuse("bind.shape", f"x has shape {x.shape} and weight has shape {weight.shape}; axis 1, the "
                       "channels, must be the same")  # fmt: skip
    if bias is not None:
        problem.check_same(bias, x)
        if bias.shape != weight.shape[:1]:
            problem.refuse("bind.shape", f"bias has shape {bias.shape}; there are {weight.shape[0]} filters")


def _size(
    problem: FunctionCall, x: Operand, weight: Operand, axis: int, stride: int, pad: int, dilation: int
) -> int:  # fmt: skip
    """The size of the result along an axis."""
    free = x.shape[axis] + 2 * pad - dilation * (weight.shape[axis] - 1) - 1
    if free < 0 or not weight.shape[axis]:
        problem.refuse("bind.shape", f"x has shape {x.shape} and weight has shape {weight.shape}: along axis {axis} no "
                       f"filter fits into the image with padding {pad} and dilation {dilation}")  # fmt: skip
    return free // stride + 1


def _is_channels_last(one: Operand) -> bool:
    """Whether the channels of packed images lie side by side; so they do where both orders are the same."""
    packed = one.packed(CHANNELS_LAST).steps
    return all(size <= 1 or a == b for size, a, b in zip(one.shape, one.steps, packed, strict=True))


def _options(problem: FunctionCall, weight: Operand) -> tuple[int, int, int]:
    """Stride, padding and dilation as numbers."""
    stride, padding, dilation = problem.options
    for name, value, least, most in (("stride", stride, 1, 64), ("dilation", dilation, 1, 65535)):
        _check_number(problem, name, value, least, most)
    if isinstance(padding, str):
        if padding not in PADDINGS:
            problem.refuse("bind.range", f"padding is {padding!r}; it must be a number, 'valid' or 'same'")
        if padding == "valid":
            return int(stride), 0, int(dilation)
        if stride != 1 or weight.shape[2] != weight.shape[3] or weight.shape[2] % 2 == 0:
            problem.refuse("bind.range", f"padding is 'same', with stride {stride} and filters of {weight.shape[2]} x "
                           f"{weight.shape[3]}; it needs stride 1 and filters of one odd size")  # fmt: skip
        return 1, int(dilation) * (weight.shape[2] - 1) // 2, int(dilation)
    _check_number(problem, "padding", padding, 0, 2**31 - 1)
    return int(stride), int(padding), int(dilation)


def _check_number(problem: FunctionCall, name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        problem.refuse("bind.type", f"{name} must be an integer, the same for both axes; got {value!r}")
    if not least <= value <= most:
        problem.refuse("bind.range", f"{name} is {value}; it must be from {least} to {most}")


_CONV2D = ArrayFunction("conv2d", ("x", "weight", "bias"), _build, ("bias",))
