"""Trials in a process of their own, which is ended when a trial takes too long; one that ends itself costs one trial.

The process is kept for the next trials of the thread that asked for it, whichever executor this thread belongs to.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from girih.tuning.result import Trial
from girih.tuning.trial import TrialRequest, measure

METHOD = "spawn"
"""How processes start: afresh, since a fork would share locks and devices that other threads have in use."""

_own = threading.local()


class WatchedProcess:
    """A process that measures trials, one after the other."""

    def __init__(self) -> None:
        context: Any = multiprocessing.get_context(METHOD)
        ours, theirs = context.Pipe()
        self.pipe: Connection = ours
        self.process: Any = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.is_ready = False

    def measure(self, request: TrialRequest, limit: float) -> Trial | None:
        """The trial of a request; None, and the process is ended, where it takes longer than `limit` seconds.

        The seconds count from when the process is ready. Raises `EOFError` and `OSError` where it ends itself, and what
        pickling raises.
        """
        data = pickle.dumps(request)
        if not self.is_ready:
            self.pipe.recv_bytes()
            self.is_ready = True
        self.pipe.send_bytes(data)
        if not self.pipe.poll(limit):
            self.end()
            return None
        found = pickle.loads(self.pipe.recv_bytes())
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Trial)
        return found

    def end(self) -> int | None:
        """End the process; its exit status."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        status: int | None = self.process.exitcode
        return status


def serve(pipe: Connection) -> None:
    """Measure what is asked for until nobody asks; what runs in the process."""
    pipe.send_bytes(b"ready")
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            data = pipe.recv_bytes()
            try:
                found: Trial | Exception = measure(pickle.loads(data))
            except Exception as error:
                found = ValueError(f"{type(error).__name__}: {error}")
            pipe.send_bytes(pickle.dumps(found))


def measure_within(request: TrialRequest, limit: float) -> Trial:
    """The trial of a request, in a process of its own; one that takes longer than `limit` seconds has failed.

    Raises what the process could not be asked by: a kernel that it does not find, arguments that cannot be sent.
    """
    process: WatchedProcess | None = getattr(_own, "process", None)
    if process is None:
        process = _own.process = WatchedProcess()
    try:
        found = process.measure(request, limit)
    except (EOFError, OSError):
        del _own.process
        return Trial(request.definitions, "failed", None, f"its process {_ending(process)}")
    if found is None:
        del _own.process
        return Trial(request.definitions, "failed", None, f"it took longer than the limit of {limit:g} seconds")
    return found


def _ending(process: WatchedProcess) -> str:
    """How a process ended, in words."""
    process.process.join(1.0)
    status = process.end() or 0
    if status >= 0:
        return f"ended with exit status {status}"
    return f"was ended by signal {-status} ({signal.Signals(-status).name})"


def end_own() -> None:
    """End the process of this thread, if it has one."""
    process: WatchedProcess | None = getattr(_own, "process", None)
    if process is not None:
        del _own.process
        process.end()
