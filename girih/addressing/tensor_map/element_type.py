"""Element types of tensor maps: names, sizes in both memories, NumPy equivalents, and the reductions of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Family = Literal["unsigned", "signed", "float", "bits", "packed"]
Direction = Literal["load", "store", "both"]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type (004 5.5.1): its bits in global and in shared memory, and how NumPy calls it.

    `numpy` is None for sub-byte types, and the bits as integers for bf16, which NumPy alone does not have.
    `direction` says which copies exist.
    """

    name: str
    bits: int
    family: Family
    numpy: np.dtype[Any] | None
    shared_bits: int
    direction: Direction = "both"

    @property
    def is_padded(self) -> bool:
        """Whether an element takes more room in shared than in global memory."""
        return self.shared_bits != self.bits

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers, so that fills may be NaN."""
        return self.family == "float"

    def bytes_of(self, count: int) -> int:
        """The bytes of `count` elements in global memory, rounded down."""
        return count * self.bits // 8

    def count_in(self, size: int) -> str:
        """`size` bytes in words: as elements, where they are whole."""
        elements, rest = divmod(size * 8, self.bits)
        return f"{size} bytes" if rest else f"{elements} elements = {size} bytes"


def _plain(name: str, family: Family, dtype: np.dtype[Any]) -> ElementType:
    return ElementType(name, dtype.itemsize * 8, family, dtype, dtype.itemsize * 8)


# 004 5.5.1 and 5.5.1.1.1; the `_ftz` and 13 plain names are those of CUtensorMapDataType. PTX ISA 9.0, "Restriction on
# Tensor Copy instructions", says in which direction the padded types are copied.
_ROWS = (
    _plain("u8", "unsigned", np.dtype(np.uint8)),
    _plain("u16", "unsigned", np.dtype(np.uint16)),
    _plain("u32", "unsigned", np.dtype(np.uint32)),
    _plain("s32", "signed", np.dtype(np.int32)),
    _plain("u64", "unsigned", np.dtype(np.uint64)),
    _plain("s64", "signed", np.dtype(np.int64)),
    _plain("f16", "float", np.dtype(np.float16)),
    _plain("bf16", "float", np.dtype(np.uint16)),
    _plain("f32", "float", np.dtype(np.float32)),
    _plain("f64", "float", np.dtype(np.float64)),
    _plain("f32_ftz", "float", np.dtype(np.float32)),
    _plain("tf32", "float", np.dtype(np.float32)),
    _plain("tf32_ftz", "float", np.dtype(np.float32)),
    _plain("b32", "bits", np.dtype(np.uint32)),
    _plain("b64", "bits", np.dtype(np.uint64)),
    ElementType("b4x16", 4, "packed", None, 4),
    ElementType("b4x16_p64", 4, "packed", None, 8, "load"),
    ElementType("b6x16_p32", 6, "packed", None, 8, "load"),
    ElementType("b6p2x16", 6, "packed", None, 8, "store"),
)

ELEMENT_TYPES: dict[str, ElementType] = {row.name: row for row in _ROWS}
"""Every element type of a tensor map by its name."""

ROUNDED_TO_TF32 = ("tf32", "tf32_ftz")
"""The types whose values a load rounds to 10 bits of mantissa (measured)."""

# NumPy types to the type that copies their bits and counts as the same number.
FROM_NUMPY: dict[str, str] = {
    "uint8": "u8", "int8": "u8", "bool": "u8", "uint16": "u16", "int16": "u16", "uint32": "u32", "int32": "s32",
    "uint64": "u64", "int64": "s64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "u8", "float8_e5m2": "u8",
}  # fmt: skip
"""The element type of a NumPy array by the name of its dtype."""

_WORDS = ("u32", "s32", "b32", "u64", "b64")

# PTX ISA 9.0, cp.reduce.async.bulk.tensor, names the operations. Which element types each is legal for was measured on
# an H200: any other pair is an illegal instruction, bitwise ones of s64 among them. Sums of f32_ftz, tf32, tf32_ftz are
# legal, too, but how they round is not known, so they are no part of the model.
REDUCTIONS: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": _WORDS,
    "or": _WORDS,
    "xor": _WORDS,
}
"""The reductions of a tensor copy, and the element types that each exists for."""
