"""Mathematical functions as LLVM values (003 "Math (unary)").

Guarantees:
- Within 3 ulp for exp, exp2, log, log2 and 4 ulp for sin, cos in f32 and f64, over the full range, subnormal arguments
  and results included; f16 and bf16 are computed in f32 and rounded. native_* have a relative error of at most 2^-10,
  in bf16 of 2^-8.
- NaN gives NaN, exp of -inf is 0, too large results are inf, log of 0 is -inf and log of a negative number is NaN.
- The only library calls are for the sine and cosine of large arguments, and for fused multiplication on processors that
  lack it.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.angles import sine_cosine
from girih.back.llvm.numbers.exponentials import complex_exponential, exponential
from girih.back.llvm.numbers.logarithms import logarithm
from girih.back.llvm.numbers.rounding import Features, round_to
from girih.ir.types import C32, Number

Parts = tuple[Val, ...]


def function(w: Writer, features: Features, mnemonic: str, type: Number, a: Parts) -> Parts:
    """A function of a floating number, or `exp`, `exp2` of a complex one (003 "Math (unary)").

    The parts of a complex exponential are within 6 ulp, in c32 correctly rounded except for near-ties.
    """
    name = mnemonic.removeprefix("native_")
    native = name != mnemonic
    if type.family == "complex":
        return _complex(w, name, native, type, a)
    return (round_to(w, features, type, _REAL[name](w, a[0], native)),)


def _complex(w: Writer, name: str, native: bool, type: Number, a: Parts) -> Parts:
    if type == C32 and not native:
        wide = [w.convert("fpext", x, "double") for x in a]
        return tuple(w.convert("fptrunc", x, "float") for x in _COMPLEX[name](w, wide[0], wide[1], native))
    return _COMPLEX[name](w, a[0], a[1], native)


def _cosine(w: Writer, x: Val, native: bool) -> Val:
    return sine_cosine(w, x, ("cos",), native)[0]


def _sine(w: Writer, x: Val, native: bool) -> Val:
    return sine_cosine(w, x, ("sin",), native)[0]


_REAL: dict[str, Callable[[Writer, Val, bool], Val]] = {
    "cos": _cosine,
    "sin": _sine,
    "exp": lambda w, x, native: exponential(w, "exp", x, native),
    "exp2": lambda w, x, native: exponential(w, "exp2", x, native),
    "log": lambda w, x, native: logarithm(w, "log", x, native),
    "log2": lambda w, x, native: logarithm(w, "log2", x, native),
}

_COMPLEX: dict[str, Callable[[Writer, Val, Val, bool], Parts]] = {
    "exp": lambda w, x, y, native: complex_exponential(w, "exp", x, y, native),
    "exp2": lambda w, x, y, native: complex_exponential(w, "exp2", x, y, native),
}
