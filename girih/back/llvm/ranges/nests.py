"""The loops of a function and what stands in them: where values are made, accesses to elements, branches around them.

Everything is found in one walk, so that a target may ask for each loop without looking through its body again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.control import For, Foreach, If
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd, MatrixLoad, MatrixStore
from girih.ops.tile.coopmatrix_tensor import (
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixLoadTensor,
    CooperativeMatrixStoreBlockedInterleaved,
    CooperativeMatrixStoreTensor,
)
from girih.ops.tile.math import Math, Power
from girih.ops.tile.memory import AtomicLoad, AtomicStore, AtomicUpdate, Load, Store, Subview
from girih.ops.tile.tensor_layout import TensorLayoutSlice

_FUNCTION = 16
"""About how many instructions a mathematical function is."""

_PIECE = 64
"""The components of a matrix that count as one instruction more; of a product it is four times as many terms."""

_MOVED = 8
"""The components that count as one instruction more where they go through the layout of a tensor as they are."""

ElementAccess = Load | Store | AtomicLoad | AtomicStore | AtomicUpdate
"""The instructions that access one element of a memref for each work-item."""

TensorAccess = CooperativeMatrixLoadTensor | CooperativeMatrixStoreTensor
BlockedAccess = CooperativeMatrixLoadBlockedInterleaved | CooperativeMatrixStoreBlockedInterleaved
TileAccess = MatrixLoad | MatrixStore | TensorAccess | BlockedAccess | TensorLayoutSlice | Subview
"""The instructions that access a tile or part of memory, or say which one."""

CountedLoop = For | Foreach
"""The loops whose variables run from a first value to an end."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundAccess:
    """An access to elements or to a tile, and the loops and branches around it, the innermost one last.

    Of a branch it says too whether its condition holds where the access is.
    """

    op: ElementAccess | TileAccess
    number: int
    around: tuple[tuple[CountedLoop | If, bool], ...]

    @property
    def indices(self) -> tuple[Value | int, ...]:
        """The indices that are checked."""
        match self.op:
            case MatrixLoad() | MatrixStore():
                return self.op.row, self.op.column
            case (
                CooperativeMatrixLoadTensor()
                | CooperativeMatrixStoreTensor()
                | CooperativeMatrixLoadBlockedInterleaved()
                | CooperativeMatrixStoreBlockedInterleaved()
            ):
                return (self.op.offset,)
            case TensorLayoutSlice() | Subview():
                return tuple(one.offset for one in self.op.slices)
            case _:
                return tuple(self.op.indices)

    def within(self, loop: Op) -> Iterator[tuple[CountedLoop | If, bool]]:
        """The loops and branches around the access that stand in a loop around it, the outermost one first."""
        inside = False
        for op, holds in self.around:
            if inside:
                yield op, holds
            inside = inside or op is loop


@dataclass(slots=True)
class Nests:
    """What is known of the loops of a function. Instructions have numbers in the order of the text."""

    made: dict[Value, Op] = field(default_factory=dict)
    """The instruction that a value is a result or a variable of."""
    numbers: dict[Op, int] = field(default_factory=dict)
    last: dict[Op, int] = field(default_factory=dict)
    """The number of the last instruction in the regions of a loop."""
    weights: dict[Op, int] = field(default_factory=dict)
    """The number of instructions in a loop, where it does nothing together but what single work-items could.

    A mathematical function is several, and so is what makes or takes a large matrix.
    """
    with_matrices: set[Op] = field(default_factory=set)
    """The loops in which, or through which, matrices go."""
    accesses: list[FoundAccess] = field(default_factory=list)

    def contains(self, loop: Op, value: Value) -> bool:
        """Whether a value is made in a loop; its variables are."""
        op = self.made.get(value)
        return (
            op is not None and self.numbers[loop] <= self.numbers[op] <= self.last[loop] and value not in loop.results
        )

    def accesses_in(self, loop: Op) -> list[FoundAccess]:
        """The accesses in a loop, in the order of the text."""
        first, last = self.numbers[loop], self.last[loop]
        return [access for access in self.accesses if first < access.number <= last]


@lru_cache(maxsize=4)
def nests_of(function: Function) -> Nests:
    """The loops of a function."""
    found = Nests()
    _walk(function.body, (), found)
    return found


def _walk(region: Region, around: tuple[tuple[CountedLoop | If, bool], ...], found: Nests) -> int | None:
    """Note what stands in a region: the number of its instructions, None where work-groups do some together."""
    total: int | None = 0
    for op in region.ops:
        number = found.numbers[op] = len(found.numbers)
        found.made.update(dict.fromkeys((*op.results, *op.bindings), op))
        if isinstance(op, TileAccess) or (isinstance(op, ElementAccess) and isinstance(op.tensor.type, MemRef)):
            found.accesses.append(FoundAccess(op, number, around))
        matrices = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, CoopMatrix)]
        if matrices:
            found.with_matrices.update(loop for loop, _ in around)
        weight: int | None = _FUNCTION if isinstance(op, Math | Power) else _weight(op, matrices)
        for inner in op.regions:
            entered = around
            if isinstance(op, CountedLoop | If):
                entered = (*around, (op, not isinstance(op, If) or inner is op.then))
            part = _walk(inner, entered, found)
            weight = None if part is None or weight is None else weight + part
        if isinstance(op, CountedLoop):
            found.last[op] = len(found.numbers) - 1
            if matrices:
                found.with_matrices.add(op)
            if weight is not None:
                found.weights[op] = weight
        together = op.spec.by_work_group or any(type.of_work_group for type in matrices)
        total = None if together or weight is None or total is None else total + weight
    return total


def _weight(op: Op, matrices: Sequence[CoopMatrix]) -> int:
    """About how many instructions an instruction is, without those of its regions."""
    if isinstance(op, CooperativeMatrixMulAdd) and isinstance(op.a.type, CoopMatrix):
        result = matrices[-1]
        return 1 + result.rows * result.columns * op.a.type.columns // (4 * _PIECE)
    piece = _MOVED if isinstance(op, TensorAccess) and not op.regions else _PIECE
    return 1 + max((type.rows * type.columns // piece for type in matrices), default=0)
