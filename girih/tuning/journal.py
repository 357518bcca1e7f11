"""What a run of tuning leaves in its file: trials while it goes on, and the choice when it ends."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import field
from os import PathLike
from typing import get_args

from girih import __version__
from girih.api import Kernel
from girih.decorated.python_kernel import PythonKernel
from girih.ir.types import GroupType, MemRef, TensorMapType
from girih.lazy_dataclass import dataclass
from girih.runtime.targets import resolve
from girih.tuned.choices import TunedChoice, TunedLaunch
from girih.tuned.file import Unfinished, drop_trials, keep_choice, keep_trials, plain_definitions, read_or_new
from girih.tuned.selection import launch_of
from girih.tuning.result import Outcome, Trial

MEMORY = ("array", "group", "tensor_map")

KEPT: tuple[Outcome, ...] = ("timed", "refused", "wrong")
"""The outcomes that a later run takes over; others may be due to what ran beside the trial."""


@dataclass(slots=True)
class Journal:
    """The trials of one run, in a file; those of an earlier run that was interrupted are there from the start."""

    path: str | PathLike[str]
    launch: TunedLaunch
    fixed: Mapping[str, object]
    fingerprint: str
    trials: list[Trial] = field(default_factory=list)

    @staticmethod
    def begun(
        path: str | PathLike[str],
        kernel: Kernel | PythonKernel,
        arguments: Sequence[object],
        tried: Mapping[str, object],
        checked: Sequence[object],
    ) -> Journal:
        """The journal of a run, which the file has from now on; `kernel` has the first definitions.

        Raises `TuningFileError`, `OSError` and `ValueError`.
        """
        fixed = {} if isinstance(kernel, PythonKernel) else kernel.ir.span.source.definitions
        made = Journal(path, _launch(kernel, arguments, tried), fixed, _fingerprint(kernel, checked))
        for one in read_or_new(path).unfinished:
            if one.launch == made.launch and one.fingerprint == made.fingerprint:
                made.trials = [_trial(held) for held in one.trials if held["outcome"] in KEPT]
        made._write()
        return made

    def known(self, definitions: Mapping[str, object]) -> Trial | None:
        """The trial of definitions, where it was made."""
        # 1 and True are two constants, and equal.
        return next((trial for trial in self.trials if repr(trial.definitions) == repr(definitions)), None)

    def add(self, trial: Trial) -> None:
        """Keep a trial, if it says something of the definitions."""
        if trial.outcome in KEPT and self.known(trial.definitions) is None:
            self.trials.append(trial)
            self._write()

    def choose(self, trial: Trial) -> None:
        """Keep a choice, and no trials any more."""
        keep_choice(self.path, TunedChoice(self.launch, {**self.fixed, **trial.definitions}, trial.seconds or 0.0))

    def drop(self) -> None:
        """Keep no trials any more."""
        drop_trials(self.path, self.launch)

    def _write(self) -> None:
        held = [
            {
                "definitions": plain_definitions(trial.definitions),
                "outcome": trial.outcome,
                "seconds": trial.seconds,
                "reason": trial.reason,
            }
            for trial in self.trials
        ]
        keep_trials(self.path, Unfinished(self.launch, self.fingerprint, held))


def _trial(held: Mapping[str, object]) -> Trial:
    definitions, seconds, outcome = held["definitions"], held["seconds"], held["outcome"]
    assert isinstance(definitions, Mapping)
    assert seconds is None or isinstance(seconds, float)
    known = next(one for one in get_args(Outcome) if one == outcome)
    return Trial(definitions, known, seconds, str(held["reason"]))


def _launch(kernel: Kernel | PythonKernel, arguments: Sequence[object], tried: Mapping[str, object]) -> TunedLaunch:
    """What the choice will be for."""
    if isinstance(kernel, PythonKernel):
        parameters = kernel.definition.parameters
        values = kernel.definition.in_order(tuple(arguments), {})
        given = [(p, value) for p, value in zip(parameters, values, strict=True)]
        arrays = {p.name: value for p, value in given if p.kind in MEMORY}
        constants = {p.name: value for p, value in given if p.kind == "constant" and p.name not in tried}
        return launch_of(kernel.name, kernel.target, resolve().name, arrays, constants)
    pairs = zip(kernel.ir.parameters, arguments, strict=True)
    arrays = {p.name: value for p, value in pairs if isinstance(p.type, MemRef | GroupType | TensorMapType)}
    return launch_of(kernel.name, kernel.target, kernel.target, arrays, {})


def _fingerprint(kernel: Kernel | PythonKernel, checked: Sequence[object]) -> str:
    """What changes with the program, with girih, and with the machine."""
    function = kernel.ir if isinstance(kernel, Kernel) else kernel.bind(*checked).kernel.ir
    told = "\0".join((str(function), __version__, platform.node()))
    return hashlib.sha256(told.encode()).hexdigest()[:32]
