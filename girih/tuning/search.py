"""`girih.tune`: trials of all definitions over an executor, until all are done or the budget is spent."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import replace
from os import PathLike
from pickle import PicklingError
from typing import Any

from girih.api import Kernel
from girih.bench.measuring.timing import interleaved
from girih.decorated.python_kernel import PythonKernel
from girih.diagnostics import CompileError, KernelError, LaunchError, nearest
from girih.front.text.lexer import DEFINITION, END, Lexer
from girih.lazy_dataclass import dataclass
from girih.tuned.file import plain_definitions, read_or_new
from girih.tuning.arrays import copied
from girih.tuning.journal import Journal
from girih.tuning.result import Trial, Tuning, TuningError, shown
from girih.tuning.trial import EFFORT, TextKernel, TrialRequest, call_of, interpreted, measure
from girih.tuning.watched import end_own, measure_within

FINALISTS = 3
"""So many of the fastest are timed once more, in turns and with nothing beside them."""

Definitions = Mapping[str, Any] | Iterable[Mapping[str, object]]
"""What to try: values by name, each an iterable, or the combinations themselves."""


def tune(
    kernel: Kernel | PythonKernel,
    arguments: Sequence[object],
    definitions: Definitions,
    executor: Executor | None = None,
    *,
    check: Sequence[object] | None = None,
    grid: Callable[..., Any] | None = None,
    seconds: float | None = None,
    limit: float | None = None,
    file: str | PathLike[str] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Tuning:
    """Which values of definitions make a kernel fastest on some arguments, which stay as they are.

    `kernel` is one of a text, whose `$name` definitions get values, or one in Python, whose constants do. `definitions`
    maps names to the values to try, all combinations of them, or is a list of mappings. Each trial is compiled, its
    result on the arguments `check` compared with the interpreter's, then timed; the fastest ones are timed again, in
    turns, and the winner is run in the interpreter, which may still find a race. `check` are smaller arguments, since
    the interpreter is slow; without it they are `arguments`. `grid` gives the grid for definitions, passed by name.
    `executor` is any of `concurrent.futures`; without it trials run one after another here. After `seconds` no other
    trial begins. With `limit`, a trial runs in a process of its own, which is ended after so many seconds. `file` keeps
    the choice for such arguments, for `girih.load` and decorators; while the run goes on it keeps the trials, so that
    one that was interrupted goes on where it stopped. `progress` is called with the numbers of trials that are done and
    of all; without it a bar is shown on terminals, and a line now and then elsewhere.

    Raises `TuningError` where no definitions give a right result, `ValueError` for names that are no definitions of the
    kernel and for a file of another kind, `TypeError` for what is not a kernel and for definitions that a file cannot
    keep, `LaunchError` for wrong arguments.
    """
    candidates = _candidates(kernel, definitions)
    given, plain = tuple(arguments), TextKernel.of(kernel) if isinstance(kernel, Kernel) else kernel
    if file is not None:
        read_or_new(file)  # A file that cannot be used is told of before anything is measured.
        for candidate in candidates:
            plain_definitions(candidate)
    if limit is not None and not 0 < limit < float("inf"):
        raise ValueError(f"limit is the most seconds of a trial, a number above 0; got {limit!r}")
    checked = copied(given if check is None else check)
    requests = [
        TrialRequest(plain, one, placed(kernel, given, one), placed(kernel, checked, one), (), _names(kernel),
                     _grid(grid, one))
        for one in candidates
    ]  # fmt: skip
    first, expected = _expected(requests)
    requests = [replace(request, expected=expected) for request in requests]
    journal = None
    if file is not None:
        one = requests[first]
        journal = Journal.begun(file, one.built(), one.arguments, one.definitions, one.checked)
    trials = _Run(requests, limit, journal).trials(executor, seconds, progress)
    ranked = _finals(requests, trials)
    for request, trial in tuple(ranked):
        if trial.seconds is None:
            break
        try:
            interpreted(request.built(), request.checked)
        except KernelError as error:
            trials = [_failed(t, error) if t.definitions == trial.definitions else t for t in trials]
            ranked = [(r, _failed(t, error) if t is trial else t) for r, t in ranked]
            continue
        # The finalists' later times count: they were taken side by side.
        rest = sorted((t for _, t in ranked if t is not trial), key=lambda t: t.seconds or sys.float_info.max)
        if journal is not None:
            journal.choose(trial)
        return Tuning(request.built(), trial.definitions, (trial, *rest))
    if journal is not None:
        journal.drop()
    raise TuningError(kernel.name, tuple(trials))


def _candidates(kernel: object, definitions: Definitions) -> list[dict[str, object]]:
    """All definitions to try. Raises `TypeError` and `ValueError`."""
    if not isinstance(kernel, Kernel | PythonKernel):
        raise TypeError(f"girih.tune takes a kernel, such as girih.load(path)['name']; got {type(kernel).__name__}")
    if isinstance(definitions, Mapping):
        values = [list(_several(name, several)) for name, several in definitions.items()]
        candidates = [dict(zip(definitions, chosen, strict=True)) for chosen in itertools.product(*values)]
    else:
        candidates = [dict(one) for one in definitions]
    if not candidates:
        raise ValueError("there is nothing to try: a definition has no values")
    known = _known(kernel)
    for name in dict.fromkeys(name for one in candidates for name in one):
        if name not in known:
            close = nearest(name, known)
            has = f"did you mean {close!r}?" if close else f"it has {', '.join(known) or 'none'}"
            raise ValueError(f"{kernel.name} has no definition {name!r}; {has}")
    return candidates


def _several(name: str, values: object) -> Iterable[object]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"definitions[{name!r}] is a list of the values to try; got {values!r}")
    return values


def _known(kernel: Kernel | PythonKernel) -> list[str]:
    if isinstance(kernel, PythonKernel):
        return [p.name for p in kernel._definition.parameters if p.kind == "constant"]
    lexer, names = Lexer(kernel.ir.span.source), dict[str, None]()
    while lexer.kind != END:
        if lexer.kind == DEFINITION:
            names[lexer.text.removeprefix("$")] = None
        lexer.advance()
    return list(names)


def _grid(grid: Callable[..., Any] | None, definitions: Mapping[str, object]) -> Any:
    return None if grid is None else grid(**definitions)


def _names(kernel: Kernel | PythonKernel) -> tuple[str, ...]:
    """The names of the parameters, as messages have them."""
    if isinstance(kernel, PythonKernel):
        return tuple(p.name for p in kernel.definition.parameters)
    return tuple(f"%{p.name}" for p in kernel.ir.parameters)


def placed(
    kernel: Kernel | PythonKernel, arguments: Sequence[object], definitions: Mapping[str, object]
) -> tuple[object, ...]:
    """The arguments with the values that are tried, where these stand among them: a constant of Python may."""
    if not isinstance(kernel, PythonKernel):
        return tuple(arguments)
    names = [p.name for p in kernel.definition.parameters]
    more = [""] * (len(arguments) - len(names))
    return tuple(definitions.get(name, value) for name, value in zip([*names, *more], arguments, strict=False))


def _expected(requests: Sequence[TrialRequest]) -> tuple[int, tuple[object, ...]]:
    """What the interpreter makes of the arguments, by the first definitions that it takes, and the number of these.

    Raises `TuningError`.
    """
    refused = []
    for number, request in enumerate(requests):
        try:
            return number, interpreted(request.built(), request.checked)
        except KernelError as error:
            refused.append(Trial(request.definitions, "failed", None, str(error)))
        except (CompileError, LaunchError, ValueError, TypeError) as error:
            refused.append(Trial(request.definitions, "refused", None, str(error)))
    raise TuningError(requests[0].kernel.name, tuple(refused))


@dataclass(frozen=True, slots=True)
class _Run:
    """The trials of requests, in their order, each within a limit; a journal has those of an earlier run."""

    requests: Sequence[TrialRequest]
    limit: float | None
    journal: Journal | None

    def trials(
        self, executor: Executor | None, seconds: float | None, progress: Callable[[int, int], object] | None
    ) -> list[Trial]:
        """The trials; what the budget leaves out is untried."""
        from girih.commands.parts.progress import Bar

        end = None if seconds is None else time.monotonic() + seconds
        with Bar("tuning", unit="trials", lines=True) as bar:
            tell = bar if progress is None else progress
            made = {number: known for number, one in enumerate(self.requests) if (known := self._known(one))}
            if executor is not None:
                self._over(executor, made, end, tell)
            else:
                self._here(made, end, tell)
        return [made[number] for number in range(len(self.requests))]

    def _known(self, request: TrialRequest) -> Trial | None:
        return None if self.journal is None else self.journal.known(request.definitions)

    def _done(self, made: dict[int, Trial], number: int, trial: Trial, tell: Callable[[int, int], object]) -> None:
        made[number] = trial
        if self.journal is not None:
            self.journal.add(trial)
        tell(len(made), len(self.requests))

    def _here(self, made: dict[int, Trial], end: float | None, tell: Callable[[int, int], object]) -> None:
        try:
            for number, request in enumerate(self.requests):
                if number not in made:
                    late = end is not None and time.monotonic() >= end
                    self._done(made, number, _untried(request) if late else self._measured(request), tell)
        finally:
            end_own()

    def _measured(self, request: TrialRequest) -> Trial:
        if self.limit is None:
            return measure(request)
        try:
            return measure_within(request, self.limit)
        except Exception as error:
            return _not_run(request, error)

    def _over(
        self, executor: Executor, made: dict[int, Trial], end: float | None, tell: Callable[[int, int], object]
    ) -> None:
        futures: dict[Future[Trial], int] = {}
        for number, request in enumerate(self.requests):
            if number not in made:
                futures[self._submitted(executor, request)] = number
        waiting = set(futures)
        try:
            while waiting:
                left = None if end is None else max(0.0, end - time.monotonic())
                done, waiting = wait(waiting, left, FIRST_COMPLETED)
                if not done:  # Those that run already are waited for; the others never begin.
                    done = {future for future in waiting if future.cancel()}
                    waiting, end = waiting - done, None
                for future in done:
                    number = futures[future]
                    self._done(made, number, _trial_of(self.requests[number], future), tell)
        finally:
            for future in waiting:
                future.cancel()

    def _submitted(self, executor: Executor, request: TrialRequest) -> Future[Trial]:
        try:
            if self.limit is None:
                return executor.submit(measure, request)
            return executor.submit(measure_within, request, self.limit)
        except Exception as error:  # It was shut down, or its processes ended.
            refused: Future[Trial] = Future()
            refused.set_exception(error)
            return refused


def _trial_of(request: TrialRequest, future: Future[Trial]) -> Trial:
    if future.cancelled():
        return _untried(request)
    error = future.exception()
    if error is None:
        return future.result()
    return _not_run(request, error)


def _not_run(request: TrialRequest, error: BaseException) -> Trial:
    """The trial that never was, with what could be done about it."""
    words = f"the executor could not run the trial {shown(request.definitions)}: {type(error).__name__}: {error}"
    if isinstance(error, BrokenExecutor):
        words += "; with girih.tune(..., limit=60) each trial has a process of its own, which may end"
    elif isinstance(error, PicklingError | AttributeError | ImportError):
        words += "; other processes find a kernel in Python by its name in a module that they can import"
    return Trial(request.definitions, "failed", None, words)


def _failed(trial: Trial, error: KernelError) -> Trial:
    return Trial(trial.definitions, "failed", None, str(error))


def _untried(request: TrialRequest) -> Trial:
    return Trial(request.definitions, "untried", None, "the budget was spent")


def _finals(requests: list[TrialRequest], trials: list[Trial]) -> list[tuple[TrialRequest, Trial]]:
    """Requests with their trials, fastest first; the fastest few were timed again, in turns."""
    pairs = sorted(zip(requests, trials, strict=True), key=_seconds)
    best = [pair for pair in pairs[:FINALISTS] if pair[1].seconds is not None]
    if len(best) < 2:
        return pairs
    calls = {str(number): call_of(request.built(), request.arguments) for number, (request, _) in enumerate(best)}
    samples = interleaved(calls, EFFORT, time.perf_counter)
    again = [(r, Trial(t.definitions, "timed", samples.median(str(k)))) for k, (r, t) in enumerate(best)]
    return [*sorted(again, key=_seconds), *pairs[len(best) :]]


def _seconds(pair: tuple[TrialRequest, Trial]) -> float:
    seconds = pair[1].seconds
    return sys.float_info.max if seconds is None else seconds
