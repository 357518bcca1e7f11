"""The sizes of tiles that suit products and attention with matrices of the work-group, on GPUs with tile programs.

A product of 128 x 256 with a depth of 64 keeps the tensor cores busy from shared memory: each number that is loaded
goes into 85 products, and sums take half of the registers of two groups of 128 threads. What a group of attention holds
are scores, their weights and the result: with a longer result, there is room for fewer keys.
"""

from __future__ import annotations

from girih.ir.types import BF16, F16, F32, Number

_THREADS = 256
_MOST_OF_HEAD = 256


PRODUCT_PARTS = ((1, 2), (2, 2), (2, 4))
"""Into how many parts along rows and columns the tile of a product may be cut: 128 x 128, 64 x 128 and 64 x 64.

A GPU has more multiprocessors than a product of 1024 has large tiles (0.43 of cuBLAS's speed, measured; 1.0 with 64 x
128).
"""


def product_sizes(factors: Number, sums: Number) -> dict[str, int] | None:
    """The definitions of a product's tile, by types; None where matrices of a subgroup are faster."""
    if factors not in (F16, BF16) or sums != F32:
        return None
    return {"rows": 128, "columns": 256, "depth": 64, "items": _THREADS}


def attention_sizes(type: Number, headdim: int) -> dict[str, int] | None:
    """The definitions of attention's tile, by the type and the length of a query; None as above."""
    if type not in (F16, BF16) or headdim % 16 or headdim > _MOST_OF_HEAD:
        return None
    keys = 128 if headdim <= 128 else 64
    return {"queries": 128, "keys": keys, "items": _THREADS}
