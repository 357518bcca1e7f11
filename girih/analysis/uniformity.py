"""The values that differ between the work-items that execute them together.

In an SPMD region a value is uniform where it is equal in all active work-items of a subgroup; in a collective region,
where it is equal in all of the work-group. Uniform values cost one scalar instruction instead of one per lane.
"""

from __future__ import annotations

from collections.abc import Iterable

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix, Number
from girih.ops.tile.arith import Constant
from girih.ops.tile.builtin import SubgroupLocalId
from girih.ops.tile.control import For, Foreach, If, Yield
from girih.ops.tile.coopmatrix import CooperativeMatrixExtract
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.ops.tile.memory import AtomicUpdate
from girih.ops.tile.subgroup import OPERATIONS, SubgroupBroadcast, SubgroupOperation

_REDUCTIONS = tuple(cls for (shape, _), cls in OPERATIONS.items() if shape == "reduce")
_LARGEST_FLAT = 2**30


def constants_of(function: Function) -> dict[Value, int]:
    """The integer constants of a function."""
    constants: dict[Value, int] = {}
    for op in function.walk():
        if isinstance(op, Constant) and isinstance(op.value, int) and isinstance(op.result.type, Number):
            constants[op.result] = int(op.value)
    return constants


def flat_modes(op: Foreach, constants: dict[Value, int], lanes: int) -> tuple[int, ...]:
    """The static sizes of the leading modes that are dealt out to lanes together, because the first is too short.

    They are empty where the first mode alone is dealt out.
    """
    sizes: list[int] = []
    for start, stop in zip(op.start, op.stop, strict=True):
        if start not in constants or stop not in constants:
            break
        sizes.append(max(0, constants[stop] - constants[start]))
    if len(sizes) < 2 or sizes[0] >= lanes:
        return ()
    total, kept = 1, 0
    for size in sizes:
        if total * max(1, size) > _LARGEST_FLAT:
            break
        total, kept = total * max(1, size), kept + 1
    return tuple(sizes[:kept]) if kept > 1 else ()


def varying_values(function: Function, constants: dict[Value, int], lanes: int) -> set[Value]:
    """The values that are not uniform."""
    analysis = _Analysis(constants, lanes)
    analysis.region(function.body)
    return analysis.varying


class _Analysis:
    def __init__(self, constants: dict[Value, int], lanes: int) -> None:
        self.constants = constants
        self.lanes = lanes
        self.varying: set[Value] = set()

    def mark(self, values: Iterable[Value]) -> None:
        self.varying.update(v for v in values if not isinstance(v.type, CoopMatrix))

    def varies(self, values: Iterable[Value]) -> bool:
        return not self.varying.isdisjoint(values)

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        match op:
            case Foreach():
                flat = flat_modes(op, self.constants, self.lanes)
                self.mark(op.variables[: max(1, len(flat))])
                self.region(op.body)
            case For():
                self.loop(op)
            case If():
                self.branch(op)
            case CooperativeMatrixApply() | CooperativeMatrixLoadTensor():
                self.components(op)
            case CooperativeMatrixCombine():
                self.mark((op.left, op.right))
                self.region(op.body)
            case SubgroupLocalId() | AtomicUpdate() | CooperativeMatrixExtract():
                self.mark(op.results)
            case SubgroupBroadcast():
                pass
            case SubgroupOperation():
                if not isinstance(op, _REDUCTIONS):
                    self.mark(op.results)
            case _:
                if self.varies(op.operands):
                    self.mark(op.results)
                for region in op.regions:
                    self.region(region)

    def components(self, op: CooperativeMatrixApply | CooperativeMatrixLoadTensor) -> None:
        """Mark what varies in a region that computes components: the lanes are those of a line, in `apply` a column."""
        self.mark(v for v in op.bindings if not isinstance(op, CooperativeMatrixApply) or v is not op.column)
        for region in op.regions:
            self.region(region)

    def loop(self, op: For) -> None:
        bounds = [v for v in (op.start, op.stop, op.step) if v is not None]
        if self.varies(bounds):
            self.mark((*op.carried, *op.results))
        if self.varies([v for v in (op.start, op.step) if v is not None]):
            self.mark([op.variable])
        self.mark([c for c, i in zip(op.carried, op.initial, strict=True) if i in self.varying])
        while True:
            self.region(op.body)
            values = _yielded(op.body)
            more = [c for c, v in zip(op.carried, values, strict=False) if v in self.varying and c not in self.varying]
            more = [c for c in more if not isinstance(c.type, CoopMatrix)]
            if not more:
                break
            self.mark(more)
        self.mark([r for r, c in zip(op.results, op.carried, strict=True) if c in self.varying])

    def branch(self, op: If) -> None:
        for region in op.regions:
            self.region(region)
        if self.varies([op.condition]):
            self.mark(op.results)
        for region in op.regions:
            self.mark([r for r, v in zip(op.results, _yielded(region), strict=False) if v in self.varying])


def _yielded(region: Region) -> tuple[Value, ...]:
    last = region.terminator
    return last.values if isinstance(last, Yield) else ()
