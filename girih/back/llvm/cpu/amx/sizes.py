"""The sizes of tiles that suit products of cooperative matrices and attention where AMX multiplies.

Products cost little beside what is done once for each tile: factors are packed, sums go to the tile registers and back.
So tiles are larger than where vectors multiply.
"""

from __future__ import annotations

from math import isqrt

from girih.back.llvm.cpu.amx.packing import WIDTH
from girih.back.llvm.cpu.machine.description import MachineDescription
from girih.ir.types import F32, Number

_QUERIES = 64
"""So many are packed as one factor, for which the keys are read where they lie."""


def product_tile(machine: MachineDescription, factors: Number) -> tuple[int, int, int]:
    """Rows and columns of a tile of sums, which takes an eighth of the second cache, and the depth of its factors.

    Panels of both factors take two thirds of the first cache. All are powers of two.
    """
    side = _power_of_two(isqrt(machine.l2_bytes // 8 // F32.size))
    depth = _power_of_two(2 * machine.l1_bytes // 3 // (2 * WIDTH * factors.size))
    return side, side, depth


def attention_tile(machine: MachineDescription) -> tuple[int, int]:
    """Queries and keys of a tile of attention, whose scores, in f32, take two thirds of the first cache."""
    return _QUERIES, _power_of_two(2 * machine.l1_bytes // 3 // (_QUERIES * F32.size))


def _power_of_two(number: int) -> int:
    """The largest power of two that is not larger."""
    return 1 << number.bit_length() - 1
