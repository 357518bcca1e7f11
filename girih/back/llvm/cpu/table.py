"""The lowerings of the CPU."""

from __future__ import annotations

from girih.back.llvm.cpu import printing, sharing, subgroup
from girih.back.llvm.cpu.collective import linalg
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix import apply, blocked, combine, components, coopmatrix, memory, reduce
from girih.back.llvm.cpu.tensor import coopmatrix_tensor
from girih.back.llvm.cpu.tensor_map import copies
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.table import GENERIC
from girih.back.llvm.lower.tiles import decisions

_ALL = Lowerings[CpuCode]().joined(
    GENERIC,
    printing.LOWERINGS,
    sharing.LOWERINGS,
    subgroup.LOWERINGS,
    linalg.LOWERINGS,
    coopmatrix.LOWERINGS,
    apply.LOWERINGS,
    blocked.LOWERINGS,
    combine.LOWERINGS,
    components.LOWERINGS,
    memory.LOWERINGS,
    reduce.LOWERINGS,
    coopmatrix_tensor.LOWERINGS,
    copies.LOWERINGS,
    decisions.DECISIONS,
)
CPU = _ALL.replaced(linalg.CHOICES)
"""How the CPU lowers every instruction."""
