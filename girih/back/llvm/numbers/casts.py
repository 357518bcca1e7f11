"""Casts between number types on LLVM values, scalars or vectors (003 "Cast"), and their bits seen as another type.

Guarantees: integers wrap around; floats become integers by truncation, saturating, NaN giving 0; everything that
becomes floating or complex rounds once, to nearest even; floats of eight bits saturate. Results are those of the
interpreter. Bits stay as they are, except for a signaling NaN of f16, which hardware makes quiet when it becomes a
wider float.
"""

from __future__ import annotations

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, bits, floating, integer, lanes, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.eight_bits import decoded, encoded
from girih.back.llvm.numbers.floats import as_float, is_nan, magnitude, pattern, real
from girih.back.llvm.numbers.rounding import from_memory, round_to, to_memory
from girih.back.llvm.numbers.values import memory_type, register
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F16, F32, PARTS, Number

Parts = tuple[Val, ...]

_EXACT = 8
"""Integers up to this one are numbers of every type, so that constants of a type left open stay constants, but for the
floats of eight bits, which are integers in registers."""


def cast(w: Writer, features: Features, source: Number, target: Number, a: Parts) -> Parts:
    """A number in another type (003 "Cast"). Raises TypeError for complex to real, which 003 forbids."""
    if source == target:
        return a
    if source in EIGHT_BIT_FLOATS:
        return cast(w, features, F32, target, (decoded(w, source, a[0], features),))
    if target.family == "complex":
        part = PARTS[target]
        parts = tuple(_to_floating(w, features, PARTS.get(source, source), part, x) for x in a)
        return parts if len(parts) == 2 else (*parts, zero(parts[0].type))
    if source.family == "complex":
        raise TypeError(f"a cast from {source} to {target}")
    if target.family == "floating":
        return (_to_floating(w, features, source, target, a[0]),)
    if source.family == "floating":
        return (_saturated(w, a[0], register(target)),)
    if _is_small(a[0]):
        return (integer(a[0].literal or 0, register(target)),)
    opcode = "sext" if bits(a[0].type) < 8 * target.size else "trunc"
    return (w.convert(opcode, a[0], register(target)),)


def reinterpreted(w: Writer, features: Features, source: Number, target: Number, a: Parts) -> Parts:
    """The bits of a number as another type of the same size (SPIR-V 3.52.11 "OpBitcast"); a real part has the low ones.

    A complex number becomes a complex one only if both are of one type, since no two complex types have one size.
    """
    if source == target:
        return a
    return _from_bits(w, features, target, _bits_of(w, features, source, a))


def _bits_of(w: Writer, features: Features, type: Number, a: Parts) -> Val:
    """The bits of a number as one integer."""
    one = PARTS.get(type, type)
    held = [pattern(w, to_memory(w, features, one, x)) if one.family == "floating" else x for x in a]
    if len(held) == 1:
        return held[0]
    whole = wide(f"i{8 * type.size}", lanes(a[0].type))
    low, high = (w.convert("zext", x, whole) for x in held)
    return w.binary("or", low, w.binary("shl", high, integer(4 * type.size, whole)))


def _from_bits(w: Writer, features: Features, type: Number, held: Val) -> Parts:
    """A number of a type from its bits."""
    one = PARTS.get(type, type)
    if one.family != "floating":
        return (held,)
    parts = [held]
    if one is not type:
        half = wide(f"i{8 * one.size}", lanes(held.type))
        shifted = w.binary("lshr", held, integer(8 * one.size, held.type))
        parts = [w.convert("trunc", x, half) for x in (held, shifted)]
    return tuple(from_memory(w, features, one, as_float(w, x, memory_type(one))) for x in parts)


_SIGNIFICANT = {"float": 24, "double": 53}


