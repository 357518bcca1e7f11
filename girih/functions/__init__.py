"""Ready-made functions of arrays: results at the speed of the kernels, with the habits of NumPy.

    from girih import functions

    functions.softmax(functions.matmul(a, b), axis=-1)

Arrays are NumPy's, torch's, CuPy's and JAX's, on the host or on a CUDA device, in any order in memory: kernels are
chosen for what comes. Results are of the library of the first argument, allocated unless `out` is given. What is wrong
with an argument is a `LaunchError` with a diagnostic. What is copied before it is used is told by a `CopyWarning`.
Docstrings promise how large errors may be, for n elements along an axis; u is the distance of 1 and the next number of
the type of sums, f64 for f64 and else f32. The result is then rounded to its own type, and numbers below the normal
ones of a type may count as 0. `target` computes elsewhere than where the arrays are, as on `"interpreter"`, which
checks every access.
"""

from __future__ import annotations

from girih.functions.attending import attention
from girih.functions.columns import cross_entropy, layernorm, rms_norm, softmax
from girih.functions.elements import gelu
from girih.functions.images import conv2d
from girih.functions.problems import CopyWarning
from girih.functions.products import matmul
from girih.functions.sequences import scan, topk

__all__ = [
    "CopyWarning",
    "attention",
    "conv2d",
    "cross_entropy",
    "gelu",
    "layernorm",
    "matmul",
    "rms_norm",
    "scan",
    "softmax",
    "topk",
]


def __dir__() -> list[str]:
    return sorted(__all__)
