"""Many small cases in one test: all are tried, and the failure shows each that failed by its name.

A test of its own costs a few milliseconds; a case costs nothing.

    with every_case() as case:
        for text in TEXTS:
            with case(text):
                assert check(text) == []
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

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
