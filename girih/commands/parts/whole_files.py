"""Files written at once or not at all. What is no regular file, such as a pipe or a device, is written to as it is."""

from __future__ import annotations

import os

from girih.commands.parts.calls import refuse_file
from girih.whole_files import write_at_once


def write_whole(path: str, data: bytes) -> None:
    """Write a file, or the one that a link leads to; it keeps its permissions.

    Raises `click.ClickException` on failure; the file is as before then.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            # A temporary file would take the place of the device or the pipe.
            with open(path, "wb") as stream:
                stream.write(data)
        else:
            write_at_once(path, data)
    except OSError as error:
        refuse_file(path, error)
