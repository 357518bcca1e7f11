"""Offsets in bytes that come from narrower indices, checked as these: in half as many registers.

A shader computes an index with 32 bits, widens it, and counts bytes with 64. The offset index * factor + more is below
an end where the index is below a quotient, which is computed in front of the loops in which it does not change. That
only tells that an offset is inside: where it may not be, the offset itself is looked at. Wide offsets are computed
behind the check, beside the access, as only there LLVM leaves an index narrow in a gather.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from girih.back.llvm.emit.folding import lane_values, vector
from girih.back.llvm.emit.text import Val, integer, lanes, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers.values import Scalar, index
from girih.ir.core import Function, Op, Value
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass
from girih.ops.device.integers import ZeroExtend
from girih.ops.tile.arith import Add, Cast, Mul

_DEEPEST = 8
"""So many instructions are followed from an offset to its index."""

_MOST = 2**30
"""Factors and what is added are at most this large, so that no offset wraps around."""

_BITS = 32
"""The bits of an index."""


@dataclass(frozen=True, slots=True)
class NarrowOffset:
    """The offset index * factor + more[lane]; `index` is a vector of 32 bits that was widened with its sign or not."""

    index: Val
    signed: bool
    factor: int
    more: tuple[int, ...]

    def may_be_outside(self, code: KernelCode, ends: Val) -> Val:
        """Whether an offset may not be below an end, lane by lane; never false where one is not. The end is >= 0."""
        w = code.w
        limit = self._limit(w, ends)
        return w.compare("uge", self.index, w.splat(limit, code.lanes))

    def _limit(self, w: Writer, ends: Val) -> Val:
        """The number of indices, from 0 on, whose offsets are below an end in all lanes; an i32 without a sign."""
        most, bound, known = max(self.more), 2 ** (_BITS - 1) if self.signed else 2**_BITS - 1, ends.literal
        if known is not None:
            number = min(max(-((most - known) // self.factor), 0), bound)
            return integer(number - 2**_BITS if number >= 2 ** (_BITS - 1) else number, f"i{_BITS}")
        left = w.sub(ends, most)
        # Rounded up; what is not positive is not divided.
        count = w.binary("udiv", w.add(left, self.factor - 1), self.factor)
        count = w.select(w.compare_early("sgt", left, integer(0)), count, integer(0))
        return w.convert("trunc", w.smaller(count, bound), f"i{_BITS}")

    def offsets(self, code: KernelCode, narrow: Val) -> Scalar:
        """The offsets of an index that has the same numbers."""
        w, count = code.w, code.lanes
        whole = w.convert("sext" if self.signed else "zext", narrow, wide("i64", count))
        scaled = w.mul(whole, w.splat(integer(self.factor), count))
        return index(w.add(scaled, vector(self.more, "i64")))

    def copy(self, code: KernelCode) -> Val:
        """The index once more, as a value that LLVM does not know to be the same."""
        type, used = self.index.type, code.frame.used
        place = code.scratch(_BITS // 8 * code.lanes)
        code.frame.used = used
        code.w.store(self.index, place, 64)
        return code.w.effect(type, f"load volatile {type}, {place}, align 64")


def narrow_offset(code: KernelCode, offset: Value) -> NarrowOffset | None:
    """An offset as one of a narrower index that varies; None where it is not known to be one."""
    held = code.scalar(offset)
    if code.lanes == 1 or held.uniform or held.linear is not None:
        return None
    factor, more, value = 1, (0,) * code.lanes, offset
    for _ in range(_DEEPEST):
        op = _definitions(code.function).get(value)
        match op:
            case Cast() | ZeroExtend():
                found = code.scalar(op.a)
                if op.a.type != _index_type(op.a) or found.uniform or found.linear is not None:
                    return None
                return NarrowOffset(found.part, isinstance(op, Cast), factor, more)
            case Add() | Mul():
                a, b = _known(code, op.a), _known(code, op.b)
                known = a if b is None else b
                if known is None or (a is not None and b is not None):
                    return None
                value = op.b if b is None else op.a
            case _:
                return None
        if isinstance(op, Mul):
            if len(set(known)) > 1:
                return None
            factor *= known[0]
        else:
            more = tuple(p + factor * q for p, q in zip(more, known, strict=True))
        if not 0 < factor <= _MOST or min(more) < 0 or max(more) > _MOST:
            return None
    return None


def _index_type(value: Value) -> Number | None:
    """The type of a value if that is an integer of 32 bits."""
    type = value.type
    return type if isinstance(type, Number) and type.family == "integer" and 8 * type.size == _BITS else None


def _known(code: KernelCode, value: Value) -> tuple[int, ...] | None:
    """The integer of each lane, where all are known."""
    held = code.scalar(value)
    linear = held.linear
    if linear is not None:
        base = linear.base.literal
        return None if base is None else tuple(base + k * linear.stride for k in range(code.lanes))
    known = held.part.literal
    if lanes(held.part.type) == 1:
        return None if known is None else (known,) * code.lanes
    return lane_values(held.part)


@lru_cache(maxsize=16)
def _definitions(function: Function) -> Mapping[Value, Op]:
    return {result: op for op in function.walk() for result in op.results}
