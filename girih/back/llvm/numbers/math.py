"""Mathematical functions as LLVM values (003 "Math (unary)"; SPIR-V OpenCL.std).

Guarantees:
- `sqrt` and `fma` are correctly rounded in every type. Within 2 ulp for rsqrt, 3 ulp for exp, exp2, log, log2, tanh,
  erf, pow and 4 ulp for sin, cos in f32 and f64, over the full range, subnormal arguments and results included; f16 and
  bf16 are computed in f32 and rounded. native_* have a relative error of at most 2^-10, in bf16 of 2^-8.
- NaN gives NaN, exp of -inf is 0, too large results are inf, log of 0 is -inf and log of a negative number is NaN.
- The only library calls are for the sine and cosine of large arguments, and for fused multiplication of f64, or inside
  of functions, on processors that lack it.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.angles import sine_cosine
from girih.back.llvm.numbers.casts import cast
from girih.back.llvm.numbers.error_function import error_function
from girih.back.llvm.numbers.exponentials import complex_exponential, exponential
from girih.back.llvm.numbers.floats import sum_to_odd
from girih.back.llvm.numbers.hyperbolic import complex_tangent, hyperbolic_tangent
from girih.back.llvm.numbers.logarithms import logarithm
from girih.back.llvm.numbers.powers import power as real_power
from girih.back.llvm.numbers.roots import complex_root, reciprocal_root, root
from girih.back.llvm.numbers.rounding import round_to
from girih.ir.types import C32, F16, F32, F64, Number

Parts = tuple[Val, ...]


def function(w: Writer, features: Features, mnemonic: str, type: Number, a: Parts) -> Parts:
    """A function of a floating number, or `exp`, `exp2`, `sqrt`, `tanh` of a complex one (003 "Math (unary)").

    The parts of a complex exponential are within 6 ulp, of a root within 4, of a hyperbolic tangent within 8; in c32
    all are correctly rounded except for near-ties.
    """
    name = mnemonic.removeprefix("native_")
    native = name != mnemonic
    if type.family == "complex":
        return _complex(w, name, native, type, a)
    return (round_to(w, features, type, _REAL[name](w, a[0], native)),)


def power(w: Writer, features: Features, type: Number, a: Parts, b: Parts) -> Parts:
    """a to the power of b, of floating numbers (SPIR-V OpenCL.std "pow")."""
    return (round_to(w, features, type, real_power(w, type, a[0], b[0])),)


def fused_multiply_add(w: Writer, features: Features, type: Number, a: Parts, b: Parts, c: Parts) -> Parts:
    """a b + c, of floating numbers, rounded once (SPIR-V OpenCL.std "fma")."""
    if type == F64 or (type == F32 and features.fma):
        return (w.fma(a[0], b[0], c[0]),)
    # The product is exact: in `float` that of f16, in `double` that of the others.
    x, y, z = (v if type == F16 else w.convert("fpext", v, "double") for v in (a[0], b[0], c[0]))
    exact = sum_to_odd(w, w.binary("fmul", x, y), z)
    return (round_to(w, features, F16, exact),) if type == F16 else cast(w, features, F64, type, (exact,))


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
    "sqrt": lambda w, x, native: root(w, x),
    "rsqrt": lambda w, x, native: reciprocal_root(w, x),
    "tanh": lambda w, x, native: hyperbolic_tangent(w, x),
    "erf": lambda w, x, native: error_function(w, x),
}

_COMPLEX: dict[str, Callable[[Writer, Val, Val, bool], Parts]] = {
    "exp": lambda w, x, y, native: complex_exponential(w, "exp", x, y, native),
    "exp2": lambda w, x, y, native: complex_exponential(w, "exp2", x, y, native),
    "sqrt": lambda w, x, y, native: complex_root(w, x, y),
    "tanh": lambda w, x, y, native: complex_tangent(w, x, y),
}
