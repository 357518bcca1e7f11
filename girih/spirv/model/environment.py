"""Environments that a module is judged for: a version of SPIR-V alone, or of Vulkan, which adds rules of its own."""

from __future__ import annotations

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """A target environment: the last version of SPIR-V that it takes, and the version of Vulkan, None for none."""

    name: str
    spirv: tuple[int, int]
    vulkan: tuple[int, int] | None = None


ENVIRONMENTS = {
    one.name: one
    for one in (
        *(Environment(f"universal1.{minor}", (1, minor)) for minor in range(7)),
        Environment("vulkan1.0", (1, 0), (1, 0)),
        Environment("vulkan1.1", (1, 3), (1, 1)),
        Environment("vulkan1.1spv1.4", (1, 4), (1, 1)),
        Environment("vulkan1.2", (1, 5), (1, 2)),
        Environment("vulkan1.3", (1, 6), (1, 3)),
        Environment("vulkan1.4", (1, 6), (1, 4)),
    )
}
"""The environments by name. Versions: Vulkan specification, appendix "Vulkan Environment for SPIR-V"."""

BLOCK_LAYOUTS = ("scalar", "relaxed", "standard")
"""The rules of alignment for members of buffers, the freest first (Vulkan, "Offset and Stride Assignment")."""
