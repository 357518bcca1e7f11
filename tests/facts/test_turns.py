"""ln 2 in turns, computed again from series in integers."""

from __future__ import annotations

from girih.facts.turns import LN2_IN_TURNS, TURN_BITS
from tests.turns import ln2_and_turn


def test_ln2_in_turns() -> None:
    ln2, turn = ln2_and_turn(TURN_BITS + 64)
    assert (ln2 << TURN_BITS) // turn == LN2_IN_TURNS
