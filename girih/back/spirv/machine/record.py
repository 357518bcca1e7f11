"""The findings record of a launch on a device: a storage buffer of words of 32 bits, all 0 before the launch.

0            state: 0 none, 1 claimed by compare-and-exchange, 2 written
1            number of the `Site`
2, 3, 4      the work-group along x, y, z
5            subgroup, -1 where none is meant
6            lane, -1 where none is meant
7            how many values follow
8 ...        the values, index before shape, two words each, low word first
"""

from __future__ import annotations

from girih.back.llvm.lower.sites import MOST_VALUES

NOTHING, CLAIMED, WRITTEN = 0, 1, 2
STATE, SITE, GROUP, SUBGROUP, LANE, COUNT, FIRST_VALUE = 0, 1, 2, 5, 6, 7, 8
RECORD_WORDS = FIRST_VALUE + 2 * MOST_VALUES
