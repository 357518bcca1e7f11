"""How many neighbouring points of a `foreach` a thread computes at once: as many as make its accesses wide."""

from __future__ import annotations

from girih.back.llvm.lower.code import KernelCode
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.arith import Binary, Bitcast, Cast, Comparison, Constant, Select, Unary
from girih.ops.tile.builtin import GroupId, NumGroups, NumSubgroups, SubgroupSize
from girih.ops.tile.control import Foreach
from girih.ops.tile.math import FusedMultiplyAdd, Math, Power
from girih.ops.tile.memory import Associated, Load, Size, Store

ACCESS = 16
"""The bytes that a thread accesses at once where it can."""

MOST_BYTES = 32
"""The bytes of the widest access of a thread, where others have narrower elements."""

MOST_FUNCTIONS = 8
"""So many functions are written for the points of a thread at most."""

_PLAIN = (
    Binary, Unary, Comparison, Cast, Bitcast, Select, Constant, Math, Power, FusedMultiplyAdd,
    Load, Store, Size, Associated, GroupId, NumGroups, NumSubgroups, SubgroupSize,
)  # fmt: skip
"""What a body may have whose points are computed as vectors."""


def points_at_once(code: KernelCode, op: Foreach) -> int:
    """The number of points, a power of two; 1 where points are computed one by one.

    The accesses that move with the first variable must be to neighbours, or to places that are read from memory.
    """
    body = op.body.ops
    if not all(isinstance(one, _PLAIN) for one in body):
        return 1
    if any(isinstance(value.type, CoopMatrix | MemRef) for one in body for value in one.results):
        return 1
    moves = _Moves(op)
    sizes: list[int] = []
    for one in body:
        moves.follow(one)
        if isinstance(one, Load | Store):
            size = moves.neighbours(one)
            if size is None:
                return 1
            sizes.append(size)
    wide = [size for size in sizes if size]
    if not wide:
        return 1
    count = min(ACCESS // min(wide) or 1, max(1, MOST_BYTES // max(wide)))
    functions = sum(isinstance(one, Math | Power) for one in body)
    while count > 1 and count * functions > MOST_FUNCTIONS:
        count //= 2
    return count


class _Moves:
    """The values of a body that change from point to point along the first mode."""

    def __init__(self, op: Foreach) -> None:
        first = op.variables[0]
        self._moving: set[Value] = {first}
        self._even: set[Value] = {first}
        """Those that grow evenly."""
        self._next: set[Value] = {first}
        """Those that grow by one."""

    def follow(self, op: Op) -> None:
        """Note what the results of an instruction do."""
        operands = [value for value in op.operands if value in self._moving]
        if not operands:
            return
        self._moving.update(op.results)
        if not isinstance(op, Binary | Cast) or not all(value in self._even for value in operands):
            return
        name = op.spec.mnemonic
        if isinstance(op, Cast) or name in ("add", "sub", "mul"):
            self._even.update(op.results)
        keeps = isinstance(op, Cast) or name == "add" or (name == "sub" and operands[0] is op.a)
        if len(operands) == 1 and operands[0] in self._next and keeps:
            self._next.update(op.results)

    def neighbours(self, op: Load | Store) -> int | None:
        """The bytes of the elements of an access to neighbours, 0 for one that wide accesses do not matter to.

        None for one that stands against several points at once.
        """
        type = op.tensor.type
        if not isinstance(type, MemRef) or op.tensor in self._moving:
            return None
        moving = [k for k, index in enumerate(op.indices) if index in self._moving]
        if not moving:
            return None if isinstance(op, Store) else 0
        if any(op.indices[k] not in self._even for k in moving):
            return 0
        (mode, *others) = moving
        if others or type.strides[mode] != 1 or op.indices[mode] not in self._next:
            return None
        return type.element.size
