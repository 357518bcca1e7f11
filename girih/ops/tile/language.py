"""The builder of the tensor language, in which each file of this room declares its instructions and rules."""

from __future__ import annotations

from girih.ir.core import RegionKind
from girih.ir.language import LanguageBuilder
from girih.ir.types import (
    Boolean,
    CoopMatrix,
    GroupType,
    MemRef,
    Number,
    TensorLayoutType,
    TensorMapType,
    TensorViewType,
)

TILE = LanguageBuilder(
    "tile",
    (Number, Boolean, MemRef, GroupType, CoopMatrix, TensorLayoutType, TensorViewType, TensorMapType),
    ways={
        RegionKind.SPMD: "put it into `parallel { ... }`, `foreach` or `foreach_tile`",
        RegionKind.COLLECTIVE: "move it out of the `parallel`, `foreach` or `foreach_tile` around it",
    },
)
"""Closed at the end of `girih.ops.tile`, which makes `TILE_LANGUAGE` of it."""
