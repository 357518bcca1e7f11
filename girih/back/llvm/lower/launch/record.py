"""The failure record of a launch, the same for all targets, and the function that fills it.

It has `RECORD_BYTES` bytes; a launch starts with zeros. A kernel that finds something wrong claims it by a
compare-and-exchange of the state from `NO_FAILURE` to `BEING_WRITTEN`, fills it, stores `WRITTEN` with release order,
and ends. Who loses the claim just ends.

    0            i32 state
    4            i32 number of the `Site`
    8            i64 number of the work-group
    16           i64 subgroup, -1 where none is meant
    24           i64 lane, -1 where none is meant
    32 ...       i64 values: the index, then the shape; at most `RECORD_VALUES` are kept
"""

from __future__ import annotations

from girih.back.llvm.emit.text import ModuleText, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.sites import MOST_VALUES

RECORD_BYTES = 256
RECORD_VALUES = MOST_VALUES
RECORD_SITE = 4
RECORD_GROUP = 8
RECORD_SUBGROUP = 16
RECORD_LANE = 24
RECORD_FIRST_VALUE = 32

NO_FAILURE, BEING_WRITTEN, WRITTEN, STOPPED = 0, 1, 2, 3
"""The states of a failure record; who launched stores the last one to end the launch."""


def reporter(module: ModuleText, count: int) -> str:
    """The name of the function that claims a failure record and fills it, unless another thread did.

    Its arguments: the record, the number of the site as `i32`, work-group, subgroup, lane and `count` values as `i64`.
    """
    name = f"girih.found.{count}"
    if name in module.helpers:
        return name
    module.helpers.add(name)
    values = [Val(f"%value{k}", "i64") for k in range(count)]
    listed = "".join(f", {v}" for v in values)
    header = (
        f"define internal void @{name}(ptr %record, i32 %site, i64 %group, i64 %subgroup, i64 %lane{listed}) "
        "noinline cold nounwind"
    )
    w = Writer(module, header)
    record = Val("%record", "ptr")
    claim = w.compare_exchange(record, integer(NO_FAILURE, "i32"), integer(BEING_WRITTEN, "i32"))
    with w.when(w.exchanged(claim)):
        w.store(Val("%site", "i32"), w.at(record, RECORD_SITE), 4)
        places = {"%group": RECORD_GROUP, "%subgroup": RECORD_SUBGROUP, "%lane": RECORD_LANE}
        for held, offset in places.items():
            w.store(Val(held, "i64"), w.at(record, offset), 8)
        for number, value in enumerate(values):
            w.store(value, w.at(record, RECORD_FIRST_VALUE + 8 * number), 8)
        w.atomic_store(integer(WRITTEN, "i32"), record, 4, ordering="release")
    w.ret()
    w.finish()
    return name
