"""Arithmetic on scalars as LLVM values (003 "Arithmetic (binary)", "Arithmetic (unary)", "Comparison", "Constant").

Guarantees:
- A number is a tuple of parts, two for complex numbers; all parts are scalars, or all are vectors of one length.
- Every operation on floats rounds once to its type; integers wrap around; nothing traps. Division by zero and shifts
  by a negative or too large width give 0: finding them is the caller's work. With `contract`, LLVM may round a product
  together with the sum that it goes into, if that is marked, too.
- Results are those of the interpreter, to the last bit; of NaN only that it is one.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, bits, floating, integer, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers import integers
from girih.back.llvm.numbers.complexes import complex_abs, complex_divide, complex_multiply
from girih.back.llvm.numbers.eight_bits import decoded
from girih.back.llvm.numbers.floats import magnitude, negative
from girih.back.llvm.numbers.rounding import round_to
from girih.back.llvm.numbers.values import register, vector_of
from girih.ir.floats import eight_bits, rounded
from girih.ir.types import EIGHT_BIT_FLOATS, F32, PARTS, Boolean, Number

Parts = tuple[Val, ...]
"""A number: one value, or real and imaginary part."""


def binary(
    w: Writer,
    features: Features,
    mnemonic: str,
    type: Number | Boolean,
    a: Parts,
    b: Parts,
    *,
    contract: bool = False,
) -> Parts:
    """An operation of two numbers of one type (003 "Arithmetic (binary)"); on `bool` only `and`, `or`, `xor`."""
    if isinstance(type, Boolean) or type.family == "integer":
        return (integers.BINARY[mnemonic](w, a[0], b[0]),)
    flag = " contract" if contract and mnemonic in ("add", "sub", "mul") else ""
    if type.family == "complex":
        return _COMPLEX[mnemonic](w, a, b, flag)
    opcode = _ROUNDING.get(mnemonic)
    if opcode is not None:
        # What is narrower than its register is rounded in between, which leaves nothing to round together.
        opcode += flag if type.size * 8 == bits(register(type)) else ""
        return (round_to(w, features, type, w.binary(opcode, a[0], b[0])),)
    return (_EXACT[mnemonic](w, a[0], b[0]),)


def unary(w: Writer, features: Features, mnemonic: str, type: Number | Boolean, a: Parts) -> Parts:
    """An operation of one number (003 "Arithmetic (unary)"); `abs`, `im` and `re` of a complex number give one part."""
    if isinstance(type, Boolean) or type.family == "integer":
        return (integers.UNARY[mnemonic](w, a[0]),)
    if type.family == "complex":
        return _COMPLEX_UNARY[mnemonic](w, a)
    return (_FLOAT_UNARY[mnemonic](w, a[0]),)


def compare(w: Writer, mnemonic: str, type: Number | Boolean, a: Parts, b: Parts) -> Val:
    """A condition of two numbers of one type (003 "Comparison"); NaN as in IEEE 754, `false` below `true`."""
    if isinstance(type, Boolean):
        return w.compare(_BOOLEAN_PREDICATES[mnemonic], a[0], b[0])
    if type.family == "integer":
        return w.compare(_INTEGER_PREDICATES[mnemonic], a[0], b[0])
    parts = [w.compare(_FLOAT_PREDICATES[mnemonic], x, y) for x, y in zip(a, b, strict=True)]
    if len(parts) == 1:
        return parts[0]
    return w.binary("and" if mnemonic == "equal" else "or", *parts)


def differs(w: Writer, type: Number | Boolean, a: Val, b: Val) -> Val:
    """The condition that two numbers of a type, or parts of them, differ; NaN equals NaN."""
    if type in EIGHT_BIT_FLOATS:
        return differs(w, F32, decoded(w, type, a), decoded(w, type, b))
    if scalar(a.type) not in ("float", "double"):
        return w.compare("ne", a, b)
    both = w.binary("and", w.compare("uno", a, a), w.compare("uno", b, b))
    return w.binary("and", w.compare("une", a, b), w.negated(both))


def identity(operator: str, type: Number, count: int) -> Val:
    """The identity of `add`, `max` or `min`, in every lane; for a complex number that of each part."""
    vector = vector_of(type, count)
    if register(type) in ("float", "double"):
        return floating({"add": 0.0, "max": float("-inf"), "min": float("inf")}[operator], vector)
    least = -(1 << 8 * type.size - 1)
    return integer({"add": 0, "max": least, "min": -least - 1}[operator], vector)


def constant(type: Number | Boolean, value: bool | int | float | complex) -> Parts:
    """A constant, rounded once to nearest even (003 "Constant"); a real value makes a complex number, too."""
    if isinstance(type, Boolean):
        return (integer(int(bool(value)), "i1"),)
    if type.family == "integer":
        if not isinstance(value, int):
            raise TypeError(f"a constant of {type} is an int, not {value!r}")
        return (integer(value, register(type)),)
    part = PARTS.get(type)
    if part is None:
        if isinstance(value, complex):
            raise TypeError(f"a constant of {type} is real, not {value!r}")
        if type in EIGHT_BIT_FLOATS:
            return (integer(eight_bits(value, type, saturated=False), register(type)),)
        return (floating(rounded(value, type), register(type)),)
    both = (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
    return tuple(floating(rounded(one, part), register(part)) for one in both)


_INTEGER_PREDICATES = {
    "equal": "eq",
    "not_equal": "ne",
    "greater_than": "sgt",
    "greater_than_equal": "sge",
    "less_than": "slt",
    "less_than_equal": "sle",
}
_BOOLEAN_PREDICATES = {name: text.replace("s", "u") for name, text in _INTEGER_PREDICATES.items()}
_FLOAT_PREDICATES = {
    "equal": "oeq",
    "not_equal": "une",
    "greater_than": "ogt",
    "greater_than_equal": "oge",
    "less_than": "olt",
    "less_than_equal": "ole",
}

_ROUNDING = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
"""Rounding twice, to f32 and then to f16 or bf16, is rounding once for these: f32 has more than twice the bits."""


def _remainder(w: Writer, a: Val, b: Val) -> Val:
    return w.binary("frem", a, b)


def _prefer_number(name: str) -> Callable[[Writer, Val, Val], Val]:
    def operation(w: Writer, a: Val, b: Val) -> Val:
        return w.overloaded(name, a, b)

    return operation


_EXACT: dict[str, Callable[[Writer, Val, Val], Val]] = {
    "rem": _remainder,
    "max": _prefer_number("maxnum"),
    "min": _prefer_number("minnum"),
}


def _part_by_part(opcode: str) -> Callable[[Writer, Parts, Parts, str], Parts]:
    def operation(w: Writer, a: Parts, b: Parts, flag: str) -> Parts:
        return tuple(w.binary(opcode + flag, x, y) for x, y in zip(a, b, strict=True))

    return operation


_COMPLEX: dict[str, Callable[[Writer, Parts, Parts, str], Parts]] = {
    "add": _part_by_part("fadd"),
    "sub": _part_by_part("fsub"),
    "mul": complex_multiply,
    "div": lambda w, a, b, flag: complex_divide(w, a, b),
}


_FLOAT_UNARY: dict[str, Callable[[Writer, Val], Val]] = {"abs": magnitude, "neg": negative}

_COMPLEX_UNARY: dict[str, Callable[[Writer, Parts], Parts]] = {
    "abs": lambda w, a: (complex_abs(w, *a),),
    "neg": lambda w, a: tuple(negative(w, x) for x in a),
    "conj": lambda w, a: (a[0], negative(w, a[1])),
    "im": lambda w, a: (a[1],),
    "re": lambda w, a: (a[0],),
}
