"""The builder of the device language, in which each file of this room declares its instructions and rules.

The device language is what compute shaders in SPIR-V need beside the matrices, layouts and numbers of the tensor
language, whose instructions it shares: memory as bytes, control flow that is left from inside, arrays of a work-item,
unsigned numbers, operations on the active work-items of a subgroup. `docs/design/device.md` is its page.
"""

from __future__ import annotations

from girih.ir.core import RegionKind
from girih.ir.language import LanguageBuilder
from girih.ir.types import (
    Boolean,
    CoopMatrix,
    GroupType,
    MemRef,
    Number,
    PrivateArrayType,
    TensorLayoutType,
    TensorViewType,
)

SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""The sizes that SubgroupSize may have (Vulkan, "maxSubgroupSize": a power of two from 1 to 128)."""

DEVICE = LanguageBuilder(
    "device",
    (Number, Boolean, MemRef, GroupType, CoopMatrix, PrivateArrayType, TensorLayoutType, TensorViewType),
    ways={
        RegionKind.SPMD: "put it into `parallel { ... }`",
        RegionKind.COLLECTIVE: "move it out of the `parallel` around it",
    },
    called={
        "branch": "a branch",
        "byte_atomic_compare_exchange": "an atomic exchange",
        "byte_atomic_load": "an atomic load",
        "byte_atomic_store": "an atomic store",
        "byte_atomic_update": "an atomic update",
        "byte_load": "a load",
        "byte_store": "a store",
        "byte_view": "an access by matrices",
        "leave": "the end of a branch or loop",
        "private_load": "a load",
        "private_store": "a store",
        "subgroup_barrier": "a barrier of the subgroup",
        "work_group_barrier": "a barrier",
    },
    subgroup_sizes=SUBGROUP_SIZES,
    counts_bytes=True,
)
"""Closed at the end of `girih.ops.device`, which makes `DEVICE_LANGUAGE` of it."""
