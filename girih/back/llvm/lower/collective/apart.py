"""Whether the result of a collective instruction may share an element with another operand, as far as it is known
while the kernel is compiled.

Allocations lie apart from all else, members of groups from all other arguments. Two views of one memory at a known
distance are told apart here. How the rest is looked at while the kernel runs is each machine's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

from girih.analysis.effects import roots_of
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.collective.views import View, view
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, index
from girih.facts import findings
from girih.facts.overlap import ByteBox, byte_box, first_shared, index_at
from girih.ir.core import Function, Op, Value
from girih.ir.types import GroupType, MemRef
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum, same_view_has_meaning

Code = TypeVar("Code", bound=KernelCode)


class OperandPair(Generic[Code]):
    """The result of an instruction and another operand, which may lie in one memory."""

    def __init__(self, code: Code, op: Any, names: tuple[str, str], other: View, result: View) -> None:
        """Those that are named, the other operand first, and their views."""
        self.code, self.op = code, op
        self.other, self.result = other, result
        self._operands = [getattr(op, name) for name in names]
        self._words = findings.operands_overlap(op, *names)
        self.same_is_fine = same_view_has_meaning(op) and other.element == result.element

    @property
    def roots(self) -> list[Value]:
        """The parameters or allocations that the operand and the result are views of."""
        return [_roots(self.code.function)[operand] for operand in self._operands]

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of code behind the check."""
        return "apart", str(self.same_is_fine), repr(self.other), repr(self.result)

    @property
    def of_one_memory(self) -> bool:
        """Whether both are views of one argument or allocation, or of members of one group."""
        theirs, mine = self.roots
        return theirs is mine

    @property
    def may_meet(self) -> bool:
        """Whether the operands may share memory at all: if it is not one memory, then two arguments, and no members."""
        return self.of_one_memory or all(_is_memref_parameter(self.code.function, root) for root in self.roots)

    @property
    def whole(self) -> list[View]:
        """All of the arguments, or where not both are at hand, as in a function for a part of a kernel, the views."""
        code = self.code
        if not all(root in code.env for root in self.roots):
            return [self.other, self.result]
        return [view(code.w, code.memref(root)) for root in self.roots]

    def decide(self) -> bool:
        """Whether it is known if two views of one memory share an element; a finding is written if they do."""
        other, result = self.other, self.result
        distance = self.known_distance
        if distance == 0 and self.same_is_fine and _same_strides(other, result):
            return True
        if distance is None or not _is_known(other) or not _is_known(result):
            return False
        box, its = _known_box(result), _known_box(other)
        shared = None if box is None or its is None else first_shared(distance, box, its)
        if shared is not None:
            shape, strides = _known(result.shape), _known(result.strides)
            place = index_at(shared, shape, strides, result.element.size)
            self.find(integer(1, "i1"), list(map(index, place)), list(map(index, shape)))
        return True

    @property
    def memrefs(self) -> tuple[MemRefHeld, MemRefHeld]:
        """The operand and the result as they are held."""
        other, result = (self.code.memref(operand) for operand in self._operands)
        return other, result

    @property
    def known_distance(self) -> int | None:
        """The number of bytes from the result to the operand, two views of one memory, where it is a constant."""
        other, result = self.memrefs
        if isinstance(self.roots[0].type, GroupType) or not (other.uniform and result.uniform):
            return None
        theirs, mine = other.offset.part, result.offset.part
        if theirs.text == mine.text:
            return 0
        first, second = theirs.literal, mine.literal
        return None if first is None or second is None else (first - second) * other.element.size

    def find(self, bad: Val, place: Sequence[Scalar], shape: Sequence[Scalar]) -> None:
        """Find an element of the result that they share, if a condition holds, with its index and the shape."""
        self.code.check(self.op, bad, self._words, argument=self.result.name, index=place, shape=shape)


def pairs_to_check(
    kind: type[Pair], code: KernelCode, op: Any, names: Sequence[str], views: Sequence[View]
) -> list[Pair]:
    """The pairs of the result, which is the last of the names and views, with operands it may share memory with."""
    result = views[-1]
    pairs = [kind(code, op, (name, names[-1]), other, result) for name, other in zip(names, views[:-1], strict=False)]
    return [pair for pair in pairs if pair.may_meet and code.w.first_time(*pair.facts)]


Pair = TypeVar("Pair", bound=OperandPair[Any])


def span(w: Writer, box: View) -> Val:
    """The number of bytes from the first to the last of a view, both counted, if it is not empty."""
    elements: Operand = 1
    for size, stride in zip(box.shape, box.strides, strict=True):
        elements = w.add(elements, w.mul(w.sub(size, 1), stride))
    return w.mul(elements, box.element.size)


OPERANDS: dict[type[Op], tuple[str, ...]] = {
    Axpby: ("a", "b"),
    Cumsum: ("a", "b"),
    Sum: ("a", "b"),
    Gemm: ("a", "b", "c"),
    Gemv: ("a", "b", "c"),
    Ger: ("a", "b", "c"),
    Hadamard: ("a", "b", "c"),
}
"""The operands of each instruction that are memrefs, the result last."""


def compared_parameters(function: Function) -> set[Value]:
    """The parameters that are results of instructions with operands in other parameters, and these."""
    compared: set[Value] = set()
    for op in function.walk():
        names = OPERANDS.get(op.__class__, ())
        shown = [_roots(function)[getattr(op, name)] for name in names]
        memories = {root for root in shown if _is_memref_parameter(function, root)}
        if shown and shown[-1] in memories and len(memories) > 1:
            compared |= memories
    return compared


@lru_cache(maxsize=4)
def _roots(function: Function) -> dict[Value, Value]:
    return roots_of(function)


def _is_memref_parameter(function: Function, root: Value) -> bool:
    return isinstance(root.type, MemRef) and any(p.value is root for p in function.parameters)


def _is_known(box: View) -> bool:
    return all(isinstance(n, int) for n in (*box.shape, *box.strides))


def _same_strides(a: View, b: View) -> bool:
    """Whether two views of one shape are known to have the same strides."""
    return all(size == 1 or _equal(s, t) for size, s, t in zip(a.shape, a.strides, b.strides, strict=True))


def _equal(a: Operand, b: Operand) -> bool:
    return a == b if isinstance(a, int) or isinstance(b, int) else a.text == b.text


def _known(extents: Sequence[Operand]) -> list[int]:
    return [n for n in extents if isinstance(n, int)]


def _known_box(box: View) -> ByteBox | None:
    return byte_box(_known(box.shape), _known(box.strides), box.element.size)
