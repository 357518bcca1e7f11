"""The quick keys of calls: calls with equal keys go to one variant, as far as types and strides decide.

A key takes a fraction of a microsecond. It may leave out what the variant's launch checks anyway: whether an array has
the declared element type, and which sizes are 1. So a launch that is refused is looked at again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from girih.arguments.scalars import DTYPES
from girih.front.python.signature import Declared
from girih.ir.types import NUMBERS

Key = tuple[object, ...]
Described = Callable[[Any], object]

_IN_ORDER_C = True
"""What a key has of an array in order C whose last axis has no gaps; of another one it has the strides."""


def key_maker(parameters: Sequence[Declared]) -> Callable[[Sequence[object]], Key | None]:
    """The function from arguments to their key, which is None where a call has to be looked at each time."""
    arrays = [(number, p) for number, p in enumerate(parameters) if p.kind == "array"]
    constants = [number for number, p in enumerate(parameters) if p.kind == "constant"]
    if any(p.kind in ("group", "tensor_map") for p in parameters):
        return _no_key
    variables = {p.element for _, p in arrays}
    if any(isinstance(p.element, TypeVar) and p.element not in variables for p in parameters):
        return _no_key
    return _maker([(number, p.rank or 0, _bytes(p)) for number, p in arrays], constants)


def _bytes(parameter: Declared) -> int:
    """The bytes of an element, 0 where the array decides its type."""
    element = parameter.element
    return DTYPES[NUMBERS[element]].itemsize if isinstance(element, str) else 0


def _no_key(arguments: Sequence[object]) -> None:
    return None


def _maker(arrays: list[tuple[int, int, int]], constants: list[int]) -> Callable[[Sequence[object]], Key | None]:
    ndarray = np.ndarray

    def key(arguments: Sequence[object]) -> Key | None:
        found: list[object] = []
        for number, rank, size in arrays:
            array: Any = arguments[number]
            if array.__class__ is not ndarray:
                described = _described(array)
                if described is None:
                    return None
                found.append(described)
                continue
            if not size:
                dtype = array.dtype
                size = dtype.itemsize
                found.append(dtype.num)
            strides = array.strides
            if len(strides) != rank:
                return None
            if rank == 2:
                found.append(strides[1] == size <= strides[0] or strides)
            elif rank < 2:
                found.append(strides == (size,) or strides)
            else:
                found.append(array.flags.c_contiguous or strides)
        for number in constants:
            value = arguments[number]
            kind = value.__class__
            if kind not in _PLAIN:
                return None
            found += kind, value
        return tuple(found)

    return key


_PLAIN = frozenset((int, bool, str, type, type(None)))
"""The types of constants that are equal only where they are the same."""


def _described(value: object) -> object:
    """What a key has of an array of another library; None for what has to be looked at each time."""
    describe = _KINDS.get(type(value).__module__.partition(".")[0])
    return None if describe is None else describe(value)


def _of_torch(tensor: Any) -> object:
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        return None
    layout = _IN_ORDER_C if tensor.is_contiguous() else tensor.stride()
    return "torch", tensor.dtype, tensor.device, tensor.dim(), layout


def _of_cupy(array: Any) -> object:
    layout = _IN_ORDER_C if array.flags.c_contiguous else array.strides
    return "cupy", array.dtype.num, int(array.device), array.ndim, layout


_KINDS: dict[str, Described] = {"torch": _of_torch, "cupy": _of_cupy}
"""How arrays are described whose types stand in a library's package."""
