"""Arrays against memref types: element type, order, mode sizes and strides (003 "Memref type").

Inside, the axes of an array are in the order of modes; messages show arrays as the caller has them.

An array that is accepted is addressed by the strides of its claim exactly where NumPy has the element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from girih.arguments.claims import Claim
from girih.arguments.report import ArgumentPlace, ArgumentReport, numbers
from girih.arguments.scalars import DTYPES
from girih.arguments.views import address, as_array
from girih.diagnostics import plural
from girih.ir.types import Extent, MemRef, packed_strides


def claim_array(
    type: MemRef, value: object, place: ArgumentPlace, report: ArgumentReport, *, written: bool,
    right: Claim | None = None,
) -> Claim | None:  # fmt: skip
    """The array as the type addresses it; None where it cannot, after everything that is wrong was reported.

    `right` was accepted for the same type: an array of the same dtype, shape and strides is right too, where it lies at
    a multiple of its elements' alignment.
    """
    given = as_array(value, place, report, DTYPES[type.element])
    if given is None:
        return None
    array = given.T if place.order == "C" else given
    dtype = DTYPES[type.element]
    if right is not None and _is_alike(array, right.array) and address(array) % dtype.alignment == 0:
        return Claim(place, dtype, array, right.shape, right.strides, written, False)
    addressable = check_dtype(type, array, place, report)
    if written and not array.flags.writeable:
        hint = "pass memory that may be changed: no broadcast view, no read-only buffer"
        report.add("bind.read_only", place, "the kernel writes to it, but the array is read-only", hint)
    if not _check_order(type, array, place, report):
        return None
    _check_shape(type, array, place, report)
    if array.itemsize:
        check_strides(type, array, place, report)
    if not addressable or any(stride_flaw(mode, array, place) for mode in significant(array)):
        return None
    if array.size and address(array) % dtype.alignment:
        hint = f"let the array start at a multiple of {dtype.alignment} bytes in its buffer"
        report.add("bind.alignment", place, f"its data does not start at a multiple of {dtype.alignment} bytes", hint)
    return Claim(place, dtype, array, array.shape, effective_strides(type, array), written, False)


def _is_alike(array: NDArray[Any], right: NDArray[Any] | None) -> bool:
    return (
        right is not None
        and array.dtype == right.dtype
        and array.shape == right.shape
        and array.strides == right.strides
        and array.flags.writeable == right.flags.writeable
    )


def null_claim(type: MemRef, place: ArgumentPlace) -> Claim:
    """An unassociated memref; its dynamic modes have size 0."""
    shape = tuple(size or 0 for size in type.shape)
    return Claim(place, DTYPES[type.element], None, shape, strides_for(type, shape, {}), False, False)


def effective_strides(type: MemRef, array: NDArray[Any]) -> tuple[int, ...]:
    """The strides in elements; those that no two elements show are those of the type, or as if packed."""
    known = {mode: array.strides[mode] // array.itemsize for mode in significant(array)}
    return strides_for(type, array.shape, known)


def strides_for(type: MemRef, shape: Sequence[int], told: Mapping[int, int]) -> tuple[int, ...]:
    """The strides of all modes for a shape: those in `told`, and otherwise those of the type, or as if packed."""
    strides: list[int] = []
    packed = 1
    for mode, (size, static) in enumerate(zip(shape, type.strides, strict=True)):
        stride = told.get(mode, packed if static is None else static)
        strides.append(stride)
        packed = stride * max(size, 1)
    return tuple(strides)


def significant(array: NDArray[Any]) -> list[int]:
    """The axes whose strides matter: more than one element along them, in an array that has elements."""
    return [mode for mode, size in enumerate(array.shape) if size > 1] if array.size else []


def check_dtype(type: MemRef, array: NDArray[Any], place: ArgumentPlace, report: ArgumentReport) -> bool:
    """Whether an array has the element type of a memref; reports another type."""
    expected, given = DTYPES[type.element], array.dtype
    if given == expected:
        return True
    if given.newbyteorder() == expected:
        hint = f"allocate it with dtype={dtype_name(expected)}, in the byte order of this machine"
        report.add(
            "bind.byte_order",
            place,
            f"{place.declared(type)} takes native {expected}; got swapped bytes ({given.str})",
            hint,
        )
        return False
    message = f"{place.declared(type)} takes elements of dtype {expected}; got {_describe(array, place)}"
    if expected.name in EIGHT_BIT_DTYPES and given.name in EIGHT_BIT_DTYPES:
        mine, its = EIGHT_BIT_DTYPES[expected.name], EIGHT_BIT_DTYPES[given.name]
        message += f": {expected} has {mine}; {given} has {its}, so the same bits are other numbers"
    report.add("bind.dtype", place, message, _dtype_hint(expected, given, place))
    return False


EIGHT_BIT_DTYPES = {
    "float8_e4m3fn": "4 exponent bits, bias 7, NaN, no infinity",
    "float8_e5m2": "5 exponent bits, bias 15, infinities and NaN",
    "float8_e3m4": "3 exponent bits, bias 3, infinities and NaN",
    "float8_e4m3": "4 exponent bits, bias 7, infinities and NaN",
    "float8_e4m3b11fnuz": "4 exponent bits, bias 11, one NaN, no infinity, no -0",
    "float8_e4m3fnuz": "4 exponent bits, bias 8, one NaN, no infinity, no -0",
    "float8_e5m2fnuz": "5 exponent bits, bias 16, one NaN, no infinity, no -0",
    "float8_e8m0fnu": "8 exponent bits, bias 127, one NaN, powers of two alone",
}
"""The floats of eight bits that `ml_dtypes` has, by name, with what tells them apart."""


def _dtype_hint(expected: np.dtype[Any], given: np.dtype[Any], place: ArgumentPlace) -> str:
    """A way to pass an array of another dtype, in words."""
    if given.itemsize == expected.itemsize:
        if given.kind == "u" and expected.kind == "i":
            return f"pass {place.name}.view({dtype_name(expected)}), the same memory as signed integers"
        eight_bits, bytes_of = expected.name in EIGHT_BIT_DTYPES, given.name in ("uint8", "int8")
        if (eight_bits and bytes_of) or (given.name in EIGHT_BIT_DTYPES and expected.name == "int8"):
            return f"if its bytes are such numbers, pass {place.name}.view({dtype_name(expected)}), the same memory"
        if given.type is np.void and given.fields is None and is_foreign(expected):
            return f"a .npy file forgets this dtype: pass {place.name}.view({dtype_name(expected)}), the same memory"
    return f"allocate it with dtype={dtype_name(expected)}"


def _check_order(type: MemRef, array: NDArray[Any], place: ArgumentPlace, report: ArgumentReport) -> bool:
    if array.ndim == type.order:
        return True
    hint = _order_hint(type, array, place)
    modes, axes = plural(type.order, "mode"), plural(type.order, "axis", "axes")
    message = f"{place.declared(type)} has {modes}, so it takes an array with {axes}; got {_describe(array, place)}"
    report.add("bind.order", place, message, hint)
    return False


def _order_hint(type: MemRef, array: NDArray[Any], place: ArgumentPlace) -> str | None:
    """A view of the array that has as many axes as the memref has modes, in words, where one fits."""
    if type.order == 0:
        return "pass a 0-d array, for instance np.zeros((), dtype), or the 0-d view A[0, ...]"
    c = place.order == "C"
    if array.ndim + 1 == type.order:
        view, says = array[..., None], f"pass {place.name}[{'None' if c else '..., None'}], whose last mode has size 1"
    elif array.ndim - 1 == type.order and array.shape[-1]:
        view, says = array[..., 0], f"pass {place.name}[{'0' if c else '..., 0'}], or another part with fewer axes"
    else:
        return None
    fits = view.itemsize and _suits(type.shape, view.shape) and _stride_problem(type, view, place) is None
    return says if fits else None


def _check_shape(type: MemRef, array: NDArray[Any], place: ArgumentPlace, report: ArgumentReport) -> None:
    modes = [i for i, size in enumerate(type.shape) if size is not None and size != array.shape[i]]
    if not modes:
        return
    wrong = ", ".join(f"{place.mode(i, type.order)} must be {type.shape[i]}, not {array.shape[i]}" for i in modes)
    hint = place.open_sizes
    if array.ndim > 1 and _suits(type.shape, array.shape[::-1]):
        hint = f"{place.name}.T has that shape: allocate the array transposed"
        if _stride_problem(type, array.T, place) is None:
            hint += f", or pass {place.name}.T if that is meant"
            hint += f"; {place.other_order}" if place.other_order else ""
    takes = f"{place.declared(type)} takes shape {numbers(place.by_axis(type.shape))}"
    report.add("bind.shape", place, f"{takes}; got {_describe(array, place)}: {wrong}", hint)


def _suits(declared: Sequence[Extent], shape: Sequence[int]) -> bool:
    """Whether a shape has the sizes that are declared."""
    return all(size in (None, given) for size, given in zip(declared, shape, strict=True))


def check_strides(
    type: MemRef, array: NDArray[Any], place: ArgumentPlace, report: ArgumentReport, hint: str | None = None
) -> bool:
    """Whether the strides of an array are those of a memref; a problem is reported, with the hint or one of its own."""
    problem = _stride_problem(type, array, place)
    if problem:
        code, needs, wrong = problem
        message = f"{place.declared(type)} {needs}; got {_describe(array, place)}: {wrong}"
        report.add(code, place, message, hint or _layout_hint(type, array, place))
    return problem is None


def _stride_problem(type: MemRef, array: NDArray[Any], place: ArgumentPlace) -> tuple[str, str, str] | None:
    """Code, what the type needs, and what is wrong with the strides; None where they fit."""
    modes = significant(array)
    flaws = [flaw for mode in modes if (flaw := stride_flaw(mode, array, place))]
    if flaws:
        return "bind.layout", "needs positive strides of whole elements", ", ".join(flaws)
    strides = {mode: array.strides[mode] // array.itemsize for mode in modes}
    expected = _expected_strides(type, array.shape)
    wrong = [
        f"{place.mode(mode, array.ndim)} must have stride {static}, not {strides[mode]}"
        for mode in modes
        if (static := expected[mode]) is not None and static != strides[mode]
    ]
    if wrong:
        return "bind.stride", f"takes strides {numbers(place.by_axis(expected))} in elements", ", ".join(wrong)
    overlap = _overlap(array.shape, strides, place)
    if not overlap:
        return None
    return "bind.layout", "needs stride times size of a mode to be at most the next stride", overlap


def _expected_strides(type: MemRef, shape: Sequence[int]) -> tuple[Extent, ...]:
    """The strides of the type; a packed type follows the shape, so that a wrong shape is not reported twice."""
    if type.strides != packed_strides(type.shape):
        return type.strides
    packed = packed_strides(shape)
    return tuple(None if given is None else stride for given, stride in zip(type.strides, packed, strict=True))


def stride_flaw(mode: int, array: NDArray[Any], place: ArgumentPlace) -> str | None:
    """The reason, in words, why the stride of an axis cannot be that of a mode; None where it can."""
    stride, named = array.strides[mode], place.mode(mode, array.ndim)
    if stride == 0:
        return f"{named} has stride 0, all its elements are the same one (a broadcast view)"
    if stride < 0:
        return f"{named} runs backwards"
    if stride % array.itemsize:
        distance, size = plural(stride, "byte"), plural(array.itemsize, "byte")
        return f"{named} has a stride of {distance}, not a whole number of elements of {size}"
    return None


def _overlap(shape: Sequence[int], strides: dict[int, int], place: ArgumentPlace) -> str:
    """The first break of S(i-1) * s(i-1) <= S(i) (003 "Strided layout") among modes whose strides matter, or ""."""
    modes = list(strides)
    for mode, following in pairwise(modes):
        if strides[mode] * shape[mode] > strides[following]:
            first, second = (place.mode(number, len(shape)) for number in (mode, following))
            step = f"{first} has stride {strides[mode]} times size {shape[mode]}"
            return f"{step}, more than the stride {strides[following]} of {second}"
    return ""


def _layout_hint(type: MemRef, array: NDArray[Any], place: ArgumentPlace) -> str:
    """A way to pass the array that also brings results back, in words."""
    modes = significant(array)
    shape = tuple(given if size is None else size for size, given in zip(type.shape, array.shape, strict=True))
    fresh = _fresh(type, shape, place)
    if any(stride_flaw(mode, array, place) for mode in modes):
        return fresh
    strides = {mode: array.strides[mode] // array.itemsize for mode in modes}
    if not _overlap(array.shape, strides, place):
        open_strides = place.open_strides([strides.get(mode) for mode in range(array.ndim)])
        return f"{fresh}, or declare the parameter with {open_strides}" if open_strides else fresh
    if _suits(type.shape, array.shape[::-1]) and _stride_problem(type, array.T, place) is None:
        turned = f"{fresh}, or pass {place.name}.T if the transpose is meant"
        return f"{turned}; {place.other_order}" if place.other_order else turned
    reversed_strides = {array.ndim - 1 - mode: strides[mode] for mode in reversed(modes)}
    if not _overlap(array.shape[::-1], reversed_strides, place):
        return f"{fresh}, or pass {place.name}.T to a kernel written for the transpose"
    return fresh


def _fresh(type: MemRef, shape: tuple[int, ...], place: ArgumentPlace) -> str:
    """A way to get an array of a shape for a type, in words: to allocate it, or, where none fits, another type."""
    strides = strides_for(type, shape, {})
    if 0 in shape or not _overlap(shape, {mode: strides[mode] for mode, size in enumerate(shape) if size > 1}, place):
        return f"allocate it with {_allocation(type, shape, place)}"
    no_array = f"no array of shape {place.by_axis(shape)} has strides that the type takes"
    open_strides = place.open_strides([None] * type.order)
    return f"{no_array}; leave them open with {open_strides}" if open_strides else no_array


def _allocation(type: MemRef, shape: tuple[int, ...], place: ArgumentPlace) -> str:
    """The Python expression for an array of a shape with the strides of a type, as if packed where they are open."""
    dtype = DTYPES[type.element]
    strides = strides_for(type, shape, {})
    axes = place.by_axis(shape)
    if strides == packed_strides(shape):
        order = "" if place.order == "C" else ', order="F"'
        return f"np.empty({axes}, {dtype_name(dtype)}{order})"
    steps = [stride if size > 1 else 0 for size, stride in zip(shape, strides, strict=True)]
    extent = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True) if size)
    memory = f"np.empty({extent}, {dtype_name(dtype)})"
    if type.order == 1:
        return f"{memory}[::{strides[0]}]"
    in_bytes = place.by_axis([step * dtype.itemsize for step in steps])
    if dtype.itemsize == 1 and is_foreign(dtype):
        return f"np.ndarray({axes}, {dtype_name(dtype)}, {memory}, strides={in_bytes})"
    return f"np.lib.stride_tricks.as_strided({memory}, {axes}, {in_bytes})"


def _describe(array: NDArray[Any], place: ArgumentPlace) -> str:
    """The dtype, the shape and the strides in elements of an array, by its axes, as messages give them."""
    size = array.itemsize or 1
    whole = all(stride % size == 0 for stride in array.strides)
    strides = numbers(stride // size if whole else stride for stride in place.by_axis(array.strides))
    unit = "" if whole else " bytes"
    return f"{array.dtype} array of shape {place.by_axis(array.shape)}, strides {strides}{unit}"


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The dtype as Python code names it."""
    return f"{'ml_dtypes' if is_foreign(dtype) else 'np'}.{dtype.name}"


def is_foreign(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of `ml_dtypes`, which `.npy` files and array interfaces cannot name."""
    return dtype.type.__module__ == ml_dtypes.__name__
