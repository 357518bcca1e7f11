"""A kernel computes what Python computes when it executes the same function."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import girih
from girih.diagnostics import CompileError, KernelError
from girih.front.python.facts import ArrayFacts, ConstantFacts, ScalarFacts, Specialisation
from girih.front.python.translate import read, translate
from tests.front.python.random_functions import function_of
from tests.front.python.random_kernels import RandomKernel

SIZE = 5
PLAIN = SimpleNamespace(foreach=range, f64=float, index=int, unroll=list, cdiv=lambda a, b: -(-a // b), constant=None,
                        Matrix={float: None}, Vector={float: None})  # fmt: skip
"""What the words are to Python."""


def by_python(text: str, arguments: tuple[Any, ...]) -> None:
    space: dict[str, Any] = {"gl": PLAIN}
    exec(compile(text, "<python>", "exec"), space)
    with np.errstate(all="ignore"):
        space["kernel"](*arguments)


def facts(order: str) -> ArrayFacts:
    return ArrayFacts("f64", (SIZE, SIZE), (SIZE, 1) if order == "C" else (1, SIZE), (1, 0) if order == "C" else (0, 1))


def agreed(seed: int) -> bool:
    """Whether a random function is a kernel that computes what Python does; a failure says the seed."""
    text = RandomKernel(seed).text()
    order = "CF"[seed % 2]
    known = Specialisation((
        ("X", facts(order)), ("Y", ArrayFacts("f64", (None,), (1,), (0,))), ("n", ScalarFacts("index")),
        ("x", ScalarFacts("f64")), ("size", ConstantFacts(3)),
    ))  # fmt: skip
    drawn = np.random.default_rng(seed)
    X = np.array(drawn.integers(-8, 8, (SIZE, SIZE)).astype(np.float64), order="C" if order == "C" else "F")
    Y = drawn.integers(-8, 8, SIZE).astype(np.float64)
    n, x = int(drawn.integers(-20, 20)), float(drawn.integers(-4, 5)) / 2
    try:
        module = translate(read(function_of(text, f"<kernel {seed}>")), known)
    except CompileError as error:
        # A literal that a loop carries, and nothing else decides, is of f32 or index type.
        for d in error.diagnostics:
            assert d.code in ("python.unset", "python.two_types") or "f32" in d.message or "index" in d.message, (
                text,
                d,
            )
        return False
    ours, theirs = (X.copy("K"), Y.copy()), (X.copy("K"), Y.copy())
    by_python(text, (*theirs, n, x, 3))
    if not all(np.isfinite(a).all() and abs(a).max() < 2**52 for a in theirs):
        return False
    kernel = girih.loads(str(module), target="interpreter")["kernel"]
    try:
        kernel.options(races=False)[1](ours[0].T if order == "C" else ours[0], ours[1], n, x)
    except KernelError as error:
        raise AssertionError((seed, text, str(module), str(error))) from None
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b, f"seed {seed}\n{text}\n{module}")
    return True


@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.long)])
def test_random_kernels(first: int) -> None:
    count = 60 if first == 0 else 3000
    agreements = sum(agreed(seed) for seed in range(first, first + count))
    assert agreements > count // 2
