"""Files that are written at once or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress


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
