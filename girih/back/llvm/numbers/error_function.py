"""The error function as LLVM values of `float` or `double`, scalars or vectors.

Near 0 it is x + x P(x^2). Further out it is 1 - e^Q(|x|) with the sign of x, where Q is the logarithm of what is left
to 1. Vectors have both, and take from each what belongs to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.exponentials import exponential_inside
from girih.back.llvm.numbers.floats import at_most, magnitude, polynomial, real, with_sign
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The polynomials, found by Remez' algorithm for the relative error of the whole, and where they end.

    `near` is erf(x) / x - 1 in powers of x^2, up to `between`; `far` is log(1 - erf(x)) in powers of x, up to `end`,
    from where on the result rounds to 1.
    """

    between: float
    end: float
    near: Sequence[float]
    far: Sequence[float]


_PIECES = {
    "float": _Pieces(
        0.875,
        4.0,
        (0.128379151, -0.376125246, 0.112822548, -0.0267855264, 0.00502464501, -0.000616866862),
        (-0.000133597539, -1.12793601, -0.636737466, -0.104327291, 0.0224201269, -0.00309227803, 0.000200996466),
    ),
    "double": _Pieces(
        1.0,
        6.0,
        (
            0.12837916709551256,
            -0.3761263890318341,
            0.11283791670942123,
            -0.026866170643087238,
            0.005223977607709969,
            -0.0008548326064663169,
            0.00012055298818344597,
            -1.4924828272587432e-05,
            1.644868576743537e-06,
            -1.6218814318417483e-07,
            1.3766593724448057e-08,
            -7.884793869260186e-10,
        ),
        (
            -1.0628845975032212e-06,
            -1.1283687186092537,
            -0.6366675519214281,
            -0.10263771881935564,
            0.0188655058637922,
            0.0005839092829468123,
            -0.0020986286024979313,
            0.0009198385954311954,
            -0.0002305908902375987,
            2.797405440289044e-05,
            3.618902855766757e-06,
            -2.6750695771321122e-06,
            6.881724007037797e-07,
            -1.0828338107414137e-07,
            1.090975456415264e-08,
            -6.5221995634942e-10,
            1.771609747654426e-11,
        ),
    ),
}


def error_function(w: Writer, x: Val) -> Val:
    """The error function; odd, and never beyond 1."""
    pieces = _PIECES[scalar(x.type)]
    size = magnitude(w, x)
    near = w.fma(size, polynomial(w, w.binary("fmul", x, x), pieces.near), size)
    logarithm = polynomial(w, at_most(w, pieces.end, size), pieces.far)
    far = w.binary("fsub", real(1.0, x), exponential_inside(w, "exp", logarithm))
    return with_sign(w, w.select(w.compare("olt", size, real(pieces.between, x)), near, far), x)
