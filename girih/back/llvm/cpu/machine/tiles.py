"""The sizes of tiles that suit products and attention on a processor, for kernels that leave them open."""

from __future__ import annotations

from girih.back.llvm.cpu.machine.description import MachineDescription

_ROWS = 128
"""Few enough for a matrix of some hundred rows to have work for all cores."""

_MOST_COLUMNS = 192
"""Likewise; more columns than rows, since a copy of the first factor costs more (`cpu/matrix/packing.py`)."""

_LEAST_COLUMNS = 96
"""With fewer, copies of the factors would not pay."""

_PANEL_BYTES = 128
"""Two vectors of the longest kind: what a panel of the first factor has of each depth."""

_STEP = 48
"""Columns in steps that all blocks of sums divide."""


def product_tile(machine: MachineDescription, bytes: int) -> tuple[int, int, int]:
    """Rows and columns of a tile of sums of so many bytes each, and the depth of its factors.

    The part of the first factor that is multiplied at a time, two vectors wide, takes up at most half of the first
    cache, the tile of sums a quarter of the second one. Depths are powers of two: on Emerald Rapids, whose first cache
    has 48 KiB, products were faster with 128 than with 192.
    """
    columns = machine.l2_bytes // 4 // (_ROWS * bytes) // _STEP * _STEP
    depth = 1 << (machine.l1_bytes // (2 * _PANEL_BYTES)).bit_length() - 1
    return _ROWS, min(max(columns, _LEAST_COLUMNS), _MOST_COLUMNS), depth


_QUERIES = 64
"""As many as four vectors of the longest kind have; for more, too few are left of what a cache or a register holds."""

_MOST_KEYS = 128


def attention_tile(machine: MachineDescription) -> tuple[int, int]:
    """Queries and keys of a tile of attention, whose scores, in f32, take at most half of the first cache.

    On a Cascade Lake, whose first cache has 32 KiB, 64 x 64 took 0.87 to 0.93 of the time that 32 x 32 did.
    """
    keys = 1 << (machine.l1_bytes // (2 * _QUERIES * 4)).bit_length() - 1
    return _QUERIES, min(keys, _MOST_KEYS)
