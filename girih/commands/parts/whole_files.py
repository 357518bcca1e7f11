"""Files written at once or not at all. What is no regular file, such as a pipe or a device, is written to as it is."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress

from girih.commands.parts.calls import refuse_file


def write_whole(path: str, data: bytes) -> None:
    """Write a file, or the one that a link leads to; it keeps its permissions.

    Raises `click.ClickException` on failure; the file is as before then.
    """
    target = os.path.realpath(path)
    try:
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # A temporary file would take the place of the device or the pipe.
            with open(target, "wb") as stream:
                stream.write(data)
        else:
            _replace(target, data, _usual_mode() if mode is None else stat.S_IMODE(mode))
    except OSError as error:
        refuse_file(path, error)


def _replace(target: str, data: bytes, permissions: int) -> None:
    if os.path.isdir(target):
        raise IsADirectoryError
    with tempfile.NamedTemporaryFile("wb", dir=os.path.dirname(target), prefix=".girih-", delete=False) as file:
        temporary = file.name
        try:
            file.write(data)
            file.close()
            os.chmod(temporary, permissions)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _mode(path: str) -> int | None:
    """The mode of a file; None where there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _usual_mode() -> int:
    """The permissions that a new file gets."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
