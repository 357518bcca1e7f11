"""What a device computes as exactly as the language asks, beyond what Vulkan promises."""

from __future__ import annotations

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Abilities:
    """The abilities that decide how numbers are written out.

    `float64`: there are doubles, whose sums and products are rounded right. `fused`: a fused multiplication and
    addition is one. `quotients`, `roots`: those of f32 are rounded right; `double_roots`: those of f64 are.
    """

    float64: bool = True
    fused: bool = False
    quotients: bool = False
    roots: bool = False
    double_roots: bool = False
