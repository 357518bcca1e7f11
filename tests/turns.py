"""Exact angles: cosine and sine of y ln 2 for any y, with pi and ln 2 from series in integers."""

from __future__ import annotations

import math
from functools import cache


@cache
def ln2_and_turn(bits: int) -> tuple[int, int]:
    """ln 2 and 2 pi times 2^bits, but for the last few bits."""
    guard = bits + 32
    pi = 16 * _inverse_series(5, guard, -1) - 4 * _inverse_series(239, guard, -1)
    ln2 = 18 * _inverse_series(26, guard, 1) - 2 * _inverse_series(4801, guard, 1) + 8 * _inverse_series(8749, guard, 1)
    return ln2 >> 32, 2 * pi >> 32


def _inverse_series(x: int, bits: int, sign: int) -> int:
    """artanh(1/x) times 2^bits, and with a sign of -1 arctan(1/x)."""
    power = (1 << bits) // x
    total, number, turn = 0, 1, 1
    while power:
        total += turn * (power // number)
        power //= x * x
        number += 2
        turn *= sign
    return total


def turned(y: float) -> complex:
    """2^(iy), within 2^-52."""
    ln2, turn = ln2_and_turn(1400)
    numerator, denominator = y.as_integer_ratio()
    angle = (numerator * ln2 // denominator) % turn
    if 2 * angle > turn:
        angle -= turn
    held = angle / (1 << 1400)
    rest = (angle - int(math.ldexp(held, 1000)) * (1 << 400)) / (1 << 1400)
    cosine, sine = math.cos(held), math.sin(held)
    return complex(cosine - rest * sine, sine + rest * cosine)
