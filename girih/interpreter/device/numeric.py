"""What the meanings of instructions on numbers share: the types they compute in, and findings of what has no meaning.

Integers are arrays of signed NumPy types, as everywhere in the interpreter; `unsigned` sees the same bits unsigned.
"""

from __future__ import annotations

import numpy as np

from girih.facts.findings import FindingWords
from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.values import Array, Mask
from girih.ir import core
from girih.ir.types import Number, element_type
from girih.ops.device.numeric import Numeric

UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
SIGNED = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def number_type(value: core.Value) -> Number:
    """The number type of a scalar, or of the components of a matrix."""
    type = element_type(value.type)
    assert isinstance(type, Number)
    return type


def unsigned(a: Array) -> Array:
    """The same bits as unsigned integers."""
    return a.view(UNSIGNED[a.itemsize])


def signed(a: Array) -> Array:
    """The same bits as signed integers."""
    return a.view(SIGNED[a.itemsize])


def find_undefined(machine: Machine, op: Numeric, words: FindingWords, bad: Mask, argument: core.Value) -> None:
    """Find an operation that has no meaning where `bad` holds for an active work-item, or for a component."""
    if bad.any():
        machine.find(words, op, machine.under_mask(bad), argument=argument.name, by_lane=bad.ndim == 3)
