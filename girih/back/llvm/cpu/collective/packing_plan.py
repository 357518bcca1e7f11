"""The sizes of tiles and blocks of large matrix products, which follow from the caches of the processor."""

from __future__ import annotations

from girih.back.llvm.cpu.collective.microkernel import most_accumulators
from girih.back.llvm.cpu.collective.panels import Panels
from girih.back.llvm.cpu.machine.description import MachineDescription
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import Operand
from girih.back.llvm.lower.collective.views import View
from girih.ir.types import BF16, F32, I8, I32, PARTS, Number
from girih.lazy_dataclass import dataclass

_VECTORS = 2
_VECTORS_OF_FEW = 3
"""How many vectors of rows a tile has: where registers are few, what is left of them holds one number of a column."""

_STEPS = 32
"""The depth of a block is a multiple of so many units."""

_L1_SHARE = 0.75
"""Of the first cache: a panel of the second factor, while panels of the first one pass by."""

_L2_SHARE = 0.4
"""Of the second cache: a block of the first factor, and one of sums that are held where the target cannot."""

_PANELS = 4
"""A block of the first factor has so many panels at least: a panel of the second one is used as often."""

_L3_SHARE = 0.5
"""Of a core's part of the third cache: a block of the second factor."""

_MOST_BYTES = 4 << 20
"""A block of the second factor is no larger: the workspace of a thread stays small, and packing is rare by then."""


@dataclass(frozen=True, slots=True)
class PackingPlan:
    """The sizes of tiles and blocks, in elements."""

    target: CpuTarget
    compute: Number
    pairs: bool
    vectors: int
    rows: int
    columns: int
    depth: int
    block_rows: int
    block_columns: int

    @property
    def parts(self) -> int:
        return 2 if self.compute in PARTS else 1

    def panels(self, element: Number, *, first: bool) -> Panels:
        """How a factor with such elements is packed."""
        group = self.rows * self.parts // self.vectors if first else 1
        return Panels(self.target, element, self.compute, self.rows if first else self.columns, group, self.pairs)


def takes_pairs(target: CpuTarget, compute: Number, a: View, b: View) -> bool:
    """Whether pairs are multiplied and added by one instruction: of bf16, or of bytes as numbers of 16 bits."""
    if compute == I32 and a.element == b.element == I8:
        return target.adds_pairs
    return target.dot_bf16 and compute == F32 and a.element == b.element == BF16


def plan(target: CpuTarget, compute: Number, a: View, b: View, held: bool) -> PackingPlan:
    """Sizes that suit the caches; no larger than matrices whose sizes are known. Sums may have to be `held`."""
    parts = 2 if compute in PARTS else 1
    pairs = takes_pairs(target, compute, a, b)
    vectors = (_VECTORS if target.registers >= 32 else _VECTORS_OF_FEW) if parts == 1 else _VECTORS
    rows = target.lanes_of(compute.size // parts) * vectors // parts
    columns = most_accumulators(target) // vectors // parts
    unit = 4 if pairs else compute.size
    steps, block_rows, block_columns = _blocks(target.machine, rows, columns, unit)
    if held:
        room = int(target.machine.l2_bytes * _L2_SHARE)
        block_columns = _multiple(room // (block_rows * compute.size), columns)
    (m, k), n = a.shape, b.shape[1]
    return PackingPlan(
        target,
        compute,
        pairs,
        vectors,
        rows,
        columns,
        clamped(2 * steps if pairs else steps, k, 2),
        clamped(block_rows, m, rows),
        clamped(block_columns, n, columns),
    )


def _blocks(machine: MachineDescription, rows: int, columns: int, unit: int) -> tuple[int, int, int]:
    """Depth, rows and columns of blocks for tiles of `rows` x `columns`, whose panels have units of so many bytes."""
    first, second = int(machine.l1_bytes * _L1_SHARE), int(machine.l2_bytes * _L2_SHARE)
    # Where there is no third cache, a block of the second factor comes from memory anyway.
    third = min(max(int(machine.l3_bytes * _L3_SHARE), second), _MOST_BYTES)
    steps = _multiple(min(first // (columns * unit), second // (_PANELS * rows * unit)), _STEPS)
    return steps, _multiple(second // (steps * unit), rows), _multiple(third // (steps * unit), columns)


def _multiple(size: int, step: int) -> int:
    """The largest multiple that is no larger than a size, but at least one."""
    return max(size // step, 1) * step


def clamped(size: int, extent: Operand, step: int) -> int:
    """A size that is not larger than an extent, in whole steps; parts of equal size if the extent needs several."""
    if not isinstance(extent, int):
        return size
    count = max(-(-extent // size), 1)
    return min(size, max(-(-extent // (count * step)) * step, step))
