"""The plain golden shaders give what was measured; what is undefined in them is found, what is invalid rejected."""

from __future__ import annotations

import pytest

from tests.cases import every_case, long
from tests.spirv.golden_plain import judged, rows

SLOW = frozenset(("at_last_group", "cf_collatz", "at_exchange"))
GROUPS = tuple(dict.fromkeys(row["group"] for row in rows().values()))
QUICK = ("mem_matrix", "num_divmod", "num_f16_round", "at_int64", "sg_clustered")
"""The rows of `make test` on the CPU."""


def hold(names: list[str], target: str) -> None:
    """Hold rows against what is known of them; `python -m tests.spirv.golden_plain TARGET ID` tells more."""
    with every_case() as case:
        for name in names:
            with case(name):
                assert judged(rows()[name], target) == "ok"


def of(group: str) -> list[str]:
    """The rows of a group."""
    return [name for name, row in rows().items() if row["group"] == group]


def is_quick(name: str) -> bool:
    """Whether `make test` has the row in the interpreter: it is no optimised module of another one."""
    return name not in SLOW and not name.endswith("_O")


@pytest.mark.parametrize("group", GROUPS)
def test_rows_in_the_interpreter(group: str) -> None:
    hold([name for name in of(group) if is_quick(name)], "interpreter")


@pytest.mark.parametrize("group", long(GROUPS))
def test_the_other_rows_in_the_interpreter(group: str) -> None:
    hold([name for name in of(group) if not is_quick(name)], "interpreter")


def test_some_rows_on_the_cpu() -> None:
    hold(list(QUICK), "cpu")


@pytest.mark.parametrize("group", long(GROUPS))
def test_rows_on_the_cpu(group: str) -> None:
    hold(of(group), "cpu")
