"""Remainders of floats and angles of any size, as targets without a C library compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers import turns
from girih.back.llvm.numbers.angles import reduced
from girih.back.llvm.numbers.floats import magnitude
from girih.back.llvm.nvptx.machine.remainder import remainder
from girih.facts.turns import RADIAN_IN_TURNS, TURN_BITS
from girih.ir.types import F32, F64, Number
from tests.back.jit import Machine, Piece
from tests.exact import FUNCTIONS, needs_more_than_f64

TYPES = {F32: np.float32, F64: np.float64}


def samples(type: Number, seed: int, count: int) -> NDArray[Any]:
    """Any bits at all, with those that are special."""
    dtype = np.dtype(TYPES[type])
    drawn = np.frombuffer(np.random.default_rng(seed).bytes(count * dtype.itemsize), dtype)
    info: Any = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan]
    return np.concatenate([drawn, np.array(special, dtype)])


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_remainders_are_exact(type: Number) -> None:
    compiled = Machine().compile({"rem": Piece(lambda w, o: [remainder(w, o[0][0], o[1][0])], (type, type), type)}, 1)
    a, b = samples(type, 1, 4000), samples(type, 2, 4000)
    with np.errstate(all="ignore"):
        divisors = (b, np.roll(a, 1), np.full_like(a, 3), np.abs(a) / 7)
        wanted = [np.fmod(a, divisor) for divisor in divisors]
    for divisor, expected in zip(divisors, wanted, strict=True):
        found = compiled["rem"](a, divisor)
        same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
        assert same.all(), [(a[k], divisor[k], found[k], expected[k]) for k in np.flatnonzero(~same)[:3]]


@needs_more_than_f64
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_angles_of_any_size_lose_nothing(type: Number) -> None:
    def sine(w: Writer, operands: list[tuple[Val, ...]]) -> Sequence[Val]:
        x = operands[0][0]
        angle, lost = turns.angle_without_turns(w, "radians", RADIAN_IN_TURNS, TURN_BITS, x)
        near, turned = reduced(w, angle, magnitude(w, angle), ("sin", "cos"), native=False)
        return [w.fma(lost, turned, near)]

    compiled = Machine().compile({"sin": Piece(sine, (type,), type)}, 1)
    x = samples(type, 3, 400)
    x = x[np.isfinite(x) & (np.abs(x) > 1e6)]
    exact = FUNCTIONS["sin"](x.astype(np.longdouble))
    ulps = np.abs(compiled["sin"](x) - exact) / np.spacing(np.abs(exact).astype(TYPES[type]))
    assert ulps.max() < 2, x[ulps.argmax()]
