"""Which library an array is of, what a function does with it, and how a result is handed back.

On the host everything is an array of NumPy here: tensors of torch, arrays of JAX, and what has the buffer protocol or
DLPack are taken over the same memory. On a CUDA device tensors of torch, arrays of CuPy and of JAX stay what they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from girih.arguments.devices import CUDA, FOREIGN_ERRORS, device_of
from girih.functions.device import CupyArrays, JaxArrays, TorchTensors
from girih.functions.host import HOST, of_torch, to_jax, to_torch
from girih.functions.layouts import AxisView
from girih.functions.problems import refuse
from girih.lazy_dataclass import dataclass


class Library(Protocol):
    """What a function does with arrays that lie on one device."""

    @property
    def target(self) -> str | None: ...
    @property
    def place(self) -> str: ...
    @property
    def is_synchronous(self) -> bool: ...
    def element(self, array: Any) -> str | None: ...
    def shown(self, array: Any) -> str: ...
    def steps(self, array: Any) -> tuple[int, ...]: ...
    def viewer(self, view: AxisView, shape: Sequence[int]) -> Callable[[Any], Any]: ...
    def turned(self, array: Any) -> Any: ...
    def empty(self, shape: Sequence[int], element: str, order: Sequence[int]) -> Any: ...
    def filled(self, shape: Sequence[int], element: str, value: float) -> Any: ...
    def assign(self, target: Any, source: Any) -> None: ...
    def copied(self, array: Any, order: Sequence[int]) -> Any: ...
    def shares(self, a: Any, b: Any) -> bool: ...
    def is_same(self, a: Any, b: Any) -> bool: ...
    def part(self, array: Any, index: tuple[int, ...]) -> Any: ...
    def add_along(self, array: Any, values: Any, axis: int) -> None: ...
    def is_writeable(self, array: Any) -> bool: ...


@dataclass(frozen=True, slots=True)
class Taken:
    """An argument as a function works on it: its library, the array, and what makes a result of that kind."""

    library: Library
    array: Any
    handed: Callable[[Any], Any]


def same(array: Any) -> Any:
    """The array itself."""
    return array


def taken(function: str, name: str, value: object) -> Taken:
    """An array of any library. Raises `LaunchError` for what is no array that a function takes."""
    if isinstance(value, np.ma.MaskedArray):
        refuse(function, "bind.type", f"{name} is a masked array, whose mask no kernel reads",
               f"pass {name}.data, the array without its mask, or {name}.filled(...)")  # fmt: skip
    if isinstance(value, np.ndarray):
        return Taken(HOST, np.asarray(value), same)
    home = value.__class__.__module__.partition(".")[0]
    try:
        return _taken(home, value) or _no_array(function, name, value)
    except FOREIGN_ERRORS as error:
        refuse(function, "bind.type", f"{name} does not give access to its memory: {error}", _remedy(value))


def _taken(home: str, value: Any) -> Taken | None:
    if home == "torch" and isinstance(value, sys.modules["torch"].Tensor):
        if value.requires_grad:
            raise RuntimeError("it requires a gradient, which no kernel records")
        if value.is_conj() or value.is_neg():
            raise RuntimeError("its elements are conjugated or negated when they are read")
        if value.is_cuda:
            return Taken(TorchTensors(value.get_device()), value, same)
        return Taken(HOST, of_torch(value), to_torch)
    place = device_of(value)
    on_device = place is not None and place[0] == CUDA
    if home in ("jax", "jaxlib"):
        if on_device and place is not None:
            library = JaxArrays(place[1])
            return Taken(library, library.taken(value), library.handed)
        return Taken(HOST, np.asarray(value), to_jax)
    if home == "cupy" and on_device and place is not None:
        return Taken(CupyArrays(place[1]), value, same)
    if on_device:
        raise TypeError("on a device, tensors of torch and arrays of CuPy and JAX are taken")
    if isinstance(value, np.generic):  # It has no memory that could be written, as an `out` must have.
        return None
    if isinstance(value, memoryview | bytearray) or hasattr(value, "__array_interface__"):
        return Taken(HOST, np.asarray(value), same)
    return Taken(HOST, np.from_dlpack(value), same) if place is not None else None


def _no_array(function: str, name: str, value: object) -> Taken:
    refuse(function, "bind.type", f"{name} must be an array; got {value.__class__.__name__}",
           f"pass np.asarray({name}, np.float32), or another type that the function takes")  # fmt: skip


def _remedy(value: Any) -> str | None:
    return "pass its .detach()" if getattr(value, "requires_grad", False) else None


def together(function: str, names: Sequence[str], found: Sequence[Taken | None]) -> Taken:
    """The argument that says where a call is: the first one. Raises `LaunchError` where others lie elsewhere."""
    given = [(name, one) for name, one in zip(names, found, strict=True) if one is not None]
    first_name, first = given[0]
    for name, one in given[1:]:
        if one.library != first.library:
            refuse(function, "bind.device", f"{first_name} lies {first.library.place}, and {name} {one.library.place}",
                   "move them to one device, to one library")  # fmt: skip
    return first
