"""Room on the interpreter's stack for nesting up to the limit of the language."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NESTING_LIMIT = 256
"""The depth to which regions, and brackets in attributes, may nest."""

_FRAMES_PER_LEVEL = 12
_lock = threading.Lock()
_users = 0
_before = 0


@contextmanager
def recursion_room() -> Iterator[None]:
    """Raise Python's recursion limit while a traversal bounded by `NESTING_LIMIT` runs, and restore it afterwards."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _FRAMES_PER_LEVEL * NESTING_LIMIT + 1000))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_before)
