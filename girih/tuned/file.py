"""The file of what `girih.tune` chose, and of trials of runs that were interrupted.

It is JSON, and replaced at once, so that nobody reads half of it; processes that change it take turns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.tuned.choices import ArrayForm, TunedChoice, TunedLaunch, general_target
from girih.whole_files import changed_alone, write_at_once

FORMAT = 2
_MARK = "girih.tune"

FilePath = str | PathLike[str]


class TuningFileError(ValueError):
    """A file that is none of `girih.tune`, or has no choice for what was asked."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The trials of a run that has not ended, as plain values, and the fingerprint of what was tried."""

    launch: TunedLaunch
    fingerprint: str
    trials: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TuningFile:
    """The contents of a file."""

    choices: tuple[TunedChoice, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()


def read(path: FilePath) -> TuningFile:
    """The contents of a file. Raises `TuningFileError` for a file of another kind, `OSError` as `open` does."""
    with open(path, "rb") as file:
        data = file.read()
    found = _json(path, data)
    version = found.get(_MARK) if isinstance(found, dict) else None
    if version is None:
        raise TuningFileError(f"{fspath(path)} is no file of girih.tune, but another one in JSON; name the file that "
                              "girih.tune(..., file=...) wrote, or a new one")  # fmt: skip
    if version != FORMAT:
        remedy = "update girih, or tune again into a new file"
        if isinstance(version, int) and version < FORMAT:
            remedy = "its choices do not say which arguments they are for: delete it, and tune again"
        raise TuningFileError(f"{fspath(path)} has version {version} of the files of girih.tune, and this girih "
                              f"reads version {FORMAT}; {remedy}")  # fmt: skip
    try:
        return TuningFile(tuple(map(_choice, found["choices"])), tuple(map(_unfinished, found["unfinished"])))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise TuningFileError(f"{fspath(path)} is a file of girih.tune that was changed and is broken: "
                              f"{_words(error)}; restore it, or delete it and tune again") from None  # fmt: skip


def read_or_new(path: FilePath) -> TuningFile:
    """The contents of a file, none of a file that does not exist. Raises as `read` does."""
    try:
        return read(path)
    except FileNotFoundError:
        return TuningFile()


def keep_choice(path: FilePath, choice: TunedChoice) -> None:
    """Put a choice into a file, in place of an earlier one for the same launch, whose trials go.

    Raises `TuningFileError` and `OSError`.
    """
    with changed_alone(fspath(path)):
        held = read_or_new(path)
        others = [one for one in held.choices if one.launch != choice.launch]
        unfinished = [one for one in held.unfinished if one.launch != choice.launch]
        _write(path, TuningFile((*others, choice), tuple(unfinished)))


def keep_trials(path: FilePath, unfinished: Unfinished) -> None:
    """Put the trials of a run that has not ended into a file, in place of earlier ones for the same launch.

    Raises `TuningFileError` and `OSError`.
    """
    with changed_alone(fspath(path)):
        held = read_or_new(path)
        others = [one for one in held.unfinished if one.launch != unfinished.launch]
        _write(path, TuningFile(held.choices, (*others, unfinished)))


def drop_trials(path: FilePath, launch: TunedLaunch) -> None:
    """Take the trials for a launch out of a file. Raises `TuningFileError` and `OSError`."""
    with changed_alone(fspath(path)):
        held = read_or_new(path)
        _write(path, TuningFile(held.choices, tuple(one for one in held.unfinished if one.launch != launch)))


def plain_definitions(definitions: Mapping[str, object]) -> dict[str, object]:
    """Definitions as a file keeps them. Raises `TypeError` for a value that it cannot keep."""
    return {name: _plain(name, value) for name, value in definitions.items()}


def _plain(name: str, value: object) -> object:
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, tuple):
        return [_plain(name, one) for one in value]
    if isinstance(value, type) and value in _elements().values():
        return {"element": value.__name__}
    raise TypeError(f"{name} is {value!r}; a file keeps numbers, truth values, strings, element types, and tuples of "
                    "these")  # fmt: skip


def _value(held: object) -> object:
    match held:
        case {"element": str() as name}:
            return _elements()[name]
        case list():
            return tuple(map(_value, held))
        case bool() | int() | float() | str() | None:
            return held
    raise ValueError(f"{held!r} is no value of a definition")


def _elements() -> Mapping[str, type]:
    from girih.language.types import SCALARS

    return {type.__name__: type for type in SCALARS.values()}


# --- to and from JSON ------------------------------------------------------------------------


def _json(path: FilePath, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        place = "it is not text"
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except RecursionError:
        place = "it is nested too deeply"
    raise TuningFileError(f"{fspath(path)} is no file of girih.tune, or a broken one: it is not JSON ({place}); "
                          "restore it, or delete it and tune again")  # fmt: skip


def _words(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, LookupError) else str(error)


def _write(path: FilePath, contents: TuningFile) -> None:
    held = {
        _MARK: FORMAT,
        "choices": [
            {**_launch_json(one.launch), "definitions": plain_definitions(one.definitions), "seconds": one.seconds}
            for one in contents.choices
        ],
        "unfinished": [
            {**_launch_json(one.launch), "fingerprint": one.fingerprint, "trials": list(one.trials)}
            for one in contents.unfinished
        ],
    }
    write_at_once(fspath(path), (json.dumps(held, indent=2) + "\n").encode("utf-8"))


def _launch_json(launch: TunedLaunch) -> dict[str, object]:
    return {
        "kernel": launch.kernel,
        "target": general_target(launch.target),
        "arguments": {name: None if form is None else _form_json(form) for name, form in launch.arrays},
        "constants": dict(launch.constants),
    }


def _form_json(form: ArrayForm) -> dict[str, object]:
    held: dict[str, object] = {"type": form.type, "shape": list(form.shape), "axes": list(form.order)}
    return held if form.members is None else {**held, "members": form.members}


def _launch(held: Any) -> TunedLaunch:
    arrays = tuple((name, None if form is None else _form(form)) for name, form in held["arguments"].items())
    constants = tuple((str(name), str(value)) for name, value in held["constants"].items())
    return TunedLaunch(_checked(str, held["kernel"]), _checked(str, held["target"]), arrays, constants)


def _form(held: Any) -> ArrayForm:
    shape, order = (tuple(_checked(int, n) for n in held[key]) for key in ("shape", "axes"))
    if sorted(order) != list(range(len(shape))) or min(shape, default=0) < 0:
        raise ValueError(f"the axes {list(order)} do not suit the shape {list(shape)}")
    members = held.get("members")
    return ArrayForm(_checked(str, held["type"]), shape, order, None if members is None else _checked(int, members))


def _choice(held: Any) -> TunedChoice:
    definitions = {_checked(str, name): _value(value) for name, value in held["definitions"].items()}
    return TunedChoice(_launch(held), definitions, float(held["seconds"]))


def _unfinished(held: Any) -> Unfinished:
    trials = [{**one, "definitions": {name: _value(value) for name, value in one["definitions"].items()},
               "seconds": None if one["seconds"] is None else float(one["seconds"]),
               "outcome": _checked(str, one["outcome"]), "reason": _checked(str, one["reason"])}
              for one in held["trials"]]  # fmt: skip
    return Unfinished(_launch(held), _checked(str, held["fingerprint"]), trials)


def _checked(kind: Callable[..., Any], value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not {'text' if kind is str else 'a whole number'}")
    return value
