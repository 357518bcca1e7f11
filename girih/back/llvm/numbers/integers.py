"""Integer and boolean operations as LLVM values, scalars or vectors (003 "Arithmetic (binary)", "Arithmetic (unary)").

Guarantees: nothing traps and nothing is undefined. The smallest integer by -1 is itself, with remainder 0; by 0
everything is 0; so is everything shifted by a width outside of 0 .. bits - 1. Signed right shifts keep the sign.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val, bits, integer, lanes, zero
from girih.back.llvm.emit.writer import Writer


def constant_of(a: Val) -> int | None:
    """The value of an integer constant, also of one that is the same in every lane of a vector."""
    if lanes(a.type) == 1:
        return a.literal
    if a.text == "zeroinitializer":
        return 0
    if not a.text.startswith("splat (i"):
        return None
    text = a.text[:-1].rsplit(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def _same(value: int, like: Val) -> Val:
    return integer(value, like.type)


def _plain(opcode: str) -> Callable[[Writer, Val, Val], Val]:
    def operation(w: Writer, a: Val, b: Val) -> Val:
        return w.binary(opcode, a, b)

    return operation


def _divide(w: Writer, a: Val, b: Val) -> Val:
    known = constant_of(b)
    if known == 0:
        return zero(a.type)
    if known == -1:
        return w.sub(zero(a.type), a)
    if known is not None:
        return w.binary("sdiv", a, b)
    none, minus = w.compare("eq", b, zero(b.type)), w.compare("eq", b, _same(-1, b))
    quotient = _quotient(w, a, _harmless(w, b, none, minus))
    return w.select(none, zero(a.type), w.select(minus, w.sub(zero(a.type), a), quotient))


def _remainder(w: Writer, a: Val, b: Val) -> Val:
    known = constant_of(b)
    if known in (0, -1):
        return zero(a.type)
    if known is not None:
        return w.binary("srem", a, b)
    none, minus = w.compare("eq", b, zero(b.type)), w.compare("eq", b, _same(-1, b))
    divisor = _harmless(w, b, none, minus)
    # By the quotient, which a program that takes a number apart computes as well: division is slow.
    return w.sub(a, w.mul(_quotient(w, a, divisor), divisor))


def _harmless(w: Writer, b: Val, none: Val, minus: Val) -> Val:
    """The divisor, 1 where it is 0 or -1: the remainder is 0 there as it should be."""
    return w.select(w.binary("or", none, minus), _same(1, b), b)


def _quotient(w: Writer, a: Val, b: Val) -> Val:
    """The quotient by a divisor that is neither 0 nor -1.

    Processors do not divide vectors of integers. A float type with twice their bits rounds no quotient up to the next
    integer: a quotient that is not an integer is at least 1 / b away from the next one.
    """
    width = bits(a.type)
    if lanes(a.type) == 1 or width == 64:
        return w.binary("sdiv", a, b)
    real = "double" if width == 32 else "float"
    word = [x if width == 32 else w.convert("sext", x, "i32") for x in (a, b)]
    x, y = (w.convert("sitofp", x, real) for x in word)
    return w.convert("trunc", w.convert("fptosi", w.binary("fdiv", x, y), "i32"), a.type)


def _shift(opcode: str) -> Callable[[Writer, Val, Val], Val]:
    def operation(w: Writer, a: Val, b: Val) -> Val:
        width, known = bits(a.type), constant_of(b)
        if known is not None:
            return w.binary(opcode, a, b) if 0 <= known < width else zero(a.type)
        # Seen as unsigned, a negative width is too large as well.
        return w.select(w.compare("ult", b, _same(width, b)), w.binary(opcode, a, b), zero(a.type))

    return operation


def _absolute(w: Writer, a: Val) -> Val:
    return w.larger(a, w.sub(zero(a.type), a))


def _negate(w: Writer, a: Val) -> Val:
    return w.sub(zero(a.type), a)


def _invert(w: Writer, a: Val) -> Val:
    return w.binary("xor", a, _same(-1, a))


BINARY: dict[str, Callable[[Writer, Val, Val], Val]] = {
    "add": Writer.add,
    "sub": Writer.sub,
    "mul": Writer.mul,
    "div": _divide,
    "rem": _remainder,
    "max": Writer.larger,
    "min": Writer.smaller,
    "shl": _shift("shl"),
    "shr": _shift("ashr"),
    "and": _plain("and"),
    "or": _plain("or"),
    "xor": _plain("xor"),
}
"""Mnemonic to operation."""

UNARY: dict[str, Callable[[Writer, Val], Val]] = {"abs": _absolute, "neg": _negate, "not": _invert}
"""Mnemonic to operation."""
