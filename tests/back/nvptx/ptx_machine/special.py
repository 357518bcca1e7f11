"""The special registers that the machine has (PTX ISA "Special Registers"): their types, and what threads read."""

from __future__ import annotations

import numpy as np

from tests.back.nvptx.ptx_machine.types import Array

WARP = 32

SPECIAL = {
    **{f"%{name}.{axis}": "u32" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"},
    **{f"%cluster_{name}.{axis}": "u32" for name in ("ctaid", "nctaid") for axis in "xyz"},
    **{f"%lanemask_{name}": "u32" for name in ("eq", "le", "lt", "ge", "gt")},
    **dict.fromkeys(("%laneid", "%warpid", "%nwarpid", "%dynamic_smem_size", "%total_smem_size"), "u32"),
    **dict.fromkeys(("%cluster_ctarank", "%cluster_nctarank", "WARP_SZ"), "u32"),
}
"""Their types by their names. Clusters are of one CTA."""


def special_values(
    threads: tuple[int, int, int], grid: tuple[int, int, int], place: tuple[int, int, int], shared: tuple[int, int]
) -> dict[str, Array]:
    """What the threads of a CTA read, by names; `shared` is the size of dynamic and of all shared memory."""
    x, y, z = threads
    number = np.arange(x * y * z, dtype=np.uint32)
    lane, warp = number % WARP, number // WARP
    one = np.uint32(1)
    equal = one << lane
    below = equal - one
    held: dict[str, Array] = {
        "%tid.x": number % x,
        "%tid.y": number // x % y,
        "%tid.z": number // (x * y),
        "%laneid": lane,
        "%warpid": warp,
        "%lanemask_eq": equal,
        "%lanemask_lt": below,
        "%lanemask_le": below | equal,
        "%lanemask_gt": ~(below | equal),
        "%lanemask_ge": ~below,
    }
    same = {f"%ntid.{axis}": size for axis, size in zip("xyz", threads, strict=True)}
    same |= {f"%nctaid.{axis}": size for axis, size in zip("xyz", grid, strict=True)}
    same |= {f"%ctaid.{axis}": at for axis, at in zip("xyz", place, strict=True)}
    same |= {f"%cluster_ctaid.{axis}": 0 for axis in "xyz"} | {f"%cluster_nctaid.{axis}": 1 for axis in "xyz"}
    same |= {"%cluster_ctarank": 0, "%cluster_nctarank": 1, "WARP_SZ": WARP, "%nwarpid": -(-len(number) // WARP)}
    same |= {"%dynamic_smem_size": shared[0], "%total_smem_size": shared[1]}
    return held | {name: np.array([value], np.uint32) for name, value in same.items()}
