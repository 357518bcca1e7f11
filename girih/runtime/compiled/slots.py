"""Accepted arguments as the slots that a compiled kernel reads (`girih.back.llvm.lower.launch.slots`)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from girih.arguments.arrays import Accepted, GroupClaim, MapClaim
from girih.arguments.claims import Claim
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.ir.types import BF16, C32, C64, EIGHT_BIT_FLOATS, F16, F32, F64, GroupType, MemRef, Type
from girih.lazy_dataclass import dataclass

_NARROW = (F16, BF16, F32)


class SlotMemory(Protocol):
    """The memory in which a kernel finds the arrays of a launch, and what slots refer to beside them."""

    def array(self, claim: Claim) -> int:
        """The address of an array that is not a null pointer, as the kernel sees it."""

    def table(self, content: bytes) -> int:
        """The address of memory with some bytes, aligned to 8, which stays while the kernel runs."""

    def map(self, item: MapClaim) -> int:
        """What the slot of a tensor map holds: the address of its descriptor, or 0 where that lies elsewhere."""


@dataclass(slots=True, eq=False)
class HostMemory:
    """The memory of this process, in which arrays are where they are."""

    tables: list[ctypes.Array[ctypes.c_int64]] = field(default_factory=list)

    def array(self, claim: Claim) -> int:
        return claim.start

    def table(self, content: bytes) -> int:
        # A group without members has a table too, since it is not a null pointer.
        made = (ctypes.c_int64 * max(-(-len(content) // 8), 1))()
        ctypes.memmove(made, content, len(content))
        self.tables.append(made)
        return ctypes.addressof(made)

    def map(self, item: MapClaim) -> int:
        # The address models are imported by kernels that need them only.
        from girih.runtime.compiled.descriptor import descriptor

        return self.table(descriptor(item.tensor_map, self.array(item.claim)).tobytes())


@dataclass(slots=True)
class Slots:
    """The slots of a launch, and the memory and arrays that they refer to, which must stay while it runs."""

    words: NDArray[np.int64]
    held: list[object] = field(default_factory=list)

    @property
    def address(self) -> int:
        """The address of the slots."""
        return int(self.words.ctypes.data)


def fill(
    types: Sequence[Type], accepted: Sequence[Accepted], after: Sequence[int] = (), memory: SlotMemory | None = None
) -> Slots:
    """The slots of arguments that suit parameters of these types, and the words after them.

    Those before the first parameter stay empty. `memory` is this process's where none is given.
    """
    memory = HostMemory() if memory is None else memory
    words = [0] * FIRST_PARAMETER
    for type, item in zip(types, accepted, strict=True):
        if isinstance(item, Claim):
            assert isinstance(type, MemRef)
            words += _memref(type, item, memory)
        elif isinstance(item, GroupClaim):
            assert isinstance(type, GroupType)
            words += [_table(type, item, memory), *([item.size] if type.size is None else [])]
        elif isinstance(item, MapClaim):
            words.append(memory.map(item))
        else:
            words += _scalar(type, item)
    return Slots(np.array([*words, *after], np.int64), [accepted, memory])


def _memref(type: MemRef, claim: Claim, memory: SlotMemory) -> list[int]:
    """An address, then the sizes and strides that are `?`: slots, or the fields of a record of a group."""
    address = 0 if claim.array is None else memory.array(claim)
    return [address, *_dynamic(type.shape, claim.shape), *_dynamic(type.strides, claim.strides)]


def _dynamic(declared: Iterable[int | None], given: Iterable[int]) -> list[int]:
    return [extent for known, extent in zip(declared, given, strict=True) if known is None]


def _table(type: GroupType, group: GroupClaim, memory: SlotMemory) -> int:
    """The address of the table of a group, 0 for a null pointer."""
    if group.null:
        return 0
    words = [word for claim in group.members for word in _memref(type.memref, claim, memory)]
    return memory.table(struct.pack(f"={len(words)}q", *words))


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
