"""Elements that tensor copies change on their way: rounded to tf32, packed to six bits, combined with others."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.atomics import update
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers.rounding import from_memory
from girih.ir.types import Number
from girih.ops.tile.tensor_map import CopyReduction

WORDS = {
    CopyReduction.ADD: "add",
    CopyReduction.AND: "and",
    CopyReduction.OR: "or",
    CopyReduction.XOR: "xor",
    CopyReduction.INC: "uinc_wrap",
    CopyReduction.DEC: "udec_wrap",
}
"""The words of LLVM for atomic updates of integers, whatever their sign."""


def rounded_to_tf32(w: Writer, bits: Val) -> Val:
    """The bits of 32-bit floats rounded to nearest even at 10 bits; NaN becomes 0x7fffe000 (measured on an H200)."""
    type = bits.type
    odd = w.binary("and", w.binary("lshr", bits, integer(13, type)), integer(1, type))
    rounded = w.add(w.add(bits, integer(0xFFF, type)), odd)
    rounded = w.binary("and", rounded, integer(-0x2000, type))
    magnitude = w.binary("and", bits, integer(0x7FFFFFFF, type))
    nan = w.compare("ugt", magnitude, integer(0x7F800000, type))
    return w.select(nan, integer(0x7FFFE000, type), rounded)


def six_bits(w: Writer, held: Val) -> Val:
    """The low six bits of eight bytes side by side, the first lowest."""
    # Pairs of neighbours are joined: of bytes, then of 12 bits, then of 24.
    for shift, even in ((2, 0x003F003F003F003F), (4, 0x00000FFF00000FFF), (8, 0x0000000000FFFFFF)):
        apart = 8 * shift // 2
        lower = w.binary("and", held, integer(even))
        upper = w.binary("and", w.binary("lshr", held, integer(shift)), integer(even << apart - shift))
        held = w.binary("or", lower, upper)
    return held


def combine(
    code: KernelCode, reduction: CopyReduction, element: Number, pointer: Val, held: Val, signed: Val, scope: str
) -> None:
    """Combine an element of a tensor with one of local memory, atomically.

    `signed` says whether integers are; `scope` is what LLVM calls that of the update.
    """
    w = code.w
    if element.family != "integer":
        value = from_memory(w, code.features, element, held)
        update(code, reduction.value, element, pointer, value, scope)
        return
    if reduction in WORDS:
        w.atomic_update(WORDS[reduction], pointer, held, element.size, scope)
        return
    word = reduction.value

    def of_signed() -> list[Val]:
        w.atomic_update(word, pointer, held, element.size, scope)
        return []

    def of_unsigned() -> list[Val]:
        w.atomic_update(f"u{word}", pointer, held, element.size, scope)
        return []

    w.either(signed, of_signed, of_unsigned)
