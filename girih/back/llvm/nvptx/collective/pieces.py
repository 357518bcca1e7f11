"""Elements of a collective instruction that are neighbours in memory, several at once.

A piece has as many elements as a thread accesses at once, 16 bytes where alignment and sizes allow it. Whether
addresses are aligned is asked once, in front of all accesses: there are two pieces of code, of which one goes element
by element.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from girih.back.llvm.emit.text import Operand, Val, integer, wide
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.linalg.target import CollectiveNumbers, Parts, ScaledTarget
from girih.back.llvm.numbers.casts import cast
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, INDEX, Number

ACCESS = 16
"""The bytes that a thread accesses at once where it can."""

PLAIN = frozenset((I8, I16, I32, I64, INDEX, BF16, F16, F32, F64))
"""The types of elements that are accessed several at once."""


def suits(*views: View) -> bool:
    """Whether elements of all these types are accessed several at once."""
    return all(view.element in PLAIN for view in views)


def at_once(element: Number, extent: Operand = 0) -> int:
    """How many elements a thread accesses at once in lines of an extent; as many as 16 bytes have where it is 0."""
    return gcd(ACCESS // element.size, extent) if isinstance(extent, int) else ACCESS // element.size


def read_piece(numbers: CollectiveNumbers, view: View, place: Val, count: int) -> Val:
    """The numbers of `count` neighbours, in the computing type; of one, a scalar. Their address is a multiple of
    their bytes, or of 16."""
    code = numbers.code
    align = min(ACCESS, count * view.element.size)
    held = code.w.load(wide(memory_type(view.element), count), place, align)
    part = from_memory(code.w, code.features, view.element, held)
    return numbers.widened(view.element, (part,))[0]


def result_piece(target: ScaledTarget, held: Val, place: Val, count: int) -> Val:
    """What `count` neighbours of the target become, in their form in memory, of results computed but for alpha."""
    n, element = target.numbers, target.view.element
    code = n.code
    w, contract = code.w, code.contract

    def scaled(part: Val, by: Parts | None) -> Parts:
        return (part,) if by is None else n.multiply((part,), (w.splat(by[0], count),), contract=contract)

    parts = scaled(held, target.alpha)
    if target.reads:
        old = scaled(read_piece(n, target.view, place, count), target.beta)
        parts = n.add(parts, old, contract=contract)
    if element == BF16 and n.compute == F32:
        return w.convert("fptrunc", parts[0], wide("bfloat", count))
    (part,) = cast(w, code.features, n.compute, element, parts)
    return to_memory(w, code.features, element, part)


def store_piece(target: ScaledTarget, held: Val, place: Val, count: int) -> None:
    """Store `count` neighbours of the target, in their form in memory, at an address that is aligned for them."""
    target.numbers.code.w.store(held, place, min(ACCESS, count * target.view.element.size))


def is_aligned(code: CudaCode, view: View, count: int) -> Val:
    """Whether pieces of so many elements along the first mode lie at multiples of their bytes: the first one of the
    view, and by their strides all that follow it along other modes."""
    w, size = code.w, min(ACCESS, count * view.element.size)
    bits = code.address(view.pointer)
    assert bits is not None, "memory of a GPU has addresses"
    for extent, stride in zip(view.shape[1:], view.strides[1:], strict=True):
        if extent != 1:
            bits = w.binary("or", bits, w.mul(stride, view.element.size))
    return w.compare("eq", w.binary("and", bits, integer(size - 1)), integer(0))


def in_two_ways(code: CudaCode, aligned: Val | None, wide: Callable[[], None], narrow: Callable[[], None]) -> None:
    """Write code for memory that is aligned as a condition says, and for other memory; None if it never is."""
    if aligned is None:
        narrow()
        return

    def written(body: Callable[[], None]) -> list[Val]:
        body()
        return []

    code.w.either(aligned, lambda: written(wide), lambda: written(narrow), rare=True)
