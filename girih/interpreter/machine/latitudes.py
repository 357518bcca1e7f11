"""What Vulkan leaves open about the results of a shader, and the ways in which an implementation may go.

Each latitude has ways that are taken throughout, the first of which is what the interpreter does without a seed. In
some, each number may go its own way as well: `EACH`.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.lazy_dataclass import dataclass

EACH = "each"
"""The way in which each number goes one of its own, drawn from the seed."""


@dataclass(frozen=True, slots=True)
class LatitudeRow:
    """A latitude: what is open in words, its ways, and the section that leaves it open.

    `by_number` says that each number may go its own way, `by_launch` that all of a launch go the same.
    """

    words: str
    ways: tuple[str, ...]
    section: str
    by_number: bool = False
    by_launch: bool = False

    @property
    def all_ways(self) -> tuple[str, ...]:
        """The ways, that of each number by itself too where there is one."""
        return (*self.ways, EACH) if self.by_number else self.ways


_PRECISION = 'Vulkan "Precision and Operation of SPIR-V Instructions"'

LATITUDES: Mapping[str, LatitudeRow] = {
    "contraction": LatitudeRow(
        "operations computed together, or GLSL's fma apart", ("written", "fused", "apart"),
        f'{_PRECISION}, "Evaluation of Expressions"; SPIR-V 3.20 NoContraction',
    ),
    "relaxed": LatitudeRow("RelaxedPrecision as 16 bits", ("full", "half"), "SPIR-V 2.15"),
    "denormals": LatitudeRow("denormals flushed to zero", ("preserve", "flush"), _PRECISION),
    "rounding": LatitudeRow(
        "rounding of sums, products and conversions to either neighbour", ("even", "toward_zero", "down", "up"),
        f'{_PRECISION}, "Correctly Rounded"', by_number=True,
    ),
    "ulps": LatitudeRow(
        "errors of division and functions", ("near", "low", "high"),
        f'{_PRECISION}, "Precision of Individual Operations"', by_number=True,
    ),
    "zeros": LatitudeRow("the sign of zeros", ("signed", "positive", "negative"), _PRECISION),
    "accumulation": LatitudeRow(
        "the internal precision of products of matrices", ("wide", "exact", "narrow", "truncated"),
        f"{_PRECISION} OpCooperativeMatrixMulAddKHR",
    ),
    "subgroup_sums": LatitudeRow(
        "the order of sums over a subgroup", ("tree", "sequence"), "SPIR-V 3.52.24 OpGroupNonUniformFAdd"
    ),
    "components": LatitudeRow(
        "which components of a matrix a work-item holds", ("rows", "shuffled"), "SPV_KHR_cooperative_matrix",
        by_launch=True,
    ),
}  # fmt: skip
"""The latitudes of one launch by name, in the order in which they are told."""

ORDER, SUBGROUP_SIZE = "order", "subgroup_size"
OPEN = (ORDER, SUBGROUP_SIZE, *LATITUDES)
"""All that a seed varies: what programs of any kind leave open, the subgroup size, the latitudes of shaders."""
