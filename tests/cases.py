"""How tests of many cases stay cheap.

`every_case` has many small cases in one test: all are tried, and the failure shows each that failed by its name. A test
of its own costs a few milliseconds; a case costs nothing.

    with every_case() as case:
        for text in TEXTS:
            with case(text):
                assert check(text) == []

`long`, `crossed` and `one_in` leave values of parameters to `make test-long`, which runs everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count, product
from typing import Any

import pytest


@contextmanager
def every_case() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """What opens a case of a name. Raises an ExceptionGroup of what failed, with the names, when all were tried."""
    failed: list[Exception] = []
    names: list[str] = []

    @contextmanager
    def case(name: str) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            # What pytest raises itself, as for an error that did not come, is no Exception.
            kept = error if isinstance(error, Exception) else AssertionError(str(error))
            kept.add_note(f"The case: {name}")
            failed.append(kept)
            names.append(name)

    yield case
    if failed:
        raise ExceptionGroup(f"failed: {'; '.join(names)}", failed)


def long(values: Iterable[object]) -> list[Any]:
    """Values of a parameter, or tuples of several, that only `make test-long` takes."""
    return [pytest.param(*as_tuple(value), marks=pytest.mark.long) for value in values]


def one_in(step: int, values: Iterable[Any]) -> list[Any]:
    """Values of a parameter of which `make test` takes the first and each that is `step` further.

    Values that are `long` already, as some of `crossed`, stay so and do not count.
    """
    values = [value if hasattr(value, "marks") else pytest.param(*as_tuple(value)) for value in values]
    counted = count()
    return [value if value.marks or next(counted) % step == 0 else long([value.values])[0] for value in values]


def as_tuple(value: object) -> tuple[object, ...]:
    """The values of the parameters, or of the only one."""
    return value if isinstance(value, tuple) else (value,)


def crossed(*axes: Sequence[object], first: int = 0) -> list[Any]:
    """All combinations of the values of parameters, of which `make test` takes one in as many as the last axis is long.

    Those that it takes have each value of the other axes; the first values of these meet the last axis at `first`.
    """
    counted = [tuple(enumerate(axis)) for axis in axes]
    found: list[Any] = []
    for combination in product(*counted):
        *others, last = (place for place, _ in combination)
        values = tuple(value for _, value in combination)
        found += [pytest.param(*values)] if (first + sum(others)) % len(axes[-1]) == last else long([values])
    return found
