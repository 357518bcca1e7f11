"""Vector clocks of items that release to one granule one after the other."""

from __future__ import annotations

import numpy as np

from girih.interpreter.races.clocks import Clocks
from girih.interpreter.races.order import GLOBAL, LOCAL
from girih.interpreter.races.stamps import StampLayout

LAYOUT = StampLayout.of(64, 3)
COUNTER = (1, 0)
DEVICE, WORK_GROUP = 3, 2


def stamp(group: int, item: int, tick: int = 1) -> np.uint64:
    """The stamp of an access."""
    return np.uint64(LAYOUT.who(np.array([group]), np.array([item]))[0] | LAYOUT.when(tick, 1))


def update(clocks: Clocks, group: int, reach: int = DEVICE, memories: tuple[int, ...] = (GLOBAL,)) -> None:
    """Let item 0 of a work-group acquire what is at the counter, and release."""
    released = clocks.released(COUNTER)
    for memory in memories:
        clocks.acquire(memory, (group, 0), [r.clocks[memory] for r in released if memory in r.clocks])
    once = dict.fromkeys(memories, 1)
    clocks.release(COUNTER, (group, 0), stamp(group, 0), reach, once, once, released)


def known(clocks: Clocks, now: int, memory: int = GLOBAL) -> list[int]:
    """The work-groups whose item 0 a work-group's item 0 knows."""
    others = [group for group in range(64) if group != now]
    mask = clocks.knows(memory, np.array([stamp(now, 0)] * 63), np.array([stamp(group, 0) for group in others]))
    return [group for group, there in zip(others, mask.tolist(), strict=True) if there]


def test_who_counts_last_knows_all_and_looks_at_one_release() -> None:
    clocks = Clocks(LAYOUT, stores=True)
    for group in range(60):
        update(clocks, group)
        assert len(clocks.released(COUNTER)) == 1
    assert known(clocks, 59) == list(range(59))
    assert known(clocks, 30) == list(range(30))
    assert known(clocks, 59, LOCAL) == []
    clocks.join((GLOBAL,), [30])
    assert known(clocks, 30) == list(range(30))
    clocks.begin()
    assert known(clocks, 59) == []
    update(clocks, 60)
    assert known(clocks, 60) == list(range(60))


def test_a_store_by_an_earlier_item_continues_its_release_and_ends_the_others() -> None:
    clocks = Clocks(LAYOUT, stores=True)
    for group in range(4):
        update(clocks, group)
    clocks.wrote(COUNTER, (1, 0))
    assert [release.item for release in clocks.released(COUNTER)] == [(1, 0)]
    update(clocks, 5)
    assert known(clocks, 5) == [0, 1]
    clocks.wrote(COUNTER, None)
    assert not clocks.released(COUNTER)


def test_a_release_that_reaches_less_or_fewer_memories_does_not_hide_another() -> None:
    clocks = Clocks(LAYOUT, stores=False)
    update(clocks, 0, memories=(GLOBAL, LOCAL))
    update(clocks, 1)
    update(clocks, 2, WORK_GROUP)
    assert [release.item[0] for release in clocks.released(COUNTER)] == [0, 1, 2]
    update(clocks, 3, memories=(GLOBAL, LOCAL))
    assert [release.item[0] for release in clocks.released(COUNTER)] == [3]
    assert (known(clocks, 3), known(clocks, 3, LOCAL)) == ([0, 1, 2], [0])
