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
    return _of_numpy([(number, p.rank or 0, _bytes(p)) for number, p in arrays], constants)


def _bytes(parameter: Declared) -> int:
    """The bytes of an element, 0 where the array decides its type."""
    element = parameter.element
    return DTYPES[NUMBERS[element]].itemsize if isinstance(element, str) else 0


def _no_key(arguments: Sequence[object]) -> None:
    return None


def _of_numpy(arrays: list[tuple[int, int, int]], constants: list[int]) -> Callable[[Sequence[object]], Key | None]:
    """The function for arrays of NumPy, written out argument by argument, so that nothing loops.

    It gives arguments with other arrays, and with constants that are not plain, to `_of_others`.
    """
    numbers = [number for number, _, _ in arrays]
    others = [f"a[{n}].__class__ is not ndarray" for n in numbers]
    others += [f"a[{n}].__class__ not in plain" for n in constants]
    lines = [f"if {' or '.join(others)}: return others(a)"] if others else []
    parts: list[str] = []
    for number, rank, size in arrays:
        lines.append(f"s{number} = a[{number}].strides")
        if not size:
            lines.append(f"d{number} = a[{number}].dtype; z{number} = d{number}.itemsize")
            parts.append(f"d{number}.num")
        bytes_ = size or f"z{number}"
        unit = {0: "s{n} == ()", 1: "s{n} == ({z},)", 2: "s{n}[1] == {z} <= s{n}[0]"}
        condition = unit.get(rank, "a[{n}].flags.c_contiguous").format(n=number, z=bytes_)
        parts.append(f"{condition} or s{number}")
    parts += [part for n in constants for part in (f"a[{n}].__class__", f"a[{n}]")]
    lines.append(f"return ({', '.join(parts)}{',' if parts else ''})")
    body = "\n".join(f"        {line}" for line in lines)
    made: dict[str, Any] = {"ndarray": np.ndarray, "plain": _PLAIN, "others": _of_others(arrays, constants)}
    exec(f"def key(a):\n    try:\n{body}\n    except LookupError:\n        return None", made)
    key: Callable[[Sequence[object]], Key | None] = made["key"]
    return key


def _of_others(arrays: list[tuple[int, int, int]], constants: list[int]) -> Callable[[Sequence[object]], Key | None]:
    """The function for arrays of any library."""

    def key(arguments: Sequence[object]) -> Key | None:
        found: list[object] = []
        for number, _, _ in arrays:
            array: Any = arguments[number]
            if array.__class__ is np.ndarray:
                found += array.dtype.num, array.strides
                continue
            described = _described(array)
            if described is None:
                return None
            found.append(described)
        for number in constants:
            value: Any = arguments[number]
            kind = value.__class__
            if kind is not float and kind not in _PLAIN:
                return None
            found += kind, value.hex() if kind is float else value
        return tuple(found)

    return key


_PLAIN = frozenset((int, bool, str, type, type(None)))
"""The types of constants that are equal only where they are the same, as 0.0 and -0.0 are not."""


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
