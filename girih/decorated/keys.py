"""The quick keys of calls: calls with equal keys go to one variant, as far as types and strides decide.

A key takes a fraction of a microsecond. It may leave out what the variant's launch checks anyway: whether an array has
the declared element type and number of axes, and which sizes are 1. So a launch that is refused is looked at again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from girih.arguments.devices import FOREIGN_ERRORS
from girih.arguments.scalars import DTYPES
from girih.front.python.signature import Declared
from girih.ir.types import NUMBERS
from girih.lazy_dataclass import dataclass

Key = tuple[object, ...]
Described = Callable[[Any], object]

_IN_ORDER_C = True
"""What a key has of an array in order C without gaps, and of one of two axes that has gaps between its rows alone; of
another one it has the strides."""
_IN_ORDER_F = 2
"""What a key has of an array of NumPy in order F without gaps."""

PLAIN = frozenset((int, bool, str, type, type(None)))
"""The types of constants that are equal only where they are the same, as 0.0 and -0.0 are not."""


@dataclass(frozen=True, slots=True)
class KeyParts:
    """What the key of a call is made of: the numbers of parameters that are arrays, with their rank, and of constants.

    With an array stands the bytes of an element, or the type variable for its type, which it decides.
    """

    arrays: tuple[tuple[int, int, int | TypeVar | None], ...]
    constants: tuple[int, ...]


def key_parts(parameters: Sequence[Declared]) -> KeyParts | None:
    """What the keys of a kernel's calls are made of; None where a call has to be looked at each time."""
    arrays = tuple((number, p.rank or 0, _type(p)) for number, p in enumerate(parameters) if p.kind == "array")
    if any(p.kind in ("group", "tensor_map") for p in parameters):
        return None
    variables = {p.element for p in parameters if p.kind == "array"}
    if any(isinstance(p.element, TypeVar) and p.element not in variables for p in parameters):
        return None
    return KeyParts(arrays, tuple(number for number, p in enumerate(parameters) if p.kind == "constant"))


def _type(parameter: Declared) -> int | TypeVar | None:
    element = parameter.element
    return DTYPES[NUMBERS[element]].itemsize if isinstance(element, str) else element


def numpy_key(parts: KeyParts, names: Sequence[str], own: str) -> tuple[list[str], str, str]:
    """The key of arguments whose arrays are all NumPy's, written out: lines before it, its expression, when it holds.

    `names` are those of the arguments. The lines set names that begin with `own`, and take from outside `ndarray` and
    `plain`, which is `PLAIN`, with `own` before them.
    """
    lines, found = [], []
    first: dict[TypeVar, int] = {}
    for number, rank, type in parts.arrays:
        array, strides, dtype = names[number], f"{own}s{number}", f"{own}d{number}"
        element = str(type) if isinstance(type, int) else f"{dtype}.itemsize"
        if not isinstance(type, int):
            lines.append(f"{dtype} = {array}.dtype")
            same = number if type is None else first.setdefault(type, number)
            # Arrays of one type variable mostly have the very same dtype.
            found.append(f"{dtype}.num" if same == number else f"{dtype} is {own}d{same} or {dtype}.num")
        gaps = f"({strides} := {array}.strides)[1] == {element} <= {strides}[0] or {strides}"
        other = gaps if rank == 2 else f"{array}.strides"
        flags = f"{own}f{number}"
        found.append(f"({flags} := {array}.flags).c_contiguous or ({_IN_ORDER_F} if {flags}.f_contiguous else {other})")
    found += [part for n in parts.constants for part in (f"{names[n]}.__class__", names[n])]
    holds = [f"{names[number]}.__class__ is {own}ndarray" for number, _, _ in parts.arrays]
    holds += [f"({names[n]}.__class__ is int or {names[n]}.__class__ in {own}plain)" for n in parts.constants]
    return lines, f"({', '.join(found)}{',' if found else ''})", " and ".join(holds)


def other_key(parts: KeyParts, arguments: Sequence[object]) -> Key | None:
    """The key of arguments whose arrays are of any library; None for those that have to be looked at each time."""
    found: list[object] = []
    for number, _, _ in parts.arrays:
        array: Any = arguments[number]
        try:
            described = _description(array.__class__)(array)
        except FOREIGN_ERRORS:
            return None
        if described is None:
            return None
        found.append(described)
    for number in parts.constants:
        value: Any = arguments[number]
        kind = value.__class__
        if kind is float:
            value = value.hex()
        elif kind not in PLAIN:
            return None
        found += kind, value
    return tuple(found)


def _of_numpy(array: Any) -> object:
    return array.dtype.num, array.strides


def _of_torch(tensor: Any) -> object:
    return tensor.dtype, tensor.get_device(), _IN_ORDER_C if tensor.is_contiguous() else tensor.stride()


def _of_cupy(array: Any) -> object:
    return array.dtype.num, array.data.device_id, _IN_ORDER_C if array.flags.c_contiguous else array.strides


def _of_jax(array: Any) -> object:
    # An array has order C, or says nothing of it; it may lie on several devices, which a launch refuses.
    return array.dtype, array.ndim, array.sharding


def _of_nobody(value: object) -> None:
    return None


_LIBRARIES: dict[str, Described] = {"cupy": _of_cupy, "jax": _of_jax, "jaxlib": _of_jax}
"""How arrays are described whose types stand in a library's package."""


@lru_cache(maxsize=64)
def _description(kind: type) -> Described:
    """How arrays of a type are described."""
    torch: Any = sys.modules.get("torch")
    if kind is np.ndarray:
        return _of_numpy
    if torch is not None and issubclass(kind, torch.Tensor):
        return _of_torch
    return _LIBRARIES.get(kind.__module__.partition(".")[0], _of_nobody)
