"""The arguments of trials: copies with the same order and gaps, on their own device or on the host, and comparisons."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from girih.addressing import BoundTensorMap
from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.devices import device_of
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.scalars import DTYPES
from girih.arguments.views import as_array
from girih.bench.measuring.work import TOLERANCES, compare
from girih.source import NOWHERE

Array = np.ndarray[Any, Any]

ALIGNMENT = 256
"""In bytes, of the copies on the host."""

_NAMES = {dtype: str(type) for type, dtype in DTYPES.items()}


def copied(arguments: Sequence[object]) -> tuple[Any, ...]:
    """The arguments with memory of their own, where they are, in the same order and with the same gaps.

    An array that is given twice is one array again. Raises `TypeError` for an array that cannot be copied.
    """
    return _each(arguments, _copied_array)


def on_host(arguments: Sequence[object]) -> tuple[Any, ...]:
    """The arguments with memory of their own on the host, as arrays of NumPy, in the same order and with the same gaps.

    Raises `TypeError` for an array that cannot be copied.
    """
    return _each(arguments, fetched)


def _each(arguments: Sequence[object], one: Any) -> tuple[Any, ...]:
    known: dict[int, object] = {}
    return tuple(_changed(value, one, known) for value in arguments)


def _changed(value: object, one: Any, known: dict[int, object]) -> object:
    """An argument with its arrays replaced by what `one` makes of them."""
    if id(value) in known:
        return known[id(value)]
    match value:
        case list() | tuple() if value and not all(isinstance(v, int | float | complex | str | type) for v in value):
            made: object = type(value)(_changed(v, one, known) for v in value)
        case Uninitialized():
            made = Uninitialized(_changed(value.array, one, known))
        case Group():
            arrays = [_changed(v, one, known) for v in value.arrays]
            made = Group(arrays, value.offset, value.shapes)
        case BoundTensorMap():
            array: Any = _changed(value.array, one, known)
            made = value.tensor_map.bind(array)
        case _:
            made = one(value) if hasattr(value, "shape") and not isinstance(value, np.generic) else copy.copy(value)
    known[id(value)] = made
    return made


def _copied_array(array: Any) -> object:
    """A copy of an array of any library."""
    if isinstance(array, np.ndarray):
        return _laid_out(array, array.strides)
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        made = torch.empty_strided(array.shape, array.stride(), dtype=array.dtype, device=array.device)
        made.copy_(array)
        return made
    duplicate = getattr(array, "copy", None)
    if callable(duplicate):
        try:
            return duplicate(order="K")
        except TypeError:
            return duplicate()
    try:
        return copy.deepcopy(array)
    except Exception as error:
        raise TypeError(f"girih.tune cannot copy a {type(array).__name__}, whose launches would change it: "
                        f"{error or type(error).__name__}; pass arrays of NumPy, torch or CuPy") from error  # fmt: skip


def fetched(array: Any) -> Array:
    """A copy of an array of any library as one of NumPy, with the same strides. Raises `TypeError`."""
    if isinstance(array, np.ndarray):
        return _laid_out(array, array.strides)
    on_device = device_of(array) is not None
    for name in ("get", "cpu", "numpy") if on_device else ():
        if callable(fetch := getattr(array, name, None)):
            return _laid_out(_viewed(fetch()), _strides(array))
    try:
        return _laid_out(_viewed(array), _strides(array))
    except TypeError as error:
        raise TypeError(f"girih.tune cannot read a {type(array).__name__} on the host: {error}; pass arrays of NumPy, "
                        "torch or CuPy") from error  # fmt: skip


def _viewed(value: object) -> Array:
    """An array of the host as one of NumPy. Raises `TypeError`."""
    report = ArgumentReport()
    found = as_array(value, ArgumentPlace("", 1, NOWHERE), report)
    if found is None:
        raise TypeError("; ".join(d.message.removeprefix("argument 1, %: ") for d in report.diagnostics))
    return found


def _strides(array: Any) -> tuple[int, ...] | None:
    """The strides of an array in bytes; None for order C."""
    if callable(stride := getattr(array, "stride", None)):
        return tuple(step * array.element_size() for step in stride())
    found = getattr(array, "strides", None)
    return None if found is None else tuple(found)


def _laid_out(array: Array, strides: tuple[int, ...] | None) -> Array:
    """A copy of an array with strides, at an address that no kernel's promise of alignment refuses."""
    if strides is None or not array.size or any(stride < 0 for stride in strides):
        return array.copy("K")
    reach = sum((n - 1) * stride for n, stride in zip(array.shape, strides, strict=True)) + array.itemsize
    room = np.zeros(reach + ALIGNMENT, np.uint8)
    made: Array = np.ndarray(array.shape, array.dtype, room, -room.ctypes.data % ALIGNMENT, strides)
    made[...] = array
    return made


def compare_all(found: Sequence[object], expected: Sequence[object], names: Sequence[str]) -> None:
    """Compare arguments after a launch with the interpreter's. Raises `WrongResultError`."""
    for name, (ours, theirs) in zip(names, zip(found, expected, strict=True), strict=False):
        for a, b in zip(_arrays(ours), _arrays(theirs), strict=True):
            both_nan = (a != a) & (b != b)
            equal = both_nan | (a == b)
            finite = np.abs(np.where(np.isfinite(b), b, 0)) if a.dtype.kind not in "iub" else np.zeros(1)
            bound = TOLERANCES.get(_NAMES.get(a.dtype, ""), 0.0) * float(finite.max(initial=0))
            compare(np.where(equal, 0, a), np.where(equal, 0, b), bound, name, "the interpreter")


def _arrays(value: object) -> list[Array]:
    match value:
        case Uninitialized() | BoundTensorMap():
            return _arrays(value.array)
        case Group():
            return _arrays(value.arrays)
        case list() | tuple():
            return [array for one in value for array in _arrays(one)]
        case _:
            return [fetched(value)] if hasattr(value, "shape") and not isinstance(value, np.generic) else []
