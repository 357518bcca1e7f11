"""The lowerings that all targets share."""

from __future__ import annotations

from girih.back.llvm.lower import arith, atomics, builtin, control, math, memory, tensor_layout

GENERIC = arith.LOWERINGS.joined(
    atomics.LOWERINGS,
    builtin.LOWERINGS,
    control.LOWERINGS,
    math.LOWERINGS,
    memory.LOWERINGS,
    tensor_layout.LOWERINGS,
)
"""How instructions on scalars, memory and control flow are lowered, for any number of lanes."""
