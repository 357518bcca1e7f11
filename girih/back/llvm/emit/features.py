"""What a machine has for arithmetic: a value that the key of cached code needs, without the code that writes."""

from __future__ import annotations

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a processor that the code of arithmetic depends on."""

    f16: bool
    """Conversions between `half` and `float` in hardware: F16C on x86, always on AArch64."""
    fma: bool
    """Fused multiplication and addition in hardware: FMA3 on x86, always on AArch64."""
    f16_in_vectors: bool = False
    """Whether the instructions for these conversions are of vectors alone, as F16C's are."""
    bf16: bool = False
    """Whether numbers are rounded to `bfloat` by an instruction."""
    narrows: bool = True
    """Whether a conversion to `half` and back rounds: some compilers of shaders take such a pair away."""
