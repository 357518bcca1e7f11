"""Random layouts and views against the loop: `python -m tests.addressing.tensor_layout_long --count 20000`."""

from __future__ import annotations

import argparse
import random

import numpy as np

from girih.addressing import Kind, load_tensor, store_tensor
from tests.addressing.brute_force import Answer, answers
from tests.addressing.random_layouts import Case, case_of

SMALL = 1 << 16
"""Up to which element index a case is also loaded or stored."""


def check_case(case: Case) -> None:
    """Fail unless the access is that of the loop, element by element, and loads and stores do what it says."""
    expected = answers(case.layout, case.rows, case.columns, case.view, case.store)
    access = case.layout.access(case.rows, case.columns, case.view, case.store)
    nowhere = (-1,) * case.layout.dim
    flat = [answer for row in expected for answer in row]
    assert access.kind.reshape(-1).tolist() == [int(answer.kind) for answer in flat], case
    assert access.element.reshape(-1).tolist() == [answer.element for answer in flat], case
    for came, wanted in (
        (access.block, [answer.block or nowhere for answer in flat]),
        (access.within, [answer.within or nowhere for answer in flat]),
    ):
        assert came is not None
        assert [tuple(one) for one in came.reshape(-1, case.layout.dim).tolist()] == wanted, case
    highest = max(answer.element for answer in flat)
    if highest < SMALL and all(answer.kind != Kind.UNDEFINED for answer in flat):
        check_data(case, expected, highest + 5)


def check_data(case: Case, expected: list[list[Answer]], size: int) -> None:
    """Load or store numbers that tell where they come from."""
    matrix = np.arange(1, case.rows * case.columns + 1, dtype=np.uint32).reshape(case.rows, case.columns)
    memory = np.arange(1000, 1000 + size + 4, dtype=np.uint32)
    if not case.store:
        loaded = load_tensor(matrix, memory, 4, case.layout, case.view)
        for row, line in enumerate(expected):
            for column, answer in enumerate(line):
                wanted = {Kind.FILLED: case.layout.clamp_value, Kind.SKIPPED: int(matrix[row, column])}
                assert loaded[row, column] == wanted.get(answer.kind, 1004 + answer.element), case
        return
    before = memory.copy()
    store_tensor(matrix, memory, 4, case.layout, case.view)
    possible: dict[int, set[int]] = {}
    for row, line in enumerate(expected):
        for column, answer in enumerate(line):
            if answer.element >= 0:
                possible.setdefault(4 + answer.element, set()).add(int(matrix[row, column]))
    for place, number in enumerate(memory.tolist()):
        assert number in possible.get(place, {int(before[place])}), case


def run(count: int, seed: int) -> None:
    """Check `count` random cases."""
    draw = random.Random(seed)
    for _ in range(count):
        check_case(case_of(draw))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    run(options.count, options.seed)
    print(f"{options.count} random layouts and views agree with the loop (seed {options.seed})")


if __name__ == "__main__":
    main()
