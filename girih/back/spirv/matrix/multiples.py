"""What is known of places in memory before a kernel runs: which powers of two divide offsets, sizes and strides.

Promises of parameters count (003 "Parameter attributes"), and what follows from constants and from steps of loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property

from girih.ir.core import Function, Op, Parameter, Value
from girih.ir.types import GroupType, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Binary, Cast, Constant
from girih.ops.tile.control import For, If, Yield
from girih.ops.tile.memory import Alloca, Expand, Fuse, Load, Size, Subview

MOST = 2**20
"""No larger power of two is asked for."""

BUFFER_ALIGNMENT = 16
"""The bytes at multiples of which buffers and shared memory with matrices begin at least."""


def power_of_two(number: int) -> int:
    """The largest power of two that divides an integer, at most `MOST`."""
    return min(number & -number, MOST) if number else MOST


@dataclass(frozen=True, slots=True)
class MemRefMultiples:
    """Powers of two that divide the place in bytes at which a memref begins, and its sizes and strides in elements."""

    begin: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def turned(self, transpose: bool) -> MemRefMultiples:
        """What is known of the transpose, if asked for."""
        return replace(self, shape=self.shape[::-1], strides=self.strides[::-1]) if transpose else self


@dataclass(frozen=True)
class Multiples:
    """The powers of two that divide the numbers of a function; sizes and strides that are open are multiples of `even`.

    Values that are not known to be multiples of anything have 1.
    """

    function: Function
    even: int = 1
    _numbers: dict[Value, int] = field(default_factory=dict)
    _memrefs: dict[Value, MemRefMultiples] = field(default_factory=dict)

    @cached_property
    def _makers(self) -> dict[Value, Op]:
        """What gives each value, or binds it."""
        made = {result: op for op in self.function.walk() for result in op.results}
        return made | {op.variable: op for op in self.function.walk() if isinstance(op, For)}

    @cached_property
    def _parameters(self) -> dict[Value, Parameter]:
        return {one.value: one for one in self.function.parameters}

    # --- numbers -------------------------------------------------------------------------

    def of(self, number: Value | int) -> int:
        """The power of two of an integer."""
        if isinstance(number, int):
            return power_of_two(number)
        if number not in self._numbers:
            self._numbers[number] = self._number(number)
        return self._numbers[number]

    def _number(self, value: Value) -> int:
        match op := self._makers.get(value):
            case Constant() if isinstance(op.value, int):
                return power_of_two(int(op.value))
            case Binary() if op.spec.mnemonic in _RULES:
                return min(_RULES[op.spec.mnemonic](self.of(op.a), self.of(op.b)), MOST)
            case Cast() if not isinstance(op.a.type, MemRef) and _is_integer(op.a):
                return self.of(op.a)
            case Size() if isinstance(op.tensor.type, MemRef):
                return self.memref(op.tensor).shape[op.mode]
            case If():
                ends = [region.terminator for region in op.regions if isinstance(region.terminator, Yield)]
                return min((self.of(tuple(end.operands)[op.results.index(value)]) for end in ends), default=1)
            case For() if value is op.variable:
                return min(self.of(op.start), 1 if op.step is None else self.of(op.step))
        return 1

    # --- memory --------------------------------------------------------------------------

    def memref(self, value: Value) -> MemRefMultiples:
        """What is known of a memref."""
        if value not in self._memrefs:
            self._memrefs[value] = self._settled(value, self._memref(value))
        return self._memrefs[value]

    def _settled(self, value: Value, found: MemRefMultiples) -> MemRefMultiples:
        """With the sizes and strides that the type says."""
        type = value.type
        assert isinstance(type, MemRef)
        shape, strides = (
            tuple(one if number is None else power_of_two(number) for number, one in zip(told, known, strict=True))
            for told, known in ((type.shape, found.shape), (type.strides, found.strides))
        )
        return replace(found, shape=shape, strides=strides)

    def _memref(self, value: Value) -> MemRefMultiples:
        type = value.type
        assert isinstance(type, MemRef)
        nothing = (1,) * type.order
        if value in self._parameters:
            promises = self._parameters[value].attributes
            shape, strides = (self._promised(promises.get(name), type.order) for name in ("shape_gcd", "stride_gcd"))
            return MemRefMultiples(BUFFER_ALIGNMENT, shape, strides)
        match op := self._makers.get(value):
            case Alloca():
                return MemRefMultiples(BUFFER_ALIGNMENT, nothing, nothing)
            case Subview():
                return self._subview(op, type)
            case Expand():
                return self._expanded(op)
            case Fuse():
                return self._fused(op)
            case Load() if isinstance(op.tensor.type, GroupType):
                return MemRefMultiples(self._alignment(op.tensor, type), nothing, nothing)
        return MemRefMultiples(type.element.size, nothing, nothing)

    def _promised(self, promise: object, order: int) -> tuple[int, ...]:
        known = promise if isinstance(promise, tuple) else ()
        numbers = [power_of_two(one) if isinstance(one, int) and one > 0 else 1 for one in known]
        return tuple(max(one, self.even) for one in [*numbers, *[1] * order][:order])

    def _alignment(self, group: Value, type: MemRef) -> int:
        parameter = self._parameters.get(group)
        promised = parameter.attributes.get("alignment") if parameter else None
        return power_of_two(promised) if isinstance(promised, int) else power_of_two(type.element.size)

    def _subview(self, op: Subview, type: MemRef) -> MemRefMultiples:
        whole = self.memref(op.tensor)
        begin = whole.begin
        for part, stride in zip(op.slices, whole.strides, strict=True):
            begin = min(begin, self.of(part.offset) * stride * power_of_two(type.element.size))
        kept = [(part, stride) for part, stride in zip(op.slices, whole.strides, strict=True) if not part.drops_mode]
        shape = tuple(1 if part.size is None else self.of(part.size) for part, _ in kept)
        return MemRefMultiples(begin, shape, tuple(stride for _, stride in kept))

    def _expanded(self, op: Expand) -> MemRefMultiples:
        whole = self.memref(op.tensor)
        sizes = [self.of(size) for size in op.sizes]
        strides = [whole.strides[op.mode]]
        for size in sizes[:-1]:
            strides.append(min(strides[-1] * size, MOST))
        return MemRefMultiples(
            whole.begin,
            (*whole.shape[: op.mode], *sizes, *whole.shape[op.mode + 1 :]),
            (*whole.strides[: op.mode], *strides, *whole.strides[op.mode + 1 :]),
        )

    def _fused(self, op: Fuse) -> MemRefMultiples:
        whole = self.memref(op.tensor)
        size = 1
        for one in whole.shape[op.first : op.last + 1]:
            size = min(size * one, MOST)
        return MemRefMultiples(
            whole.begin,
            (*whole.shape[: op.first], size, *whole.shape[op.last + 1 :]),
            (*whole.strides[: op.first + 1], *whole.strides[op.last + 1 :]),
        )


_RULES: dict[str, Callable[[int, int], int]] = {
    "add": min,
    "sub": min,
    "min": min,
    "max": min,
    "or": min,
    "xor": min,
    "and": max,
    "mul": lambda a, b: a * b,
}
"""What follows for the result of an instruction on two integers."""


def _is_integer(value: Value) -> bool:
    return getattr(value.type, "family", "") == "integer"
