"""The sizes of tiles that suit products of cooperative matrices and attention where matrices are fragments.

What a multiprocessor loads from the second cache limits products of a subgroup: the larger the tile, the fewer bytes
for a product. So a tile of sums takes half of a thread's 255 registers where `mma` multiplies; what the assembler has
no register for then, it needs once for each tile, where C is read. Where numbers are multiplied one by one, that is
slower than loads are, and a quarter of the registers leaves room for more warps.
"""

from __future__ import annotations

from girih.ir.types import F32, Number

_BY_FRAGMENTS = 64, 64, 32
_NUMBER_BY_NUMBER = 64, 32, 32
_OF_EIGHT_BYTES = 32, 32, 16


def product_tile(factors: Number, sums: Number) -> tuple[int, int, int]:
    """Rows and columns of a tile of sums, and the depth of its factors."""
    if sums.size > F32.size:
        return _OF_EIGHT_BYTES
    return _BY_FRAGMENTS if factors.size < F32.size else _NUMBER_BY_NUMBER


def attention_tile(type: Number) -> tuple[int, int]:
    """Queries and keys of a tile of attention, whose factors and sums stay in registers."""
    return (32, 16) if type == F32 else (32, 32)
