"""The cases of mathematical functions of the elements of a vector that stays in a cache, against NumPy and torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from girih.bench.cases.case import Case
from girih.bench.cases.products import torch_result
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, text, wide, zeros
from girih.bench.measuring.rows import Measurement
from girih.bench.measuring.work import Peer, Work, measure

ELEMENTS = 1 << 16
"""256 KiB of f32."""


def erf_in_python(a: Array) -> Array:
    """The error function, which NumPy does not have."""
    return np.fromiter(map(math.erf, a.tolist()), np.float64, a.size)


def _power(a: Array, out: Array | None = None) -> Array:
    result: Array = np.power(a * a, a, out=out)
    return result


EXACT: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "erf": erf_in_python,
    "sqrt": lambda a: np.sqrt(np.abs(a)),
    "pow": _power,
}
"""The functions of f64, by name."""

IN_NUMPY: dict[str, Callable[..., Array]] = {"exp": np.exp, "tanh": np.tanh, "sqrt": np.sqrt, "pow": _power}
"""NumPy's own functions; there is none for `erf`."""


def function(context: MeasuringContext, name: str, type: str = "f32", elements: int = ELEMENTS) -> list[Measurement]:
    """The row for a function of a vector; roots are of sizes."""
    x, y, out = random(type, elements), zeros(type, elements), zeros(type, elements)
    if name == "sqrt":
        x = np.abs(x)
    calls = context.calls(text("functions"), name, 1, (x, y), type=type)
    peers: dict[str, Peer] = {}
    if name in IN_NUMPY:
        peers["numpy"] = Peer(partial(IN_NUMPY[name], x, out=out), lambda: out)
    torch = context.peers.get("torch")
    if torch is not None:
        given, taken = torch.from_numpy(x), torch.from_numpy(np.zeros_like(x))
        call = partial(getattr(torch, name), given, out=taken)
        if name == "pow":
            call = partial(torch.pow, given * given, given, out=taken)
        peers["torch"] = Peer(call, lambda: torch_result(taken))
    expected = EXACT[name](wide(x))
    # The square that is raised to a power is rounded, which the power multiplies.
    slack = 1 + np.abs(wide(x)) if name == "pow" else 1
    work = Work(calls, y, expected, 4 * EPSILON[type] * slack * np.abs(expected), None, peers, None,
                float(x.nbytes + y.nbytes))  # fmt: skip
    return [measure(context, "functions", f"{name} {type}, {elements} elements", work)]


def cases() -> Iterator[Case]:
    """The cases of functions."""
    for type in ("f32", "f64"):
        for name in EXACT:
            yield Case("functions", f"{name} {type}", partial(function, name=name, type=type))
