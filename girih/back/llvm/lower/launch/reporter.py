"""The functions that fill a failure record: one per module for each number of values, in steps of a few.

A function takes LLVM longer than a few more arguments, so that most kernels have a single one.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import ModuleText, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch.record import (
    BEING_WRITTEN,
    NO_FAILURE,
    RECORD_FIRST_VALUE,
    RECORD_GRID,
    RECORD_GROUP,
    RECORD_LANE,
    RECORD_SITE,
    RECORD_SUBGROUP,
    WRITTEN,
)

_TOGETHER = 4
"""Numbers of values in steps of this have one function."""


def report(
    w: Writer, record: Val, site: Val, where: Sequence[Val], values: Sequence[Val], grid: Sequence[Val] = ()
) -> None:
    """Claim a failure record and fill it, unless another thread did.

    `where` is work-group, subgroup and lane; all numbers but the one of the `site`, an `i32`, are `i64`. `grid` has the
    sizes x and y of the grid, on targets whose records outlive a launch.
    """
    count = max(1, -(-len(values) // _TOGETHER)) * _TOGETHER
    # Who reads the record knows how many values the site has.
    filled = [integer(0)] * (count - len(values))
    w.run(_reporter(w.module, count, len(grid)), record, site, *where, *values, *filled, *grid)


def _reporter(module: ModuleText, count: int, axes: int) -> str:
    """The name of the function for so many values, which is written if it is not there."""
    name = f"girih.found.{count}"
    if name in module.helpers:
        return name
    module.helpers.add(name)
    values = [Val(f"%value{k}", "i64") for k in range(count)]
    sizes = [Val(f"%grid{k}", "i64") for k in range(axes)]
    listed = "".join(f", {v}" for v in (*values, *sizes))
    attributes = "noinline optnone cold nounwind" if module.calls else "alwaysinline nounwind"
    header = (
        f"define internal void @{name}(ptr %record, i32 %site, i64 %group, i64 %subgroup, i64 %lane{listed}) "
        f"{attributes}"
    )
    w = Writer(module, header)
    record = Val("%record", "ptr")
    # A look is cheaper than a claim, above all where the record is in memory of another device.
    state = w.atomic_load("i32", record, 4)
    with w.when(w.compare("eq", state, integer(NO_FAILURE, "i32"))):
        claim = w.compare_exchange(record, integer(NO_FAILURE, "i32"), integer(BEING_WRITTEN, "i32"))
        with w.when(w.exchanged(claim)):
            w.store(Val("%site", "i32"), w.at(record, RECORD_SITE), 4)
            places = {"%group": RECORD_GROUP, "%subgroup": RECORD_SUBGROUP, "%lane": RECORD_LANE}
            for held, offset in places.items():
                w.store(Val(held, "i64"), w.at(record, offset), 8)
            for number, value in enumerate(values):
                w.store(value, w.at(record, RECORD_FIRST_VALUE + 8 * number), 8)
            for number, size in enumerate(sizes):
                w.store(size, w.at(record, RECORD_GRID + 8 * number), 8)
            w.atomic_store(integer(WRITTEN, "i32"), record, 4, ordering="release")
    w.ret()
    w.finish()
    return name
