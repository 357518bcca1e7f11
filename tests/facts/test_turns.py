"""ln 2 and 1 in turns, computed again from series in integers."""

from __future__ import annotations

from girih.facts.turns import LN2_IN_TURNS, RADIAN_IN_TURNS, TURN_BITS
from tests.turns import ln2_and_turn


def test_numbers_in_turns() -> None:
    ln2, turn = ln2_and_turn(TURN_BITS + 64)
    assert (ln2 << TURN_BITS) // turn == LN2_IN_TURNS
    assert (1 << 2 * TURN_BITS + 64) // turn == RADIAN_IN_TURNS
