"""Files that are written at once or not at all, and changed by one process at a time."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # There is none on Windows.
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 10.0
"""Seconds for which a change waits for others; whoever takes longer hangs."""


def write_at_once(path: str, data: bytes) -> None:
    """Write a file, or the one that a link leads to; a file that was there keeps its permissions.

    Raises `OSError`; the file is as before then, and nothing lies beside it.
    """
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{path} is a folder")
    permissions = _permissions(target)
    temporary = os.path.join(os.path.dirname(target), f".girih-{secrets.token_hex(8)}")
    try:
        # A new file gets the permissions that the process gives to all.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
        if permissions is not None:
            os.chmod(temporary, permissions)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _permissions(path: str) -> int | None:
    """The permissions of a file; None where there is none."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


@contextmanager
def changed_alone(path: str) -> Iterator[None]:
    """Keep other threads and processes that ask here from changing a file that is read, changed and written.

    The lock is that of the file's folder, so that nothing is left behind. Where there are none, as on some network file
    systems and on Windows, and when another one has held it for 10 seconds, the change is made without it.
    """
    folder = None
    if fcntl is not None:
        with suppress(OSError):
            folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    try:
        if folder is not None:
            _lock(folder)
        yield
    finally:
        if folder is not None:
            os.close(folder)


def _lock(folder: int) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(0.01)
        except OSError:
            return
        else:
            return
