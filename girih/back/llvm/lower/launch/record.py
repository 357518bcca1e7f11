"""The failure record of a launch, the same for all targets; `reporter` beside this file writes what fills it.

It has `RECORD_BYTES` bytes; a launch starts with zeros. A kernel that finds something wrong claims it by a
compare-and-exchange of the state from `NO_FAILURE` to `BEING_WRITTEN`, fills it, stores `WRITTEN` with release order,
and ends. A thread that loses the claim ends without writing.

    0            i32 state
    4            i32 number of the `Site`
    8            i64 number of the work-group
    16           i64 subgroup, -1 where none is meant
    24           i64 lane, -1 where none is meant
    32 ...       i64 values: the index, then the shape; at most `RECORD_VALUES` are kept
    256          on a CPU, address of a function `i32 (i64 record)`, or 0: long loops ask it now and then, on every
                 thread, and the kernel ends where it does not answer 0, since the launch has been ended;
                 on a GPU, whose records outlive a launch, i64 the work-groups of the grid along x
    264          i64 for that function; on a GPU the work-groups along y
"""

from __future__ import annotations

from girih.back.llvm.lower.sites import MOST_VALUES

RECORD_BYTES = 272
RECORD_VALUES = MOST_VALUES
RECORD_SITE = 4
RECORD_GROUP = 8
RECORD_SUBGROUP = 16
RECORD_LANE = 24
RECORD_FIRST_VALUE = 32
RECORD_ASKING = 256
"""Where the address of the function is that long loops ask; behind it is what the function keeps there."""

RECORD_GRID = RECORD_ASKING
"""Where the sizes x and y of the grid are on a GPU."""

NO_FAILURE, BEING_WRITTEN, WRITTEN, STOPPED = 0, 1, 2, 3
"""The states of a failure record; who launched stores the last one to end the launch."""
