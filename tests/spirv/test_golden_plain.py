"""The plain golden shaders give what was measured; what is undefined in them is found, what is invalid rejected."""

from __future__ import annotations

import pytest

from tests.cases import every_case, long
from tests.spirv.golden_plain import judged, rows

NOT_YET: dict[str, frozenset[str]] = {"interpreter": frozenset(), "cpu": frozenset({"cm_elements"})}
"""The rows that do not pass, by target; `python -m tests.spirv.golden_plain TARGET` tells why."""

SLOW = frozenset(("at_last_group", "cf_collatz", "at_exchange"))
GROUPS = tuple(dict.fromkeys(row["group"] for row in rows().values()))
QUICK = ("mem_matrix", "num_divmod", "num_f16_round", "at_int64", "sg_clustered")
"""The rows of `make test` on the CPU."""


def hold(names: list[str], target: str) -> None:
    """Hold rows against what is known of them."""
    with every_case() as case:
        for name in names:
            with case(name):
                assert judged(rows()[name], target) == "ok"


def of(group: str, target: str) -> list[str]:
    """The rows of a group that pass on a target."""
    return [name for name, row in rows().items() if row["group"] == group and name not in NOT_YET[target]]


def is_quick(name: str) -> bool:
    """Whether `make test` has the row in the interpreter: it is no optimised module of another one."""
    return name not in SLOW and not name.endswith("_O")


@pytest.mark.parametrize("group", GROUPS)
def test_rows_in_the_interpreter(group: str) -> None:
    hold([name for name in of(group, "interpreter") if is_quick(name)], "interpreter")


@pytest.mark.parametrize("group", long(GROUPS))
def test_the_other_rows_in_the_interpreter(group: str) -> None:
    hold([name for name in of(group, "interpreter") if not is_quick(name)], "interpreter")


def test_some_rows_on_the_cpu() -> None:
    hold([name for name in QUICK if name not in NOT_YET["cpu"]], "cpu")


@pytest.mark.parametrize("group", long(GROUPS))
def test_rows_on_the_cpu(group: str) -> None:
    hold(of(group, "cpu"), "cpu")
