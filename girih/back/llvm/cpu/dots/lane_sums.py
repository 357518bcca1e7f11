"""Sums over the lanes of several vectors at once, as one vector with an element for each."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, lanes
from girih.back.llvm.emit.writer import Writer

_CHUNK = 4
"""The lanes of 128 bits, within which vectors are shuffled for less."""


def padded(count: int, groups: int) -> int:
    """The number of sums that are computed for `count` of them, of which each register holds `groups`."""
    whole = _CHUNK * groups
    return -(-count // whole) * whole


def members(register: int, groups: int) -> list[int]:
    """The numbers of the sums whose lanes a register holds side by side."""
    block, place = divmod(register, _CHUNK)
    return [_CHUNK * (groups * block + k) + place for k in range(groups)]


def sums(w: Writer, registers: Sequence[Val], groups: int) -> Val:
    """The sum of the lanes of each group, in the order of their numbers.

    The registers are those of `members`, a multiple of four; each has `groups` groups of a number of lanes that is a
    power of two and at least four.
    """
    found = []
    for first in range(0, len(registers), _CHUNK):
        a, b, c, d = registers[first : first + _CHUNK]
        found.append(_paired(w, _paired(w, a, b), _paired(w, c, d)))
    total, left = w.join(found), lanes(registers[0].type) // groups // _CHUNK
    while left > 1:
        count = lanes(total.type) // _CHUNK

        def every_second(start: int, held: Val = total, count: int = count) -> Val:
            return w.shuffle(held, None, [_CHUNK * k + j for k in range(start, count, 2) for j in range(_CHUNK)])

        total, left = w.add(every_second(0), every_second(1)), left // 2
    return total


def _paired(w: Writer, a: Val, b: Val) -> Val:
    """The sums of neighbours, in each chunk those of the first vector and behind them those of the second one."""
    count = lanes(a.type)

    def picked(start: int) -> Val:
        places = [
            base + chunk + k + start for chunk in range(0, count, _CHUNK) for base in (0, count) for k in range(0, 4, 2)
        ]
        return w.shuffle(a, b, places)

    return w.add(picked(0), picked(1))
