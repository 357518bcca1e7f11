"""Accepted arguments as the slots that a compiled kernel reads (`girih.back.llvm.lower.launch.slots`)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.arrays import Accepted, GroupClaim, MapClaim
from girih.arguments.claims import Claim
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.ir.types import BF16, C32, C64, EIGHT_BIT_FLOATS, F16, F32, F64, GroupType, MemRef, Type
from girih.lazy_dataclass import dataclass

_NARROW = (F16, BF16, F32)


@dataclass(slots=True)
class Slots:
    """The slots of a launch, and the memory and arrays that they refer to, which must stay while it runs."""

    words: NDArray[np.int64]
    held: list[object] = field(default_factory=list)

    @property
    def address(self) -> int:
        """The address of the slots."""
        return int(self.words.ctypes.data)


def fill(types: Sequence[Type], accepted: Sequence[Accepted], after: Sequence[int] = ()) -> Slots:
    """The slots of arguments that suit parameters of these types, and the words after them.

    Those before the first parameter stay empty.
    """
    words = [0] * FIRST_PARAMETER
    held: list[object] = [accepted]
    for type, item in zip(types, accepted, strict=True):
        if isinstance(item, Claim):
            assert isinstance(type, MemRef)
            words += [item.start, *_extents(type, item)]
        elif isinstance(item, GroupClaim):
            assert isinstance(type, GroupType)
            table = _table(type, item)
            held.append(table)
            words += [0 if item.null else ctypes.addressof(table), *([item.size] if type.size is None else [])]
        elif isinstance(item, MapClaim):
            # The address models are imported by kernels that need them only.
            from girih.runtime.cpu.descriptor import descriptor

            described = descriptor(item)
            held.append(described)
            words.append(int(described.ctypes.data))
        else:
            words += _scalar(type, item)
    return Slots(np.array([*words, *after], np.int64), held)


def _extents(type: MemRef, claim: Claim) -> list[int]:
    return [*_dynamic(type.shape, claim.shape), *_dynamic(type.strides, claim.strides)]


def _dynamic(declared: Iterable[int | None], given: Iterable[int]) -> list[int]:
    return [extent for known, extent in zip(declared, given, strict=True) if known is None]


def _table(type: GroupType, group: GroupClaim) -> Any:
    """The table of a group; a group without members has a table too, since it is not a null pointer."""
    words: list[int] = []
    for claim in group.members:
        words += [claim.start, *_extents(type.memref, claim)]
    return (ctypes.c_int64 * max(len(words), 1))(*words)


def _scalar(type: Type, value: NDArray[Any]) -> list[int]:
    number = value[0, 0, 0]
    if type in _NARROW:
        return [_single(float(number))]
    if type in EIGHT_BIT_FLOATS:
        return [int(value.view(np.uint8)[0, 0, 0])]
    if type == F64:
        return [_double(float(number))]
    if type == C32:
        return [_single(float(number.real)), _single(float(number.imag))]
    if type == C64:
        return [_double(float(number.real)), _double(float(number.imag))]
    return [int(number)]


def _single(value: float) -> int:
    return int(struct.unpack("=q", struct.pack("=fi", value, 0))[0])


def _double(value: float) -> int:
    return int(struct.unpack("=q", struct.pack("=d", value))[0])
