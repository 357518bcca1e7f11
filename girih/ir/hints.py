"""Permissions and hints: what a kernel allows its targets, and what it advises them. One table of each.

A permission lets results change within what it says, on every target. A hint never changes a result: it is meant for
the machine that it names, and others ignore it. Front ends, rules, the reference and the targets read these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Hint:
    """What the value of a hint may be, in `words` and as a test, and what it advises."""

    words: str
    accepts: Callable[[object], bool]
    doc: str


def _integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _boolean() -> tuple[str, Callable[[object], bool]]:
    return "true or false", lambda value: isinstance(value, bool)


def _at_least_one() -> tuple[str, Callable[[object], bool]]:
    return "a positive integer", lambda value: isinstance(value, int) and _integer(value) and value >= 1


def _between(least: int, most: int, step: int = 1) -> tuple[str, Callable[[object], bool]]:
    what = "an integer" if step == 1 else f"a multiple of {step}"

    def accepts(value: object) -> bool:
        return isinstance(value, int) and _integer(value) and least <= value <= most and value % step == 0

    return f"{what} from {least} to {most}", accepts


_MOST_IN_CLUSTER = 16


def _cluster() -> tuple[str, Callable[[object], bool]]:
    def accepts(value: object) -> bool:
        if not isinstance(value, tuple) or len(value) != 2:
            return False
        sizes = [x for x in value if isinstance(x, int) and _integer(x) and x >= 1]
        return len(sizes) == 2 and prod(sizes) <= _MOST_IN_CLUSTER

    return f"two positive integers with a product of at most {_MOST_IN_CLUSTER}", accepts


PERMISSIONS: Mapping[str, str] = MappingProxyType({
    "contract": "a product that goes into an addition or subtraction of its type may be rounded together with it",
    "reassociate": "what a loop adds up by products of matrices may be added up in parts, and these in their order",
    "tf32": "factors of f32 products of matrices and vectors may be rounded to tf32 before they are multiplied",
})  # fmt: skip
"""What `allow` may permit, and what that lets a target do."""

MACHINE_HINTS: Mapping[str, Mapping[str, Hint]] = MappingProxyType({
    "hopper": MappingProxyType({
        "stages": Hint(*_at_least_one(), "how many tiles of each operand are on their way at a time"),
        "cluster": Hint(*_cluster(), "how many work-groups along x and y share what they load"),
        "group": Hint(*_at_least_one(), "how many rows of work-groups are gone through together"),
        "persistent": Hint(*_boolean(), "whether a work-group of the machine executes several of the grid"),
        "producer_registers": Hint(*_between(24, 256, 8), "registers that each work-item that only copies keeps"),
        "resident": Hint(*_between(1, 32), "how many work-groups a multiprocessor should have room for at a time"),
        "consumers": Hint(*_between(1, 7), "how many groups of 128 work-items compute"),
    }),
})  # fmt: skip
"""The machines that a function may give hints to, and for each what it takes.

Registers are given out in multiples of 8 from 24 to 256 (PTX ISA 8.7, "setmaxnreg"); a cluster has at most 16
work-groups, where more than 8 are enabled (CUDA C++ programming guide 12.8, "Thread block clusters"); a work-group of
1024 work-items is 8 groups of 128, one of which copies.
"""

LOOP_HINTS: Mapping[str, Hint] = MappingProxyType({
    "stages": Hint(*_at_least_one(), "how many iterations are on their way at a time"),
    "pipeline": Hint(*_boolean(), "whether iterations overlap at all"),
})  # fmt: skip
"""The hints of a `for` beside `unroll`."""

HINT_NAMES = frozenset((*MACHINE_HINTS, *LOOP_HINTS, *(key for keys in MACHINE_HINTS.values() for key in keys)))
"""All names of hints and machines."""
