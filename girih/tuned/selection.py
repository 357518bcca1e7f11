"""The choice for a launch: its arguments as choices know them, held against the choices of a file."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np

from girih.addressing import BoundTensorMap
from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.seen import ELEMENTS, SeenArray, seen
from girih.diagnostics import warn_user
from girih.source import NOWHERE
from girih.tuned.choices import ArrayForm, TunedChoice, TunedLaunch, general_target, listed, nearest_choice
from girih.tuned.file import TuningFileError, read

_MOST_KNOWN = 256
"""The number of launches whose choices are remembered."""


class TuningWarning(UserWarning):
    """A launch for which a file of `girih.tune` has no choice: it takes the definitions that the kernel has itself."""


def form_of(value: object) -> tuple[ArrayForm | None, bool]:
    """An argument that is memory as choices know it, None for null, and whether it is on a CUDA device.

    Raises `ValueError` for what is no array, which a launch refuses with its reason.
    """
    value = _bare(value)
    if value is None:
        return None, False
    if isinstance(value, Group):
        value = value.arrays
    if isinstance(value, BoundTensorMap):
        value = value.array
    if not isinstance(value, list | tuple):
        array = _seen(value)
        return ArrayForm(_element(array), array.shape, array.order), array.device is not None
    arrays = [_seen(one) for one in map(_bare, value) if one is not None]
    if not arrays:
        return None, False
    if len({(array.dtype, len(array.shape)) for array in arrays}) > 1:
        raise ValueError("the members of a group have one type and number of axes")
    shape = tuple(map(max, zip(*(array.shape for array in arrays), strict=True)))
    form = ArrayForm(_element(arrays[0]), shape, arrays[0].order, len(arrays))
    return form, any(array.device is not None for array in arrays)


def _bare(value: object) -> object:
    while isinstance(value, Uninitialized):
        value = value.array
    return value


def _seen(value: object) -> SeenArray:
    report = ArgumentReport()
    array = seen(value, ArgumentPlace("", 1, NOWHERE), report)
    if array is None:
        raise ValueError(f"{type(value).__name__} is no array")
    return array


def _element(array: SeenArray) -> str:
    return ELEMENTS.get(array.dtype, array.dtype)


def constant_words(value: object) -> str:
    """A constant as choices know it."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(constant_words, value))})"
    if isinstance(value, np.generic):
        value = value.item()
    return str(getattr(value, "__qualname__", None) or repr(value))


class ChoiceTable:
    """The choices of a file for one kernel, and for each launch the one that it takes.

    `target` is None where the arrays of a launch decide: `cuda` for those of a CUDA device, else `host_target`.
    """

    def __init__(self, path: str, kernel: str, choices: Sequence[TunedChoice]) -> None:
        self.path, self.kernel, self.choices = path, kernel, tuple(choices)
        self._known: dict[object, TunedChoice | None] = {}
        self._told: set[object] = set()

    def __reduce__(self) -> tuple[object, ...]:
        return ChoiceTable, (self.path, self.kernel, self.choices)

    @property
    def names(self) -> tuple[str, ...]:
        """The definitions that any of the choices has."""
        return tuple(dict.fromkeys(name for choice in self.choices for name in choice.definitions))

    def for_launch(
        self, target: str | None, host_target: str, arrays: Mapping[str, object], constants: Mapping[str, object]
    ) -> TunedChoice | None:
        """The choice that a launch takes, None where no choice suits it, of which the first such launch warns.

        `arrays` are the arguments that are memory, and `constants` those that the choices do not set, by name.
        """
        key = (target, host_target, tuple(map(_quick, arrays.values())), tuple(map(constant_words, constants.values())))
        if None not in key[2] and key in self._known:
            return self._known[key]
        try:
            launch = launch_of(self.kernel, target, host_target, arrays, constants)
        except ValueError:
            return None  # The launch refuses it, and says why.
        found = nearest_choice(self.choices, launch)
        if found is None:
            self._tell(launch)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = found
        return found

    def _tell(self, launch: TunedLaunch) -> None:
        kind = launch.target, tuple((name, form and (form.type, form.order)) for name, form in launch.arrays)
        if kind in self._told:
            return
        self._told.add(kind)
        warn_user(
            f"{self.path} has no choice for {launch}; it has {listed(self.choices)}: the launch takes the kernel's own "
            f"definitions; girih.tune(..., file={self.path!r}) with such arguments makes one",
            TuningWarning,
        )


def launch_of(
    kernel: str,
    target: str | None,
    host_target: str,
    arrays: Mapping[str, object],
    constants: Mapping[str, object],
) -> TunedLaunch:
    """A launch as choices know it. Raises `ValueError` for what is no array."""
    forms = {name: form_of(value) for name, value in arrays.items()}
    if target is None:
        target = "cuda" if any(on_device for _, on_device in forms.values()) else host_target
    words = tuple((name, constant_words(value)) for name, value in constants.items())
    return TunedLaunch(kernel, general_target(target), tuple((name, form) for name, (form, _) in forms.items()), words)


def read_table(path: str | PathLike[str], kernel: str, target: str | None) -> ChoiceTable:
    """The choices of a file for a kernel, on a target unless it is None.

    Raises `TuningFileError` for a file of another kind or without a choice, `OSError` as `open` does.
    """
    choices = read(path).choices
    found = table_for(path, choices, kernel, target)
    if not found.choices:
        raise no_choice(path, choices, [kernel], target)
    return found


def read_tables(path: str | PathLike[str], kernels: Sequence[str], target: str) -> dict[str, ChoiceTable]:
    """The choices of a file for the kernels of a program on a target; some of them may have none.

    Raises `TuningFileError` for a file of another kind or without a choice for any, `OSError` as `open` does.
    """
    choices = read(path).choices
    found = {kernel: table_for(path, choices, kernel, target) for kernel in kernels}
    if not any(table.choices for table in found.values()):
        raise no_choice(path, choices, kernels, target)
    return found


def table_for(
    path: str | PathLike[str], choices: Iterable[TunedChoice], kernel: str, target: str | None
) -> ChoiceTable:
    """Those of some choices that are for a kernel, on a target unless it is None."""
    wanted = None if target is None else general_target(target)
    fitting = [c for c in choices if c.launch.kernel == kernel and wanted in (None, c.launch.target)]
    # What one choice sets, another need not have been found with.
    tried = {name for choice in fitting for name in choice.definitions}
    return ChoiceTable(fspath(path), kernel, [_without(choice, tried) for choice in fitting])


def _without(choice: TunedChoice, names: Collection[str]) -> TunedChoice:
    kept = tuple((name, words) for name, words in choice.launch.constants if name not in names)
    return replace(choice, launch=replace(choice.launch, constants=kept))


def no_choice(
    path: str | PathLike[str], choices: Sequence[TunedChoice], kernels: Sequence[str], target: str | None
) -> TuningFileError:
    """The error that a file has no choice for kernels on a target, with what it has."""
    on = "" if target is None else f" on {general_target(target)}"
    return TuningFileError(f"{fspath(path)} has no choice for {', '.join(kernels) or 'a kernel'}{on}; it has "
                           f"{listed(choices)}: girih.tune(..., file={fspath(path)!r}) makes one")  # fmt: skip


def _quick(value: object) -> object:
    """What tells arrays apart for choices, cheaply; None for what has to be looked at each time."""
    if value.__class__ is np.ndarray:
        array: Any = value
        return array.dtype, array.shape, array.strides
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor: Any = value
        return tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device
    return None
