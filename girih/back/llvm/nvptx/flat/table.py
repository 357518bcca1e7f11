"""How flat matrices are lowered."""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.nvptx.flat import memory, reduce, values

FLAT: Lowerings[Any] = Lowerings[Any]().joined(values.LOWERINGS, reduce.LOWERINGS, memory.LOWERINGS)
"""How flat matrices are lowered."""
