"""Shifts, bit fields and single bits of integers as LLVM values, scalars or vectors (SPIR-V 3.52.14 "Bit").

Guarantees: nothing is undefined. What is shifted too far is 0; a field that lies outside is 0, and changes nothing
where it is inserted. Amounts, offsets and counts are unsigned, of any width.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val, bits, integer, mangled, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.integers import constant_of

_FAR = 255
"""What larger numbers of bits are taken for: no integer has so many."""

_OPCODES = {"shift_left": "shl", "signed_shift_right": "ashr", "unsigned_shift_right": "lshr"}


def too_far(w: Writer, a: Val, amount: Val) -> Val:
    """Whether an amount is not below the width of what is shifted."""
    width = bits(a.type)
    return w.compare("uge", amount, integer(width, amount.type))


def shift(w: Writer, mnemonic: str, a: Val, amount: Val) -> Val:
    """The integer shifted; 0 where that is too far."""
    known = constant_of(amount)
    if known is not None:
        inside = 0 <= known < bits(a.type)
        return w.binary(_OPCODES[mnemonic], a, integer(known, a.type)) if inside else zero(a.type)
    far = too_far(w, a, amount)
    near = _resized(w, w.select(far, zero(amount.type), amount), bits(a.type))
    return w.select(far, zero(a.type), w.binary(_OPCODES[mnemonic], a, near))


def _resized(w: Writer, a: Val, width: int) -> Val:
    """An unsigned number in another width, which holds it."""
    if bits(a.type) == width:
        return a
    return w.convert("zext" if bits(a.type) < width else "trunc", a, f"i{width}")


def _leading_zeros(w: Writer, a: Val) -> Val:
    return w.intrinsic(f"llvm.ctlz.{mangled(a.type)}", a.type, a, integer(0, "i1"))


def _trailing_zeros(w: Writer, a: Val) -> Val:
    return w.intrinsic(f"llvm.cttz.{mangled(a.type)}", a.type, a, integer(0, "i1"))


def _highest(w: Writer, a: Val) -> Val:
    return w.sub(integer(bits(a.type) - 1, a.type), _leading_zeros(w, a))


def _lowest(w: Writer, a: Val) -> Val:
    return w.select(w.compare("eq", a, zero(a.type)), integer(-1, a.type), _trailing_zeros(w, a))


UNARY: dict[str, Callable[[Writer, Val], Val]] = {
    "bit_count": lambda w, a: w.overloaded("ctpop", a),
    "bit_reverse": lambda w, a: w.overloaded("bitreverse", a),
    "highest_bit": _highest,
    "lowest_bit": _lowest,
}
"""Mnemonic to operation."""


def _number_of_bits(w: Writer, a: Val) -> Val:
    """An unsigned number of bits as i32, so that sums of two do not wrap around."""
    known = constant_of(a)
    if known is not None:
        unsigned = known % (1 << bits(a.type))
        return integer(min(unsigned, _FAR), _word(a))
    if bits(a.type) > 8:
        most = integer(_FAR, a.type)
        a = w.select(w.compare("ult", a, most), a, most)
    return _resized(w, a, 32)


def _word(a: Val) -> str:
    return a.type.replace(f"i{bits(a.type)}", "i32")


def outside(w: Writer, base: Val, offset: Val, count: Val) -> Val:
    """Whether a field ends beyond its base."""
    end = w.add(_number_of_bits(w, offset), _number_of_bits(w, count))
    return w.compare("ugt", end, integer(bits(base.type), end.type))


def extract(w: Writer, mnemonic: str, base: Val, offset: Val, count: Val) -> Val:
    """A field taken out: to the upper end, where what is above it is lost, and down again."""
    width = bits(base.type)
    first, size = _number_of_bits(w, offset), _number_of_bits(w, count)
    empty = w.binary("or", outside(w, base, offset, count), w.compare("eq", size, zero(size.type)))
    down = w.select(empty, zero(size.type), w.sub(integer(width, size.type), size))
    up = w.select(empty, zero(size.type), w.sub(down, first))
    raised = w.binary("shl", base, _resized(w, up, width))
    opcode = "ashr" if mnemonic.startswith("signed") else "lshr"
    return w.select(empty, zero(base.type), w.binary(opcode, raised, _resized(w, down, width)))


def insert(w: Writer, base: Val, inserted: Val, offset: Val, count: Val) -> Val:
    """The base with a field replaced."""
    width = bits(base.type)
    first, size = _number_of_bits(w, offset), _number_of_bits(w, count)
    empty = w.binary("or", outside(w, base, offset, count), w.compare("eq", size, zero(size.type)))
    place = _resized(w, w.select(empty, zero(first.type), first), width)
    unused = w.select(empty, zero(size.type), w.sub(integer(width, size.type), size))
    ones = w.binary("lshr", integer(-1, base.type), _resized(w, unused, width))
    mask = w.select(empty, zero(base.type), w.binary("shl", ones, place))
    kept = w.binary("and", base, w.binary("xor", mask, integer(-1, mask.type)))
    return w.binary("or", kept, w.binary("and", w.binary("shl", inserted, place), mask))
