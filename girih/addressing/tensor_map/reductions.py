"""Reductions of a tensor copy: global memory element by element with what lies in shared memory (PTX ISA, redOp).

Every element is reduced as its own atomic operation: where the box names an element twice, both are applied. Sums of
floating-point numbers round to nearest even; the order of several on one element is that of the box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.element_type import ElementType

_Array = NDArray[Any]


def _increment(old: _Array, limit: _Array) -> _Array:
    return np.asarray(np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1)))


def _decrement(old: _Array, limit: _Array) -> _Array:
    return np.asarray(np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1)))


OPERATIONS: dict[str, Callable[[_Array, _Array], _Array]] = {
    "add": np.add,
    "min": np.fmin,
    "max": np.fmax,
    "inc": _increment,
    "dec": _decrement,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""The new elements that each reduction makes of the old ones and those in shared memory."""


def _widened(bits: _Array) -> _Array:
    """The float32 values of bf16 bit patterns."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _narrowed(values: _Array) -> _Array:
    """The bf16 bit patterns of float32 values, rounded to nearest even; a NaN becomes the quiet one of its sign."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), bits >> 31 << 15 | 0x7FC0, rounded).astype(np.uint16)


def _of_bf16(operation: str) -> Callable[[_Array, _Array], _Array]:
    """An operation on bf16 bit patterns; float32 holds enough digits for one rounding to be right."""
    return lambda old, new: _narrowed(OPERATIONS[operation](_widened(old), _widened(new)))


def reduce_bytes(
    operation: str,
    element: ElementType,
    memory: NDArray[np.uint8],
    target: NDArray[np.int64],
    payload: NDArray[np.uint8],
) -> None:
    """Reduce `memory` in place at the byte offsets `target` with `payload`.

    Both are `[elements, bytes of one element]`; every element is whole.
    """
    apply, dtype = OPERATIONS[operation] if element.name != "bf16" else _of_bf16(operation), element.numpy
    assert dtype is not None
    with np.errstate(over="ignore", invalid="ignore"):
        for chosen in _turns(target[:, 0]):
            place = target[chosen]
            old = np.ascontiguousarray(memory[place]).view(dtype)
            new = np.ascontiguousarray(payload[chosen]).view(dtype)
            memory[place] = apply(old, new).astype(dtype).view(np.uint8)


def _turns(first: NDArray[np.int64]) -> Iterator[slice | NDArray[np.bool_]]:
    """The elements in turns, so that no turn names an element twice; in order where there are several."""
    if (first[1:] > first[:-1]).all():
        yield slice(None)
        return
    order = np.argsort(first, kind="stable")
    sorted_first = first[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = sorted_first[1:] != sorted_first[:-1]
    start = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - start
    for now in range(int(turn.max(initial=-1)) + 1):
        yield turn == now
