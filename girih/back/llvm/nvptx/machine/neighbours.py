"""How many neighbouring points of a `foreach` a thread computes at once: as many as make its accesses wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.control import wide_integer
from girih.back.llvm.numbers.addresses import as_scalar
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Binary, Bitcast, Cast, Comparison, Constant, Select, Unary
from girih.ops.tile.builtin import GroupId, NumGroups, NumSubgroups, SubgroupSize
from girih.ops.tile.control import For, Foreach
from girih.ops.tile.math import FusedMultiplyAdd, Math, Power
from girih.ops.tile.memory import Associated, Load, Size, Store

ACCESS = 16
"""The bytes that a thread accesses at once where it can."""

MOST_BYTES = 32
"""The bytes of the widest access of a thread, where others have narrower elements."""

MOST_REPEATED = 64
"""So many instructions are written for the points of a thread, where it is point after point, at most."""

MOST_FUNCTIONS = 8
"""So many functions are written for the points of a thread at most."""

_PLAIN = (
    Binary, Unary, Comparison, Cast, Bitcast, Select, Constant, Math, Power, FusedMultiplyAdd,
    Load, Store, Size, Associated, GroupId, NumGroups, NumSubgroups, SubgroupSize,
)  # fmt: skip
"""What a body may have whose points are computed as vectors."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The points that a thread computes at once, and the accesses to neighbours that decide whether it may.

    `count` is a power of two, 1 where points are computed one by one.
    """

    count: int
    accesses: tuple[WideAccess, ...] = ()
    together: int = 0
    """So many instructions of the body, the first ones, are executed for all these points at once, the others for one
    after the other."""


@dataclass(frozen=True, slots=True)
class WideAccess:
    """An access to neighbours: its mode with the index that grows by one, and how far that is from the variable.

    The distance is the sum of a number and of some values, which are known in front of the loop, times 1 or -1.
    """

    op: Load | Store
    mode: int
    distance: Distance


@dataclass(frozen=True, slots=True)
class Distance:
    """A sum of a number and of values times 1 or -1."""

    number: int = 0
    values: tuple[tuple[Value, int], ...] = ()

    def plus(self, value: Value, sign: int, constants: Mapping[Value, int]) -> Distance:
        """The sum with one more value."""
        known = constants.get(value)
        if known is not None:
            return Distance(self.number + sign * known, self.values)
        return Distance(self.number, (*self.values, (value, sign)))


ALONE = Neighbours(1)


def neighbours_of(code: KernelCode, op: Foreach) -> Neighbours:
    """How points of a loop are computed.

    The accesses that move with the first variable must be to neighbours that begin alike, or to places that are read
    from memory.
    """
    body = op.body.ops
    together = next((k for k, one in enumerate(body) if not _is_plain(one)), len(body))
    moves = _Moves(op, code.constants)
    wide: list[WideAccess] = []
    for one in body[:together]:
        moves.follow(one)
        if isinstance(one, Load | Store):
            found = moves.access(one)
            if found is None:
                return ALONE
            wide += found
    sizes = [_size(access.op) for access in wide]
    if not wide or any(value not in code.env for access in wide for value, _ in access.distance.values):
        return ALONE
    count = min(ACCESS // min(sizes) or 1, max(1, MOST_BYTES // max(sizes)))
    functions = sum(isinstance(one, Math | Power) for one in body)
    while count > 1 and count * functions > MOST_FUNCTIONS:
        count //= 2
    if together < len(body) and not _is_repeated(body[together:], moves, count):
        return ALONE
    return Neighbours(count, tuple(wide), together) if count > 1 and _begin_alike(wide, count) else ALONE


def _is_plain(op: Op) -> bool:
    """Whether an instruction is executed for several points at once."""
    return isinstance(op, _PLAIN) and not any(isinstance(value.type, CoopMatrix | MemRef) for value in op.results)


def _is_repeated(ops: Sequence[Op], moves: _Moves, count: int) -> bool:
    """Whether instructions are executed for one point after the other: few, none of which accesses neighbours.

    Those would be far apart for the threads of a warp.
    """
    inner = [one for op in ops for one in (op, *(deep for region in op.regions for deep in region.walk()))]
    if len(inner) * count > MOST_REPEATED:
        return False
    for one in inner:
        moves.follow(one)
        values = (*one.operands, *one.results)
        if any(isinstance(value.type, CoopMatrix) for value in values) or isinstance(one, For | Foreach):
            return False
        if isinstance(one, Load | Store) and any(index in moves.even for index in one.indices):
            return False
    return True


def _begin_alike(wide: Sequence[WideAccess], count: int) -> bool:
    """Whether no two accesses to one memref are known to begin at different places in 16 bytes."""
    seen: dict[tuple[Value, tuple[tuple[Value, int], ...]], int] = {}
    for access in wide:
        begin = seen.setdefault((access.op.tensor, access.distance.values), access.distance.number)
        if (begin - access.distance.number) % count:
            return False
    return True


def are_aligned(code: KernelCode, found: Neighbours, start: Val) -> Val:
    """Whether all accesses to neighbours begin at multiples of what they access at once, from point `start` on."""
    w = code.w
    wrong = integer(0)
    for access in found.accesses:
        memref, size = code.memref(access.op.tensor), _size(access.op)
        elements = w.add(start, access.distance.number)
        for value, sign in access.distance.values:
            held = wide_integer(code, code.scalar(value).part)
            elements = w.add(elements, held) if sign > 0 else w.sub(elements, held)
        elements = w.add(elements, memref.offset.part)
        begin = w.add(w.convert("ptrtoint", memref.pointer, "i64"), w.mul(elements, size))
        whole = min(ACCESS, size * found.count)
        for mode, stride in enumerate(memref.strides):
            if mode != access.mode:
                begin = w.binary("or", begin, w.mul(as_scalar(stride).part, size))
        wrong = w.binary("or", wrong, w.binary("and", begin, integer(whole - 1)))
    return w.compare("eq", wrong, integer(0))


def _size(op: Load | Store) -> int:
    assert isinstance(op.tensor.type, MemRef)
    return op.tensor.type.element.size


class _Moves:
    """The values of a body that change from point to point along the first mode."""

    def __init__(self, op: Foreach, constants: Mapping[Value, int]) -> None:
        first = op.variables[0]
        self._constants = constants
        self._moving: set[Value] = {first}
        self.even: set[Value] = {first}
        """Those that grow evenly."""
        self._next: dict[Value, Distance] = {first: Distance()}
        """Those that grow by one, and how far they are from the variable."""

    def follow(self, op: Op) -> None:
        """Note what the results of an instruction do."""
        operands = [value for value in op.operands if value in self._moving]
        if not operands:
            return
        self._moving.update(op.results)
        if not isinstance(op, Binary | Cast) or not all(value in self.even for value in operands):
            return
        name = op.spec.mnemonic
        if isinstance(op, Cast) or name in ("add", "sub", "mul"):
            self.even.update(op.results)
        before = self._next.get(operands[0])
        if len(operands) > 1 or before is None:
            return
        if isinstance(op, Cast):
            self._next[op.result] = before
        elif name == "add" or (name == "sub" and operands[0] is op.a):
            other = op.b if operands[0] is op.a else op.a
            self._next[op.result] = before.plus(other, 1 if name == "add" else -1, self._constants)

    def access(self, op: Load | Store) -> list[WideAccess] | None:
        """The access to neighbours that an instruction is; nothing where wide accesses do not matter to it.

        None for one that stands against several points at once.
        """
        type = op.tensor.type
        if not isinstance(type, MemRef) or op.tensor in self._moving:
            return None
        moving = [k for k, index in enumerate(op.indices) if index in self._moving]
        if not moving:
            return None if isinstance(op, Store) else []
        if any(op.indices[k] not in self.even for k in moving):
            return []
        (mode, *others) = moving
        index = op.indices[mode]
        distance = self._next.get(index) if isinstance(index, Value) else None
        if others or type.strides[mode] != 1 or distance is None:
            return None
        return [WideAccess(op, mode, distance)]
