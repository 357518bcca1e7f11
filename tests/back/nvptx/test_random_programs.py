"""Random programs as PTX, on the machine that executes it."""

from __future__ import annotations

import pytest

from tests.back.nvptx.random_programs import PTX
from tests.back.one_lane.random_programs import agrees, is_refused, work_items
from tests.cases import long


@pytest.mark.parametrize("block", [0, *long(range(1, 15))])
def test_random_programs_run_as_on_the_interpreter(block: int) -> None:
    ran = 0
    for seed in range(20_000 + 12 * block, 20_000 + 12 * (block + 1)):
        built = work_items(seed)
        if not is_refused(built, PTX):
            agrees(str(built.module), built, unchecked=seed % 4 == 0, executor=PTX)
            ran += 1
    assert ran > 4
