"""Functions of numbers; of a matrix, component by component (003 "Math (unary)", SPIR-V OpenCL.std).

Numbers are of a floating type; `exp`, `exp2`, `sqrt`, `tanh` and their `native_` forms take complex ones too. The
`native_` functions have a relative error of at most 2^-10 (in bf16 2^-8), which makes them fast on devices that have
instructions for them.
"""

from __future__ import annotations

from typing import Any, TypeVar

from girih.language.types import Block, Number
from girih.language.words import outside, word

V = TypeVar("V", bound=Number | Block[Any] | complex)


@word
def cos(x: V) -> V:
    """The cosine of an angle in radians, within 4 ulp."""
    outside("gl.cos")


@word
def sin(x: V) -> V:
    """The sine of an angle in radians, within 4 ulp."""
    outside("gl.sin")


@word
def exp(x: V) -> V:
    """e to the power of x, within 3 ulp; each part of a complex result within 6 ulp."""
    outside("gl.exp")


@word
def exp2(x: V) -> V:
    """2 to the power of x, within 3 ulp; each part of a complex result within 6 ulp."""
    outside("gl.exp2")


@word
def log(x: V) -> V:
    """The natural logarithm, within 3 ulp."""
    outside("gl.log")


@word
def log2(x: V) -> V:
    """The logarithm to base 2, within 3 ulp."""
    outside("gl.log2")


@word
def native_cos(x: V) -> V:
    """The cosine of an angle in radians, with a relative error of at most 2^-10."""
    outside("gl.native_cos")


@word
def native_sin(x: V) -> V:
    """The sine of an angle in radians, with a relative error of at most 2^-10."""
    outside("gl.native_sin")


@word
def native_exp(x: V) -> V:
    """e to the power of x, with a relative error of at most 2^-10."""
    outside("gl.native_exp")


@word
def native_exp2(x: V) -> V:
    """2 to the power of x, with a relative error of at most 2^-10."""
    outside("gl.native_exp2")


@word
def native_log(x: V) -> V:
    """The natural logarithm, with a relative error of at most 2^-10."""
    outside("gl.native_log")


@word
def native_log2(x: V) -> V:
    """The logarithm to base 2, with a relative error of at most 2^-10."""
    outside("gl.native_log2")


@word
def sqrt(x: V) -> V:
    """The square root, correctly rounded: NaN below zero, -0 of -0 (SPIR-V OpenCL.std "sqrt")."""
    outside("gl.sqrt")


@word
def rsqrt(x: V) -> V:
    """1 divided by the square root, within 2 ulp (SPIR-V OpenCL.std "rsqrt")."""
    outside("gl.rsqrt")


@word
def tanh(x: V) -> V:
    """The hyperbolic tangent, within 3 ulp and never beyond 1 (SPIR-V OpenCL.std "tanh")."""
    outside("gl.tanh")


@word
def erf(x: V) -> V:
    """The error function, within 3 ulp and never beyond 1 (SPIR-V OpenCL.std "erf")."""
    outside("gl.erf")


@word
def pow(base: V, exponent: V | float) -> V:
    """`base ** exponent`, within 3 ulp, of one floating type (SPIR-V OpenCL.std "pow")."""
    outside("gl.pow")


@word
def fma(a: V, b: V | float, c: V | float) -> V:
    """a * b + c, rounded once, of one floating type (SPIR-V OpenCL.std "fma")."""
    outside("gl.fma")
