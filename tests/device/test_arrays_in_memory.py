"""Indices of arrays of fixed size that lie inside other memory."""

from __future__ import annotations

import numpy as np

from girih.ir.core import Value
from girih.ir.types import I32, INDEX
from tests.device.building import BYTES, LANES, Body, Code, findings, kernel


def indexed(most: int, *, robust: bool) -> Code:
    """Code in which work-items write their numbers, but at most `most`, to an array `w` of 4 elements in %r."""

    def code(body: Body, r: Value) -> None:
        lane = body.one("subgroup_local_id", I32)
        index = body.one("min", I32, a=lane, b=body.constant(most, I32))
        place = body.one("array_index", INDEX, index=index, size=4, text="w", robust=robust)
        row = body.plus(body.times(body.lane(), 64), body.times(place, 4))
        body.store(r, row, index)

    return code


def test_an_index_outside_of_its_array_is_found_where_the_access_is_inside_the_memory() -> None:
    r = np.zeros((LANES, 16), np.int32)
    flat = r.reshape(-1).view(np.int8)
    for robust in (False, True):
        launched = kernel(indexed(3, robust=robust), {"r": BYTES})
        launched(flat)
        assert [d for d in launched.remarks if d.severity == "warning"] == []
    (found,) = findings(kernel(indexed(6, robust=False), {"r": BYTES}), flat)
    assert found.message == "an index outside its array: index 4 of array `w`, which has 4 elements"
    assert (found.code, found.index, found.shape) == ("run.out_of_bounds", (4,), (4,))
    assert (found.severity, found.lane, found.count) == ("error", 4, 4)


def test_what_robust_access_defines_is_warned_of() -> None:
    r = np.zeros((LANES, 16), np.int32)
    launched = kernel(indexed(6, robust=True), {"r": BYTES})
    launched(r.reshape(-1).view(np.int8))
    (warning,) = [d for d in launched.remarks if d.severity == "warning"]
    assert warning.code == "run.out_of_bounds"
    assert warning.message == (
        "an index outside its array: index 4 of array `w`, which has 4 elements; "
        "first in work-group (0, 0, 0), subgroup 0, lane 4, 4 times in all"
    )
    assert r[5, 5] == 5
    # Whatever else is found, the warning comes with it.
    found = findings(launched, np.zeros(64, np.int8))
    assert [(f.code, f.severity) for f in found] == [("run.out_of_bounds", "warning"), ("run.out_of_bounds", "error")]
    assert found[0].render().startswith("warning[run.out_of_bounds]: an index outside its array")
