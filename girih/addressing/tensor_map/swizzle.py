"""Swizzles of shared memory: the place of each byte of a tensor copy, and the bank conflicts of reading it.

A swizzle is a bijection of shared byte addresses that exchanges chunks inside one line of 128 bytes; which chunks
depends on the line. Specification 004 names swizzled shared memory, the documentation of the CUDA driver the modes.
`32B`, `64B` and `128B` were measured on an NVIDIA H200; the `128B_atom_...` modes (compute capability 10 on) follow the
documentation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from girih.addressing.display import Drawn
from girih.addressing.errors import RuleReport, rule

LINE = 128
"""The bytes of one line of shared memory: all banks once."""
BANKS = 32
"""The number of banks of shared memory."""
BANK_BYTES = 4
"""The bytes of one bank in one line."""

UNKNOWN = rule("swizzle.name", "a swizzle is one of the driver's modes", "driver")
ADDRESSES = rule("swizzle.addresses", "shared byte addresses are non-negative integers", "girih")
PHASE_BYTES = BANKS * BANK_BYTES
"""The bytes that the lanes of one phase access: a whole warp with 4 bytes a lane, a half with 8, a quarter with 16."""

ACCESS_BYTES = rule("swizzle.access_bytes", "a lane accesses 1, 2, 4, 8 or 16 bytes, aligned to that", "girih")


@dataclass(frozen=True, slots=True)
class SwizzleMode:
    """One swizzle mode: each (mask, left shift) of `steps` takes bits of the line number and flips address bits."""

    span: int
    chunk: int
    lines: int
    steps: tuple[tuple[int, int], ...]
    blackwell: bool = False


# CUDA driver API 13.0, CUtensorMapSwizzle. The span is the widest inner box; the pattern repeats after `lines` lines.
MODES: dict[str, SwizzleMode] = {
    "none": SwizzleMode(0, 16, 1, ()),
    "32B": SwizzleMode(32, 16, 2, ((1, 4),)),
    "64B": SwizzleMode(64, 16, 4, ((3, 4),)),
    "128B": SwizzleMode(128, 16, 8, ((7, 4),)),
    "128B_atom_32B": SwizzleMode(128, 32, 4, ((3, 5),), blackwell=True),
    "128B_atom_32B_flip_8B": SwizzleMode(128, 8, 4, ((3, 5), (1, 3)), blackwell=True),
    "128B_atom_64B": SwizzleMode(128, 64, 2, ((1, 6),), blackwell=True),
}
"""Every swizzle mode by its name."""


@dataclass(frozen=True, slots=True)
class Conflicts:
    """The bank conflicts of an access pattern; one row of it is one access of a warp.

    - `transactions`: int64 `[rows]`: the passes over the banks that each row takes, its phases one after another.
    - `ideal`: the passes that the phases of the largest row need at least.
    - `per_bank`: int64 `[rows, 32]`: the number of different 4-byte words of each bank that the phases of a row touch.
    """

    transactions: NDArray[np.int64]
    ideal: int
    per_bank: NDArray[np.int64]

    @property
    def extra(self) -> int:
        """The number of passes beyond the ideal, all rows together; 0 without conflicts."""
        return int(np.maximum(self.transactions - self.ideal, 0).sum())


@dataclass(frozen=True, slots=True)
class Swizzle(Drawn):
    """A swizzle mode by its name (`none 32B 64B 128B 128B_atom_32B 128B_atom_32B_flip_8B 128B_atom_64B`).

    Raises `AddressingError` for another name. Source: 004 5.5, documentation of the CUDA driver.
    """

    name: str = "none"

    def __post_init__(self) -> None:
        report = RuleReport("Swizzle")
        if self.name not in MODES:
            report.add(UNKNOWN, f"swizzle = {self.name!r} is no swizzle", f"choose one of {', '.join(MODES)}")
        report.done()

    @property
    def mode(self) -> SwizzleMode:
        """The row of `MODES`."""
        return MODES[self.name]

    @property
    def span(self) -> int:
        """The bytes of the widest inner box, and from row to row in shared memory; 0 without a swizzle."""
        return self.mode.span

    @property
    def repeat(self) -> int:
        """The bytes after which the pattern repeats: a box that starts at a multiple sees it from its beginning."""
        return self.mode.lines * LINE if self.mode.steps else 1

    def apply(self, byte_addresses: ArrayLike) -> NDArray[np.int64]:
        """The addresses at which the bytes with these unswizzled addresses lie; int64, the shape of the input.

        Addresses count bytes of shared memory from its start. The function is its own inverse. Raises
        `AddressingError` for addresses that are not integers from 0 to 2^62 - 1.
        """
        return self.move(_addresses(byte_addresses))

    def move(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """The addresses that `apply` gives, for int64 addresses that are known to be legal."""
        line = addresses >> 7
        moved = addresses
        for mask, shift in self.mode.steps:
            moved = moved ^ ((line & mask) << shift)
        return moved

    def conflicts(self, byte_addresses: ArrayLike, access_bytes: int = 4) -> Conflicts:
        """The bank conflicts of lanes that access `access_bytes` bytes each at these unswizzled byte addresses.

        `byte_addresses` is `[lanes]` or `[rows, lanes]`; a row is one access of up to 32 lanes. It is served in phases:
        all lanes together up to 4 bytes each, half warps of 16 lanes with 8 bytes, quarter warps of 8 lanes with 16.
        Lanes of one phase that touch the same 4-byte word share it. Raises `AddressingError` for sizes other than 1,
        2, 4, 8 and 16, for illegal addresses, and for addresses that are not multiples of the size.
        """
        rows = np.atleast_2d(_addresses(byte_addresses))
        report = RuleReport("Swizzle.conflicts")
        if access_bytes not in (1, 2, 4, 8, 16):
            report.add(ACCESS_BYTES, f"no lane accesses access_bytes = {access_bytes}", "choose 1, 2, 4, 8 or 16")
        elif rows.size and (rows % access_bytes).any():
            first = int(rows[rows % access_bytes != 0][0])
            report.add(ACCESS_BYTES, f"address {first} is not a multiple of {access_bytes}", "align every address")
        report.done()
        lanes = PHASE_BYTES // max(access_bytes, BANK_BYTES)
        passes, least = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        per_bank = np.zeros((len(rows), BANKS), np.int64)
        for start in range(0, rows.shape[1], lanes):
            counts = self._bank_counts(rows[:, start : start + lanes], access_bytes)
            per_bank += counts
            passes += counts.max(axis=1)
            least += -(-counts.sum(axis=1) // BANKS)
        return Conflicts(passes, int(least.max(initial=0)), per_bank)

    def _bank_counts(self, rows: NDArray[np.int64], access_bytes: int) -> NDArray[np.int64]:
        """The number of different words of each bank that the lanes of one phase touch; int64 `[rows, 32]`."""
        words = rows[..., None] + BANK_BYTES * np.arange(max(1, access_bytes // BANK_BYTES))
        words = np.sort((self.move(words) // BANK_BYTES).reshape(len(rows), -1), axis=1)
        new = np.ones(words.shape, np.bool_)
        new[:, 1:] = words[:, 1:] != words[:, :-1]
        row, column = np.nonzero(new)
        counts = np.zeros((len(rows), BANKS), np.int64)
        np.add.at(counts, (row, words[row, column] % BANKS), 1)
        return counts


def _addresses(byte_addresses: ArrayLike) -> NDArray[np.int64]:
    """Shared byte addresses as int64. Raises `AddressingError` for others than integers from 0 to 2^62 - 1."""
    report = RuleReport("Swizzle")
    addresses = np.asarray(byte_addresses)
    if addresses.size and not np.issubdtype(addresses.dtype, np.integer):
        report.add(ADDRESSES, f"the addresses are {addresses.dtype}", "pass integers")
    elif addresses.size and not 0 <= int(addresses.min()) <= int(addresses.max()) < 2**62:
        limits = f"{int(addresses.min())} to {int(addresses.max())}"
        report.add(ADDRESSES, f"the addresses run from {limits}", "pass addresses from 0")
    report.done()
    return addresses.astype(np.int64)
