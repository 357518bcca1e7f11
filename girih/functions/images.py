"""`conv2d`: images convolved with filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from girih import kernels
from girih.functions.host import DTYPE_OF, HOST
from girih.functions.layouts import AxisView, elements, is_packed
from girih.functions.options import Option
from girih.functions.plans import FLOATING, ArrayFunction, CallPlan, FunctionCall, NewArray, Operand
from girih.functions.products import launch_of_products
from girih.functions.texts import accumulator, array_kernel, is_cpu, library_kernel, settled, sharing_groups
from girih.lazy_dataclass import dataclass

CHANNELS_LAST = (0, 2, 3, 1)
"""The axes of images x channels x height x width with the channels side by side."""
FILTERS = (2, 3, 1, 0)
"""The axes of filters x channels x height x width as the kernel takes them."""
PADDINGS = ("valid", "same")
ALIGNMENT = 16
"""The bytes at a multiple of which images begin that a kernel rearranges."""
PATCHES, PATCHES_OF_PLANES = 2**19, 2**20
"""The bytes of patches that a work-group multiplies with filters at a time: they stay in a cache."""
FEW_CHANNELS, MANY_PIXELS = 5, 256
"""Up to so many channels side by side are copied to planes first, whose rows are longer, for so many pixels."""
MANY_TAPS, MANY_STRIDED = 5, 10
"""The taps for each pixel of an image from which that pays, with stride 1 and with others."""
FEWEST, MOST, MOST_OF_PLANES = 32, 1024, 4096
"""The pixels whose patches are multiplied at a time, at least and at most."""


def conv2d(
    x: Any, weight: Any, bias: Any = None, *, stride: int = 1, padding: int | str = 0, dilation: int = 1,
    out: Any = None, target: str | None = None,
) -> Any:  # fmt: skip
    """Images convolved with filters, as torch's `conv2d` defines it, with zeros around the images.

    x is images x channels x height x width, weight is filters x channels x R x S, of one type, f16, bf16, f32 or f64;
    bias has an element of that type for each filter. The result is images x filters x P x Q of that type, with P =
    floor((height + 2 padding - dilation (R - 1) - 1) / stride) + 1, and Q likewise; sums are in f64 for f64, else in
    f32. `stride`, `padding` and `dilation` are the same for both axes; `padding` may be "valid", which is 0, or "same"
    for an odd filter and stride 1. The error is that of `matmul`, with K = channels R S, and of adding the bias in the
    type of x.

    Images whose channels are side by side (torch's `channels_last`) are used as they are, and the result lies so. On a
    CPU images in order C are, too, and the result is in order C; elsewhere, and in other layouts, x and the result are
    rearranged. On a CPU up to 5 channels side by side may be copied to order C, where that is faster. Raises
    `LaunchError`: `bind.dtype`, `bind.shape`, `bind.range` for a stride, a padding or a dilation that is not offered.
    """
    return _CONV2D.compute((x, weight, bias), (stride, padding, dilation), out, target)


def _build(problem: FunctionCall) -> CallPlan:
    x, weight, bias = problem.operand(0), problem.operand(1), problem.operands[2]
    library = problem.library
    _check_operands(problem, x, weight, bias)
    stride, pad, dilation = _options(problem, weight)
    sizes = [_size(problem, x, weight, axis, stride, pad, dilation) for axis in (2, 3)]
    shape = (x.shape[0], weight.shape[0], *sizes)
    planes = is_cpu(problem.target) and _is_packed(x) and (x.shape[1] == 1 or not _is_channels_last(x))
    last = _is_channels_last(x) and not planes
    made = NewArray(x.element, shape, CHANNELS_LAST if last else (0, 1, 2, 3))
    (out,) = problem.results(made)
    if not elements(shape):
        return CallPlan((made,), lambda arrays, outs: None, (True,))
    if not elements(x.shape) or not elements(weight.shape):
        problem.refuse("bind.shape", f"x has shape {x.shape} and weight has shape {weight.shape}: there is nothing to "
                       "sum up")  # fmt: skip
    if planes or (last and is_cpu(problem.target) and _suits_planes(problem, sizes, stride)):
        return _plan_of_planes(problem, made, stride, pad, dilation)
    convolve = (_by_patches if is_cpu(problem.target) else _by_tiles)(problem, shape, stride, pad, dilation)
    result = library.viewer(AxisView(CHANNELS_LAST, tuple(shape[a] for a in CHANNELS_LAST)), shape)
    is_final = convolve.element == x.element and (last if out is None else _is_channels_last(out)) and bias is None

    to_last = None if last else _to_channels_last(problem, x)
    plain = _is_packed(out if out is not None else Operand("out", x.element, shape, ()).packed(made.order))
    from_last = _from_channels_last(problem, shape, convolve.element == x.element and plain)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        pixels, filters, offsets = arrays
        if to_last is not None:
            pixels = to_last(pixels)
        y = outs[0] if is_final else library.empty(shape, convolve.element, CHANNELS_LAST)
        convolve.launch(pixels, filters, result(y))
        if offsets is not None:
            library.add_along(y, offsets, 1)
        if not is_final:
            from_last(outs[0], y)

    return CallPlan((made,), launch, (True,))


def _plan_of_planes(problem: FunctionCall, made: NewArray, stride: int, pad: int, dilation: int) -> CallPlan:
    """The plan for images in order C on a CPU: neither they nor filters in order C nor the result are rearranged.

    So the result is not where channels are to be side by side; images with such channels are copied.
    """
    x, weight, library = problem.operand(0), problem.operand(1), problem.library
    (out,) = problem.outs
    filters, depth = weight.shape[0], elements(weight.shape[1:])
    images, _, down, across = made.shape
    last = made.order == CHANNELS_LAST
    straight, in_planes = _is_packed(weight), _is_packed(x)
    is_final = out is None or (_is_channels_last if last else _is_packed)(out)
    taps = library.viewer(AxisView((0, 1, 2, 3), (filters, depth)), weight.shape)
    pixels = (images, down * across, filters) if last else (images, filters, down * across)
    flat = library.viewer(AxisView(made.order, pixels), made.shape)
    by = _pixel_by_pixel if _is_pixel_by_pixel(problem, stride, pad) else _by_planes
    convolve = by(problem, made, stride, pad, dilation)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        x, weight, offsets = arrays
        y = outs[0] if is_final else library.empty(made.shape, made.element, made.order)
        x = x if in_planes else library.copied(x, (0, 1, 2, 3))
        convolve(x, taps(weight if straight else library.copied(weight, (0, 1, 2, 3))), flat(y))
        if offsets is not None:
            library.add_along(y, offsets, 1)
        if not is_final:
            library.assign(outs[0], y)

    return CallPlan((made,), launch, (True,))


def _suits_planes(problem: FunctionCall, sizes: Sequence[int], stride: int) -> bool:
    """Whether copying channels to planes takes less than it saves, for so many pixels of the result."""
    _, channels, rows, columns = problem.operand(1).shape
    least = (MANY_TAPS if stride == 1 else MANY_STRIDED) * stride * stride
    return channels <= FEW_CHANNELS and elements(sizes) >= MANY_PIXELS and rows * columns >= least


def _is_pixel_by_pixel(problem: FunctionCall, stride: int, pad: int) -> bool:
    """Whether each pixel of the result comes from the same pixel of the image alone."""
    return problem.operand(1).shape[2:] == (1, 1) and (stride, pad) == (1, 0)


def _pixel_by_pixel(
    problem: FunctionCall, made: NewArray, stride: int, pad: int, dilation: int
) -> Callable[[Any, Any, Any], None]:
    """Products of filters and images, which are patches as they are: filters x channels, images x channels x pixels."""
    images, filters, down, across = made.shape
    channels = problem.operand(1).shape[1]
    a, b, c = (
        Operand(name, problem.operand(0).element, sizes, ()).packed(range(len(sizes)))
        for name, sizes in (
            ("weight", (filters, channels)),
            ("x", (images, channels, down * across)),
            ("out", (images, filters, down * across)),
        )
    )
    launch = launch_of_products(problem.library, problem.target, a, b, c)
    show = problem.library.viewer(AxisView((0, 1, 2, 3), b.shape), problem.operand(0).shape)
    return lambda x, weight, y: launch(weight, show(x), y)


def _by_planes(
    problem: FunctionCall, made: NewArray, stride: int, pad: int, dilation: int
) -> Callable[[Any, Any, Any], None]:
    """Products of patches of planes and filters; patches are copied into memory that each call allocates."""
    weight, library, element = problem.operand(1), problem.library, problem.operand(0).element
    images, _, down, across = made.shape
    _, _, rows, columns = weight.shape
    depth, area = elements(weight.shape[1:]), down * across
    groups = sharing_groups(problem.target)
    fitting = PATCHES_OF_PLANES // (depth * DTYPE_OF[element].itemsize)
    tile = _even_tile(area, across, min(max(fitting, FEWEST), MOST_OF_PLANES, -(-images * area // groups)))
    layers = min(groups, images * -(-area // tile))
    kernel = settled(array_kernel("convolution_planes", "convolution_planes", problem.target, type=element,
                                  last=made.order == CHANNELS_LAST), library)  # fmt: skip
    # Behind the patches is a row of the mask of each tap.
    patches = (layers, depth + columns, tile)
    as_it_is = library.viewer(AxisView((0, 1, 2), patches), patches)

    def launch(x: Any, taps: Any, y: Any) -> None:
        memory = as_it_is(library.empty(patches, element, (0, 1, 2)))
        kernel(stride, pad, dilation, rows, columns, across, x, taps, memory, y)

    return launch


def _even_tile(area: int, across: int, most: int) -> int:
    """The pixels of parts of an image that are as large, whole rows where these are short enough."""
    lines = across if across <= most < area else 1
    parts = ceil(area / min(most, area))
    return min(ceil(ceil(area / parts) / lines) * lines, area)


def _to_channels_last(problem: FunctionCall, x: Operand) -> Callable[[Any], Any]:
    """What makes images with channels side by side of others."""
    library = problem.library
    if not _turns_quickly(problem, x.shape) or not _is_packed(x):
        return lambda array: library.copied(array, CHANNELS_LAST)
    turn = settled(library_kernel(kernels.transposed_load, problem.target, type=x.element), library)
    images, channels, height, width = x.shape

    def copied(array: Any) -> Any:
        made = library.empty(x.shape, x.element, CHANNELS_LAST)
        planes = array.reshape(images, channels, height * width)
        pixels = made.transpose(CHANNELS_LAST).reshape(images, height * width, channels)
        for image in range(images):
            turn(planes[image], pixels[image])
        return made

    return copied


def _from_channels_last(problem: FunctionCall, shape: tuple[int, ...], is_plain: bool) -> Callable[[Any, Any], None]:
    """What copies images with channels side by side to a result; `is_plain` if that is packed in order C."""
    library = problem.library
    if not _turns_quickly(problem, shape) or not is_plain:
        return library.assign
    turn = settled(library_kernel(kernels.transposed_load, problem.target, type=problem.operand(0).element), library)
    images, channels, height, width = shape

    def assign(out: Any, made: Any) -> None:
        planes = out.reshape(images, channels, height * width)
        pixels = made.transpose(CHANNELS_LAST).reshape(images, height * width, channels)
        for image in range(images):
            turn(pixels[image], planes[image])

    return assign


def _turns_quickly(problem: FunctionCall, shape: tuple[int, ...]) -> bool:
    """Whether there is a kernel that rearranges images: it is faster than NumPy, and takes those that are aligned."""
    bytes_of_one = elements(shape[1:]) * DTYPE_OF[problem.operand(0).element].itemsize
    return problem.library is HOST and is_cpu(problem.target) and bytes_of_one % ALIGNMENT == 0


def _is_packed(one: Operand) -> bool:
    return is_packed(one.shape, one.steps, range(len(one.shape)))


@dataclass(frozen=True, slots=True)
class _Convolution:
    """What computes a convolution of images with channels side by side: `launch(x, weight, result)`.

    The result, with channels last, has elements of the type `element`.
    """

    launch: Callable[[Any, Any, Any], None]
    element: str


def _by_tiles(
    problem: FunctionCall, shape: tuple[int, ...], stride: int, pad: int, dilation: int
) -> _Convolution:  # fmt: skip
    """The kernel of the library."""
    x, weight, library = problem.operand(0), problem.operand(1), problem.library
    sums = accumulator(x.element)
    kernel = settled(library_kernel(kernels.convolution, problem.target, type=x.element, accumulator=sums,
                                    stride=stride, dilation=dilation), library)  # fmt: skip
    image = _image(problem)
    taps = library.viewer(AxisView(FILTERS, tuple(weight.shape[a] for a in FILTERS)), weight.shape)
    return _Convolution(lambda x, weight, y: kernel(pad, image(x), taps(library.copied(weight, FILTERS)), y), sums)


def _by_patches(
    problem: FunctionCall, shape: tuple[int, ...], stride: int, pad: int, dilation: int
) -> _Convolution:  # fmt: skip
    """Products of filters and patches, which work-groups copy into memory that each call allocates."""
    x, weight, library = problem.operand(0), problem.operand(1), problem.library
    if _is_pixel_by_pixel(problem, stride, pad):
        return _pixels_last(problem, shape)
    filters, channels, rows, columns = weight.shape
    depth, pixels = rows * columns * channels, shape[0] * shape[2] * shape[3]
    size = DTYPE_OF[x.element].itemsize
    groups = sharing_groups(problem.target)
    tile = min(max(PATCHES // (depth * size), FEWEST), MOST, -(-pixels // groups))
    layers = min(groups, -(-pixels // tile))
    kernel = settled(array_kernel("convolution", "convolution", problem.target, type=x.element), library)
    straight = _is_channels_last(weight)
    taps = library.viewer(AxisView(CHANNELS_LAST, (filters, depth)), weight.shape)
    image = _image(problem)
    flat = library.viewer(AxisView((0, 1, 2, 3), (pixels, filters)), tuple(shape[a] for a in CHANNELS_LAST))
    patches = (layers, tile, depth)
    as_it_is = library.viewer(AxisView((0, 1, 2), patches), patches)

    def launch(x: Any, weight: Any, y: Any) -> None:
        weight = weight if straight else library.copied(weight, CHANNELS_LAST)
        memory = as_it_is(library.empty(patches, problem.operand(0).element, (0, 1, 2)))
        kernel(stride, pad, dilation, rows, columns, shape[2], shape[3], image(x),
               taps(weight), memory, flat(y))  # fmt: skip

    return _Convolution(launch, x.element)


def _pixels_last(problem: FunctionCall, shape: tuple[int, ...]) -> _Convolution:
    """The product of images, whose channels are side by side, and filters of one pixel."""
    x, weight, library = problem.operand(0), problem.operand(1), problem.library
    (filters, channels), pixels = weight.shape[:2], shape[0] * shape[2] * shape[3]
    straight = _is_channels_last(weight)
    sizes = ("x", (pixels, channels)), ("out", (pixels, filters))
    a, c = (Operand(name, x.element, shape, ()).packed((0, 1)) for name, shape in sizes)
    b = Operand("weight", x.element, (channels, filters), (1, channels))
    launch = launch_of_products(library, problem.target, a, b, c)
    rows = library.viewer(AxisView(CHANNELS_LAST, a.shape), x.shape)
    taps = library.viewer(AxisView(CHANNELS_LAST, (filters, channels)), weight.shape)
    flat = library.viewer(AxisView((0, 1, 2, 3), c.shape), tuple(shape[a] for a in CHANNELS_LAST))

    def convolve(x: Any, weight: Any, y: Any) -> None:
        weight = weight if straight else library.copied(weight, CHANNELS_LAST)
        launch(rows(x), library.turned(taps(weight)), flat(y))

    return _Convolution(convolve, x.element)


def _image(problem: FunctionCall) -> Callable[[Any], Any]:
    shape = problem.operand(0).shape
    return problem.library.viewer(AxisView(CHANNELS_LAST, tuple(shape[a] for a in CHANNELS_LAST)), shape)


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
    return is_packed(one.shape, one.steps, CHANNELS_LAST)


def _options(problem: FunctionCall, weight: Operand) -> tuple[int, int, int]:
    """Stride, padding and dilation as numbers."""
    stride, padding, dilation = problem.options
    for name, value, least, most in (("stride", stride, 1, 64), ("dilation", dilation, 1, 65535)):
        _check_range(problem, name, value, least, most)
    if padding == "valid":
        return stride, 0, dilation
    if padding == "same":
        if stride != 1 or weight.shape[2] != weight.shape[3] or weight.shape[2] % 2 == 0:
            problem.refuse("bind.range", f"padding is 'same', with stride {stride} and filters of {weight.shape[2]} x "
                           f"{weight.shape[3]}; it needs stride 1 and filters of one odd size")  # fmt: skip
        return 1, dilation * (weight.shape[2] - 1) // 2, dilation
    _check_range(problem, "padding", padding, 0, 2**31 - 1)
    return stride, padding, dilation


def _check_range(problem: FunctionCall, name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        problem.refuse("bind.range", f"{name} is {value}; it must be from {least} to {most}")


_BOTH = ", the same for both axes"
_CONV2D = ArrayFunction(
    "conv2d",
    ("x", "weight", "bias"),
    _build,
    (
        Option("stride", integer=True, note=_BOTH),
        Option("padding", integer=True, words=PADDINGS, note=_BOTH),
        Option("dilation", integer=True, note=_BOTH),
    ),
    ("bias",),
)
