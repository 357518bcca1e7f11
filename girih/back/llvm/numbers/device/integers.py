"""Integers read as signed or unsigned as LLVM values, scalars or vectors (SPIR-V 3.52.13 "Arithmetic").

Guarantees: nothing traps and nothing is undefined. By 0 everything is 0; the smallest integer by -1 is itself, with
remainder 0.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val, bits, integer, lanes, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers import integers
from girih.back.llvm.numbers.integers import constant_of


def _unsigned_quotient(w: Writer, a: Val, b: Val) -> Val:
    """The quotient by a divisor that is not 0.

    Processors do not divide vectors of integers. A float type with twice their bits rounds no quotient up to the next
    integer: a quotient that is not an integer is at least 1 / b away from the next one.
    """
    width = bits(a.type)
    if lanes(a.type) == 1 or width == 64 or constant_of(b) is not None:
        return w.binary("udiv", a, b)
    if width == 32:
        x, y = (w.convert("uitofp", v, "double") for v in (a, b))
        return w.convert("fptoui", w.binary("fdiv", x, y), a.type)
    x, y = (w.convert("sitofp", w.convert("zext", v, "i32"), "float") for v in (a, b))
    return w.convert("trunc", w.convert("fptosi", w.binary("fdiv", x, y), "i32"), a.type)


def _unsigned_divide(w: Writer, a: Val, b: Val) -> Val:
    none, divisor = _harmless(w, b)
    return w.select(none, zero(a.type), _unsigned_quotient(w, a, divisor))


def _unsigned_remainder(w: Writer, a: Val, b: Val) -> Val:
    none, divisor = _harmless(w, b)
    if lanes(a.type) == 1 or bits(a.type) == 64 or constant_of(divisor) is not None:
        rest = w.binary("urem", a, divisor)
    else:
        rest = w.sub(a, w.mul(_unsigned_quotient(w, a, divisor), divisor))
    return w.select(none, zero(a.type), rest)


def _harmless(w: Writer, b: Val) -> tuple[Val, Val]:
    """Whether a divisor is 0, and the divisor, 1 where it is."""
    known = constant_of(b)
    if known is not None:
        none = integer(int(known == 0), "i1")
        return none, integer(1, b.type) if known == 0 else b
    none = w.compare("eq", b, zero(b.type))
    return none, w.select(none, integer(1, b.type), b)


def _modulo(w: Writer, a: Val, b: Val) -> Val:
    """The remainder with the sign of the divisor."""
    rest = integers.BINARY["rem"](w, a, b)
    apart = w.compare("slt", w.binary("xor", rest, b), zero(b.type))
    moved = w.binary("and", apart, w.compare("ne", rest, zero(b.type)))
    return w.select(moved, w.add(rest, b), rest)


def _multiplied_high(extend: str) -> Callable[[Writer, Val, Val], Val]:
    def operation(w: Writer, a: Val, b: Val) -> Val:
        width = bits(a.type)
        x, y = (w.convert(extend, v, f"i{2 * width}") for v in (a, b))
        product = w.mul(x, y)
        return w.convert("trunc", w.binary("lshr", product, integer(width, product.type)), f"i{width}")

    return operation


def _chosen(predicate: str) -> Callable[[Writer, Val, Val], Val]:
    return lambda w, a, b: w.select(w.compare(predicate, a, b), a, b)


BINARY: dict[str, Callable[[Writer, Val, Val], Val]] = {
    "unsigned_div": _unsigned_divide,
    "unsigned_rem": _unsigned_remainder,
    "signed_div": integers.BINARY["div"],
    "signed_rem": integers.BINARY["rem"],
    "signed_mod": _modulo,
    "unsigned_min": _chosen("ult"),
    "unsigned_max": _chosen("ugt"),
    "unsigned_mul_high": _multiplied_high("zext"),
    "signed_mul_high": _multiplied_high("sext"),
    "unsigned_add_saturated": lambda w, a, b: w.overloaded("uadd.sat", a, b),
    "signed_add_saturated": lambda w, a, b: w.overloaded("sadd.sat", a, b),
}
"""Mnemonic to operation."""


def overflows(w: Writer, a: Val, b: Val) -> Val:
    """Whether the smallest integer is divided by -1."""
    least = integer(-1 << bits(a.type) - 1, a.type)
    return w.binary("and", w.compare("eq", b, integer(-1, b.type)), w.compare("eq", a, least))
