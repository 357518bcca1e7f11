"""Work-items that hand over what they wrote, by atomic accesses and by fences around relaxed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.diagnostics import KernelError
from girih.ir.core import Value
from girih.ir.types import BOOL, I32, INDEX
from girih.ops.tile.memory import Scope, Semantics
from tests.cases import every_case
from tests.device.building import BYTES, Body, Code, kernel

FENCE = {"semantics": Semantics.ACQUIRE_RELEASE, "global_fence": True}
DONE, PARTS = 0, 64
"""Where the counter and the parts of the sum lie in %r."""


def last_adds(*, before: Scope | None, behind: Scope | None, counts: Semantics = Semantics.RELAXED) -> Code:
    """Code in which each work-group stores a part, and the last one to count itself adds all of them."""

    def code(body: Body, r: Value) -> None:
        group = body.one("group_id", INDEX, axis=0)
        first = body.one("equal", BOOL, a=body.item(), b=body.constant(0))
        inner = Body(body.language, body.kind)
        part = inner.one("cast", I32, a=group)
        inner.store(r, inner.plus(inner.times(group, 4), PARTS), part)
        if before is not None:
            inner.add("memory_barrier", scope=before, **FENCE)
        order = {"semantics": counts} if counts is Semantics.RELAXED else {"semantics": counts, "global_fence": True}
        count = inner.one(
            "byte_atomic_update", I32, operator="add", value=inner.constant(1, I32), memory=r,
            offset=inner.constant(DONE), alignment=4, scope=Scope.DEVICE, **order,
        )  # fmt: skip
        if behind is not None:
            inner.add("memory_barrier", scope=behind, **FENCE)
        last = inner.one("equal", BOOL, a=count, b=inner.constant(3, I32))
        reads = Body(body.language, body.kind)
        total = reads.constant(0, I32)
        for number in range(4):
            (word,) = reads.load(r, reads.constant(PARTS + 4 * number), I32)
            total = reads.one("add", I32, a=total, b=word)
        reads.store(r, reads.constant(4), total)
        inner.add("branch", condition=last, then=reads.region())
        body.add("branch", condition=first, then=inner.region())

    return code


def test_the_last_work_group_reads_what_the_others_wrote() -> None:
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"before": Scope.DEVICE, "behind": Scope.DEVICE}, True),
        ({"before": Scope.DEVICE, "behind": None}, False),
        ({"before": None, "behind": Scope.DEVICE}, False),
        ({"before": Scope.WORK_GROUP, "behind": Scope.DEVICE}, False),
        ({"before": Scope.DEVICE, "behind": Scope.WORK_GROUP}, False),
        ({"before": None, "behind": None, "counts": Semantics.ACQUIRE_RELEASE}, True),
        ({"before": None, "behind": Scope.DEVICE, "counts": Semantics.RELEASE}, True),
        ({"before": Scope.DEVICE, "behind": None, "counts": Semantics.ACQUIRE}, True),
    ]
    with every_case() as case:
        for words, ordered in cases:
            with case(str(words)):
                check(last_adds(**words), ordered=ordered)


def check(code: Code, *, ordered: bool) -> None:
    r = np.zeros(32, np.int32)
    run = kernel(code, {"r": BYTES})
    if ordered:
        run[4](r.view(np.int8))
        assert r[:2].tolist() == [4, 6]
        return
    with pytest.raises(KernelError) as caught:
        run[4](r.view(np.int8))
    assert {finding.code for finding in caught.value.findings} == {"run.race"}
