"""Arguments saved to files: checked before the launch, then written to temporary files that are renamed together."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from girih.commands.parts.array_specifications import Members, Specification, save_paths
from girih.commands.parts.calls import refuse_file, unknown
from girih.diagnostics import plural
from girih.ir.core import Function
from girih.ir.types import GroupType, MemRef, TensorMapType
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Save:
    """An argument and the files it goes to, one for each array."""

    name: str
    paths: tuple[str, ...]


def checked_saves(function: Function, given: Mapping[str, Specification], texts: Sequence[str]) -> list[Save]:
    """The arguments to save, from `NAME=FILE.npy` texts. Raises for a wrong one and for a missing folder."""
    saves: list[Save] = []
    types = {p.name: p.type for p in function.parameters}
    for text in texts:
        name, equals, target = text.partition("=")
        name = name.strip().removeprefix("%")
        if not equals or not target:
            raise click.UsageError(f"--save {text!r} is not NAME=FILE.npy")
        if name not in types:
            unknown("argument", name, types)
        if not isinstance(types[name], MemRef | GroupType | TensorMapType):
            raise click.UsageError(f"--save {name}: its type is {types[name]}; only arrays can be saved")
        saves.append(_checked(name, target.strip(), given[name]))
    check_paths(saves)
    return saves


def check_paths(saves: Sequence[Save]) -> None:
    """Raise where two arrays go to one file, and where a file has no folder to go to."""
    paths = [os.path.abspath(path) for save in saves for path in save.paths]
    for path in paths:
        if paths.count(path) > 1:
            raise click.UsageError(f"--save: two arrays go to {path}")
        if not os.path.isdir(os.path.dirname(path)):
            raise click.ClickException(f"--save: there is no folder {os.path.dirname(path)}")
        if os.path.isdir(path):
            raise click.ClickException(f"--save: {path} is a directory")


def _checked(name: str, target: str, given: Specification) -> Save:
    paths = save_paths(name, target)
    if given is None:
        raise click.UsageError(f"--save {name}: it is null, there is nothing to save")
    if not isinstance(given, Members):
        if len(paths) > 1 or target.startswith("["):
            raise click.UsageError(f"--save {name}={target}: it is one array, so it goes to one file")
        return Save(name, paths)
    if len(paths) != len(given.items) or None in given.items:
        members = plural(len(given.items), "member")
        raise click.UsageError(f"--save {name}={target}: the group has {members}, none of which may be null; "
                               "write as many files, [FILE.npy,...]")  # fmt: skip
    return Save(name, paths)


def save_all(arrays: Sequence[tuple[str, Any]]) -> None:
    """Write each array to its file in C order: all to temporary files first, then each takes its name."""
    import numpy as np

    from girih.arguments.layout import is_foreign

    temporary: list[tuple[str, str]] = []
    path = ""
    try:
        for path, array in arrays:
            handle, name = tempfile.mkstemp(suffix=".tmp", prefix=".girih-", dir=os.path.dirname(os.path.abspath(path)))
            temporary.append((name, path))
            with os.fdopen(handle, "wb") as file:
                content = np.ascontiguousarray(array).reshape(array.shape)
                if is_foreign(content.dtype):
                    # Raw bytes are what NumPy itself reads again.
                    content = content.view(f"V{content.itemsize}")
                np.lib.format.write_array(file, content, allow_pickle=False)
            os.chmod(name, _mode(path))
        for name, path in temporary:
            os.replace(name, path)
    except OSError as error:
        refuse_file(path, error)
    finally:
        for name, _ in temporary:
            with suppress(OSError):
                os.unlink(name)


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those that a new file gets."""
    with suppress(OSError):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
