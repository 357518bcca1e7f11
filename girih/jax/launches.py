"""Calls by XLA, when they run: the frame of a call as the arguments of a launch.

A call has three attributes, arrays of 64-bit integers: `scalars`, the bytes of each number in `SCALAR_WORDS` words;
`counts`, for each array argument `NULL` or 1, and for a group `NULL`, or the number of its members and a 1 or a 0 for
each; and `grid`, empty where it is the kernel's own.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from threading import Lock
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from girih.arguments.devices import PlacedArray
from girih.arguments.scalars import DTYPES
from girih.diagnostics import LaunchError
from girih.ir.core import Order
from girih.ir.types import Boolean, Number
from girih.jax.frame import INTERNAL, INVALID_ARGUMENT, XlaBuffer, XlaCall, xla_handler
from girih.lazy_dataclass import dataclass
from girih.operators import Operator, OperatorParameter

__all__ = ["NULL", "SCALAR_WORDS", "registered"]

SCALAR_WORDS = 2
"""The words of 8 bytes that a scalar takes among the attributes of a call."""
NULL = -1
"""The number of arrays of a parameter that is None."""

_PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}
"""XLA's platforms by kinds of devices."""
_LOCK = Lock()
_REGISTERED: dict[str, list[Any]] = {}
"""The functions that XLA may call, by name. It may do so as long as the process lives."""


def registered(operator: Operator) -> str:
    """The name under which XLA finds the functions that launch an operator, registered now or before."""
    name = _target_name(operator)
    with _LOCK:
        if name not in _REGISTERED:
            handlers = _REGISTERED[name] = []
            for device, platform in _PLATFORMS.items():
                handler = xla_handler(Launches(operator, device), in_words)
                handlers.append(handler)
                jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform=platform)
    return name


def _target_name(operator: Operator) -> str:
    """A name that is the same in every process for the same kernels, so that kept programs of XLA find them."""
    parts = [
        *(
            f"{device} {kernel!r} {dict(kernel.resolved.settings)} {kernel.ir}"
            for device, kernel in operator.kernels.items()
        ),
        *(result.name for result in operator.results),
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return f"girih.{operator.kernel.name}.{digest}"


def in_words(error: BaseException) -> tuple[int, str]:
    """XLA's code for an exception, and its words."""
    if isinstance(error, LaunchError):
        return INVALID_ARGUMENT, str(error)
    return INTERNAL, str(error) or type(error).__name__


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """What XLA calls for an operator on one kind of device."""

    operator: Operator
    device: str

    def __call__(self, call: XlaCall) -> None:
        """Launch the kernel on the arrays of a call: on CUDA on the stream of the call, without waiting."""
        x = call.attributes["grid"]
        kernel = self.operator.on(self.device, (x[0], x[1], x[2]) if x else None)
        kernel(*self._values(call))

    def _values(self, call: XlaCall) -> list[Any]:
        """One value for each parameter of the kernel."""
        made = self._arrays(call)
        arguments, results = map(made, call.arguments), map(made, call.results)
        counts, words = iter(call.attributes["counts"]), iter(call.attributes["scalars"])
        values: list[Any] = []
        for p in self.operator.parameters:
            if p in self.operator.results:
                values.append(next(results))
            elif p.memref is None:
                values.append(_number(p, [next(words) for _ in range(SCALAR_WORDS)]))
            else:
                values.append(self._memory(p, counts, arguments, results))
        return values

    def _memory(
        self, parameter: OperatorParameter, counts: Iterator[int], arguments: Iterator[Any],
        results: Iterator[Any],
    ) -> Any:  # fmt: skip
        """The arrays of an argument; of one that is written, those that come out, which have its memory."""
        count = next(counts)
        if count == NULL:
            return None
        there = [next(counts) for _ in range(count)] if parameter.is_group else [1]
        taken = [next(arguments) for one in there if one]
        if parameter.spec.written:
            taken = [next(results) for _ in taken]
        members = iter(taken)
        made = [next(members) if one else None for one in there]
        return made if parameter.is_group else made[0]

    def _arrays(self, call: XlaCall) -> Callable[[XlaBuffer], Any]:
        """What makes an array of a buffer, for a launch."""
        order = self.operator.kernel.ir.order
        if self.device == "cpu":
            return partial(_host_array, order=order)
        return partial(device_array, order=order, device=call.device(), stream=call.stream())


def _host_array(buffer: XlaBuffer, order: Order) -> NDArray[Any]:
    """An array of NumPy over the memory of a buffer."""
    if 0 in buffer.shape:
        return np.empty(buffer.shape, buffer.dtype, order=order)
    size = buffer.dtype.itemsize * prod(buffer.shape)
    memory = (ctypes.c_uint8 * size).from_address(buffer.address)
    return np.ndarray(buffer.shape, buffer.dtype, memoryview(memory), order=order)


def device_array(buffer: XlaBuffer, order: Order, device: int, stream: int) -> PlacedArray:
    """The memory of a buffer on a CUDA device, packed in an order, to be used on a stream."""
    axes = range(len(buffer.shape))
    faster = [buffer.shape[axis + 1 :] if order == "C" else buffer.shape[:axis] for axis in axes]
    strides = tuple(buffer.dtype.itemsize * prod(sizes) for sizes in faster)
    return PlacedArray(buffer.address, buffer.shape, strides, buffer.dtype, device, stream)


def _number(parameter: OperatorParameter, words: Sequence[int]) -> Any:
    """A number of the launch, of the type of its parameter."""
    type = parameter.spec.type
    assert isinstance(type, Number | Boolean)
    dtype = DTYPES[type]
    return np.frombuffer(np.array(words, np.int64).tobytes()[: dtype.itemsize], dtype)[0]
