"""The addresses of memrefs as parameters of their own: of these alone LLVM can know that they share no memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.launch.parameters import promised_alignment, slot_count
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.back.llvm.numbers.addresses import Extent
from girih.back.llvm.numbers.values import index
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.ir.core import Function, Parameter, Value
from girih.ir.types import MemRef

_POINTER = "pointer"
"""The names of parameters that are addresses begin so."""


def pointer_slots(function: Function) -> dict[int, int]:
    """The slots with the addresses of memrefs, and the numbers of the parameters that these are."""
    found: dict[int, int] = {}
    here = FIRST_PARAMETER
    for number, parameter in enumerate(function.parameters):
        if isinstance(parameter.type, MemRef):
            found[here] = number
        here += slot_count(parameter.type)
    return found


def take_pointers(code: CudaCode, numbers: Iterable[int], changing: set[Value]) -> None:
    """Let memrefs begin at the addresses that are parameters; those of what others may change are given away.

    LLVM gets to know what is promised of strides.
    """
    for number in numbers:
        parameter = code.function.parameters[number]
        value, pointer = parameter.value, Val(f"%{_POINTER}{number}", "ptr")
        held = code.memref(value)
        divisors = parameter.attributes.get("stride_gcd")
        promised = divisors if isinstance(divisors, tuple) else ()
        strides = [
            _known_multiple(code, stride, divisor if isinstance(divisor, int) else 1)
            for stride, divisor in zip(held.strides, promised, strict=False)
        ]
        code.set(value, replace(held, pointer=pointer, strides=(*strides, *held.strides[len(strides) :])))
        if value in changing:
            code.writer.give_away(pointer)


def _known_multiple(code: CudaCode, stride: Extent, divisor: int) -> Extent:
    """The stride, of which LLVM knows the power of two in a number that divides it where the mode has two elements."""
    power = divisor & -divisor
    if isinstance(stride, int) or power < 2:
        return stride
    return index(code.w.binary("and", stride.part, integer(-power)))


def declared_pointer(parameter: Parameter, number: int, changing: set[Value], *, disjoint: bool) -> str:
    """The declaration of the address of a memref, with what LLVM may know of it."""
    assert isinstance(parameter.type, MemRef)
    words = ["ptr"]
    if disjoint:
        words += ["noalias", *([] if parameter.value in changing else ["readonly"])]
    return " ".join([*words, f"align {promised_alignment(parameter, parameter.type)}", f"%{_POINTER}{number}"])
