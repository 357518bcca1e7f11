"""The sizes of tiles that suit products on a processor, for kernels that leave them open."""

from __future__ import annotations

from girih.back.llvm.cpu.machine.description import MachineDescription

_ROWS = 128
"""Few enough for a matrix of some hundred rows to have work for all cores."""

_MOST_COLUMNS = 192
"""Likewise; more columns than rows, since a copy of the first factor costs more (`cpu/matrix/packing.py`)."""

_STEP = 48
"""Columns in steps that all blocks of sums divide."""


def product_tile(machine: MachineDescription, bytes: int) -> tuple[int, int, int]:
    """Rows and columns of a tile of sums of so many bytes each, and the depth of its factors.

    The part of the first factor that is multiplied at a time takes up half of the first cache, the tile of sums a
    quarter of the second one.
    """
    columns = machine.l2_bytes // 4 // (_ROWS * bytes) // _STEP * _STEP
    depth = max(machine.l1_bytes // 256 // 32, 1) * 32
    return _ROWS, min(max(columns, _STEP), _MOST_COLUMNS), depth
