"""`girih.tune`: trials of all definitions over an executor, until all are done or the budget is spent."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from os import PathLike
from typing import Any

from girih import tuned
from girih.api import Kernel
from girih.bench.measuring.timing import interleaved
from girih.decorated.python_kernel import PythonKernel
from girih.diagnostics import CompileError, KernelError, nearest
from girih.front.text.lexer import DEFINITION, END, Lexer
from girih.runtime.targets import resolve
from girih.tuning.result import Trial, Tuning, TuningError, shown
from girih.tuning.trial import EFFORT, TextKernel, TrialRequest, call_of, copied, interpreted, measure

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
    trial begins. `file` keeps the choice for `girih.load` and decorators. `progress` is called with the numbers of
    trials that are done and of all; without it a bar is shown on terminals.

    Raises `TuningError` where no definitions give a right result, `ValueError` for names that are no definitions of the
    kernel, `TypeError` for what is not a kernel and for definitions that a file cannot keep.
    """
    candidates = _candidates(kernel, definitions)
    if file is not None:
        for candidate in candidates:
            tuned.plain_definitions(candidate)
    given, plain = tuple(arguments), TextKernel.of(kernel) if isinstance(kernel, Kernel) else kernel
    checked = copied(given if check is None else check)
    expected = _expected(plain, candidates, checked, grid)
    requests = [TrialRequest(plain, one, given, checked, expected, _grid(grid, one)) for one in candidates]
    trials = _run(requests, executor, seconds, progress)
    ranked = _finals(requests, trials)
    for request, trial in tuple(ranked):
        if trial.seconds is None:
            break
        try:
            interpreted(request.built(), checked)
        except KernelError as error:
            trials = [_failed(t, error) if t.definitions == trial.definitions else t for t in trials]
            ranked = [(r, _failed(t, error) if t is trial else t) for r, t in ranked]
            continue
        # The finalists' later times count: they were taken side by side.
        rest = sorted((t for _, t in ranked if t is not trial), key=lambda t: t.seconds or sys.float_info.max)
        if file is not None:
            tuned.write(file, kernel.name, kernel.target or resolve().name, trial.definitions)
        return Tuning(request.built(), trial.definitions, (trial, *rest))
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


def _expected(
    kernel: TextKernel | PythonKernel, candidates: list[dict[str, object]], checked: tuple[object, ...], grid: Any
) -> tuple[object, ...]:
    """What the interpreter makes of the arguments, by the first definitions that it takes. Raises `TuningError`."""
    refused = []
    for one in candidates:
        try:
            request = TrialRequest(kernel, one, (), checked, (), _grid(grid, one))
            return interpreted(request.built(), checked)
        except KernelError as error:
            refused.append(Trial(one, "failed", None, str(error)))
        except (CompileError, ValueError) as error:
            refused.append(Trial(one, "refused", None, str(error)))
    raise TuningError(kernel.name, tuple(refused))


def _run(
    requests: list[TrialRequest],
    executor: Executor | None,
    seconds: float | None,
    progress: Callable[[int, int], object] | None,
) -> list[Trial]:
    """The trials of all requests, in their order; what the budget leaves out is untried."""
    from girih.commands.parts.progress import Bar

    end = None if seconds is None else time.monotonic() + seconds
    with Bar("tuning") as bar:
        tell = bar if progress is None else progress
        if executor is not None:
            return _run_over(requests, executor, end, tell)
        trials = []
        for request in requests:
            late = end is not None and time.monotonic() >= end
            trials.append(_untried(request) if late else measure(request))
            tell(len(trials), len(requests))
        return trials


def _run_over(
    requests: list[TrialRequest], executor: Executor, end: float | None, tell: Callable[[int, int], object]
) -> list[Trial]:
    futures = [executor.submit(measure, request) for request in requests]
    waiting: set[Future[Trial]] = set(futures)
    while waiting:
        left = None if end is None else max(0.0, end - time.monotonic())
        done, waiting = wait(waiting, left, FIRST_COMPLETED)
        if not done:  # Those that run already are waited for; the others never begin.
            waiting = {future for future in waiting if not future.cancel()}
            end = None
        tell(len(futures) - len(waiting), len(futures))
    return [_trial_of(request, future) for request, future in zip(requests, futures, strict=True)]


def _trial_of(request: TrialRequest, future: Future[Trial]) -> Trial:
    if future.cancelled():
        return _untried(request)
    error = future.exception()
    if error is None:
        return future.result()
    words = f"the executor could not run the trial {shown(request.definitions)}: {type(error).__name__}: {error}"
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