def _saturated(w: Writer, a: Val, type: str) -> Val:
    """Floats truncated to integers, saturating. LLVM's own saturating conversion takes vectors apart."""
    width = bits(type)
    number = w.select(is_nan(w, a), zero(a.type), a)
    limit = 1 << width - 1
    # The largest float below the limit: the largest integer itself, or less by what the float does not hold.
    below = limit - max(1, limit >> _SIGNIFICANT[scalar(a.type)])
    low, high = real(-float(limit), a), real(float(below), a)
    inside = w.select(w.compare("ogt", low, number), low, number)
    inside = w.select(w.compare("olt", high, inside), high, inside)
    held = w.convert("fptosi", inside, "i32" if width < 32 else type)
    if width < 32:
        return w.convert("trunc", held, type)
    if below == limit - 1:
        return held
    return w.select(w.compare("oge", number, real(float(limit), a)), integer(limit - 1, held.type), held)


def _is_small(a: Val) -> bool:
    """Whether an integer is a constant that every type has."""
    return a.literal is not None and abs(a.literal) <= _EXACT


def _to_floating(w: Writer, features: Features, source: Number, target: Number, a: Val) -> Val:
    """Integers or floats converted to a floating type, rounded once."""
    if source == target:
        return a
    narrow = target in EIGHT_BIT_FLOATS or target in (BF16, F16)
    if source.family == "integer":
        if _is_small(a) and target not in EIGHT_BIT_FLOATS:
            return floating(float(a.literal or 0), register(target))
        if not narrow:
            return w.convert("sitofp", a, register(target))
        held = _integer_to_odd_float(w, a) if target == BF16 else _integer_to_small_float(w, a)
        return _narrowed(w, features, target, held)
    if scalar(a.type) == "double":
        return _narrowed(w, features, target, _to_odd(w, a) if narrow else w.convert("fptrunc", a, "float"))
    return w.convert("fpext", a, "double") if register(target) == "double" else _narrowed(w, features, target, a)


def _narrowed(w: Writer, features: Features, target: Number, a: Val) -> Val:
    """A `float` as a number of a type that is not wider."""
    return encoded(w, target, a) if target in EIGHT_BIT_FLOATS else round_to(w, features, target, a)


FAR_OUT = 1 << 17
"""A number that a `float` holds and that is beyond the largest one of f16 and of eight bits."""


def _integer_to_small_float(w: Writer, a: Val) -> Val:
    """Integers as `float`s: those that f16 and floats of eight bits hold, and any one beyond these for others."""
    if bits(a.type) < 32:
        return w.convert("sitofp", a, "float")
    inside = w.larger(w.smaller(a, integer(FAR_OUT, a.type)), integer(-FAR_OUT, a.type))
    return w.convert("sitofp", w.convert("trunc", inside, "i32"), "float")


def _integer_to_odd_float(w: Writer, a: Val) -> Val:
    """Integers as `float`s that round to a narrower type as the integers would."""
    width = bits(a.type)
    if width < 32:
        return w.convert("sitofp", a, "float")
    if width == 64:
        a = _fit_double(w, a)
    return _to_odd(w, w.convert("sitofp", a, "double"))


def _fit_double(w: Writer, a: Val) -> Val:
    """Integers of 64 bits cut to 53 significant bits, the last of which is set if others were lost."""
    top = w.binary("ashr", a, integer(53, a.type))
    small = w.compare("ult", w.add(top, integer(1, a.type)), integer(2, a.type))
    low = w.binary("and", a, integer(0x7FF, a.type))
    # Adding all ones carries into the bit above exactly where a bit is set; that bit ends up odd.
    carried = w.binary("and", w.add(low, integer(0x7FF, a.type)), integer(0x800, a.type))
    odd = w.binary("and", w.binary("or", a, carried), integer(-0x800, a.type))
    return w.select(small, a, odd)


def _to_odd(w: Writer, a: Val) -> Val:
    """Doubles as floats whose last bit is set if others were lost, so that rounding again to fewer bits is right."""
    nearest = w.convert("fptrunc", a, "float")
    back = w.convert("fpext", nearest, "double")
    held = pattern(w, nearest)
    away = w.compare("ogt", magnitude(w, back), magnitude(w, a))
    towards_zero = w.sub(held, w.convert("zext", away, "i32"))
    inexact = w.convert("zext", w.compare("one", back, a), "i32")
    return as_float(w, w.binary("or", towards_zero, inexact), "float")
