"""The file of what `girih.tune` chose: definitions of kernels by kernel and target.

It is JSON; `girih.load`, `girih.loads` and `@girih.kernel` take its path in place of definitions.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

FORMAT = 1

Plain = bool | int | float | str


def plain_definitions(definitions: Mapping[str, object]) -> dict[str, Plain]:
    """Definitions as a file keeps them. Raises `TypeError` for a value that is no number, truth value or string."""
    kept: dict[str, Plain] = {}
    for name, value in definitions.items():
        if not isinstance(value, bool | int | float | str):
            raise TypeError(f"{name} is {value!r}; a file keeps numbers, truth values and strings only")
        kept[name] = value
    return kept


def write(path: str | PathLike[str], kernel: str, target: str, definitions: Mapping[str, object]) -> None:
    """Put the choice for a kernel on a target into a file, in place of an earlier one; the file is made if needed.

    Raises `TypeError` for definitions that a file cannot keep, `ValueError` for a file of another kind, and `OSError`
    as `open` does.
    """
    choice = {"kernel": kernel, "target": target, "definitions": plain_definitions(definitions)}
    others = [one for one in _choices(path) if (one["kernel"], one["target"]) != (kernel, target)]
    text = json.dumps({"girih.tune": FORMAT, "choices": [*others, choice]}, indent=2) + "\n"
    # The file is replaced at once, so that nobody reads half of it.
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)))
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def read(path: str | PathLike[str], kernels: Iterable[str], target: str) -> dict[str, Plain]:
    """The definitions that were chosen for kernels on a target.

    Raises `ValueError` for a file of another kind, for one without a choice, and where two kernels have different
    choices for a name; `OSError` as `open` does.
    """
    os.stat(path)
    wanted, found = list(kernels), dict[str, Plain]()
    choices = _choices(path)
    fitting = [one for one in choices if one["kernel"] in wanted and one["target"] == target]
    if not fitting:
        known = ", ".join(f"{one['kernel']} on {one['target']}" for one in choices) or "nothing"
        raise ValueError(f"{fspath(path)} has no choice for {', '.join(wanted) or 'a kernel'} on {target}; it has "
                         f"{known}: girih.tune(..., file={fspath(path)!r}) makes one")  # fmt: skip
    for one in fitting:
        for name, value in one["definitions"].items():
            if found.setdefault(name, value) != value:
                raise ValueError(f"{fspath(path)} has {name} = {found[name]} and {value} for kernels of one program")
    return found


def _choices(path: str | PathLike[str]) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            held = json.load(file)
    except FileNotFoundError:
        return []
    except ValueError:
        held = None
    found = held.get("choices") if isinstance(held, dict) and held.get("girih.tune") == FORMAT else None
    if not isinstance(found, list) or not all(map(_is_choice, found)):
        raise ValueError(f"{fspath(path)} is not a file of girih.tune, or of another version of it")
    return found


def _is_choice(one: object) -> bool:
    if not isinstance(one, dict) or one.keys() != {"kernel", "target", "definitions"}:
        return False
    return isinstance(one["definitions"], dict)
