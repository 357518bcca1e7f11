"""The types of PTX (PTX ISA "Fundamental Types", "Alternate Floating-Point Data Formats", "Packed Data Types")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

UNSIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}
"""What holds bits, by how many there are."""
SIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}


@dataclass(frozen=True, slots=True)
class PtxType:
    """A type: `kind` is `b`, `u`, `s`, `f` or `pred`; `array` is how NumPy computes with it.

    A type of floats that NumPy lacks is computed with as its bits. `format` names how floats lie in the bits, for
    `floats.formats`; `lanes` is how many lie in a register.
    """

    name: str
    bits: int
    kind: str
    array: np.dtype[Any]
    format: str = ""
    lanes: int = 1

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def held(self) -> np.dtype[Any]:
        """What a register of this type is held as."""
        return np.dtype(np.bool_) if self.kind == "pred" else UNSIGNED[self.bits]


def _types() -> dict[str, PtxType]:
    found = {"pred": PtxType("pred", 1, "pred", np.dtype(np.bool_))}
    for bits in (8, 16, 32, 64):
        for kind, arrays in (("b", UNSIGNED), ("u", UNSIGNED), ("s", SIGNED)):
            found[f"{kind}{bits}"] = PtxType(f"{kind}{bits}", bits, kind, arrays[bits])
    floats = ((16, np.float16), (32, np.float32), (64, np.float64))
    found |= {f"f{bits}": PtxType(f"f{bits}", bits, "f", np.dtype(of), f"f{bits}") for bits, of in floats}
    packed = (
        ("bf16", 16, 1), ("f16x2", 32, 2), ("bf16x2", 32, 2), ("tf32", 32, 1),
        ("e4m3", 8, 1), ("e5m2", 8, 1), ("e4m3x2", 16, 2), ("e5m2x2", 16, 2), ("f32x2", 64, 2),
    )  # fmt: skip
    for name, bits, lanes in packed:
        kind = "f" if name[0] in "bf" or name == "tf32" else "e"
        found[name] = PtxType(name, bits, kind, UNSIGNED[bits], name.removesuffix("x2"), lanes)
    for kind in "us":
        found[f"{kind}16x2"] = PtxType(f"{kind}16x2", 32, kind, UNSIGNED[32], lanes=2)
    return found


TYPES = _types()
"""The types by their names, without the dot."""
