"""Cases run by processes that are watched: one that hangs, or ends with its process, costs itself and a restart.

Each of several processes asks for a case when it has done the one before (`tests/gpu/worker.py`). One that says nothing
for too long is killed, and another one goes on behind the case. A process also ends by itself after an exception that
is neither a finding nor a refusal, as the context of a GPU may be lost then.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.gpu.outcomes import ENDED, HUNG, Outcome

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 120.0
"""How long a process may take until it asks for its first case."""

MOST_STARTS = 40
"""How often processes are started for one queue: what is left then is not run."""


@dataclass(frozen=True)
class Watched:
    """How cases are run: the words that start a process, its environment, and the seconds that a case may take."""

    words: Sequence[str]
    seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, cases: Sequence[str], jobs: int, told: Callable[[Outcome], None] = lambda _: None) -> list[Outcome]:
        """The outcomes of all cases, run by so many processes, in the order of the cases. `told` hears of each."""
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for case in cases:
            waiting.put(case)
        done: dict[str, Outcome] = {}
        lock = threading.Lock()

        def heard(outcome: Outcome) -> None:
            with lock:
                done[outcome.case] = outcome
                told(outcome)

        with ThreadPoolExecutor(max(1, min(jobs, len(cases)))) as pool:
            for one in [pool.submit(self._work, waiting, heard) for _ in range(max(1, min(jobs, len(cases))))]:
                one.result()
        return [done.get(case, Outcome(case, ENDED, "not run: processes ended too often")) for case in cases]

    def _work(self, waiting: queue.SimpleQueue[str], heard: Callable[[Outcome], None]) -> None:
        for _ in range(MOST_STARTS):
            with tempfile.TemporaryFile("w+") as errors, self._started(errors) as process:
                if not self._serve(process, errors, waiting, heard):
                    return

    def _serve(
        self, process: _Process, errors: IO[str], waiting: queue.SimpleQueue[str], heard: Callable[[Outcome], None]
    ) -> bool:
        """Give cases to a process until none is left, or it ends; whether another one is needed."""
        if process.answer(START_SECONDS) is None:
            with suppress(queue.Empty):
                heard(Outcome(waiting.get_nowait(), ENDED, f"no process starts: {_tail(errors)}"))
                return True
            return False
        while True:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                return False
            begin = time.monotonic()
            answer = process.ask(case, self.seconds)
            if answer is None:
                slow = time.monotonic() - begin >= self.seconds
                why = f"no answer in {self.seconds:.0f} s" if slow else f"status {process.status()}"
                process.kill()
                heard(Outcome(case, HUNG if slow else ENDED, f"{why}: {_tail(errors)}"))
                return True
            heard(Outcome.from_json(answer))
            if answer.get("leaves"):
                return True

    @contextmanager
    def _started(self, errors: IO[str]) -> Iterator[_Process]:
        process = _Process.start(self.words, self.environment, errors)
        try:
            yield process
        finally:
            process.kill()


def _tail(errors: IO[str]) -> str:
    errors.seek(0)
    return errors.read()[-1500:]


class _Process:
    """A process that answers lines with lines; the first line says that it is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    @staticmethod
    def start(words: Sequence[str], environment: Mapping[str, str], errors: IO[str]) -> _Process:
        """The process, in a session of its own, so that what it started ends with it."""
        return _Process(
            subprocess.Popen(
                [sys.executable, *words], cwd=ROOT, env={**os.environ, **environment}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
            )
        )  # fmt: skip

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def ask(self, case: str, seconds: float) -> dict[str, Any] | None:
        """The answer to a case; None where none came, in time or at all."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{case}\n")
            self._process.stdin.flush()
        except OSError:
            return None
        return self.answer(seconds)

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """The next line; None where none came, in time or at all."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        return json.loads(line) if line else None

    def status(self) -> int | None:
        """The exit status of a process that has closed its output."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(10)
        return None

    def kill(self) -> None:
        """End the process and what it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
