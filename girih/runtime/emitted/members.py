"""Accepted arguments as what a module reads: members of its parameters, and the records of groups."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.arrays import Accepted, GroupClaim
from girih.arguments.claims import Claim
from girih.back.spirv.machine.emitted import EmittedKernel, EmittedMember
from girih.diagnostics import InternalError
from girih.ir.types import EIGHT_BIT_FLOATS, MemRef, Type

_FORMATS = {"i32": "=I", "i64": "=Q", "float": "=f", "double": "=d"}
_MASKS = {"i32": 2**32 - 1, "i64": 2**64 - 1}


def member_value(member: EmittedMember, type: Type, item: Accepted) -> bytes:
    """The bytes of a member for the argument of its parameter, which has `type`."""
    match member.what:
        case "associated":
            number: int | float = int(not _is_null(item))
        case "address" if isinstance(item, Claim):
            number = item.start
        case "size" if isinstance(item, GroupClaim):
            number = item.size
        case "size" if isinstance(item, Claim):
            number = item.shape[member.part]
        case "stride" if isinstance(item, Claim):
            number = item.strides[member.part]
        case "value" if isinstance(item, np.ndarray):
            number = _scalar(type, item, member.part)
        case what:
            raise InternalError(f"the member {member.name} is the {what} of an argument that has none")
    mask = _MASKS.get(member.type)
    return struct.pack(_FORMATS[member.type], number if mask is None else int(number) & mask)


def member_block(kernel: EmittedKernel, accepted: Sequence[Accepted]) -> bytes:
    """The members of a kernel side by side, `kernel.member_bytes` bytes, as push constants or a buffer have them."""
    block = bytearray(kernel.member_bytes)
    for member in kernel.members:
        type = kernel.function.parameters[member.parameter].type
        value = member_value(member, type, accepted[member.parameter])
        block[member.offset : member.offset + len(value)] = value
    return bytes(block)


def group_records(type: MemRef, group: GroupClaim, address: Callable[[Claim], int]) -> bytes:
    """The records of a group of memrefs of a type: of each an address, then the sizes and strides that are `?`.

    `address` tells where a member is on the device, 0 for a null pointer.
    """
    words: list[int] = []
    for claim in group.members:
        words += [address(claim), *_dynamic(type.shape, claim.shape), *_dynamic(type.strides, claim.strides)]
    return struct.pack(f"={len(words)}q", *words)


def claims_of(item: Accepted) -> Sequence[Claim]:
    """The arrays of an argument: one for a memref, those of the members for a group, none for a number."""
    if isinstance(item, GroupClaim):
        return item.members
    return (item,) if isinstance(item, Claim) else ()


def _dynamic(declared: Iterable[int | None], given: Iterable[int]) -> list[int]:
    return [extent for known, extent in zip(declared, given, strict=True) if known is None]


def _is_null(item: Accepted) -> bool:
    return item.null if isinstance(item, GroupClaim) else isinstance(item, Claim) and item.array is None


def _scalar(type: Type, value: NDArray[Any], part: int) -> int | float:
    """A number of Python for a scalar; of a complex one the real part, or the imaginary one."""
    if type in EIGHT_BIT_FLOATS:
        return int(value.view(np.uint8)[0, 0, 0])
    number = value[0, 0, 0]
    if np.iscomplexobj(number):
        return float(number.imag if part else number.real)
    return int(number) if value.dtype.kind in "iub" else float(number)
